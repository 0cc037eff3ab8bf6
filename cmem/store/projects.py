"""Which project a directory belongs to, by everything ever known of it: kept and named here, found
in ``families``, whose names are this module's too."""

from cmem.store.families import (
    ENVIRONMENT,
    GLOBAL,
    PEER,
    UNSORTED,
    everywhere,
    family,
    find,
    find_by_identity,
    root,
)
from cmem.store.rows import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from cmem.model import ProjectIdentity

__all__ = (
    "ENVIRONMENT",
    "GLOBAL",
    "PEER",
    "UNSORTED",
    "called",
    "everywhere",
    "family",
    "find_by_identity",
    "find_by_name",
    "folded",
    "names",
    "note_tree",
    "resolve",
    "root",
)

# ``root`` as an expression inside a statement; a ring of merges ends here too.
ROOT_OF = """(WITH RECURSIVE up(id, into_id, step) AS (
        SELECT id, merged_into, 0 FROM projects WHERE id = {project}
        UNION ALL SELECT q.id, q.merged_into, step + 1 FROM up
        JOIN projects q ON q.id = up.into_id WHERE step < 32)
    SELECT id FROM up ORDER BY step DESC LIMIT 1)"""


def resolve(conn: "apsw.Connection", identity: "ProjectIdentity", *, now: int) -> int:
    """Return the project of an identity, made if it is new, and record its aliases.

    A project merged into another counts as that one. Part of the caller's transaction."""
    found = find(conn, identity)
    if found is None:
        found = _insert(conn, identity, now)
    elif identity.root and identity.source not in (UNSORTED, ENVIRONMENT):
        conn.execute(
            "UPDATE projects SET root = ? WHERE id = ? AND root = '' AND key_source = ?",
            (identity.root, found, PEER),
        )
    _record_aliases(conn, found, identity, now)
    return root(conn, found)


def note_tree(
    conn: "apsw.Connection", project_id: int, *, tree: str, common_dir: str, now: int
) -> None:
    """Record a work tree that a session went into after it began, where its repository is this
    project's."""
    conn.execute(
        """INSERT INTO project_aliases(kind, alias, project_id, created_at)
        SELECT 'path', ?1, project_id, ?2 FROM project_aliases
        WHERE kind = 'git' AND alias IN (?3, ?4) AND project_id = ?5
        LIMIT 1 ON CONFLICT DO NOTHING""",
        (tree, now, common_dir, common_dir.casefold(), project_id),
    )


def find_by_name(conn: "apsw.Connection", text: str) -> list[tuple[int, str]]:
    """Return (id, name) of the projects that the text can mean, by ``called``.

    The merged ones are represented by the project they were merged into."""
    roots = dict.fromkeys([root(conn, project_id) for project_id in called(conn, text)])
    return [(project_id, _name(conn, project_id)) for project_id in roots]


def called(conn: "apsw.Connection", text: str, *, merged: bool = False) -> list[int]:
    """Return the very projects that the text can mean, merged or not, oldest first: those whose
    number, name, key or alias it is, in any case and any form of Unicode.

    A key or an alias as it is spelled counts more than one in another case, and ``#4`` is nothing
    but a number. What is merged into another project is meant by its own names only where
    nothing else is (``merged``: the other way round)."""
    word = text.strip()
    number = word.removeprefix("#")
    known = rows(conn, "SELECT id, name, key, merged_into FROM projects ORDER BY id")
    is_number = number.isascii() and number.isdigit() and len(number) < 19
    numbered = [row[0] for row in known if is_number and row[0] == int(number)]
    if numbered and number != word:
        return numbered
    spelled = [(row[0], row[2]) for row in known]
    spelled += rows(conn, "SELECT project_id, alias FROM project_aliases")
    wanted = folded(word)
    found = {row[0] for row in known if wanted and folded(row[1]) == wanted}
    exact = {project_id for project_id, one in spelled if word and one == word}
    found |= exact or {one for one, alias in spelled if wanted and folded(alias) == wanted}
    meant = {row[0] for row in known if row[0] in found and (row[3] is not None) == merged}
    return sorted({*numbered, *(meant or found)})


def folded(text: str) -> str:
    """A name as it is compared: without case, and in one form of Unicode."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFD", text).casefold())


def names(conn: "apsw.Connection") -> list[tuple[int, str]]:
    """Return (id, name) of every project that is not merged into another, oldest first."""
    rows = conn.execute("SELECT id, name FROM projects WHERE merged_into IS NULL ORDER BY id")
    return [(int(row[0]), str(row[1])) for row in rows]


def _insert(conn: "apsw.Connection", identity: "ProjectIdentity", now: int) -> int:
    key, source, name, root_path, _aliases = identity
    conn.execute(
        """INSERT INTO projects(key, key_source, name, root, created_at)
        VALUES(?, ?, ?, ?, ?)""",
        (key, source, name, root_path, now),
    )
    return conn.last_insert_rowid()


def _record_aliases(
    conn: "apsw.Connection", project_id: int, identity: "ProjectIdentity", now: int
) -> None:
    """Record what is not yet another project's.

    The folders of ``unsorted`` may become projects. A name set for one session says nothing
    of the repository it was set in, so it claims only itself."""
    _key, source, _name, _root, aliases = identity
    if source == UNSORTED:
        return
    for kind, alias in aliases:
        if source != ENVIRONMENT or kind == "env":
            conn.execute(
                """INSERT INTO project_aliases(kind, alias, project_id, created_at)
                VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING""",
                (kind, alias, project_id, now),
            )


def _name(conn: "apsw.Connection", project_id: int) -> str:
    row = conn.execute("SELECT name FROM projects WHERE id = ?", (project_id,)).fetchone()
    return "" if row is None else str(row[0])
