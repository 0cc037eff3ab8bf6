from __future__ import annotations

import hashlib
import os
from pathlib import Path

import exported
import store_rows
import support
from exported import T0, full, store

from cmem.export import markdown
from cmem.store import erase, forget
from cmem.store.dump import Chosen

PAGE = """\
---
cmem_session: "claude-code:s0"
project: shop
host: claude-code
started: "2026-05-28T20:26:40Z"
last_event: "2026-05-28T20:26:40Z"
model: m
---

# Räume 🧪

## Summary

**Request**

request

**Learned**

much

## 2026-05-28 20:26

> zähle
>  "q" \\ 数える 01

*1 tool use*

### discovery: Titel \\<b>01\\</b>

a
b\t\u200d👩‍💻

- x = 1
- 价格

Files modified: `src/ä b.py`

Concepts: `gotcha`

*(superseded)*

## 2026-05-28 20:26

> zähle
>  "q" \\ 数える 02

*1 tool use*

### discovery: Titel \\<b>02\\</b>

a
b\t\u200d👩‍💻

- x = 1
- 价格

Files modified: `src/ä b.py`

Concepts: `gotcha`

## 2026-05-28 20:26

> zähle
>  "q" \\ 数える 03

*1 tool use*

### discovery: Titel \\<b>03\\</b>

a
b\t\u200d👩‍💻

- x = 1
- 价格

Files modified: `src/ä b.py`

Concepts: `gotcha`
"""


def test_session_is_one_readable_file(tmp_path: Path) -> None:
    conn = full(tmp_path / "a")
    folder = tmp_path / "my notes"
    written = markdown.write(conn, Chosen(), str(folder), redacted=False)
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.md"))
    assert names == [
        "old-shop/2026-05-28-e-codes1.md",
        "shop/2026-05-28-e-codes0.md",
        "shop/2026-05-28-e-codes2.md",
    ]
    assert written == (3, 3, 0)
    page = folder / names[1]
    assert page.read_text(encoding="utf-8") == PAGE
    assert page.stat().st_mode & 0o777 == 0o600


def test_projects_of_one_name_have_a_folder_each(tmp_path: Path) -> None:
    """Who was given the folder of one had the other one's memories too."""
    conn = store(tmp_path / "a")
    into = None
    for number, (name, key) in enumerate(
        (("Shop", "/z"), ("shop", "/b"), ("shop", "/c"), ("shop!", "/d"), ("!", "/e"))
    ):
        merged = into if key == "/c" else None
        into = store_rows.project(conn, name, key=key, created_at=T0 + number, merged_into=merged)
        store_rows.session(conn, into, f"s{number}")
    markdown.write(conn, Chosen(), str(tmp_path / "notes"), redacted=False)
    files = (tmp_path / "notes").rglob("*.md")
    found = {one.stem[-2:]: one.parent.name for one in files}
    other = hashlib.sha256(b"/b").hexdigest()[:8]
    third = hashlib.sha256(b"/d").hexdigest()[:8]
    assert found == {
        "s0": "Shop",
        "s1": f"shop-{other}",
        "s2": f"shop-{other}",
        "s3": f"shop-{third}",
        "s4": "unsorted",
    }


def test_a_title_that_is_a_list_is_its_first_point() -> None:
    head = {"title": "", "started_at": 0}
    assert markdown._title(head, {"summary": [{"request": "- The *first*\n- The second"}]}) == (
        "The *first*"
    )


def test_only_what_has_changed_is_written(tmp_path: Path) -> None:
    conn = full(tmp_path / "a")
    folder = tmp_path / "notes"
    markdown.write(conn, Chosen(), str(folder), redacted=False)
    files = sorted(folder.rglob("*.md"))
    for path in files:
        os.utime(path, ns=(1, 1))
    assert markdown.write(conn, Chosen(), str(folder), redacted=False) == (3, 0, 0)
    conn.execute("UPDATE observations SET narrative = 'edited' WHERE session_id = 2")
    assert markdown.write(conn, Chosen(), str(folder), redacted=False) == (3, 1, 0)
    untouched = [path for path in files if path.stat().st_mtime_ns == 1]
    assert [path.parent.name for path in untouched] == ["shop", "shop"]


