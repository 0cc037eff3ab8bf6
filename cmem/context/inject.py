"""What the session-start hook prints: one JSON document, or nothing. HOT."""

import time

from cmem import here
from cmem.context import block, gather, watch
from cmem.context.fence import line
from cmem.store import reading, recent

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    Identity = tuple[str, str, str, str, tuple[tuple[str, str], ...]]

# These hold their block, and all that they did, or the session that they were forked from.
GOES_ON = ("resume", "fork")


def session_start(
    home: str,
    *,
    source: str,
    cwd: str,
    repo: "tuple[str, str, str, str]",
    project_env: str,
    budget: int,
    session: str = "",
    answer: str = "",
    activation: bool = False,
    told: "list[str] | None" = None,
    oldest: int | None = None,
    ending: bool = False,
    known: "set[str] | None" = None,
    answered: int | None = None,
) -> bytes:
    """The complete document for the host; b"" where there is nothing to say.

    ``session``, the host's id: compacted, it gets what it was asked and did first; resumed, only
    what others did since it began and is not ``known`` to it. Of a fork it is the parent's, or ""
    where only when it was ``answered`` tells that; ``known`` gets what that was told. ``answer``:
    the key under which a host takes the block if it has not Claude Code's form; its person is told
    nothing. ``told`` gets the block's ids, ``oldest``: of the spool, ``ending``: it ends."""
    outside = watch.outside(home, oldest=oldest, now=_now())
    if budget <= 0 or _is_lost(source, session, answered):
        return document("", f"cmem: {outside}") if outside and not answer else b""
    identity = here.parts_at(cwd, repo, {"CMEM_PROJECT": project_env})
    try:
        name, text, trouble, counts = _remembered(
            home,
            identity,
            cwd=cwd,
            branch=repo[2],
            budget=budget,
            session=session,
            source=source,
            activation=activation,
            told=[] if told is None else told,
            ending=ending,
            known=set() if known is None else known,
            answered=answered,
        )
    except Exception as error:
        if not (trouble := _damage(error)):
            raise
        name, text, counts = identity[2], "", (0, 0)
    if answer:
        return f'{{"{answer}":'.encode() + quoted(text) + b"}\n" if text else b""
    return document(text, _message(name, text, outside or trouble, known=counts, source=source))


def _is_lost(source: str, session: str, answered: int | None) -> bool:
    """Whether a session holds its block, and nobody can say what is new to it."""
    return source in GOES_ON and not session and (source == "resume" or answered is None)


def _remembered(
    home: str,
    identity: "Identity",
    *,
    cwd: str,
    branch: str,
    budget: int,
    session: str,
    source: str,
    activation: bool,
    told: list[str],
    ending: bool,
    known: set[str],
    answered: int | None,
) -> tuple[str, str, str, tuple[int, int]]:
    """(the project's name, its block or "", what is wrong or "", how many memories there are and
    how many of them came from outside sources)."""
    conn = reading.open_reader(home, index=False)
    if conn is None:
        text = ""
        if session and source == "compact":
            text = block.of_waiting(home, identity[2], session=session, budget=budget)
        return identity[2], text, "", (0, 0)
    reading.begin_reading(conn)
    try:
        found = block.build(
            conn,
            identity,
            cwd=cwd,
            branch=branch,
            budget=budget,
            session=session,
            source=source,
            activation=activation,
            home=home,
            known=known,
            answered=answered,
        )
        told += [ref for ref, _why in found[3]]
        return found[0], found[1], _trouble(conn), (found[4], found[5])
    finally:
        reading.let_go(conn, ending=ending)


def _message(name: str, text: str, trouble: str, *, known: tuple[int, int], source: str) -> str:
    """The line for the person; "" when there is none to say."""
    if trouble:
        return "cmem: " + trouble
    if text or source in (*GOES_ON, "compact"):
        return ""  # one that goes on knows all there is
    from cmem.context import health

    place = "this folder" if name == "unsorted" else line(name, 120)
    return "cmem is on: " + health.untold(place, *known, counted=gather.COUNTED)


def _damage(error: Exception) -> str:
    """What to say of a memory that cannot be read; "" for any other error."""
    from cmem.context import health

    return health.MEMORY_DAMAGED if health.is_damage(error) else ""


def _now() -> int:
    return time.time_ns() // 1_000_000


def _trouble(conn: "apsw.Connection") -> str:
    oldest, now = recent.oldest_pending(conn), _now()
    if oldest is None or now - oldest <= watch.DAY_MS:
        return ""
    from cmem.context import health
    from cmem.store import further

    return health.stalled(oldest_pending=oldest, last_success=further.last_success(conn), now=now)


def document(text: str, message: str, *, event: str = "SessionStart") -> bytes:
    """The host's JSON for context and message, each only where it is not empty."""
    parts = []
    if message:
        parts.append(b'"systemMessage":' + quoted(message))
    if text:
        parts.append(
            f'"hookSpecificOutput":{{"hookEventName":"{event}","additionalContext":'.encode()
            + quoted(text)
            + b"}"
        )
    return b"{" + b",".join(parts) + b"}\n" if parts else b""


def quoted(text: str) -> bytes:
    """The text as a JSON string in UTF-8. A line break is all that a block usually needs
    besides quotes: the C accelerator is loaded for the others."""
    if text.replace("\n", "").isprintable():
        plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{plain}"'.encode("utf-8", "replace")
    try:
        from _json import encode_basestring
    except ImportError:  # a Python without its C accelerator
        from json.encoder import encode_basestring
    return str(encode_basestring(text)).encode("utf-8", "replace")
