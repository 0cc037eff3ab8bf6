"""How much of what a session is told concerns its next prompt, and how small it is.

Relevance: made projects of some hundred memories in which several topics alternate, each with its
files and its branch, in part interrupted by another just before. A memory is relevant when it is of
the topic that the next prompt goes on with. The share of relevant lines at the default budget is
told beside that of the newest memories alone at the same budget: as many titles as it buys, and as
many as were chosen. Then the same where all work is on one branch, which tells nothing, and where
the topic that goes on has rested for some sessions, so that none of the newest is of it. Compression: made sessions of 1 to 200 tool calls, captured, ingested and
observed without a model; tokens of the evidence for each token of the block, and how many planted
facts are in it; then the same of recorded sessions, most of which are a few calls on small files,
where there is little to save. Ends with 1 when a share, its lead or the fifty calls' ratio is too low.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
capturing: Any = importlib.import_module("capturing")
samples: Any = importlib.import_module("samples")

from cmem import spooled  # noqa: E402
from cmem.context import block, gather, render, select  # noqa: E402
from cmem.hosts.wire import HOSTS  # noqa: E402
from cmem.store import connection, recent  # noqa: E402
from cmem.store.rows import value  # noqa: E402

LEAST_SHARE, LEAST_LEAD, LEAST_RATIO = 0.70, 0.10, 39
PROJECTS = 24
BUDGET = 2_000
SESSIONS = 60
RESTED = (0, 6, 10, 15, 20)
CALLS = (1, 10, 50, 200)
FIXTURES = ROOT / "tests" / "fixtures" / "hosts"
RECORDED = (
    *("claude-code/session-fix-subtract", "claude-code/session-tool-round"),
    *("claude-code/session-auto-compact", "codex/session-basic", "copilot-cli/session-basic"),
    *("gemini-cli/session-basic", "opencode/session-basic"),
)
TOPICS = ("login", "search", "billing", "export", "mail")
TYPES = ("change", "bugfix", "feature", "discovery", "decision")
NOW = samples.NOON


class Share(NamedTuple):
    """Relevant lines of all lines: for what is chosen, for the newest as far as the budget goes,
    and for as many of the newest."""

    chosen: float
    newest: float
    as_many: float
    lines: float


class Session(NamedTuple):
    """What one made session became."""

    calls: int
    evidence: int
    read: int
    kept: int
    planted: int


def main() -> int:
    found = relevance()
    print(f"relevance: {_shares(found)}")
    print(f"relevance on one branch: {_shares(relevance(branches=False))}")
    for rested in RESTED:
        print(f"relevance, rested for {rested} sessions: {_shares(relevance(rested=rested))}")
    sessions = [session(calls) for calls in CALLS]
    for one in sessions:
        print(
            f"{one.calls:>4} calls: {one.evidence:>7,} tokens of evidence, {one.read:>5,} read, "
            f"{one.evidence / max(one.read, 1):>5.1f} : 1, {one.kept} of {one.planted} planted facts"
        )
    for name in RECORDED:
        real = recorded(name)
        print(f"{name}: {real.calls} calls, {real.evidence:,} tokens of evidence, {_told(real)}")
    fifty = next(one for one in sessions if one.calls == 50)
    whole = all(one.kept == one.planted for one in sessions if one.calls <= 50)
    lead = found.chosen - max(found.newest, found.as_many)
    good = found.chosen >= LEAST_SHARE and lead >= LEAST_LEAD
    return 0 if good and whole and fifty.evidence / max(fifty.read, 1) >= LEAST_RATIO else 1


def _told(real: Session) -> str:
    """What a recorded session's block costs; one may hold nothing worth remembering."""
    if not real.read:
        return "in which nothing was worth remembering"
    return f"{real.read:,} read, {real.evidence / real.read:.1f} : 1"


def _shares(found: Share) -> str:
    return (
        f"{100 * found.chosen:.0f} % of {found.lines:.1f} lines concern the next prompt "
        f"({PROJECTS} projects, {BUDGET} tokens); of the newest that the budget buys "
        f"{100 * found.newest:.0f} %, of as many newest {100 * found.as_many:.0f} %"
    )


