"""What of the past is wanted: by time and project, by switches and filters, and scrubbed as a hook
would have scrubbed it."""

from __future__ import annotations

from typing import NamedTuple

from cmem import ingest, intake, lenient, off
from cmem.importers.told import Told
from cmem.model import Entry, Origin, Repo
from cmem.repo import read_repo
from cmem.sift import Sieve


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


class Wanted:
    """What of one import's events may come in. ``counting``: what the filters leave out is
    counted, as where it was captured."""

    def __init__(self, home: str, host: str, *, limits: Limits, counting: bool) -> None:
        self._home, self._host = home, host
        self._sieve, self._counting = Sieve(home), counting
        self._off: dict[tuple[str, str], bool] = {}
        self.scope = Scope(limits)

    @property
    def has_filters(self) -> bool:
        """Whether what a tool call holds can decide about it."""
        return self._sieve.has_rules

    def entry(self, told: Told) -> Entry | None:
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
        if self._is_off(entry, taken.session):
            return None
        kept = self._sieve.keeps(entry) if self._counting else self._sieve.would_keep(entry)
        return entry if kept else None

    def _is_off(self, entry: Entry, session: str) -> bool:
        key = (session, entry.cwd)
        if key not in self._off:
            said = off.reason(self._home, cwd=entry.cwd, repo=entry.repo, session=session)
            self._off[key] = bool(said) or not self.scope.holds(entry.cwd, entry.repo)
        return self._off[key]
