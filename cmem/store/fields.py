"""A record as a row that fits its table: every field of the right kind, or Unfit.

Checked once, here, because a file may come from anywhere. What the table does not know is left
out: a later version has more to tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cmem.store import pairs, scratch
from cmem.store.portable import (
    BY_TYPE,
    LOCAL,
    OBSERVATION,
    PROJECT,
    SESSION,
    TURN,
    TYPES,
    WORK,
    Kind,
    Record,
)
from cmem.store.rows import rows

if TYPE_CHECKING:
    import apsw

    from cmem.store.pairs import Pair

DAY_MS = 86_400_000
_HASH = re.compile("[0-9a-f]{64}")
_TOMB_KINDS = frozenset("NPTOSW")
_TIMES = ("_at", "last_reinforced")


class Unfit(ValueError):  # noqa: N818 - it is a verdict on a record
    """The record cannot be taken; the text says why."""


class Column(NamedTuple):
    """``whole``: it holds integers. ``needed``: it has neither a default nor NULL."""

    whole: bool
    nullable: bool
    needed: bool


Shapes = Mapping[str, Mapping[str, Column]]


class Row(NamedTuple):
    """A row of a table, its columns as they are stored but for packing; the rest names others.
    ``kind`` is None for a session."""

    type: str
    kind: Kind | None
    columns: dict[str, Any]
    session: str = ""
    turn: int = 0
    project: str = ""
    superseded_by: str = ""
    sources: tuple[tuple[str, str], ...] = ()
    pairs: tuple[Pair, ...] = ()
    item: str = ""
    forgotten: bool = False


def shapes(conn: apsw.Connection) -> Shapes:
    """The columns of every table that records go to; as the newest schema has them where the
    file is older and is only looked at."""
    found = _shapes(conn)
    return found if all(found.values()) else _shapes(scratch.empty(now=0))


def _shapes(conn: apsw.Connection) -> Shapes:
    tables = ["sessions", *(kind.table for kind in BY_TYPE.values())]
    query = 'SELECT name, type, "notnull", dflt_value FROM pragma_table_info(?)'
    return {
        table: {
            str(name): Column(
                whole=kind == "INTEGER",
                nullable=not notnull,
                needed=bool(notnull) and default is None,
            )
            for name, kind, notnull, default in rows(conn, query, (table,))
            if name not in LOCAL
        }
        for table in tables
    }


def read(record: object, known: Shapes, *, now: int, late: int = 0) -> Row | Record:
    """A session or what is in one as a row; a project or a tombstone checked. A time of more
    than a day ahead is brought back to that, so that it does not stay the newest for ever; one of
    a session that is ``late`` by so much as a whole by that, so that their order stays."""
    if not isinstance(record, dict):
        raise Unfit("no object")
    name = record.get("record")
    if not isinstance(name, str) or name not in TYPES:
        raise Unfit(f"unknown record {str(name)[:40]!r}")
    if name == PROJECT:
        return _project(record)
    kind = BY_TYPE.get(name)
    if kind is None and name != SESSION:
        return _tombstone(record)
    table = kind.table if kind else "sessions"
    columns = {
        column: _value(record, column, shape, kind=kind, latest=now + DAY_MS, late=late)
        for column, shape in known[table].items()
        if column in record or shape.needed
    }
    return Row(
        type=name,
        kind=kind,
        columns=columns,
        session=_text(record, "session") if kind else "",
        turn=_whole(record, "turn") if kind not in (None, TURN, WORK) else 0,
        project=_text(record, "project", needed=not kind),
        superseded_by=_text(record, "superseded_by", needed=False),
        sources=_sources(record) if kind is OBSERVATION else (),
        pairs=_pairs(record) if kind is OBSERVATION else (),
        item=_text(record, "item", needed=kind is WORK),
        forgotten=record.get("forgotten") is True,
    )


def _value(
    record: Record, name: str, shape: Column, *, kind: Kind | None, latest: int, late: int
) -> int | str | None:
    if kind and name in kind.arrays:
        wanted = dict if name == "metadata" else list
        found = record.get(name)
        if not isinstance(found, wanted):
            raise Unfit(f"{name} is no {'object' if wanted is dict else 'list'}")
        return _clean(json.dumps(found, ensure_ascii=False))
    if shape.nullable and record.get(name) is None:
        return None
    if not shape.whole:
        return _text(record, name)
    number = _whole(record, name)
    if not name.endswith(_TIMES) or number <= latest:
        return number
    return min(max(number - late, latest - DAY_MS), latest) if late else latest


def lateness(record: object, *, now: int) -> int:
    """By how much a session's newest time is more than a day ahead; 0 for one that is not."""
    found = record.get("last_event_at") if isinstance(record, dict) else None
    if not isinstance(found, int) or isinstance(found, bool):
        return 0
    return max(0, found - now - DAY_MS)


def _text(record: Record, name: str, *, needed: bool = True) -> str:
    found = record.get(name)
    if isinstance(found, str):
        return _clean(found)
    if found is None and not needed:
        return ""
    raise Unfit(f"{name} is missing" if found is None else f"{name} is no text")


def _whole(record: Record, name: str) -> int:
    found = record.get(name)
    if isinstance(found, int) and not isinstance(found, bool) and -(2**63) <= found < 2**63:
        return found
    raise Unfit(f"{name} is missing" if found is None else f"{name} is no whole number")


def _clean(text: str) -> str:
    """The text as SQLite can hold it and read it back."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return text.replace("\0", "\ufffd")


def _sources(record: Record) -> tuple[tuple[str, str], ...]:
    found = record.get("sources", [])
    if not isinstance(found, list):
        raise Unfit("sources is no list")
    pairs = [one for one in found if isinstance(one, list) and len(one) == 2]
    return tuple((kind, str(uid)) for kind, uid in pairs if kind in ("P", "T"))


def _pairs(record: Record) -> tuple[Pair, ...]:
    found = pairs.read(record.get("pairs", []))
    if found is None:
        raise Unfit("pairs is no list of what looks alike")
    return found


def _project(record: Record) -> Record:
    aliases = record.get("aliases", [])
    if not isinstance(aliases, list):
        raise Unfit("aliases is no list")
    for one in aliases:
        if not (isinstance(one, list) and len(one) == 3 and all(map(_scalar, one))):
            raise Unfit("an alias is no [kind, alias, time]")
    return {
        "record": PROJECT,
        **{name: _text(record, name) for name in ("key", "key_source", "name", "root")},
        "created_at": _whole(record, "created_at"),
        "merged_into": _text(record, "merged_into", needed=False),
        "aliases": [[_clean(str(kind)), _clean(str(alias)), at] for kind, alias, at in aliases],
    }


def _scalar(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and abs(value) < 2**62)


def _tombstone(record: Record) -> Record:
    kind, digest = record.get("kind"), record.get("hash")
    if kind not in _TOMB_KINDS or not isinstance(digest, str) or not _HASH.fullmatch(digest):
        raise Unfit("no kind and hash of a forgotten row")
    undone = {"undone": True} if record.get("undone") is True else {}
    return {
        "record": "tombstone",
        "kind": kind,
        "hash": digest,
        "at": _whole(record, "at"),
        **undone,
    }
