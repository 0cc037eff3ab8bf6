"""Measure search in stores of 10,000 to 1,000,000 documents of every kind.

Each store is made below the given folder the first time (a million take about ten minutes and
1.5 GB) and used again. Told of each: the whole process of ``cmem search`` against
``python -c pass`` by turns (CPU time, which a busy machine changes least, and the wall clock),
warm and after its pages were dropped from the cache; the share of planted answers among the first
ten, by exact word and by question; what a session start reads; the time of one insert; the size of
the index and of a stored observation; the slowest of the tricky queries of the tests (--tricky:
nothing else). With --check it ends with 1 when a limit is passed.
"""

from __future__ import annotations

import argparse
import compileall
import importlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import apsw

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "search"), str(ROOT / "tests")]
generated: Any = importlib.import_module("generated")
tricky: Any = importlib.import_module("tricky")

from cmem.context import gather  # noqa: E402
from cmem.search.run import Filters, search  # noqa: E402
from cmem.store import connection, maintain, projects  # noqa: E402
from cmem.store import documents as indexed  # noqa: E402

QUERIES = {
    "rare word": [generated.SCARCE],
    "word in 3 %": [generated.MEDIUM],
    "word in 30 %": [generated.COMMON],
    "both": [generated.COMMON, generated.SCARCE],
    "two common words": [generated.COMMON, "return"],
    "phrase": ['"return the current"'],
    "identifier": ["__init__"],
    "file": ["src/auth.py"],
    "camel": ["readResponse"],
    "question": ["how", "do", "I", "set", "the", "timeout", "of", "a", "socket", "connection"],
    "han, four signs in 30 %": [generated.COMMON_HAN],
    "han, two signs": ["数据"],
    "han, one sign": ["的"],
    "han question": ["登录页面为什么会耗尽内存"],
    "kana": ["サムネイル"],
    "hangul": ["재시작"],
    "thai": ["กขค"],
    "vietnamese": ["đăng", "nhập"],
    "slip": ["enviroment"],
    "piece of a word": ["authenticat"],
    "nothing": ["qqqzzzxxy"],
    "filters": ["type:bugfix", "since:2025-06-20", "return"],
    "project": ["project:project2", generated.COMMON],
    "list": ["kind:observation"],
}
# Times python -c pass: (median, p95) by documents; cold in ms; recall; insert p99 in ms.
LIMITS = {10_000: (5.0, 6.0), 100_000: (5.0, 8.0), 1_000_000: (5.0, 12.0)}
COLD_MS, EXACT, ASKED, INSERT_MS, INDEX, STORED_KIB = 300, 0.99, 0.9, 15, 1.25, 3.5
# A session start: pages of the file, and milliseconds warm and cold; naming a project.
PAGES, START_MS, START_COLD_MS, NAMING_MS = 110, 5, 15, 9
INSERTS, PLANTS, COLD_TRIES = 450, 300, 3
# A tricky query, warm, in a process that runs already; up to so many documents.
TRICKY_MS, TRICKY_SIZE, TRICKY_TRIES, TRICKY_SHOWN = 200, 100_000, 3, 5
_DOCUMENTS = ("documents", "sqlite_autoindex_documents_1")
# What the installed command runs.
ENTRY = "import sys; from cmem._entry import main; sys.exit(main())"


class Took(NamedTuple):
    """Milliseconds of a process."""

    cpu: float
    wall: float


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, help="where the stores are kept")
    parser.add_argument("--documents", type=int, action="append", help="a size; repeatable")
    parser.add_argument("--rounds", type=int, default=8, help="runs of each query")
    parser.add_argument("--seconds", type=int, default=3600, help="most time to make a store")
    parser.add_argument("--tricky", action="store_true", help="only the tricky queries")
    parser.add_argument("--check", action="store_true", help="end with 1 when a limit is passed")
    wanted = parser.parse_args(argv)
    compileall.compile_dir(ROOT / "cmem", quiet=2)
    passed: list[str] = []
    for size in wanted.documents or [10_000]:
        home = wanted.folder / f"documents-{size}"
        made = build(home, size, wanted.seconds)
        print(f"{made} documents, {os.path.getsize(home / 'memory.db') / 1e6:.0f} MB")
        found = [] if wanted.tricky else measure(home, made, wanted.rounds)
        passed += [f"{size}: {one}" for one in (*found, *odd(home, made))]
    for one in passed:
        print(f"limit passed: {one}")
    return 1 if passed and wanted.check else 0


def build(home: Path, size: int, seconds: int) -> int:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    conn = connection.open_writer(str(home), now=generated.T0)
    made = generated.grow(conn, size, time.monotonic() + seconds, time.monotonic)
    conn.close()
    return int(made)


