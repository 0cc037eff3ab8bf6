"""The table ``meta``: one value a name, what a store knows of itself and runs leave each other.

Every name is listed here, so that no two subjects take the same one. What is no number or key is
JSON. A session start reads the store's key by itself (``recent.hmac_key``), with nothing imported.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cmem.store.rows import row

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    import apsw

    Name: TypeAlias = Literal[
        "alike",
        "backup_at",
        "batch_notes",
        "budget_pause",
        "dedup_seen",
        "forget_due",
        "forget_hard",
        "forget_released",
        "forget_told",
        "forget_unfinished",
        "hmac_key",
        "last_run",
        "model_names",
        "pause",
        "pruned_at",
        "segmenter_version",
        "sync_clock",
        "sync_last",
        "sync_machine",
        "sync_own",
        "sync_unfinished",
        "trial_calls",
    ]
    Database: TypeAlias = Literal["main", "copy"]


def get(conn: apsw.Connection, name: Name, *, database: Database = "main") -> Any:
    """The value as it is stored; None for none."""
    found = row(conn, f"SELECT value FROM {database}.meta WHERE key = ?", (name,))
    return None if found is None else found[0]


def number(conn: apsw.Connection, name: Name) -> int:
    """A value that is a number; 0 for none."""
    return int(get(conn, name) or 0)


def mapping(conn: apsw.Connection, name: Name) -> dict[str, Any]:
    """A JSON object; {} for none, and for what another version wrote in its place."""
    try:
        found = json.loads(str(get(conn, name) or "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def listed(conn: apsw.Connection, name: Name) -> list[Any]:
    """A JSON array; [] for none."""
    return list(json.loads(str(get(conn, name) or "[]")))


def put(conn: apsw.Connection, name: Name, value: int | bytes) -> None:
    """Keep a number or a key, in the place of what was there."""
    _put(conn, name, value)


def put_json(conn: apsw.Connection, name: Name, value: object) -> None:
    """Keep a value as JSON, in the place of what was there."""
    _put(conn, name, json.dumps(value))


def drop(conn: apsw.Connection, name: Name) -> None:
    """The name has no value; nothing is written where it had none."""
    if get(conn, name) is not None:
        conn.execute("DELETE FROM meta WHERE key = ?", (name,)).fetchall()


def _put(conn: apsw.Connection, name: str, value: int | str | bytes) -> None:
    conn.execute("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)", (name, value)).fetchall()
