"""Memories that nobody asked for: of what an event concerns, and each once in a session. HOT.

A prompt, a file that is about to be read or changed, and a failing command get the few memories
that they clearly concern; nearly always that is nothing.
"""

from cmem import here
from cmem.context import inject, shown
from cmem.hosts.wire import NOTIFICATION

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from cmem.hosts.wire import Wire
    from cmem.intake import Taken
    from cmem.store.recent import Observation

# Setting → tokens that one answer may cost.
BUDGETS = {"recall_prompts": 300, "recall_files": 200, "recall_failures": 250}
NOTICES = {
    "recall_prompts": "that this prompt may concern",
    "recall_files": "on changes to this file",
    "recall_failures": "on the same failure, met before",
}
FILE_MOST = 3


def recall(home: str, *, event: str, taken: "Taken", wire: "Wire", project_env: str) -> bytes:
    """The document with what this event concerns; b"" for nothing. Its setting is on."""
    name, paths = wire.recalls[event]
    from cmem import spool

    text = taken.payload.decode("utf-8", "replace")
    values = spool.fields(text, ("$.agent_id", *paths))
    if values is None or not taken.session:
        return b""
    about = next(filter(None, values[1:]), "") if name == "recall_files" else values[-1]
    if not all(values[1:]) and name != "recall_files":
        return b""
    if not about.strip() or (name == "recall_prompts" and _is_order(about)):
        return b""
    from cmem.store import reading

    conn = reading.open_reader(home)
    if conn is None:
        return b""
    try:
        reading.begin_reading(conn)
        identity = here.parts_at(taken.cwd, taken.repo, {"CMEM_PROJECT": project_env})
        session = f"{taken.session}:{values[0]}" if values[0] else taken.session
        rows, marks, project = _about(
            conn, name, about, identity=identity, taken=taken, known=shown.read(home, session)
        )
        body, ids = _text(conn, name, rows, project=project)
        # Before it is said: what cannot be kept would be said again and again.
        lost = shown.claim(home, session, [*ids, *marks]) if ids else set()
        if lost:
            rest = [] if lost.intersection(marks) else [one for one in ids if one not in lost]
            rows = [row for row in rows if f"O{row[0]}" in rest]
            body, _ids = _text(conn, name, rows, project=project)
        return inject.document(body, "", event=event) if body else b""
    finally:
        conn.close()


def _is_order(prompt: str) -> bool:
    """Whether a prompt is none of a person's words: a command to the host, or its own news."""
    first = prompt.split(maxsplit=1)[0]
    return first.startswith((NOTIFICATION, "!")) or (first[0] == "/" and "/" not in first[1:])


def _about(
    conn: "apsw.Connection",
    name: str,
    about: str,
    *,
    identity: "inject.Identity",
    taken: "Taken",
    known: set[str],
) -> tuple["list[Observation]", list[str], str]:
    """(the memories to be told, what stands for their being spoken of, the project's name)."""
    from cmem.store import families, further, recent

    project = families.find_by_identity(conn, identity)  # type: ignore[arg-type]  # same shape
    if project is None:
        return [], [], ""
    family = families.family(conn, project)
    own = _own_session(conn, taken.session)
    rows, marks = _rows(conn, name, about, family=family, own=own, taken=taken, known=known)
    if identity[1] == families.UNSORTED:
        within = further.sessions_in(conn, {row[6] for row in rows}, taken.cwd)
        rows = [row for row in rows if row[6] in within]
    return rows, marks, recent.name_of(conn, project)[0] if rows else ""


def _rows(
    conn: "apsw.Connection",
    name: str,
    about: str,
    *,
    family: list[int],
    own: int,
    taken: "Taken",
    known: set[str],
) -> tuple["list[Observation]", list[str]]:
    """The memories to be told, and what stands for their being spoken of."""
    if name == "recall_prompts":
        from cmem.context import recall as recalls

        found = recalls.strong(conn, about, family, known=known, session=own)
        return [row for _strength, row in found], []
    if name == "recall_failures":
        from cmem.context import failures

        return failures.followed(conn, about, family, known=known, session=own), []
    from cmem.store import matching

    spoken = shown.mark("file", about)
    if spoken in known:
        return [], []
    places = _spellings(about, taken)
    rows = [
        row
        for place in places
        for row in matching.of_file(conn, place, family, limit=FILE_MOST + 8)
        if f"O{row[0]}" not in known and row[6] != own
    ]
    return rows[:FILE_MOST], [spoken]


def _spellings(path: str, taken: "Taken") -> list[str]:
    """A file as the store may name it: from its project's root, else in full."""
    full = path if path.startswith("/") else taken.cwd.rstrip("/") + "/" + path
    found = []
    for root in (taken.repo[0], taken.cwd):
        base = root.rstrip("/") + "/"
        if root and full.startswith(base):
            found.append(full[len(base) :])
    return list(dict.fromkeys([*found, full]))


def _own_session(conn: "apsw.Connection", session: str) -> int:
    from cmem.hosts.wire import HOSTS
    from cmem.store import current

    found = current.session(conn, HOSTS, session)
    return 0 if found is None else found[0]


def _text(
    conn: "apsw.Connection", name: str, rows: "list[Observation]", *, project: str
) -> tuple[str, list[str]]:
    """The rows as a fenced text within the budget, and the ids in it; ("", []) for none."""
    if not rows:
        return "", []
    from cmem.context import fence, gather, render, select

    purse = select.Purse(BUDGETS[name], 2_000)
    head = render.NOTICE_OF.format(name=fence.line(project, 120), what=NOTICES[name])
    foot = f"Look closer: `cmem get O{rows[0][0]}`."
    if not purse.pay([head, foot, "=" * 72]):
        return "", []
    titles = [(row, render.title_line(row)) for row in rows]
    paid = [(row, title) for row, title in titles if purse.pay([title])]
    details = gather.details(conn, [row[0] for row, _title in paid])
    lines = [head]
    for row, title in paid:
        lines.append(title)
        for text in render.detail_lines(row, details[row[0]]) if row[0] in details else ():
            if not purse.pay([text]):
                break
            lines.append(text)
    if not paid:
        return "", []
    return fence.wrap("\n".join([*lines, foot]), gather.key(conn)), [
        f"O{row[0]}" for row, _title in paid
    ]
