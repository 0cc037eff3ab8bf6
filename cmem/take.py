"""One event into the store: the plan of ``turn_rules`` carried out, inside a transaction."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

from cmem import taint, turn_rules
from cmem.eid import WINDOW_MS
from cmem.hosts import NAMELESS
from cmem.hosts.wire import HOSTS
from cmem.model import (
    Answered,
    Event,
    Origin,
    PromptSubmitted,
    SessionStarted,
    SubagentEnded,
    ToolUsed,
    TurnEnded,
    Unreadable,
)
from cmem.store import (
    erase,
    evidence,
    forget,
    imports,
    projects,
    sessions,
    tombstones,
    turns,
    units,
)

if TYPE_CHECKING:
    import apsw

    from cmem.store.sessions import Session
    from cmem.turn_rules import End, Plan, Turn


class _At(NamedTuple):
    """What every step of carrying out a plan needs."""

    conn: apsw.Connection
    session: Session
    now: int


def take(conn: apsw.Connection, event: Event, session: Session, *, now: int) -> bool:
    """Store one event of ``session``; False when the store holds it already, by the host's
    own ids."""
    at = _At(conn, session, now)
    event = _as_stored(event)
    if _is_held(at, event):
        return False
    _touch(at, event)
    repo = event.origin.repo
    if isinstance(event, ToolUsed) and repo.root and repo.root != session.root:
        projects.note_tree(
            conn, session.project_id, tree=repo.root, common_dir=repo.common_dir, now=now
        )
    standing = turns.standing(conn, session.id, prompt_id=event.origin.prompt_id)
    _carry_out(at, event, standing)
    return True


def leaves_trace(event: Unreadable) -> bool:
    """True for a tool call that could not be read but whose session is known: it is kept as a
    stub, so that no captured call vanishes from the counts."""
    wire = HOSTS.get(event.origin.host)
    return bool(event.origin.session and wire and wire.kinds.get(event.origin.event) == "tool")


def close_turn(conn: apsw.Connection, turn_id: int, session_id: int, end: End, *, now: int) -> None:
    """Close a turn and ask for its observation, if there is anything in it to observe."""
    turns.close(conn, turn_id, end)
    if turns.wants_unit(conn, turn_id):
        units.create(
            conn, kind="turn", session_id=session_id, turn_id=turn_id, reason=end.by, now=now
        )


def request_summary(conn: apsw.Connection, session_id: int, *, reason: str, now: int) -> None:
    """Ask for a summary, once for every stretch of closed turns."""
    turn_id = sessions.unsummarised(conn, session_id)
    if turn_id is not None:
        units.create(
            conn, kind="summary", session_id=session_id, turn_id=turn_id, reason=reason, now=now
        )


# --- events as they are stored -------------------------------------------------------


def _as_stored(event: Event) -> Event:
    """A subagent's end and a tool call that could not be read are kept as tool uses; a tool
    use without an id gets one from its event."""
    if isinstance(event, SubagentEnded) and event.origin.agent_type:
        digest = hashlib.sha256(event.message.encode()).hexdigest()[:8]
        return ToolUsed(
            event.origin,
            tool_use_id=f"subagent:{event.origin.agent_id}:{digest}",
            tool_name="SubagentStop",
            tool_input="{}",
            tool_response=_dump(event.message),
            outcome="ok",
            duration_ms=None,
        )
    if isinstance(event, Unreadable) and leaves_trace(event):
        return _stub(event.origin, event.reason)
    if isinstance(event, ToolUsed) and not event.tool_use_id:
        return event._replace(tool_use_id=_id_of(event.origin))
    return event


def _stub(origin: Origin, reason: str) -> ToolUsed:
    return ToolUsed(
        origin,
        tool_use_id=_id_of(origin),
        tool_name=taint.UNREADABLE,
        tool_input="{}",
        tool_response=_dump(f"[not kept by cmem: {reason}]"),
        outcome="ok",
        duration_ms=None,
    )


def _id_of(origin: Origin) -> str:
    return "event:" + hashlib.sha256(origin.eid.encode()).hexdigest()[:32]


def _dump(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _is_held(at: _At, event: Event) -> bool:
    """By the host's own ids, or because it was told in a session before that was forgotten."""
    if tombstones.are_any(at.conn):
        until = tombstones.forgotten_until(at.conn, "N", at.session.uid)
        if until is not None and event.origin.at <= until:
            return True
    if _is_told(at, event):
        return True
    if isinstance(event, PromptSubmitted):
        return evidence.has_prompt(at.conn, at.session, event)
    if isinstance(event, ToolUsed):
        return evidence.has_tool(at.conn, at.session, event.tool_use_id)
    return False


def _is_told(at: _At, event: Event) -> bool:
    """True for what an import has read in a transcript, where the host's hooks name neither
    prompts nor calls: it is known by its time alone."""
    origin = event.origin
    if origin.host not in NAMELESS or origin.prompt_id:
        return False
    if not isinstance(event, PromptSubmitted | ToolUsed | TurnEnded):
        return False
    return imports.tells(at.conn, at.session.id, at=event.origin.at, within_ms=WINDOW_MS)


