"""How often recall speaks where it should, and is silent where it should be.

The memories of ``tests/context/prompts.py`` are stored as one project's. A prompt that concerns a
memory *carries* it when that memory is among those told; a prompt that concerns none is to be met
with silence. The same is asked where as many others as a large project has are stored beside them,
sentences of Python's own documentation. Outputs of failing commands are asked in the same way, of which some were met before.
*dev* may be looked at while recall is tuned, *test* is held out. Ends with 1 when a share of either
is too low.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import random
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
prompts: Any = importlib.import_module("context.prompts")
samples: Any = importlib.import_module("samples")

from cmem.context import failures, recall  # noqa: E402

LEAST_CARRIED, LEAST_SILENT = 0.80, 0.95
# Among so many others, whose text differs with the version of Python.
OTHERS = 6_000
LEAST_CARRIED_THERE, LEAST_SILENT_THERE = 0.75, 0.92
PARTS = ("dev", "test")


class Share(NamedTuple):
    """Of the prompts that concern a memory, those that carry it; of the others, the silent."""

    carried: float
    silent: float


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--misses", action="store_true", help="list what went wrong in dev")
    misses = parser.parse_args(argv).misses
    good = True
    with tempfile.TemporaryDirectory() as folder:
        conn, keys = store(Path(folder))
        for part in PARTS:
            found = shares(conn, keys, part, misses=misses and part == "dev")
            print(
                f"recall {part}: {100 * found.carried:.0f} % of prompts about a memory carry it, "
                f"{100 * found.silent:.0f} % of the others are met with silence"
            )
            good = good and found.carried >= LEAST_CARRIED and found.silent >= LEAST_SILENT
            found = failing(conn, part)
            print(
                f"failures {part}: {100 * found.carried:.0f} % of those met before carry their "
                f"fix, {100 * found.silent:.0f} % of the others are met with silence"
            )
            good = good and found.carried >= LEAST_CARRIED and found.silent >= LEAST_SILENT
        add_others(conn, OTHERS)
        for part in PARTS:
            found = shares(conn, keys, part)
            print(
                f"recall {part} among {OTHERS:,} others: {100 * found.carried:.0f} % carry it, "
                f"{100 * found.silent:.0f} % of the others are met with silence"
            )
            good = good and found.carried >= LEAST_CARRIED_THERE
            good = good and found.silent >= LEAST_SILENT_THERE
        conn.close()
    return 0 if good else 1


def store(folder: Path) -> tuple[Any, list[int]]:
    """A store with the memories, and the numbers of their observations."""
    folder.chmod(0o700)
    conn = samples.open_store(folder)
    samples.project(conn, "shop", "/src/shop")
    keys = []
    with conn:
        for at, one in enumerate(prompts.MEMORIES):
            session = samples.session(conn, 1, f"s{at}", cwd="/src/shop")
            turn = samples.turn(conn, session, 1)
            keys.append(
                samples.observation(
                    conn, 1, session, turn, type=one.type, title=one.title, facts=list(one.facts),
                    created_at=samples.NOON + at * samples.HOUR,
                )
            )  # fmt: skip
        for at, failure in enumerate(prompts.FAILURES):
            session = samples.session(conn, 1, f"f{at}", cwd="/src/shop")
            turn = samples.turn(conn, session, 1)
            output = {"error": "Exit code 1\n" + failure.met}
            given = {"command": failure.command}
            samples.tool(conn, session, turn, "Bash", given, output, outcome="failed")
            samples.observation(conn, 1, session, turn, title=failure.fix)
    return conn, keys


def add_others(conn: Any, count: int) -> None:
    """So many memories more, of two sentences each."""
    found = sorted(_sentences(Path(ast.__file__).parent))
    random.Random(2).shuffle(found)
    session = samples.session(conn, 1, "others", cwd="/src/shop")
    turn = samples.turn(conn, session, 1)
    with conn:
        for at in range(count):
            title, fact = (found[(2 * at + more) % len(found)] for more in (0, 1))
            samples.observation(
                conn, 1, session, turn, title=title, facts=[fact],
                created_at=samples.NOON + samples.DAY * 30 + at * 1000,
            )  # fmt: skip


def _sentences(folder: Path) -> set[str]:
    """What the docstrings of the modules in a folder say."""
    found = set()
    for file in folder.rglob("*.py"):
        if "site-packages" in file.parts:
            continue
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):  # what its tests are made of
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                told = re.split(r"(?<=[.])\s+|\n\n", ast.get_docstring(node) or "")
                found |= {" ".join(one.split()) for one in told if 30 < len(one) < 160}
    return found


def shares(conn: Any, keys: list[int], part: str, *, misses: bool = False) -> Share:
    """The shares of one part of the data."""
    mine = PARTS.index(part)
    carried = asked = silent = 0
    for key, one in list(zip(keys, prompts.MEMORIES, strict=True))[mine::2]:
        for text in one.prompts:
            asked += 1
            found = [row[0] for _strength, row in recall.strong(conn, text, [1])]
            carried += key in found
            if misses and key not in found:
                print(f"  not carried: {text!r} {found}")
    others = prompts.OTHERS[mine::2]
    for text in others:
        titles = [row[10] for _strength, row in recall.strong(conn, text, [1])]
        silent += not titles
        if misses and titles:
            print(f"  not silent: {text!r} {titles}")
    return Share(carried / asked, silent / len(others))


def failing(conn: Any, part: str) -> Share:
    """The shares of one part of the failures."""
    mine = PARTS.index(part)
    met = prompts.FAILURES[mine::2]
    carried = sum(
        one.fix in [row[10] for row in failures.followed(conn, "Exit code 1\n" + one.again, [1])]
        for one in met
    )
    others = prompts.OTHER_FAILURES[mine::2]
    silent = sum(not failures.followed(conn, "Exit code 1\n" + text, [1]) for text in others)
    return Share(carried / len(met), silent / len(others))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
