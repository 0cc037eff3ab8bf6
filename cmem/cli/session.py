"""``cmem session``: which sessions there were, and all of one in time order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cmem.cli import boundary, items, output, place
from cmem.cli.listing import newest_first, shown_by_day
from cmem.errors import CmemError, UsageError
from cmem.plural import counted
from cmem.privacy.sanitise import clean
from cmem.search import when
from cmem.store import read, session_list

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmem.cli.output import Line
    from cmem.store.session_list import Session

KINDS = ("P", "O", "S")
_PLURAL = {"P": "user_prompts", "T": "tool_uses", "O": "observations", "S": "session_summaries"}


def run_list(values: Mapping[str, Any]) -> int:
    """Print the sessions of the project, the one used last first."""
    if values["limit"] < 1:
        raise UsageError("--limit must be at least 1")
    since, until = when.parse_range(values["since"], values["until"], place.now_ms())
    conn = place.store()
    if conn is None:
        return _print_list([], "no memories yet", as_json=values["json"])
    try:
        scope = place.scope(conn, values)
        span = session_list.Span(since, until, values["host"] or "")
        found = session_list.sessions(conn, scope.projects, span, limit=values["limit"])
    finally:
        conn.close()
    nothing = f"no sessions in {scope.name}{place.further(scope)}"
    return _print_list(found, nothing, as_json=values["json"])


def run_show(values: Mapping[str, Any]) -> int:
    """Print what is known of one session, and everything in it in time order."""
    kinds = place.kinds(values["kind"]) or list(KINDS)
    conn = place.store()
    if conn is None:
        raise CmemError(f"no memories yet, so no session {values['session']}")
    try:
        number = place.session(conn, values["session"])
        assert number is not None
        record = read.record(conn, ("N", number))
        assert record is not None
        title = record["title"] or session_list.about(conn, number)
        refs = [(kind, int(ref[1:])) for kind in kinds for ref in record[_PLURAL[kind]]]
        found = sorted(items.load(conn, refs), key=newest_first, reverse=True)
    finally:
        conn.close()
    if values["json"]:
        output.write_json({"session": record, "items": [items.document(one) for one in found]})
    else:
        output.write_lines([*_head(record, str(title)), *shown_by_day(found)])
        if not found:
            hint = "" if values["kind"] else "; --kind tool shows its tool calls"
            boundary.complain(f"nothing to show in N{number}{hint}")
    return 0


def _print_list(found: list[Session], nothing: str, *, as_json: bool) -> int:
    if as_json:
        output.write_json({"sessions": [one._asdict() | {"id": f"N{one.id}"} for one in found]})
        return 0
    output.write_lines([line for one in found for line in _lines(one)])
    if not found:
        boundary.complain(nothing)
    return 0


def _lines(one: Session) -> list[Line]:
    title = _title(one.title or one.request)
    counts = (
        (one.prompts, "prompt"),
        (one.tool_uses, "tool call"),
        (one.observations, "observation"),
    )
    told = ", ".join(counted(number, word) for number, word in counts)
    first: Line = [
        (f"N{one.id}", output.STYLES["N"]),
        (f"  {output.when(one.last_event_at)}  ", "dim"),
        (title, "bold"),
    ]
    where = clean(f"{one.project}, {one.host}, {one.status}", one_line=True)
    return [first, [(f"    {where}: {told}", "dim")]]


def _title(text: str) -> str:
    return clean(text, one_line=True)[:100] or "(untitled)"


def _head(record: Mapping[str, Any], title: str) -> list[Line]:
    told = (
        f"    {record['project']}, {record['host']}, {record['status']}: {record['host_session']}"
    )
    times = f"    {output.when(record['started_at'])} to {output.when(record['last_event_at'])}"
    return [
        [(str(record["id"]), output.STYLES["N"]), ("  ", ""), (_title(title), "bold")],
        [("    " + clean(told, one_line=True), "dim")],
        [(times, "dim")],
    ]
