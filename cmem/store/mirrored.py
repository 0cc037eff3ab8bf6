"""What another machine has decided, made so in this store.

Rows are named by what is the same everywhere. Nothing here asks who is right: the caller has
held the revisions against each other.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import apsw

from cmem.errors import BusyError
from cmem.store import (
    codec,
    documents,
    drafts,
    erase,
    forget,
    load,
    observation_files,
    pairs,
    tombstones,
)
from cmem.store.connection import transaction
from cmem.store.portable import OBSERVATION, SESSION, TOOL_USE, TURN
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cmem.store.fields import Row
    from cmem.store.load import Loader

# How long before a sync a turn counts as hidden that was forgotten elsewhere.
TURN_AGO_MS = 10_000
# What decides that two rows of other uids are the same one.
_ALIKE = {
    "P": ("native_prompt_id", "native_prompt_hash"),
    "T": ("tool_use_id",),
    "O": ("content_hash",),
}
# Columns of an observation that marks decide about, and the identity of every row.
_KEPT = frozenset(
    ("uid", "pinned", "occurrence_count", "last_reinforced", "reinforcement_dates")
    + ("host", "content_session_id", "number", "sync_rev", "origin_device_id", "origin_local_id")
)
_LOST_A_PROMPT = """SELECT 1 FROM user_prompts WHERE session_id = ? AND hidden_at IS NOT NULL"""
_TOLD_OF = """SELECT EXISTS(SELECT 1 FROM turns WHERE id = ?1 AND hidden_at IS NULL)
    OR EXISTS(SELECT 1 FROM user_prompts WHERE turn_id = ?1 AND hidden_at IS NULL)
    OR EXISTS(SELECT 1 FROM tool_uses WHERE turn_id = ?1 AND hidden_at IS NULL)
    OR EXISTS(SELECT 1 FROM observations WHERE turn_id = ?1 AND hidden_at IS NULL)"""


# --- rows ----------------------------------------------------------------------------------


def is_there(conn: apsw.Connection, given: Row) -> bool:
    """Whether the row is in the store, hidden or not."""
    return _find(conn, given) is not None


def put(conn: apsw.Connection, loader: Loader, given: Row, *, back: bool, now: int) -> bool | None:
    """Let the row say what ``given`` says, or be there; whether words of before were taken out
    for it, None where it is refused because it was forgotten with its session. ``back``: it was
    forgotten and is wanted again. Unfit like ``Loader.put``."""
    letter = _letter(given)
    if back and letter:
        tombstones.take_back(conn, letter, str(given.columns["uid"]))
        tombstones.take_back(conn, "N", given.session)
        loader = load.Loader(conn)  # the one at work remembers what it was not to take
    ref = _find(conn, given)
    if ref is None:
        done = loader.put(given)
        if done == load.FORGOTTEN:
            return None
        if done == load.KNOWN and letter in _ALIKE:
            ref = _take_name(conn, given)
    return ref is not None and update(conn, given, ref, now=now)


def update(conn: apsw.Connection, given: Row, ref: int, *, now: int) -> bool:
    """Let the row, which is there, say what is given; False when it does so already."""
    table = _table(given)
    columns = {name: one for name, one in given.columns.items() if name not in _KEPT}
    if given.type == SESSION and not columns.get("title") and rows(conn, _LOST_A_PROMPT, (ref,)):
        columns.pop("title", None)  # it is not told as long as it can still be brought back
    if given.type == TURN.type:
        columns = _of_turn(conn, given, ref, columns, now=now)
    if given.type == TOOL_USE.type:
        columns = {
            n: one for n, one in columns.items() if n not in TOOL_USE.packed or one is not None
        }
    before = _texts(conn, table, ref, list(columns))
    changed = {name: one for name, one in columns.items() if before[name] != one}
    if not changed:
        return False
    with transaction(conn):
        erase.begin(conn)
        _write(conn, given, ref, changed, before=before, now=now)
    return True


def _of_turn(
    conn: apsw.Connection, given: Row, ref: int, columns: dict[str, Any], *, now: int
) -> dict[str, Any]:
    """What of a turn is to be said: its words only while something in it is to be seen, whoever
    wanted it back."""
    if given.forgotten:
        # A moment of its own: to undo something else does not show it.
        forget.hide(conn, forget.Plan(turns=(ref,)), now=now - TURN_AGO_MS)
    elif _is_told_of(conn, ref):
        return {**columns, "hidden_at": None}
    return {
        name: one for name, one in columns.items() if name not in ("assistant_message", "error")
    }


def is_hidden(conn: apsw.Connection, given: Row) -> bool:
    """Whether a turn lies hidden: what it says depends on whether a row of it is to be seen."""
    ref = _find(conn, given) if given.type == TURN.type else None
    query = "SELECT 1 FROM turns WHERE id = ? AND hidden_at IS NOT NULL"
    return ref is not None and row(conn, query, (ref,)) is not None


def _is_told_of(conn: apsw.Connection, turn: int) -> bool:
    return bool(rows(conn, _TOLD_OF, (turn,))[0][0])


def update_copy(conn: apsw.Connection, given: Row, *, now: int) -> None:
    """The same in a copy of the store, where the row is in it."""
    ref = _find(conn, given)
    if ref is not None:
        update(conn, given, ref, now=now)


def _write(
    conn: apsw.Connection,
    given: Row,
    ref: int,
    changed: dict[str, Any],
    *,
    before: Mapping[str, Any],
    now: int,
) -> None:
    letter, table = _letter(given), _table(given)
    if given.type == OBSERVATION.type:
        changed |= _own_hash(conn, given, ref)
        (session,) = rows(conn, "SELECT session_id FROM observations WHERE id = ?", (ref,))[0]
        if {"title", "narrative"} & changed.keys():
            erase.bury_text(conn, int(session), str(before["content_hash"]), now=now)
    packed = {
        n: codec.pack(str(v)) if n in TOOL_USE.packed and v is not None else v
        for n, v in changed.items()
    }
    marks = ", ".join(f"{name} = ?" for name in packed)

    def change() -> None:
        conn.execute(f"UPDATE {table} SET {marks} WHERE id = ?", (*packed.values(), ref)).fetchall()
        if given.type == OBSERVATION.type:
            observation_files.put_stored(conn, ref, given.columns)

    if letter in ("O", "S", "P", "T"):
        documents.refresh(conn, letter, ref, change)
    else:
        change()


def _own_hash(conn: apsw.Connection, given: Row, ref: int) -> dict[str, str]:
    """An observation's hash; with its uid in it where another one of the session says the same."""
    known = str(given.columns["content_hash"])
    query = """SELECT 1 FROM observations WHERE content_hash = ?1 AND id <> ?2
        AND session_id = (SELECT session_id FROM observations WHERE id = ?2)"""
    if row(conn, query, (known, ref)) is None:
        return {}
    title, narrative = str(given.columns["title"]), str(given.columns["narrative"])
    return {"content_hash": drafts.content_hash(str(given.columns["uid"]), title, narrative)}


