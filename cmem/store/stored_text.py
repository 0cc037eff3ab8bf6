"""Every text in the store, to be read again by rules that may be newer than the rows.

Reading needs no lock. ``rewrite`` takes what the caller has made of a row's texts and puts it
in their place, index included; what the old text leaves in the file goes by ``erase.finish``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import apsw

from cmem.store import codec, documents, drafts, erase, observation_files, titles
from cmem.store.connection import transaction
from cmem.store.rows import row, rows

_SLICE = 100

# kind → table, plain columns, columns that hold JSON (packed or not).
# "turn" is a turn's last message, "run" and "unit" hold messages of errors.
_TABLES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "P": ("user_prompts", ("prompt_text",), ()),
    "T": ("tool_uses", (), ("tool_input", "tool_response")),
    "turn": ("turns", ("assistant_message", "error"), ()),
    "O": (
        "observations",
        ("title", "subtitle", "narrative"),
        ("facts", "concepts", "files_read", "files_modified", "metadata"),
    ),
    "S": (
        "session_summaries",
        ("request", "investigated", "learned", "completed", "next_steps", "notes"),
        ("files_read", "files_edited", "metadata"),
    ),
    "N": ("sessions", ("title",), ()),
    "W": ("work_state_entries", ("text",), ()),
    "unit": ("work_units", ("error",), ()),
    "run": ("observer_runs", ("error",), ()),
}
# Texts that are no memory by themselves and that nobody rewrites: where, who, under what name.
_LABELS: dict[str, tuple[str, ...]] = {
    "P": ("cwd",),
    "T": ("tool_name", "tool_use_id", "agent_id", "agent_type", "branch", "commit_sha", "cwd"),
    "turn": ("branch", "commit_sha"),
    "O": ("type", "agent_id", "agent_type", "branch", "commit_sha", "generated_by_model"),
    "S": ("branch", "generated_by_model"),
    "N": ("content_session_id", "cwd", "model"),
    "W": ("branch",),
    "unit": ("reason",),
    "run": ("provider", "model"),
}
INDEXED = ("O", "S", "P", "T")


class Stored(NamedTuple):
    """One row's texts by column. ``session``: the row's session. ``documents``: the columns
    whose text is JSON."""

    kind: str
    ref: int
    session: int
    texts: Mapping[str, str]
    documents: frozenset[str]


def columns(kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of a kind that hold text: plain ones, and those that hold JSON."""
    return _TABLES[kind][1:]


def count(conn: apsw.Connection) -> int:
    """How many rows there are to read."""
    return sum(
        int(rows(conn, f"SELECT count(*) FROM {table}")[0][0]) for _, (table, _, _) in _there(conn)
    )


def every(conn: apsw.Connection, *, labels: bool = False) -> Iterator[Stored]:
    """All rows of all kinds, hidden ones too, a slice at a time: no snapshot is held open.
    ``labels``: with the texts that nobody rewrites."""
    for kind, (table, words, packed) in _there(conn):
        plain = words + (_LABELS[kind] if labels else ())
        session = "id" if kind == "N" else "session_id"
        columns = ", ".join(["id", session, *plain, *packed])
        last = 0
        while True:
            query = f"SELECT {columns} FROM {table} WHERE id > ? ORDER BY id LIMIT {_SLICE}"
            found = rows(conn, query, (last,))
            if not found:
                break
            for ref, owner, *values in found:
                texts = dict(zip((*plain, *packed), map(codec.unpack, values), strict=True))
                yield Stored(kind, int(ref), int(owner), texts, frozenset(packed))
            last = int(found[-1][0])


def of(conn: apsw.Connection, kind: str, refs: Sequence[int]) -> Iterator[Stored]:
    """The rows of one kind that have these numbers, a slice at a time."""
    table, plain, packed = _TABLES[kind]
    columns = ", ".join(["id", "session_id", *plain, *packed])
    for start in range(0, len(refs), _SLICE):
        query = f"SELECT {columns} FROM {table} WHERE id IN (SELECT value FROM json_each(?))"
        part = json.dumps(refs[start : start + _SLICE])
        for ref, owner, *values in rows(conn, query, (part,)):
            texts = dict(zip((*plain, *packed), map(codec.unpack, values), strict=True))
            yield Stored(kind, int(ref), int(owner), texts, frozenset(packed))


def _there(
    conn: apsw.Connection,
) -> list[tuple[str, tuple[str, tuple[str, ...], tuple[str, ...]]]]:
    """The tables that this store has: a reader may meet one of an older schema."""
    known = {str(name) for (name,) in rows(conn, "SELECT name FROM sqlite_schema")}
    return [(kind, table) for kind, table in _TABLES.items() if table[0] in known]


def rewrite(conn: apsw.Connection, stored: Stored, texts: Mapping[str, str]) -> bool:
    """Put ``texts`` (column → text) into the row, if it still is as it was read; the index
    follows. Afterwards the file is to be cleaned: ``erase.finish``."""
    table = _TABLES[stored.kind][0]
    with transaction(conn):
        if not _unchanged(conn, stored, texts):
            return False
        erase.begin(conn)
        change = _change(conn, table, stored, texts)
        if stored.kind in INDEXED:
            documents.refresh(conn, stored.kind, stored.ref, change)
        else:
            change()
    return True


def _unchanged(conn: apsw.Connection, stored: Stored, texts: Mapping[str, str]) -> bool:
    names = list(texts)
    query = f"SELECT {', '.join(names)} FROM {_TABLES[stored.kind][0]} WHERE id = ?"
    found = row(conn, query, (stored.ref,))
    return found is not None and all(
        codec.unpack(value) == stored.texts[name] for name, value in zip(names, found, strict=True)
    )


def _change(
    conn: apsw.Connection, table: str, stored: Stored, texts: Mapping[str, str]
) -> Callable[[], None]:
    packs = stored.kind == "T"
    columns: dict[str, str | bytes] = {
        name: codec.pack(text) if packs else text for name, text in texts.items()
    }
    if stored.kind == "O":
        columns |= _identity(conn, stored, texts)

    def change() -> None:
        marks = ", ".join(f"{name} = ?" for name in columns)
        conn.execute(
            f"UPDATE {table} SET {marks} WHERE id = ?", (*columns.values(), stored.ref)
        ).fetchall()
        if stored.kind == "O" and {"files_read", "files_modified"} & set(texts):
            observation_files.put_stored(conn, stored.ref, {**stored.texts, **texts})

    return change


def _identity(
    conn: apsw.Connection, stored: Stored, texts: Mapping[str, str]
) -> dict[str, str | bytes]:
    """What an observation is known by, made of its new text: a hash of the old one would let
    a short secret be guessed. Where that is another one's, its own identity is added."""
    now = {**stored.texts, **texts}
    query = """SELECT s.uid, o.uid FROM observations o JOIN sessions s ON s.id = o.session_id
        WHERE o.id = ?"""
    ((session_uid, uid),) = rows(conn, query, (stored.ref,))
    known = drafts.content_hash(session_uid, now["title"], now["narrative"])
    query = "SELECT 1 FROM observations WHERE session_id = ? AND content_hash = ? AND id <> ?"
    if row(conn, query, (stored.session, known, stored.ref)) is not None:
        known = drafts.content_hash(uid, now["title"], now["narrative"])
    return {"content_hash": known, "title_norm_key": titles.norm_key(now["title"])}
