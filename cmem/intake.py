"""From what stood on stdin to what may be stored: scrubbed, small enough, named.

The hook does this before the first byte reaches the disk, and the drain does it again with
spill files; on its own output it changes nothing, so both give an event one name.
"""

from cmem import eid as eids
from cmem import repo as repos
from cmem.hosts.wire import HOSTS
from cmem.privacy import gates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cmem.hosts.wire import Fields, Wire

MAX_STDIN = 8 * 1024 * 1024
MAX_EVENT = 256 * 1024
MAX_BRANCHES = 200_000
_HEAD = 65_536
# The observer of ours that is an agent itself works in a directory of this name.
_OWN_CWD = "/cmem-observer-"


class Taken:
    """An event ready for the spool."""

    __slots__ = ("cwd", "digest", "eid", "payload", "repo", "session", "source", "window")

    payload: bytes
    session: str
    source: str
    cwd: str
    repo: tuple[str, str, str, str]
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
    if _OWN_CWD in found[5]:
        return None
    taken = Taken()
    taken.payload = payload
    taken.session = eids.safe_id(found[0])
    taken.source, taken.cwd = found[4], found[5]
    taken.repo = repos.read_repo(taken.cwd)
    taken.eid, taken.digest, taken.window = eids.derive(
        host, event, wire=wire, fields=found, payload=payload, captured_at=captured_at
    )
    return taken


def place(payload: bytes, wire: "Wire") -> tuple[str, tuple[str, str, str, str], str]:
    """(cwd, repository, session) of a reduced payload by the slow reader, for want of SQLite;
    "" for what it does not tell."""
    from cmem import lenient

    try:
        value = lenient.loads(payload)
    except (ValueError, RecursionError):
        value = None
    found = value if isinstance(value, dict) else {}
    session, cwd = (found.get(wire.paths[at].removeprefix("$.")) for at in (0, 5))
    cwd = cwd if isinstance(cwd, str) else ""
    return cwd, repos.read_repo(cwd), eids.safe_id(session) if isinstance(session, str) else ""


def reduce(raw: bytes, *, wire: "Wire", event: str, size: int = 0) -> bytes:
    """The payload without anything that must not be stored, b"" when there is none. ``size``
    is the true size where only the head was read."""
    payload = raw.removeprefix(b"\xef\xbb\xbf").strip()
    if len(payload) > MAX_BRANCHES:
        branches = payload.count(b"[") + payload.count(b"{") + payload.count(b",")
        if max(size, len(raw)) > MAX_STDIN or branches > MAX_BRANCHES:
            return stub("oversize", payload, event=event, size=max(size, len(raw)))
    large = len(payload) > MAX_EVENT
    # A large one is parsed anyway, and its rules are faster than its gates.
    if not large and not gates.hit(payload):
        return payload
    from cmem.privacy import scrub

    try:
        payload = scrub.scrub_payload(payload, wire.shape)
        if large and len(payload) > MAX_EVENT:
            from cmem.shrink import shrink

            payload = shrink(payload)
    except ValueError:
        return stub("malformed", payload, event=event)
    return payload


def stub(reason: str, payload: bytes, *, event: str, size: int = 0) -> bytes:
    """What is kept of a payload that cannot be: that it was there. None of its text but the
    session's id, and that only if it is a harmless one."""
    session = eids.safe_id(found) if (found := _session(payload[:_HEAD])) else ""
    return (
        f'{{"cmem_stub":"{reason}","bytes":{size or len(payload)},'
        f'"sha256":"{eids.sha256_hex(payload)}",'
        f'"hook_event_name":"{event}","session_id":"{session}"}}'
    ).encode()


def _session(head: bytes) -> str:
    _, mark, rest = head.partition(b'"session_id"')
    start = rest[:16].find(b'"')
    if not mark or start < 0:
        return ""
    value, quote, _ = rest[start + 1 : start + 130].partition(b'"')
    return value.decode("ascii", "replace") if quote else ""


def _fields(payload: bytes, wire: "Wire") -> "Fields | None":
    from cmem import spool

    try:
        text = payload.decode()
    except UnicodeDecodeError:
        return None
    found = spool.fields(text, wire.paths)
    return None if found is None else (found[0], found[1], found[2], found[3], found[4], found[5])


def _mended(payload: bytes, *, wire: "Wire", event: str) -> "tuple[bytes, Fields]":
    """A document SQLite did not take, written anew (NaN, bad UTF-8, lone surrogates), or a
    stub where it is none."""
    from cmem import lenient

    try:
        value = lenient.loads(payload)
        mended = lenient.dumps(value) if isinstance(value, dict) else b""
    except (ValueError, RecursionError):
        mended = b""
    found = _fields(mended, wire) if mended else None
    if found is None:
        mended = stub("malformed", payload, event=event)
        found = _fields(mended, wire) or ("", "", "", "", "", "")
    return mended, found
