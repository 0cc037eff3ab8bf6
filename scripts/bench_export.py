"""Measure export and import: rows a second, memory, and that nothing is lost when it is killed.

Makes an export of N observations with their sessions, turns, prompts and tool uses, imports it
into an empty home, exports that again and compares the bytes. With --kill N the import is
killed N times at random and repeated first. Everything is below a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from cmem.store import drafts  # noqa: E402 - the package of this very tree
from cmem.store.portable import FORMAT, HEAD  # noqa: E402

T0 = 1_780_000_000_000
IN_SESSION = 20
PROJECTS = 8
WORDS = [
    "cache",
    "index",
    "query",
    "token",
    "session",
    "retry",
    "parser",
    "lock",
    "order",
    "user",
    "invoice",
    "timeout",
    "branch",
    "merge",
    "test",
    "config",
    "schema",
    "worker",
    "queue",
    "limit",
    "page",
    "cursor",
    "hash",
    "budget",
    "缓存",
    "索引",
    "配置",
    "テスト",
    "検索",
    "검색",
]


class Ran(NamedTuple):
    """A command that ended: how long it took, and the memory it had at most."""

    seconds: float
    mib: float
    out: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observations", type=int, default=100_000)
    parser.add_argument("--kill", type=int, default=0, help="kill the import so many times")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--sync", action="store_true", help="measure sync to another home too")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cmem-bench-export-"))
    try:
        failed = run(folder, asked.observations, kills=asked.kill, seed=asked.seed)
        return failed or (sync(folder) if asked.sync else 0)
    finally:
        shutil.rmtree(folder)


def run(folder: Path, observations: int, *, kills: int, seed: int) -> int:
    source, home = folder / "source.jsonl", folder / "home"
    rows = write(source, observations, random.Random(seed))
    for number in range(kills):
        after = random.Random(seed + number).uniform(0.4, 4)
        print(f"{'killed' if _kill(home, source, after) else 'done'} after {after:.1f} s at most")
    brought = cmem(home, "import", str(source), "--json")
    counts = json.loads(brought.out)["records"].values()
    new = sum(one["new"] for one in counts)
    print(f"import  {new:>8} of {rows} rows  {_rate(new, brought)}")
    again = cmem(home, "import", str(source), "--json")
    assert not sum(one["new"] for one in json.loads(again.out)["records"].values())
    print(f"import  {rows:>8} known rows   {_rate(rows, again)}")
    first, second = folder / "first.jsonl", folder / "second.jsonl"
    told = cmem(home, "export", str(first), "--json")
    print(f"export  {rows:>8} rows         {_rate(rows, told)}")
    cmem(home, "export", str(second))
    same = first.read_bytes() == second.read_bytes() and _equal(first, source)
    print(f"bytes   {'the same' if same else 'DIFFERENT'}; {first.stat().st_size / 2**20:.0f} MiB")
    size = (home / "memory.db").stat().st_size
    print(f"store   {size / 2**20:.0f} MiB, {size / observations:.0f} bytes an observation")
    return 0 if same else 1


def sync(folder: Path) -> int:
    """The home's memory over a folder into another home, and then one note of either."""
    between, home, other = folder / "between", folder / "home", folder / "other"
    between.mkdir()
    for what, where in (
        ("all is told", home),
        ("all is taken in", other),
        ("no news", home),
        ("no news there", other),
    ):
        ran = cmem(where, "sync", str(between), "--json")
        done = json.loads(ran.out)
        rows = done["told"] + sum(done["taken"].values())
        print(f"sync    {rows:>8} rows {what:<15} {ran.seconds:8.1f} s  {ran.mib:5.0f} MiB")
    for one, text in ((home, "a note from here"), (other, "a note from there")):
        cmem(one, "note", text)
    for what, where in (("a note told", home), ("a note each way", other), ("one back", home)):
        ran = cmem(where, "sync", str(between), "--json")
        print(f"sync    {what:<29} {ran.seconds:8.1f} s  {ran.mib:5.0f} MiB")
    size = sum(path.stat().st_size for path in between.iterdir())
    grown = (home / "memory.db").stat().st_size / 2**20
    print(f"folder  {size / 2**20:.0f} MiB, store now {grown:.0f} MiB")
    for number, one in enumerate((home, other)):
        cmem(one, "export", str(folder / f"synced-{number}.jsonl"))
    # Folders of projects are each machine's own.
    same = _without_projects(folder / "synced-0.jsonl") == _without_projects(
        folder / "synced-1.jsonl"
    )
    print(f"bytes   {'the same' if same else 'DIFFERENT'}")
    return 0 if same else 1


def _without_projects(path: Path) -> bytes:
    lines = path.read_bytes().split(b"\n")
    return b"\n".join(line for line in lines if not line.startswith(b'{"record":"project"'))


def _equal(one: Path, other: Path) -> bool:
    """Both files hold the same records, whatever order the fields have."""
    with one.open("rb") as left, other.open("rb") as right:
        pairs = zip(left, right, strict=True)
        return all(json.loads(mine) == json.loads(theirs) for mine, theirs in pairs)


def cmem(home: Path, *words: str) -> Ran:
    """Run a command to its end."""
    began = time.monotonic()
    process = _start(home, *words)
    assert process.stdout is not None
    out = process.stdout.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"cmem {' '.join(words)} failed")
    unit = 2**20 if sys.platform == "darwin" else 1024
    return Ran(time.monotonic() - began, used.ru_maxrss / unit, out)


