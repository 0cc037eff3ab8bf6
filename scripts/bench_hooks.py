"""What a hook costs, as multiples of `python -c pass`.

All commands of a table run once a round, in shuffled order; a ratio is taken inside its round
and the median over the rounds is shown, because the load of a machine moves milliseconds and
leaves ratios alone. The base is `-c pass` in a bare virtual environment of the interpreter the
hooks use: site on, no .pth files. Every event is a new one, so every hook really inserts.

A limit holds for the CPU time. On an idle machine the wall clock says the same; on a shared one
it is noise, so it fails a row only a quarter above the limit: what waits for a disk or a lock.

The last row is another measure: the CPU time that starting the background drain adds to the hook
that does it, the same event with and without, side by side. The drain it starts ends at once.
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from cmem import here, launcher, paths  # noqa: E402
from cmem.store import connection, projects  # noqa: E402

NOW = 1_795_988_493_898
HOST = "claude-code"
WARM_UP = 3
WALL_GUARD = 1.25
ALONE = "Stop in a home of its own"
STARTING = "Stop, starting the drain"
DRAIN = "starting the drain adds"
DRAIN_LIMIT_MS = 1.0
# What one memory in a thousand is about, and a prompt that concerns it.
RARE = "A refund of a gift card was booked twice in the ledger"
ABOUT = b"why is the refund of a gift card in the ledger twice? the order totals look right"


class Command(NamedTuple):
    """What is measured: argv, the payload of a round (None: no stdin), how many times the base
    it may cost at most, and the lock of the drain it starts ("" where it starts none)."""

    name: str
    argv: list[str]
    payload: Callable[[int], bytes] | None = None
    limit: float | None = None
    lock: str = ""


class Run(NamedTuple):
    """Milliseconds of one process: wall until its stdout ended and it was reaped, and CPU."""

    wall: float
    cpu: float


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="cmem-bench-") as folder:
        place = Path(folder)
        home, project = place / "home", place / "project"
        launcher.install(str(home))
        built = build(home, project, count=options.observations)
        _recalling(home, place / "recalling")
        commands = _commands(home, project, _bare(place / "venv"))
        runs = measure(commands, rounds=options.rounds, env=_env(place))
    rows = [*table(runs, commands), added(runs)]
    report = {"observations": options.observations, "build_s": round(built, 1), "rows": rows}
    print(json.dumps(report, indent=1) if options.json else render(report))
    over = [row["name"] for row in rows if row["pass"] is False]
    for name in over:
        print(f"over its limit: {name}", file=sys.stderr)
    return 1 if over and options.check else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--observations", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit 1 when a limit is passed")
    return parser.parse_args()


def _recalling(home: Path, other: Path) -> None:
    """A home with the same memories, and with recall of prompts switched on."""
    launcher.install(str(other))
    shutil.copyfile(home / "memory.db", other / "memory.db")
    (other / "config.toml").write_text("recall_prompts = true\n")


def _bare(folder: Path) -> str:
    argv = [launcher.interpreter(), "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(argv, check=True)
    return str(folder / "bin" / "python")


def _env(place: Path) -> dict[str, str]:
    (place / "user").mkdir()
    return {"PATH": os.defpath, "HOME": str(place / "user"), "CMEM_AUTO_COMPRESS": "0"}


def _commands(home: Path, project: Path, bare: str) -> list[Command]:
    python, cwd = launcher.interpreter(), str(project)

    def run(event: str, into: Path = home) -> list[str]:
        return [python, "-I", "-S", str(into / "hook.py"), HOST, event, str(into)]

    def shell(event: str) -> list[str]:
        return ["/bin/sh", "-c", launcher.command(python, str(home), host=HOST, event=event)]

    def tool(lines: int) -> Callable[[int], bytes]:
        return lambda number: tool_payload(number, cwd, lines=lines)

    def secret(number: int) -> bytes:
        return tool_payload(number, cwd).replace(b"0 failed", b"<private>0 failed</private>")

    def other(event: str) -> Callable[[int], bytes]:
        return lambda number: event_payload(event, number, cwd)

    def many(number: int) -> bytes:
        return tool_payload(number, cwd, lines=750, texts=17)

    def concerned(number: int) -> bytes:
        return other("UserPromptSubmit")(number).replace(b"fix the rounding of totals", ABOUT)

    recalling = home.parent / "recalling"
    ends = ("UserPromptSubmit", "Stop", "SessionEnd")
    drained = _drained(home.parent / "drained")
    return [
        Command("python -c pass", [bare, "-c", "pass"]),
        Command("python -I -S -c pass", [python, "-I", "-S", "-c", "pass"]),
        Command("PostToolUse 4.8 kB", run("PostToolUse"), tool(54), 1.35),
        Command("PostToolUse 4.8 kB, sh -c", shell("PostToolUse"), tool(54), 1.5),
        Command("PostToolUse 4.8 kB with a private span", run("PostToolUse"), secret),
        Command("PostToolUse 100 kB", run("PostToolUse"), tool(1_235), 1.8),
        Command("PostToolUse 1 MB", run("PostToolUse"), tool(13_150), 4.0),
        Command("PostToolUse 1 MB of many texts, spilled", run("PostToolUse", drained), many),
        *(Command(event, run(event), other(event), 1.35) for event in ends),
        Command("UserPromptSubmit, told a memory", run(ends[0], recalling), concerned, 2.5),
        Command("SessionStart", run("SessionStart"), other("SessionStart"), 1.6),
        Command("SessionStart, sh -c", shell("SessionStart"), other("SessionStart"), 1.8),
        Command(ALONE, run("Stop", drained), other("Stop")),
        Command(STARTING, run("Stop", drained), other("Stop"), lock=paths.lock_file(str(drained))),
    ]


def _drained(home: Path) -> Path:
    """A home whose drain ends as soon as it runs, or it would be measured along."""
    launcher.install(str(home))
    file = home / "hook.py"
    before, mark, rest = file.read_text().partition("\n#= COMPRESS ")
    packed, _, after = rest.partition("\n")
    drain = zlib.decompress(base64.b85decode(packed)).decode()
    work = "from cmem.compress import main_background"
    if work not in drain:
        raise SystemExit("the launcher's drain is not where it was")
    drain = drain.replace(work, "os._exit(0)")
    packed = base64.b85encode(zlib.compress(drain.encode())).decode()
    file.write_text(f"{before}{mark}{packed}\n{after}")
    return home


# --- payloads and store --------------------------------------------------------------


def tool_payload(number: int, cwd: str, *, lines: int = 54, texts: int = 0) -> bytes:
    """A PostToolUse event: 4.8 kB with 54 lines of output. ``texts``: so often beside it."""
    line = "tests/test_orders.py::test_total_is_rounded PASSED   [ 42%] 0 failed, 1 passed\n"
    document = {
        "session_id": "f57d53fd-a814-42c0-ae4a-ff10dd56ff67",
        "transcript_path": f"{cwd}/transcript.jsonl",
        "cwd": cwd,
        "prompt_id": "aedd0519-73c7-4710-8f4d-f48603e1b401",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "python -m pytest -q", "description": "Run the tests"},
        "tool_response": {"stdout": line * lines, "stderr": "", "interrupted": False}
        | {f"part {part}": line * lines for part in range(texts)},
        "tool_use_id": f"toolu_{os.getpid()}_{number}",
        "duration_ms": 195,
    }
    return json.dumps(document).encode() + b"\n"


def event_payload(event: str, number: int, cwd: str) -> bytes:
    """An event of a session that is not a tool's."""
    said = "The totals are rounded half even now; both tests pass. " * 8
    fields: dict[str, dict[str, object]] = {
        "SessionStart": {"source": "startup"},
        "UserPromptSubmit": {"prompt_id": f"p{number}", "prompt": "fix the rounding of totals"},
        "Stop": {"stop_hook_active": False, "last_assistant_message": f"{number}: {said}"},
        "SessionEnd": {"reason": "exit"},
    }
    document = {"session_id": f"bench-{number}", "cwd": cwd, "hook_event_name": event}
    return json.dumps({**document, **fields[event]}).encode() + b"\n"


