"""Which rows a search may find at all: its filters, as an index expression and as conditions.

What is a term of the index (kind, type, project, host, agent) is told by the expression alone. The
rest has to be looked up in the rows, one by one; where the index has words of it (a concept, the
name of a file), the expression leaves only rows with those words, so that few are looked at.
"""

from __future__ import annotations

from cmem.named import NamedTuple
from cmem.store import segment
from cmem.store.functions import key

TYPE_CHECKING = False
if TYPE_CHECKING:
    Values = dict[str, int | str]

# Words of a name that are looked for.
_WORDS_MAX = 8
# Every row has a kind, so this finds all: FTS5 can only leave out of what it has found.
ALL = "k : (" + " OR ".join([f'"{key("d", kind)}"' for kind in "OSPT"]) + ")"


class Scope(NamedTuple):
    """Which rows count. Empty means all. ``since`` is the first millisecond, ``until`` the
    first one after; ``session`` is the row id. What is in one of ``without`` does not count.
    ``documents``: all that are of the session and the branch, where that has been found out."""

    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    projects: tuple[int, ...] | None = None
    host: str = ""
    session: int | None = None
    since: int | None = None
    until: int | None = None
    concept: str = ""
    file: str = ""
    branch: str = ""
    agent: str = ""
    without: tuple[Scope, ...] = ()
    documents: tuple[int, ...] | None = None


def key_match(scope: Scope) -> str:
    """The scope as an expression, as far as the index knows it; "" when there is nothing of it."""
    wanted, unwanted = _wanted(scope), _unwanted(scope)
    return f"({wanted or ALL}) NOT ({unwanted})" if unwanted else wanted


def scoped(match: str, scope: Scope) -> str:
    """``match`` within the scope, as far as the index knows it."""
    wanted, unwanted = _wanted(scope), _unwanted(scope)
    found = f"({match}) AND {wanted}" if wanted else match
    return f"({found}) NOT ({unwanted})" if unwanted else found


def is_narrow(scope: Scope) -> bool:
    """Whether rows have to be looked at to know which are in scope."""
    return bool(narrow(scope)[1])


# The cross join keeps the index first: the other way round it is asked once per document.
JOIN = "CROSS JOIN documents d ON d.id = f.rowid"


def narrow(scope: Scope) -> tuple[str, str, Values]:
    """Join, conditions and their values for what is no index term; empty joins nothing."""
    known = scope._replace(session=None, branch="") if scope.documents is not None else scope
    conditions, values = _conditions(known, "")
    for number, one in enumerate(scope.without):
        some, bound = _conditions(one, str(number))
        conditions += [f"NOT ({condition})" for condition in some]
        values |= bound
    join = JOIN if conditions else ""
    if scope.documents is not None:
        # Without a plus FTS5 is asked once for each of them.
        conditions.append("+f.rowid IN (SELECT value FROM json_each(:documents))")
        values["documents"] = f"[{','.join(map(str, scope.documents))}]"
    return join, " ".join([f"AND {one}" for one in conditions]), values


def _wanted(scope: Scope) -> str:
    words = [_words(scope.concept), _words(base(scope.file))]
    found = [_of_keys(group) for group in _keys(scope) if group]
    return " AND ".join([*found, *[f"{{title body meta}} : ({one})" for one in words if one]])


def _unwanted(scope: Scope) -> str:
    groups = [group for one in scope.without for group in _keys(one)]
    return " OR ".join([_of_keys(group) for group in groups if group])


def _keys(scope: Scope) -> list[list[str]]:
    return [
        [key("d", kind) for kind in scope.kinds],
        [key("t", type_) for type_ in scope.types],
        [key("p", project) for project in scope.projects or ()],
        [key("h", scope.host)] if scope.host else [],
        [key("a", scope.agent)] if scope.agent else [],
    ]


def _of_keys(keys: list[str]) -> str:
    quoted = " OR ".join([f'"{term}"' for term in keys])
    return f"k : ({quoted})"


def _words(text: str) -> str:
    """The first words of a name as a phrase; "" for a name of signs only."""
    terms = " ".join(segment.words(text).split()[:_WORDS_MAX])
    return f'"{terms}"' if terms else ""


