"""What lies further back than the newest of a project, and what is new to a session that goes on.

Loaded where the newest say too little of their own, and after a compaction or a resume. HOT there.
"""

from cmem.context import gather, select
from cmem.store import families, recent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import apsw

    # From when on, and whose memories are none of the news.
    Since = tuple[int, list[int]]

# So often as many as ``select.CANDIDATES`` are read.
WINDOWS = 4
# The host rounds to whole seconds, and the end of a turn is stored as the time of its hook: within
# 0.4 s of the last answer with a client that has nothing else to do, and so much with others.
EARLIER_MS, LATER_MS = 5_000, 3_000


class Place:
    """Where a session goes on; ``only_in``: of sessions that began in that directory; ``source``:
    resume or fork."""

    __slots__ = ("branch", "only_in", "project", "source")

    def __init__(self, project: int, branch: str, only_in: str, *, source: str) -> None:
        self.project, self.branch, self.only_in, self.source = project, branch, only_in, source


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
        found = recent.others(
            conn, family, select.CANDIDATES, session=session, before=(last[1], last[0])
        )
        here = recent.sessions_in(conn, {row[6] for row in found}, only_in) if only_in else ()
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


def beginning(
    conn: "apsw.Connection",
    place: Place,
    own: tuple[int, int, str] | None,
    answered: int | None,
    *,
    home: str,
    known: set[str],
) -> "Since":
    """Where the news begin for a session that goes on: with itself, with the one that it was forked
    from, or, where neither is known, with its last answer. ``known`` gets what a parent was told
    that was found."""
    if own is not None:
        return own[1], [own[0]]
    at = answered or 0
    if place.source != "fork":
        return at, []
    parents = _parents(conn, place, at)
    if len(parents) != 1:  # whoever it was knows what it has done
        return at, [ref for ref, _at, _host_id in parents]
    from cmem.context import shown

    ref, at, host_id = parents[0]
    known |= shown.read(home, host_id)
    return at, [ref]


def _parents(conn: "apsw.Connection", place: Place, answered: int) -> "list[tuple[int, int, str]]":
    """The sessions whose agent did something when a fork's parent was last answered."""
    from cmem.hosts.wire import HOSTS
    from cmem.store import current

    hosts = [name for name, wire in HOSTS.items() if wire.rested]
    family = families.family(conn, place.project)
    found = current.at_work(
        conn, family, hosts, since=answered - EARLIER_MS, until=answered + LATER_MS
    )
    if place.only_in:
        here = recent.sessions_in(conn, {one[0] for one in found}, place.only_in)
        found = [one for one in found if one[0] in here]
    return found


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
    found = recent.others(conn, family, gather.COUNTED + 1, session=session, after=at)
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
