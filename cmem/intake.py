"""From what stood on stdin to what may be stored: scrubbed, small enough, named.

The hook does this before the first byte reaches the disk, and the drain does it again with
spill files; on its own output it changes nothing, so both give an event one name.
"""

from cmem import eid as eids
from cmem import privacy
from cmem import repo as repos
from cmem.hosts.wire import HOSTS
from cmem.privacy import gates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cmem.hosts.wire import Fields, Wire

MAX_STDIN = 8 * 1024 * 1024
MAX_EVENT = 256 * 1024
MAX_BRANCHES = 200_000
# What a provider of ours that is an agent itself is known by, should its own hooks be ours too:
# the name of the folder it works in, the beginning of its session's id and of its prompt. Each is
# enough.
OWN_FOLDER = "cmem-observer-"
OWN_SESSION = "c3e30b5e-4ef0-4"
OWN_PROMPT = "[cmem observer request]"
OWN_LINE = OWN_PROMPT.encode() + b"\\n"  # as it begins in a JSON text
_OWN_CWD = "/" + OWN_FOLDER


class Taken:
    """An event ready for the spool."""

    __slots__ = (
        *("beside", "cwd", "digest", "eid", "oldest", "payload", "repo", "session", "source"),
        "window",
    )

    payload: bytes
    session: str
    source: str
    cwd: str
    beside: tuple[str, ...]  # the other folders of a workspace
    repo: tuple[str, str, str, str]
    oldest: "list[int]"  # when what waits longest in the spool was captured, once it is known
    eid: str
    digest: str
    window: bool


def take(host: str, event: str, raw: bytes, *, captured_at: int) -> Taken | None:
    """The event in ``raw``, or None when there is nothing of the user's to store."""
    wire = HOSTS.get(host)
    if wire is None or event not in wire.kinds:
        return None
    payload = reduce(raw, wire=wire, event=event)
    return identify(host, event, payload, captured_at=captured_at) if payload else None


def identify(host: str, event: str, payload: bytes, *, captured_at: int) -> Taken | None:
    """A reduced payload with its name and place; None for what our own observer did."""
    wire = HOSTS[host]
    found = _fields(payload, wire)
    if found is None:
        payload, found = _mended(payload, wire=wire, event=event)
    if is_own(found):
        return None
    taken = Taken()
    taken.payload = payload
    taken.session = eids.safe_id(found[0])
    taken.source, taken.cwd = found[4], found[5]
    taken.beside = _roots(payload, wire) if wire.roots else ()
    taken.oldest = []
    root, common_dir, branch, commit = repos.read_repo(taken.cwd)
    taken.repo = (privacy.beside(root), privacy.beside(common_dir), privacy.beside(branch), commit)
    taken.eid, taken.digest, taken.window = eids.derive(
        host, event, wire=wire, fields=found, payload=payload, captured_at=captured_at
    )
    return taken


def is_own(found: "Fields") -> bool:
    """Whether the event is of our own observer's session and not of the user's."""
    return (
        _OWN_CWD in found[5]
        or found[0].startswith(OWN_SESSION)
        or found[3].lstrip('"').startswith(OWN_PROMPT)
    )


def own_session(payload: bytes, wire: "Wire") -> str:
    """The session of a request of our own, where only the prompt tells that it is one; else ""."""
    found = _fields(payload, wire)
    if found is None or not is_own(found) or is_own((*found[:3], "", *found[4:])):
        return ""
    return eids.safe_id(found[0])


def _roots(payload: bytes, wire: "Wire") -> tuple[str, ...]:
    """The folders of a workspace."""
    from cmem import spool

    found = spool.texts(payload.decode("utf-8", "replace"), wire.roots)
    if found is None:
        from cmem import malformed

        return malformed.roots(payload, wire)
    return found


def reduce(raw: bytes, *, wire: "Wire", event: str, size: int = 0) -> bytes:
    """The payload without anything that must not be stored, b"" when there is none. ``size``
    is the true size where only the head was read."""
    payload = raw.removeprefix(b"\xef\xbb\xbf").strip()
    if len(payload) > MAX_BRANCHES:
        branches = len(payload) - len(payload.translate(None, b"[{,"))
        if max(size, len(raw)) > MAX_STDIN or branches > MAX_BRANCHES:
            from cmem import malformed

            whole = max(size, len(raw))
            return malformed.stub("oversize", payload, wire=wire, event=event, size=whole)
    large = len(payload) > MAX_EVENT
    # A large one is parsed anyway, and its rules are faster than its gates.
    if not large and not gates.hit(payload):
        return payload
    from cmem.privacy import scrub

    try:
        payload = scrub.scrub_payload(payload, wire.shape, room=MAX_EVENT)
        if large and len(payload) > MAX_EVENT:
            from cmem.shrink import shrink

            payload = shrink(payload)
    except ValueError:
        from cmem import malformed

        return malformed.stub("malformed", payload, wire=wire, event=event)
    return payload


def _mended(payload: bytes, *, wire: "Wire", event: str) -> "tuple[bytes, Fields]":
    """A document SQLite did not take, written anew, or a stub where it is none."""
    from cmem import malformed

    mended = malformed.mended(payload)
    found = _fields(mended, wire) if mended else None
    if found is None:
        mended = malformed.stub("malformed", payload, wire=wire, event=event)
        found = _fields(mended, wire) or ("", "", "", "", "", "")
    return mended, found


def _fields(payload: bytes, wire: "Wire") -> "Fields | None":
    from cmem import spool

    try:
        text = payload.decode()
    except UnicodeDecodeError:
        return None
    found = spool.fields(text, wire.paths)
    return None if found is None else (found[0], found[1], found[2], found[3], found[4], found[5])
