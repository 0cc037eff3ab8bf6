"""Rows into the store: what is there already stays as it is, what was forgotten stays away.

A record is put in as a whole or not at all, and known by its uid, so that a load which was
killed is repeated from its beginning and adds what is missing. Only two things of a row that
is there move on: a session's times and counters, and a turn that was open when it was told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from cmem import taint
from cmem.store import (
    codec,
    documents,
    forget,
    load_projects,
    observation_files,
    pairs,
    takeover,
    tombstones,
)
from cmem.store.connection import transaction
from cmem.store.fields import Row, Unfit
from cmem.store.portable import (
    OBSERVATION,
    OPEN,
    PROMPT,
    SUMMARY,
    TOOL_USE,
    TURN,
    WORK,
)
from cmem.store.rows import insert, row

if TYPE_CHECKING:
    from collections.abc import Sequence

NEW, KNOWN, FORGOTTEN = load_projects.NEW, load_projects.KNOWN, "forgotten"
_SESSION = """SELECT id, project_id FROM sessions
    WHERE uid = ?1 OR (host = ?2 AND content_session_id = ?3)"""
# Not the title: it may be empty because the prompt it was made of was forgotten here.
_MOVE_ON = """UPDATE sessions SET started_at = min(started_at, ?2),
        last_event_at = max(last_event_at, ?3), prompt_counter = max(prompt_counter, coalesce(?4, 0)),
        status = CASE WHEN ?3 >= last_event_at THEN coalesce(?5, status) ELSE status END,
        completed_at = CASE WHEN ?3 >= last_event_at THEN ?6 ELSE completed_at END,
        model = CASE WHEN model = '' THEN coalesce(?7, '') ELSE model END
    WHERE id = ?1"""
_MOVED = ("started_at", "last_event_at", "prompt_counter", "status", "completed_at", "model")
_TURN = "SELECT id, private, closed_by, hidden_at FROM turns WHERE session_id = ? AND number = ?"
_HAS_TABLE = "SELECT 1 FROM sqlite_schema WHERE name = ?"
_LEFT = "SELECT id FROM {table} WHERE uid = ?"
_SETTLE = """UPDATE observations SET superseded_by = (SELECT id FROM observations WHERE uid = ?2)
    WHERE uid = ?1 AND superseded_by = id AND EXISTS(SELECT 1 FROM observations WHERE uid = ?2)"""


# What was blanked when it was forgotten; nothing else leaves a turn without both and hidden.
_FILL_TURN = """UPDATE turns SET hidden_at = NULL, assistant_message = ?3, error = ?4
    WHERE session_id = ?1 AND number = ?2 AND assistant_message = '' AND error = ''"""
_FILL_SESSION = """UPDATE sessions SET title = ?2, cwd = ?3, model = ?4
    WHERE id = ?1 AND title = '' AND cwd = '' AND model = ''"""


class Place(NamedTuple):
    """A session that rows are put into; 0 where there is none. ``until``: what happened in it
    up to then was forgotten."""

    id: int
    project: int
    until: int | None

    def refuses(self, at: int) -> bool:
        """Whether what happened at this time was forgotten with the session."""
        return self.until is not None and at <= self.until


class Loader:
    """A store that records are put into, in the order of an export."""

    def __init__(self, conn: apsw.Connection) -> None:
        self._conn = conn
        self._places: dict[str, Place] = {}
        self._superseded: list[tuple[str, str]] = []
        self._turns: dict[tuple[str, int], Row] = {}
        self._same: dict[str, takeover.Same] = {}

    def put(self, given: Row) -> str:
        """Put one row in; part of a transaction. Unfit where it names what is not there."""
        puts = {"session": self._put_session, TURN.type: self._put_turn}
        try:
            with transaction(self._conn):
                return puts.get(given.type, self._put_row)(given)
        except apsw.ConstraintError as error:
            raise Unfit(f"it does not fit: {error}") from error

    def settle(self) -> None:
        """Point the superseded observations at what took their place, where that is here."""
        for start in range(0, len(self._superseded), 200):
            with transaction(self._conn):
                self._conn.executemany(_SETTLE, self._superseded[start : start + 200])
        self._superseded.clear()

    def _put_session(self, given: Row) -> str:
        columns, uid = dict(given.columns), str(given.columns["uid"])
        native = (str(columns["host"]), str(columns["content_session_id"]))
        self._turns.clear()
        self._same.clear()
        until = _until(self._conn, uid)
        place = Place(0, 0, until)
        if place.refuses(columns["last_event_at"]):
            self._remember(uid, place)
            return FORGOTTEN
        found = row(self._conn, _SESSION, (uid, *native))
        if found is not None:
            self._remember(uid, Place(int(found[0]), int(found[1]), until))
            self._fill_session(int(found[0]), columns)
            self._settle_session(int(found[0]), given)
            return self._move_on(int(found[0]), columns)
        project = load_projects.find(self._conn, given.project)
        if not project:
            raise Unfit("its project is not there")
        ref = insert(self._conn, "sessions", {**columns, "project_id": project})
        if ref is None:
            raise Unfit("it collides with another session")
        self._remember(uid, Place(ref, project, until))
        return NEW

    def _fill_session(self, ref: int, columns: dict[str, Any]) -> None:
        """What was taken out of a session with the whole of it comes back with it."""
        if tombstones.is_taken_back(self._conn, "N", str(columns["uid"])):
            values = [str(columns.get(name) or "") for name in ("title", "cwd", "model")]
            self._conn.execute(_FILL_SESSION, (ref, *values)).fetchall()

    def _settle_session(self, ref: int, given: Row) -> None:
        """A session that only claude-mem has told of is where the host has told it is."""
        cwd = str(given.columns.get("cwd") or "")
        if cwd and takeover.is_homeless(self._conn, ref):
            source = str(given.columns["project_key_source"])
            project = load_projects.find(self._conn, given.project)
            if project:
                takeover.settle(self._conn, ref, cwd=cwd, project=project, source=source)

    def _move_on(self, ref: int, columns: dict[str, Any]) -> str:
        values = [columns.get(name) for name in _MOVED]
        self._conn.execute(_MOVE_ON, (ref, *values)).fetchall()
        return KNOWN

    def _remember(self, uid: str, place: Place) -> None:
        if len(self._places) > 1000:
            self._places.clear()
        self._places[uid] = place

    def _place(self, uid: str) -> Place:
        if uid not in self._places:
            query = "SELECT id, project_id FROM sessions WHERE uid = ?"
            found = row(self._conn, query, (uid,))
            if found is None:
                raise Unfit("its session is not there")
            self._remember(uid, Place(int(found[0]), int(found[1]), _until(self._conn, uid)))
        return self._places[uid]

    def _put_turn(self, given: Row) -> str:
        place = self._place(given.session)
        columns = dict(given.columns)
        # One of which nothing is left keeps its number.
        if not place.id or (place.refuses(columns["last_event_at"]) and not given.forgotten):
            return FORGOTTEN
        found = row(self._conn, _TURN, (place.id, columns["number"]))
        if found is not None:
            self._turns[given.session, columns["number"]] = given
            ref, _private, closed_by, hidden_at = found
            if (closed_by == OPEN != columns.get("closed_by") and hidden_at is None) or (
                closed_by == takeover.NAME != columns.get("closed_by") and not given.forgotten
            ):
                self._end_turn(int(ref), columns)
            return KNOWN
        hidden = columns["last_event_at"] if given.forgotten else None
        insert(self._conn, "turns", {**columns, "session_id": place.id, "hidden_at": hidden})
        return NEW

    def _end_turn(self, ref: int, columns: dict[str, Any]) -> None:
        told = {name: one for name, one in columns.items() if name not in ("number", "opened_at")}
        marks = ", ".join(f"{name} = ?" for name in told)
        query = f"UPDATE turns SET {marks} WHERE id = ?"
        self._conn.execute(query, (*told.values(), ref)).fetchall()

    def _put_row(self, given: Row) -> str:
        kind, uid = given.kind, str(given.columns["uid"])
        assert kind is not None
        place = self._place(given.session)
        if not place.id or place.refuses(given.columns["created_at"]):
            return FORGOTTEN
        if is_forgotten(self._conn, given):
            return FORGOTTEN
        given = self._standing(self._by_own_names(given))
        if given.superseded_by:
            self._superseded.append((uid, given.superseded_by))
        found = row(self._conn, _LEFT.format(table=kind.table), (uid,))
        if found is not None:
            return KNOWN
        if kind is WORK:
            return self._put_state(given, place)
        if kind is PROMPT:
            known = self._prompt_there(given, place.id)
            if known:
                return known
        turn = row(self._conn, _TURN, (place.id, given.turn))
        if turn is None:
            raise Unfit(f"its turn {given.turn} is not there")
        columns = {**given.columns, "session_id": place.id, "turn_id": turn[0]}
        if kind in (OBSERVATION, SUMMARY):
            columns["project_id"] = load_projects.find(self._conn, given.project) or place.project
        for name in kind.packed:
            text = columns.get(name)
            columns[name] = None if text is None else codec.pack(str(text))
        if "taint" in columns:
            columns["taint"] = taint.worst([str(columns["taint"])])
        ref = insert(self._conn, kind.table, columns)
        if ref is None:
            return KNOWN  # the same under another uid: seen by two machines
        self._complete(given, ref, private=bool(turn[1]))
        if turn[3] is not None:
            self._fill_turn(given, place)
        return NEW

    def _standing(self, given: Row) -> Row:
        """The row as one that stands for itself, where what stood for it was forgotten."""
        by = given.superseded_by
        if not by or by == given.columns["uid"] or not tombstones.are_any(self._conn):
            return given
        gone = tombstones.is_forgotten(self._conn, OBSERVATION.letter, by)
        return given._replace(superseded_by="") if gone else given

    def _fill_turn(self, given: Row, place: Place) -> None:
        """A turn of which nothing was left has something again. Its words come back with a row
        that somebody has brought back."""
        turn = self._turns.get((given.session, given.turn))
        message = error = ""
        back = given.kind and tombstones.is_taken_back(
            self._conn, given.kind.letter, str(given.columns["uid"])
        )
        if back and turn is not None:
            message = str(turn.columns.get("assistant_message") or "")
            error = str(turn.columns.get("error") or "")
        self._conn.execute(_FILL_TURN, (place.id, given.turn, message, error)).fetchall()

    def _put_state(self, given: Row, place: Place) -> str:
        """An entry of open work: the one that opens an item is the item."""
        own = given.item == given.columns["uid"]
        opened = row(self._conn, _LEFT.format(table=WORK.table), (given.item,))
        if opened is None and not own:
            raise Unfit("the item it belongs to is not there")
        project = load_projects.find(self._conn, given.project) or place.project
        columns = {**given.columns, "session_id": place.id, "project_id": project}
        columns["taint"] = taint.worst([str(columns.get("taint", "local"))])
        ref = insert(self._conn, WORK.table, {**columns, "item": opened[0] if opened else 0})
        if own:
            query = "UPDATE work_state_entries SET item = id WHERE id = ?"
            self._conn.execute(query, (ref,)).fetchall()
        return NEW

    def _prompt_there(self, given: Row, session: int) -> str:
        """What becomes of a prompt that is here in other words than these: the host's own where
        claude-mem tells of it, or the other way round; "" for one that is not here."""
        if given.columns.get("native_prompt_id"):
            told = takeover.told(self._conn, session, given.columns)
            if told is None:
                return ""
            if not told.hidden:
                takeover.rename(self._conn, told, given.columns)
            return KNOWN
        same = takeover.same(self._conn, session, given.columns)
        if same is not None:
            self._same[str(given.columns["uid"])] = same
            return KNOWN
        erased = takeover.is_erased(self._conn, session, given.turn, given.columns)
        return FORGOTTEN if erased else ""

    def _by_own_names(self, given: Row) -> Row:
        """A memory of claude-mem's by the names that the host has for its prompt and its turn."""
        found = [self._same[uid] for _, uid in given.sources if uid in self._same]
        if not found:
            return given
        sources = tuple(
            (kind, self._same[uid].uid if uid in self._same else uid) for kind, uid in given.sources
        )
        return given._replace(sources=sources, turn=found[0].turn)

    def _complete(self, given: Row, ref: int, *, private: bool) -> None:
        """What hangs on a new row: its files, its sources, its place in the index."""
        kind, columns = given.kind, given.columns
        assert kind is not None
        if kind is OBSERVATION:
            observation_files.add_stored(self._conn, ref, columns)
            self._add_sources(ref, given.sources)
            if given.pairs:
                pairs.put(self._conn, str(columns["uid"]), given.pairs)
            if given.superseded_by:
                query = "UPDATE observations SET superseded_by = id WHERE id = ?"
                self._conn.execute(query, (ref,)).fetchall()
        blank = kind is PROMPT and not str(columns["prompt_text"]).strip()
        if not blank and not (kind is TOOL_USE and private):
            documents.add(self._conn, kind.letter, ref, int(columns["created_at"]))

    def _add_sources(self, ref: int, sources: Sequence[tuple[str, str]]) -> None:
        for kind, uid in sources:
            self._conn.execute(
                f"""INSERT OR IGNORE INTO observation_sources(observation_id, kind, ref)
                SELECT ?, ?, id FROM {forget.TABLES[kind]} WHERE uid = ?""",
                (ref, kind, uid),
            ).fetchall()


