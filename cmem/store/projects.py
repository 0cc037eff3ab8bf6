"""Which project a directory belongs to, by everything ever known of it.

A project is found by its aliases, the surest kind first: a name a person set, the git
directory, the remote, the path. A known git directory so keeps its project whatever its
remote says later, and a remote only decides for a clone not seen before. Session start reads
here, so nothing is imported that costs.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from cmem.model import ProjectIdentity

KINDS = ("env", "git", "remote", "path")
BY_ALIAS = "SELECT project_id FROM project_aliases WHERE kind = ? AND alias = ?"
# Before folders that tell case apart were asked, every path was kept in lower case; a project's
# root was not.
FOLDED = BY_ALIAS + " AND (SELECT root FROM projects WHERE id = project_id) = ?"
NO_REPOSITORY = """ AND NOT EXISTS(SELECT 1 FROM project_aliases other
    WHERE other.project_id = project_aliases.project_id AND other.kind = 'git')"""
# ``root`` as an expression inside a statement; a ring of merges ends here too.
ROOT_OF = """(WITH RECURSIVE up(id, into_id, step) AS (
        SELECT id, merged_into, 0 FROM projects WHERE id = {project}
        UNION ALL SELECT q.id, q.merged_into, step + 1 FROM up
        JOIN projects q ON q.id = up.into_id WHERE step < 32)
    SELECT id FROM up ORDER BY step DESC LIMIT 1)"""
# claude-mem knows a project by the name of its folder. Where it does not tell the folder, the first
# one of that name is it, unless another project has the name too.
PEER = "claude-mem"
FOLDERLESS = """SELECT id FROM projects p WHERE key = ? AND root = '' AND merged_into IS NULL
    AND NOT EXISTS(SELECT 1 FROM projects other WHERE other.id <> p.id
        AND other.merged_into IS NULL AND other.name = p.name COLLATE NOCASE)"""
UNSORTED = "unsorted"
ENVIRONMENT = "environment"
# The key of what holds in every project: notes that a person wrote for all of them.
GLOBAL = "global"


def resolve(conn: "apsw.Connection", identity: "ProjectIdentity", *, now: int) -> int:
    """Return the project of an identity, made if it is new, and record its aliases.

    A project merged into another counts as that one. Part of the caller's transaction."""
    found = _find(conn, identity)
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


def find_by_identity(conn: "apsw.Connection", identity: "ProjectIdentity") -> int | None:
    """Return the project ``resolve`` would return, or None where it would make one."""
    found = _find(conn, identity)
    return None if found is None else root(conn, found)


def find_by_name(conn: "apsw.Connection", text: str) -> list[tuple[int, str]]:
    """Return (id, name) of the projects whose name, key or alias is the text, in any case.

    The merged ones are represented by the project they were merged into."""
    wanted = text.strip().casefold()
    if not wanted:
        return []
    found = [
        row[0]
        for row in conn.execute("SELECT id, name, key FROM projects ORDER BY id")
        if wanted in (str(row[1]).casefold(), str(row[2]).casefold())
    ]
    found += [
        row[0]
        for row in conn.execute(
            "SELECT project_id FROM project_aliases WHERE alias IN (?, ?) ORDER BY project_id",
            (wanted, text.strip()),
        )
    ]
    roots = dict.fromkeys(root(conn, project_id) for project_id in found)
    return [(project_id, _name(conn, project_id)) for project_id in roots]


def names(conn: "apsw.Connection") -> list[tuple[int, str]]:
    """Return (id, name) of every project that is not merged into another, oldest first."""
    rows = conn.execute("SELECT id, name FROM projects WHERE merged_into IS NULL ORDER BY id")
    return [(int(row[0]), str(row[1])) for row in rows]


def root(conn: "apsw.Connection", project_id: int) -> int:
    """Return the project that this one was merged into, itself if into none."""
    seen = {project_id}
    while True:
        row = conn.execute(
            "SELECT merged_into FROM projects WHERE id = ?", (project_id,)
        ).fetchone()
        if row is None or row[0] is None or row[0] in seen:
            return project_id
        project_id = int(row[0])
        seen.add(project_id)


def family(conn: "apsw.Connection", project_id: int) -> list[int]:
    """Return the root project of the given one, then all that were merged into it, by age."""
    first = root(conn, project_id)
    found = [first]
    for one in found:
        rows = conn.execute("SELECT id FROM projects WHERE merged_into = ?", (one,))
        found += {int(row[0]) for row in rows}.difference(found)
    return [first, *sorted(found[1:])]


def everywhere(conn: "apsw.Connection") -> list[int]:
    """Return the project of what holds in every project, [] while there is none."""
    row = conn.execute("SELECT id FROM projects WHERE key = ?", (GLOBAL,)).fetchone()
    return [] if row is None else family(conn, int(row[0]))


def _find(conn: "apsw.Connection", identity: "ProjectIdentity") -> int | None:
    key, source, _name, root_path, aliases = identity
    if source != UNSORTED:
        is_repository = any(kind == "git" for kind, _alias in aliases)
        for kind, alias in sorted(aliases, key=_rank):
            # A folder may become a repository; where another one stood says nothing of this.
            limit = NO_REPOSITORY if is_repository and kind == "path" else ""
            row = conn.execute(BY_ALIAS + limit, (kind, alias)).fetchone()
            if row is None and kind in ("git", "path") and alias != alias.casefold():
                place = (kind, alias.casefold(), root_path)
                row = conn.execute(FOLDED + limit, place).fetchone()
            if row is not None:
                return int(row[0])
    row = conn.execute("SELECT id FROM projects WHERE key = ?", (key,)).fetchone()
    if row is None and root_path and source not in (UNSORTED, ENVIRONMENT):
        name = root_path.rstrip("/").rpartition("/")[2].casefold()
        row = conn.execute(FOLDERLESS, (f"{PEER}:{name}",)).fetchone()
    return None if row is None else int(row[0])


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


def _rank(alias: tuple[str, str]) -> int:
    return KINDS.index(alias[0]) if alias[0] in KINDS else len(KINDS)


def _name(conn: "apsw.Connection", project_id: int) -> str:
    row = conn.execute("SELECT name FROM projects WHERE id = ?", (project_id,)).fetchone()
    return "" if row is None else str(row[0])
