"""The whole block of one project: read, select, render, fence. HOT.

At a start or a clear it is the project's; after a compaction it begins with what this session
was asked and has done; a resumed session gets only what others added since its last event.
"""

from cmem.context import fence, gather, price, render, select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from cmem.context.gather import Read
    from cmem.store import recent

    # project name, text ("" when there is nothing to tell), tokens, [(id, why)], omitted
    Block = tuple[str, str, int, list[tuple[str, str]], int]
    Items = list[tuple[str, str]]

MAX_UNITS = 9_500
HEADING = "Memories of"
SINCE = "New since this session, of"
PINNED = "Pinned:"
EVERYWHERE = "In every project:"
OPEN = "Still to be done:"


def build(
    conn: "apsw.Connection",
    identity: "tuple[str, str, str, str, tuple[tuple[str, str], ...]]",
    *,
    cwd: str,
    branch: str,
    budget: int,
    session: str = "",
    source: str = "startup",
    activation: bool = False,
) -> "Block":
    """The block for a directory. A folder that is no project gets only what was captured in
    that very folder, and a project without memories what holds in every project."""
    read = gather.for_directory(
        conn,
        identity,
        cwd=cwd,
        branch=branch,
        session=session,
        source=source,
        activation=activation,
    )
    return of_rows(conn, read, budget=budget)


def of_rows(conn: "apsw.Connection", read: "Read", *, budget: int) -> "Block":
    """The block made of what was read."""
    known = len(read.ranked) + read.external
    body, items = _compose(conn, read, budget)
    if not items:
        return read.name, "", 0, [], known
    text = fence.wrap(body, gather.key(conn))
    own = {f"O{one[1][0]}" for one in read.ranked}
    omitted = known - sum(one[0] in own for one in items)
    return read.name, text, price.count(text), items, omitted


def _compose(conn: "apsw.Connection", read: "Read", budget: int) -> "tuple[str, Items]":
    """The body's lines within the budget, and what is in it and why."""
    purse = select.Purse(budget, MAX_UNITS)
    head = render.notice(read.name)
    foot = render.digging("O" + "9" * 9, omitted=len(read.ranked), external=read.external)
    frame = [head, render.economics(99, read=99_999, work=9_999_999), *foot, "=" * 72]
    if not purse.pay([*frame, PINNED]):
        return "", []
    so_far, items = _so_far(conn, read, purse)
    seen = {ref for ref, _why in items}
    ranked = [one for one in read.ranked if f"O{one[1][0]}" not in seen]
    wide, open_work, added = _fixed(read, budget, purse)
    summary, last = select.choose_summary(read.summaries, purse)
    if summary is not None:
        items.append((f"S{summary[0]}", "last session"))
    items += added
    details = gather.details(conn, [one[1][0] for one in ranked[: select.DETAILED]])
    shown, told = select.choose(ranked, details, purse)
    items += [(f"O{row[0]}", why) for _, row, why in shown]
    if not items:
        return "", []
    heading = SINCE if read.resumed else HEADING
    rest = _timeline([one[1] for one in shown], told, heading)
    pinned, days = rest
    lines = [*so_far, *pinned, *wide, *last, *open_work, *days]
    seen |= {ref for ref, _why in items}
    rows = [one[1] for one in read.ranked if f"O{one[1][0]}" in seen]
    left = len(read.ranked) - len(rows)
    foot = render.digging(_anchor(items), omitted=left, external=read.external)
    cost = price.count("\n".join([head, *lines, *foot])) + 40
    economics = render.economics(len(items), read=cost, work=_work(rows))
    return "\n".join([head, economics, *lines, *foot]), items


def _so_far(
    conn: "apsw.Connection", read: "Read", purse: select.Purse
) -> "tuple[list[str], Items]":
    """The section of a session that was compacted."""
    if not read.turns:
        return [], []
    from cmem.context import rehydrate

    own = read.own
    details = gather.details(conn, [row[0] for _turn, row in own[: rehydrate.DETAILED]])
    return rehydrate.section(read.session, read.turns, own, details=details, purse=purse)


def _fixed(read: "Read", budget: int, purse: select.Purse) -> "tuple[list[str], list[str], Items]":
    """What holds in every project and what is still to be done, each within its share."""
    wide = [(f"O{row[0]}", render.title_line(row)) for row in read.wide]
    ids, everywhere = select.choose_lines(
        wide, purse, most=int(budget * select.WIDE_SHARE), heading=EVERYWHERE
    )
    items = [(ref, "in every project") for ref in ids]
    todo = [(f"W{one[0]}", render.item_line(one)) for one in read.items]
    ids, open_work = select.choose_lines(
        todo, purse, most=int(budget * select.WORK_SHARE), heading=OPEN
    )
    return everywhere, open_work, [*items, *((ref, "still to be done") for ref in ids)]


def _timeline(
    rows: "Sequence[recent.Observation]", told: dict[int, list[str]], heading: str
) -> tuple[list[str], list[str]]:
    """The lines of the pinned, and those of the days."""
    pinned = [row for row in rows if row[3]]
    lines = [text for row in pinned for text in told[row[0]]]
    days = render.timeline([row for row in rows if not row[3]], told, heading)
    return ([PINNED, *lines] if pinned else []), days


def _anchor(items: "Sequence[tuple[str, str]]") -> str:
    """The id the footer's examples use: the newest observation shown, else what there is that
    can be looked at."""
    numbers = [int(one[0][1:]) for one in items if one[0][0] == "O"]
    if numbers:
        return f"O{max(numbers)}"
    return next((ref for ref, _why in items if ref[0] != "W"), "")


def _work(rows: "Sequence[recent.Observation]") -> int:
    """Tokens of the evidence behind the rows; what several took from one turn counts once."""
    turns: dict[tuple[int, int], int] = {}
    for row in rows:
        turn = (row[6], row[5])
        turns[turn] = max(turns.get(turn, 0), row[8])
    return sum(turns.values())
