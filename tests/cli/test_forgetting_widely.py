"""``cmem forget`` by text, project and time, undone or for good, in copies of the store too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
import samples
import support

from cmem import compress, paths
from cmem import forget as residue
from cmem.store import connection, copies, documents, erase, forget, migrations
from cmem.store.forget import UNDO_MS

QUOKKA = "The Quokka lives under the cupboard."


def failing(*args: str, cwd: Path | None = None) -> tuple[int, str, str]:
    done = support.run_cmem(*args, cwd=cwd)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def note(text: str, cwd: Path, *options: str) -> str:
    found: str = support.run_json("note", text, *options, cwd=cwd)["id"]
    return found


def titles() -> list[str]:
    hits = support.run_json("search", "--all", "--since", "2000-01-01", "--limit", "99")["hits"]
    return sorted(hit["title"] for hit in hits)


def forgotten(*args: str) -> dict[str, Any]:
    done: dict[str, Any] = support.run_json("forget", *args, "--yes")
    return done


@pytest.fixture
def two(home: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Folders of two projects with notes: two in the first, one in the second."""
    assert home
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        for name in ("objects", "refs"):
            (folder / ".git" / name).mkdir(parents=True)
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    note(QUOKKA, first)
    note("Plain words.", first)
    note("A quokka and 数据库密码轮换.", second)
    return first, second


@pytest.fixture
def copied(home: Path) -> Path:
    """A recorded turn and everything made of it, and a backup of the store."""
    samples.calc(home).close()
    back_up(home)
    return home


def back_up(home: Path) -> str:
    conn = connection.open_writer(str(home), now=samples.NOON)
    path = migrations.backup(conn)
    conn.close()
    return path


# --- what is meant -------------------------------------------------------------------------


def test_a_text_is_found_in_any_case_of_letters_and_every_project(two: Any) -> None:
    done = forgotten("--match", "qUOKKa")
    assert (done["ids"], done["counts"]["observations"], done["done"]) == (["O1", "O3"], 2, True)
    assert titles() == ["Plain words."]
    assert two


@pytest.mark.parametrize(
    ("args", "left"),
    [
        (("--match", "quokka", "--project", "second"), ["Plain words.", QUOKKA]),
        (("--match", "密码"), ["Plain words.", QUOKKA]),
        (("--project", "first"), ["A quokka and 数据库密码轮换."]),
        (("--project", "first", "--since", "1h"), ["A quokka and 数据库密码轮换."]),
        (("--since", "1h"), []),
        (("--session", "N1", "--match", "plain"), ["A quokka and 数据库密码轮换.", QUOKKA]),
    ],
    ids=["text-project", "chinese", "project", "project-time", "time", "session-text"],
)
def test_what_is_given_narrows(two: Any, args: tuple[str, ...], left: list[str]) -> None:
    forgotten(*args)
    assert titles() == left
    assert two


def test_raw_evidence_titles_and_messages_that_hold_the_text_go(home: Path) -> None:
    conn = samples.calc(home)
    conn.execute("UPDATE sessions SET title = 'about subtract' WHERE id = 1").fetchall()
    conn.close()
    forgotten("--match", "subtract", "--hard")
    assert residue.scan(str(home), ["subtract"]) == []


def test_a_text_with_quotes_is_found_where_it_stands_in_json(home: Path) -> None:
    assert home
    support.run_json("note", "x", "--concept", 'say "hello" to é')
    assert forgotten("--match", 'say "hello" to É')["counts"]["observations"] == 1


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--match", "zanzibar"), 1, "nothing matches, so there is nothing to forget"),
        (("--until", "2001-01-01"), 1, "nothing matches, so there is nothing to forget"),
        (("--match", "  "), 2, "--match needs a text"),
        (("O1", "--match", "x"), 2, "give ids, or filters such as --match and --since, not both"),
        (("O1", "--undo", "--hard"), 2, "choose one of --undo and --hard"),
        (("--project", "nope"), 1, "no such project: nope"),
        (("--since", "monday", "--until", "1999"), 2, ""),
        (
            ("--match", "quokka"),
            1,
            "nothing was forgotten: that would be 2 observations in first (1, /",
        ),
    ],
    ids=["text", "time", "blank", "both", "undo-hard", "project", "range", "pipe"],
)
def test_what_cannot_be_forgotten_is_said(
    two: Any, args: tuple[str, ...], code: int, message: str
) -> None:
    found, out, err = failing("forget", *args, "--json")
    assert (found, out) == (code, "")
    assert err.startswith(f"cmem: {message}")
    assert len(titles()) == 3
    assert two


