"""What the recorded sessions cost: calls, tokens and the cacheable prefix, from real requests.

Every recorded Claude Code session goes through spool, ingest and observe with the provider
`anthropic` against a scripted server on loopback, which answers each observation request with
one record. Counted are the requests as that server got them; a token is four characters, or one
and a half of Chinese, Japanese and Korean. With --check, a limit that is passed ends it with 1.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
# The tests' own way to capture, their recordings, and the scripted server.
capturing: Any = importlib.import_module("capturing")
support: Any = importlib.import_module("support")
FakeAnthropic: Any = importlib.import_module("fake_anthropic").FakeAnthropic

from cmem import budget, compress, settings, tokens  # noqa: E402
from cmem.store import connection  # noqa: E402
from cmem.store.rows import rows  # noqa: E402

MOST_CALLS_PER_TURN = 1.0
MOST_TOKENS_PER_OBSERVATION = 4_000
RECORD = """<observation><type>change</type><title>Step {n} of the work</title>
<narrative>What was done in step {n}.</narrative><facts><fact>step {n} was done</fact></facts>
<concepts><concept>what-changed</concept></concepts></observation>"""
SUMMARY = """<summary><request>work</request><investigated>it</investigated><learned>how</learned>
<completed>done</completed><next_steps>none</next_steps></summary>"""
TURNS = """SELECT count(*) FROM turns WHERE closed_at IS NOT NULL AND private = 0
    AND EXISTS (SELECT 1 FROM work_units u WHERE u.turn_id = turns.id AND u.kind = 'turn')"""


class Request(NamedTuple):
    """One request as the server got it: its static part, its own part, its size in bytes."""

    is_summary: bool
    prefix: str
    rest: str
    size: int

    @property
    def tokens(self) -> int:
        return tokens.count(self.prefix + self.rest)


class Figures(NamedTuple):
    """A session's requests, and what is in the store after them."""

    name: str
    events: int
    turns: int
    observations: int
    requests: list[Request]


def main() -> int:
    given = _options()
    figures = []
    with tempfile.TemporaryDirectory(prefix="cmem-cost-") as folder:
        os.environ["HOME"] = folder
        for name in support.SESSIONS:
            figures.append(replay(Path(folder) / name, name))
    print("\n".join(table(figures)))
    faults = broken(figures)
    for fault in faults:
        print(f"over the limit: {fault}", file=sys.stderr)
    return 1 if faults and given.check else 0


def replay(home: Path, name: str) -> Figures:
    """Capture the session, observe it, and keep what was sent."""
    home.mkdir(mode=0o700)
    events = support.session(name)
    for event, at, payload in events:
        capturing.put(home, event, payload, at)
    replies = [RECORD.format(n=n) for n in range(200)]
    script = {"replies": replies, "rules": [{"match": {"last": "Summarise"}, "reply": SUMMARY}]}
    with FakeAnthropic(script) as api:
        flags = {"provider": "anthropic", "base_url": api.url, "api_key": "dummy"}
        chosen = settings.load(str(home), env={}, flags=flags, trusted_env=True)
        asked = compress.Options(close_open=True, limits=budget.NO_LIMITS)
        report = compress.compress(str(home), chosen, asked)
        sent = [_request(call["body"]) for call in api.messages]
    if report.pending or report.parked:
        raise SystemExit(f"{name}: {report}")
    conn = connection.open_reader(str(home))
    assert conn is not None
    turns = rows(conn, TURNS)[0][0]
    stored = rows(conn, "SELECT count(*) FROM observations")[0][0]
    conn.close()
    return Figures(
        name.removeprefix("session-").removesuffix(".jsonl"), len(events), turns, stored, sent
    )


def _request(body: dict[str, Any]) -> Request:
    prefix = "".join(block["text"] for block in body["system"])
    content = body["messages"][0]["content"]
    rest = content if isinstance(content, str) else "".join(block["text"] for block in content)
    size = len((prefix + rest).encode("utf-8", "replace"))
    return Request("Summarise" in rest[-200:], prefix, rest, size)


def table(figures: list[Figures]) -> list[str]:
    """The figures in Markdown, a line for each session and one for all of them."""
    lines = [
        "| session | events | turns | observation calls | summary calls | observations "
        "| tokens in | of it prefix | tokens in per observation |",
        "| --- " * 9 + "|",
    ]
    every = Figures(
        "all",
        sum(one.events for one in figures),
        sum(one.turns for one in figures),
        sum(one.observations for one in figures),
        [request for one in figures for request in one.requests],
    )
    lines += [_line(one) for one in (*figures, every)]
    prefixes = {request.prefix for request in every.requests if not request.is_summary}
    sizes = sorted(request.tokens for request in every.requests if not request.is_summary)
    lines += [
        "",
        f"Prefixes of observation requests: {len(prefixes)} different, "
        f"{tokens.count(next(iter(prefixes))):,} tokens.",
        f"Observation requests: median {sizes[len(sizes) // 2]:,} tokens, largest {sizes[-1]:,}.",
        f"With the prefix read from a cache at a tenth of its price: {_cached(every):,} tokens in "
        "per observation.",
    ]
    return lines


def _line(one: Figures) -> str:
    calls = [request for request in one.requests if not request.is_summary]
    total = sum(request.tokens for request in one.requests)
    prefix = sum(tokens.count(request.prefix) for request in one.requests)
    mean = f"{total // one.observations:,}" if one.observations else "-"
    share = f"{prefix / total:.0%}" if total else "-"
    return (
        f"| {one.name} | {one.events} | {one.turns} | {len(calls)} | "
        f"{len(one.requests) - len(calls)} | {one.observations} | {total:,} | {share} | {mean} |"
    )


def _cached(one: Figures) -> int:
    prefix = sum(tokens.count(request.prefix) for request in one.requests)
    rest = sum(request.tokens for request in one.requests) - prefix
    return int((prefix * 0.1 + rest) / max(one.observations, 1))


def broken(figures: list[Figures]) -> list[str]:
    """The limits that do not hold."""
    found = []
    for one in figures:
        calls = sum(not request.is_summary for request in one.requests)
        if calls > one.turns * MOST_CALLS_PER_TURN:
            found.append(f"{one.name}: {calls} observation calls of {one.turns} turns")
    total = sum(request.tokens for one in figures for request in one.requests)
    mean = total / max(sum(one.observations for one in figures), 1)
    if mean > MOST_TOKENS_PER_OBSERVATION:
        found.append(f"{mean:,.0f} tokens in per stored observation")
    prefixes = {
        request.prefix for one in figures for request in one.requests if not request.is_summary
    }
    if len(prefixes) != 1:
        found.append(f"{len(prefixes)} different prefixes of observation requests")
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what the recorded sessions cost.")
    parser.add_argument("--check", action="store_true", help="fail when a limit is passed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
