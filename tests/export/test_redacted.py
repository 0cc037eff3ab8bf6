"""What is for somebody else repeats no prompt, no tool input or output and no last message, also
where observations are nothing but quotations of these."""

from __future__ import annotations

from pathlib import Path

import exported
import store_rows
from transcribed import imported
from transcript_script import Script

from cmem.store import connection

ROOT = "/home/ana/clients/calc"
WORDS = ("WISH", "RULE", "PLAN", "BEFORE", "AFTER", "OUTCOME", "LAST", "/home", "clients", " ana ")


def _edit(script: Script, path: str, call: str) -> Script:
    given = {"file_path": path, "old_string": "BEFORE", "new_string": "AFTER"}
    return script.calls("Edit", given, call).result(call, "ok", promptId="p1")


def _quoting(home: Path, tmp_path: Path) -> None:
    """A memory that extract has made of a session."""
    script = Script(cwd=ROOT).prompt("Add the WISH to a.py. Always use RULE, never PLAN.", "p1")
    for number, path in enumerate(("a.py", "b/b.py", "c.py", "d.py")):
        _edit(script, f"{ROOT}/{path}", f"t{number}")
    script.calls("Bash", {"command": "pytest -k WISH"}, "t9")
    script.result("t9", "OUTCOME: 3 passed", promptId="p1")
    script.says("The LAST of `WISH` is in a.py because OUTCOME was wrong. Next: the PLAN.")
    script.write(tmp_path / "t")
    imported(home, tmp_path / "t")


def test_of_quotations_only_the_deed_and_its_files_are_left(home: Path, tmp_path: Path) -> None:
    _quoting(home, tmp_path)
    conn = connection.open_writer(str(home), now=exported.NOW)
    before = exported.export(conn)
    assert [word for word in WORDS if word.encode() not in before] == [" ana "]
    made = {one["type"] for one in exported.told(before, "observation")}
    assert {"feature", "decision"} <= made or {"change", "decision"} <= made
    data = exported.export(conn, redacted=True)
    assert [word for word in WORDS if word.encode() in data] == []
    (one,) = exported.told(data, "observation")
    names = ("title", "title_norm_key", "subtitle", "narrative", "facts", "files_modified")
    assert [one[name] for name in names] == [
        "Edited a.py, b/b.py, c.py and 1 more",
        "edited a py b b py c py and 1 more",
        "",
        "",
        [],
        ["a.py", "b/b.py", "c.py", "d.py"],
    ]
    assert exported.told(data, "summary") == []
    (whole,), (prompt,) = exported.told(before, "prompt"), exported.told(data, "prompt")
    assert whole["native_prompt_hash"] != prompt["native_prompt_hash"] == prompt["uid"][:16]
    target = exported.store(tmp_path / "b")
    assert exported.bring_in(target, data).bad == 0
    assert exported.export(target, redacted=True) == data
    conn.close()


def test_what_a_title_is_compared_by_names_no_folder(tmp_path: Path) -> None:
    conn = exported.store(tmp_path / "a")
    session = store_rows.session(conn, store_rows.project(conn, "calc"), "s1", cwd=ROOT)
    turn = store_rows.turn(conn, session, 1)
    store_rows.observation(conn, turn, "See /home/ana/acme/x.py", generated_by_model="m")
    conn.execute("UPDATE observations SET title_norm_key = 'see home ana acme x py'")
    (one,) = exported.told(exported.export(conn, redacted=True), "observation")
    assert (one["title"], one["title_norm_key"]) == ("See ~/…/x.py", "see ~ x py")
    conn.close()
