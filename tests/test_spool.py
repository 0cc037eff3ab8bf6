"""The mailbox from both ends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import apsw
import pytest

from cmem import spill, spool, spooled
from cmem.model import Repo


def put(home: Path, eid: str, **changes: Any) -> bool:
    values: dict[str, Any] = {
        "host": "claude-code",
        "event": "Stop",
        "session": "s",
        "captured_at": 1000,
        "cwd": "/w",
        "repo": ("/w", "/w/.git", "main", "c" * 40),
        "project_env": "",
        "digest": "",
        "window": False,
        "payload": b"{}",
    }
    return spool.append(str(home), eid=eid, **{**values, **changes})


def drain(home: Path) -> apsw.Connection:
    conn = spooled.open_drain(str(home))
    assert conn is not None
    return conn


def test_round_trip_in_order(home: Path) -> None:
    assert spooled.open_drain(str(home)) is None
    assert put(home, "b", payload=b"\x00\xff")
    assert put(home, "a")
    conn = drain(home)
    first, second = spooled.read_batch(conn, after_id=0, limit=10, max_bytes=10**6)
    assert (first.eid, first.payload, second.eid) == ("b", b"\x00\xff", "a")
    assert second.repo == Repo("/w", "/w/.git", "main", "c" * 40)
    assert spooled.read_batch(conn, after_id=first.id, limit=10, max_bytes=10**6) == [second]
    spooled.delete(conn, [first.id])
    spooled.finish(conn)
    assert spooled.counts(str(home)) == (1, 0, 0)
    # The log is begun anew, with one page that holds no event, so that no hook has to sync.
    assert (home / "spool.db-wal").stat().st_size == 32 + 24 + 4096
    assert first.payload not in (home / "spool.db-wal").read_bytes()


def test_equal_name_is_stored_once(home: Path) -> None:
    assert [put(home, "a"), put(home, "a", payload=b"other")] == [True, False]
    conn = drain(home)
    (entry,) = spooled.read_batch(conn, after_id=0, limit=10, max_bytes=10**6)
    assert entry.payload == b"{}"
    conn.close()


def test_window_is_ten_seconds_in_both_directions(home: Path) -> None:
    times = (100_000, 110_000, 90_000, 110_001, 89_999)
    stored = [put(home, f"d~{at}", digest="d", window=True, captured_at=at) for at in times]
    assert stored == [True, False, False, True, True]
    assert put(home, "e~100000", digest="e", window=True, captured_at=100_000)


def test_batches_are_bounded_but_never_empty(home: Path) -> None:
    for n in range(5):
        put(home, str(n), payload=b"x" * 100)
    conn = drain(home)

    def sizes(limit: int, max_bytes: int) -> int:
        return len(spooled.read_batch(conn, after_id=0, limit=limit, max_bytes=max_bytes))

    assert [sizes(3, 10**6), sizes(9, 250), sizes(9, 1), sizes(9, 10**6)] == [3, 2, 1, 5]
    conn.close()


def test_row_numbers_are_never_used_twice(home: Path) -> None:
    put(home, "a")
    conn = drain(home)
    (entry,) = spooled.read_batch(conn, after_id=0, limit=1, max_bytes=1)
    spooled.delete(conn, [entry.id])
    put(home, "b")
    (later,) = spooled.read_batch(conn, after_id=entry.id, limit=1, max_bytes=1)
    assert later.id > entry.id
    spooled.finish(conn)


def test_deleted_payload_leaves_no_byte(home: Path) -> None:
    put(home, "a", payload=b"unrepeatable" * 1000)
    conn = drain(home)
    spooled.delete(conn, [1])
    spooled.finish(conn)
    assert b"unrepeatable" not in b"".join(path.read_bytes() for path in home.iterdir())


def test_files_are_private_without_help_of_the_umask(home: Path) -> None:
    before = os.umask(0)
    try:
        put(home, "a")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in home.iterdir()} == {0o600}


def test_pragma_that_does_not_hold_is_an_error(home: Path) -> None:
    put(home, "a")
    conn = drain(home)
    with pytest.raises(apsw.SQLError, match="secure_delete is 1, not 7"):
        spool._set(conn, "secure_delete", "ON", 7)
    conn.close()


def test_busy_spool_raises_and_stores_nothing(home: Path) -> None:
    put(home, "a")
    holder = drain(home)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(apsw.BusyError):
        put(home, "b")
    holder.execute("ROLLBACK")
    holder.close()
    assert spooled.counts(str(home)) == (1, 0, 0)


@pytest.mark.parametrize("content", [b"", b"not a database at all, not at all"])
def test_counts_of_odd_files(home: Path, content: bytes) -> None:
    (home / "spool.db").write_bytes(content)
    if content:
        with pytest.raises(apsw.NotADBError):
            spooled.counts(str(home))
    else:
        assert spooled.counts(str(home)) == (0, 0, 0)


def test_fields_by_sql() -> None:
    paths = ("$.a", "$.b")
    assert spool.fields('{"a":"x","b":2}', paths) == ("x", "")
    assert spool.fields('{"a":null}', paths) == ("", "")
    for text in ("[]", "x", "", '{"a":NaN}', '{"a":1}{}', '{"a":"\\ud800"}'):
        assert spool.fields(text, paths) is None, text


# --- spill ---------------------------------------------------------------------------


def test_spill_round_trip_and_rubbish_set_aside(home: Path) -> None:
    assert spill.read(str(home), spill.waiting(str(home))) == []
    payload = b'{"session_id":"s","tool_use_id":"t"}'
    for at in (2000, 1000):
        spill.write(
            str(home), host="claude-code", event="PostToolUse", captured_at=at, payload=payload
        )
    folder = home / "spill"
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    (folder / "0.event").write_bytes(b"nonsense\n{}")
    (folder / "1.event").write_bytes(b"")
    (folder / "2.event").write_bytes(b"cmem-spill 1 no-such-host Stop 5\n{}")
    (folder / "3.event").symlink_to("/etc/passwd")
    (folder / "x.tmp").write_bytes(b"half")
    found = spill.read(str(home), spill.waiting(str(home)))
    assert [(entry.id, entry.eid, entry.captured_at, entry.payload) for _, entry in found] == [
        (0, "claude-code:s:t:t", 1000, payload),
        (0, "claude-code:s:t:t", 2000, payload),
    ]
    assert len(spill.read(str(home), spill.waiting(str(home))[:1])) == 1
    assert spooled.counts(str(home)) == (0, 2, 4)
    spill.remove([path for path, _ in found])
    spill.remove([path for path, _ in found])
    assert spooled.counts(str(home)) == (0, 0, 4)
    assert (folder / "x.tmp").exists()


def test_unfinished_file_of_a_killed_hook_goes_after_an_hour(home: Path) -> None:
    (home / "spill").mkdir()
    stale = home / "spill" / "x.tmp"
    stale.write_bytes(b"half")
    os.utime(stale, (1, 1))
    assert spill.read(str(home), spill.waiting(str(home))) == []
    assert not stale.exists()


def test_failed_spill_leaves_nothing(home: Path) -> None:
    (home / "spill").write_bytes(b"")
    with pytest.raises(OSError, match="spill"):
        spill.write(str(home), host="h", event="E", captured_at=1, payload=b"x")
    assert (home / "spill").read_bytes() == b""


def test_a_spool_that_is_a_link_is_not_followed(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.db").touch()
    (home / "spool.db").symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(apsw.CantOpenError):
        spooled.open_drain(str(home))
    assert (tmp_path / "elsewhere.db").read_bytes() == b""