def test_forgotten_session_goes_and_other_files_stay(tmp_path: Path) -> None:
    conn = full(tmp_path / "a")
    folder = tmp_path / "notes"
    markdown.write(conn, Chosen(), str(folder), redacted=False)
    mine = folder / "shop" / "mine.md"
    mine.write_text("# mine\n", encoding="utf-8")
    (folder / "link.md").symlink_to(min(folder.rglob("*.md")))
    erase.purge(conn, forget.plan(conn, [("N", 2)]), now=T0 + 9)
    # What a forgotten observation had taken the place of stands for itself again.
    assert markdown.write(conn, Chosen(projects=(1,)), str(folder), redacted=False) == (2, 1, 0)
    assert (folder / "old-shop").is_dir()
    assert markdown.write(conn, Chosen(), str(folder), redacted=False) == (2, 0, 1)
    assert not (folder / "old-shop").exists()
    assert mine.read_text(encoding="utf-8") == "# mine\n"
    assert (folder / "link.md").is_symlink()


def test_stored_text_opens_no_heading_tag_or_folder(tmp_path: Path) -> None:
    conn = store(tmp_path / "a")
    project = store_rows.project(conn, "../../etc/x")
    session = store_rows.session(conn, project, title="a\n---\n# b <script>")
    turn = store_rows.turn(conn, session)
    hostile = "# head\n---\n<script>x</script> `<b>`\n\x1b[2Jend"
    store_rows.prompt(conn, turn, hostile)
    store_rows.observation(conn, turn, "t `x\n# y", hostile, facts=("a\n- b",), files=("`a`\nb",))
    folder = tmp_path / "notes"
    markdown.write(conn, Chosen(), str(folder), redacted=False)
    (page,) = folder.rglob("*.md")
    assert page.parent == folder / "etc-x"
    text = page.read_text(encoding="utf-8")
    assert [line for line in text.split("\n") if line.startswith(("#", "---", "<"))] == [
        "---",
        "---",
        "# a",
        "## 2026-05-28 20:26",
        "### discovery: t `x # y",
    ]
    assert "\x1b" not in text
    assert "\\<script>x\\</script> `<b>`" in text


def test_command_writes_the_folder_and_says_so(tmp_path: Path) -> None:
    conn = exported.full(tmp_path / "a")
    conn.execute("UPDATE observations SET generated_by_model = 'm'")
    conn.close()
    folder = tmp_path / "notes"
    home = str(tmp_path / "a")
    first = support.run_cmem("export", "--md", str(folder), CMEM_HOME=home)
    said = f"3 files in {folder}: 3 written, 0 unchanged, 0 removed.\n"
    assert (first.returncode, first.stdout.decode()) == (0, said)
    document = support.run_json("export", "--md", str(folder), CMEM_HOME=home)
    assert document == {"folder": str(folder), "files": 3, "changed": 0, "removed": 0}
    shared = tmp_path / "shared"
    support.run_json("export", "--md", str(shared), "--redacted", CMEM_HOME=home)
    pages = "".join(path.read_text(encoding="utf-8") for path in shared.rglob("*.md"))
    assert ("zähle" in pages, "Titel" in pages) == (False, True)


def test_export_wants_one_place_and_a_memory(tmp_path: Path) -> None:
    def said(*words: str, home: str = "a") -> tuple[int, bytes, bytes]:
        done = support.run_cmem("export", *words, CMEM_HOME=str(tmp_path / home))
        return done.returncode, done.stdout, done.stderr

    exported.full(tmp_path / "a").close()
    where = b"cmem: say where to: a file, - for standard output, or --md DIR\n"
    assert said() == (2, b"", where)
    assert said("x.jsonl", "--md", "x") == (2, b"", where)
    none = b"cmem: no memories yet, so there is nothing to export\n"
    assert said("-", home="b") == (1, b"", none)
    lost = tmp_path / "no" / "x.jsonl"
    message = f"cmem: could not write {lost}: no such file or directory\n".encode()
    assert said(str(lost)) == (1, b"", message)
    unknown = said("-", "--project", "shoo")
    assert unknown[0] == 1
    assert b"shoo" in unknown[2]


def test_export_replaces_a_file_whole_or_not_at_all(tmp_path: Path) -> None:
    exported.full(tmp_path / "a").close()
    target = tmp_path / "x.jsonl"
    target.write_text("older", encoding="utf-8")
    link = tmp_path / "link.jsonl"
    link.symlink_to(target)
    done = support.run_cmem("export", str(link), CMEM_HOME=str(tmp_path / "a"))
    assert done.returncode == 0
    assert link.is_symlink()
    assert target.read_bytes().startswith(b'{"record":"cmem-export","format":1}\n')
    assert sorted(path.name for path in tmp_path.iterdir() if "jsonl" in path.name) == [
        "link.jsonl",
        "x.jsonl",
    ]
