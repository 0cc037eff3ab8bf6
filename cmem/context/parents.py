"""Where the news begin for a session that goes on: with itself, or with the one it was forked from.

No host says whose fork a session is, but Claude Code says how long ago that one was last answered:
who was at work then, in the store or in the spool, is the parent. HOT after a resume or a fork.
"""

from cmem.store import families, further

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

    from cmem import spooled
    from cmem.context.reach import Place
    from cmem.hosts.wire import Wire

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
    from cmem.hosts.wire import HOSTS

    waits = spooled.session(place.home, HOSTS, place.session)
    at = answered if waits is None else waits[1]
    return None if at is None else (at, [])


def _parents(conn: "apsw.Connection", place: "Place", answered: int) -> "list[Parent]":
    """Whose turn ended when the parent was answered, of several at that very moment; where nobody's
    did, who was in the middle of one: a tool may take long after the last answer, and so may a
    model before the next."""
    since, until = answered - EARLIER_MS, answered + LATER_MS
    found = _ended(conn, place, since, until)
    if len(found) > 1:
        near = _ended(conn, place, answered - NEAR_MS, answered + NEAR_MS)
        return near if len(near) == 1 else found
    return found or _in_a_turn(conn, place, since, until)


def _ended(conn: "apsw.Connection", place: "Place", since: int, until: int) -> "list[Parent]":
    from cmem import spooled
    from cmem.store import current

    hosts, family = _hosts(), families.family(conn, place.project)
    stored = current.at(conn, current.ENDED, family, hosts, since=since, until=until)
    waiting = spooled.ended(place.home, hosts, since=since, until=until)
    return _of_place(conn, place, stored, waiting)


def _in_a_turn(conn: "apsw.Connection", place: "Place", since: int, until: int) -> "list[Parent]":
    from cmem import spooled
    from cmem.store import current

    hosts, family = _hosts(), families.family(conn, place.project)
    stored = current.at(conn, current.IN_A_TURN, family, hosts, since=since, until=until)
    silent = current.SILENT_MS
    waiting = spooled.in_a_turn(place.home, hosts, since=since, until=until, silent=silent)
    return _of_place(conn, place, stored, waiting)


def _hosts() -> "dict[str, Wire]":
    """Those that say how long ago a session was answered."""
    from cmem.hosts.wire import HOSTS

    return {name: wire for name, wire in HOSTS.items() if wire.rested}


def _of_place(
    conn: "apsw.Connection",
    place: "Place",
    stored: "list[Parent]",
    waiting: "Iterable[spooled.Session]",
) -> "list[Parent]":
    """Those of the place. A session that is stored is where it was stored; of the others the place
    of their first event is theirs."""
    from cmem import here
    from cmem.store import current

    found = {one[2]: one for one in stored}
    hosts, family = _hosts(), families.family(conn, place.project)
    for host_id, began, cwd, repo, project_env in waiting:
        own = current.session(conn, hosts, host_id)
        if own is None:
            identity = here.parts_at(cwd, repo, {"CMEM_PROJECT": project_env})
            project = families.find_by_identity(conn, identity)  # type: ignore[arg-type]  # same shape
            if project == place.project and place.only_in in ("", cwd):
                found[host_id] = (0, began, host_id)
        elif current.project_of(conn, own[0]) in family:
            found[host_id] = (own[0], own[1], host_id)
    if not place.only_in:
        return list(found.values())
    here_began = further.sessions_in(conn, {one[0] for one in found.values()}, place.only_in)
    return [one for one in found.values() if one[0] in here_began or not one[0]]
