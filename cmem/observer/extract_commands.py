"""Commands by rules: what kind it was, whether it worked, and the line that tells why not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from cmem.observer.evidence import Call, text_given
from cmem.observer.text import one_line, shorten

CATEGORIES = (
    ("commit", r"\bgit\b[^|;&]*\bcommit\b"),
    (
        "test",
        r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|doctest|"
        r"playwright|cypress)\b|\b(?:npm|pnpm|yarn|bun|deno|cargo|go|mix|dotnet|swift|mvn|"
        r"gradle|gradlew|make|just|rake|zig|flutter|bazel)\b[^|;&\n]*\btest",
    ),
    (
        "lint",
        r"\b(?:ruff|mypy|pyright|flake8|pylint|black|eslint|prettier|clippy|golangci-lint|"
        r"shellcheck|stylelint|rubocop|biome)\b|\b(?:lint|typecheck|vet|fmt)\b",
    ),
    (
        "install",
        r"\b(?:pip3?|npm|pnpm|yarn|bun|uv|poetry|cargo|gem|brew|apt|apt-get|dnf|apk|composer|"
        r"bundle|conda|pipx)\b\s+(?:pip\s+)?(?:-\S+\s+)*(?:install|add|remove|uninstall|i|upgrade)\b|"
        r"\bgo\s+get\b",
    ),
    (
        "deploy",
        r"\b(?:git\s+push|git\s+tag|docker\s+push|kubectl\s+apply|helm\s+(?:install|upgrade)|"
        r"terraform\s+apply|twine\s+upload|npm\s+publish|cargo\s+publish|gh\s+(?:pr|release)|"
        r"fly\s+deploy|vercel|alembic\s+upgrade|migrate)\b",
    ),
    (
        "build",
        r"\b(?:make|cmake|ninja|tsc|webpack|vite|gcc|clang|javac|msbuild|bazel)\b|"
        r"\b(?:npm|pnpm|yarn|bun|cargo|go|docker|mvn|gradle|dotnet|swift)\b[^|;&\n]*\b"
        r"(?:build|compile|package)\b",
    ),
    (
        "look",
        r"^\s*(?:(?:cd|export)\s[^&;]*(?:&&|;)\s*)?(?:ls|cat|head|tail|grep|rg|find|fd|wc|pwd|"
        r"echo|which|type|file|stat|tree|less|sed\s+-n|awk|du|df|ps|env|date|sleep|"
        r"git\s+(?:status|diff|log|show|branch|blame|remote|rev-parse|ls-files))\b",
    ),
)
CATEGORY = tuple((name, re.compile(pattern)) for name, pattern in CATEGORIES)
JUDGES = {"test", "lint", "build"}
IMPORTANT = {"test", "lint", "build", "deploy", "install", "commit"}

EXIT = re.compile(r"\bexit(?:ed with)?(?: code| status)?:? (\d{1,3})\b", re.I)
TIMED_OUT = re.compile(r"timed out after [^\s.,]+(?: ?(?:s|ms|seconds|minutes))?", re.I)
TELLING = (
    re.compile(
        r"^[ \t]*(?:E[ \t]+)?(?:[\w.]+\.)?\w*(?:Error|Exception|Panic|Warning)\b[^\n]*:.*$", re.M
    ),
    re.compile(r"^[ \t]*(?:error|fatal|panic|npm ERR!|FATAL|ERROR)\b.*$", re.M | re.I),
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
)
RESULTS = (
    re.compile(r"^Ran \d+ tests?\b.*$", re.M),
    re.compile(
        r"^=*[ \t]*((?:\d+ (?:passed|failed|errors?|skipped|xfailed|warnings?)[, ]*)+)", re.M
    ),
    re.compile(r"^Tests:\s+(.*\d+ total)", re.M),
    re.compile(r"^test result: .*?\d+ failed", re.M),
    re.compile(r"^[ \t]*(\d+ passing.*)$", re.M),
    re.compile(r"^ok\s+\S+\s+[\d.]+s", re.M),
    re.compile(r"^[ \t]*Tests[ \t]+(\d.*)$", re.M),
)
BROKEN = re.compile(
    r"\b[1-9]\d* (?:failed|failing|errors?)\b|^FAILED\b|^FAIL\b|test result: FAILED", re.M
)
COMMIT_LINE = re.compile(r"^\[[^\]\n]*?\b([0-9a-f]{7,40})\] (.+)$", re.M)
LOG_LINE = re.compile(r"^([0-9a-f]{7,40}) (.+)$", re.M)
HEREDOC = re.compile(r"<<-?\s*'?\"?(\w+)'?\"?\n(.*?)\n\s*\1\b", re.S)
MESSAGE = re.compile(r"(?:-\w*m|--message)[ =]?(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|(\S+))", re.S)
TAIL = re.compile(r"\s+2>&1|\s*\|\s*(?:tail|head|cat|tee)\b[^|;&]*$|\s*\|\|\s*true\s*$")
RUN_ON = re.compile(r"(.)\1{11,}")
LONG = 4_000
CD = re.compile(r"^cd \S+ *(?:&&|;) *")


class Run(NamedTuple):
    """One run of a command. ``cause`` is the line that tells why it failed, ``result`` a test
    runner's own count, ``tests`` the failing tests by name."""

    ok: bool
    exit_code: str
    cause: str
    result: str
    tests: tuple[str, ...]
    source: int
    agent: bool


class Command(NamedTuple):
    """All runs of one command in a turn, in order."""

    shown: str
    category: str
    runs: tuple[Run, ...]

    @property
    def still_failing(self) -> bool:
        return not self.runs[-1].ok

    @property
    def recovered(self) -> bool:
        return self.runs[-1].ok and any(not run.ok for run in self.runs)


