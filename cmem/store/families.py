"""Finding a project, and what counts as it. HOT: a session start reads here.

A project is found by its aliases, the surest kind first: a name a person set, the git
directory, the remote, the path. A known git directory so keeps its project whatever its
remote says later, and a remote only decides for a clone not seen before.
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


def find_by_identity(conn: "apsw.Connection", identity: "ProjectIdentity") -> int | None:
    """Return the project ``resolve`` would return, or None where it would make one."""
    found = find(conn, identity)
    return None if found is None else root(conn, found)


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


def find(conn: "apsw.Connection", identity: "ProjectIdentity") -> int | None:
    """Return the project that is known by one of the aliases or by the key, merged or not."""
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


def _rank(alias: tuple[str, str]) -> int:
    return KINDS.index(alias[0]) if alias[0] in KINDS else len(KINDS)
