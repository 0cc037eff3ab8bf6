"""What a person changes about an observation: its words, its rank, and what replaces it.

Words are changed as ``forget`` would take them: the old ones are in no table, index or copy
afterwards, and an observer that tells them again in the same session is not heard. Everything
else is a mark on the row, set by one statement beside whatever else is at work.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cmem import tokens
from cmem.errors import CmemError
from cmem.store import cleaning, documents, drafts, erase, stored_text
from cmem.store.connection import transaction
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    import apsw

_TEXT = """SELECT o.title, o.subtitle, o.type, o.narrative, o.facts, o.concepts, o.files_read,
        o.files_modified, o.metadata, o.session_id, o.content_hash, n.uid
    FROM observations o JOIN sessions n ON n.id = o.session_id
    WHERE o.id = ? AND o.hidden_at IS NULL"""
_OTHER = "SELECT id FROM observations WHERE session_id = ? AND content_hash = ? AND id <> ?"
_STATE = """SELECT pinned, superseded_by FROM observations
    WHERE id = ? AND hidden_at IS NULL"""
_AFTER = """WITH RECURSIVE next(id) AS (SELECT ?1 UNION
        SELECT o.superseded_by FROM next JOIN observations o ON o.id = next.id
        WHERE o.superseded_by IS NOT NULL)"""
_CHAIN = f"{_AFTER} SELECT 1 FROM next WHERE id = ?2"


# Characters of each field, and how many facts, concepts or files there may be.
MOST = {
    "title": 500,
    "subtitle": 1_000,
    "type": 40,
    "narrative": 65_536,
    "facts": 4_096,
    "concepts": 200,
    "files": 4_096,
}
MOST_ENTRIES = 200
_NAMES = {"narrative": "text"}


class Words(NamedTuple):
    """What can be edited of an observation."""

    title: str
    subtitle: str
    type: str
    narrative: str
    facts: tuple[str, ...]
    concepts: tuple[str, ...]
    files: tuple[str, ...]


def words(conn: apsw.Connection, ref: int) -> Words | None:
    """The observation's words as they stand; None when it is not to be seen."""
    found = row(conn, _TEXT, (ref,))
    if found is None:
        return None
    title, subtitle, kind, narrative, facts, concepts, read, modified, *_ = found
    files = dict.fromkeys(_list(modified) + _list(read))
    return Words(
        title, subtitle, kind, narrative, tuple(_list(facts)), tuple(_list(concepts)), tuple(files)
    )


def cleaned(given: Words) -> Words:
    """The words fit to store; CmemError where no title is left."""
    made = Words(
        title=cleaning.line(given.title).strip(),
        subtitle=cleaning.line(given.subtitle).strip(),
        type=cleaning.line(given.type).strip().casefold(),
        narrative=cleaning.paragraphs(given.narrative).strip(),
        facts=tuple(cleaning.lines(given.facts)),
        concepts=tuple(cleaning.lines(given.concepts)),
        files=tuple(cleaning.lines(given.files)),
    )
    if not made.title or not made.type:
        raise CmemError("a memory needs a title and a type; nothing was changed")
    return made


def check_length(old: Words, new: Words) -> None:
    """CmemError for what is changed and longer than a memory may be; what is as it was stays, for
    it may come from elsewhere."""
    for name, most in MOST.items():
        given = getattr(new, name)
        if given == getattr(old, name):
            continue
        many = isinstance(given, tuple)
        if many and len(given) > MOST_ENTRIES:
            raise CmemError(
                f"{name}: at most {MOST_ENTRIES}, not {len(given)}; nothing was changed"
            )
        longest = max(map(len, given), default=0) if many else len(given)
        if longest > most:
            one = f"one of the {name}" if many else f"the {_NAMES.get(name, name)}"
            raise CmemError(
                f"{one} has {longest} characters, at most {most} fit; nothing was changed"
            )


def edit(conn: apsw.Connection, ref: int, *, old: Words, new: Words, now: int) -> bool:
    """Put clean words in the place of the old ones; False when there is no difference.

    Raises CmemError when the row has changed since it was read, or another one of its session
    says the same. The file is to be cleaned afterwards: ``erase.finish``."""
    if new == old:
        return False
    with transaction(conn):
        check(conn, ref, old=old, new=new)
        *_, session, known, _uid = row(conn, _TEXT, (ref,)) or ()
        if (old.title, old.narrative) != (new.title, new.narrative):
            erase.bury_text(conn, session, known, now=now)
        _rewrite(conn, ref, old=old, new=new, now=now)
        cost = tokens.count("\n".join((new.title, new.narrative, *new.facts)))

        def change() -> None:
            conn.execute(
                "UPDATE observations SET type = ?, read_tokens = ? WHERE id = ?",
                (new.type, cost, ref),
            ).fetchall()

        documents.refresh(conn, "O", ref, change)
    return True


def check(conn: apsw.Connection, ref: int, *, old: Words, new: Words) -> None:
    """Raise the CmemError that ``edit`` would; nothing is changed."""
    if words(conn, ref) != old:
        raise CmemError(f"O{ref} has changed meanwhile; look at it and edit it again")
    *_, session, _known, uid = row(conn, _TEXT, (ref,)) or ()
    _refuse_double(conn, ref, session=session, uid=uid, new=new)


