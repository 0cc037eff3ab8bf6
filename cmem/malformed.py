"""Payloads that SQLite does not read, or that cannot be kept: what is left of them. HOT there."""

from cmem import eid as eids
from cmem import privacy
from cmem import repo as repos

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cmem.hosts.wire import Wire

    # cwd, repository, session, the other folders of a workspace
    Where = tuple[str, tuple[str, str, str, str], str, tuple[str, ...]]

_HEAD = 65_536


def place(payload: bytes, wire: "Wire") -> "Where":
    """(cwd, repository, session, other folders) of a reduced payload by the slow reader, for want
    of SQLite; "" for what it does not tell."""
    from cmem import lenient

    try:
        value = lenient.loads(payload)
    except (ValueError, RecursionError):
        value = None
    session, cwd = (lenient.at(value, wire.paths[place]) for place in (0, 5))
    cwd = cwd if isinstance(cwd, str) else ""
    name = eids.safe_id(session) if isinstance(session, str) else ""
    return cwd, repos.read_repo(cwd), name, roots(payload, wire) if wire.roots else ()


def roots(payload: bytes, wire: "Wire") -> tuple[str, ...]:
    """The folders of a workspace in it, by the slow reader."""
    from cmem import lenient

    try:
        found = lenient.at(lenient.loads(payload), wire.roots)
    except (ValueError, RecursionError):
        found = None
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()


def mended(payload: bytes) -> bytes:
    """A document SQLite did not take (NaN, bad UTF-8, lone surrogates), written anew; b"" where it
    is none."""
    from cmem import lenient

    try:
        value = lenient.loads(payload)
        return lenient.dumps(value) if isinstance(value, dict) else b""
    except (ValueError, RecursionError):
        return b""


def stub(reason: str, payload: bytes, *, wire: "Wire", event: str, size: int = 0) -> bytes:
    """What is kept of a payload that cannot be: that it was there. None of its text but the
    session's id, and that only if it is a harmless one and no secret."""
    name = wire.paths[0].removeprefix("$.")
    found = _session(payload[:_HEAD], name)
    session = eids.safe_id(privacy.beside(found)) if found else ""
    return (
        f'{{"cmem_stub":"{reason}","bytes":{size or len(payload)},'
        f'"sha256":"{eids.sha256_hex(payload)}",'
        f'"hook_event_name":"{event}","{name}":"{session}"}}'
    ).encode()


def _session(head: bytes, name: str) -> str:
    _, mark, rest = head.partition(f'"{name}"'.encode())
    start = rest[:16].find(b'"')
    if not mark or start < 0:
        return ""
    value, quote, _ = rest[start + 1 : start + 130].partition(b'"')
    return value.decode("ascii", "replace") if quote else ""
