"""The past into the store: each event by the way of captured ones, and nothing twice.

A prompt decides about its turn. It is new; or held, by a hook or by an earlier import, and then
what is missing of its turn is added; or away: another session's that a fork has copied, one that
a person has forgotten, one before the time that was asked for. What is away takes its turn along.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cmem import hooklog, ingest, intake, lenient, off, turn_rules
from cmem.eid import WINDOW_MS
from cmem.failpoint import FailpointError
from cmem.importers.told import Told
from cmem.model import (
    Answered,
    CompactStarted,
    Entry,
    Event,
    Origin,
    PromptSubmitted,
    Repo,
    SessionStarted,
    ToolUsed,
    TurnEnded,
    Unreadable,
)
from cmem.repo import read_repo
from cmem.sift import Sieve
from cmem.store import connection, evidence, imports, projects, remake, sessions, takeover, turns
from cmem.store.connection import transaction
from cmem.take import close_turn, request_summary

if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

NEW, HELD, AWAY = "new", "held", "away"
PAUSE_S = 0.002  # between transactions, so that a hook's child or another reader gets its turn
_BATCH = 25
_BATCH_BYTES = 128 * 1024


class Limits(NamedTuple):
    """What of the past is wanted: since when, and of which project (its name, or a folder)."""

    since: int = 0
    project: str = ""


class Scope:
    """Which folders belong to the project that is asked for."""

    def __init__(self, limits: Limits) -> None:
        self._wanted = limits.project
        self._locate = ingest.Locator()
        self._asked = self._met = False

    @property
    def is_missed(self) -> bool:
        """Whether a project is asked for and nothing was of it."""
        return self._asked and not self._met

    def holds(self, cwd: str, repo: Repo | None = None) -> bool:
        """Whether what happened in ``cwd`` is wanted."""
        if not self._wanted:
            return True
        self._asked = True
        held = self._holds(cwd, repo)
        self._met = self._met or held
        return held

    def _holds(self, cwd: str, repo: Repo | None) -> bool:
        if self._wanted.startswith("/"):
            return (cwd + "/").startswith(self._wanted.rstrip("/") + "/")
        found = repo if repo is not None else Repo(*read_repo(cwd))
        origin = Origin("", "", "", "", 0, cwd, found, "", "", "", "")
        return self._locate(origin).name.casefold() == self._wanted.casefold()


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
        self._limits, self.scope = limits, Scope(limits)
        self._locate, self._sieve = ingest.Locator(), Sieve(home)
        self._owners = imports.prompt_owners(conn, host)
        self._states: dict[tuple[str, str], str] = {}
        self._last: dict[str, str] = {}
        self._met: set[str] = set()
        self._resumed: set[tuple[str, str]] = set()
        self._off: dict[tuple[str, str], bool] = {}

    def look_again(self) -> None:
        """Others have written to the store: prompts may have come."""
        self._owners = imports.prompt_owners(self._conn, self._host)

    def take(self, tale: Iterable[Told]) -> None:
        """Everything that one group of files tells, in short transactions; then its end."""
        self._states.clear()
        self._last.clear()
        self._met.clear()
        self._resumed.clear()
        batch: list[Entry] = []
        size = 0
        for told in tale:
            entry = self._entry(told)
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

    # --- what may come in -------------------------------------------------------------

    def _entry(self, told: Told) -> Entry | None:
        """The event as a hook would have captured it, scrubbed and named; None where no hook would
        have, because a person does not want it."""
        taken = intake.take(self._host, told.event, lenient.dumps(told.fields), captured_at=told.at)
        if taken is None or not taken.session:
            return None
        root, common_dir, _branch, _commit = taken.repo
        repo = Repo(root, common_dir, told.branch, "")  # today's commit is none of the past's
        entry = Entry(
            0, taken.eid, self._host, told.event, told.at, taken.cwd, repo, "", taken.payload
        )
        if self._is_off(entry, taken.session) or not self._sieve.kept([entry]):
            return None
        return entry

    def _is_off(self, entry: Entry, session: str) -> bool:
        key = (session, entry.cwd)
        if key not in self._off:
            said = off.reason(self._home, cwd=entry.cwd, repo=entry.repo, session=session)
            self._off[key] = bool(said) or not self.scope.holds(entry.cwd, entry.repo)
        return self._off[key]

    # --- what comes in ----------------------------------------------------------------

    def _commit(self, batch: Sequence[Entry]) -> None:
        """One transaction. Should an event break it by a fault of ours, the others go in one by
        one without it."""
        before = self.count, dict(self._states), dict(self._last)
        try:
            if batch:
                self._write(batch)
        except (*connection.ENVIRONMENT_ERRORS, FailpointError):
            raise
        except Exception as error:  # noqa: BLE001 - any fault of ours, and nothing is swallowed
            self.count, self._states, self._last = before
            self._owners = imports.prompt_owners(self._conn, self._host)
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
        state = self._state(event)
        if state == AWAY or self._is_idle(event):
            self._add(held=1)
            return
        found = sessions.find(self._conn, origin.host, origin.session)
        self._met.add(origin.session)
        self._settle_session(found, origin)
        self._reopen(found, event)
        taken = ingest.take_event(self._conn, event, locate=self._locate, now=self._now)
        if found is not None and isinstance(event, ToolUsed) and event.outcome == "failed":
            imports.learn_failure(self._conn, found.id, event)
        if isinstance(event, PromptSubmitted) and origin.prompt_id:
            self._owners.setdefault(origin.prompt_id, origin.session)
        self._add(
            sessions=int(found is None and taken.events > 0),
            prompts=int(_is_users(event) and taken.events > 0),
            tool_uses=int(_is_tool(event) and taken.events > 0),
            held=taken.duplicates,
        )

    def _state(self, event: Event) -> str:
        origin = event.origin
        key = (origin.session, origin.prompt_id)
        if isinstance(event, PromptSubmitted) and (event.kind == "user" or key not in self._states):
            state = self._judge(event)
            self._states[key] = state
            self._last[origin.session] = state
            return state
        if key in self._states:
            return self._states[key]
        if self._last.get(origin.session) == AWAY or origin.at < self._limits.since:
            return AWAY
        return HELD

    def _is_idle(self, event: Event) -> bool:
        """A start of a session of which there is nothing, or a compaction that hooks have told."""
        session = event.origin.session
        if isinstance(event, SessionStarted):
            return sessions.find(self._conn, self._host, session) is None
        if isinstance(event, Unreadable):
            return not event.origin.session
        return isinstance(event, CompactStarted) and self._last.get(session) != NEW

    def _judge(self, event: PromptSubmitted) -> str:
        origin = event.origin
        owner = self._owners.get(origin.prompt_id)
        if origin.at < self._limits.since:
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
            return AWAY if theirs.hidden else self._take_over(theirs, session, event)
        if takeover.lost(self._conn, session, at=origin.at, within_ms=WINDOW_MS):
            return AWAY
        # A hook of a host, or of a version, that gives prompts no ids.
        if imports.has_words(self._conn, session.id, event.text, at=origin.at, within_ms=WINDOW_MS):
            return AWAY
        if imports.lost_words(self._conn, session.id, at=origin.at, within_ms=WINDOW_MS):
            return AWAY
        return NEW

    def _take_over(
        self, theirs: takeover.Held, session: sessions.Session, event: PromptSubmitted
    ) -> str:
        """A prompt that claude-mem has told of is the host's own from now on, and what is missing
        of its turn comes in."""
        standing = turns.standing(self._conn, session.id, prompt_id="")
        if standing.open is not None:
            end = turn_rules.End("interrupted", "next-prompt")
            close_turn(self._conn, standing.open.id, session.id, end, now=self._now)
        sessions.touch(self._conn, session.id, at=event.origin.at)
        takeover.take(self._conn, theirs, session, event)
        return HELD

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
        """Turns that nothing will come to are closed and sessions that are over summarised, in
        the import's name."""
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
            imports.claim(self._conn, before)


def _is_tool(event: Event) -> bool:
    return isinstance(event, ToolUsed)


def _is_users(event: Event) -> bool:
    return isinstance(event, PromptSubmitted) and event.kind == "user"
