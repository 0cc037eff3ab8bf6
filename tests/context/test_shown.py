"""Nothing twice in a session, however many hooks of it run at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hookrun
import pytest
import samples
from context.test_recall import PROMPT, ask, refs
from support import ROOT, clean_env, payload_bytes

from cmem.context import shown

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


@pytest.mark.parametrize("source", ["startup", "resume", "fork"])
def test_a_start_forgets_who_was_told_nothing_for_a_week(home: Path, source: str) -> None:
    hookrun.ready(home)
    samples.calc(home).close()
    if source == "startup":
        (home / "config.toml").write_text("recall_prompts = true\n")
    shown.sweep(str(home))  # before there is anything
    shown.begin(str(home), "old", ["O1"])
    (old,) = (home / shown.FOLDER).iterdir()
    os.utime(old, (1, 1))
    given = {"session_id": "new", "cwd": "/src/calc", "source": source}
    hookrun.fire(home, "SessionStart", payload_bytes(given))
    assert not old.exists()


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
