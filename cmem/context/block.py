"""The whole block of one project: read, select, render, fence. HOT.

At a start or a clear it is the project's; after a compaction it begins with what this session
was asked and has done; a resumed session gets only what came of others since it began, a fork what
came since its parent did.
"""

from cmem.context import fence, gather, price, render, select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from cmem.context.gather import Read
    from cmem.store import recent

    # project name, text ("" when there is nothing to tell), tokens, [(id, why)], omitted, and how
    # many of those came from outside sources
    Block = tuple[str, str, int, list[tuple[str, str]], int, int]
    Items = list[tuple[str, str]]

MAX_UNITS = 9_500
HEADING = "Memories of"
# Of a session that goes on, and of a fork.
SINCE = {"resume": "New since this session, of", "fork": "New since the forked session, of"}
PINNED = "Pinned:"
EVERYWHERE = "In every project:"
OPEN = "Still to be done:"
OPEN_MORE = "- {}{:,} {}: `cmem state list`"


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
    home: str = "",
    known: "set[str] | None" = None,
    answered: int | None = None,
) -> "Block":
    """The block for a directory. A folder that is no project gets only what was captured in
    that very folder, and a project without memories what holds in every project. ``known`` and
    ``answered``: as ``gather.for_directory`` has them."""
    read = gather.for_directory(
        conn,
        identity,
        cwd=cwd,
        branch=branch,
        session=session,
        source=source,
        activation=activation,
        home=home,
        known=known,
        answered=answered,
        parts=None,
    )
    return of_rows(conn, read, budget=budget)


def of_waiting(home: str, name: str, *, session: str, budget: int) -> str:
    """The block of a session that was compacted before anything was ever stored; "" where none of
    its prompts waits."""
    from cmem.context import so_far

    read = gather.Read(name)
    read.so_far = so_far.of(None, None, home=home, session=session)
    return of_rows(None, read, budget=budget)[1]


def of_rows(conn: "apsw.Connection | None", read: "Read", *, budget: int) -> "Block":
    """The block made of what was read."""
    body, items = _compose(conn, read, budget)
    every = read.total + read.external + read.everywhere
    if not body:
        return read.name, "", 0, [], every, read.external
    text = fence.wrap(body, gather.key(conn))
    return read.name, text, price.count(text), items, every - _observed(items), read.external


def _observed(items: "Items") -> int:
    """How many memories are in the block; prompts, summaries and open work are none."""
    return len({ref for ref, _why in items if ref[0] == "O"})


def _compose(conn: "apsw.Connection | None", read: "Read", budget: int) -> "tuple[str, Items]":
    """The body's lines within the budget, and what is in it and why."""
    purse = select.Purse(budget, MAX_UNITS)
    head = render.notice(read.name)
    every = min(read.total, gather.COUNTED) + min(read.everywhere, gather.COUNTED)
    outside = min(read.external, gather.COUNTED)
    ref = "O" + "9" * 9
    foot = render.digging(ref, raw=ref, omitted=every, external=outside, least=(True, True))
    counts = dict.fromkeys(render.KINDS, 99)
    frame = [head, render.economics(counts, read=99_999, work=9_999_999), *foot, "=" * 72]
    if not purse.pay(frame):
        return "", []
    so_far, items = _so_far(conn, read, purse)
    seen = {ref for ref, _why in items}
    # What of the running session is not told above is left to the rest of the project.
    own = read.so_far.ref if so_far and read.so_far else 0
    ranked = [one for one in read.ranked if f"O{one[1][0]}" not in seen and one[1][6] != own]
    wide, open_work, added = _fixed(conn, read, budget, purse)
    pinned, told_pinned = _pinned(conn, ranked, budget, purse)
    summary, last = select.choose_summary(read.summaries, purse)
    if summary is not None:
        items.append((f"S{summary[0]}", "last session"))
    items += [*told_pinned, *added]
    ranked = [one for one in ranked if not one[1][3]]
    details = gather.details(conn, [one[1][0] for one in ranked[: select.DETAILED]])
    shown, told = select.choose(ranked, details, purse)
    items += [(f"O{row[0]}", why) for _, row, why in shown]
    if not (items or so_far):
        return "", []
    heading = SINCE.get(read.news, HEADING)
    days = render.timeline([one[1] for one in shown], told, heading)
    lines = [*so_far, *pinned, *wide, *last, *open_work, *days]
    seen |= {ref for ref, _why in items}
    rows = [one[1] for one in read.ranked if f"O{one[1][0]}" in seen]
    least = max(read.total, read.everywhere) > gather.COUNTED, read.external > gather.COUNTED
    left = every - _observed(items)
    ref, raw = _anchor(items), render.worked_for(rows)
    foot = render.digging(ref, raw=raw, omitted=left, external=outside, least=least)
    cost = price.count("\n".join([head, *lines, *foot])) + 40
    economics = render.economics(_kinds(items), read=cost, work=_work(rows))
    return "\n".join([head, economics, *lines, *foot]), items


