"""What an import would take in, found out without writing anything: the same judgement, and each
thing counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem import ingest, spool_check
from cmem.importers.judge import AWAY, Judge
from cmem.importers.past import Count
from cmem.importers.wanted import Limits, Scope, Wanted
from cmem.model import Event, PromptSubmitted, SubagentEnded, ToolUsed
from cmem.store import evidence, sessions

if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

    from cmem.importers.told import Told

_LARGE = ("tool_input", "tool_response")
# What makes a session by itself; of what else is told one only hears with these.
_WEIGHTY = (PromptSubmitted, ToolUsed, SubagentEnded)


class Ahead:
    """One import that is only looked at. ``conn``: a reader of the store, None where there is
    none yet."""

    def __init__(
        self, home: str, conn: apsw.Connection | None, host: str, *, limits: Limits
    ) -> None:
        self._conn, self._host, self._since = conn, host, limits.since
        self._wanted = Wanted(home, host, limits=limits, counting=False)
        self._judge = (
            None
            if conn is None
            else Judge(conn, host, since=limits.since, take_over=lambda *_prompt: None)
        )
        self._waiting = spool_check.identities(home, host)
        self._met: set[tuple[str, ...]] = set()
        self._sessions: set[str] = set()
        self.count = Count()

    @property
    def scope(self) -> Scope:
        return self._wanted.scope

    def take(self, tale: Iterable[Told]) -> bool:
        """Count everything that one group of files tells; whether any of it is new."""
        before = self.count.prompts, self.count.tool_uses, self.count.sessions
        if self._judge is not None:
            self._judge.begin()
        for told in tale:
            entry = self._wanted.entry(self._light(told))
            if entry is None:
                self._add(withheld=1)
            else:
                self._take(ingest.decode(entry))
        return before != (self.count.prompts, self.count.tool_uses, self.count.sessions)

    def _light(self, told: Told) -> Told:
        """Without what a tool was given and answered, most of a transcript, where nobody asks for
        it: the host's id names the call."""
        fields = told.fields
        if self._wanted.has_filters or not fields.get("tool_use_id"):
            return told
        return told._replace(fields=fields | {name: {} for name in _LARGE if name in fields})

    def _add(self, **more: int) -> None:
        grown = {name: getattr(self.count, name) + number for name, number in more.items()}
        self.count = self.count._replace(**grown)

    def _take(self, event: Event) -> None:
        if self._is_held(event):
            self._add(held=1)
            return
        if not isinstance(event, _WEIGHTY):
            return
        name = event.origin.session
        if name not in self._sessions:
            self._sessions.add(name)
            self._add(sessions=int(self._session(name).id == 0))
        if isinstance(event, PromptSubmitted) and self._judge is not None:
            self._judge.own(event.origin)
        self._add(
            prompts=int(isinstance(event, PromptSubmitted) and event.kind == "user"),
            tool_uses=int(isinstance(event, ToolUsed)),
        )

    def _is_held(self, event: Event) -> bool:
        """Whether the store has it or will have it from a hook, or it was met in these files before, or is not to come."""
        origin = event.origin
        if origin.eid in self._waiting:
            return True
        if self._judge is None or self._conn is None:
            return origin.at < self._since or self._is_met(event)
        if self._judge.state(event) == AWAY or evidence.seen(self._conn, origin.eid):
            return True
        session = self._session(origin.session)
        return (
            (isinstance(event, PromptSubmitted) and evidence.has_prompt(self._conn, session, event))
            or (
                isinstance(event, ToolUsed)
                and evidence.has_tool(self._conn, session, event.tool_use_id)
            )
            or self._is_met(event)
        )

    def _session(self, name: str) -> sessions.Session:
        """The store's session; one that is not there (0) where it is new."""
        found = None if self._conn is None else sessions.find(self._conn, self._host, name)
        return found or sessions.Session(0, sessions.uid_of(self._host, name), 0, "", "", 0)

    def _is_met(self, event: Event) -> bool:
        """Whether these files have told of it before, a fork of its session too."""
        if isinstance(event, PromptSubmitted):
            key: tuple[str, ...] = (
                "prompt",
                event.origin.prompt_id or event.origin.eid,
                event.text,
            )
        elif isinstance(event, ToolUsed):
            key = ("tool", event.tool_use_id)
        else:
            return False
        known = key in self._met
        self._met.add(key)
        return known