def relevance(*, branches: bool = True, rested: int | None = None) -> Share:
    """The shares over all projects. ``rested``: so many of the last sessions are of other topics."""
    hits = lines = newest_hits = newest_lines = many_hits = 0
    for seed in range(PROJECTS):
        with tempfile.TemporaryDirectory() as home:
            chosen, newest, relevant = _project(
                Path(home), random.Random(seed), branches=branches, rested=rested
            )
        hits += len(chosen & relevant)
        lines += len(chosen)
        newest_hits += len(relevant.intersection(newest))
        newest_lines += len(newest)
        many_hits += len(relevant.intersection(newest[: len(chosen)]))
    return Share(hits / lines, newest_hits / newest_lines, many_hits / lines, lines / PROJECTS)


def _project(
    home: Path, draw: random.Random, *, branches: bool, rested: int | None
) -> tuple[set[str], list[str], set[str]]:
    """(ids chosen, newest ids that the same budget buys, ids of the topic that goes on)."""
    conn = samples.open_store(home)
    samples.project(conn, "p", "/src/p")
    goes_on = draw.choice(TOPICS)
    topics = _sessions(draw, goes_on, rested)
    at = NOW
    ids: list[tuple[str, str]] = []
    with conn:
        for number, topic in enumerate(topics):
            at += draw.randrange(8, 30) * samples.HOUR
            ref = samples.session(conn, 1, f"s{number}", cwd="/src/p")
            for turn in range(1, draw.randrange(3, 7)):
                row = _memory(draw, topic, number * 10 + turn)
                if not branches:
                    row["branch"] = "main"
                made = samples.observation(
                    conn,
                    1,
                    ref,
                    samples.turn(conn, ref, turn),
                    prompt_number=turn,
                    created_at=at + turn * 60_000,
                    **row,
                )
                ids.append((f"O{made}", topic))
    read = gather.for_project(conn, 1, branch=goes_on if branches else "main")
    told = block.of_rows(conn, read, budget=BUDGET)[3]
    chosen = {ref for ref, _why in told if ref[0] == "O"}
    newest = _newest(conn)
    conn.close()
    return chosen, newest, {ref for ref, topic in ids if topic == goes_on}


def _sessions(draw: random.Random, goes_on: str, rested: int | None) -> list[str]:
    """The topic of each session. That which goes on was the last but one's, and in half of the
    projects the last one's; or it has rested since."""
    if rested is not None:
        others = [topic for topic in TOPICS if topic != goes_on]
        topics = [draw.choice(TOPICS) for _ in range(SESSIONS - rested)]
        return [*topics, *(draw.choice(others) for _ in range(rested))]
    topics = [draw.choice(TOPICS) for _ in range(SESSIONS - 2)] + [goes_on] * 2
    if draw.random() < 0.5:
        topics[-1] = draw.choice(TOPICS)
    return topics


def _newest(conn: Any) -> list[str]:
    """The newest memories whose titles the budget of a block buys beside its frame."""
    purse = select.Purse(BUDGET - 120, block.MAX_UNITS)
    found = []
    for row in recent.observations(conn, [1], 200):
        if not purse.pay([render.title_line(row)]):
            break
        found.append(f"O{row[0]}")
    return found


def _memory(draw: random.Random, topic: str, number: int) -> dict[str, Any]:
    """One memory; three in ten touch what all topics share, one in ten is on another branch."""
    file = "app.py" if draw.random() < 0.3 else f"{topic}/{draw.choice('abcdef')}.py"
    return {
        "type": draw.choice(TYPES),
        "title": f"{topic}: step {number} changes how {file} answers",
        "branch": "main" if draw.random() < 0.1 else topic,
        "files_modified": [file],
    }


def session(calls: int) -> Session:
    """Capture, ingest and observe one session of so many calls, and build the next block."""
    with tempfile.TemporaryDirectory() as folder:
        home = _home(folder)
        planted = _capture(home, calls)
        evidence, cost, text = _observed(home)
    kept = sum(fact in text for fact in planted)
    return Session(calls, evidence, cost, kept, len(planted))


