"""The past into the store: each event by the way of captured ones, and nothing twice."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cmem import hooklog, ingest, turn_rules
from cmem.failpoint import FailpointError
from cmem.importers.judge import AWAY, Judge
from cmem.importers.told import Told
from cmem.importers.wanted import Limits, Scope, Wanted
from cmem.model import Answered, Entry, Event, Origin, PromptSubmitted, ToolUsed, TurnEnded
from cmem.store import connection, evidence, imports, projects, remake, sessions, takeover, turns
from cmem.store.connection import transaction
from cmem.take import close_turn, request_summary

if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

PAUSE_S = 0.002  # between transactions, so that a hook's child or another reader gets its turn
_BATCH = 25
_BATCH_BYTES = 128 * 1024


class Count(NamedTuple):
    """What came in, and how much of what was told the store held already (or is of a fork or
    forgotten), is not to have, or could not be taken in by a fault of ours."""

    sessions: int = 0
    prompts: int = 0
    tool_uses: int = 0
    held: int = 0
    withheld: int = 0
    faulty: int = 0


class Past:
    """One import into one store: which prompts it knows, and what it has decided about them."""

    def __init__(
        self, home: str, conn: apsw.Connection, host: str, *, limits: Limits, now: int
    ) -> None:
        self.count = Count()
        self._home, self._conn, self._host, self._now = home, conn, host, now
        self._wanted = Wanted(home, host, limits=limits, counting=True)
        self._judge = Judge(conn, host, since=limits.since, take_over=self._take_over)
        self._locate = ingest.Locator()
        self._met: set[str] = set()
        self._grown: set[str] = set()
        self._resumed: set[tuple[str, str]] = set()

    @property
    def scope(self) -> Scope:
        return self._wanted.scope

    def look_again(self) -> None:
        """Others have written to the store: prompts may have come."""
        self._judge.look_again()

    def take(self, tale: Iterable[Told]) -> None:
        """Everything that one group of files tells, in short transactions; then its end."""
        self._judge.begin()
        self._met.clear()
        self._grown.clear()
        self._resumed.clear()
        batch: list[Entry] = []
        size = 0
        for told in tale:
            entry = self._wanted.entry(told)
            if entry is None:
                self._add(withheld=1)
                continue
            size += len(entry.payload)
            if batch and (len(batch) == _BATCH or size > _BATCH_BYTES):
                self._commit(batch)
                batch, size = [], len(entry.payload)
            batch.append(entry)
        self._commit(batch)
        self._settle()

    def _add(self, **more: int) -> None:
        grown = {name: getattr(self.count, name) + number for name, number in more.items()}
        self.count = self.count._replace(**grown)

    # --- what comes in ----------------------------------------------------------------

    def _commit(self, batch: Sequence[Entry]) -> None:
        """One transaction. Should an event break it by a fault of ours, the others go in one by
        one without it."""
        before, said = self.count, self._judge.said()
        try:
            if batch:
                self._write(batch)
        except (*connection.ENVIRONMENT_ERRORS, FailpointError):
            raise
        except Exception as error:  # noqa: BLE001 - any fault of ours, and nothing is swallowed
            self.count = before
            self._judge.go_back(said)
            if len(batch) > 1:
                for one in batch:
                    self._commit([one])
                return
            hooklog.note(
                self._home, batch[0].event, error, size=len(batch[0].payload), outcome="bad"
            )
            self._add(faulty=1)

    def _write(self, batch: Sequence[Entry]) -> None:
        with transaction(self._conn):
            before = imports.newest_unit(self._conn)
            for entry in batch:
                self._take(ingest.decode(entry))
            imports.claim(self._conn, before)
        time.sleep(PAUSE_S)

    def _take(self, event: Event) -> None:
        origin = event.origin
        if self._judge.state(event) == AWAY or self._judge.is_idle(event):
            self._add(held=1)
            return
        found = sessions.find(self._conn, origin.host, origin.session)
        self._met.add(origin.session)
        self._settle_session(found, origin)
        self._reopen(found, event)
        taken = ingest.take_event(self._conn, event, locate=self._locate, now=self._now)
        if taken.events:
            self._grown.add(origin.session)
        if found is not None and isinstance(event, ToolUsed) and event.outcome == "failed":
            imports.learn_failure(self._conn, found.id, event)
        if isinstance(event, PromptSubmitted):
            self._judge.own(origin)
        self._add(
            sessions=int(found is None and taken.events > 0),
            prompts=int(_is_users(event) and taken.events > 0),
            tool_uses=int(_is_tool(event) and taken.events > 0),
            held=taken.duplicates,
        )

    def _take_over(
        self, theirs: takeover.Held, session: sessions.Session, event: PromptSubmitted
    ) -> None:
        """A prompt that claude-mem has told of is the host's own from now on, and what is missing
        of its turn comes in."""
        standing = turns.standing(self._conn, session.id, prompt_id="")
        if standing.open is not None:
            end = turn_rules.End("interrupted", "next-prompt")
            close_turn(self._conn, standing.open.id, session.id, end, now=self._now)
        sessions.touch(self._conn, session.id, at=event.origin.at)
        takeover.take(self._conn, theirs, session, event)

    def _settle_session(self, found: sessions.Session | None, origin: Origin) -> None:
        """A session that only claude-mem has told of is in the folder that the host tells."""
        if found is None or found.cwd or not origin.cwd:
            return
        if takeover.is_homeless(self._conn, found.id):
            identity = self._locate(origin)
            project = projects.resolve(self._conn, identity, now=self._now)
            takeover.settle(
                self._conn, found.id, cwd=origin.cwd, project=project, source=identity.source
            )

    def _reopen(self, found: sessions.Session | None, event: Event) -> None:
        """A turn that an earlier import took for over goes on where its transcript does."""
        origin = event.origin
        key = (origin.session, origin.prompt_id)
        if found is None or not origin.prompt_id or key in self._resumed:
            return
        fresh = isinstance(event, ToolUsed | TurnEnded | Answered) and not (
            evidence.seen(self._conn, origin.eid)
            or (
                isinstance(event, ToolUsed)
                and evidence.has_tool(self._conn, found, event.tool_use_id)
            )
        )
        if fresh:
            self._resumed.add(key)
            remake.reopen(self._conn, found.id, origin.prompt_id)

    # --- the end of a group -----------------------------------------------------------

    def _settle(self) -> None:
        """Turns that nothing will come to are closed, and sessions that are over ended and
        summarised, in the import's name."""
        with transaction(self._conn):
            before = imports.newest_unit(self._conn)
            for name in sorted(self._met):
                found = sessions.find(self._conn, self._host, name)
                if found is None:
                    continue
                standing = turns.standing(self._conn, found.id, prompt_id="")
                silent = ingest.TURN_IDLE_MS if standing.open else ingest.IDLE_MS
                if not imports.is_idle(self._conn, found.id, self._now - silent):
                    continue
                if standing.open is not None:
                    end = turn_rules.STALE
                    close_turn(self._conn, standing.open.id, found.id, end, now=self._now)
                request_summary(self._conn, found.id, reason="idle", now=self._now)
                if name in self._grown:
                    imports.end(self._conn, found.id, before=self._now - ingest.TURN_IDLE_MS)
            imports.claim(self._conn, before)


def _is_tool(event: Event) -> bool:
    return isinstance(event, ToolUsed)


def _is_users(event: Event) -> bool:
    return isinstance(event, PromptSubmitted) and event.kind == "user"