def build(home: Path, project: Path, *, count: int) -> float:
    """A store with ``count`` observations, a tenth of them of our project; the seconds it took."""
    started = time.monotonic()
    git = project / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs" / "heads" / "main").write_text("a1" * 20 + "\n")
    fill(home, project, count=count)
    return time.monotonic() - started


def fill(home: Path, project: Path, *, count: int) -> None:
    """A store with so many observations, a tenth of them of the project in that folder."""
    identity = here.identity_of(str(project), {})
    conn = connection.open_writer(str(home), now=NOW)
    with connection.transaction(conn):
        ours = projects.resolve(conn, identity, now=NOW)
        _fill(conn, ours=ours, count=count)
        _index(conn)
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    conn.close()


def _fill(conn: Any, *, ours: int, count: int) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
    insert(conn, "projects", numbers, (10,), {
        "id": f"i + {ours}", "key": "'k' || i", "key_source": "'path'", "name": "'p' || i",
        "root": "'/p' || i", "created_at": NOW,
    })  # fmt: skip
    sessions = max(1, count // 50)
    project = f"{ours} + i % 10"
    insert(conn, "sessions", numbers, (sessions,), {
        "id": "i", "uid": "'s' || i", "host": f"'{HOST}'", "content_session_id": "'c' || i",
        "project_id": project, "project_key_source": "'path'", "cwd": "'/p'",
        "started_at": f"{NOW} - (100000 - i) * 1000", "last_event_at": NOW,
    })  # fmt: skip
    insert(conn, "turns", numbers, (sessions,), {
        "id": "i", "session_id": "i", "number": 1, "kind": "'user'", "opened_at": NOW, "last_event_at": NOW,
    })  # fmt: skip
    session = f"1 + i % {sessions}"
    insert(conn, "observations", numbers, (count,), {
        "uid": "'o' || i", "session_id": session, "project_id": f"{ours} + ({session}) % 10",
        "turn_id": session, "host": f"'{HOST}'", "prompt_number": 1, "branch": "'main'",
        "created_at": f"{NOW} - ({count} - i) * 60000", "taint": "'local'",
        "type": "CASE i % 4 WHEN 0 THEN 'bugfix' WHEN 1 THEN 'feature' ELSE 'discovery' END",
        "evidence_tokens": 900, "discovery_tokens": 0, "read_tokens": 90,
        "last_reinforced": NOW, "reinforcement_dates": "'[]'", "content_hash": "'h' || i",
        "title_norm_key": "'t' || i", "generated_by_model": "'bench'", "prompt_version": "'1'",
        "title": f"CASE i % 1000 WHEN 3 THEN '{RARE}, case ' "
        "ELSE 'Order totals are rounded half even in step ' END || i",
        "subtitle": "'The parser and the report disagreed about the third decimal'",
        "concepts": "'[\"how-it-works\"]'", "files_read": "'[\"src/orders.py\"]'",
        "files_modified": "'[]'", "facts": "'[\"round() is half even\",\"totals are decimal\"]'",
        "narrative": "'n' || i || ': ' || " + repr("What was read, changed and learned. " * 10),
    })  # fmt: skip


def _index(conn: Any) -> None:
    """Every observation in the index."""
    conn.execute(
        "INSERT INTO documents(kind, ref, created_at) SELECT 'O', id, created_at FROM observations"
    )
    conn.execute(
        "INSERT INTO documents_fts(rowid, title, body, meta, x, k)"
        " SELECT id, title, body, meta, x, k FROM documents_text"
    )


def insert(
    conn: Any, into: str, numbers: str, bindings: tuple[int, ...], values: dict[str, object]
) -> None:
    """Rows from expressions over the counter ``i``; columns the table needs besides get ''."""
    info = conn.execute(f"PRAGMA table_info({into})").fetchall()
    missing = [name for _, name, _, notnull, default, key in info
               if notnull and default is None and not key and name not in values]  # fmt: skip
    columns = {**values, **dict.fromkeys(missing, "''")}
    names, expressions = ", ".join(columns), ", ".join(map(str, columns.values()))
    # Names and expressions are this file's own.
    conn.execute(f"{numbers} INSERT INTO {into}({names}) SELECT {expressions} FROM n", bindings)  # noqa: S608


# --- measuring -----------------------------------------------------------------------


def measure(commands: list[Command], *, rounds: int, env: dict[str, str]) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {command.name: [] for command in commands}
    order = random.Random(7)
    number = 0
    for turn in range(WARM_UP + rounds):
        for command in order.sample(commands, len(commands)):
            number += 1
            found = run(command, number, env | {"CMEM_AUTO_COMPRESS": str(int(bool(command.lock)))})
            if command.lock:
                wait_for(command.lock)
            if turn >= WARM_UP:
                runs[command.name].append(found)
    return runs


def wait_for(path: str) -> None:
    """Until the drain that has just been started is gone; there must have been one."""
    fd = os.open(path, os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.close(fd)


def run(command: Command, number: int, env: dict[str, str]) -> Run:
    """One process, its output read to the end as a host does."""
    with tempfile.TemporaryFile() as stdin:
        stdin.write(command.payload(number) if command.payload else b"")
        stdin.seek(0)
        reader, writer = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, stdin.fileno(), 0), (os.POSIX_SPAWN_DUP2, writer, 1)]
        started = time.perf_counter()
        pid = os.posix_spawn(command.argv[0], command.argv, env, file_actions=actions)
        os.close(writer)
        while os.read(reader, 65_536):
            pass
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - started
        os.close(reader)
    if status:
        raise SystemExit(f"{command.name}: ended with status {status}")
    return Run(wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000)