def _touch(at: _At, event: Event) -> None:
    started = event if isinstance(event, SessionStarted) else None
    sessions.touch(
        at.conn,
        at.session.id,
        at=event.origin.at,
        model=started.model if started else "",
        title=started.title if started else "",
    )


# --- carrying out a plan -------------------------------------------------------------


def _carry_out(at: _At, event: Event, standing: turn_rules.Standing) -> None:
    plan = turn_rules.plan(standing, event)
    if plan.close and standing.open:
        close_turn(at.conn, standing.open.id, at.session.id, plan.close, now=at.now)
    turn = _open(at, event, plan.opens) if plan.opens else plan.target
    if turn is not None:
        _land(at, event, turn, plan=plan)
    if plan.summary:
        request_summary(at.conn, at.session.id, reason=plan.summary, now=at.now)
    if plan.completes:
        sessions.complete(at.conn, at.session.id, at=event.origin.at)


def _open(at: _At, event: Event, kind: str) -> Turn:
    origin = event.origin
    return turns.insert(
        at.conn,
        at.session.id,
        kind=kind,
        prompt_id=origin.prompt_id,
        private=isinstance(event, PromptSubmitted) and event.private,
        at=origin.at,
        repo=origin.repo,
    )


def _land(at: _At, event: Event, turn: Turn, *, plan: Plan) -> None:
    """Put the event into the turn, then end the turn if the plan says so. A closed turn that
    was not worth a unit may be worth one now."""
    origin = event.origin
    if plan.adopt and isinstance(event, PromptSubmitted):
        turn = _adopt(at, turn, event)
    turns.touch(at.conn, turn.id, at=origin.at, repo=origin.repo)
    if isinstance(event, PromptSubmitted):
        _insert_prompt(at, turn, event)
    elif isinstance(event, ToolUsed):
        _insert_tool(at, turn, event)
    elif isinstance(event, Answered | TurnEnded) and not (
        turn.private or _is_unsaid(at, event, turn)
    ):
        error = event.error if isinstance(event, TurnEnded) else ""
        turns.set_message(at.conn, turn.id, message=event.message, error=error)
    if plan.amend:
        turns.amend(at.conn, turn.id, plan.amend)
    if plan.end or turn.closed_at is not None:
        end = plan.end or turn_rules.End("", turn.closed_by)
        close_turn(at.conn, turn.id, at.session.id, end, now=at.now)


def _is_unsaid(at: _At, event: Event, turn: Turn) -> bool:
    names = {str(turn.number), turn.prompt_id, event.origin.prompt_id} - {""}
    return erase.is_unsaid(at.conn, at.session.uid, names, at=event.origin.at)


def _adopt(at: _At, turn: Turn, event: PromptSubmitted) -> Turn:
    turns.adopt(at.conn, turn.id, private=event.private)
    if event.private:
        _take_back(at, turn)
        evidence.make_private(at.conn, turn.id)
    return turns.get(at.conn, turn.id)


def _take_back(at: _At, turn: Turn) -> None:
    """What was observed of the turn before it was known to be private is hidden, and so goes
    as what a person has forgotten does."""
    if turn.closed_at is None or turn.untouched:
        return
    refs = [("T", ref) for ref in evidence.tool_ids(at.conn, turn.id)]
    found = forget.plan(at.conn, refs)
    made = forget.Plan(observations=found.observations, summaries=found.summaries)
    forget.hide(at.conn, made, now=at.now)


def _insert_prompt(at: _At, turn: Turn, event: PromptSubmitted) -> None:
    if event.kind == "user":
        number = sessions.count_prompt(at.conn, at.session.id)
    else:
        number = evidence.prompt_number(at.conn, at.session, turn)
    evidence.insert_prompt(at.conn, at.session, turn, event, number=number)


def _insert_tool(at: _At, turn: Turn, event: ToolUsed) -> None:
    evidence.insert_tool(
        at.conn,
        at.session,
        turn,
        event,
        number=evidence.prompt_number(at.conn, at.session, turn),
        taint=_taint(at, turn, event),
    )


def _taint(at: _At, turn: Turn, event: ToolUsed) -> str:
    """The project's folder and the session's own are its own ground; so is a worktree of the
    same repository, but no other repository. What a subagent answers retells what it met."""
    session = at.session
    if event.tool_name in taint.SUBAGENT_TOOLS:
        met = evidence.subagent_taints(
            at.conn,
            session.id,
            turn_id=turn.id,
            agent_id=event.origin.agent_id,
            told=event.tool_name not in taint.UNTOLD_SUBAGENT_TOOLS,
        )
        return taint.worst(met, least="agent")
    repo = event.origin.repo
    roots = [session.root, session.cwd]
    if session.root and (repo.common_dir + "/").startswith(session.root + "/"):
        roots.append(repo.root)
    given, cwd = json.loads(event.tool_input), event.origin.cwd
    label = taint.of_tool(event.tool_name, given, cwd=cwd, roots=roots)
    if label != "local":
        return label
    earlier = (
        (place, json.loads(told))
        for place, told in evidence.outside_calls(at.conn, session.id, taint.COMMAND_TOOLS)
    )
    read = taint.of_downloaded(event.tool_name, given, cwd=cwd, earlier=earlier)
    return "external" if read else label