def is_forgotten(conn: apsw.Connection, given: Row) -> bool:
    """Whether a row was forgotten, or made of one that was."""
    if given.kind is None or not tombstones.are_any(conn):
        return False
    if tombstones.is_forgotten(conn, given.kind.letter, str(given.columns["uid"])):
        return True
    return any(tombstones.is_forgotten(conn, kind, uid) for kind, uid in given.sources)


def look(conn: apsw.Connection, given: Row) -> str:
    """What ``put`` would say, without changing anything, also of a store of an older cmem."""
    if given.kind is WORK and row(conn, _HAS_TABLE, (WORK.table,)) is None:
        return NEW
    until = _until(conn, given.session or str(given.columns["uid"]))
    times = [given.columns.get(name) for name in ("last_event_at", "created_at")]
    at = next((time for time in times if time is not None), None)
    if until is not None and at is not None and at <= until and not given.forgotten:
        return FORGOTTEN
    if given.type == TURN.type:
        query = """SELECT 1 FROM turns t JOIN sessions s ON s.id = t.session_id
            WHERE s.uid = ? AND t.number = ?"""
        found = row(conn, query, (given.session, given.columns["number"]))
        return NEW if found is None else KNOWN
    if is_forgotten(conn, given):
        return FORGOTTEN
    uid = str(given.columns["uid"])
    table = given.kind.table if given.kind else "sessions"
    return NEW if row(conn, _LEFT.format(table=table), (uid,)) is None else KNOWN


def _until(conn: apsw.Connection, session: str) -> int | None:
    """Up to when what happened in a session was forgotten."""
    return tombstones.forgotten_until(conn, "N", session) if tombstones.are_any(conn) else None