def _kinds(items: "Items") -> dict[str, int]:
    """How many there are of each kind in the block."""
    found = dict.fromkeys(render.KINDS, 0)
    for ref, _why in items:
        found[ref[0]] += 1
    return found


def _so_far(
    conn: "apsw.Connection | None", read: "Read", purse: select.Purse
) -> "tuple[list[str], Items]":
    """The section of a session that was compacted."""
    if read.so_far is None:
        return [], []
    from cmem.context import rehydrate

    own = read.so_far.own
    details = gather.details(conn, [row[0] for _turn, row in own[: rehydrate.DETAILED]])
    return rehydrate.section(read.so_far, details=details, purse=purse)


def _fixed(
    conn: "apsw.Connection | None", read: "Read", budget: int, purse: select.Purse
) -> "tuple[list[str], list[str], Items]":
    """What holds in every project and what is still to be done, each within its share."""
    told = gather.details(conn, [row[0] for row in read.wide])
    wide = [
        (f"O{row[0]}", [render.title_line(row), *render.note_lines(row, told[row[0]])])
        for row in read.wide
    ]
    ids, everywhere = select.choose_lines(
        wide, purse, most=int(budget * select.WIDE_SHARE), heading=EVERYWHERE
    )
    items = [(ref, "in every project") for ref in ids]
    todo = [(f"W{one[0]}", [render.item_line(one)]) for one in read.items]
    ids, open_work = select.choose_lines(
        todo, purse, most=int(budget * select.WORK_SHARE), heading=OPEN
    )
    open_work += _more_work(read, len(ids), purse)
    return everywhere, open_work, [*items, *((ref, "still to be done") for ref in ids)]


def _more_work(read: "Read", told: int, purse: select.Purse) -> list[str]:
    """How much of what is still to be done is not told, which is said where there is any room."""
    left = min(read.todo, gather.COUNTED) - told
    if left <= 0:
        return []
    least = "at least " if read.todo > gather.COUNTED else ""
    what = "more" if told else "open item" if left == 1 else "open items"
    lines = [*(() if told else (OPEN,)), OPEN_MORE.format(least, left, what)]
    return lines if purse.pay(lines) else []


def _pinned(
    conn: "apsw.Connection | None", ranked: "select.Ranked", budget: int, purse: select.Purse
) -> "tuple[list[str], Items]":
    """The pinned within their share: titles first, then what the newest say."""
    pins = [one for one in ranked if one[1][3]]
    whys = {f"O{row[0]}": why for _, row, why in pins}
    told = gather.details(conn, [row[0] for _, row, _why in pins[: select.DETAILED]])
    entries = [(f"O{row[0]}", [render.title_line(row), *_says(row, told)]) for _, row, _why in pins]
    ids, lines = select.choose_lines(
        entries, purse, most=int(budget * select.PIN_SHARE), heading=PINNED
    )
    return lines, [(ref, whys[ref]) for ref in ids]


def _says(row: "recent.Observation", told: "select.Details") -> list[str]:
    return render.detail_lines(row, told[row[0]]) if row[0] in told else []


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
