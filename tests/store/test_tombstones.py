from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import store_rows

from cmem.store import erase, tombstones
from cmem.store.tombstones import Tombstone


def test_what_is_buried_is_known_here_and_told_to_other_stores(home: Path, tmp_path: Path) -> None:
    conn = store_rows.open_store(home)
    tombstones.bury(conn, "O", "one", now=5)
    tombstones.bury(conn, "N", "two", now=7)
    assert erase.is_forgotten(conn, "O", "one")
    assert not erase.is_forgotten(conn, "P", "one")
    told = list(tombstones.travelling(conn, since=0))
    wanted = [
        Tombstone("O", tombstones.portable("O", "one"), 5),
        Tombstone("N", tombstones.portable("N", "two"), 7),
    ]
    assert told == sorted(wanted, key=lambda one: one.digest)
    assert [one.kind for one in tombstones.travelling(conn, since=6)] == ["N"]
    (tmp_path / "other").mkdir(mode=0o700)
    other = store_rows.open_store(tmp_path / "other")
    for one in told:
        assert not tombstones.is_known(other, one)
        tombstones.accept(other, one)
        assert tombstones.is_known(other, one)
    assert erase.is_forgotten(other, "O", "one")
    assert list(tombstones.travelling(other, since=0)) == told


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_stores_agree_on_the_last_decision_whatever_order_they_hear_of_it(
    home: Path, order: tuple[int, ...]
) -> None:
    """The later one counts, and of two of one moment the one that brings back."""
    conn = store_rows.open_store(home)
    digest = tombstones.portable("O", "one")
    decisions = [
        Tombstone("O", digest, 5),
        Tombstone("O", digest, 5, undone=True),
        Tombstone("O", digest, 9),
        Tombstone("O", digest, 9, undone=True),
    ]
    for number in order:
        tombstones.accept(conn, decisions[number])
    assert list(tombstones.travelling(conn, since=0)) == [decisions[3]]
    assert not tombstones.is_forgotten(conn, "O", "one")
    assert tombstones.is_taken_back(conn, "O", "one")
    assert all(tombstones.is_known(conn, one) for one in decisions)


def test_what_was_brought_back_can_be_forgotten_again_by_a_clock_that_is_behind(
    home: Path,
) -> None:
    conn = store_rows.open_store(home)
    tombstones.bury(conn, "O", "one", now=50)
    tombstones.take_back(conn, "O", "one")
    assert not tombstones.is_forgotten(conn, "O", "one")
    tombstones.bury(conn, "O", "one", now=20)
    assert tombstones.forgotten_until(conn, "O", "one") == 51


def test_forgetting_again_moves_a_session_on_and_leaves_a_row_where_it_was(home: Path) -> None:
    conn = store_rows.open_store(home)
    for kind in ("N", "P"):
        tombstones.bury(conn, kind, "one", now=5)
        tombstones.bury(conn, kind, "one", now=8)
    assert tombstones.forgotten_until(conn, "N", "one") == 8
    assert tombstones.forgotten_until(conn, "P", "one") == 5


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
    assert tombstones.matching(conn, "O", "observations", wanted) == {
        2: tombstones.portable("O", "observation-2")
    }
