from __future__ import annotations

from pathlib import Path

import seeding

from cmem.store import pause


def test_pause_is_kept_until_it_is_cleared(home: Path) -> None:
    conn = seeding.open_store(home)
    assert pause.get(conn) is None
    pause.arm(conn, reason="overload: busy", until=5, step=0, fingerprint="f1")
    pause.arm(conn, reason="overload: still\nbusy", until=9, step=1, fingerprint="f2")
    conn.close()
    again = seeding.open_store(home)
    assert pause.get(again) == pause.Pause("overload: still busy", 9, 1, "f2")
    pause.clear(again)
    pause.clear(again)
    assert pause.get(again) is None


def test_pause_nobody_can_read_is_none(home: Path) -> None:
    conn = seeding.open_store(home)
    for value in ("not json", "[]", '{"reason": "x"}', '{"reason":1,"until":null}'):
        conn.execute("INSERT OR REPLACE INTO meta VALUES('pause', ?)", (value,))
        assert pause.get(conn) is None
