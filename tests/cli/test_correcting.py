"""``cmem edit``, ``pin`` and ``supersede``: memories are put right by hand."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import samples
from support import ROOT, clean_env, run_cmem, run_json

from cmem import forget as residue
from cmem import lock, paths
from cmem.cli import edit
from cmem.store import connection, copies, dedup, documents, drafts, edits, erase, migrations
from cmem.store.edits import Words
from cmem.store.rows import rows, value

WORDS = Words("t", "s", "bugfix", "n\n\nm", ("f: 1", "f2"), ("gotcha",), ("/a b", "/c"))


@pytest.fixture
def stored(home: Path) -> Path:
    samples.calc(home).close()
    return home


def note(text: str, *options: str) -> str:
    found: str = run_json("note", text, *options)["id"]
    return found


def found(query: str) -> list[str]:
    return [hit["id"] for hit in run_json("search", query, "--all")["hits"]]


def item(ref: str) -> dict[str, Any]:
    got: dict[str, Any] = run_json("get", ref)["items"][0]
    return got


# --- edit ----------------------------------------------------------------------------------


def test_an_edit_replaces_words_and_keeps_where_they_came_from(stored: Path) -> None:
    before = item("O1")
    done = run_json("edit", "O1", "--title", "Zebra ähnlich", "--fact", "one", "--fact", "two")
    assert (done["changed"], done["done"]) == (["title", "facts"], True)
    after = item("O1")
    changed = {name for name in before if before[name] != after[name]}
    assert changed <= {
        *("title", "facts", "metadata", "title_norm_key", "content_hash", "read_tokens", "tokens"),
    }
    assert (after["title"], after["facts"]) == ("Zebra ähnlich", ["one", "two"])
    assert "edited_at" in after["metadata"]
    assert found("zebra") == ["O1"]
    assert stored


def test_the_old_words_are_in_no_file_backups_included(home: Path) -> None:
    ref = note("The quokka sleeps under the cupboard.", "--title", "Quokka cupboard")
    conn = connection.open_writer(str(home), now=samples.NOON)
    migrations.backup(conn)
    conn.close()
    assert len(residue.scan(str(home), ["quokka"])) >= 2
    run_json("edit", ref, "--title", "A cat", "--text", "It sleeps in the sun.")
    assert residue.scan(str(home), ["quokka", "cupboard"]) == []
    assert len(copies.paths(str(home))) == 1
    assert found("sun") == [ref]


def test_damaged_files_that_may_hold_the_old_words_go_along_and_are_named(home: Path) -> None:
    earlier = home / "quarantine" / "memory-1700000000000"
    earlier.mkdir(parents=True)
    ref = note("The quokka sleeps under the cupboard.", "--title", "Quokka cupboard")
    damaged = home / "quarantine" / f"memory-{time.time_ns() // 1_000_000}"
    damaged.mkdir()
    (damaged / "memory.db").write_bytes(b"the quokka sleeps")
    run_json("edit", ref, "--type", "decision")
    assert damaged.exists()  # no word went
    look = run_json("edit", ref, "--title", "A cat", "--text", "It sleeps.", "--dry-run")
    assert (look["removed_files"], damaged.exists()) == ([str(damaged)], True)
    done = run_cmem("edit", ref, "--title", "A cat", "--text", "It sleeps in the sun.")
    assert done.stdout.decode() == (
        f"Changed of {ref}: title, narrative. What it said before is gone.\n"
    )
    assert done.stderr.decode() == (
        "cmem: 1 folder of damaged files went along, for nobody can take words out of them: "
        f"{damaged}\n"
    )
    assert residue.scan(str(home), ["quokka", "cupboard"]) == []
    assert earlier.exists()


def test_secrets_are_cut_from_an_edit(home: Path) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5" * 4  # put together here: no file holds one
    run_json("edit", note("One."), "--text", f"It is {token}.")
    assert residue.scan(str(home), [token]) == []


def test_what_was_edited_away_is_not_told_again_in_its_session(home: Path) -> None:
    note("The quokka sleeps.")
    conn = connection.open_writer(str(home), now=samples.NOON)
    ((uid, known),) = rows(conn, "SELECT n.uid, content_hash FROM observations o, sessions n")
    assert not erase.is_buried(conn, 1, known)
    old = edits.words(conn, 1)
    assert old is not None
    assert edits.edit(conn, 1, old=old, new=old._replace(title="A cat sleeps."), now=samples.NOON)
    assert known == drafts.content_hash(uid, "The quokka sleeps.", "")
    assert erase.is_buried(conn, 1, known)
    conn.close()


def test_an_edit_of_a_row_that_has_changed_meanwhile_is_refused(home: Path) -> None:
    note("One.")
    conn = connection.open_writer(str(home), now=samples.NOON)
    old = edits.words(conn, 1)
    assert old is not None
    with pytest.raises(edits.CmemError, match="O1 has changed meanwhile"):
        edits.edit(conn, 1, old=old._replace(title="x"), new=old._replace(title="y"), now=1)
    conn.close()


def test_an_edit_that_says_what_another_says_is_refused(home: Path) -> None:
    note("One.")
    note("Two.")
    done = run_cmem("edit", "O1", "--title", "Two.")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == "cmem: O2 says the same; `cmem supersede O1 O2` joins them\n"
    assert found("One") == ["O1"]


def test_a_dry_run_and_no_difference_change_nothing(home: Path) -> None:
    ref = note("One.")
    assert run_json("edit", ref, "--title", "Two.", "--dry-run")["changed"] == ["title"]
    assert run_json("edit", ref, "--title", "One.")["changed"] == []
    assert item(ref)["title"] == "One."
    assert item(ref)["metadata"] == {"provenance": "user"}


def test_an_edit_waits_for_no_compress_for_ever(home: Path, monkeypatch: Any) -> None:
    ref = note("One.")
    held = lock.acquire(paths.lock_file(str(home)))
    assert held is not None
    monkeypatch.setattr("cmem.cli.writing.LOCK_WAIT_MS", 50)
    with pytest.raises(edit.CmemError, match="a compress is running"):
        edit.run(
            dict.fromkeys(("subtitle", "type", "text"))
            | {"id": ref, "title": "Two.", "fact": [], "concept": [], "file": []}
            | {"dry_run": False, "json": True}
        )
    lock.release(held)


def test_without_a_terminal_an_edit_needs_an_option(home: Path) -> None:
    done = run_cmem("edit", note("One."))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith("cmem: say what to change, for example --title TEXT")


def test_a_terminal_edits_in_the_editor_and_no_file_of_it_is_left(home: Path) -> None:
    ref = note("The quokka sleeps.")
    script = home / "editor.py"
    script.write_text(
        "import sys\np = sys.argv[1]\nt = open(p, encoding='utf-8').read()\n"
        "open(p, 'w', encoding='utf-8').write(t.replace('quokka', '猫') + 'So it is.\\n')\n",
        encoding="utf-8",
    )
    main, side = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "cmem", "edit", ref],
        stdin=side,
        stdout=side,
        stderr=side,
        env=clean_env(PYTHONPATH=str(ROOT), EDITOR=f"'{sys.executable}' '{script}'"),
        check=False,
        timeout=60,
    )
    os.close(side)
    os.close(main)
    script.unlink()
    assert done.returncode == 0
    assert (item(ref)["title"], item(ref)["narrative"]) == ("The 猫 sleeps.", "So it is.")
    assert residue.scan(str(home), ["quokka"]) == []
    assert [one for one in os.listdir(home) if one.startswith("edit-")] == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--title", "x" * 501), "the title has 501 characters, at most 500 fit"),
        (("--text", "x" * 65_537), "the text has 65537 characters, at most 65536 fit"),
        (("--fact", "a", "--fact", "y" * 4_097), "one of the facts has 4097 characters, at most 4096 fit"),
        (("--concept", "a") * 1 + ("--concept", "z" * 201), "one of the concepts has 201 characters, at most 200 fit"),
        (("--type", "t" * 41), "the type has 41 characters, at most 40 fit"),
    ],
    ids=["title", "text", "fact", "concept", "type"],
)  # fmt: skip
def test_what_is_too_long_is_refused_whole(
    stored: Path, args: tuple[str, ...], message: str
) -> None:
    before = item("O1")
    done = run_cmem("edit", "O1", *args)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == f"cmem: {message}; nothing was changed\n"
    assert item("O1") == before
    assert stored


def test_what_is_long_already_may_stay() -> None:
    old = WORDS._replace(title="t" * 900, facts=("f",) * 300)
    edits.check_length(old, old._replace(narrative="other"))
    with pytest.raises(edits.CmemError, match="facts: at most 200, not 299"):
        edits.check_length(old, old._replace(facts=old.facts[1:]))


def test_what_was_written_in_the_editor_is_kept_when_it_cannot_be_stored(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = note("The quokka sleeps.")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)

    def wrote(path: str) -> None:
        Path(path).write_text("title: " + "x" * 600 + "\ntype: note\n\nMuch.\n", encoding="utf-8")

    monkeypatch.setattr(edit, "_edit_file", wrote)
    values: dict[str, Any] = dict.fromkeys(("title", "subtitle", "type", "text"))
    values |= {"id": ref, "fact": [], "concept": [], "file": [], "dry_run": False, "json": True}
    with pytest.raises(
        edit.CmemError, match="at most 500 fit; nothing was changed; what you"
    ) as told:
        edit.run(values)
    kept = Path(str(told.value).rpartition(" ")[2])
    assert kept.read_text(encoding="utf-8").endswith("Much.\n")
    assert kept.parent.parent == home
    assert item(ref)["title"] == "The quokka sleeps."


def test_an_edit_takes_out_what_was_joined_with_it(home: Path) -> None:
    refs = [note(f"The quokka sleeps{end}") for end in (".", " here.", " now.")]
    conn = connection.open_writer(str(home), now=samples.NOON)
    for older, newer in ((2, 3), (1, 2)):
        dedup.join(conn, older, newer, level=1, score=0.9, now=samples.NOON)
    migrations.backup(conn)
    conn.close()
    run_json("edit", refs[0], "--concept", "gotcha")
    assert len(residue.scan(str(home), ["sleeps now"])) >= 2
    run_json("edit", refs[0], "--title", "A cat")
    assert residue.scan(str(home), ["quokka", "sleeps"]) == []
    assert found("cat") == [refs[0]]


def test_an_empty_option_clears_files_as_it_clears_facts(home: Path) -> None:
    ref = note("Quokka.", "--file", "a.py", "--file", "")
    assert [os.path.basename(path) for path in item(ref)["files_read"]] == ["a.py"]
    done = run_json("edit", ref, "--file", "", "--fact", "", "--concept", "")
    assert (done["changed"], done["files"]) == (["files"], [])
    assert item(ref)["files_read"] == []
    assert home


def test_what_the_editor_is_given_reads_back_as_it_was() -> None:
    assert edit.parse(edit.render(WORDS), WORDS) == WORDS
    assert edit.parse("title: a\nwhat: b\n\nc", WORDS).narrative == "what: b\n\nc"


# --- pin -----------------------------------------------------------------------------------


def test_pins_are_set_and_taken(stored: Path) -> None:
    assert run_json("unpin", "O1", "O2")["ids"] == ["O1", "O2"]
    pinned = {"ids": ["O1", "O2"], "pinned": True, "changed": ["O1", "O2"], "untold": []}
    assert run_json("pin", "O1", "#o2") == pinned
    assert run_json("pin", "O1") == {"ids": ["O1"], "pinned": True, "changed": [], "untold": []}
    assert stored


def test_a_pin_that_no_session_is_told_says_so(stored: Path) -> None:
    conn = samples.open_store(stored)
    conn.execute("UPDATE observations SET taint = 'external' WHERE id = 1").fetchall()
    conn.close()
    done = run_cmem("pin", "O1", "O2")
    assert (done.returncode, done.stdout.decode()) == (0, "Pinned: O1 O2.\n")
    assert done.stderr.decode() == (
        "cmem: O1 came from an outside source, so no session is told it by itself; "
        "`cmem note --pin` with your own words is\n"
    )
    assert run_json("pin", "O1")["untold"] == ["O1"]
    assert "untold" not in run_json("unpin", "O2")


def test_an_unknown_id_among_known_ones_is_named(stored: Path) -> None:
    run_json("unpin", "O1")
    done = run_cmem("pin", "O1", "O999", "S1")
    assert (done.returncode, done.stdout.decode()) == (1, "Pinned: O1.\n")
    assert done.stderr.decode() == (
        "cmem: no such observation: O999, S1; an id such as O12 is needed\n"
    )
    assert stored


def test_a_pin_that_shows_nothing_says_what_would(home: Path) -> None:
    first, second, third = note("Quokka one."), note("Quokka two."), note("Quokka three.")
    run_json("supersede", first, second)
    run_json("supersede", second, third)
    done = run_cmem("pin", first)
    assert (done.returncode, done.stdout.decode()) == (0, f"Pinned: {first}.\n")
    assert done.stderr.decode() == (
        f"cmem: {first} is not shown: {third} stands for it, and is shown by `cmem pin {third}`\n"
    )
    assert run_json("pin", second, third)["superseded"] == {second: third}
    assert "superseded" not in run_json("unpin", first)
    assert home


# --- supersede -----------------------------------------------------------------------------


def test_the_newer_one_stands_for_the_older_one_until_undone(home: Path) -> None:
    old, new = note("Quokka one."), note("Quokka two.")
    assert run_json("supersede", old, new) == {
        "old": old,
        "superseded_by": new,
        "changed": True,
    }
    assert found("quokka") == [new]
    assert old not in run_json("context")["text"]
    assert run_json("supersede", old, new)["changed"] is False
    run_json("supersede", old, "--undo")
    assert sorted(found("quokka")) == [old, new]
    assert home


def test_of_a_forgotten_one_in_between_the_newest_takes_the_place(home: Path) -> None:
    first, second, third = (note(f"Quokka {word}.") for word in ("one", "two", "three"))
    run_json("supersede", first, second)
    run_json("supersede", second, third)
    run_json("forget", second)
    assert found("quokka") == [third]
    assert item(first)["superseded_by"] == third
    run_json("forget", third)
    assert found("quokka") == [first]
    run_json("forget", third, "--undo")
    assert found("quokka") == [third]
    assert home


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("O1", "O1"), "O1 cannot supersede itself"),
        (("O3", "O1"), "O1 is superseded by O3 itself, or is the same"),
        (
            ("O1", "O3"),
            "O1 is superseded by O2 already; `cmem supersede O1 --undo` takes that back",
        ),
        (("O3", "--undo"), "O3 is not superseded, so there is nothing to undo"),
        (("O9", "O1"), "no such observation: O9; an id such as O12 is needed"),
    ],
    ids=["itself", "circle", "taken", "nothing-to-undo", "unknown"],
)
def test_what_cannot_be_superseded_is_refused(
    home: Path, args: tuple[str, ...], message: str
) -> None:
    for text in ("One.", "Two.", "Three."):
        note(text)
    run_json("supersede", "O1", "O2")
    run_json("supersede", "O2", "O3")
    done = run_cmem("supersede", *args, "--json")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == f"cmem: {message}\n"
    assert home


def test_marks_never_touch_the_index(home: Path) -> None:
    note("One.")
    note("Two.")
    conn = connection.open_writer(str(home), now=samples.NOON)
    before = value(conn, "SELECT total(length(block)) FROM documents_fts_data", ())
    edits.pin(conn, [1], pinned=True)
    edits.supersede(conn, 1, 2)
    assert value(conn, "SELECT total(length(block)) FROM documents_fts_data", ()) == before
    assert json.dumps(documents.reindex(conn)) == "2"
    conn.close()
