from __future__ import annotations

import json
from pathlib import Path

import pytest
import secret_forms
import support

DRAW = secret_forms.drawing(21)


@pytest.fixture
def notes(tmp_path: Path) -> tuple[Path, str]:
    token, word = secret_forms.FIRST["github"](DRAW), secret_forms.password(DRAW)
    path = tmp_path / "notes.txt"
    path.write_text(f"first\nuse {token}\nPASSWORD={word}\nmax_tokens=4096\n", encoding="utf-8")
    return path, word


CLEAN = "first\nuse [REDACTED:github]\nPASSWORD=[REDACTED:password]\nmax_tokens=4096\n"


def test_findings_by_rule_and_line(notes: tuple[Path, str]) -> None:
    done = support.run_cmem("redact", "--test", str(notes[0]))
    told = "line 2: github\nline 3: password\n2 would be cut.\n"
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, told, b"")


def test_the_text_as_it_would_be_stored(notes: tuple[Path, str]) -> None:
    done = support.run_cmem("redact", "--test", "-", "--text", stdin=notes[0].read_bytes())
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, CLEAN, b"")


def test_one_document(notes: tuple[Path, str]) -> None:
    expected = {
        "file": str(notes[0]),
        "findings": [{"rule": "github", "line": 2}, {"rule": "password", "line": 3}],
        "counts": {"github": 1, "password": 1},
    }
    assert support.run_json("redact", "--test", str(notes[0])) == expected
    assert support.run_json("redact", "--test", str(notes[0]), "--text") == {
        **expected,
        "text": CLEAN,
    }


def test_nothing_to_cut() -> None:
    done = support.run_cmem("redact", "--test", "-", stdin=b"plain text\n")
    assert (done.returncode, done.stdout) == (0, b"Nothing would be cut.\n")


def test_no_file_and_no_such_file(tmp_path: Path) -> None:
    done = support.run_cmem("redact")
    told = "cmem: say what to test: --test FILE, or --test - for standard input\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", told)
    done = support.run_cmem("redact", "--test", str(tmp_path / "none"), "--json")
    told = f"cmem: could not read {tmp_path / 'none'}: No such file or directory\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", told)


def test_nothing_is_stored(home: Path, notes: tuple[Path, str]) -> None:
    support.run_cmem("redact", "--test", str(notes[0]))
    assert list(home.iterdir()) == []
    assert notes[1] not in json.dumps(support.run_json("redact", "--test", str(notes[0]), "--text"))