def measure(home: Path, made: int, rounds: int) -> Iterable[str]:
    """Print every figure; yield the limits that were passed."""
    least, most = LIMITS[max([size for size in LIMITS if size <= made], default=10_000)]
    bare, times = warm(home, rounds)
    every = [one for many in times.values() for one in many]
    ratios = [_ratios([one[at] for one in every], [one[at] for one in bare]) for at in (0, 1)]
    for name, (median, high) in zip(("CPU", "wall"), ratios, strict=True):
        print(f"  process, times `python -c pass`, {name}: {median:.1f}, p95 {high:.1f}")
    for name, many in times.items():
        cpu, wall = (statistics.median([one[at] for one in many]) for at in (0, 1))
        print(f"    {name:24} {cpu:7.1f} ms CPU {wall:7.1f} ms")
    median, high = ratios[0]
    if median > least or high > most:
        yield f"{median:.1f} and {high:.1f} times python -c pass: at most {least}, {most}"
    slowest = max((one, name) for name, one in cold(home).items())
    print(f"  cold, slowest: {slowest[0]:.0f} ms ({slowest[1]})")
    if slowest[0] > COLD_MS:
        yield f"{slowest[0]:.0f} ms cold: at most {COLD_MS}"
    exact, asked = recall(home, made)
    print(f"  planted answers among the first ten: by word {exact:.3f}, by question {asked:.3f}")
    if exact < EXACT or asked < ASKED:
        yield f"recall {exact:.3f} and {asked:.3f}: at least {EXACT}, {ASKED}"
    yield from _started(home)
    yield from _stored(home, made)


def _ratios(many: list[float], bare: list[float]) -> tuple[float, float]:
    """Median and 95th percentile, in medians of the bare interpreter."""
    one = statistics.median(bare)
    return statistics.median(many) / one, sorted(many)[int(len(many) * 0.95)] / one


def _started(home: Path) -> Iterable[str]:
    """What a session start reads of the project that has most, and finding one by its name."""
    _drop(home / "memory.db")
    pages, cold_ms = starting(home)
    for _ in range(COLD_TRIES):
        _drop(home / "memory.db")
        cold_ms = min(cold_ms, starting(home)[1])
    warm_ms = statistics.median([starting(home)[1] for _ in range(15)])
    name_ms = statistics.median([naming(home) for _ in range(15)])
    print(f"  session start: {pages} pages, {warm_ms:.2f} ms, cold {cold_ms:.1f} ms")
    print(f"  finding a project by its name: {name_ms:.2f} ms")
    limits = (PAGES, START_MS, START_COLD_MS, NAMING_MS)
    names = ("pages", "ms", "ms cold", "ms to find a project")
    for found, limit, name in zip((pages, warm_ms, cold_ms, name_ms), limits, names, strict=True):
        if found > limit:
            yield f"session start, {found:.1f} {name}: at most {limit}"


def _stored(home: Path, made: int) -> Iterable[str]:
    index, text, kib = sizes(home, made)
    print(f"  index {index / 1e6:.0f} MB, {index / text:.2f} of the text")
    print(f"  a stored observation with its index: {kib:.2f} KiB")
    if index > INDEX * text:
        yield f"index {index / text:.2f} of the text: at most {INDEX}"
    if kib > STORED_KIB:
        yield f"a stored observation {kib:.2f} KiB: at most {STORED_KIB}"
    for name, took in zip(("CPU", "wall"), inserts(home), strict=True):
        last = took[int(len(took) * 0.99)]
        median = statistics.median(took)
        print(f"  insert, ms {name}: median {median:.2f}, p99 {last:.2f}, max {took[-1]:.2f}")
        if name == "CPU" and last > INSERT_MS:
            yield f"insert p99 {last:.1f} ms: at most {INSERT_MS}"


def warm(home: Path, rounds: int) -> tuple[list[Took], dict[str, list[Took]]]:
    """What a bare interpreter and each query took, by turns, the first of each left out."""
    bare: list[Took] = []
    times: dict[str, list[Took]] = {name: [] for name in QUERIES}
    for turn in range(rounds + 1):
        for name, words in QUERIES.items():
            took = _timed([sys.executable, "-c", "pass"], home)
            found = _timed(_command(words), home)
            if turn:
                bare.append(took)
                times[name].append(found)
    return bare, times


def cold(home: Path) -> dict[str, float]:
    """Milliseconds of each query once the system has dropped the pages of the store; the fastest
    of some tries, since other work only ever adds to it."""
    found: dict[str, float] = {}
    for name, words in QUERIES.items():
        for _ in range(COLD_TRIES):
            _drop(home / "memory.db")
            took = _timed(_command(words), home).wall
            found[name] = min(took, found.get(name, took))
    return found


