"""Whatever a host sends, in whatever order: every turn is closed exactly once, and nothing that
was captured is lost, doubled or left uncounted.

A dice plays a host. What it sends may make sense or not: ends without a beginning, beginnings
without an end, hooks that overtake each other, agents that work on after their turn, events told
twice, sessions that go on after their end. Each seed is one such session.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apsw
import pytest
from support import payload_bytes

from cmem import ingest, intake
from cmem.ingest import Ingested
from cmem.model import Entry, Repo
from cmem.store import connection, units

NOW = 1_800_000_000_000
T = 1_700_000_000_000
SEEDS = 200
LEGAL = 80
OUTCOMES = {"stop", "failure", "interrupted", "open"}
ENDS = (
    *("stop", "interrupt", "stop-failure", "next-prompt", "session-end", "late", "sweep"),
    *("asked", ""),
)


class Sent(NamedTuple):
    """One hook: what it was called with, and when."""

    event: str
    at: int
    fields: dict[str, Any]


class Dice:
    """A host that makes up a session. ``sane``: it keeps to the order in which hosts work."""

    def __init__(self, seed: int, *, ids: bool = True) -> None:
        self.random = random.Random(seed)
        self.session, self.ids = f"s{seed}", ids
        self.at, self.count = T, 0
        self.sent: list[Sent] = []
        self.prompts: list[str] = []

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def send(self, event: str, **fields: Any) -> None:
        # Hooks that run side by side have the same time or nearly so.
        self.at += self.random.choice((0, 1, 40, 1_500, 30_000))
        named = {key: value for key, value in fields.items() if self.ids or key != "prompt_id"}
        cwd = self.random.choice(("/w/calc", "/w/calc/src", "/elsewhere"))
        common = {"session_id": self.session, "cwd": cwd, "transcript_path": "/t"}
        self.sent.append(Sent(event, self.at, {**common, **named}))

    # --- what a host can send -----------------------------------------------------------

    def prompt(self) -> None:
        self.prompts.append(self.fresh("p"))
        text = self.fresh("do ")
        if self.random.random() < 0.1:
            text = "<pri" + f"vate>{text}</pri" + "vate>"
        # Two private prompts without ids are one event if nothing else tells them apart.
        title = self.fresh("title ")
        self.send("UserPromptSubmit", prompt=text, prompt_id=self.prompts[-1], session_title=title)

    def notification(self) -> None:
        text = f"<task-notification>{self.fresh('n')}</task-notification>"
        self.send("UserPromptSubmit", prompt=text, prompt_id=self.some_prompt())

    def tool(self) -> None:
        agent = {"agent_id": self.random.choice("ab"), "agent_type": "Explore"}
        event = self.random.choice(("PostToolUse", "PostToolUse", "PostToolUseFailure"))
        self.send(
            event,
            tool_name="Bash",
            tool_use_id=self.fresh("t"),
            tool_input={"command": self.fresh("echo ")},
            prompt_id=self.some_prompt(),
            **(agent if self.random.random() < 0.3 else {}),
        )

    def stop(self) -> None:
        message = self.random.choice(("", self.fresh("said ")))
        self.send("Stop", last_assistant_message=message, prompt_id=self.some_prompt())

    def failure(self) -> None:
        self.send("StopFailure", error="rate_limit", prompt_id=self.some_prompt())

    def bang(self) -> None:
        self.send("Stop", last_assistant_message=self.fresh("ran "), prompt_id=self.fresh("p"))

    def subagent(self) -> None:
        kind = self.random.choice(("Explore", ""))
        told = self.fresh("found ")
        self.send("SubagentStop", agent_id="a", agent_type=kind, last_assistant_message=told)

    def compaction(self) -> None:
        self.send("PreCompact", trigger=self.random.choice(("auto", "manual")))
        self.send("SubagentStop", agent_id="", agent_type="", last_assistant_message="<summary>")
        self.send("SessionStart", source="compact")

    def start(self) -> None:
        source = self.random.choice(("startup", "resume", "clear", "fork", "compact"))
        self.send("SessionStart", source=source)

    def end(self) -> None:
        self.send("SessionEnd", reason=self.random.choice(("other", "clear", "logout")))

    def odd(self) -> None:
        name = self.random.choice(("UserPromptSubmit", "PostToolUse", "Stop"))
        self.send(name, prompt=5, tool_name=None)

    def some_prompt(self) -> str:
        """The newest prompt's id, mostly; an older one's, one never heard of, or none."""
        dice = self.random.random()
        if not self.prompts or dice < 0.05:
            return self.random.choice(("", self.fresh("unheard")))
        return self.prompts[-1] if dice < 0.8 else self.random.choice(self.prompts)

    # --- sessions -----------------------------------------------------------------------

    def anything(self) -> list[Sent]:
        """Events of any kind in any order, some of them twice, some overtaken."""
        kinds = (
            *[self.prompt] * 4,
            *[self.tool] * 6,
            *[self.stop] * 3,
            *(self.failure, self.bang, self.subagent, self.notification, self.compaction),
            *(self.start, self.end, self.odd),
        )
        for _ in range(self.random.randint(3, 22)):
            self.random.choice(kinds)()
        self.sent += self.random.sample(self.sent, k=len(self.sent) // 6)
        for _ in range(self.random.randint(0, 4)):
            here, there = (self.random.randrange(len(self.sent)) for _ in range(2))
            self.sent[here], self.sent[there] = self.sent[there], self.sent[here]
        return self.sent

    def in_order(self) -> list[Sent]:
        """Turns as Claude Code works through them; one in four is broken off."""
        self.send("SessionStart", source="startup")
        for _ in range(self.random.randint(1, 4)):
            self.prompt()
            for _ in range(self.random.randint(0, 3)):
                self.send(
                    "PostToolUse",
                    tool_name="Bash",
                    tool_use_id=self.fresh("t"),
                    tool_input={"command": "ls"},
                    prompt_id=self.prompts[-1],
                )
                if self.random.random() < 0.1:
                    self.compaction()
            if self.random.random() < 0.75:
                said = self.fresh("said ")
                self.send("Stop", last_assistant_message=said, prompt_id=self.prompts[-1])
        if self.random.random() < 0.6:
            self.end()
        return self.sent


# --- taking in and looking ------------------------------------------------------------------


def entry(sent: Sent, host: str = "claude-code") -> Entry:
    """The event as it lies in the mailbox."""
    taken = intake.take(host, sent.event, payload_bytes(sent.fields), captured_at=sent.at)
    assert taken is not None
    return Entry(
        id=0,
        eid=taken.eid,
        host=host,
        event=sent.event,
        captured_at=sent.at,
        cwd=taken.cwd,
        repo=Repo("", "", "", ""),
        project_env="",
        payload=taken.payload,
    )


def take_in(conn: apsw.Connection, entries: Sequence[Entry]) -> Ingested:
    locate = ingest.Locator()
    total = Ingested()
    for one in entries:
        total = ingest._add(total, ingest._commit(conn, [one], locate=locate, now=NOW))
    return total


@pytest.fixture(scope="module")
def conn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    """One store for all of them, which notes every time that a turn is closed."""
    store = connection.open_writer(str(tmp_path_factory.mktemp("home")), now=NOW)
    store.pragma("synchronous", "OFF")
    store.execute("CREATE TEMP TABLE closings(turn_id INTEGER)")
    store.execute(
        """CREATE TEMP TRIGGER closing AFTER UPDATE OF closed_at ON main.turns
        WHEN OLD.closed_at IS NOT NEW.closed_at
        BEGIN INSERT INTO closings VALUES(NEW.id); END"""
    )
    yield store
    store.close()


def session_id(conn: apsw.Connection, name: str) -> int:
    row = conn.execute("SELECT id FROM sessions WHERE content_session_id = ?", (name,)).fetchone()
    return -1 if row is None else int(row[0])


def texts(conn: apsw.Connection, sql: str, session: int) -> Counter[str]:
    return Counter(str(row[0]) for row in conn.execute(sql, (session,)))


def snapshot(conn: apsw.Connection, session: int) -> list[Any]:
    tables = ("turns", "user_prompts", "tool_uses", "work_units")
    return [
        list(conn.execute(f"SELECT * FROM {name} WHERE session_id = ? ORDER BY id", (session,)))
        for name in tables
    ]


def open_turns(conn: apsw.Connection, session: int) -> int:
    query = "SELECT count(*) FROM turns WHERE session_id = ? AND closed_at IS NULL"
    return int(conn.execute(query, (session,)).fetchone()[0])  # type: ignore[index]


def check_turns(conn: apsw.Connection, session: int) -> None:
    """Every turn is closed, once, in a way that has a name, not before it was opened; what is
    worth a unit has one, and a private turn has nothing in it."""
    for row in conn.execute(
        """SELECT id, opened_at, last_event_at, closed_at, closed_by, outcome, private,
            assistant_message, error,
            (SELECT count(*) FROM closings c WHERE c.turn_id = t.id),
            (SELECT count(*) FROM work_units u WHERE u.turn_id = t.id AND u.kind = 'turn'
                AND (t.private = 0 OR u.state <> 'done')),
            (SELECT group_concat(prompt_text, '') FROM user_prompts p WHERE p.turn_id = t.id),
            (SELECT count(*) FROM tool_uses x WHERE x.turn_id = t.id)
        FROM turns t WHERE session_id = ?""",
        (session,),
    ):
        turn, opened, last, closed, by, outcome, private, said, error, times, made, told, did = row
        assert (times, by in ENDS, outcome in OUTCOMES) == (1, True, True), row
        assert opened <= closed <= last, (turn, opened, closed, last)
        if private:
            assert (said, error, told or "", made) == ("", "", "", 0), row
        else:
            assert made == int(bool(said or told or did)), row


def check_evidence(conn: apsw.Connection, session: int, sent: Sequence[Sent]) -> None:
    """Each prompt and each tool call that was sent is there, once, in a turn of its session."""
    tools = {one.fields.get("tool_use_id") for one in sent if one.fields.get("tool_name")}
    found = texts(
        conn,
        """SELECT tool_use_id FROM tool_uses WHERE session_id = ? AND tool_name = 'Bash'
            AND turn_id IN (SELECT id FROM turns t WHERE t.session_id = tool_uses.session_id)""",
        session,
    )
    assert found == dict.fromkeys(tools, 1)
    prompts = {
        one.fields["prompt"]
        for one in sent
        if isinstance(one.fields.get("prompt"), str) and "<pri" not in one.fields["prompt"]
    }
    rows = texts(conn, "SELECT prompt_text FROM user_prompts WHERE session_id = ?", session)
    hidden = texts(
        conn,
        """SELECT p.id FROM user_prompts p JOIN turns t ON t.id = p.turn_id
        WHERE p.session_id = ? AND t.private = 1""",
        session,
    )
    shown = {text: count for text, count in rows.items() if text}
    assert set(shown.values()) <= {1}
    assert set(shown) <= prompts
    private = {one.fields["prompt"] for one in sent if "<pri" in str(one.fields.get("prompt"))}
    assert len(shown) + len(hidden) == len(prompts) + len(private)
    numbers = [
        row[0]
        for row in conn.execute(
            """SELECT prompt_number FROM user_prompts WHERE session_id = ? AND kind = 'user'
            ORDER BY prompt_number""",
            (session,),
        )
    ]
    assert numbers == list(range(1, len(numbers) + 1))


def check_answers(conn: apsw.Connection, session: int, sent: Sequence[Sent]) -> None:
    """No answer stands in two turns. Of a prompt that was seen, one of its answers is kept."""
    kept = texts(
        conn,
        "SELECT assistant_message FROM turns WHERE session_id = ? AND assistant_message <> ''",
        session,
    )
    assert set(kept.values()) <= {1}
    open_prompts = {
        one.fields["prompt_id"]
        for one in sent
        if one.event == "UserPromptSubmit" and str(one.fields.get("prompt")).startswith("do ")
    }
    for prompt_id in open_prompts:
        answers = {
            one.fields["last_assistant_message"]
            for one in sent
            if one.event == "Stop" and one.fields.get("prompt_id") == prompt_id
        } - {"", None}
        assert not answers or answers & set(kept), (prompt_id, answers)


# --- what holds -----------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [True, False], ids=["prompt ids", "no prompt ids"])
def test_every_turn_is_closed_exactly_once_whatever_the_host_sent(
    conn: apsw.Connection, *, ids: bool
) -> None:
    for seed in range(SEEDS):
        dice = Dice(seed if ids else seed + SEEDS, ids=ids)
        sent = dice.anything()
        entries = [entry(one) for one in sent]
        total = Ingested()
        for number, one in enumerate(entries):
            total = ingest._add(total, take_in(conn, [one]))
            session = session_id(conn, dice.session)
            assert open_turns(conn, session) <= 1, (seed, number)
            if dice.random.random() < 0.05:
                observe(conn, session)
        assert total.events + total.duplicates == len(entries), seed
        ingest.sweep(conn, now=NOW, close_open=True, session=dice.session)
        check_turns(conn, session)
        check_evidence(conn, session, [one for one in sent if one.fields.get("prompt") != 5])
        if ids:
            check_answers(conn, session, sent)
        before = snapshot(conn, session)
        again = take_in(conn, entries)
        assert again == Ingested(duplicates=len(entries)), seed
        assert snapshot(conn, session) == before, seed


def observe(conn: apsw.Connection, session: int) -> None:
    """What waits has been looked at."""
    waiting = "SELECT id FROM work_units WHERE session_id = ? AND state = 'pending'"
    for (unit,) in list(conn.execute(waiting, (session,))):
        units.count_attempt(conn, unit)
        conn.execute("UPDATE work_units SET state = 'done' WHERE id = ?", (unit,))


@pytest.mark.parametrize("ids", [True, False], ids=["prompt ids", "no prompt ids"])
def test_turns_that_come_in_order_are_the_prompts(conn: apsw.Connection, *, ids: bool) -> None:
    for seed in range(LEGAL):
        dice = Dice(seed + 1_000 + SEEDS * ids, ids=ids)
        sent = dice.in_order()
        assert take_in(conn, [entry(one) for one in sent]).unreadable == 0
        ingest.sweep(conn, now=NOW, close_open=True, session=dice.session)
        session = session_id(conn, dice.session)
        check_turns(conn, session)
        check_evidence(conn, session, sent)
        turns = conn.execute(
            "SELECT kind, outcome, assistant_message FROM turns WHERE session_id = ? ORDER BY id",
            (session,),
        ).fetchall()
        wanted = [turn_of(sent, number) for number in range(len(dice.prompts))]
        assert turns == wanted, seed


def turn_of(sent: Sequence[Sent], number: int) -> tuple[str, str, str]:
    """How the turn of the prompt of this number has to end."""
    starts = [at for at, one in enumerate(sent) if one.event == "UserPromptSubmit"]
    reach = [*starts, len(sent)][number + 1]
    between = sent[starts[number] : reach]
    private = "<pri" in between[0].fields["prompt"]
    for one in between:
        if one.event == "Stop":
            return "user", "stop", "" if private else one.fields["last_assistant_message"]
    return "user", "interrupted", ""
