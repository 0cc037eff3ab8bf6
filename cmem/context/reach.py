"""What lies further back than the newest of a project, and what is new to a session that goes on.

Loaded where the newest say too little of their own, and after a compaction or a resume. HOT there.
"""

from cmem.context import gather, select
from cmem.store import families, further, recent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import apsw

    from cmem.context.parents import Since

# So often as many as ``select.CANDIDATES`` are read.
WINDOWS = 4


class Place:
    """Where a session goes on; ``only_in``: of sessions that began in that directory; ``source``:
    resume or fork; ``session``: the host's id of it, "" of a fork."""

    __slots__ = ("branch", "home", "only_in", "project", "session", "source")

    def __init__(
        self, project: int, branch: str, only_in: str, *, source: str, session: str, home: str
    ) -> None:
        self.project, self.branch, self.only_in, self.source = project, branch, only_in, source
        self.session, self.home = session, home


def older(
    conn: "apsw.Connection",
    family: "Sequence[int]",
    last: "recent.Observation",
    *,
    session: int,
    only_in: str,
) -> "Iterator[list[recent.Observation]]":
    """What was made before the last of the newest, by other sessions, in pieces."""
    for _ in range(WINDOWS - 1):
        found = further.others(
            conn, family, select.CANDIDATES, session=session, before=(last[1], last[0])
        )
        here = further.sessions_in(conn, {row[6] for row in found}, only_in) if only_in else ()
        yield [row for row in found if row[6] in here] if only_in else found
        if len(found) < select.CANDIDATES:
            return
        last = found[-1]


def back(
    conn: "apsw.Connection",
    rows: "list[recent.Observation]",
    files: "dict[int, set[str]]",
    older: "Iterable[list[recent.Observation]]",
    *,
    met: dict[object, int],
    left: int,
    session: int = 0,
) -> "list[recent.Observation]":
    """The rows, of which too few say something of their own, with ``left`` older ones that do, or
    else others; ``files`` gets theirs, ``met`` has the topics of those."""
    known = {row[0] for row in rows}
    spare: list[recent.Observation] = []
    for piece in older:
        news = [row for row in piece if row[0] not in known]
        files |= gather.files_of(conn, news)
        found = select.telling(news, files, met, session=session, most=select.CANDIDATES)
        rows = [*rows, *found]
        left -= len(found)
        if left <= 0:
            return rows
        taken = {row[0] for row in found}
        spare += [row for row in news if row[0] not in taken]
    return [*rows, *spare[:left]]


def news(
    conn: "apsw.Connection",
    place: Place,
    own: tuple[int, int, str] | None,
    answered: int | None,
    *,
    known: set[str] | None,
    activation: bool,
    parts: bool | None,
) -> gather.Read:
    """What is new to a session that goes on. ``own``: it or, of a fork that was asked about, its
    parent, as it is stored; ``answered``: when that one was last answered. ``known``: what it was
    told; what a parent was told that is found comes to it."""
    from cmem.context import parents

    known = set() if known is None else known
    begun = parents.beginning(conn, place, own, answered, known=known)
    if begun is None:  # nobody can say
        return gather.Read(recent.name_of(conn, place.project)[0])
    return since(conn, place, begun, known, activation=activation, parts=parts)


def since(
    conn: "apsw.Connection",
    place: Place,
    begun: "Since",
    known: "Collection[str]",
    *,
    activation: bool,
    parts: bool | None,
) -> gather.Read:
    """What others than some sessions added since a time, but for what the session that goes on was
    told when it was resumed before: its block told the rest."""
    read = gather.Read(recent.name_of(conn, place.project)[0])
    read.news = place.source
    family = families.family(conn, place.project)
    at, (session, *more) = begun[0], begun[1] or [0]
    found = further.others(conn, family, gather.COUNTED + 1, session=session, after=at)
    summaries = recent.summaries(conn, family, gather.SUMMARIES, session=session)
    read.summaries = [
        r for r in summaries if r[2] > at and r[1] not in more and f"S{r[0]}" not in known
    ]
    if place.only_in:
        found = gather.keep_only(conn, read, found, place.only_in)
    found = [row for row in found if row[6] not in more and f"O{row[0]}" not in known]
    size = select.CANDIDATES
    pieces = [found[at : at + size] for at in range(0, size * WINDOWS, size)]
    files = gather.files_of(conn, pieces[0])
    met: dict[object, int] = {}
    left = gather.ENOUGH - len(select.telling(pieces[0], files, met, most=gather.ENOUGH))
    rows = pieces[0]
    if left > 0:
        rows = back(conn, rows, files, pieces[1:], met=met, left=left)
    read.total = len(found)
    gather.rank_into(
        conn, read, rows, files=files, branch=place.branch, activation=activation, parts=parts
    )
    return read
