from __future__ import annotations

import json
from pathlib import Path

import pytest
import samples
import support

from cmem.context import agents_file
from cmem.errors import CmemError

FILES = [
    b"",
    b"# Rules",
    b"# Rules\n",
    b"# Rules\n\n",
    b"a\r\nb\r\n",
    b"a\r\nb",
    b"a\r\nb\r",
    b"a\r",
    "é 修\n".encode(),
]


@pytest.mark.parametrize("raw", [None, *FILES])
def test_what_is_put_in_is_taken_out_without_a_trace(raw: bytes | None) -> None:
    once = agents_file.put(raw, "<m>\nbody\n</m>")
    assert agents_file.put(once, "<m>\nbody\n</m>") == once
    assert agents_file.take_out(agents_file.put(once, "other")) == raw
    assert agents_file.take_out(raw) == raw


def other_ends(raw: bytes) -> bytes:
    """The file as git writes it where it was told to write CRLF."""
    return raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


@pytest.mark.parametrize("raw", [None, b"", b"# Rules\n", b"# Rules\r\n", b"# Rules", b"a\r\nb"])
def test_line_ends_that_were_changed_are_taken_out_as_they_are(raw: bytes | None) -> None:
    once = other_ends(agents_file.put(raw, "one\ntwo"))
    expected = raw and (other_ends(raw) if b"\n" in raw else raw)
    assert agents_file.put(once, "one\ntwo") == once
    again = agents_file.put(once, "three\nfour")
    assert again == once.replace(b"one\r\ntwo", b"three\r\nfour")
    assert agents_file.take_out(again) == expected
    assert agents_file.take_out(once.replace(b"\r\n", b"\n")) == (
        raw and raw.replace(b"\r\n", b"\n")
    )


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-32", "latin-1"])
def test_a_file_that_is_no_utf_8_is_refused(coding: str) -> None:
    with pytest.raises(CmemError, match="it is not UTF-8 text"):
        agents_file.put("# Règles\n".encode(coding), "x")


def test_what_a_person_writes_around_the_block_stays() -> None:
    once = agents_file.put(b"before\n", "old")
    edited = once.replace(b"before", b"Before") + b"after\n"
    again = agents_file.put(edited, "new")
    assert again == edited.replace(b"old", b"new")
    assert agents_file.take_out(again) == b"Before\nafter\n"


@pytest.mark.parametrize(
    "raw",
    [
        agents_file.BEGIN + b"\nno end\n",
        b"no begin\n" + agents_file.END,
        agents_file.END + b"\n" + agents_file.BEGIN,
        (agents_file.BEGIN + b"\n" + agents_file.END + b"\n") * 2,
    ],
)
def test_marks_that_are_no_pair_are_left_to_the_user(raw: bytes) -> None:
    with pytest.raises(CmemError, match="not one pair"):
        agents_file.put(raw, "x")
    with pytest.raises(CmemError, match="not one pair"):
        agents_file.take_out(raw)


def test_the_command_writes_renews_and_removes(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "calc it"
    folder.mkdir()
    monkeypatch.setenv("CMEM_PROJECT", "calc")
    conn = samples.calc(home, str(folder))
    conn.execute("UPDATE projects SET key = 'env:calc', key_source = 'environment'")
    conn.close()
    file = folder / "AGENTS.md"

    def said(*argv: str) -> str:
        done = support.run_cmem("context", *argv, cwd=folder)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    assert said("--write", "AGENTS.md", "--dry-run") == "AGENTS.md: would be written\n"
    assert not file.exists()
    assert said("--write", "AGENTS.md") == "AGENTS.md: written\n"
    assert "- O1 bugfix: Fixed subtract" in file.read_text(encoding="utf-8")
    assert said("--write", "AGENTS.md") == "AGENTS.md: nothing to change\n"
    assert said("--remove", "AGENTS.md") == "AGENTS.md: removed\n"
    assert not file.exists()
    file.write_bytes(b"# Mine")
    assert json.loads(said("--write", "AGENTS.md", "--json")) == {
        "file": "AGENTS.md",
        "result": "written",
        "dry_run": False,
    }
    assert said("--remove", "AGENTS.md") == "AGENTS.md: written\n"
    assert file.read_bytes() == b"# Mine"


def test_a_file_with_broken_marks_is_named(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_bytes(agents_file.BEGIN)
    done = support.run_cmem("context", "--remove", "AGENTS.md", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == (
        "cmem: will not edit AGENTS.md: its marks of cmem are not one pair; take them out by hand\n"
    )
    assert file.read_bytes() == agents_file.BEGIN


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--write", "A.md", "--remove", "A.md"), "--write and --remove cannot go together"),
        (("--write", ""), "the name of a file is missing"),
        (("--remove", ""), "the name of a file is missing"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    home: Path, options: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    done = support.run_cmem("context", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert told in done.stderr.decode()
    assert [one.name for one in tmp_path.iterdir() if one.name == "A.md"] == []