def _take_name(conn: apsw.Connection, given: Row) -> int | None:
    """Two machines have made the same row: the smaller uid is its name on both. The row, where
    that is the given one's; None where it keeps its own."""
    columns = _ALIKE[_letter(given)]
    same = " AND ".join(f"{name} = ?" for name in columns)
    query = f"""SELECT id, uid FROM {_table(given)} WHERE {same}
        AND session_id = (SELECT id FROM sessions WHERE uid = ?)"""
    values = [given.columns.get(name, "") for name in columns]
    found, uid = row(conn, query, (*values, given.session)), str(given.columns["uid"])
    if found is None or str(found[1]) <= uid:
        return None
    conn.execute(f"UPDATE {_table(given)} SET uid = ? WHERE id = ?", (uid, found[0])).fetchall()
    if given.type == OBSERVATION.type:
        pairs.rename(conn, str(found[1]), uid)
    query = f"""UPDATE {_table(given)} SET turn_id = t.id FROM turns t
        WHERE {_table(given)}.id = ? AND t.session_id = {_table(given)}.session_id AND t.number = ?"""
    conn.execute(query, (found[0], given.turn)).fetchall()
    return int(found[0])


def _find(conn: apsw.Connection, given: Row) -> int | None:
    if given.type == TURN.type:
        query = """SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id
            WHERE s.uid = ? AND t.number = ?"""
        found = row(conn, query, (given.session, given.columns["number"]))
    else:
        query = f"SELECT id FROM {_table(given)} WHERE uid = ?"
        found = row(conn, query, (given.columns["uid"],))
    return None if found is None else int(found[0])


