"""A prompt decides about its turn. It is new; or held, by a hook or by an earlier import, and then
what is missing of its turn is added; or away: another session's that a fork has copied, one that
a person has forgotten, one before the time that was asked for. What is away takes its turn along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.eid import WINDOW_MS
from cmem.model import CompactStarted, Event, Origin, PromptSubmitted, SessionStarted, Unreadable
from cmem.store import evidence, imports, sessions, takeover

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    TakeOver = Callable[[takeover.Held, sessions.Session, PromptSubmitted], None]

NEW, HELD, AWAY = "new", "held", "away"


class Judge:
    """What is known of the prompts of one import. Only ``take_over`` writes: it is called for a
    prompt that claude-mem has told of and that is the host's own from now on."""

    def __init__(
        self, conn: apsw.Connection, host: str, *, since: int, take_over: TakeOver
    ) -> None:
        self._conn, self._host, self._since, self._take_over = conn, host, since, take_over
        self._states: dict[tuple[str, str], str] = {}
        self._last: dict[str, str] = {}
        self.look_again()

    def look_again(self) -> None:
        """The store has changed: prompts may have come, or gone again."""
        self._owners = imports.prompt_owners(self._conn, self._host)

    def begin(self) -> None:
        """Another group of files."""
        self._states.clear()
        self._last.clear()

    def said(self) -> tuple[dict[tuple[str, str], str], dict[str, str]]:
        """What was decided so far in this group, to go back to."""
        return dict(self._states), dict(self._last)

    def go_back(self, said: tuple[dict[tuple[str, str], str], dict[str, str]]) -> None:
        """Nothing was decided since then."""
        self._states, self._last = said
        self.look_again()

    def own(self, origin: Origin) -> None:
        """The prompt came in for its session."""
        if origin.prompt_id:
            self._owners.setdefault(origin.prompt_id, origin.session)

    def state(self, event: Event) -> str:
        """What the event's turn is."""
        origin = event.origin
        key = (origin.session, origin.prompt_id)
        if isinstance(event, PromptSubmitted) and (event.kind == "user" or key not in self._states):
            state = self._of_prompt(event)
            self._states[key] = state
            self._last[origin.session] = state
            return state
        if key in self._states:
            return self._states[key]
        if self._last.get(origin.session) == AWAY or origin.at < self._since:
            return AWAY
        return HELD

    def is_idle(self, event: Event) -> bool:
        """A start of a session of which there is nothing, or a compaction that hooks have told."""
        session = event.origin.session
        if isinstance(event, SessionStarted):
            return sessions.find(self._conn, self._host, session) is None
        if isinstance(event, Unreadable):
            return not event.origin.session
        return isinstance(event, CompactStarted) and self._last.get(session) != NEW

    def _of_prompt(self, event: PromptSubmitted) -> str:
        origin = event.origin
        owner = self._owners.get(origin.prompt_id)
        if origin.at < self._since:
            return AWAY
        found = sessions.find(self._conn, self._host, origin.session)
        uid = sessions.uid_of(self._host, origin.session)
        session = found or sessions.Session(0, uid, 0, "", "", 0)
        shown = imports.turn_of(self._conn, session.id, origin.prompt_id)
        if shown is not None:
            return HELD if shown else AWAY
        if owner is not None or evidence.has_prompt(self._conn, session, event):
            return AWAY
        theirs = takeover.held(
            self._conn, session.id, event.text, at=origin.at, within_ms=WINDOW_MS
        )
        if theirs is not None:
            if theirs.hidden:
                return AWAY
            self._take_over(theirs, session, event)
            return HELD
        if takeover.lost(self._conn, session, at=origin.at, within_ms=WINDOW_MS):
            return AWAY
        # A hook of a host, or of a version, that gives prompts no ids.
        if imports.has_words(self._conn, session.id, event.text, at=origin.at, within_ms=WINDOW_MS):
            return AWAY
        if imports.lost_words(self._conn, session.id, at=origin.at, within_ms=WINDOW_MS):
            return AWAY
        return NEW
