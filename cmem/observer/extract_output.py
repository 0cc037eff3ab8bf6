"""What a command's output says: whether it failed, why, which tests, and with what result."""

from __future__ import annotations

import re

from cmem.observer.text import shorten, weight

EXIT = re.compile(r"\bexit(?:ed with)?(?: code| status)?:? (\d{1,3})\b", re.I)
TIMED_OUT = re.compile(r"timed out after [^\s.,]+(?: ?(?:s|ms|seconds|minutes))?", re.I)
# What tells why, best first. A traceback ends with its cause; of a compiler's complaints the
# first is the cause of the others. A line that ends with a colon is told with the next one.
PANIC = re.compile(r"^thread '[^'\n]{0,200}' panicked at [^\n]{0,300}$", re.M)
GO_TEST = re.compile(r"^\s{1,16}\w[\w.-]{0,80}_test\.go:\d+: .*$", re.M)
EXPECTED = re.compile(
    r"^[ \t]*Expected(?: [^\n:]{0,40})?: ?([^\n]{1,200})\n[ \t]*Received(?: [^\n:]{0,40})?: ?([^\n]{1,200})$",
    re.M,
)
# The same of xUnit and NUnit, of RSpec, and of a matcher that says it in a sentence.
ACTUAL = re.compile(
    r"^[ \t]*(?:Expected|expected): {0,9}([^\n]{1,200})\n[ \t]*(?:Actual|But was|got): {0,9}([^\n]{1,200})$",
    re.M,
)
ASSERTED = re.compile(
    r"^(Failed asserting that .+)$|^[ \t]*Failure/Error: [^\n]*\n+[ \t]+(\S[^\n]*)$|"
    r"^\d\d:\d\d (?:\+\d+ )(?:~\d+ )?-\d+: [^\n]* \[E\]\n[ \t]+(\S[^\n]*)$",
    re.M,
)
RAISED = re.compile(
    r"^[ \t]*(?:E[ \t]+)?(?:[\w.]+\.)?\w*(?:Error|Exception|Panic|Warning)\b[^\n]*:.*$", re.M
)
TELLING = (
    re.compile(r"^\* What went wrong:$|^[ \t]*e: file://.*$", re.M),
    re.compile(r"^\[ERROR\] .*$", re.M),
    re.compile(r"^[ \t]*\d{1,6}:\d{1,6}[ \t]+error[ \t].*$", re.M),
    re.compile(r"^npm (?:ERR!|error) (?!code\b|errno\b|syscall\b)\S.*$", re.M),
    re.compile(r"^[ \t]*(?:error|fatal|panic)\b.*$", re.M | re.I),
    re.compile(r"^.*\berror(?:\[\w+\]| TS\d+)?:.*$", re.M | re.I),
    re.compile(r"^.*(?:错误|失败|異常|エラー|失敗|오류|실패|Fehler|lỗi|ошибка).*$", re.M | re.I),
    re.compile(
        r"^.*\b(?:not found|No such file|denied|refused|cannot|can't|unable)\b.*$", re.M | re.I
    ),
    re.compile(r"^[ \t]*(?:FAIL(?:ED)?\b|not ok\b|--- FAIL|✗|✕|×).*$", re.M),
)
FAILED_TESTS = (
    re.compile(r"^FAIL: (\S+)", re.M),
    re.compile(r"^FAILED (\S+::\S+)", re.M),
    re.compile(r"^[ \t]*--- FAIL: (\S+)", re.M),
    re.compile(r"^test (\S+) \.\.\. FAILED", re.M),
    re.compile(r"^[ \t]*(?:●|✕|✗) (.+)$", re.M),
    re.compile(r"^(\S+ > \S+) FAILED$", re.M),
    re.compile(r"^\d{1,4}\) (\S+::\S+)", re.M),
    re.compile(r"^[ \t]+Failed (\S+) \[\d", re.M),
    re.compile(r"^rspec \S+ # (.+)$", re.M),
    re.compile(r"^\d\d:\d\d \+\d+ (?:~\d+ )?-\d+: (.+) \[E\]$", re.M),
)
RESULTS = (
    re.compile(r"^Ran \d+ tests?\b.*$", re.M),
    re.compile(
        r"^=*[ \t]*((?:\d+ (?:passed|failed|errors?|skipped|xfailed|warnings?)[, ]*)+)", re.M
    ),
    re.compile(r"^Tests:\s+(.*\d+ total)", re.M),
    re.compile(r"^(?:\[\w+\] )?(Tests run: \d+, Failures: \d+.*)$", re.M),
    re.compile(r"^[ \t]*(\d+ (?:examples?|tests?|doctests?|specs?), .*\d+ failures?.*)$", re.M),
    re.compile(r"^OK \(\d+ tests?, .*\)$|^Tests: \d+, Assertions: .*$", re.M),
    re.compile(r"^(?:Passed|Failed)!\s+- (.*)$", re.M),
    re.compile(r"^\d+% tests passed, .*$|^[ \t]*Executed \d+ tests?, with .*$", re.M),
    re.compile(r"^test result: (.*?\d+ failed)", re.M),
    re.compile(r"^[ \t]*(\d+ passing.*)$", re.M),
    re.compile(r"^\d\d:\d\d (\+\d+.*: (?:All tests passed!|Some tests failed\.))$", re.M),
    re.compile(r"^[ \t]*Tests[ \t]+(\d.*)$", re.M),
    re.compile(r"^ok\s+\S+\s+(?:[\d.]+s|\(cached\))", re.M),
    re.compile(r"^(?:\[\w+\] )?(BUILD (?:SUCCESS|SUCCESSFUL|FAILED|FAILURE)\b.*)$", re.M),
    re.compile(r"^Success: no issues found.*$|^Found \d+ errors?\b.*$", re.M),
    re.compile(r"^✖ (\d+ problems?.*)$", re.M),
    re.compile(r"^Apply complete! (.+)$|^Plan: .+$", re.M),
    re.compile(r"^.{0,200}successfully rolled out$", re.M),
    re.compile(r"^Successfully installed (.{1,300})$", re.M),
    re.compile(r"^added \d+ packages?\b.*$", re.M),
    re.compile(r"\bRunning upgrade ([^\n]{1,200})$", re.M),
    re.compile(r"https://\S{1,200}/(?:pull|issues|merge_requests|releases?)/\S{1,100}"),
    re.compile(r"^ [*+] \[new (?:branch|tag)\]\s+(\S+ +-> +\S+)", re.M),
    re.compile(r"^\s{1,8}[0-9a-f]{7,40}\.\.\.?([0-9a-f]{7,40}\s+\S+ +-> +\S+)", re.M),
)
INSTALLED = re.compile(r"^ \+ (\S+)$", re.M)
BROKEN = re.compile(
    r"\b[1-9]\d* (?:failed|failing|errors?)\b|^FAILED\b|^FAIL\b|test result: FAILED|^(?:\[\w+\] )?BUILD FAIL|"
    r"^✖ [1-9]|\berror TS\d+:",
    re.M,
)
REPAIRED = re.compile(r"\b0 remaining\b")
RUN_ON = re.compile(r"(.)\1{39,}")
SHORT = 160
NOTHING = 12.0


