"""What one block is made of, read from the store and ranked. HOT."""

from cmem.context import select
from cmem.store import families, recent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from cmem.context.rehydrate import SoFar

SUMMARIES = 5
# Where so many that say something of their own are found, no older ones are looked for.
ENOUGH = 24
MOST_PINNED = 20
NOTES = 10
WIDE = 8
ITEMS = 8
# So far the memories and the open work of a project are counted.
COUNTED = 500
ALL = 2**62


class Read:
    """Rows of one block. ``total`` counts all memories that may be told, ``external`` those that
    may not, ``everywhere`` the notes that hold in every project, ``todo`` the open items;
    ``so_far`` is of a session that was compacted; ``news``: resume or fork, where only what is new
    to such a session is here."""

    __slots__ = (
        "everywhere",
        "external",
        "items",
        "name",
        "news",
        "ranked",
        "so_far",
        "summaries",
        "todo",
        "total",
        "wide",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.ranked: select.Ranked = []
        self.total = 0
        self.external = 0
        self.summaries: Sequence[recent.Summary] = []
        self.wide: list[recent.Observation] = []
        self.items: list[recent.Item] = []
        self.todo = 0
        self.everywhere = 0
        self.news = ""
        self.so_far: SoFar | None = None


def for_directory(
    conn: "apsw.Connection",
    identity: "tuple[str, str, str, str, tuple[tuple[str, str], ...]]",
    *,
    cwd: str,
    branch: str,
    session: str = "",
    source: str = "startup",
    parts: bool | None = False,
    activation: bool = False,
    counted: int = COUNTED + 1,
    home: str = "",
    known: "set[str] | None" = None,
    answered: int | None = None,
) -> Read:
    """What a session that begins in a directory may be told. ``session``: the host's id where it
    goes on, of a fork its parent's; ``parts``: with the numbers of each score, None: without
    reasons; ``counted``: how far memories are; ``known``: what a resumed session was told, and what
    a fork's parent was gets there; ``answered``: when one that goes on was last answered."""
    project = families.find_by_identity(conn, identity)  # type: ignore[arg-type]  # same shape
    own = _running(conn, session) if session and source in ("compact", "resume", "fork") else None
    only_in = cwd if identity[1] == families.UNSORTED else ""
    if source in ("resume", "fork"):
        from cmem.context import reach

        at = reach.Place(project or 0, branch, only_in, source=source, session=session, home=home)
        read = reach.news(conn, at, own, answered, known=known, activation=activation, parts=parts)
        read.name = read.name or identity[2]
        return read
    if project is None:
        read = Read(identity[2])
        _add_wide(conn, read, [])
    else:
        read = for_project(
            conn,
            project,
            branch=branch,
            only_in=only_in,
            session=0 if own is None else own[0],
            parts=parts,
            activation=activation,
            counted=counted,
        )
    if session and source == "compact":
        from cmem.context import so_far

        read.so_far = so_far.of(conn, own, home=home, session=session)
    return read


def _running(conn: "apsw.Connection", session: str) -> tuple[int, int, str] | None:
    """The running session, as it is stored."""
    from cmem.hosts.wire import HOSTS
    from cmem.store import current

    return current.session(conn, HOSTS, session)


def for_project(
    conn: "apsw.Connection",
    project: int,
    *,
    branch: str = "",
    only_in: str = "",
    session: int = 0,
    parts: bool | None = False,
    activation: bool = False,
    counted: int = COUNTED + 1,
) -> Read:
    """What a session of a project may be told; ``only_in``: of sessions that began in that
    directory; ``session``: the one that was compacted, whose memories come first."""
    read = Read(recent.name_of(conn, project)[0])
    family = families.family(conn, project)
    if only_in:
        from cmem.context import reach

        newest, rows, notes = reach.of_folder(
            conn, read, project, folder=only_in, session=session, counted=counted
        )
    else:
        newest = recent.observations(conn, family, select.CANDIDATES)
        rows, notes = _candidates(conn, family, newest, branch=branch)
        read.summaries = recent.summaries(conn, family, SUMMARIES, session=session)
        add_items(read, recent.open_items(conn, family, counted))
        read.total, read.external = recent.counted(conn, family, counted)
    files = files_of(conn, rows)
    if len(newest) == select.CANDIDATES:
        met: dict[object, int] = {}
        told = select.telling(rows, files, met, session=session, most=ENOUGH)
        if len(told) < ENOUGH:
            from cmem.context import reach

            older = reach.older(conn, family, newest[-1], session=session, only_in=only_in)
            left = ENOUGH - len(told)
            rows = reach.back(conn, rows, files, older, met=met, left=left, session=session)
    rank_into(
        conn,
        read,
        rows,
        files=files,
        branch=branch,
        session=session,
        parts=parts,
        notes=notes,
        activation=activation,
    )
    _add_wide(conn, read, family)
    return read


def _candidates(
    conn: "apsw.Connection",
    family: "Sequence[int]",
    newest: "list[recent.Observation]",
    *,
    branch: str,
) -> "tuple[list[recent.Observation], list[recent.Observation]]":
    """(all rows that may be told, the newest first; those of them that were written by hand)."""
    notes = recent.notes(conn, family, NOTES)
    older: list[recent.Observation] = []
    if len(newest) == select.CANDIDATES:
        here = sum([row[12] == branch and not row[7] for row in newest])
        if branch and here < ENOUGH:
            older = recent.of_branch(conn, family, branch, ENOUGH)
        older += recent.pinned(conn, family, MOST_PINNED)
        older += recent.lasting(conn, family, select.LASTING, until=newest[-1][1])
    return once([*newest, *notes, *older]), notes


def once(rows: "Sequence[recent.Observation]") -> "list[recent.Observation]":
    """Each of the rows where it stands first."""
    found: dict[int, recent.Observation] = {}
    for row in rows:
        found.setdefault(row[0], row)
    return list(found.values())


def files_of(
    conn: "apsw.Connection", rows: "Sequence[recent.Observation]"
) -> "dict[int, set[str]]":
    return recent.files(conn, [row[0] for row in rows]) if rows else {}


def details(
    conn: "apsw.Connection | None", ids: "Sequence[int]"
) -> dict[int, tuple[str, list[str]]]:
    """Narrative and facts of a few observations."""
    return recent.details(conn, ids) if ids and conn is not None else {}


def key(conn: "apsw.Connection | None") -> bytes:
    """What the fence is named with."""
    return b"" if conn is None else recent.hmac_key(conn)


def add_items(read: Read, found: "list[recent.Item]") -> None:
    """The newest of what is still to be done, and how much there is."""
    read.items = [one for one in found if one[2] != "external"][:ITEMS]
    read.todo = len(found)


def rank_into(
    conn: "apsw.Connection",
    read: Read,
    rows: list["recent.Observation"],
    *,
    files: "dict[int, set[str]]",
    branch: str,
    session: int = 0,
    parts: bool | None = False,
    notes: "Sequence[recent.Observation]" = (),
    activation: bool = False,
) -> None:
    read.total = max(read.total, len(rows))
    ids = [row[0] for row in rows]
    read.ranked = select.rank(
        rows,
        branch=branch,
        files=files,
        session=session,
        notes={row[0] for row in notes},
        parts=parts,
        met=_met(conn, ids) if activation and ids else None,
    )


def _met(conn: "apsw.Connection", ids: "Sequence[int]") -> dict[int, list[int]]:
    from cmem.context import activation
    from cmem.store import further

    stored = further.reinforced(conn, ids)
    return {ref: activation.days(dates) for ref, dates in stored.items()}


def _add_wide(conn: "apsw.Connection", read: Read, family: "Sequence[int]") -> None:
    """The newest notes that hold in every project, pinned ones first."""
    scope = families.everywhere(conn)
    if not scope or scope[0] in family:
        return
    pins = recent.pinned(conn, scope, WIDE)
    known = {row[0] for row in pins}
    others = recent.observations(conn, scope, WIDE)
    read.wide = [*pins, *(row for row in others if row[0] not in known)][:WIDE]
    if read.wide:
        read.everywhere = recent.counted(conn, scope, COUNTED + 1)[0]