# --- undo ----------------------------------------------------------------------------------


def test_what_can_be_undone_is_listed_and_one_id_brings_back_all_of_it(two: Any) -> None:
    assert support.run_json("forget", "--undo") == {"undoable": []}
    forgotten("--match", "quokka")
    (one,) = support.run_json("forget", "--undo")["undoable"]
    assert (one["ids"], one["counts"]["observations"]) == (["O1", "O3"], 2)
    assert one["until"] == one["at"] + UNDO_MS
    assert failing("forget", "--undo")[1].endswith(
        f"`cmem forget O1 --undo` until {failing('forget', '--undo')[1].split('until ')[1]}"
    )
    assert support.run_json("forget", "O3", "--undo")["undone"] == 2
    assert len(titles()) == 3
    assert two


def test_after_a_day_compress_removes_it_from_the_backups_too(copied: Path) -> None:
    forgotten("P1")
    assert copies.paths(str(copied)) != []
    assert len(residue.scan(str(copied), ["operands"])) >= 2
    conn = connection.open_writer(str(copied), now=samples.NOON)
    (hidden,) = forget.undoable(conn)
    compress._maintain(str(copied), conn, now=hidden.at + UNDO_MS)
    conn.close()
    assert residue.scan(str(copied), ["operands", "return a - b"]) == []


# --- for good ------------------------------------------------------------------------------


def test_hard_leaves_no_byte_in_backups_under_any_name(copied: Path) -> None:
    backups = copied / "backups"
    (first,) = backups.glob("*.db")
    first.rename(backups / "mine.sqlite")
    (backups / "folder").mkdir()
    back_up(copied)
    first.rename(backups / "folder" / "x y.db")
    assert len(copies.paths(str(copied))) == 2
    forgotten("--match", "operands", "--hard")
    assert residue.scan(str(copied), ["operands", "return a - b"]) == []


def test_a_backup_keeps_what_was_not_forgotten(copied: Path) -> None:
    before = rows_of(copied)
    forgotten("O2", "--hard")
    after = rows_of(copied)
    conn = connection.open_reader(str(copied))
    assert conn is not None
    live = {
        table: conn.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in after
    }
    conn.close()
    assert after == live
    assert after != before


def rows_of(home: Path) -> dict[str, Any]:
    tables = ("observations", "session_summaries", "user_prompts", "tool_uses", "documents")
    found: dict[str, Any] = {}

    def count(conn: apsw.Connection) -> None:
        for table in tables:
            found[table] = conn.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]

    assert copies.apply(str(home), count) == 1
    return found


def test_a_damaged_backup_is_named(copied: Path) -> None:
    (path,) = copies.paths(str(copied))
    raw = Path(path).read_bytes()
    Path(path).write_bytes(raw[:100] + b"\xff" * (len(raw) - 100))
    code, out, err = failing("forget", "O1", "--hard", "--yes")
    assert (code, out) == (1, "")
    assert err.startswith(f"cmem: {path} cannot be cleaned (")
    assert "delete it, it still holds what was removed" in err
    assert failing("get", "O1")[0] == 1


