"""What became of one event: where it waits, or where it stands in the store and what it led to."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from cmem import filters, hooklog, paths, spill, spool_check, spooled
from cmem.errors import CmemError
from cmem.plural import counted
from cmem.privacy.second import MARK
from cmem.store import read
from cmem.store import trace as store

if TYPE_CHECKING:
    import apsw

    from cmem.model import Entry

Record = dict[str, Any]
CANDIDATES = 6
SPILLED = 200
WAITING, SET_ASIDE, TAKEN, FORGOTTEN = "waiting", "set aside", "taken in", "forgotten"


def trace(home: str, conn: apsw.Connection | None, text: str, ref: store.Ref | None) -> Record:
    """The way of the event that ``text`` names; ``ref`` is what it says as an id of ours.

    Raises CmemError when nothing is known of it, or when several begin so."""
    if conn is not None and ref is not None:
        hidden = store.is_hidden(conn, ref)
        if hidden is not None:
            return _of_row(conn, ref, hidden=hidden)
    found = _stored(conn, text) | _underway(home, text)
    if text in found:
        return found[text]
    if len(found) > 1:
        names = ", ".join(list(found)[: CANDIDATES - 1])
        raise CmemError(f"several events are called so: {names}; give more of one of them")
    if not found:
        raise CmemError(_unknown(home, text))
    return next(iter(found.values()))


def _of_row(conn: apsw.Connection, ref: store.Ref, *, hidden: bool) -> Record:
    if hidden:
        return {"id": f"{ref[0]}{ref[1]}", "eid": None, "state": FORGOTTEN}
    found = store.record(conn, ref)
    if ref[0] in "PT":
        marks = Counter(mark for text in store.texts(conn, ref) for mark in MARK.findall(text))
        found["redacted"] = dict(sorted(marks.items()))
    return found


# --- events by the host's names ------------------------------------------------------


def _stored(conn: apsw.Connection | None, text: str) -> dict[str, Record]:
    """Events that the store has met, by their identity or the id of the tool call."""
    if conn is None:
        return {}
    found: dict[str, Record] = {}
    for ref, name in store.by_tool_use_id(conn, text, limit=CANDIDATES):
        if name == text or len(text) >= read.PREFIX:
            found[name] = _of_row(conn, ref, hidden=bool(store.is_hidden(conn, ref)))
    if found:
        return found
    met = store.seen(conn, text, limit=CANDIDATES)
    for eid, at in met or store.seen_tools(conn, text, limit=CANDIDATES):
        if _is_called(eid, text):
            found[eid] = _of_event(conn, eid, at)
    return found


def _of_event(conn: apsw.Connection, eid: str, at: int) -> Record:
    ref, forgotten = store.ref_of(conn, eid)
    if ref is not None:
        return _of_row(conn, ref, hidden=bool(store.is_hidden(conn, ref))) | {"eid": eid}
    state = FORGOTTEN if forgotten else TAKEN
    return {"id": None, "eid": eid, "state": state, "ingested_at": at}


def _underway(home: str, text: str) -> dict[str, Record]:
    """Events that are not in the store yet, or could not be taken in."""
    found: dict[str, Record] = {}
    for path, entry in spill.look(home, limit=SPILLED):
        if _is_called(entry.eid, text):
            bad = "/spill/bad/" in path
            why = _noted(home, entry, "bad" if bad else "spilled")
            told = _of_entry(entry, SET_ASIDE if bad else WAITING)
            found[entry.eid] = told | {"file": path, "reason": why}
    for entry in spool_check.find(home, text, limit=CANDIDATES):
        if _is_called(entry.eid, text):
            found[entry.eid] = _of_entry(entry, WAITING)
    return found


def _noted(home: str, entry: Entry, outcome: str) -> str:
    """The kind of trouble that the log of hooks has for this event and its size, "" for none."""
    log = paths.hook_log(home)
    for name in (log, log + ".1"):
        try:
            with open(name, encoding="ascii", errors="replace") as file:
                lines = file.read(2 * hooklog.MAX_LOG).split("\n")
        except OSError:
            continue
        for words in (line.split(" ") for line in reversed(lines)):
            if words[1:2] == [entry.event] and words[3:] == [str(len(entry.payload)), outcome]:
                return words[2]
    return ""


def _is_called(eid: str, text: str) -> bool:
    if eid == text or eid.endswith(":t:" + text):
        return True
    return len(text) >= read.PREFIX and (eid.startswith(text) or ":t:" + text in eid)


def _of_entry(entry: Entry, state: str) -> Record:
    return {
        "id": None,
        "eid": entry.eid,
        "state": state,
        "way": "spool" if entry.id else "spill",
        "captured": {
            "at": entry.captured_at,
            "host": entry.host,
            "event": entry.event,
            "cwd": entry.cwd,
        },
        "redacted": dict(
            sorted(Counter(MARK.findall(entry.payload.decode("utf-8", "replace"))).items())
        ),
    }


def _unknown(home: str, text: str) -> str:
    """That nothing is known, and where such an event may have gone."""
    dropped = spooled.counts(home)[2]
    left_out = sum(one[2] for one in filters.counts(home))
    reasons = [counted(dropped, "event was dropped", "events were dropped")] if dropped else []
    reasons += (
        [counted(left_out, "tool call", "tool calls") + " left out by filters"] if left_out else []
    )
    why = f" ({', '.join(reasons)})" if reasons else ""
    return (
        f"nothing is known of {text}{why}; give T9, P7, O12, S3, a host's id of a tool call or "
        "an event's identity, or try `cmem rules test`, which tells whether it would be kept"
    )
