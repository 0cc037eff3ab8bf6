"""What a command that fetched has put into files, and who reads them."""

from __future__ import annotations

import time

import pytest

from cmem import downloads, taint

CWD = "/w/calc"


@pytest.mark.parametrize(
    ("command", "files", "folders"),
    [
        ("curl -so page.html https://x.example", {"page.html"}, set()),
        ("curl -s --output=a/b.md https://x.example", {"a/b.md"}, set()),
        ("curl -O https://x.example/d/x.tgz?raw=1", {"x.tgz"}, set()),
        ("curl https://x.example/README.md | head", set(), set()),
        ("curl https://x.example 2>/dev/null > 'page.html'", {"page.html"}, set()),
        ("curl https://x.example -d @- < body.json", set(), set()),
        ("cd docs && wget https://x.example/a.html", {"docs/a.html"}, set()),
        ("wget -O b.html https://x.example/a.html", {"b.html", "a.html"}, set()),
        ("wget -P in https://x.example/a.html", {"in/a.html", "a.html"}, set()),
        ("curl https://x.example | tee -a log.txt", {"log.txt"}, set()),
        ("git clone --depth 1 https://x.example/a/lib.git", set(), {"lib"}),
        ("git clone git@x.example:a/lib.git third/lib", set(), {"third/lib"}),
        ("git clone https://x.example/a/lib.git .", set(), set()),
        ("gh repo clone a/lib", set(), {"lib"}),
        ("tar xzf lib-1.0.tgz", set(), {"lib-1.0"}),
        ("unzip -q lib.zip -d third", set(), {"third", "lib"}),
        ("cp page.html docs", {"docs/page.html"}, set()),
        ("scp host:/var/a.txt .", {"a.txt"}, set()),
        ("cp page.html docs/p.html", {"docs/p.html", "docs/p.html/page.html"}, set()),
        ("npm install", set(), set()),
    ],
)
def test_what_a_command_writes(command: str, files: set[str], folders: set[str]) -> None:
    found = downloads.brought(command, CWD)
    assert found.files == {f"{CWD}/{name}" for name in files}
    assert found.folders == {f"{CWD}/{name}" for name in folders}


EARLIER: list[tuple[str, object]] = [
    (CWD, {"command": "curl -so page.html https://x.example"}),
    (CWD, {"command": ["git", "clone", "https://x.example/lib.git"]}),
    (CWD, "not an object"),
]


@pytest.mark.parametrize(
    ("tool", "fields", "expected"),
    [
        ("Read", {"file_path": f"{CWD}/page.html"}, True),
        ("Read", {"file_path": "./page.html"}, True),
        ("Grep", {"pattern": "x", "path": f"{CWD}/lib/src"}, True),
        ("Read", {"file_path": f"{CWD}/page.htm"}, False),
        ("Read", {"file_path": f"{CWD}/library/a.py"}, False),
        ("Grep", {"pattern": "page.html"}, False),
        ("Bash", {"command": "cat page.html | head"}, True),
        ("Bash", {"command": "python3 - < page.html"}, True),
        ("Bash", {"command": "cat *.html"}, True),
        ("Bash", {"command": "cd lib && make"}, True),
        ("Bash", {"command": "git commit -m 'add page.html'"}, False),
        ("Bash", {"command": "pytest -q"}, False),
        ("Bash", {"command": "git add page.html && rm page.html && ls lib"}, False),
        ("Bash", {"command": "rm $(cat page.html)"}, True),
        ("Edit", {"file_path": f"{CWD}/page.html", "old_string": "a", "new_string": "b"}, True),
        ("Edit", {"file_path": f"{CWD}/lib/a.py", "old_string": "a", "new_string": "b"}, False),
        ("Write", {"file_path": f"{CWD}/page.html", "content": "own"}, False),
        ("apply_patch", {"command": "*** Update File: page.html\n+page.html"}, False),
        ("Read", "not an object", False),
    ],
)
def test_who_reads_what_was_brought(tool: str, fields: object, expected: bool) -> None:
    assert taint.of_downloaded(tool, fields, cwd=CWD, earlier=EARLIER) is expected


def test_what_the_session_works_in_did_not_come_with_a_command() -> None:
    earlier: list[tuple[str, object]] = [("/w/calc/src", {"command": "tar xzf a.tgz -C /w/calc"})]
    fields = {"file_path": "/w/calc/a.py"}
    assert not taint.of_downloaded("Read", fields, cwd="/w/calc/src", earlier=earlier)


@pytest.mark.parametrize("piece", ["-o ", "> a", "cd a;", "a/*", "[", "cp a b;", "'", "tar "])
def test_hostile_repetition_ends(piece: str) -> None:
    long = piece * (64_000 // len(piece))
    started = time.monotonic()
    taint.of_downloaded("Bash", {"command": long}, cwd="/p", earlier=[("/p", {"command": long})])
    assert time.monotonic() - started < 5