def pin(conn: apsw.Connection, refs: Sequence[int], *, pinned: bool) -> list[int]:
    """Set or take the pin of these observations; return those whose state has changed."""
    with transaction(conn):
        found = rows(
            conn,
            "SELECT id FROM observations WHERE pinned <> ? AND hidden_at IS NULL"
            " AND id IN (SELECT value FROM json_each(?))",
            (int(pinned), json.dumps(refs)),
        )
        changed = sorted(int(ref) for (ref,) in found)
        conn.execute(
            "UPDATE observations SET pinned = ? WHERE id IN (SELECT value FROM json_each(?))",
            (int(pinned), json.dumps(changed)),
        ).fetchall()
    return changed


def standing(conn: apsw.Connection, ref: int) -> int:
    """What stands for the observation in the end: itself where nothing does."""
    found = rows(conn, f"{_AFTER} SELECT id FROM next", (ref,))
    return int(found[-1][0])


def untold(conn: apsw.Connection, refs: Sequence[int]) -> list[int]:
    """Those of the observations that no session is told by itself, pinned or not: from outside."""
    query = """SELECT id FROM observations WHERE id IN (SELECT value FROM json_each(?))
        AND taint = 'external' ORDER BY id"""
    return [int(ref) for (ref,) in rows(conn, query, (json.dumps(refs),))]


def supersede(conn: apsw.Connection, old: int, new: int) -> bool:
    """Let ``new`` stand for ``old``, which is no longer found or shown; False when it does so
    already. CmemError where that would lead in a circle or another one stands there."""
    with transaction(conn):
        _pinned, current = _state(conn, old)
        _state(conn, new)
        if current == new:
            return False
        if current is not None:
            raise CmemError(
                f"O{old} is superseded by O{current} already; "
                f"`cmem supersede O{old} --undo` takes that back"
            )
        if row(conn, _CHAIN, (new, old)) is not None:
            raise CmemError(f"O{new} is superseded by O{old} itself, or is the same")
        conn.execute(
            "UPDATE observations SET superseded_by = ? WHERE id = ?", (new, old)
        ).fetchall()
    return True


def restore(conn: apsw.Connection, old: int) -> int | None:
    """Let ``old`` stand for itself again; return what stood for it, None when nothing did."""
    with transaction(conn):
        _pinned, current = _state(conn, old)
        if current is not None:
            conn.execute(
                "UPDATE observations SET superseded_by = NULL WHERE id = ?", (old,)
            ).fetchall()
    return current


def _state(conn: apsw.Connection, ref: int) -> tuple[bool, int | None]:
    found = row(conn, _STATE, (ref,))
    if found is None:
        raise CmemError(f"no such memory: O{ref}")
    return bool(found[0]), None if found[1] is None else int(found[1])


def _refuse_double(conn: apsw.Connection, ref: int, *, session: int, uid: str, new: Words) -> None:
    known = drafts.content_hash(uid, new.title, new.narrative)
    found = row(conn, _OTHER, (session, known, ref))
    if found is not None:
        raise CmemError(
            f"O{found[0]} says the same; `cmem supersede O{ref} O{found[0]}` joins them"
        )


def _rewrite(conn: apsw.Connection, ref: int, *, old: Words, new: Words, now: int) -> None:
    found = row(conn, _TEXT, (ref,))
    assert found is not None
    title, subtitle, _type, narrative, facts, concepts, read, modified, metadata, session, *_ = (
        found
    )
    before = {
        "title": title,
        "subtitle": subtitle,
        "narrative": narrative,
        "facts": facts,
        "concepts": concepts,
        "files_read": read,
        "files_modified": modified,
        "metadata": metadata,
    }
    after = {
        "title": new.title,
        "subtitle": new.subtitle,
        "narrative": new.narrative,
        "facts": drafts.json_list(new.facts),
        "concepts": drafts.json_list(new.concepts),
        "metadata": _metadata(metadata, new, now),
    }
    if new.files != old.files:
        changed = [path for path in _list(modified) if path in new.files]
        after["files_modified"] = drafts.json_list(changed)
        after["files_read"] = drafts.json_list([one for one in new.files if one not in changed])
    stored = stored_text.Stored("O", ref, int(session), before, frozenset())
    stored_text.rewrite(conn, stored, after)


def _metadata(stored: str, new: Words, now: int) -> str:
    """What is known of the row besides: where it came from stays, doubts about words that are
    gone do not."""
    try:
        known = json.loads(stored)
    except ValueError:
        known = {}
    if not isinstance(known, dict):
        known = {}
    doubts = [
        piece
        for piece in known.pop("unverified", [])
        if isinstance(piece, str) and any(piece in fact for fact in new.facts)
    ]
    known |= {"unverified": doubts} if doubts else {}
    return json.dumps(known | {"edited_at": now}, ensure_ascii=False)


def _list(stored: str) -> list[str]:
    try:
        found = json.loads(stored)
    except ValueError:
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
