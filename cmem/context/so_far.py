"""What a session that was compacted was asked and has done, read from the store, the spool and its files. HOT
after a compaction only.
"""

import os

from cmem import paths
from cmem.context import fence, rehydrate
from cmem.hosts.wire import NOTIFICATION
from cmem.store import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    import apsw

# So many prompts may wait, and so much of each is looked at.
WAITING = 1_000
LOOKED_AT = 2_000
CALLS = 80
# So many of the newest files are read.
FILES = 20
PRIVATE = "[private]"


def of(
    conn: "apsw.Connection | None",
    own: "tuple[int, int, str] | None",
    *,
    home: str,
    session: str,
) -> "rehydrate.SoFar":
    """The session as far as it is stored, and the prompts of it that wait to be. ``conn``:
    None where nothing has ever been stored."""
    found = rehydrate.SoFar()
    found.waiting = _waiting(home, session) if home else []
    if conn is None or own is None:
        return found
    found.ref, _began, host = own
    found.turns, found.prompts = current.turns(conn, found.ref, rehydrate.TURNS)
    rows = current.observations(conn, found.ref, rehydrate.OBSERVATIONS)
    found.own = [one for one in rows if one[1][4] != "external"]
    found.summary = current.summary(conn, found.ref)
    observed = {turn for turn, _row in rows}
    unseen = dict.fromkeys(one[0] for one in found.turns if one[0] not in observed)
    for turn in list(unseen)[: rehydrate.UNOBSERVED]:
        found.done[turn] = _done(current.calls(conn, turn, CALLS), host)
    return found


def _done(calls: "list[current.Call]", host: str) -> tuple[list[str], list[str]]:
    """(files that the calls changed, commands that they ran), newest first. Where something came
    from outside, a command may repeat it and is not told."""
    from cmem import plain_json
    from cmem.hosts.calls import HOSTS
    from cmem.store import codec

    known = HOSTS.get(host)
    if known is None:
        return [], []
    outside = any(one[3] for one in calls)
    files: list[str] = []
    commands: list[str] = []
    for cwd, tool, given, external in calls:
        if external or tool in known.readers:
            continue
        try:
            asked = plain_json.loads(codec.unpack(given))
        except (ValueError, RecursionError):
            continue
        if not isinstance(asked, dict):
            continue
        if tool == known.runner:
            command = asked.get("command")
            if isinstance(command, str) and command.strip() and not outside:
                commands.append(command)
            continue
        named = [asked.get(name) for name in known.files]
        texts = [name for name in named if isinstance(name, str) and name.strip()]
        files += [name.removeprefix(cwd.rstrip("/") + "/") for name in texts]
    return list(dict.fromkeys(files)), list(dict.fromkeys(commands))


def _waiting(home: str, session: str) -> list[str]:
    """The session's prompts that no run has stored yet, newest first."""
    from cmem import spooled
    from cmem.hosts.wire import HOSTS

    places = [
        (host, event, wire.paths[3])
        for host, wire in HOSTS.items()
        for event, kind in wire.kinds.items()
        if kind == "prompt"
    ]
    found = spooled.texts(home, session, places, size=LOOKED_AT, limit=WAITING)
    if _has_files(home):
        found += _in_files(home, session, {one[:2] for one in places})
        found.sort(reverse=True)
    # Of a private prompt nothing but a mark is left.
    return [
        text
        for text in (told.strip() for _at, told in found)
        if _is_seen(text.replace(PRIVATE, "")) and not text.startswith(NOTIFICATION)
    ]


def _is_seen(text: str) -> bool:
    """Whether a reader sees anything of it."""
    return fence.line(text, fence.TITLE_CAP) not in ("", "…")


def _has_files(home: str) -> bool:
    """Whether events lie in files, as what is too large for the spool does."""
    try:
        return bool(os.listdir(paths.spill_dir(home)))
    except OSError:
        return False


def _in_files(
    home: str, session: str, prompts: "Container[tuple[str, str]]"
) -> list[tuple[int, str]]:
    """When the session's prompts among the newest files were captured, and how they begin."""
    from cmem import eid, spill, spool
    from cmem.hosts.wire import HOSTS

    found: list[tuple[int, str]] = []
    for _path, entry in spill.look(home, limit=FILES):
        if (entry.host, entry.event) in prompts:
            told = spool.fields(entry.payload.decode("utf-8", "replace"), HOSTS[entry.host].paths)
            if told is not None and eid.safe_id(told[0]) == session:
                found.append((entry.captured_at, told[3][:LOOKED_AT]))
    return found
