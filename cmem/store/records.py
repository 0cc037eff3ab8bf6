"""The rows of search candidates as records of one shape, one statement for each kind."""

from __future__ import annotations

from cmem import plain_json, tokens
from cmem.named import NamedTuple
from cmem.store import projects
from cmem.store.find import as_json
from cmem.store.functions import list_text, tool_body, tool_files, tool_title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from cmem.store.find import Candidate


class Record(NamedTuple):
    """One row as search shows it; ``body`` is all its text but title and subtitle."""

    kind: str
    ref: int
    type: str
    title: str
    subtitle: str
    body: str
    files: tuple[str, ...]
    created_at: int
    tokens: int
    session: int
    host_session: str
    project: str
    root: str


def load(conn: apsw.Connection, wanted: Iterable[Candidate]) -> dict[tuple[str, int], Record]:
    """The rows of ``wanted`` that are to be seen, one statement for each kind."""
    refs: dict[str, list[int]] = {}
    for candidate in wanted:
        refs.setdefault(candidate.kind, []).append(candidate.ref)
    found: dict[tuple[str, int], Record] = {}
    for kind, ids in refs.items():
        sql, build = _KINDS[kind]
        for row in conn.execute(sql, (as_json(ids),)):
            record = build(row[:7], row[7:])
            found[record.kind, record.ref] = record
    return found


def titles(conn: apsw.Connection, wanted: Iterable[Candidate]) -> dict[tuple[str, int], str]:
    """The titles of observations and summaries, hidden ones too, and of nothing else."""
    refs: dict[str, list[int]] = {kind: [] for kind in _TITLES}
    for one in wanted:
        refs.get(one.kind, []).append(one.ref)
    return {
        (kind, int(ref)): str(title)
        for kind, sql in _TITLES.items()
        for ref, title in conn.execute(sql, (as_json(refs[kind]),))
    }


_TITLES = {
    "O": "SELECT id, title FROM observations WHERE id IN (SELECT value FROM json_each(?))",
    "S": "SELECT id, request FROM session_summaries WHERE id IN (SELECT value FROM json_each(?))",
}
_PROJECT = (
    f"JOIN projects p ON p.id = {projects.ROOT_OF}"
    " WHERE r.hidden_at IS NULL AND r.id IN (SELECT value FROM json_each(?))"
)

# Each begins with the same seven columns, which _record reads.
_HEAD = "r.id, r.created_at, n.id, n.content_session_id, p.name, p.root, {type}"

_OBSERVATIONS = (
    f"SELECT {_HEAD.format(type='r.type')}, r.title, r.subtitle, r.facts, r.narrative,"
    " r.files_read, r.files_modified, r.read_tokens"
    " FROM observations r JOIN sessions n ON n.id = r.session_id "
    + _PROJECT.format(project="r.project_id")
    + " AND r.superseded_by IS NULL"
)
_SUMMARIES = (
    f"SELECT {_HEAD.format(type=repr('summary'))}, r.request, r.investigated, r.learned,"
    " r.completed, r.next_steps, r.notes, r.files_read, r.files_edited, r.read_tokens"
    " FROM session_summaries r JOIN sessions n ON n.id = r.session_id "
    + _PROJECT.format(project="r.project_id")
    + """ AND instr(r.metadata, '"superseded_by"') = 0"""
)
_PROMPTS = (
    f"SELECT {_HEAD.format(type=repr('prompt'))}, r.prompt_text"
    " FROM user_prompts r JOIN sessions n ON n.id = r.session_id "
    + _PROJECT.format(project="n.project_id")
    + " AND r.kind = 'user'"  # what background agents told is no prompt
)
_TOOL_USES = (
    f"SELECT {_HEAD.format(type='r.tool_name')}, r.tool_input, r.tool_response,"
    " r.evidence_tokens"
    " FROM tool_uses r JOIN sessions n ON n.id = r.session_id "
    + _PROJECT.format(project="n.project_id")
)


def _observation(head: Sequence[object], rest: Sequence[object]) -> Record:
    title, subtitle, facts, narrative, read, modified, cost = rest
    files = dict.fromkeys(_strings(modified) + _strings(read))
    body = _joined(list_text(facts), str(narrative))
    said = {"title": str(title), "subtitle": str(subtitle), "body": body}
    return _record("O", head, **said, files=tuple(files), cost=cost)


def _summary(head: Sequence[object], rest: Sequence[object]) -> Record:
    request, investigated, learned, completed, next_steps, notes, read, edited, cost = rest
    files = dict.fromkeys(_strings(edited) + _strings(read))
    body = _joined(*[str(text) for text in (completed, learned, investigated, next_steps, notes)])
    title, _, more = (str(request) or str(completed)).partition("\n")
    body = _joined(more, body)
    return _record(
        "S", head, title=title.removeprefix("- "), body=body, files=tuple(files), cost=cost
    )


def _prompt(head: Sequence[object], rest: Sequence[object]) -> Record:
    text = str(rest[0]).strip()
    title, _, body = text.partition("\n")
    return _record("P", head, title=title, body=body, cost=tokens.count(text))


def _tool_use(head: Sequence[object], rest: Sequence[object]) -> Record:
    packed_input, packed_response, cost = rest
    assert packed_input is None or isinstance(packed_input, (str, bytes))
    assert packed_response is None or isinstance(packed_response, (str, bytes))
    title = tool_title(head[6], packed_input)
    body = tool_body(packed_input, packed_response)
    files = tuple(tool_files(packed_input))
    return _record("T", head, title=title, body=body, files=files, cost=cost)


_KINDS = {
    "O": (_OBSERVATIONS, _observation),
    "S": (_SUMMARIES, _summary),
    "P": (_PROMPTS, _prompt),
    "T": (_TOOL_USES, _tool_use),
}


def _record(
    kind: str,
    head: Sequence[object],
    *,
    title: str,
    body: str,
    cost: object,
    subtitle: str = "",
    files: tuple[str, ...] = (),
) -> Record:
    ref, created_at, session, host_session, project, root, type_ = head
    return Record(
        kind=kind,
        ref=_int(ref),
        type=str(type_),
        title=title,
        subtitle=subtitle,
        body=body,
        files=files,
        created_at=_int(created_at),
        tokens=_int(cost),
        session=_int(session),
        host_session=str(host_session),
        project=str(project),
        root=str(root),
    )


def _int(value: object) -> int:
    return int(value) if isinstance(value, (int, float, str)) else 0


def _joined(*texts: str) -> str:
    return "\n".join([text for text in texts if text])


def _strings(stored: object) -> list[str]:
    try:
        value = plain_json.loads(str(stored))
    except ValueError:
        return []
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
