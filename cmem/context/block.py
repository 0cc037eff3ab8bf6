"""The whole block of one project: read, select, render, fence. HOT."""

from cmem.context import fence, price, render, select
from cmem.store import projects, recent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from cmem.context.select import Ranked

    # project name, text ("" when there is nothing to tell), tokens, [(id, why)], omitted
    Block = tuple[str, str, int, list[tuple[str, str]], int]

MAX_UNITS = 9_500
SUMMARIES = 5
HEADING = "Memories of"
PINNED = "Pinned:"


def build(
    conn: "apsw.Connection",
    identity: "tuple[str, str, str, str, tuple[tuple[str, str], ...]]",
    *,
    cwd: str,
    branch: str,
    budget: int,
    session: str = "",
) -> "Block":
    """The block for a directory. A folder that is no project gets only what was captured in
    that very folder."""
    project = projects.find_by_identity(conn, identity)  # type: ignore[arg-type]  # same shape
    if project is None:
        return identity[2], "", 0, [], 0
    only_in = cwd if identity[1] == projects.UNSORTED else ""
    return of_project(conn, project, only_in=only_in, branch=branch, budget=budget, session=session)


def of_project(
    conn: "apsw.Connection",
    project: int,
    *,
    only_in: str = "",
    branch: str = "",
    budget: int,
    session: str = "",
) -> "Block":
    """The block of a project; ``only_in``: of sessions that began in that directory."""
    name = recent.name_of(conn, project)
    family = projects.family(conn, project)
    rows = recent.observations(conn, family, select.CANDIDATES)
    summaries = recent.summaries(conn, family, SUMMARIES)
    if only_in:
        met = {row[6] for row in rows} | {row[1] for row in summaries}
        here = recent.sessions_in(conn, met, only_in)
        rows = [row for row in rows if row[6] in here]
        summaries = [row for row in summaries if row[1] in here]
    rows, external = select.visible(rows)
    own = recent.session_of(conn, {row[6] for row in rows}, session)
    ids = [row[0] for row in rows]
    ranked = select.rank(
        rows,
        branch=branch,
        files=recent.files(conn, ids) if ids else {},
        session=own,
    )
    details = recent.details(conn, [one[1][0] for one in ranked[: select.DETAILED]])
    body, items = _compose(
        name, ranked, details=details, summaries=summaries, external=external, budget=budget
    )
    if not items:
        return name, "", 0, [], len(rows) + external
    text = fence.wrap(body, recent.hmac_key(conn))
    omitted = len(rows) + external - sum(one[0][0] == "O" for one in items)
    return name, text, price.count(text), items, omitted


def _compose(
    name: str,
    ranked: "Ranked",
    *,
    details: "dict[int, tuple[str, list[str]]]",
    summaries: "Sequence[recent.Summary]",
    external: int,
    budget: int,
) -> "tuple[str, list[tuple[str, str]]]":
    """The body's lines within the budget, and what is in it and why."""
    purse = select.Purse(budget, MAX_UNITS)
    head = render.notice(name)
    foot = render.digging("O" + "9" * 9, omitted=len(ranked), external=external)
    frame = [head, render.economics(99, read=99_999, work=9_999_999), *foot, "=" * 72]
    if not purse.pay([*frame, PINNED]):
        return "", []
    summary, last = select.choose_summary(summaries, purse)
    shown, told = select.choose(ranked, details, purse)
    items = [(f"O{row[0]}", why) for _, row, why in shown]
    if summary is not None:
        items.insert(0, (f"S{summary[0]}", "last session"))
    if not items:
        return "", []
    lines = _sections([one[1] for one in shown], told, last)
    foot = render.digging(_anchor(items), omitted=len(ranked) - len(shown), external=external)
    work = _work([one[1] for one in shown])
    read = price.count("\n".join([*frame[:1], *lines, *foot])) + 40
    economics = render.economics(len(items), read=read, work=work)
    return "\n".join([head, economics, *lines, *foot]), items


def _sections(
    rows: "Sequence[recent.Observation]", told: dict[int, list[str]], summary: list[str]
) -> list[str]:
    """Pinned first, then the last session, then the days."""
    lines: list[str] = []
    pinned = [row for row in rows if row[3]]
    if pinned:
        lines.append(PINNED)
    for row in pinned:
        lines.extend(told[row[0]])
    lines.extend(summary)
    lines.extend(render.timeline([row for row in rows if not row[3]], told, HEADING))
    return lines


def _anchor(items: "Sequence[tuple[str, str]]") -> str:
    """The id the footer's examples use: the newest observation shown, else the summary."""
    numbers = [int(one[0][1:]) for one in items if one[0][0] == "O"]
    return f"O{max(numbers)}" if numbers else items[0][0]


def _work(rows: "Sequence[recent.Observation]") -> int:
    """Tokens of the evidence behind the rows; what several took from one turn counts once."""
    turns: dict[tuple[int, int], int] = {}
    for row in rows:
        turn = (row[6], row[5])
        turns[turn] = max(turns.get(turn, 0), row[8])
    return sum(turns.values())
