from __future__ import annotations

from pathlib import Path

import store_rows

from cmem.store import erase, tombstones


def test_what_is_buried_is_known_here_and_told_to_other_stores(home: Path, tmp_path: Path) -> None:
    conn = store_rows.open_store(home)
    tombstones.bury(conn, "O", "one", now=5)
    tombstones.bury(conn, "N", "two", now=7)
    assert erase.is_forgotten(conn, "O", "one")
    assert not erase.is_forgotten(conn, "P", "one")
    told = list(tombstones.travelling(conn, since=0))
    wanted = [("O", tombstones.portable("O", "one"), 5), ("N", tombstones.portable("N", "two"), 7)]
    assert told == sorted(wanted, key=lambda one: one[1])
    assert [kind for kind, _, _ in tombstones.travelling(conn, since=6)] == ["N"]
    (tmp_path / "other").mkdir(mode=0o700)
    other = store_rows.open_store(tmp_path / "other")
    for kind, digest, at in told:
        assert not tombstones.is_known(other, digest)
        tombstones.accept(other, kind, digest, at)
    assert erase.is_forgotten(other, "O", "one")
    assert list(tombstones.travelling(other, since=0)) == told


def test_what_is_named_by_numbers_of_this_store_does_not_travel(home: Path) -> None:
    conn = store_rows.open_store(home)
    tombstones.bury(conn, "text", "1|abc", now=5)
    assert erase.is_forgotten(conn, "text", "1|abc")
    assert list(tombstones.travelling(conn, since=0)) == []


def test_no_identity_stands_in_a_tombstone(home: Path) -> None:
    conn = store_rows.open_store(home)
    tombstones.bury(conn, "P", "an identity", now=5)
    stored = conn.execute("SELECT mac, kind FROM tombstones").fetchall()
    assert [len(mac) for mac, _ in stored] == [32, 32]
    assert all(b"identity" not in mac for mac, _ in stored)


def test_rows_that_a_tombstone_stands_for_are_found(home: Path) -> None:
    conn = store_rows.open_store(home)
    turn = store_rows.turn(conn, store_rows.session(conn, store_rows.project(conn)))
    for title in ("one", "two", "three"):
        store_rows.observation(conn, turn, title)
    wanted = frozenset((tombstones.portable("O", "observation-2"), b"unknown"))
    assert tombstones.matching(conn, "O", "observations", wanted) == [("O", 2)]
