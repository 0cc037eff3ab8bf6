"""Nothing twice in a session, however many hooks of it run at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import hookrun
import pytest
import samples
from context.test_recall import PROMPT, ask, refs
from support import ROOT, clean_env, payload_bytes, run_cmem

from cmem.context import shown

PAST = time.time() - 86_400
CLAIM = """
import sys
from cmem.context import shown
sys.stdin.read(1)
for number in range(200):
    names = [f"O{number}", f"O{number + 1000}"]
    print(*sorted(set(names) - shown.claim(sys.argv[1], "s", names)))
"""


def test_of_processes_at_once_one_has_each_name(home: Path) -> None:
    pipe = subprocess.PIPE
    env = clean_env(PYTHONPATH=str(ROOT))
    argv = [sys.executable, "-c", CLAIM, str(home)]
    processes = [
        subprocess.Popen(argv, stdin=pipe, stdout=pipe, env=env, text=True) for _ in range(4)
    ]
    for one in processes:
        assert one.stdin is not None
        one.stdin.write("x")
        one.stdin.flush()
    won = [name for one in processes for name in one.communicate(timeout=60)[0].split()]
    wanted = [f"O{number}" for number in (*range(200), *range(1000, 1200))]
    assert sorted(won) == sorted(wanted)
    assert shown.read(str(home), "s") == set(wanted)


def test_a_long_session_is_remembered_whole(home: Path) -> None:
    read = [shown.mark("file", f"/src/{number}") for number in range(20_000)]
    shown.begin(str(home), "s", read)
    assert shown.claim(str(home), "s", ["O1", read[0], read[-1]]) == {read[0], read[-1]}
    assert shown.claim(str(home), "s", ["O1"]) == {"O1"}
    assert shown.read(str(home), "s") == {*read, "O1"}


def test_a_name_that_a_full_disk_has_cut_spoils_no_other(home: Path) -> None:
    shown.begin(str(home), "s", ["O1"])
    (file,) = (home / shown.FOLDER).iterdir()
    with file.open("a") as out:
        out.write("O77")
    assert shown.claim(str(home), "s", ["O2"]) == set()
    assert shown.read(str(home), "s") == {"O1", "O77", "O2"}


def test_a_run_forgets_who_was_told_nothing_for_thirty_days(home: Path) -> None:
    samples.calc(home).close()
    shown.sweep(str(home))  # before there is anything
    for name, days in (("old", 31), ("new", 29)):
        shown.begin(str(home), name, ["O1"])
        (file,) = [one for one in (home / shown.FOLDER).iterdir() if one.stat().st_mtime > PAST]
        os.utime(file, (time.time() - days * 86_400,) * 2)
    run_cmem("compress")
    assert (shown.read(str(home), "old"), shown.read(str(home), "new")) == (set(), {"O1"})


def test_what_a_session_knows_counts_from_when_it_goes_on(home: Path) -> None:
    hookrun.ready(home)
    samples.calc(home).close()
    shown.begin(str(home), "new", ["O1"])
    (file,) = (home / shown.FOLDER).iterdir()
    os.utime(file, (1, 1))
    given = {"session_id": "new", "cwd": "/src/calc", "source": "resume"}
    assert hookrun.silent(hookrun.fire(home, "SessionStart", payload_bytes(given)))
    shown.sweep(str(home))
    assert shown.read(str(home), "new") == {"O1"}


def test_what_cannot_be_written_down_is_not_told(home: Path) -> None:
    samples.calc(home).close()
    (home / shown.FOLDER).write_text("no folder")
    with pytest.raises(NotADirectoryError):
        ask(home, "UserPromptSubmit", prompt=PROMPT)


def test_a_hook_that_has_not_seen_what_another_tells_leaves_it_out(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn = samples.calc(home)
    session = samples.session(conn, 1, "more")
    turn = samples.turn(conn, session, 1)
    for title in ("Fixed subtract: operands were swapped", "Why subtract had its operands swapped"):
        samples.observation(conn, 1, session, turn, title=title, files_modified=["calc.py"])
    conn.close()
    # Both have read before either writes.
    monkeypatch.setattr(shown, "read", lambda _home, _session: set())
    told = refs(ask(home, "UserPromptSubmit", prompt=PROMPT))
    assert len(told) > 1
    assert ask(home, "UserPromptSubmit", prompt=PROMPT) == ""
    (file,) = (home / shown.FOLDER).iterdir()
    file.write_text(told[0] + "\n")
    assert refs(ask(home, "UserPromptSubmit", prompt=PROMPT)) == told[1:]
    file.unlink()
    given = {"tool_name": "Read", "tool_input": {"file_path": "/src/calc/calc.py"}}
    assert refs(ask(home, "PreToolUse", **given)) != []
    assert ask(home, "PreToolUse", **given) == ""
