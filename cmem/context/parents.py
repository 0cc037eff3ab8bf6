"""Where the news begin for a session that goes on: with itself, or with the one it was forked from.

No host says whose fork a session is, but Claude Code says how long ago that one was last answered:
who was at work then, in the store or in the spool, is the parent. HOT after a resume or a fork.
"""

from cmem.store import families, further

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import apsw

    from cmem import spooled
    from cmem.context.reach import Place

    # From when on, and whose memories are none of the news.
    Since = tuple[int, list[int]]
    Parent = tuple[int, int, str]  # number, when it began, its host's id

# The host rounds to whole seconds, and the end of a turn is stored as the time of its hook: within
# 0.4 s of the last answer with a client that has nothing else to do, and so much with others.
EARLIER_MS, LATER_MS = 5_000, 3_000
# Of several the one that was at work so near to that moment.
NEAR_MS = 1_000


def beginning(
    conn: "apsw.Connection",
    place: "Place",
    own: tuple[int, int, str] | None,
    answered: int | None,
    *,
    known: set[str],
) -> "Since | None":
    """From when on there is news for a session that goes on, None where nobody can say."""
    if own is not None:
        return own[1], [own[0]]
    if place.source != "fork":
        return _waiting_since(place, answered)
    if answered is None:
        return None
    parents = _parents(conn, place, answered)
    if len(parents) != 1:  # whoever it was knows what it has done
        return answered, [ref for ref, _at, _host_id in parents]
    from cmem.context import shown

    ref, at, host_id = parents[0]
    known |= shown.read(place.home, host_id)
    return at, [ref]


def _waiting_since(place: "Place", answered: int | None) -> "Since | None":
    """Of a session that is resumed and not stored: since it began, where the spool knows, else
    since it was last answered."""
    from cmem import spooled

    waits = spooled.session(place.home, place.session) if place.home else None
    at = answered if waits is None else waits[1]
    return None if at is None else (at, [])


def _parents(conn: "apsw.Connection", place: "Place", answered: int) -> "list[Parent]":
    """Who did something when the parent was answered or, where nobody did, was in a turn then: a
    tool may take long after the last answer, and so may a model before the next. Of several those
    that did something at that very moment."""
    since, until = answered - EARLIER_MS, answered + LATER_MS
    found = _at_work(conn, place, since=since, until=until)
    if not found:
        return _at_work(conn, place, since=since, until=until, turns=True)
    if len(found) > 1:
        near = _at_work(conn, place, since=answered - NEAR_MS, until=answered + NEAR_MS)
        return near if len(near) == 1 else found
    return found


def _at_work(
    conn: "apsw.Connection", place: "Place", *, since: int, until: int, turns: bool = False
) -> "list[Parent]":
    """The sessions of the place whose agent did something in that time, or was in a turn then."""
    from cmem import spooled
    from cmem.hosts.wire import HOSTS
    from cmem.store import current

    hosts = {name: wire for name, wire in HOSTS.items() if wire.rested}
    family = families.family(conn, place.project)
    found = current.at_work(conn, family, hosts, since=since, until=until, turns=turns)
    if place.only_in:
        here = further.sessions_in(conn, {one[0] for one in found}, place.only_in)
        found = [one for one in found if one[0] in here]
    stored = {host_id for _ref, _at, host_id in found}
    silent = current.SILENT_MS if turns else None
    waiting = spooled.at_work(place.home, hosts, since=since, until=until, silent=silent)
    known = _stored(conn, place, waiting, hosts)
    return [*found, *(one for one in known if one[2] not in stored)]


def _stored(
    conn: "apsw.Connection",
    place: "Place",
    waiting: "Iterable[spooled.Session]",
    hosts: "Iterable[str]",
) -> "Iterator[Parent]":
    """Those of the place, with what is stored of them already."""
    from cmem import here
    from cmem.store import current

    for host_id, began, cwd, repo, project_env in waiting:
        identity = here.parts_at(cwd, repo, {"CMEM_PROJECT": project_env})
        project = families.find_by_identity(conn, identity)  # type: ignore[arg-type]  # same shape
        if project == place.project and place.only_in in ("", cwd):
            own = current.session(conn, hosts, host_id)
            yield (0, began, host_id) if own is None else (own[0], own[1], host_id)
