"""Commands by rules: what kind it was, whether it worked, and the line that tells why not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from cmem.observer.evidence import Call, text_given
from cmem.observer.extract_output import EXIT, cause_of, ends, is_broken, result_of, tests_of
from cmem.observer.text import one_line, shorten

CATEGORIES = (
    ("commit", r"\bgit\b[^|;&]*\bcommit\b"),
    (
        "test",
        r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|doctest|"
        r"playwright|cypress)\b|\b(?:npm|pnpm|yarn|bun|deno|cargo|go|mix|dotnet|swift|mvn|"
        r"gradle|gradlew|make|just|rake|zig|flutter|bazel)\b[^|;&\n]*\btest|"
        r"\b(?:mvn|gradlew?)\b[^|;&\n]*\b(?:verify|check)\b",
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
        r"\bgo\s+get\b|\bdotnet\s+(?:add|remove)\b[^|;&\n]{0,200}\bpackage\b|\bcomposer\s+require\b|"
        r"\b(?:flutter|dart)\s+pub\s+(?:add|remove|get)\b|\bmix\s+deps\.get\b",
    ),
    (
        "deploy",
        r"\b(?:git\s+push|git\s+tag|docker\s+push|kubectl\s+apply|helm\s+(?:install|upgrade)|"
        r"terraform\s+apply|twine\s+upload|npm\s+publish|cargo\s+publish|"
        r"gh\s+(?:pr|release)\s+(?:create|merge|close|edit|comment|upload)|fly\s+deploy|vercel|"
        r"alembic\s+(?:up|down)grade|migrate|kubectl\s[^|;&\n]{0,80}?\b(?:delete|scale|rollout|set|"
        r"patch|create|edit)|docker(?:-compose|\s+compose)\s+(?:up|down|restart))\b",
    ),
    (
        "build",
        r"\b(?:make|cmake|ninja|tsc|webpack|vite|gcc|clang|javac|msbuild|bazel)\b|"
        r"\b(?:npm|pnpm|yarn|bun|cargo|go|docker|mvn|gradle|dotnet|swift)\b[^|;&\n]*\b"
        r"(?:build|compile|package)\b",
    ),
    (
        "operate",
        r"\bgit\s+(?:merge|rebase|cherry-pick|revert|reset|stash|checkout\s+-b|switch\s+-c)\b|"
        r"^\s*(?:rm|mv|chmod|chown|ln)\s|\bsystemctl\s+(?:re)?(?:start|stop|enable|disable|load)\b|"
        r"\bterraform\s+(?:destroy|import|state)\b|\b(?:psql|mysql|sqlite3|mariadb)\b[^|]{0,200}?"
        r"\b(?:create|alter|drop|insert|update|delete|truncate)\b",
    ),
    (
        "look",
        r"^\s*(?:cd|export|source|ls|cat|head|tail|grep|rg|find|fd|wc|pwd|"
        r"echo|which|type|file|stat|tree|less|sed\s+-n|awk|du|df|ps|env|date|sleep|"
        r"git\s+(?:status|diff|log|show|branch|blame|remote|rev-parse|ls-files|fetch)|"
        r"kubectl\s[^|;&\n]{0,80}?\b(?:get|describe|logs|top)|docker\s+(?:ps|logs|images|inspect)|"
        r"gh\s+\S+\s+(?:view|list|status|diff|checks)|(?:npm|pip3?)\s+(?:ls|list|show|view|outdated))\b",
    ),
)
CATEGORY = tuple(
    (name, re.compile(pattern, re.I if name == "operate" else 0)) for name, pattern in CATEGORIES
)
JUDGES = {"test", "lint", "build"}
IMPORTANT = {"test", "lint", "build", "deploy", "install", "commit", "operate"}

COMMIT_LINE = re.compile(r"^\[([^\s\]]{1,120})[^\]\n]{0,40}? ([0-9a-f]{7,40})\] (.+)$", re.M)
BRANCH = re.compile(
    r"\bgit (?:checkout -b|switch -c) ([^\s;&|]{1,120})|\bgit push (?:-\S{1,20} ){0,3}[\w-]{1,40} "
    r"([^\s;&|]{1,120})"
)
LOG_LINE = re.compile(r"^([0-9a-f]{7,40}) (.+)$", re.M)
HEREDOC = re.compile(r"<<-?\s*'?\"?(\w+)'?\"?\n(.*?)\n\s*\1\b", re.S)
MESSAGE = re.compile(r"(?:-\w*m|--message)[ =]?(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|(\S+))", re.S)
# What stands around a command for the shell's sake or the reader's.
TAIL = re.compile(
    r"\s+(?:2>&1|&?\d?>\s?/dev/null)|\s*\|\s*(?:tail|head|cat|tee|grep -v)\b[^|;&]*$|\s*\|\|\s*true\s*$|"
    r"\s*(?:;|&&|\|\|)\s*echo\b[^|;&]*$|\s*;\s*$"
)
LEAD = re.compile(
    r"^\s*(?:(?:cd|source|\.|export|set|ulimit|unset|nvm use)\s[^;&|\n]{0,300}(?:&&|;|\n)\s*|"
    r"(?:sudo|time|nohup|env)\s+(?=[^\s-])|"
    r"timeout\s+\d\S{0,8}\s+)"
)
ASSIGNED = re.compile(r"^(?:[A-Za-z_]\w{0,60}=[^\s;&|'\"]{0,200} +){1,9}")
SPACES = re.compile(r"(\s)\s+")
LONG = 4_000
ROUNDS = 12


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


def bare(command: str) -> str:
    """A command without the steps into its folder and environment, and without plumbing."""
    text = SPACES.sub(r"\1", HEREDOC.sub("<<…", command[:LONG]))
    for _ in range(ROUNDS):
        less = TAIL.sub("", LEAD.sub("", text)).strip()
        if less in ("", text):
            break
        text = less
    return text


def shown(command: str) -> str:
    """A command for reading, on one line."""
    return shorten(bare(command).replace("`", "'"), 140)


def category_of(command: str) -> str:
    text = ASSIGNED.sub("", bare(command))
    for name, pattern in CATEGORY:
        if pattern.search(text):
            return name
    return "other"


def read_run(call: Call, category: str) -> Run:
    output = ends(call.output)
    failed = not call.ok or (category in JUDGES and is_broken(output))
    code = EXIT.search(output[:200])
    cause = cause_of(output) if failed else ""
    if call.evidence.outcome == "interrupted":
        cause = "interrupted by the user"
    told = category == "test" or (category != "look" and not failed)
    return Run(
        ok=not failed,
        exit_code=code[1] if code and failed else "",
        cause=cause,
        result=result_of(output, counted=category in JUDGES) if told else "",
        tests=tests_of(output) if failed else (),
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
        key = one_line(TAIL.sub("", SPACES.sub(r"\1", text[:LONG]))) + text[LONG:]
        category = category_of(text)
        known = found.get(key, Command(shown(text), category, ()))
        found[key] = known._replace(runs=(*known.runs, read_run(call, category)))
    return tuple(found.values())


def run_words(run: Run) -> str:
    """One run's end in words: ``failed (exit 1: AssertionError: -2 != 2)``."""
    if run.ok:
        return f"passed ({run.result})" if run.result else "passed"
    why = f"exit {run.exit_code}" if run.exit_code else ""
    cause = ": ".join(filter(None, (why, run.cause)))
    counted = run.result if run.result and run.result not in run.cause else ""
    cause = "; ".join(filter(None, (cause, counted)))
    return f"failed ({cause})" if cause else "failed"