def base(path: str) -> str:
    """The last name of a path, which may be one of Windows."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _conditions(scope: Scope, number: str) -> tuple[list[str], Values]:
    """The conditions on rows, and their values by names that end in ``number``."""
    found: list[str] = []
    values: Values = {}

    def add(condition: str, **bound: int | str) -> None:
        for name, value in bound.items():
            condition = condition.replace(f":{name}", f":{name}{number}")
            values[f"{name}{number}"] = value
        found.append(condition)

    if scope.since is not None:
        add("d.created_at >= :since", since=scope.since)
    if scope.until is not None:
        add("d.created_at < :until", until=scope.until)
    if scope.session is not None:
        add(_IN_SESSION, session=scope.session)
    if scope.concept:
        add(_OF_CONCEPT, concept=scope.concept)
    if scope.branch:
        add(_ON_BRANCH, branch=scope.branch)
    if scope.file:
        asked = scope.file.replace("\\", "/")
        literal = asked.lstrip("/").replace("!", "!!")
        end = "%/" + literal.replace("%", "!%").replace("_", "!_")
        add(_OF_FILE, asked=asked, end_of_file=end)
    return found, values


_IN_SESSION = """CASE d.kind
    WHEN 'O' THEN EXISTS(SELECT 1 FROM observations r WHERE r.id=d.ref AND r.session_id=:session)
    WHEN 'S' THEN EXISTS(
        SELECT 1 FROM session_summaries r WHERE r.id=d.ref AND r.session_id=:session)
    WHEN 'P' THEN EXISTS(SELECT 1 FROM user_prompts r WHERE r.id=d.ref AND r.session_id=:session)
    ELSE EXISTS(SELECT 1 FROM tool_uses r WHERE r.id=d.ref AND r.session_id=:session) END"""

# All that is of a session, or of a branch: by kind, each with its table.
_TABLES = {
    "O": "observations r",
    "S": "session_summaries r",
    "P": "user_prompts r",
    "T": "tool_uses r",
}
_OWN = """SELECT d.id FROM {table} {turn} CROSS JOIN documents d ON d.kind = '{kind}' AND d.ref = r.id
    WHERE {condition} LIMIT :most"""
_TURN = "JOIN turns n ON n.id = r.turn_id"


def every(scope: Scope, *, most: int) -> list[tuple[str, Values]]:
    """For each kind the statement for all documents of the session and the branch, as far as one of
    them is given, and its values."""
    found: list[tuple[str, Values]] = []
    for kind, table in _TABLES.items():
        if scope.kinds and kind not in scope.kinds:
            continue
        own = kind in "OT"
        conditions = ["r.session_id = :session"] if scope.session is not None else []
        conditions += [f"{'r' if own else 'n'}.branch = :branch"] if scope.branch else []
        turn = _TURN if scope.branch and not own else ""
        told = " AND ".join(conditions)
        sql = _OWN.format(table=table, turn=turn, kind=kind, condition=told)
        values: Values = {"most": most}
        values |= {"session": scope.session} if scope.session is not None else {}
        values |= {"branch": scope.branch} if scope.branch else {}
        found.append((sql, values))
    return found


_OF_CONCEPT = """(d.kind='O' AND EXISTS(
    SELECT 1 FROM observations r, json_each(r.concepts) c
    WHERE r.id=d.ref AND cmem_folded(c.value) = cmem_folded(:concept)))"""

# The same file may be named by its path, its end, or in full where it lies in a project.
_PATH = "replace({path}, '\\', '/')"
_SAME_FILE = f"""({_PATH} = :asked OR {_PATH} LIKE :end_of_file ESCAPE '!'
    OR substr(:asked, -length({{path}}) - 1) = '/' || {_PATH})"""

_OF_FILE = f"""CASE d.kind
    WHEN 'O' THEN EXISTS(SELECT 1 FROM observation_files r
        WHERE r.observation_id=d.ref AND {_SAME_FILE.format(path="r.path")})
    WHEN 'S' THEN EXISTS(SELECT 1 FROM session_summaries r,
            json_each('[' || r.files_edited || ',' || r.files_read || ']') l, json_each(l.value) c
        WHERE r.id=d.ref AND {_SAME_FILE.format(path="c.value")})
    WHEN 'T' THEN EXISTS(SELECT 1 FROM tool_uses r, json_each(cmem_tool_files(r.tool_input)) c
        WHERE r.id=d.ref AND {_SAME_FILE.format(path="c.value")})
    ELSE 0 END"""

_ON_BRANCH = """CASE d.kind
    WHEN 'O' THEN EXISTS(SELECT 1 FROM observations r WHERE r.id=d.ref AND r.branch=:branch)
    WHEN 'T' THEN EXISTS(SELECT 1 FROM tool_uses r WHERE r.id=d.ref AND r.branch=:branch)
    WHEN 'S' THEN EXISTS(SELECT 1 FROM session_summaries r JOIN turns n ON n.id=r.turn_id
        WHERE r.id=d.ref AND n.branch=:branch)
    ELSE EXISTS(SELECT 1 FROM user_prompts r JOIN turns n ON n.id=r.turn_id
        WHERE r.id=d.ref AND n.branch=:branch) END"""
