"""Measure how fast memories go from a store of 10,000 to 1,000,000 documents.

The stores are those of ``bench_search.py``, made below the given folder the first time; each run
works on a copy with three backups beside it, as many as there are by themselves. Told of each: when none of the rows can be found any more, when the command has
ended, how long it held the lock at most (another process asks for it all the time), and whether
eight signs of their own words are left in any file. With --check it ends with 1 when a limit is
passed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import mmap
import multiprocessing
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import apsw

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts"), str(ROOT / "tests" / "search")]
generated: Any = importlib.import_module("generated")

import bench_search  # noqa: E402

from cmem.search.run import Filters, search  # noqa: E402
from cmem.store import connection, snapshot  # noqa: E402

FOUND_S, GONE_S, LOCK_MS = 5, 90, 250
PIECE = 8
POLL_S = 0.1


class Took(NamedTuple):
    """``found_s``: until nothing was found; ``gone_s``: until the command had ended, and ``cpu_s`` what it has
    computed until then, which a busy machine changes least; ``waits_ms``: how long each try for the lock took, sorted."""

    found_s: float
    gone_s: float
    cpu_s: float
    removed: int
    waits_ms: list[float]
    left: list[str]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, help="where the stores are kept")
    parser.add_argument("--documents", type=int, action="append", help="a size; repeatable")
    parser.add_argument("--rows", type=int, default=200, help="how many memories go")
    parser.add_argument("--backups", type=int, default=3, help="how many copies lie beside it")
    parser.add_argument("--seconds", type=int, default=3600, help="most time to make a store")
    parser.add_argument("--check", action="store_true", help="end with 1 when a limit is passed")
    wanted = parser.parse_args(argv)
    passed: list[str] = []
    for size in wanted.documents or [10_000]:
        source = wanted.folder / f"documents-{size}"
        made = bench_search.build(source, size, wanted.seconds)
        home = wanted.folder / f"forgetting-{os.getpid()}"
        try:
            _copy(source, home, wanted.backups)
            passed += [f"{size}: {one}" for one in measure(home, made, wanted.rows)]
        finally:
            shutil.rmtree(home, ignore_errors=True)
    for one in passed:
        print(f"limit passed: {one}")
    return 1 if passed and wanted.check else 0


def _copy(source: Path, home: Path, backups: int) -> None:
    home.mkdir(mode=0o700)
    (home / "backups").mkdir(mode=0o700)
    targets = [home / "backups" / f"daily-2026010{number + 1}.db" for number in range(backups)]
    for target in (home / "memory.db", *targets):
        snapshot.take(str(source / "memory.db"), str(target))


def measure(home: Path, made: int, rows: int) -> Iterable[str]:
    """Print every figure; yield the limits that were passed."""
    every = range(generated.PLANT_EVERY, made, generated.PLANT_EVERY)
    plants = [generated.plant(row) for row in every][:: max(1, len(every) // rows)][:rows]
    took = forget(home, plants)
    worst = took.waits_ms[-1]
    last = took.waits_ms[int(len(took.waits_ms) * 0.99)]
    print(f"{made} documents: {len(plants)} memories, {took.removed} rows with what goes along")
    print(
        f"  not found after {took.found_s:.1f} s, ended after {took.gone_s:.1f} s,"
        f" {took.cpu_s:.1f} s of them at work"
    )
    print(
        f"  lock asked for {len(took.waits_ms)} times: median"
        f" {statistics.median(took.waits_ms):.2f} ms, p99 {last:.1f}, longest {worst:.0f}"
    )
    print(f"  files with a piece left: {len(took.left)}")
    if took.found_s > FOUND_S:
        yield f"found for {took.found_s:.1f} s: at most {FOUND_S}"
    if took.gone_s > GONE_S:
        yield f"gone after {took.gone_s:.1f} s: at most {GONE_S}"
    if worst > LOCK_MS:
        yield f"lock held for {worst:.0f} ms: at most {LOCK_MS}"
    if took.left:
        yield f"pieces are left in {', '.join(took.left)}"


def forget(home: Path, plants: Sequence[Any]) -> Took:
    """Have ``cmem forget --hard`` remove the planted rows."""
    ids = [f"O{one.row}" for one in plants]
    here, there = multiprocessing.Pipe()
    asking = multiprocessing.get_context("spawn").Process(target=ask, args=(str(home), there))
    asking.start()
    here.recv()
    environment = {**os.environ, "CMEM_HOME": str(home), "PYTHONPATH": str(ROOT)}
    start = time.monotonic()
    command = [sys.executable, "-m", "cmem", "forget", *ids, "--hard", "--yes", "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    found_s = _until_unfound(home, plants, start)
    out, _ = child.communicate()
    gone_s = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    here.send("stop")
    waits = here.recv()
    asking.join()
    assert child.returncode == 0, child.returncode
    return Took(
        found_s, gone_s, cpu_s, json.loads(out)["total"], sorted(waits), residue(home, plants)
    )


def _until_unfound(home: Path, plants: Sequence[Any], start: float) -> float:
    """Seconds until a search finds none of some of the words, the last one among them: to ask
    for all would take longer than what is measured."""
    left = [*plants[:: max(1, len(plants) // 8)], plants[-1]]
    now = generated.T0 + 10**12
    while left:
        conn = connection.open_reader(str(home))
        assert conn is not None
        found = search(conn, text=left[-1].word, filters=Filters(), limit=10, now=now).hits
        hit = f"O{left[-1].row}" in [one.id for one in found]
        conn.close()
        if hit:
            time.sleep(POLL_S)
        else:
            left.pop()
    return time.monotonic() - start


def residue(home: Path, plants: Sequence[Any]) -> list[str]:
    """The files that hold eight signs of the beginning, the middle or the end of one of the
    words."""
    pieces = set()
    for one in plants:
        last = len(one.word) - PIECE
        pieces |= {one.word[at : at + PIECE].encode() for at in {0, last // 2, last}}
    paths = [path for path in sorted(home.rglob("*")) if path.is_file()]
    if shutil.which("grep") is None:
        return [str(path) for path in paths if _holds(path, pieces)]
    # Six hundred words in a gigabyte: a minute a file in Python, a second with an automaton.
    found = subprocess.run(
        ["grep", "-laF", "-f", "-", "--", *map(str, paths)],
        input=b"\n".join(sorted(pieces)),
        stdout=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    assert found.returncode in (0, 1), found.returncode
    return [os.fsdecode(name) for name in found.stdout.splitlines()]


def _holds(path: Path, pieces: Iterable[bytes]) -> bool:
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        return any(whole.find(piece) >= 0 for piece in pieces)


def ask(home: str, parent: Connection) -> None:
    """Ask for the lock of the store until told to stop; tell how long each time took."""
    conn = apsw.Connection(f"{home}/memory.db", flags=apsw.SQLITE_OPEN_READWRITE)
    conn.set_busy_handler(_patient)
    waits = []
    parent.send("ready")
    while not parent.poll():
        start = time.perf_counter()
        conn.execute("BEGIN IMMEDIATE").fetchall()
        conn.execute("ROLLBACK").fetchall()
        waits.append((time.perf_counter() - start) * 1000)
        time.sleep(0.002)
    conn.close()
    parent.send(waits)


def _patient(_tries: int) -> bool:
    time.sleep(0.0005)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