def table(runs: dict[str, list[Run]], commands: list[Command]) -> list[dict[str, Any]]:
    """A row for each command; the first is the base of all ratios."""
    base = runs[commands[0].name]
    rows = []
    for command in commands:
        found = runs[command.name]
        wall, cpu = _ratio(found, base, "wall"), _ratio(found, base, "cpu")
        limit = command.limit
        rows.append({
            "name": command.name,
            "rounds": len(found),
            "wall_p50_ms": round(statistics.median(run.wall for run in found), 2),
            "wall_p95_ms": round(sorted(run.wall for run in found)[int(len(found) * 0.95)], 2),
            "cpu_p50_ms": round(statistics.median(run.cpu for run in found), 2),
            "wall_ratio": round(wall, 3),
            "cpu_ratio": round(cpu, 3),
            "limit": limit,
            "pass": None if limit is None else cpu <= limit and wall <= limit * WALL_GUARD,
        })  # fmt: skip
    return rows


def added(runs: dict[str, list[Run]]) -> dict[str, Any]:
    """CPU milliseconds that starting the drain adds, taken inside each round."""
    pairs = zip(runs[STARTING], runs[ALONE], strict=True)
    more = statistics.median(one.cpu - other.cpu for one, other in pairs)
    return {
        "name": DRAIN,
        "rounds": len(runs[ALONE]),
        "cpu_added_ms": round(more, 2),
        "limit": DRAIN_LIMIT_MS,
        "pass": more <= DRAIN_LIMIT_MS,
    }


def _ratio(found: list[Run], base: list[Run], what: str) -> float:
    pairs = zip(found, base, strict=True)
    ratios: list[float] = [getattr(one, what) / getattr(other, what) for one, other in pairs]
    return statistics.median(ratios)


def render(report: dict[str, Any]) -> str:
    lines = [
        f"store: {report['observations']} observations, built in {report['build_s']} s",
        "| command | wall p50 ms | p95 | cpu p50 ms | x pass, cpu | x pass, wall | limit | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in report["rows"]:
        if "cpu_added_ms" in row:
            cells = (
                f"| {row['name']} | | | {row['cpu_added_ms']:+.2f} | | | {row['limit']:.2f} ms |"
            )
        else:
            limit = "" if row["limit"] is None else f"{row['limit']:.2f}"
            cells = (
                f"| {row['name']} | {row['wall_p50_ms']:.1f} | {row['wall_p95_ms']:.1f}"
                f" | {row['cpu_p50_ms']:.1f} | {row['cpu_ratio']:.2f} | {row['wall_ratio']:.2f} | {limit} |"
            )
        lines.append(cells + {True: " pass |", False: " FAIL |", None: " |"}[row["pass"]])
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
