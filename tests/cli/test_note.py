"""``cmem note``: what a person writes is stored, found, shown and forgotten like all else."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from support import run_cmem, run_json

from cmem import forget as residue
from cmem import lock, paths
from cmem.store import connection, notes
from cmem.store.rows import rows

STABLE = "Releases are cut from the branch stable."


@pytest.fixture
def folder(home: Path, tmp_path: Path) -> Path:
    """A project in whose path there is a space."""
    assert home
    place = tmp_path / "some work" / "calc"
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (place / ".git" / "objects").mkdir()
    (place / ".git" / "refs").mkdir()
    return place


def stored(home: Path, columns: str) -> list[tuple[Any, ...]]:
    conn = connection.open_reader(str(home))
    assert conn is not None
    found = rows(conn, f"SELECT {columns} FROM observations ORDER BY id")
    conn.close()
    return found


def found(query: str, folder: Path, *options: str) -> list[str]:
    return [hit["id"] for hit in run_json("search", query, *options, cwd=folder)["hits"]]


def test_a_note_is_stored_with_its_provenance(folder: Path, home: Path) -> None:
    done = run_json(
        *("note", "--type", "decision", "--concept", "gotcha", "--file", "src/a b.py", "--pin"),
        STABLE,
        cwd=folder,
    )
    assert done == {
        "id": "O1",
        "title": STABLE,
        "project": "calc",
        "new": True,
        "type": "decision",
    }
    columns = "type, title, narrative, concepts, files_read, pinned, taint, host, branch, metadata"
    file = json.dumps([str(folder / "src" / "a b.py")])
    assert stored(home, columns) == [
        ("decision", STABLE, "", '["gotcha"]', file, 1, "local", "user", "main")
        + ('{"provenance": "user"}',)
    ]
    assert run_json("get", "O1")["items"][0]["generated_by_model"] == "user"


def test_a_note_is_found_and_stands_in_the_context(folder: Path) -> None:
    run_json("note", STABLE, cwd=folder)
    assert found("stable", folder) == ["O1"]
    assert f"- O1 note: {STABLE}" in run_json("context", cwd=folder)["text"]


def test_standard_input_is_taken_whole_and_its_first_line_is_the_title(
    folder: Path, home: Path
) -> None:
    text = "缓存为什么被删除\n\nIt held stale rows.\nตัวอย่าง\n"
    assert run_cmem("note", "-", stdin=text.encode(), cwd=folder).returncode == 0
    assert stored(home, "title, narrative") == [("缓存为什么被删除", "It held stale rows.\nตัวอย่าง")]
    assert found("缓存", folder) == ["O1"]


def test_a_long_first_line_is_cut_at_a_word_and_kept_whole(folder: Path, home: Path) -> None:
    text = " ".join(["word"] * 60)
    run_json("note", text, cwd=folder)
    assert stored(home, "title, narrative") == [(" ".join(["word"] * 19) + "…", text)]


def test_the_same_note_twice_is_one_that_counts_twice(folder: Path, home: Path) -> None:
    run_json("note", STABLE, cwd=folder)
    assert run_json("note", STABLE, "--pin", cwd=folder)["new"] is False
    assert stored(home, "id, occurrence_count, pinned, json_array_length(reinforcement_dates)") == [
        (1, 2, 1, 1)
    ]


def test_secrets_and_private_spans_never_reach_a_file(folder: Path, home: Path) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5" * 4  # put together here: no file holds one
    run_json("note", f"The token is {token} and <private>the word quokka</private>.", cwd=folder)
    assert residue.scan(str(home), [token, "quokka"]) == []
    assert stored(home, "title") == [("The token is [REDACTED:github] and [private].",)]


def test_a_global_note_is_found_in_every_project_and_belongs_to_none(
    folder: Path, tmp_path: Path
) -> None:
    run_json("note", STABLE, cwd=folder)
    assert run_json("note", "--global", "Answer in English.", cwd=folder)["project"] == "global"
    other = tmp_path / "other"
    other.mkdir()
    run_json("note", "Only here.", cwd=other)
    assert found("English", folder) == ["O2"]
    assert found("English", other) == ["O2"]
    assert found("English", other, "--project", "global") == ["O2"]
    assert found("stable", other) == []
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    assert found("English", fresh, "--project", "global") == found("English", fresh) == ["O2"]


def test_a_note_of_no_project_is_shown_where_it_was_taken(home: Path, tmp_path: Path) -> None:
    assert home
    one, two = tmp_path / "user" / "one", tmp_path / "user" / "two"
    for place in (one, two):
        place.mkdir(parents=True)
        added = run_json("note", f"Of {place.name}.", cwd=place, TMPDIR=str(tmp_path / "user"))
        assert added["project"] == "unsorted"
    shown = run_json("context", cwd=two, TMPDIR=str(tmp_path / "user"))["text"]
    assert ("Of one." in shown, "Of two." in shown) == (False, True)
    shown = run_json("context", cwd=one, TMPDIR=str(tmp_path / "user"))["text"]
    assert ("Of one." in shown, "Of two." in shown) == (True, False)


def test_a_named_project_gets_the_note_from_anywhere(folder: Path, tmp_path: Path) -> None:
    run_json("note", STABLE, cwd=folder)
    assert run_json("note", "Two.", "--project", "calc", cwd=tmp_path)["project"] == "calc"
    assert found("Two", folder) == ["O2"]


def test_forgetting_a_note_takes_no_other_along(folder: Path, home: Path) -> None:
    run_json("note", STABLE, cwd=folder)
    run_json("note", "The quokka lives elsewhere.", cwd=folder)
    assert run_json("forget", "O2", "--hard")["counts"]["observations"] == 1
    assert residue.scan(str(home), ["quokka"]) == []
    assert found("stable", folder) == ["O1"]
    assert run_json("note", "The quokka lives elsewhere.", cwd=folder)["new"] is True


def test_a_hidden_note_says_how_it_comes_back(folder: Path) -> None:
    run_json("note", STABLE, cwd=folder)
    run_json("forget", "O1")
    done = run_cmem("note", STABLE, cwd=folder)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == (
        "cmem: this note lies hidden as O1; `cmem forget O1 --undo` brings it back\n"
    )


def test_compress_makes_no_work_of_notes(folder: Path) -> None:
    run_json("note", STABLE, cwd=folder)
    done = run_json("compress", "--all", "--provider", "extract")
    assert (done["units"], done["pending"], done["summaries"]) == (0, 0, 0)


def test_a_running_compress_holds_up_no_note(folder: Path, home: Path) -> None:
    run_json("note", STABLE, cwd=folder)
    held = lock.acquire(paths.lock_file(str(home)))
    assert held is not None
    try:
        assert run_json("note", "Two.", cwd=folder)["id"] == "O2"
    finally:
        lock.release(held)


def test_notes_of_many_at_once_are_all_kept(folder: Path, home: Path) -> None:
    codes: list[int] = []

    def write(number: int) -> None:
        codes.append(run_cmem("note", f"Fact number {number}.", cwd=folder).returncode)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert codes == [0] * 6
    titles = sorted(title for (title,) in stored(home, "title"))
    assert titles == [f"Fact number {number}." for number in range(6)]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((), 2, "say what to remember, or - to read it from standard input"),
        (("  ",), 1, "the note is empty; say what to remember"),
        (("-",), 1, "the note is empty; say what to remember"),
        (("x", "--global", "--project", "a"), 2, "choose one of --global and --project"),
        (("x", "--project", "nope"), 1, "no such project: nope"),
    ],
    ids=["nothing", "blank", "empty-stdin", "two-scopes", "unknown-project"],
)
def test_what_cannot_be_noted_is_refused(
    folder: Path, args: tuple[str, ...], code: int, message: str
) -> None:
    done = run_cmem("note", *args, "--json", cwd=folder)
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.decode().startswith(f"cmem: {message}")


def test_a_text_of_any_length_ends_in_a_line(folder: Path) -> None:
    done = run_cmem("note", "-", stdin=b"x" * 400_000, cwd=folder)
    assert done.returncode == 1
    assert done.stderr.decode().startswith("cmem: a note takes at most 65536 characters")


def test_notes_of_one_moment_have_turns_of_their_own(home: Path) -> None:
    conn = connection.open_writer(str(home), now=1)
    for at in range(100):  # by chance alone two of them would have one number
        note = notes.clean(notes.Note(f"note {at}"))
        assert notes.add(conn, note, identity=notes.GLOBAL, now=1_780_000_000_000).new
    numbers = [number for (number,) in conn.execute("SELECT number FROM turns")]
    conn.close()
    assert len(set(numbers)) == 100
