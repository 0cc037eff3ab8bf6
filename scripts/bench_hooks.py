"""What a hook costs, as multiples of `python -c pass`.

All commands of a table run once a round, in shuffled order; a ratio is taken inside its round
and the median over the rounds is shown, because the load of a machine moves milliseconds and
leaves ratios alone. The base is `-c pass` in a bare virtual environment of the interpreter the
hooks use: site on, no .pth files. Every event is a new one, so every hook really inserts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from cmem import here, launcher  # noqa: E402
from cmem.store import connection, projects  # noqa: E402

NOW = 1_795_988_493_898
HOST = "claude-code"
LIMITS = {"PostToolUse, sh -c": 1.5, "SessionStart, sh -c": 2.0}
WARM_UP = 3


class Command(NamedTuple):
    """What is measured: argv, and the payload of a round (None: no stdin)."""

    name: str
    argv: list[str]
    payload: Callable[[int], bytes] | None


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
        commands = _commands(home, project, _bare(place / "venv"))
        runs = measure(commands, rounds=options.rounds, env=_env(place))
    rows = table(runs, base=commands[0].name)
    report = {"observations": options.observations, "build_s": round(built, 1), "rows": rows}
    print(json.dumps(report, indent=1) if options.json else render(report))
    over = [row for row in rows if row["wall_ratio"] > LIMITS.get(row["name"], float("inf"))]
    for row in over:
        print(f"over its limit: {row['name']}: {row['wall_ratio']:.2f}", file=sys.stderr)
    return 1 if over and options.check else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--observations", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help=f"exit 1 above {LIMITS}")
    return parser.parse_args()


def _bare(folder: Path) -> str:
    argv = [launcher.interpreter(), "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(argv, check=True)
    return str(folder / "bin" / "python")


def _env(place: Path) -> dict[str, str]:
    (place / "user").mkdir()
    return {"PATH": os.defpath, "HOME": str(place / "user"), "CMEM_AUTO_COMPRESS": "0"}


def _commands(home: Path, project: Path, bare: str) -> list[Command]:
    python = launcher.interpreter()
    script = [python, "-I", "-S", str(home / "hook.py"), HOST]

    def shell(event: str) -> list[str]:
        return ["/bin/sh", "-c", launcher.command(python, str(home), host=HOST, event=event)]

    def tool(number: int) -> bytes:
        return tool_payload(number, str(project))

    def secret(number: int) -> bytes:
        return tool(number).replace(b"0 failed", b"<private>0 failed</private>")

    def start(number: int) -> bytes:
        return start_payload(number, str(project))

    return [
        Command("python -c pass", [bare, "-c", "pass"], None),
        Command("python -I -S -c pass", [python, "-I", "-S", "-c", "pass"], None),
        Command("PostToolUse, exec", [*script, "PostToolUse", str(home)], tool),
        Command("PostToolUse, sh -c", shell("PostToolUse"), tool),
        Command("PostToolUse with a private span", shell("PostToolUse"), secret),
        Command("SessionStart, sh -c", shell("SessionStart"), start),
    ]


# --- payloads and store --------------------------------------------------------------


def tool_payload(number: int, cwd: str) -> bytes:
    """A PostToolUse event of 4.8 kB."""
    line = "tests/test_orders.py::test_total_is_rounded PASSED   [ 42%] 0 failed, 1 passed\n"
    document = {
        "session_id": "f57d53fd-a814-42c0-ae4a-ff10dd56ff67",
        "transcript_path": f"{cwd}/transcript.jsonl",
        "cwd": cwd,
        "prompt_id": "aedd0519-73c7-4710-8f4d-f48603e1b401",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "python -m pytest -q", "description": "Run the tests"},
        "tool_response": {"stdout": line * 54, "stderr": "", "interrupted": False},
        "tool_use_id": f"toolu_{os.getpid()}_{number}",
        "duration_ms": 195,
    }
    return json.dumps(document).encode() + b"\n"


def start_payload(number: int, cwd: str) -> bytes:
    document = {"session_id": f"start-{number}", "cwd": cwd, "source": "startup"}
    return json.dumps({**document, "hook_event_name": "SessionStart"}).encode() + b"\n"


def build(home: Path, project: Path, *, count: int) -> float:
    """A store with ``count`` observations, a tenth of them of our project; the seconds it took."""
    started = time.monotonic()
    git = project / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs" / "heads" / "main").write_text("a1" * 20 + "\n")
    identity = here.identity_of(str(project), {})
    conn = connection.open_writer(str(home), now=NOW)
    with connection.transaction(conn):
        ours = projects.resolve(conn, identity, now=NOW)
        _fill(conn, ours=ours, count=count)
    conn.close()
    return time.monotonic() - started


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
        "turn_id": session, "host": f"'{HOST}'", "prompt_number": 1,
        "created_at": f"{NOW} - ({count} - i) * 60000", "taint": "'local'",
        "type": "CASE i % 4 WHEN 0 THEN 'bugfix' WHEN 1 THEN 'feature' ELSE 'discovery' END",
        "evidence_tokens": 900, "discovery_tokens": 0, "read_tokens": 90,
        "last_reinforced": NOW, "reinforcement_dates": "'[]'", "content_hash": "'h' || i",
        "title_norm_key": "'t' || i", "generated_by_model": "'bench'", "prompt_version": "'1'",
        "title": "'Order totals are rounded half even in step ' || i",
        "subtitle": "'The parser and the report disagreed about the third decimal'",
        "concepts": "'[\"how-it-works\"]'", "files_read": "'[\"src/orders.py\"]'",
        "files_modified": "'[]'", "facts": "'[\"round() is half even\",\"totals are decimal\"]'",
        "narrative": "'n' || i || ': ' || " + repr("What was read, changed and learned. " * 10),
    })  # fmt: skip


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
            found = run(command, number, env)
            if turn >= WARM_UP:
                runs[command.name].append(found)
    return runs


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


def table(runs: dict[str, list[Run]], *, base: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "rounds": len(found),
            "wall_p50_ms": round(statistics.median(run.wall for run in found), 2),
            "wall_p95_ms": round(sorted(run.wall for run in found)[int(len(found) * 0.95)], 2),
            "cpu_p50_ms": round(statistics.median(run.cpu for run in found), 2),
            "wall_ratio": round(_ratio(found, runs[base], "wall"), 3),
            "cpu_ratio": round(_ratio(found, runs[base], "cpu"), 3),
        }
        for name, found in runs.items()
    ]


def _ratio(found: list[Run], base: list[Run], what: str) -> float:
    pairs = zip(found, base, strict=True)
    ratios: list[float] = [getattr(one, what) / getattr(other, what) for one, other in pairs]
    return statistics.median(ratios)


def render(report: dict[str, Any]) -> str:
    lines = [
        f"store: {report['observations']} observations, built in {report['build_s']} s",
        "| command | wall p50 ms | p95 | cpu p50 ms | x pass, wall | x pass, cpu |",
        "|---|---|---|---|---|---|",
    ]
    for row in report["rows"]:
        lines.append(
            f"| {row['name']} | {row['wall_p50_ms']:.1f} | {row['wall_p95_ms']:.1f}"
            f" | {row['cpu_p50_ms']:.1f} | {row['wall_ratio']:.2f} | {row['cpu_ratio']:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