def shown(command: str) -> str:
    """A command for reading: first lines joined, plumbing at its end gone."""
    text = HEREDOC.sub("<<…", command[:LONG])
    previous = ""
    while previous != text:
        previous = text
        text = TAIL.sub("", text).strip()
    return shorten(CD.sub("", text).replace("`", "'"), 160)


def category_of(command: str) -> str:
    bare = CD.sub("", command[:LONG])
    for name, pattern in CATEGORY:
        if pattern.search(bare):
            return name
    return "other"


def cause_of(output: str) -> str:
    """The line of an output that tells best why the command failed, "" if it said nothing."""
    for pattern in TELLING:
        found = [one.group().strip() for one in pattern.finditer(output)]
        if found:
            return shorten(RUN_ON.sub(r"\1\1\1…", re.sub(r"^E\s+", "", found[-1])), 180)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    lines = [line for line in lines if not EXIT.fullmatch(line)]
    return shorten(RUN_ON.sub(r"\1\1\1…", lines[-1]), 180) if lines else ""


def result_of(output: str) -> str:
    """A test runner's count, in its words: ``Ran 2 tests in 0.0s: OK``, ``3 passed, 1 failed``."""
    for pattern in RESULTS:
        found = list(pattern.finditer(output))
        if not found:
            continue
        text = found[-1].group((found[-1].re.groups and 1) or 0).strip(" =,")
        text = re.sub(r"\s+in [\d.]+m?s\b.*|\s+[\d.]+s$", "", text)
        if text.startswith("Ran "):
            after = output[found[-1].end() :].strip().splitlines()
            text += f": {after[0]}" if after else ""
        return shorten(text, 100)
    return ""


def _ends(output: str) -> str:
    """Where a long output says what matters: at its start and its end."""
    return output if len(output) <= 20_000 else f"{output[:4_000]}\n{output[-16_000:]}"


def read_run(call: Call, category: str) -> Run:
    output = _ends(call.output)
    failed = not call.ok or (category == "test" and BROKEN.search(output) is not None)
    code = EXIT.search(output[:200])
    late = TIMED_OUT.search(output)
    cause = late.group() if late else cause_of(output) if failed else ""
    if call.evidence.outcome == "interrupted":
        cause = "interrupted by the user"
    tests = [one for pattern in FAILED_TESTS for one in pattern.findall(output)]
    return Run(
        ok=not failed,
        exit_code=code[1] if code and failed else "",
        cause=cause,
        result=result_of(output) if category == "test" else "",
        tests=tuple(dict.fromkeys(shorten(one, 80) for one in tests[:5])) if failed else (),
        source=call.evidence.id,
        agent=bool(call.evidence.agent_id),
    )


def commands(calls: Iterable[Call]) -> tuple[Command, ...]:
    """The turn's commands, equal ones as one with all its runs."""
    found: dict[str, Command] = {}
    for call in calls:
        text = text_given(call, "command", "cmd", "script")
        if call.kind != "command" or not text.strip():
            continue
        key = one_line(TAIL.sub("", text[:LONG])) + text[LONG:]
        category = category_of(text)
        known = found.get(key, Command(shown(text), category, ()))
        found[key] = known._replace(runs=(*known.runs, read_run(call, category)))
    return tuple(found.values())


def run_words(run: Run) -> str:
    """One run's end in words: ``failed (exit 1: AssertionError: -2 != 2)``."""
    if run.ok:
        return f"passed ({run.result})" if run.result else "passed"
    why = f"exit {run.exit_code}" if run.exit_code else ""
    cause = (
        "; ".join(filter(None, (why, run.cause)))
        if not why or not run.cause
        else (f"{why}: {run.cause}")
    )
    return f"failed ({cause})" if cause else "failed"


def command_fact(command: Command, edited: str) -> str:
    """What became of a command over the turn, as one sentence."""
    last = command.runs[-1]
    failures = [run for run in command.runs if not run.ok]
    where = f"`{command.shown}`"
    if command.recovered:
        after = f" after editing {edited}" if edited else ""
        end = run_words(last)
        return f"{where}: {run_words(failures[0])}, then {end}{after}"
    if failures:
        again = f" {len(failures)} times" if len(failures) > 1 else ""
        words = run_words(last)
        return f"{where}: {words.replace('failed', 'failed' + again, 1)}"
    return f"{where}: {run_words(last) if command.category in JUDGES else 'ok'}"


# --- commits -------------------------------------------------------------------------


def commit_subject(command: str) -> str:
    """The subject line of the commit a command makes, "" if it is not on the line."""
    command = command[:LONG]
    heredoc = HEREDOC.search(command)
    if heredoc:
        lines = [line.strip() for line in heredoc[2].splitlines() if line.strip()]
        return lines[0] if lines else ""
    found = MESSAGE.search(command)
    text = next((one for one in found.groups() if one), "") if found else ""
    return text.strip().splitlines()[0] if text.strip() else ""


def commits(calls: Iterable[Call]) -> list[tuple[str, str, int]]:
    """(hash or "", subject, tool use) of each commit the turn made."""
    found: list[tuple[str, str, int]] = []
    for call in calls:
        text = text_given(call, "command", "cmd", "script")
        if call.kind != "command" or not call.ok or category_of(text) != "commit":
            continue
        subject = commit_subject(text)
        made = [(one[1], one[2].strip()) for one in COMMIT_LINE.finditer(call.output)]
        if not made and subject:
            logged = [one for one in LOG_LINE.finditer(call.output) if one[2].endswith(subject)]
            made = [(logged[0][1] if logged else "", subject)]
        found.extend((sha, shorten(line, 120), call.evidence.id) for sha, line in made)
    return found
