"""How well search finds what a question asks for, against two plain ways of searching.

The memories and questions of ``tests/search/written.py``, 360 in six languages with two questions each, are stored with
`cmem` and asked one by one; the answer is the one memory the question was made for. Beside it:
the same texts in an ordinary FTS5 table (``unicode61``, any of the words, ranked by bm25), and
``LIKE`` for every word. *dev* may be looked at while search is tuned, *test* is held out. Ends
with 1 when fewer than 90 % of the held-out questions have their answer among the first ten.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "search")]
make: Any = importlib.import_module("store_rows")
written: Any = importlib.import_module("written")

from cmem.search.run import Filters, search  # noqa: E402

DEPTH = 10
LEAST = 0.9
Ask = Callable[[str], list[str]]


class Figures(NamedTuple):
    """Shares of questions with the answer that high, and the mean of 1 / its place."""

    questions: int
    at_1: float
    at_5: float
    at_10: float
    mrr: float


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="print every figure as JSON")
    parser.add_argument("--misses", action="store_true", help="list the dev questions not found")
    wanted = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        ways = {"cmem": ours(Path(folder)), "unicode61": plain(), "like": like()}
        places = {name: asked(way) for name, way in ways.items()}
    found = {name: by_language(one) for name, one in places.items()}
    if wanted.json:
        told = {
            name: {group: figures._asdict() for group, figures in one.items()}
            for name, one in found.items()
        }
        print(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        print("\n".join(lines(found)))
    for question, place in places["cmem"].items():
        if wanted.misses and question.part == "dev" and not place:
            print(f"  missed  {question.text}")
    return 0 if found["cmem"]["test"].at_10 >= LEAST else 1


def ours(folder: Path) -> Ask:
    """Search itself, over a store with every memory as an observation."""
    folder.chmod(0o700)
    conn = make.open_store(folder)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    keys = {
        f"O{make.observation(conn, turn, one.title, one.narrative)}": one.key
        for one in written.memories()
    }

    def ask(text: str) -> list[str]:
        found = search(conn, text=text, filters=Filters(), limit=DEPTH, now=make.T0)
        return [keys[hit.id] for hit in found.hits]

    return ask


def plain() -> Ask:
    """Any of the words, by bm25, in an ordinary FTS5 table."""
    conn = apsw.Connection(":memory:")
    conn.execute("CREATE VIRTUAL TABLE f USING fts5(key UNINDEXED, title, body)").fetchall()
    rows = [(one.key, one.title, one.narrative) for one in written.memories()]
    conn.executemany("INSERT INTO f VALUES(?, ?, ?)", rows).fetchall()

    def ask(text: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in text.split())
        query = "SELECT key FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?"
        return [str(row[0]) for row in conn.execute(query, (words, DEPTH))]

    return ask


def like() -> Ask:
    """Every word as a piece of the text, the newest rows first."""
    conn = apsw.Connection(":memory:")
    conn.execute("CREATE TABLE f(key, said)").fetchall()
    rows = [(one.key, f"{one.title}\n{one.narrative}") for one in written.memories()]
    conn.executemany("INSERT INTO f VALUES(?, ?)", rows).fetchall()

    def ask(text: str) -> list[str]:
        words = text.split()
        where = " AND ".join(["said LIKE '%' || ? || '%'"] * len(words))
        query = f"SELECT key FROM f WHERE {where} ORDER BY rowid DESC LIMIT ?"  # noqa: S608
        return [str(row[0]) for row in conn.execute(query, (*words, DEPTH))]

    return ask


def asked(ask: Ask) -> dict[Any, int]:
    """The place of each question's answer, from 1; 0 when it is not among the first ten."""
    found = {}
    for question in written.questions():
        keys = ask(question.text)
        found[question] = keys.index(question.key) + 1 if question.key in keys else 0
    return found


def by_language(places: Mapping[Any, int]) -> dict[str, Figures]:
    """Figures of both parts, and of the held-out one by language."""
    groups: dict[str, list[int]] = {"dev": [], "test": []}
    for question, place in places.items():
        groups[question.part].append(place)
        if question.part == "test":
            groups.setdefault(f"test {question.language}", []).append(place)
    return {name: figures(one) for name, one in groups.items()}


def figures(places: Sequence[int]) -> Figures:
    def share(deep: int) -> float:
        return sum(0 < place <= deep for place in places) / len(places)

    mrr = sum(1 / place for place in places if place) / len(places)
    return Figures(len(places), share(1), share(5), share(DEPTH), mrr)


def lines(found: Mapping[str, Mapping[str, Figures]]) -> list[str]:
    told = ["search: share of questions whose answer is found at 1 / 5 / 10, and MRR"]
    for group, first in found["cmem"].items():
        told.append(f"  {group} ({first.questions} questions)")
        for name in found:
            one = found[name][group]
            told.append(
                f"    {name:10} {one.at_1:5.2f} {one.at_5:5.2f} {one.at_10:5.2f}  {one.mrr:5.2f}"
            )
    return told


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
