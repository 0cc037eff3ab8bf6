"""What the observer without a model keeps of what was planted in written sessions.

Each session of ``tests/observer/planted.py`` and ``heldout.py`` names what a colleague must
still find a month later. The share that was kept is told by language and by where it stood, and
beside it the noise: observations a turn, facts and tokens an observation, and how much of the
evidence's tokens is left. Ends with 1 when less than 80 % was kept of either part.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "observer"
sys.path[:0] = [str(ROOT), str(TESTS)]
heldout: Any = importlib.import_module("heldout")
making: Any = importlib.import_module("making")
planted: Any = importlib.import_module("planted")

from cmem import tokens  # noqa: E402
from cmem.model import Evidence, ObservationDraft, TurnUnit  # noqa: E402

LEAST = 0.8
PARTS: dict[str, Mapping[str, Any]] = {"written": planted.SESSIONS, "held out": heldout.SESSIONS}
# Where a fact stood, the first of these that holds all of it; else it is put together.
JOINED = "several places"


class Fact(NamedTuple):
    """One planted fact: its session's language, where it stood, and whether it was kept."""

    session: str
    language: str
    kind: str
    text: str
    kept: bool


class Noise(NamedTuple):
    """What was written for it. ``left``: tokens kept for each token of evidence."""

    turns: int
    observations: int
    per_turn: float
    facts: float
    tokens: float
    left: float


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="print every figure as JSON")
    wanted = parser.parse_args(argv)
    found = {name: facts(sessions) for name, sessions in PARTS.items()}
    noises = {name: noise(sessions) for name, sessions in PARTS.items()}
    if wanted.json:
        print(json.dumps(figures(found, noises), ensure_ascii=False, indent=2))
    else:
        print("\n\n".join(told(name, found[name], noises[name]) for name in PARTS))
    return 0 if all(share(one) >= LEAST for one in found.values()) else 1


def facts(sessions: Mapping[str, Any]) -> list[Fact]:
    """Every planted fact of these sessions."""
    found = []
    for name, session in sessions.items():
        units = making.units(session)
        lost = making.recall(session, making.lines(making.drafts(session)))
        language = name.split()[0]
        found += [
            Fact(name, language, kind_of(units, fact), fact, fact not in lost)
            for fact in session.planted
        ]
    return found


def kind_of(units: Iterable[TurnUnit], fact: str) -> str:
    """Where the fact stood: in the user's words, a failure, an edit, a result or the answer."""
    parts = fact.split(" & ")
    for unit in units:
        for kind, text in _places(unit):
            if all(part.lower() in text.lower() for part in parts):
                return kind
    return JOINED


def _places(unit: TurnUnit) -> Iterable[tuple[str, str]]:
    yield "the user's words", unit.prompt
    for one in unit.evidence:
        yield _kind(one), _text(one.tool_input) + "\n" + _text(one.tool_response)
    yield "the answer", unit.assistant_message


def _kind(one: Evidence) -> str:
    if one.outcome != "ok":
        return "a failure"
    kinds = {"Edit": "an edit", "Write": "an edit", "NotebookEdit": "an edit"}
    return kinds.get(one.tool_name, "a result")


def _text(stored: str) -> str:
    """All texts of a JSON value, as a person reads them."""
    return "\n".join(_texts(json.loads(stored)))


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _texts(one)
    else:
        yield str(value)


def noise(sessions: Mapping[str, Any]) -> Noise:
    """How much was written for these sessions."""
    units = [unit for session in sessions.values() for unit in making.units(session)]
    drafts = [
        one for session in sessions.values() for turn in making.drafts(session) for one in turn
    ]
    size = sum(map(_size, drafts))
    evidence = sum(tokens.count(text) for unit in units for _kind, text in _places(unit))
    return Noise(
        turns=len(units),
        observations=len(drafts),
        per_turn=len(drafts) / len(units),
        facts=sum(len(one.facts) for one in drafts) / len(drafts),
        tokens=size / len(drafts),
        left=size / evidence,
    )


def _size(draft: ObservationDraft) -> int:
    return tokens.count("\n".join(making.told(draft)))


def share(found: list[Fact]) -> float:
    return sum(one.kept for one in found) / len(found)


def by(found: list[Fact], key: Callable[[Fact], str]) -> dict[str, list[Fact]]:
    groups: dict[str, list[Fact]] = {}
    for one in sorted(found, key=key):
        groups.setdefault(key(one), []).append(one)
    return groups


def figures(found: Mapping[str, list[Fact]], noises: Mapping[str, Noise]) -> dict[str, Any]:
    """The same as the text, for scripts."""
    return {
        name: {
            "facts": len(ones),
            "kept": sum(one.kept for one in ones),
            "languages": _counted(by(ones, lambda one: one.language)),
            "kinds": _counted(by(ones, lambda one: one.kind)),
            "lost": [{"session": one.session, "fact": one.text} for one in ones if not one.kept],
            "noise": noises[name]._asdict(),
        }
        for name, ones in found.items()
    }


def _counted(groups: Mapping[str, list[Fact]]) -> dict[str, list[int]]:
    return {name: [sum(one.kept for one in ones), len(ones)] for name, ones in groups.items()}


def told(name: str, found: list[Fact], written: Noise) -> str:
    """One part as text for people."""
    sessions = len({one.session for one in found})
    lines = [
        f"{name}: {_share(found)} planted facts of {sessions} sessions kept",
        f"  {written.observations} observations of {written.turns} turns ({written.per_turn:.2f} "
        f"a turn), {written.facts:.1f} facts and {written.tokens:.0f} tokens each; "
        f"{written.left:.2f} of the evidence's tokens",
    ]
    for title, groups in (
        ("by language", by(found, lambda one: one.language)),
        ("by where it stood", by(found, lambda one: one.kind)),
    ):
        lines.append(f"  {title}")
        lines += [f"    {group:<17} {_share(ones)}" for group, ones in groups.items()]
    lines += [f"  lost  {one.session}: {one.text}" for one in found if not one.kept]
    return "\n".join(lines)


def _share(found: list[Fact]) -> str:
    kept = sum(one.kept for one in found)
    return f"{kept} of {len(found)} ({100 * share(found):.0f} %)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
