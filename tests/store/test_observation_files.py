"""The rows by which an observation is found by its files."""

from __future__ import annotations

from pathlib import Path

import seeding

from cmem.store import observation_files
from cmem.store.rows import rows


def test_the_rows_are_those_of_the_columns(home: Path) -> None:
    conn = seeding.open_store(home)
    conn.execute("PRAGMA foreign_keys = 0")
    query = "SELECT path, role FROM observation_files WHERE observation_id = 1 ORDER BY path, role"
    observation_files.add(conn, 1, read=["a.py"], modified=["a.py", "b.py"])
    observation_files.add(conn, 2, read=["a.py"])
    assert rows(conn, query) == [("a.py", "modified"), ("a.py", "read"), ("b.py", "modified")]
    observation_files.add_stored(conn, 1, {"files_read": '["c", 3]', "files_modified": "{}"})
    assert [path for path, _role in rows(conn, query)] == ["a.py", "a.py", "b.py", "c"]
    observation_files.put_stored(conn, 1, {"files_read": "[]", "files_modified": '["d", "d"]'})
    assert rows(conn, query) == [("d", "modified")]
    assert rows(conn, query.replace("= 1", "= 2")) == [("a.py", "read")]