def _texts(conn: apsw.Connection, table: str, ref: int, names: Sequence[str]) -> dict[str, Any]:
    (found,) = rows(conn, f"SELECT {', '.join(names)} FROM {table} WHERE id = ?", (ref,))
    made = dict(zip(names, found, strict=True))
    for name in TOOL_USE.packed:
        if made.get(name) is not None:
            made[name] = codec.unpack(made[name])
    return made


def _letter(given: Row) -> str:
    return given.kind.letter if given.kind else ""


def _table(given: Row) -> str:
    return given.kind.table if given.kind else "sessions"


# --- what is decided of an observation -----------------------------------------------------


def set_columns(conn: apsw.Connection, uid: str, columns: Mapping[str, int | str]) -> None:
    """Set marks of an observation, where it is here."""
    marks = ", ".join(f"{name} = ?" for name in columns)
    query = f"UPDATE observations SET {marks} WHERE uid = ?"
    conn.execute(query, (*columns.values(), uid)).fetchall()


def superseded(conn: apsw.Connection) -> dict[str, str]:
    """Which observation stands for which; one that is gone is told as the row itself."""
    query = """SELECT o.uid, b.uid FROM observations o JOIN observations b ON b.id = o.superseded_by
        WHERE o.superseded_by IS NOT NULL"""
    return {str(uid): str(by) for uid, by in rows(conn, query)}


def supersede(conn: apsw.Connection, uid: str, by: str | None) -> None:
    """Let one stand for the other, itself where the other is not here; None: for itself again."""
    target = "NULL" if by is None else "coalesce((SELECT id FROM observations WHERE uid = ?2), id)"
    query = f"UPDATE observations SET superseded_by = {target} WHERE uid = ?1"
    conn.execute(query, (uid,) if by is None else (uid, by)).fetchall()


def has_observation(conn: apsw.Connection, uid: str) -> bool:
    return row(conn, "SELECT 1 FROM observations WHERE uid = ?", (uid,)) is not None


# --- sessions ---------------------------------------------------------------------------


def finish(conn: apsw.Connection) -> None:
    """Clean the file of words that went; a later run does so where a reader is in the way now."""
    with suppress(BusyError):
        erase.finish(conn)


def open_turns(conn: apsw.Connection, session: int) -> frozenset[int]:
    """The numbers of the session's turns that still go on."""
    query = "SELECT number FROM turns WHERE session_id = ? AND closed_at IS NULL"
    return frozenset(int(number) for (number,) in rows(conn, query, (session,)))


def unshown_sessions(conn: apsw.Connection, shown: Sequence[int]) -> list[int]:
    """Sessions that machines have told of and of which nothing is to be seen any more."""
    query = """SELECT s.id FROM sessions s JOIN sync_registers r ON r.type = 'session'
        AND r.key = s.uid AND r.name = ''
        WHERE s.id NOT IN (SELECT value FROM json_each(?)) ORDER BY s.id"""
    return [int(ref) for (ref,) in rows(conn, query, (json.dumps(shown),))]


def shown_sessions(conn: apsw.Connection, refs: Sequence[int]) -> list[str]:
    """The uids of these sessions."""
    query = "SELECT uid FROM sessions WHERE id IN (SELECT value FROM json_each(?))"
    return [str(uid) for (uid,) in rows(conn, query, (json.dumps(refs),))]