def odd(home: Path, made: int) -> Iterable[str]:
    """What the tricky queries take, each on a connection of its own; the fastest of some tries."""
    now = generated.T0 + made * generated.STEP_MS
    took: list[tuple[float, str]] = []
    for text in tricky.QUERIES:
        tries = []
        for _ in range(TRICKY_TRIES):
            conn = connection.open_reader(str(home))
            assert conn is not None
            connection.begin_reading(conn)
            start = time.perf_counter()
            search(conn, text=text, filters=Filters(), limit=20, now=now)
            tries.append((time.perf_counter() - start) * 1000)
            conn.close()
        took.append((min(tries), text))
    took.sort(reverse=True)
    median = statistics.median([ms for ms, _ in took])
    slow = [one for one in took if one[0] > TRICKY_MS]
    print(f"  {len(took)} tricky queries: median {median:.1f} ms, {len(slow)} over {TRICKY_MS}")
    for ms, text in took[:TRICKY_SHOWN]:
        print(f"    {ms:7.1f} ms {ascii(text)[:60]}")
    if slow and made <= TRICKY_SIZE:
        yield f"tricky query {slow[0][0]:.0f} ms: at most {TRICKY_MS}"


def _drop(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def _command(words: list[str]) -> list[str]:
    scope = [] if any(word.startswith("project:") for word in words) else ["--all-projects"]
    return [sys.executable, "-c", ENTRY, "search", "--json", *scope, "--", *words]


def _timed(command: list[str], home: Path) -> Took:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment |= {"CMEM_HOME": str(home), "PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    child = subprocess.Popen(
        command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return Took((used.ru_utime + used.ru_stime) * 1000, wall * 1000)


def recall(home: Path, made: int) -> tuple[float, float]:
    """Shares of planted rows that their own word, and their question, find among ten."""
    conn = connection.open_reader(str(home))
    assert conn is not None
    rows = range(generated.PLANT_EVERY, made, generated.PLANT_EVERY)
    plants = [generated.plant(row) for row in rows[:: max(1, len(rows) // PLANTS)]]
    now = generated.T0 + made * generated.STEP_MS
    shares = []
    for texts in ([one.word for one in plants], [one.question for one in plants]):
        hits = 0
        for one, text in zip(plants, texts, strict=True):
            found = search(conn, text=text, filters=Filters(), limit=10, now=now).hits
            hits += f"O{one.row}" in [hit.id for hit in found]
        shares.append(hits / len(plants))
    conn.close()
    return shares[0], shares[1]


def starting(home: Path) -> tuple[int, float]:
    """Pages of the file, and milliseconds, from opening it to all that a session is told."""
    start = time.perf_counter()
    conn = connection.open_reader(str(home), index=False)
    assert conn is not None
    connection.begin_reading(conn)
    gather.for_project(conn, 1)
    took = (time.perf_counter() - start) * 1000
    pages = conn.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0]
    conn.close()
    return pages, took


def sizes(home: Path, made: int) -> tuple[int, float, float]:
    """Bytes of the index, and of the text in it, from a sample of the rows; KiB of a stored
    observation with its share of the index."""
    conn = apsw.Connection(str(home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    query = "SELECT name, sum(pgsize) FROM dbstat WHERE aggregate = 1 GROUP BY name"
    pages = {str(name): int(str(size)) for name, size in conn.execute(query)}
    rows = int(str(conn.execute("SELECT count(*) FROM observations").fetchall()[0][0]))
    owned = conn.execute("SELECT name FROM sqlite_schema WHERE tbl_name LIKE 'observation%'")
    tables = sum(pages.get(str(name), 0) for (name,) in owned.fetchall())
    numbers = sum(size for name, size in pages.items() if name in _DOCUMENTS)
    conn.close()
    index = sum(size for name, size in pages.items() if name.startswith("documents_fts"))
    sample = range(1, made, max(1, made // 4000))
    texts = [(generated.kind(row), len(generated.indexed(row).encode())) for row in sample]
    mean = statistics.mean([size for _, size in texts])
    share = statistics.mean([size for kind, size in texts if kind == "O"]) / mean
    kib = (tables / rows + numbers / made + share * index / made) / 1024
    return index, mean * made, kib


def inserts(home: Path) -> tuple[list[float], list[float]]:
    """Milliseconds of single inserts, CPU and wall, each in a transaction of its own, between two
    runs of what ``compress`` does at its end; taken out again."""
    conn = connection.open_writer(str(home), now=generated.T0)
    first = int(str(conn.execute("SELECT max(id) FROM documents").fetchall()[0][0])) + 1
    generated.english()
    maintain.merge_index(conn, budget_ms=60_000)
    cpu, wall = [], []
    for row in range(first, first + INSERTS):
        generated.text(row)
        start, used = time.perf_counter(), time.process_time()
        generated.add_one(conn, row)
        cpu.append((time.process_time() - used) * 1000)
        wall.append((time.perf_counter() - start) * 1000)
    for row in range(first, first + INSERTS):
        indexed.remove(conn, generated.kind(row), row)
    conn.close()
    return sorted(cpu), sorted(wall)


def naming(home: Path) -> float:
    conn = connection.open_reader(str(home))
    assert conn is not None
    start = time.perf_counter()
    projects.find_by_name(conn, "project7")
    took = (time.perf_counter() - start) * 1000
    conn.close()
    return took


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
