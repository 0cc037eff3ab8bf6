"""What our own observer does is nobody's memory: its events, and the session that only a prompt
gives away. Loaded by a hook when there is a sign of it."""

from cmem import intake, lock, paths, switch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cmem.hosts.wire import Wire
    from cmem.intake import Taken


def kept(
    home: str, event: str, payload: bytes, *, wire: "Wire", taken: "Taken | None"
) -> "Taken | None":
    """The event again if it is the user's after all, else None; a session that is not is off from
    then on, as no other event of it will tell.

    A request inside a prompt is one that an agent was given by way of a program, if a run asks
    just now; else a person has pasted it."""
    if taken is None:
        session = intake.own_session(payload, wire)
    elif wire.kinds.get(event) == "prompt" and _is_asking(home):
        session = taken.session
    else:
        return taken
    if session:
        switch.for_session(home, session, on=False)
    return None


def _is_asking(home: str) -> bool:
    fd = lock.acquire(paths.lock_file(home))
    if fd is not None:
        lock.release(fd)
    return fd is None