def test_a_damaged_backup_holds_up_neither_the_others_nor_the_store(copied: Path) -> None:
    (path,) = copies.paths(str(copied))
    raw = Path(path).read_bytes()
    damaged = copied / "backups" / "a.db"
    damaged.write_bytes(raw[:100] + b"\xff" * 5000)
    code, _out, err = failing("forget", "--match", "operands", "--hard", "--yes")
    assert (code, err.startswith(f"cmem: {damaged} cannot be cleaned (")) == (1, True)
    assert residue.scan(str(copied), ["operands", "return a - b"]) == []


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize(("module", "at"), [(residue, "_purge_copy"), (erase, "_merge_index")])
def test_killed_at_the_copies_the_rows_are_out_of_sight_and_the_next_run_does_the_rest(
    copied: Path, monkeypatch: pytest.MonkeyPatch, module: Any, at: str, *, by_hand: bool
) -> None:
    conn = connection.open_writer(str(copied), now=samples.NOON)
    plan = forget.plan(conn, [("N", 1)])

    def killed(*_args: Any, **_more: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, at, killed)
        with pytest.raises(KeyboardInterrupt):
            residue.purge(str(copied), conn, plan, now=samples.NOON)
    assert support.run_json("search", "operands", "--all-projects")["hits"] == []
    assert forget.plan(conn, [("N", 1)]) == plan
    if by_hand:
        residue.purge(str(copied), conn, plan, now=samples.NOON)
    else:
        compress._maintain(str(copied), conn, now=samples.NOON + 1)
    conn.close()
    # Rows that go later are overwritten in the index at once again.
    settings = "SELECT k, v FROM documents_fts_config WHERE k IN ('secure-delete', 'crisismerge')"
    for path in (paths.memory_db(str(copied)), *copies.paths(str(copied))):
        done = apsw.Connection(path)
        assert dict(done.execute(settings).fetchall()) == {"secure-delete": 1, "crisismerge": 16}
        done.close()
    assert residue.scan(str(copied), ["operands", "return a - b"]) == []


def test_what_was_put_aside_unread_goes_along_and_is_named(two: Any, home: Path) -> None:
    aside = home / "quarantine" / "1.bad"
    aside.parent.mkdir()
    aside.write_bytes(b"x")
    code, out, err = failing("forget", "O1", "--hard", "--yes")
    assert (code, out) == (0, f"Removed for good: 1 observation in first (1, {two[0]}).\n")
    assert err == (
        "cmem: 1 file that was put aside unread went along, for nobody can take a row out of "
        f"them: {aside}\n"
    )
    assert not aside.exists()
    assert two


def test_it_stays_gone_whatever_is_done_afterwards(home: Path) -> None:
    """Hidden, purged, compressed again, indexed again, backed up, its events sent again."""
    session = support.session("session-fix-subtract.jsonl")

    def send() -> None:
        for event, _at, payload in session:
            raw = support.payload_bytes(payload)
            assert support.run_hook(home, event, raw).returncode == 0

    send()
    support.run_json("compress", "--all", "--provider", "extract")
    back_up(home)
    assert residue.scan(str(home), ["subtract"]) != []
    forgotten("N1", "--hard")
    for _ in range(2):
        assert residue.scan(str(home), ["subtract", "operands"]) == []
        conn = connection.open_writer(str(home), now=samples.NOON)
        documents.reindex(conn)
        conn.close()
        back_up(home)
        support.run_json("compress", "--all", "--provider", "extract")
        send()
        support.run_json("compress", "--all", "--provider", "extract")
        assert titles() == []
    assert residue.scan(str(home), ["subtract", "operands"]) == []
    assert paths.memory_db(str(home))


def test_compress_warns_of_a_backup_it_cannot_clean_and_goes_on(
    copied: Path,
) -> None:
    forgotten("P1")
    damaged = copied / "backups" / "a.db"
    damaged.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    conn = connection.open_writer(str(copied), now=samples.NOON)
    (hidden,) = forget.undoable(conn)
    (warning,) = compress._maintain(str(copied), conn, now=hidden.at + UNDO_MS)
    conn.close()
    assert warning.startswith(f"{damaged} cannot be cleaned (")
    assert residue.scan(str(copied), ["operands"]) == []