def ends(output: str) -> str:
    """Where a long output says what matters: at its start and its end."""
    return output if len(output) <= 20_000 else f"{output[:4_000]}\n{output[-16_000:]}"


def is_broken(output: str) -> bool:
    """Does a test runner, a linter or a build say so itself? A pipe hides its exit code."""
    return BROKEN.search(output) is not None and REPAIRED.search(output) is None


def cause_of(output: str) -> str:
    """The line of an output that tells best why the command failed, "" if it said nothing."""
    late = TIMED_OUT.search(output)
    if late:
        return late.group()
    asserted = _asserted(output)
    if asserted:
        return _line(asserted)
    panic = PANIC.search(output)
    if panic:
        said = output[panic.end() :].strip().splitlines()
        return _line(f"panicked: {said[0]}" if said else panic.group())
    raised = list(RAISED.finditer(output))
    if raised:
        return _line(_with_next(output, raised[-1]))
    for pattern in (GO_TEST, *TELLING):
        found = pattern.search(output)
        if found:
            return _line(_with_next(output, found))
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    lines = [line for line in lines if not EXIT.fullmatch(line)]
    return _line(lines[-1]) if lines else ""


def _asserted(output: str) -> str:
    """What a test wanted and what it got, "" where the output does not say it so."""
    expected = EXPECTED.search(output) or ACTUAL.search(output)
    if expected:
        return f"expected {expected[1].strip()}, received {expected[2].strip()}"
    found = ASSERTED.search(output)
    return next((one for one in found.groups() if one), "") if found else ""


def _with_next(output: str, found: re.Match[str]) -> str:
    line = found.group().strip()
    after = output[found.end() : found.end() + 1_000].strip().splitlines()
    return f"{line} {after[0].strip()}" if line.endswith(":") and after else line


def _line(text: str) -> str:
    return shorten(RUN_ON.sub(r"\1\1\1…", re.sub(r"^\s*(?:E\s+|\[ERROR\] )", "", text)), 180)


def tests_of(output: str) -> tuple[str, ...]:
    """The failing tests by name."""
    found = [one for pattern in FAILED_TESTS for one in pattern.findall(output)]
    return tuple(dict.fromkeys(shorten(one, 80) for one in found[:8]))[:5]


def result_of(output: str, *, counted: bool) -> str:
    """What came out, in the tool's words: ``Ran 2 tests: OK``, ``3 passed, 1 failed``. Unless
    only what is ``counted`` counts, an output of a line or two is its own result."""
    for pattern in RESULTS:
        found = list(pattern.finditer(output))
        if found:
            return shorten(_counted(output, found), 100)
    installed = INSTALLED.findall(output)
    if installed:
        return shorten(", ".join(installed[:6]), 100)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    short = " / ".join(lines) if len(lines) <= 2 and not counted else ""
    worded = not short.startswith(("{", "[", "<")) and RUN_ON.search(short) is None
    return short if worded and weight(short) >= NOTHING and len(short) <= SHORT else ""


def _counted(output: str, found: list[re.Match[str]]) -> str:
    last = found[-1]
    text = next((one for one in last.groups() if one), last.group()).strip(" =,")
    if text.startswith("ok") and len(found) > 1:
        return f"{len(found)} packages ok"
    text = re.sub(r"\s+in [\d.]+m?s\b.*|\s+[\d.]+s$", "", text)
    if text.startswith("Ran "):
        after = output[last.end() :].strip().splitlines()
        text += f": {after[0]}" if after else ""
    return text
