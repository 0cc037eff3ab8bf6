"""The table of single values: what comes back is what was put, and none is told from nothing."""

from __future__ import annotations

from pathlib import Path

import seeding

from cmem.store import meta


def test_values_are_kept_until_they_are_dropped(home: Path) -> None:
    conn = seeding.open_store(home)
    none = (None, 0, {}, [])
    kinds = (meta.get, meta.number, meta.mapping, meta.listed)
    assert tuple(kind(conn, "last_run") for kind in kinds) == none
    meta.put(conn, "pruned_at", 7)
    meta.put_json(conn, "last_run", {"at": 1})
    meta.put_json(conn, "trial_calls", [1, [2]])
    conn.close()
    again = seeding.open_store(home)
    assert meta.number(again, "pruned_at") == 7
    assert meta.mapping(again, "last_run") == {"at": 1}
    assert meta.listed(again, "trial_calls") == [1, [2]]
    meta.put(again, "pruned_at", 8)
    assert meta.get(again, "pruned_at") == 8
    for name in ("pruned_at", "last_run", "trial_calls"):
        meta.drop(again, name)
    before = again.total_changes()
    meta.drop(again, "pruned_at")
    assert again.total_changes() == before
    assert tuple(kind(again, "pruned_at") for kind in kinds) == none


def test_an_object_nobody_can_read_is_none(home: Path) -> None:
    conn = seeding.open_store(home)
    for written in ("not json", "[]", "3"):
        conn.execute("INSERT OR REPLACE INTO meta VALUES('pause', ?)", (written,))
        assert meta.mapping(conn, "pause") == {}
