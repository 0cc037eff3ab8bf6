"""What the session-start hook prints: one JSON document, or nothing. HOT."""

import os
import time

from cmem import here, paths
from cmem.context import block, health
from cmem.context.fence import line
from cmem.store import connection, recent

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    Identity = tuple[str, str, str, str, tuple[tuple[str, str], ...]]

# A forked session holds its parent's block, and no host says which session that was.
SILENT = ("fork",)


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
) -> bytes:
    """The complete document for the host; b"" where there is nothing to say.

    ``session`` is the host's id of the running session: after a compaction what it was asked
    and did comes first, and resumed it gets only what is new since its last event. A project
    without memories gets one line for the person, none for the model; a damaged file gets one
    too. ``answer`` is the key under which a host takes the block if it
    has not Claude Code's form; nothing of such a host's is shown to the person.
    """
    resumed = source == "resume"
    if source in SILENT or budget <= 0 or (resumed and not session):
        return b""
    identity = here.parts_at(cwd, repo, {"CMEM_PROJECT": project_env})
    try:
        name, text, trouble = _remembered(
            home, identity, cwd=cwd, branch=repo[2], budget=budget, session=session, source=source
        )
    except Exception as error:
        if not health.is_damage(error):
            raise
        name, text, trouble = identity[2], "", health.MEMORY_DAMAGED
    if resumed and not text:  # the session knows all there is, and was told of any trouble
        return b""
    if answer:
        return f'{{"{answer}":'.encode() + quoted(text) + b"}\n" if text else b""
    return document(text, _message(name, text, trouble))


def _remembered(
    home: str,
    identity: "Identity",
    *,
    cwd: str,
    branch: str,
    budget: int,
    session: str,
    source: str,
) -> tuple[str, str, str]:
    """(the project's name, its block or "", what is wrong or "")."""
    conn = connection.open_reader(home, index=False)
    if conn is None:
        return identity[2], "", _spilling(home)
    connection.begin_reading(conn)
    try:
        found = block.build(
            conn,
            identity,
            cwd=cwd,
            branch=branch,
            budget=budget,
            session=session,
            source=source,
        )
        return found[0], found[1], _spilling(home) or _trouble(conn)
    finally:
        conn.close()


def _message(name: str, text: str, trouble: str) -> str:
    """The line for the person; "" when there is none to say."""
    if trouble:
        return "cmem: " + trouble
    if text:
        return ""
    place = "this folder" if name == "unsorted" else line(name, 120)
    return f"cmem is on: nothing remembered for {place} yet"


def _trouble(conn: "apsw.Connection") -> str:
    return health.stalled(
        oldest_pending=recent.oldest_pending(conn),
        last_success=recent.last_success(conn),
        now=time.time_ns() // 1_000_000,
    )


def _spilling(home: str) -> str:
    """Whether events lie in files because the spool cannot take them. Without such a file, as
    nearly always, one look into a folder is the whole cost."""
    try:
        names = os.listdir(paths.spill_dir(home))
    except OSError:
        return ""
    if not any(name.endswith(".event") for name in names):
        return ""
    from cmem import spool_check

    seen = spool_check.look(home)
    if seen is None or not seen.trouble:
        return ""
    # Neither a spool that another process holds nor one of a newer cmem is damaged.
    if "locked" in seen.trouble or "this cmem knows" in seen.trouble:
        return ""
    return health.SPOOL_DAMAGED


def document(text: str, message: str) -> bytes:
    """The host's JSON for context and message, each only where it is not empty."""
    parts = []
    if message:
        parts.append(b'"systemMessage":' + quoted(message))
    if text:
        parts.append(
            b'"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":'
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