def recorded(name: str) -> Session:
    """The same of a session that a real host's hooks have told."""
    host = name.partition("/")[0]
    lines = (FIXTURES / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    events = [json.loads(line) for line in lines if line]
    calls, first = 0, int(events[0]["t"] * 1000)
    with tempfile.TemporaryDirectory() as folder:
        home = _home(folder)
        for one in events:
            kind = HOSTS[host].kinds.get(one["event"])
            if kind is not None:
                calls += kind == "tool"
                at = NOW + (int(one["t"] * 1000) - first)
                capturing.put(home, one["event"], one["stdin"], at, host=host)
        evidence, cost, _text = _observed(home)
    return Session(calls, evidence, cost, 0, 0)


def _home(folder: str) -> Path:
    home = Path(folder) / "home"
    home.mkdir(mode=0o700)
    spooled.create(str(home)).close()
    return home


def _observed(home: Path) -> tuple[int, int, str]:
    """(tokens of the evidence, tokens of the next session's block, the block)."""
    env = {"PATH": os.environ["PATH"], "CMEM_HOME": str(home), "PYTHONPATH": str(ROOT)}
    env["CMEM_PROVIDER"] = "extract"
    command = [sys.executable, "-m", "cmem", "compress", "--open", "--json"]
    subprocess.run(command, env=env, check=True, capture_output=True)
    conn = connection.open_reader(str(home))
    assert conn is not None
    evidence = value(conn, "SELECT coalesce(sum(evidence_tokens), 0) FROM tool_uses")
    project = value(conn, "SELECT project_id FROM sessions LIMIT 1")
    read = gather.for_project(conn, project)
    _name, text, cost, _items, _omitted, _outside = block.of_rows(conn, read, budget=2000)
    conn.close()
    return evidence, cost, text


def _capture(home: Path, calls: int) -> list[str]:
    """A turn of ten calls each: reading, a failure, an edit, a test. What must be found again."""
    draw = random.Random(calls)
    planted = []
    at = NOW
    for number in range(calls):
        turn = number // 10
        common = {"session_id": "made", "cwd": "/src/made", "prompt_id": f"p{turn}"}
        at += 5000
        if number % 10 == 0:
            planted.append(f"limit_{turn} must stay below {turn + 40}")
            text = f"{planted[-1]}. Please move it into module_{turn}.py and run the tests."
            capturing.put(home, "UserPromptSubmit", {**common, "prompt": text}, at)
        name, given, answer = _call(draw, number % 10, turn)
        use = {"tool_name": name, "tool_use_id": f"toolu_{number}", "tool_input": given}
        capturing.put(home, "PostToolUse", {**common, **use, "tool_response": answer}, at + 1000)
        if number % 10 == 9 or number == calls - 1:
            last = {"last_assistant_message": f"Moved limit_{turn}; the tests pass."}
            capturing.put(home, "Stop", {**common, **last}, at + 2000)
    capturing.put(home, "SessionEnd", {"session_id": "made", "cwd": "/src/made"}, at + 9000)
    return planted


def _call(draw: random.Random, step: int, turn: int) -> tuple[str, Any, Any]:
    file = f"/src/made/module_{turn}.py"
    if step in (7, 8):
        pair = {"old_string": f"limit = {turn}", "new_string": f"limit = {turn + 40}"}
        given = {"file_path": file, **pair}
        return "Edit", given, {"filePath": file, "structuredPatch": [], **pair}
    if step == 9:
        out = "\n".join(f"tests/test_{one}.py ........ [{one} %]" for one in range(100))
        told = {"stdout": out + "\n120 passed in 3.1s", "stderr": "", "interrupted": False}
        return "Bash", {"command": "pytest -q"}, told
    words = [draw.choice(("value", "limit", "table", "reader", "index")) for _ in range(700)]
    text = "\n".join(
        f"    {a}_{n} = make_{b}({c})"
        for n, (a, b, c) in enumerate(zip(words[::3], words[1::3], words[2::3], strict=False))
    )
    source = f"/src/made/module_{turn}_{step}.py"
    return "Read", {"file_path": source}, {"type": "text", "file": {"content": text}}


if __name__ == "__main__":
    sys.exit(main())