def _kill(home: Path, source: Path, after: float) -> bool:
    """Start the import and kill it; False when it was done before."""
    process = _start(home, "import", str(source))
    try:
        process.wait(timeout=after)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    return False


def _start(home: Path, *words: str) -> subprocess.Popen[bytes]:
    keep = ("PATH", "LANG", "TMPDIR", "HOME")
    env = {name: os.environ[name] for name in keep if name in os.environ}
    env |= {"CMEM_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "cmem", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=env, cwd=ROOT)


def write(path: Path, observations: int, chance: random.Random) -> int:
    """Write an export as cmem would; how many records it has."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for record in records(observations, chance):
            text = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            file.write(text + "\n")
            count += 1
    return count - 1


def records(observations: int, chance: random.Random) -> Iterator[Mapping[str, Any]]:
    yield {"record": HEAD, "format": FORMAT}
    for number in range(PROJECTS):
        yield {
            "record": "project",
            "key": f"/p/{number}",
            "key_source": "path",
            "root": "",
            "name": f"project{number}",
            "created_at": T0,
            "merged_into": None,
            "aliases": [["path", f"/p/{number}", T0]],
        }
    for number in range((observations + IN_SESSION - 1) // IN_SESSION):
        left = min(IN_SESSION, observations - number * IN_SESSION)
        yield from _session(number, left, chance)


def _session(number: int, observations: int, chance: random.Random) -> Iterator[Mapping[str, Any]]:
    uid, at = f"{number:032x}", T0 + number * 100_000
    place = {"session": uid}
    yield {
        "record": "session",
        "uid": uid,
        "host": "claude-code",
        "cwd": "/p",
        "model": "",
        "content_session_id": f"session-{number}",
        "project": f"/p/{number % PROJECTS}",
        "project_key_source": "path",
        "title": "",
        "status": "completed",
        "prompt_counter": 5,
        "started_at": at,
        "last_event_at": at + 90_000,
        "completed_at": at + 90_000,
    }
    for turn in range(1, 6):
        yield {
            "record": "turn",
            "number": turn,
            "kind": "user",
            "native_prompt_id": "",
            "private": 0,
            "opened_at": at,
            "last_event_at": at,
            "closed_at": at,
            "closed_by": "stop",
            "outcome": "stop",
            "branch": "main",
            "commit_sha": "",
            "error": "",
            "assistant_message": _words(chance, 40),
            **place,
        }
    for turn in range(1, 6):
        yield {
            "record": "prompt",
            "uid": f"{number:030x}p{turn}",
            "turn": turn,
            "cwd": "/p",
            "prompt_number": turn,
            "kind": "user",
            "native_prompt_id": "",
            "native_prompt_hash": f"{number}-{turn}",
            "created_at": at + turn,
            "prompt_text": _words(chance, 15),
            **place,
        }
    for turn in range(1, 6):
        yield {
            "record": "tool_use",
            "uid": f"{number:030x}t{turn}",
            "turn": turn,
            "cwd": "/p",
            "tool_use_id": f"toolu_{turn}",
            "tool_name": "Bash",
            "outcome": "ok",
            "prompt_number": turn,
            "agent_id": "",
            "agent_type": "",
            "taint": "local",
            "duration_ms": 5,
            "created_at": at + turn,
            "evidence_tokens": 50,
            "branch": "main",
            "commit_sha": "",
            "tool_input": '{"command":"make test"}',
            "tool_response": json.dumps({"stdout": _words(chance, 80)}, ensure_ascii=False),
            **place,
        }
    for ordinal in range(observations):
        yield _observation(number, ordinal, chance)


def _observation(number: int, ordinal: int, chance: random.Random) -> Mapping[str, Any]:
    session, turn = f"{number:032x}", 1 + ordinal % 5
    title, narrative = f"{_words(chance, 6)} {ordinal}", _words(chance, 60)
    at = T0 + number * 100_000 + 1000 + ordinal
    return {
        "record": "observation",
        "uid": f"{number:030x}o{ordinal:03}",
        "session": session,
        "turn": turn,
        "project": f"/p/{number % PROJECTS}",
        "host": "claude-code",
        "prompt_number": turn,
        "created_at": at,
        "superseded_by": None,
        "pinned": 0,
        "taint": "agent",
        "type": "bugfix",
        "evidence_tokens": 100,
        "discovery_tokens": 9,
        "read_tokens": 80,
        "occurrence_count": 1,
        "last_reinforced": at,
        "reinforcement_dates": ["2026-05-28"],
        "title_norm_key": title,
        "title": title,
        "content_hash": drafts.content_hash(session, title, narrative),
        "agent_id": "",
        "agent_type": "",
        "branch": "main",
        "commit_sha": "",
        "generated_by_model": "extract",
        "prompt_version": "extract/1",
        "sync_rev": 0,
        "origin_device_id": "",
        "origin_local_id": None,
        "subtitle": _words(chance, 5),
        "concepts": ["gotcha"],
        "files_read": ["src/a.py"],
        "files_modified": ["src/b.py"],
        "facts": [_words(chance, 9), _words(chance, 9)],
        "narrative": narrative,
        "metadata": {},
        "sources": [["T", f"{number:030x}t{turn}"]],
    }


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))


def _rate(rows: int, ran: Ran) -> str:
    return f"{ran.seconds:8.1f} s  {rows / ran.seconds:8.0f} rows/s  {ran.mib:5.0f} MiB"


if __name__ == "__main__":
    sys.exit(main())
