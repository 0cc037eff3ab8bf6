"""How a session's events become turns: pure rules from what stands and what comes to a plan.

A turn is one prompt, what followed, and the last message; it closes exactly once. A host
does not always end one (Esc, a kill), runs hooks side by side so that events come late, and
lets background agents work on after a turn's end. The prompt id says where an event
belongs; where it says nothing, the open turn does.
"""

from __future__ import annotations

from typing import NamedTuple

from cmem.model import (
    Answered,
    CompactStarted,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SubagentEnded,
    ToolUsed,
    TurnEnded,
)


class Turn(NamedTuple):
    """A stored turn as far as the rules look at it. ``untouched``: its work unit waits and
    no attempt was made. ``prompted``: a user's prompt stands in it."""

    id: int
    number: int
    kind: str
    prompt_id: str
    private: bool
    opened_at: int
    last_event_at: int
    closed_at: int | None
    closed_by: str
    message: bool
    untouched: bool
    prompted: bool


class Standing(NamedTuple):
    """A session as an event finds it: its open turn, its newest closed turn, and the turn
    that carries the event's prompt id (the open one first, else the newest)."""

    open: Turn | None
    last: Turn | None
    match: Turn | None


class End(NamedTuple):
    """``outcome``: stop | failure | interrupted | open."""

    outcome: str
    by: str


class Plan(NamedTuple):
    """What to do, in this order: close the open turn; open one of a kind; put the event into
    the new turn or into ``target``; end or amend that turn; then the session's part."""

    close: End | None = None
    opens: str = ""
    target: Turn | None = None
    end: End | None = None
    amend: End | None = None
    adopt: bool = False
    summary: str = ""
    completes: bool = False


NOTHING = Plan()
STALE = End("interrupted", "sweep")
ASKED = End("open", "asked")
_ENDED_BY = {"stop": "stop", "interrupted": "interrupt"}
_OWN_ENDS = frozenset({*_ENDED_BY.values(), "stop-failure"})


def plan(standing: Standing, event: Event) -> Plan:
    """The plan for ``event``. An empty one: the event changes no turn."""
    if isinstance(event, PromptSubmitted):
        return _prompt(standing, event) if event.kind == "user" else _notification(standing)
    if isinstance(event, ToolUsed):
        return _tool(standing, event.origin)
    if isinstance(event, SubagentEnded):
        # Compaction ends as a nameless subagent: nothing of the user's.
        return _tool(standing, event.origin) if event.origin.agent_type else NOTHING
    if isinstance(event, TurnEnded):
        return _turn_ended(standing, event)
    if isinstance(event, Answered):
        return _answered(standing, event)
    if isinstance(event, CompactStarted):
        return Plan(summary="compact")
    if isinstance(event, SessionEnded):
        return _session_ended(standing, event)
    return NOTHING


def _prompt(standing: Standing, event: PromptSubmitted) -> Plan:
    match, at = standing.match, event.origin.at
    if match and match.kind in ("headless", "message") and not match.prompted:
        before = standing.open and standing.open.id != match.id and at >= standing.open.opened_at
        close = _cut_off(standing, "next-prompt") if before else None
        return Plan(close=close, target=match, adopt=True)
    newest = standing.open or standing.last
    if newest and at < newest.opened_at:
        return Plan(opens="user", end=End("interrupted", "late"))
    return Plan(close=_cut_off(standing, "next-prompt"), opens="user")


def _notification(standing: Standing) -> Plan:
    """What a background agent of a private turn tells is as private as the turn."""
    if standing.match and standing.match.private:
        return Plan(target=standing.match)
    return Plan(target=standing.open) if standing.open else Plan(opens="notification")


def _tool(standing: Standing, origin: Origin) -> Plan:
    match = standing.match
    if match is None and not origin.agent_id and _is_anothers(standing.open, origin):
        # Its prompt is on the way, and may say that what it led to is private.
        return Plan(close=_cut_off(standing, "next-prompt"), opens="headless")
    if not origin.prompt_id and not standing.open:
        match = standing.last  # an older host, without prompt ids
    if match and (match.private or match.closed_at is None or match.untouched):
        return Plan(target=match)
    if standing.open:
        return Plan(target=standing.open)
    return Plan(opens="background" if match else "headless")


def _turn_ended(standing: Standing, event: TurnEnded) -> Plan:
    end = End(event.outcome, _ENDED_BY.get(event.outcome, "stop-failure"))
    match, opened = standing.match, standing.open
    if not event.origin.prompt_id and opened and event.origin.at < opened.opened_at:
        match = standing.last
    if match and match.closed_at is not None:
        return _late_end(match, event, end)
    if match is None and _is_anothers(opened, event.origin):
        # A shell command of the user's, or a prompt that is on the way.
        opens = "message" if event.message else ""
        return Plan(close=_cut_off(standing, "next-prompt"), opens=opens, end=end)
    if opened and event.origin.at >= opened.opened_at:
        return Plan(target=opened, end=end)
    if not event.origin.prompt_id and standing.last and not standing.last.message:
        return _late_end(standing.last, event, end)
    return Plan(opens="message", end=end) if event.message else NOTHING


def _late_end(turn: Turn, event: TurnEnded, end: End) -> Plan:
    """The end of a turn that something else has closed, or its second end: only what was missing
    is added."""
    if turn.closed_by in _OWN_ENDS and (turn.message or not event.message):
        return NOTHING
    return Plan(target=turn, amend=end)


def _answered(standing: Standing, event: Answered) -> Plan:
    """What is said in a turn stands in it, also where its end has overtaken it; but not in place
    of what an end has brought, and a background agent's words open no turn."""
    turn = standing.match or standing.open
    if turn is None or not event.message or (turn.closed_at is not None and turn.message):
        return NOTHING
    return Plan(target=turn)


def _session_ended(standing: Standing, event: SessionEnded) -> Plan:
    newest = standing.open or standing.last
    if newest and event.origin.at < newest.opened_at:
        return NOTHING  # it came late: the session has gone on since
    return Plan(close=_cut_off(standing, "session-end"), summary="end", completes=True)


def _is_anothers(opened: Turn | None, origin: Origin) -> bool:
    """Whether an event of a prompt that no turn carries comes after the open turn, which carries
    one: the turn is over, although nothing has said so."""
    if opened is None or not origin.prompt_id or not opened.prompt_id:
        return False
    return origin.at >= opened.opened_at


def _cut_off(standing: Standing, by: str) -> End | None:
    return End("interrupted", by) if standing.open else None