def command_fact(command: Command, edited: str) -> str:
    """What became of a command over the turn, as one sentence: each cause once, the first
    two and the last of many."""
    last = command.runs[-1]
    where = f"`{command.shown}`"
    failures = [run for run in command.runs if not run.ok]
    if not failures:
        if command.category in JUDGES:
            return f"{where}: {run_words(last)}"
        return f"{where}: {last.result}" if last.result else f"Ran {where}"
    words = list(dict.fromkeys(run_words(run) for run in failures))
    words = [*words[:2], *words[2:][-1:]]
    if len(failures) > 1 and len(words) == 1:
        words[0] = words[0].replace("failed", f"failed {len(failures)} times", 1)
    told = ", then ".join([*words, *([run_words(last)] if last.ok else [])])
    return f"{where}: {told}{f' after editing {edited}' if last.ok and edited else ''}"


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


def branch_of(command: str, output: str) -> str:
    """The branch a commit went to, where the command or its output names one."""
    made = COMMIT_LINE.search(output)
    named = BRANCH.search(command[:LONG])
    branch = made[1] if made else next((one for one in named.groups() if one), "") if named else ""
    return "" if branch in ("", "main", "master", "HEAD", "detached") else branch


def commits(calls: Iterable[Call]) -> list[tuple[str, str, int]]:
    """(hash or "", subject, tool use) of each commit the turn made."""
    found: list[tuple[str, str, int]] = []
    for call in calls:
        text = text_given(call, "command", "cmd", "script")
        if call.kind != "command" or not call.ok or category_of(text) != "commit":
            continue
        subject = commit_subject(text)
        made = [(one[2], one[3].strip()) for one in COMMIT_LINE.finditer(call.output)]
        if not made and subject:
            logged = [one for one in LOG_LINE.finditer(call.output) if one[2].endswith(subject)]
            made = [(logged[0][1] if logged else "", subject)]
        branch = branch_of(text, call.output)
        place = f" (on {branch})" if branch else ""
        found.extend((sha, shorten(line, 120) + place, call.evidence.id) for sha, line in made)
    return found
