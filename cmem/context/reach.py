"""What lies further back than the newest of a project, what is new to a session that goes on, and
what is known of a folder that is no project.

Loaded where the newest say too little of their own, after a resume or a fork, and in such a folder.
HOT there.
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
    if only_in:
        from cmem.store import folder

        here = folder.sessions(conn, family[0], only_in)
    for _ in range(WINDOWS - 1):
        before = (last[1], last[0])
        if only_in:
            found = folder.newest(conn, here, select.CANDIDATES, session=session, before=before)
        else:
            found = further.others(conn, family, select.CANDIDATES, session=session, before=before)
        yield found
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


def of_folder(
    conn: "apsw.Connection",
    read: gather.Read,
    project: int,
    *,
    folder: str,
    session: int,
    counted: int,
) -> "tuple[list[recent.Observation], list[recent.Observation], list[recent.Observation]]":
    """(the newest of a folder that is no project, all of its rows that may be told, those of them
    that were written by hand); ``read`` gets the rest, and nothing of other folders."""
    from cmem.store import folder as folders

    here = folders.sessions(conn, project, folder)
    newest = folders.newest(conn, here, select.CANDIDATES)
    notes = recent.notes(conn, [project], gather.NOTES, folder=folder)
    older: list[recent.Observation] = []
    if len(newest) == select.CANDIDATES:
        older = folders.lasting(
            conn,
            project,
            folder,
            until=newest[-1][1],
            pinned=gather.MOST_PINNED,
            others=select.LASTING,
        )
    read.summaries = folders.summaries(conn, here, gather.SUMMARIES, session=session)
    gather.add_items(read, folders.open_items(conn, project, folder, limit=counted))
    read.total, read.external = folders.counted(conn, project, folder, here=here, limit=counted)
    return newest, gather.once([*newest, *notes, *older]), notes


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
    at, (session, *more) = begun[0], begun[1] or [0]
    found, summaries, items = _since(conn, place, at, session=session)
    read.summaries = [
        r for r in summaries if r[2] > at and r[1] not in more and f"S{r[0]}" not in known
    ]
    found = [row for row in found if row[6] not in more and f"O{row[0]}" not in known]
    gather.add_items(read, [one for one in items if f"W{one[0]}" not in known])
    everywhere = further.others(
        conn, families.everywhere(conn), gather.COUNTED + 1, session=0, after=at
    )
    wide = [row for row in everywhere if f"O{row[0]}" not in known]
    read.everywhere = len(wide)
    read.wide = sorted(wide, key=lambda row: -row[3])[: gather.WIDE]
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


def _since(
    conn: "apsw.Connection", place: Place, at: int, *, session: int
) -> "tuple[list[recent.Observation], list[recent.Summary], list[recent.Item]]":
    """(what other sessions of the place than one made after a time, their newest summaries, what
    was opened after it and is still to be done)."""
    many = gather.COUNTED + 1
    if place.only_in:
        from cmem.store import folder

        here = folder.sessions(conn, place.project, place.only_in)
        return (
            folder.newest(conn, here, many, session=session, after=at),
            folder.summaries(conn, here, gather.SUMMARIES, session=session),
            folder.open_items(conn, place.project, place.only_in, limit=many, after=at),
        )
    family = families.family(conn, place.project)
    return (
        further.others(conn, family, many, session=session, after=at),
        recent.summaries(conn, family, gather.SUMMARIES, session=session),
        recent.open_items(conn, family, many, after=at),
    )
