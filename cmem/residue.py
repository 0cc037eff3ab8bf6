"""What may hold a forgotten text below the data home and is no store, nor a copy of one.

Nobody can take a row out of a damaged file or out of an event that could not be read, so such a
file goes as a whole: one that was put aside after the text was told, an event of a session that
goes, an event that shares a stretch of the text. What a killed run has left half done goes too.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from cmem import fsutil, paths
from cmem.store import folded, forget, identities, stored_text

if TYPE_CHECKING:
    import apsw

    from cmem.store.forget import Plan

QUARANTINE = "quarantine"
BAD = "bad"
# Folders in which a store is made ready, and files with the process that writes them.
WORKSHOPS = ("restoring", "repairing")
_BACKUP = re.compile(r"\.tmp(-journal|-wal|-shm)?\Z")
_EDITED = re.compile(r"(?:edit|claude-mem)-(\d+)-")
_SPILLED = re.compile(r"-(\d+)\.tmp\Z")
_MADE_AT = re.compile(r"-(\d{12,15})\Z")
# A text that is shorter is shared by accident.
SHARED = 16
_MOST = 16 * 1024 * 1024


class Doomed(NamedTuple):
    """``aside``: folders put aside after the first of the texts was told; ``events``: files of
    events that could not be taken in; ``left``: what killed runs have left."""

    aside: tuple[str, ...]
    events: tuple[str, ...]
    left: tuple[str, ...]

    @property
    def told(self) -> tuple[str, ...]:
        """What a person may miss."""
        return (*self.aside, *self.events)


def find(home: str, conn: apsw.Connection, plan: Plan, *, word: str = "") -> Doomed:
    """The files that go with the rows of the plan, asked before these are erased; ``word`` is a
    text that is named itself. Under the lock of ``compress``: nobody makes a copy meanwhile."""
    events = tuple(_events(home, conn, plan, word))
    return Doomed(
        tuple(_aside(home, identities.first_told(conn, plan))), events, tuple(_left(home))
    )


def put_aside(home: str, conn: apsw.Connection, observation: int) -> tuple[str, ...]:
    """What was put aside since the observation was told, and so may hold words of it."""
    told = forget.Plan(observations=(observation,))
    return tuple(_aside(home, identities.first_told(conn, told)))


def remove(doomed: Doomed) -> None:
    """Take the files away."""
    for path in (*doomed.aside, *doomed.events, *doomed.left):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)


def shares(text: str, told: Callable[[], Iterable[str]]) -> bool:
    """Whether a text holds a stretch of one of the texts, compared as a search does."""
    flat = folded.text(text)
    pieces = {flat[at : at + SHARED] for at in range(len(flat) - SHARED + 1)}
    for one in told():
        given = folded.text(one)
        if len(given) <= SHARED:
            if len(given) > SHARED // 2 and given in flat:
                return True
        elif any(given[at : at + SHARED] in pieces for at in range(len(given) - SHARED + 1)):
            return True
    return False


def texts(conn: apsw.Connection, plan: Plan) -> Iterator[str]:
    """Every text of the rows and turns of the plan; of a document its words."""
    for kind, refs in {**plan.rows, "turn": plan.turns}.items():
        for stored in stored_text.of(conn, kind, refs):
            for name, text in stored.texts.items():
                yield folded.document(text) if name in stored.documents else text


def _aside(home: str, first: int | None) -> Iterator[str]:
    """What was put aside when the text had been told already."""
    folder = os.path.join(home, QUARANTINE)
    for name in _names(folder):
        path = os.path.join(folder, name)
        made = _MADE_AT.search(name)
        at = int(made[1]) if made else int(os.lstat(path).st_mtime * 1000)
        if first is not None and at >= first:
            yield path


def _events(home: str, conn: apsw.Connection, plan: Plan, word: str) -> Iterator[str]:
    folder = os.path.join(paths.spill_dir(home), BAD)
    names = _names(folder)
    if not names:
        return
    gone = identities.names(conn, plan.sessions)
    named = folded.text(word)
    for name in names:
        path = os.path.join(folder, name)
        text = _payload(path)
        if (
            any(one and one in text for one in gone)
            or (named and named in folded.text(text))
            or shares(text, lambda: texts(conn, plan))
        ):
            yield path


def _payload(path: str) -> str:
    """What the file says, the words of its document where it is one."""
    if os.path.islink(path) or not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        data = file.read(_MOST)
    head, _, rest = data.decode("utf-8", "replace").partition("\n")
    return f"{head}\n{folded.document(rest)}\n{rest}"


def _left(home: str) -> Iterator[str]:
    yield from (path for name in WORKSHOPS if os.path.lexists(path := os.path.join(home, name)))
    for folder, pattern in (
        (os.path.join(home, "backups"), _BACKUP),
        (home, _EDITED),
        (paths.spill_dir(home), _SPILLED),
    ):
        for name in _names(folder):
            found = pattern.search(name)
            if found and (pattern is _BACKUP or not fsutil.is_alive(int(found[1]))):
                yield os.path.join(folder, name)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
