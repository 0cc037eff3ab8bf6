"""What a search may import: most of its time is starting, so each package counts."""

from __future__ import annotations

import json
import subprocess
import sys

import store_rows as make
import support

# ``typing`` brings ``re``, which brings ``enum`` and ``functools``: each costs as much as a query.
DEAR = ["collections", "contextlib", "datetime", "enum", "functools", "json", "platformdirs", "re"]
DEAR += ["typing", "typer"]
# Every line of a search in one process: what is dear for one must not hide behind another.
CODE = """
import sys
there = set(sys.modules)
from cmem._entry import main
for line in {lines}:
    sys.argv = ["cmem", "search", *line]
    print(main(), *sorted(set({dear}) & (set(sys.modules) - there)), file=sys.stderr)
"""
QUERIES = (
    ["timeout"],
    ["socket", "timeout"],
    ["数据库"],
    ["ตั้งค่า"],
    ["đăng", "nhập"],
    ["src/auth.py"],
    ["-draft", "timeout"],
    ["nothing", "of", "this"],
)


def test_an_ordinary_search_starts_without_what_is_dear(home):
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    make.observation(conn, turn, "Socket timeout", "数据库 ตั้งค่า đăng nhập in src/auth.py: é")
    make.tool(conn, turn, "Bash", given={"command": "grep timeout"}, answer="a timeout " * 200)
    conn.close()
    lines = [[*more, "--", *words] for words in QUERIES for more in (["--json", "--all"], [])]
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(lines=lines, dear=DEAR)],
        env=support.clean_env(PYTHONPATH=str(support.ROOT)),
        cwd=home,
        capture_output=True,
        text=True,
    )
    told = [one for one in done.stderr.split("\n") if not one.startswith("cmem: nothing found")]
    assert told == ["0"] * len(lines) + [""], done.stderr
    found = [json.loads(one) for one in done.stdout.split("\n") if one.startswith("{")]
    assert [len(one["hits"]) for one in found] == [2, 1, 1, 1, 1, 1, 2, 0]
