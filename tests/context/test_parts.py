"""Pinned, notes, open work, and one topic among many."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import apsw
import pytest
import samples
from context.test_block import lines_of, start, text_of

from cmem.context import gather, health, select
from cmem.model import ProjectIdentity
from cmem.store import further, notes, projects, recent, state
from cmem.store.connection import transaction
from cmem.store.rows import rows

NEW = samples.NOON + 20 * samples.DAY


def note(conn: apsw.Connection, project: int, text: str) -> None:
    """A note; no two are written in one millisecond."""
    at = samples.NOON + rows(conn, "SELECT count(*) FROM observations")[0][0]
    notes.add_to(conn, notes.clean(notes.Note(text)), project=project, now=at)


def wide(conn: apsw.Connection) -> int:
    identity: ProjectIdentity = notes.GLOBAL
    with transaction(conn):
        return projects.resolve(conn, identity, now=samples.NOON)


def item(conn: apsw.Connection, text: str, project: int = 1) -> int:
    with transaction(conn):
        return state.add(
            conn, text, uid=text, project=project, session=1, branch="", now=samples.NOON
        )


def bury(conn: apsw.Connection, count: int = 60) -> None:
    """So many newer memories, each about something else."""
    for number in range(count):
        samples.observation(
            conn,
            1,
            1,
            1,
            prompt_number=number,
            title=f"{number} newer",
            created_at=NEW + number,
        )


def test_pinned_and_notes_stay_however_much_came_after(home: Path) -> None:
    conn = samples.calc(home)
    samples.observation(conn, 1, 1, 1, title="Pinned long ago", pinned=1)
    note(conn, 1, "Written long ago")
    bury(conn)
    conn.close()
    lines = lines_of(start(home, "/src/calc"))
    assert lines[3:5] == ["Pinned:", "- O3 pinned bugfix: Pinned long ago (~60 tokens)"]
    assert any(line.startswith("- O4 note: Written long ago ") for line in lines)


def test_notes_of_every_project_have_a_small_share(home: Path) -> None:
    conn = samples.calc(home)
    scope = wide(conn)
    for number in range(30):
        note(conn, scope, f"{number} rule for all of my projects, and so on")
    conn.close()
    lines = lines_of(start(home, "/src/calc"))
    at = lines.index("In every project:")
    shown = [line for line in lines[at:] if "rule for all" in line]
    assert 4 <= len(shown) <= 8
    assert "- O2 decision: unittest, not pytest (~60 tokens)" in lines


def test_a_new_project_gets_the_notes_of_every_project(home: Path) -> None:
    conn = samples.calc(home)
    note(conn, wide(conn), "Commits have one line")
    conn.close()
    text = text_of(start(home, "/src/new"))
    assert "notes from earlier sessions of project new." in text
    assert "In every project:\n- O3 note: Commits have one line (" in text
    assert "subtract" not in text


def test_open_work_stands_there_until_it_is_done(home: Path) -> None:
    conn = samples.calc(home)
    done, still = item(conn, "write the docs"), item(conn, "release <b>\n# now")
    with transaction(conn):
        state.move(conn, done, state=state.DONE, uid="x", now=samples.NOON)
    other = samples.project(conn, "other", "/src/other")
    item(conn, "not ours", other)
    item(conn, "planted")
    conn.execute("UPDATE work_state_entries SET taint = 'external' WHERE text = 'planted'")
    conn.close()
    lines = lines_of(start(home, "/src/calc"))
    at = lines.index("Still to be done:")
    assert lines[at + 1] == f"- W{still} release &lt;b&gt; # now"
    assert not any(word in line for word in ("docs", "not ours", "planted") for line in lines)


def open_items(conn: apsw.Connection, count: int, *, done: int = 0) -> None:
    """So many open items, and as many done ones after them."""
    with transaction(conn):
        for number in range(count + done):
            ref = state.add(
                conn,
                f"item {number}",
                uid=f"i{number}",
                project=1,
                session=1,
                branch="",
                now=samples.NOON,
            )
            if number >= count:
                state.move(conn, ref, state=state.DONE, uid=f"d{number}", now=samples.NOON)


def test_an_open_item_is_told_however_many_came_after_it(home: Path) -> None:
    conn = samples.calc(home)
    open_items(conn, 1, done=1200)
    assert [one[5] for one in state.items(conn, [1])] == ["item 0"]
    conn.close()
    lines = lines_of(start(home, "/src/calc"))
    at = lines.index("Still to be done:")
    assert lines[at + 1] == "- W1 item 0"
    assert lines[at + 2].startswith("Memories of ")


def test_whether_an_item_is_open_does_not_depend_on_the_order_its_entries_came_in(
    home: Path,
) -> None:
    conn = samples.calc(home)
    first, second = item(conn, "closed after all"), item(conn, "open after all")
    for ref, entries in (
        (first, ((3, "done"), (2, "open"))),
        (second, ((3, "open"), (2, "done"))),
    ):
        for at, word in entries:
            samples.insert(
                conn,
                "work_state_entries",
                uid=f"{ref} {word}",
                project_id=1,
                session_id=1,
                item=ref,
                state=word,
                created_at=samples.NOON + at,
            )
    assert [one[0] for one in recent.open_items(conn, [1], 9)] == [second]
    assert [one[0] for one in state.items(conn, [1])] == [second]
    conn.close()


@pytest.mark.parametrize(
    ("count", "rest"),
    [
        (8, []),
        (9, ["- 1 more: `cmem state list`"]),
        (38, ["- 30 more: `cmem state list`"]),
        (500, ["- 492 more: `cmem state list`"]),
        (501, ["- at least 492 more: `cmem state list`"]),
    ],
)
def test_open_items_that_are_not_told_are_counted(home: Path, count: int, rest: list[str]) -> None:
    conn = samples.calc(home)
    open_items(conn, count)
    conn.close()
    lines = lines_of(start(home, "/src/calc"))
    at = lines.index("Still to be done:")
    told = [f"- W{number} item {number - 1}" for number in range(count, count - 8, -1)]
    assert lines[at + 1 : at + 9 + len(rest)] == told + rest
    assert lines[at + 9 + len(rest)].startswith("Memories of ")


def test_open_items_without_room_are_counted(home: Path) -> None:
    conn = samples.calc(home)
    long = "write the documentation of it " * 6
    item(conn, long)
    item(conn, long + "too")
    lines = lines_of(start(home, "/src/calc", budget=280))
    at = lines.index("Still to be done:")
    assert lines[at + 1] == "- 2 open items: `cmem state list`"
    conn.execute("UPDATE work_state_entries SET hidden_at = 1 WHERE id = 2")
    conn.close()
    lines = lines_of(start(home, "/src/calc", budget=280))
    assert lines[lines.index("Still to be done:") + 1] == "- 1 open item: `cmem state list`"


def test_one_topic_does_not_fill_the_block() -> None:
    def row(ref: int, session: int = 1, agent: str = "") -> Any:
        return (ref, 1000 + ref, "change", 0, "local", ref, session, agent, 1, 1, f"t{ref}", "", "")

    rows = [row(ref) for ref in range(9, 0, -1)]
    files = {ref: {"busy.py"} for ref in range(4, 10)}
    assert [one[1][0] for one in select.rank(rows, branch="", files=files)] == [
        *(9, 8, 3, 2, 1),
        *(7, 6, 5, 4),
    ]
    agents = [row(ref, agent="explorer" if ref > 3 else "") for ref in range(9, 0, -1)]
    whys = {one[1][0]: one[2] for one in select.rank(agents, branch="", files={}, parts=True)}
    assert whys[9] == "recent x1.00, change x1.00, by a subagent x0.60 = 0.60"
    assert whys[4] == (
        "recent x0.9439, change x1.00, by a subagent x0.60, its topic is told of x0.7225 = 0.41"
    )


@pytest.mark.parametrize(
    ("query", "values"),
    [
        (recent.PINNED, (1, 20)),
        (recent.NOTES, ("notes-x", 10)),
        (recent.LASTING, (1, 2**62, 30)),
        (recent.COUNT_TO, (1, 5_000)),
        (recent.COUNT_EXTERNAL, (1, 5_000)),
        (recent.OPEN_ITEMS, (1, -1, 8)),
    ],
)
def test_no_statement_scans(home: Path, query: str, values: tuple[str | int, ...]) -> None:
    conn = samples.calc(home)
    plan = [str(step[3]) for step in rows(conn, "EXPLAIN QUERY PLAN " + query, values)]
    conn.close()
    assert not any(step.startswith("SCAN") and "(sub" not in step for step in plan), plan
    assert not any("TEMP B-TREE" in step for step in plan), plan


def test_no_flood_wipes_what_was_decided(home: Path) -> None:
    """Sixty memories from outside, by subagents, of one file, of one title, or a date far ahead:
    twenty older decisions stay in the block, and the flood has about a third of its places at most."""
    floods: dict[str, dict[str, Any]] = {
        "outside": {"taint": "external"},
        "subagents": {"agent_type": "Explore", "agent_id": "x"},
        "one file": {"files_modified": ["reader.py"]},
        "one title": {"title": "flood of one title"},
        "far ahead": {"created_at": samples.NOON + 36_500 * samples.DAY},
    }
    conn = samples.open_store(home)
    for at, values in enumerate(floods.values(), 1):
        samples.project(conn, f"p{at}", f"/src/p{at}")
        old = samples.session(conn, at, f"old{at}")
        new = samples.session(conn, at, f"new{at}")
        for number in range(20):
            turn = samples.turn(conn, old, number)
            title = f"Decided {number}"
            samples.observation(
                conn, at, old, turn, title=title, type="decision", prompt_number=number
            )
        for number in range(60 if "created_at" not in values else 3):
            row = {"title": f"flood {number}", "created_at": samples.NOON + samples.DAY} | values
            turn = samples.turn(conn, new, number)
            row |= {"narrative": str(number), "prompt_number": number}
            samples.observation(conn, at, new, turn, **row)
    conn.close()
    for at, name in enumerate(floods, 1):
        text = text_of(start(home, f"/src/p{at}"))
        assert (name, text.count("Decided ")) == (name, 20)
        assert text.count("flood ") <= 12
    assert "Not shown: 60 from outside sources; see cmem search." in text_of(start(home, "/src/p1"))


def test_old_decisions_are_candidates_behind_many_newer(home: Path) -> None:
    conn = samples.calc(home)
    bury(conn, select.CANDIDATES + 20)
    stored = further.count(conn, [1])
    read = gather.for_project(conn, 1)
    assert 2 in {one[1][0] for one in read.ranked} or "unittest" in text_of(
        start(home, "/src/calc")
    )
    conn.close()
    lines = lines_of(start(home, "/src/calc"))
    shown = sum(line.startswith("- O") for line in lines)
    assert f"Not shown: {stored - shown} more memories are stored; see cmem search." in lines


def test_the_notes_of_a_merged_project_stay(home: Path) -> None:
    conn = samples.calc(home)
    other = samples.project(conn, "old", "/src/old")
    note(conn, other, "Written in the old place")
    note(conn, 1, "Written in the new place")
    bury(conn, select.CANDIDATES)
    conn.execute("UPDATE projects SET merged_into = 1 WHERE id = ?", (other,))
    conn.close()
    text = text_of(start(home, "/src/calc"))
    assert "Written in the old place" in text and "Written in the new place" in text


def test_a_pinned_note_for_every_project_comes_first_and_with_its_text(home: Path) -> None:
    conn = samples.calc(home)
    scope = wide(conn)
    text = "Commits have one line; " + "and say why, not what, " * 9 + "each"
    first = notes.Note(text, pinned=True)
    notes.add_to(conn, notes.clean(first), project=scope, now=samples.NOON - samples.DAY)
    for number in range(12):
        kept = notes.clean(notes.Note(f"newer {number}"))
        notes.add_to(conn, kept, project=scope, now=samples.NOON + number)
    conn.close()
    lines = lines_of(start(home, "/src/calc"))
    at = lines.index("In every project:")
    assert lines[at + 1].startswith("- O3 pinned note: Commits have one line; and say why")
    # The title was cut; the rest is told, and nothing twice.
    title, rest = lines[at + 1], lines[at + 2]
    begin = title.removeprefix("- O3 pinned note: ").partition("…")[0]
    assert begin + rest.removeprefix("  · …") == text
    shown = sum("newer" in line for line in lines)
    assert f"Not shown: {12 - shown} more memories are stored; see cmem search." in lines


LONG = "Retries of the gateway end after three attempts " + "because it blocks an account " * 3


@pytest.mark.parametrize(
    ("title", "narrative", "facts", "says"),
    [
        ("Fixed it", "Fixed it", [], []),
        ("Fixed it", "Fixed it all", [], ["Fixed it all"]),
        ("Fixed it", "Why it broke", ["Fixed it"], ["Why it broke"]),
        ("Fixed it", "Fixed it", ["Fixed it", "a.py"], ["a.py"]),
        ("It was cut…", "It was cut short", [], ["… short"]),
        ("It was cu…", "It was cut short", [], ["… cut short"]),
        ("a.py/x…", "a.py/xjavascript:f() or b", [], ["a.py/xjavascript:f() or b"]),
        ("修复了…", "修复了减法", [], ["…减法"]),
        ("It waits…", "It waits…", [], []),
        ("It waits…", "It waits… for you", [], ["… for you"]),
        ("It was cut…", "It was cut", [], []),
        ("It was cut…", "Something else", ["It was cut short"], ["… short"]),
        ("…", "All of it", [], ["All of it"]),
        ("<b> & …", "<b> & <i>", [], ["… &lt;i&gt;"]),
        (LONG + "for good", LONG + "for good", [], ["… blocks an account for good"]),
    ],
)
def test_what_a_title_says_is_not_said_again(
    home: Path, title: str, narrative: str, facts: list[str], says: list[str]
) -> None:
    conn = samples.calc(home)
    ref = samples.observation(
        conn, 1, 1, 1, title=title, narrative=narrative, facts=facts, created_at=NEW
    )
    conn.close()
    lines = lines_of(start(home, "/src/calc"))
    at = next(at for at, line in enumerate(lines) if line.startswith(f"- O{ref} "))
    told = [line.removeprefix("  · ") for line in lines[at + 1 : at + 1 + len(says)]]
    assert told == says
    assert not lines[at + 1 + len(says)].startswith("  · ")


def test_the_examples_at_the_end_lead_somewhere(home: Path) -> None:
    conn = samples.calc(home)
    note(conn, 1, "Use uv here")
    conn.close()
    lines = lines_of(start(home, "/src/calc"))
    assert lines[-2].startswith("Look closer: `cmem get O3` (all of it), `cmem timeline O3`")
    # Nothing was done for the note.
    assert lines[-2].endswith(', `cmem search "words"`, `cmem raw O2` (original tool calls).')


def test_nothing_is_only_said_where_there_is_nothing(home: Path) -> None:
    conn = samples.calc(home)
    samples.project(conn, "web", "/src/web")
    web = samples.session(conn, 2, "web", cwd="/src/web")
    turn = samples.turn(conn, web, 1)
    samples.observation(conn, 2, web, turn, taint="external")
    samples.project(conn, "new", "/src/new")
    conn.close()
    said = {
        cwd: start(home, cwd, **options).get("systemMessage")
        for cwd, options in (
            ("/src/calc", {"budget": 60}),
            ("/src/web", {}),
            ("/src/new", {}),
        )
    }
    assert said == {
        "/src/calc": "cmem is on: context_budget has room for none of the 2 memories of calc",
        "/src/web": "cmem is on: 1 memory of web, all from outside sources: see `cmem search`",
        "/src/new": f"cmem is on: nothing remembered for new yet{health.BEGIN}",
    }
    assert start(home, "/src/new", source="compact", session="x") == {}


def many(conn: apsw.Connection, project: int, count: int, **values: Any) -> None:
    """So many copies of a memory, made in one statement."""
    turn = samples.turn(conn, samples.session(conn, project, f"many {project} {values}"), 1)
    session = conn.execute("SELECT session_id FROM turns WHERE id = ?", (turn,)).get
    first = samples.observation(conn, project, session, turn, title="Many 0", **values)
    names = [str(row[1]) for row in conn.execute("PRAGMA table_info(observations)")]
    own = {"id": "NULL", "uid": "uid || i", "content_hash": "content_hash || i"}
    own["title"] = "'Many ' || i"
    told = ", ".join(own.get(name, name) for name in names)
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
    conn.execute(
        f"{numbers} INSERT INTO observations({', '.join(names)}) SELECT {told} FROM n, observations"
        " WHERE id = ? LIMIT ?",
        (count, first, count - 1),
    )


@pytest.mark.parametrize(
    ("told", "outside", "everywhere", "rest", "of_outside"),
    [
        (30, 0, 500, "{530}", ""),
        (30, 0, 700, "at least {530}", ""),
        (500, 0, 0, "{500}", ""),
        (501, 3, 0, "at least {500}", "3"),
        (501, 600, 0, "at least {500}", "at least 500"),
        (60, 500, 0, "{60}", "500"),
        (60, 600, 0, "{60}", "at least 500"),
    ],
)
def test_what_is_not_shown_is_counted_exactly_or_said_to_be_more(
    home: Path, told: int, outside: int, everywhere: int, rest: str, of_outside: str
) -> None:
    conn = samples.open_store(home)
    samples.project(conn, "p", "/src/p")
    with transaction(conn):
        many(conn, 1, told)
        if outside:
            many(conn, 1, outside, taint="external")
        if everywhere:
            many(conn, wide(conn), everywhere, type="note")
    conn.close()
    lines = lines_of(start(home, "/src/p"))
    shown = sum(line.startswith("- O") for line in lines)
    left = re.sub("{(.*)}", lambda found: f"{int(found[1]) - shown:,}", rest)
    wanted = [f"Not shown: {left} more memories are stored; see cmem search."]
    if of_outside:
        wanted.append(f"Not shown: {of_outside} from outside sources; see cmem search.")
    assert [line for line in lines if line.startswith("Not shown")] == wanted
    said = start(home, "/src/p", budget=60)["systemMessage"].partition(": ")[2]
    which = "at least 500" if told + outside + everywhere > 500 else "the 500"
    assert said == f"context_budget has room for none of {which} memories of p"


def test_the_figures_of_a_score_give_the_score(home: Path) -> None:
    conn = samples.calc(home)
    session = samples.session(conn, 1, "other")
    for number in range(1, 40):
        samples.observation(
            conn,
            1,
            1 + (number % 2) * (session - 1),
            samples.turn(conn, session, number),
            title=f"Step {number}",
            type=("decision", "bugfix", "feature", "change")[number % 4],
            created_at=samples.NOON + number * samples.HOUR,
            files_modified=[f"src/{number % 5}.py"],
            branch="fix" if number % 3 else "",
            agent_type="Explore" if number % 7 == 0 else "",
            pinned=int(number % 11 == 0),
        )
    read = gather.for_project(conn, 1, branch="fix", session=1, parts=True)
    conn.close()
    assert any(
        "this session +50" in why and "pinned +100" in why for _score, _row, why in read.ranked
    )
    for score, row, why in read.ranked:
        parts, _, told = why.rpartition(" = ")
        value = select.WEIGHTS.get(row[2], 1.0) if f"{row[2]} x" not in parts else 1.0
        for part in parts.split(", "):
            sign, figure = part[part.rindex(" ") + 1], part[part.rindex(" ") + 2 :]
            value = value * float(figure) if sign == "x" else value + float(figure)
        assert told == f"{score:.2f}" and abs(value - score) < 0.01, why
