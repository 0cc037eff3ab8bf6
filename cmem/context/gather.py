"""What one block is made of, read from the store and ranked. HOT."""

from cmem.context import select
from cmem.store import projects, recent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from cmem.store.current import Own, Turn

SUMMARIES = 5
MOST_PINNED = 20
NOTES = 10
WIDE = 8
ITEMS = 8


class Read:
    """Rows of one block. ``external`` counts what may not be shown; ``session``, ``turns`` and
    ``own`` are of a session that was compacted; ``resumed``: only what is new to one is here."""

    __slots__ = (
        "external",
        "items",
        "name",
        "own",
        "ranked",
        "resumed",
        "session",
        "summaries",
        "turns",
        "wide",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.ranked: select.Ranked = []
        self.external = 0
        self.summaries: Sequence[recent.Summary] = []
        self.wide: list[recent.Observation] = []
        self.items: list[tuple[int, str, str]] = []
        self.resumed = False
        self.session = 0
        self.turns: list[Turn] = []
        self.own: list[Own] = []


def for_directory(
    conn: "apsw.Connection",
    identity: "tuple[str, str, str, str, tuple[tuple[str, str], ...]]",
    *,
    cwd: str,
    branch: str,
    session: str = "",
    source: str = "startup",
    parts: bool = False,
    activation: bool = False,
) -> Read:
    """What a session that begins in a directory may be told. ``session``: the host's id, which
    a compaction and a resume need; ``parts``: with the numbers of each score; ``activation``: the
    setting of that name."""
    project = projects.find_by_identity(conn, identity)  # type: ignore[arg-type]  # same shape
    if project is None:
        read = Read(identity[2])
        if source != "resume":
            read.wide = _wide(conn, [])
        return read
    own = None
    if session and source in ("compact", "resume"):
        from cmem.hosts.wire import HOSTS
        from cmem.store import current

        own = current.session(conn, HOSTS, session)
    if source == "resume" and own is None:
        return Read(identity[2])
    only_in = cwd if identity[1] == projects.UNSORTED else ""
    if source == "resume" and own is not None:
        return _since(conn, project, only_in=only_in, branch=branch, own=own, activation=activation)
    read = for_project(
        conn,
        project,
        branch=branch,
        only_in=only_in,
        session=0 if own is None else own[0],
        parts=parts,
        activation=activation,
    )
    if own is not None:
        _add_so_far(conn, read, own[0])
    return read


def for_project(
    conn: "apsw.Connection",
    project: int,
    *,
    branch: str = "",
    only_in: str = "",
    session: int = 0,
    parts: bool = False,
    activation: bool = False,
) -> Read:
    """What a session of a project may be told; ``only_in``: of sessions that began in that
    directory; ``session``: the one that was compacted, whose memories come first."""
    name, key = recent.name_of(conn, project)
    read = Read(name)
    family = projects.family(conn, project)
    rows = recent.observations(conn, family, select.CANDIDATES)
    notes = recent.notes(conn, key, NOTES, folder=only_in)
    older = recent.pinned(conn, family, MOST_PINNED) if len(rows) == select.CANDIDATES else []
    known = {row[0] for row in rows}
    for row in (*notes, *older):
        if row[0] not in known:
            known.add(row[0])
            rows.append(row)
    read.summaries = recent.summaries(conn, family, SUMMARIES)
    if only_in:
        rows = _keep_only(conn, read, rows, only_in)
    else:
        items = recent.open_items(conn, family, ITEMS)
        read.items = [one for one in items if one[2] != "external"]
    _rank(
        conn,
        read,
        rows,
        branch=branch,
        session=session,
        parts=parts,
        notes=notes,
        activation=activation,
    )
    read.wide = _wide(conn, family)
    return read


def details(conn: "apsw.Connection", ids: "Sequence[int]") -> dict[int, tuple[str, list[str]]]:
    """Narrative and facts of a few observations."""
    return recent.details(conn, ids) if ids else {}


def key(conn: "apsw.Connection") -> bytes:
    """What the fence is named with."""
    return recent.hmac_key(conn)


def _since(
    conn: "apsw.Connection",
    project: int,
    *,
    only_in: str,
    branch: str,
    own: tuple[int, int],
    activation: bool,
) -> Read:
    """What other sessions added since the last event of a session that goes on."""
    read = Read(recent.name_of(conn, project)[0])
    read.resumed = True
    family = projects.family(conn, project)
    session, at = own
    rows = recent.observations(conn, family, select.CANDIDATES)
    rows = [row for row in rows if row[1] > at and row[6] != session]
    found = recent.summaries(conn, family, SUMMARIES)
    read.summaries = [row for row in found if row[2] > at and row[1] != session]
    if only_in:
        rows = _keep_only(conn, read, rows, only_in)
    _rank(conn, read, rows, branch=branch, activation=activation)
    return read


def _add_so_far(conn: "apsw.Connection", read: Read, session: int) -> None:
    from cmem.context import rehydrate
    from cmem.store import current

    read.session = session
    read.turns = current.turns(conn, session, rehydrate.TURNS)
    own = current.observations(conn, session, rehydrate.OBSERVATIONS)
    read.own = [one for one in own if one[1][4] != "external"]


def _keep_only(
    conn: "apsw.Connection", read: Read, rows: list["recent.Observation"], cwd: str
) -> list["recent.Observation"]:
    met = {row[6] for row in rows} | {row[1] for row in read.summaries}
    here = recent.sessions_in(conn, met, cwd)
    read.summaries = [row for row in read.summaries if row[1] in here]
    return [row for row in rows if row[6] in here]


def _rank(
    conn: "apsw.Connection",
    read: Read,
    rows: list["recent.Observation"],
    *,
    branch: str,
    session: int = 0,
    parts: bool = False,
    notes: "Sequence[recent.Observation]" = (),
    activation: bool = False,
) -> None:
    rows, read.external = select.visible(rows)
    ids = [row[0] for row in rows]
    read.ranked = select.rank(
        rows,
        branch=branch,
        files=recent.files(conn, ids) if ids else {},
        session=session,
        notes={row[0] for row in notes},
        parts=parts,
        met=_met(conn, ids) if activation and ids else None,
    )


def _met(conn: "apsw.Connection", ids: "Sequence[int]") -> dict[int, list[int]]:
    from cmem.context import activation

    stored = recent.reinforced(conn, ids)
    return {ref: activation.days(dates) for ref, dates in stored.items()}


def _wide(conn: "apsw.Connection", family: "Sequence[int]") -> list["recent.Observation"]:
    """The newest notes that hold in every project, pinned ones first."""
    scope = projects.everywhere(conn)
    if not scope or scope[0] in family:
        return []
    rows = select.visible(recent.observations(conn, scope, WIDE))[0]
    return sorted(rows, key=lambda row: -row[3])
