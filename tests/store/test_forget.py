from __future__ import annotations

import itertools
import json

import apsw
import pytest
import store_rows as make

from cmem.errors import BusyError
from cmem.forget import scan
from cmem.search.run import Filters, search
from cmem.store import connection, dedup, edits, erase, forget, released, tombstones
from cmem.store.forget import Plan

T0 = make.T0
WORDS = (
    [
        "glacier",
        "umbrella",
        "cobalt",
        "jasmine",
        "thunder",
        "velvet",
        "harbour",
        "lantern",
        "pepper",
        "quartz",
    ],
    ["紫色大象跳舞", "数据库密码轮换", "连接池监控告警", "蓝鲸深海探测"],
    ["パスワード変更手順", "サーバー再起動計画", "秘密鍵更新"],
    ["비밀번호변경절차", "서버재시작계획", "데이터베이스백업"],
    ["การเปลี่ยนรหัสผ่านใหม่", "แผนเริ่มเซิร์ฟเวอร์"],
    ["секретныйпароль", "обновлениесервера", "проверкадоступа"],
    ["cấuhìnhmáychủmới", "kiểmtratruycập"],
    ["getSecretRotationKey", "rotate_secret_token", "C++Rotator", ".envrotation"],
)


def told(number: int) -> str:
    """A text in many scripts whose words carry their own number, so that none is shared."""
    return " ".join(
        f"{word[:4]}{number:03d}{word[4:]}{number:03d}{word[::-1][:6]}"
        for words in WORDS
        for word in words
    )


def pieces(text: str) -> list[str]:
    return [text[at : at + 8] for at in range(0, len(text) - 8, 3)]


def full_turn(conn, session, number: int) -> dict[str, int]:
    """A turn with every kind of row, and a private text of its own in each of them."""
    text = told(number)
    turn = make.turn(conn, session, number, assistant_message=f"said {text}", error=f"err {text}")
    given = {"command": f"run {text}", "description": "x"}
    prompt = make.prompt(conn, turn, f"asked {text}")
    answer = {"stdout": f"out {text} " * 60}
    tool = make.tool(conn, turn, "Bash", given=given, answer=answer)
    observation = make.observation(
        conn,
        turn,
        f"title {text}",
        f"narrative {text}",
        facts=(f"fact {text}",),
        concepts=(f"concept{number}",),
        files=(f"/p/{text[:40]}",),
        sources=(("P", prompt), ("T", tool)),
        metadata=json.dumps({"x": text}),
    )
    make.insert(
        conn,
        "work_units",
        kind="turn",
        session_id=session,
        turn_id=turn,
        state="parked",
        created_at=T0,
        error=f"bad reply: {text}",
    )
    return {"turn": turn, "P": prompt, "T": tool, "O": observation}


@pytest.fixture
def store(home):
    conn = make.open_store(home)
    yield conn
    conn.close()


@pytest.fixture
def session(store):
    return make.session(store, make.project(store))


def found(conn, text):
    result = search(conn, text=text, filters=Filters(), limit=50, now=T0)
    return sorted(hit.id for hit in result.hits)


def counts(conn):
    tables = ("observations", "session_summaries", "user_prompts", "tool_uses", "documents")
    return [conn.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in tables]


# --- the plan ------------------------------------------------------------------------------


def test_evidence_takes_what_was_made_of_it(store, session):
    first, second = full_turn(store, session, 1), full_turn(store, session, 2)
    before = make.summary(store, first["turn"], "first")
    after = make.summary(store, second["turn"], "second")
    for kind in ("P", "T"):
        plan = forget.plan(store, [(kind, second[kind])])
        assert plan == Plan(
            observations=(second["O"],),
            summaries=(after,),
            prompts=(second["P"],),
            tool_uses=(second["T"],),
            turns=(second["turn"],),
        )
        assert plan.total == 4
    assert forget.plan(store, [("T", first["T"])]).summaries == (before, after)


def test_observation_without_sources_was_made_of_its_whole_turn(store, session):
    turn = make.turn(store, session)
    prompt = make.prompt(store, turn, "x")
    tool = make.tool(store, turn, "Bash", given={}, answer="")
    observation = make.observation(store, turn, "y")
    everything = Plan(
        observations=(observation,), prompts=(prompt,), tool_uses=(tool,), turns=(turn,)
    )
    for ref in (("T", tool), ("P", prompt), ("O", observation)):
        assert forget.plan(store, [ref]) == everything


def test_evidence_not_observed_yet_takes_the_last_message_only(store, session):
    turn = make.turn(store, session)
    prompt = make.prompt(store, turn, "x")
    tool = make.tool(store, turn, "Bash", given={}, answer="")
    assert forget.plan(store, [("T", tool)]) == Plan(tool_uses=(tool,), turns=(turn,))
    assert forget.plan(store, [("P", prompt)]) == Plan(prompts=(prompt,), turns=(turn,))


def test_observation_that_repeats_the_text_goes_along(store, session):
    """In the same turn; other turns keep the words they share with it."""
    here, there = make.turn(store, session, 1), make.turn(store, session, 2)
    turns = [here, here, here, here, there]
    prompts = [make.prompt(store, here, "x"), make.prompt(store, there, "y")]
    shared = "the vault of the old customer is in Reykjavik"
    texts = (shared, f"It says: {shared.upper()}!", "the vault of the old", "nothing", shared)
    refs = [
        make.observation(store, turn, "t", text, sources=(("P", prompts[turn == there]),))
        for turn, text in zip(turns, texts, strict=True)
    ]
    assert forget.plan(store, [("O", refs[0])]) == Plan(
        observations=(refs[0], refs[1]), prompts=(prompts[0],), turns=(here,)
    )


def test_session_takes_everything_told_in_it(store, session):
    rows = [full_turn(store, session, number) for number in (1, 2)]
    summary = make.summary(store, rows[0]["turn"], "s")
    other = full_turn(store, make.session(store, 1, "s2"), 3)
    plan = forget.plan(store, [("N", session)])
    assert plan == Plan(
        observations=(1, 2),
        summaries=(summary,),
        prompts=(1, 2),
        tool_uses=(1, 2),
        turns=(1, 2),
        titles=(session,),
        sessions=(session,),
    )
    assert other["O"] == 3


def test_summary_takes_nothing_along(store, session):
    row = full_turn(store, session, 1)
    summary = make.summary(store, row["turn"], "s")
    assert forget.plan(store, [("S", summary)]) == Plan(summaries=(summary,))


def test_unknown_rows_are_left_out(store):
    assert forget.plan(store, [("O", 9), ("N", 9), ("T", 9)]) == Plan()


# --- hiding --------------------------------------------------------------------------------


def test_hidden_rows_are_not_found_until_shown_again(store, session):
    row, other = full_turn(store, session, 1), full_turn(store, session, 2)
    before = counts(store)
    forget.hide(store, forget.plan(store, [("O", row["O"])]), now=T0 + 5)
    assert found(store, "title asked run") == ["O2", "P2", "T2"]
    assert forget.unhide(store, [("T", row["T"])]) == 3
    assert found(store, "title asked run") == ["O1", "O2", "P1", "P2", "T1", "T2"]
    query = "SELECT count(*) FROM turns WHERE hidden_at IS NOT NULL"
    assert store.execute(query).fetchall() == [(0,)]
    assert counts(store) == before
    assert forget.unhide(store, [("T", row["T"]), ("O", other["O"])]) == 0


def test_undo_shows_only_what_was_hidden_together(store, session):
    rows = [full_turn(store, session, number) for number in (1, 2)]
    for moment, row in enumerate(rows):
        forget.hide(store, forget.plan(store, [("P", row["P"])]), now=T0 + moment)
    assert forget.unhide(store, [("O", rows[1]["O"])]) == 3
    assert found(store, "asked") == ["P2"]


def test_whole_session_can_be_shown_again(store, session):
    full_turn(store, session, 1)
    forget.hide(store, forget.plan(store, [("N", session)]), now=T0)
    assert found(store, "") == []
    assert forget.unhide(store, [("N", session)]) == 3
    assert len(found(store, "")) == 3


def test_hidden_rows_are_due_after_a_day(store, session):
    row = full_turn(store, session, 1)
    full_turn(store, session, 2)
    plan = forget.plan(store, [("O", row["O"])])
    forget.hide(store, plan, now=T0)
    assert forget.due(store, now=T0 + forget.UNDO_MS - 1) == Plan()
    assert forget.due(store, now=T0 + forget.UNDO_MS) == plan
    erase.purge(store, forget.due(store, now=T0 + forget.UNDO_MS), now=T0 + forget.UNDO_MS)
    assert forget.due(store, now=T0 + 9 * forget.UNDO_MS) == Plan()
    assert counts(store) == [1, 0, 1, 1, 3]


def test_shown_rows_are_not_due(store, session):
    row = full_turn(store, session, 1)
    forget.hide(store, forget.plan(store, [("O", row["O"])]), now=T0)
    forget.unhide(store, [("O", row["O"])])
    assert forget.due(store, now=T0 + 9 * forget.UNDO_MS) == Plan()


# --- erasing -------------------------------------------------------------------------------


def test_not_a_byte_of_a_forgotten_text_is_left(home, store, session):
    # Many rows, so that the index has segments to merge and pages to free.
    rows = [full_turn(store, session, number) for number in range(1, 41)]
    wanted = rows[19]
    secret, kept = told(20), told(21)
    summary = make.summary(store, rows[30]["turn"], f"request {secret}", learned=secret)
    store.execute("UPDATE sessions SET title = ?", (f"About {secret}",))
    early = make.summary(store, rows[5]["turn"], "request of another turn")
    plan = forget.plan(store, [("O", wanted["O"])])
    assert plan.summaries == (summary,)
    told_progress = []
    total = erase.purge(store, plan, now=T0, progress=lambda *at: told_progress.append(at))
    # How many transactions it takes depends on how fast the machine is.
    assert (total, told_progress[-1]) == (4, (4, 4))
    assert told_progress == sorted(set(told_progress))
    store.execute("INSERT INTO documents_fts(documents_fts, rank) VALUES('integrity-check', 1)")
    assert store.pragma("integrity_check") == "ok"
    assert found(store, "glac021ier021reical") == ["O21", "P21", "T21"]
    assert found(store, "request another") == [f"S{early}"]
    assert found(store, "紫色大象021跳舞021") == ["O21", "P21", "T21"]
    assert found(store, "glac020ier020reical") == []
    store.close()
    assert scan(str(home), pieces(kept))
    own = [
        piece
        for piece in pieces(secret)
        if all(piece not in told(n) for n in range(1, 41) if n != 20)
    ]
    assert len(own) > 100
    assert scan(str(home), own) == []


def test_index_keeps_no_beginning_of_a_removed_term(home, store, session):
    # Terms that begin alike: what parts two of them in the index's directory is long.
    def text(number: int) -> str:
        return " ".join(f"commonbeginning{number:03d}x{word:02d}" for word in range(40))

    turns = [make.turn(store, session, number) for number in range(1, 81)]
    prompts = [make.prompt(store, turn, text(number)) for number, turn in enumerate(turns)]
    erase.purge(store, forget.plan(store, [("P", ref) for ref in prompts[::2]]), now=T0)
    assert found(store, "commonbeginning007x07") == [f"P{prompts[7]}"]
    store.close()
    assert scan(str(home), [f"inning{number:03d}x" for number in range(0, 80, 2)]) == []


def test_not_a_byte_of_a_forgotten_session_is_left(home, store, session):
    other = make.session(store, 1, "s2", title="secretive title", cwd="/p/hush-hush")
    full_turn(store, session, 1)
    row = full_turn(store, other, 2)
    make.summary(store, row["turn"], told(2), notes=told(2))
    erase.purge(store, forget.plan(store, [("N", other)]), now=T0)
    assert len(found(store, "glac001ier001reical")) == 3
    store.close()
    own = [piece for piece in pieces(told(2)) if piece not in told(1)]
    assert scan(str(home), [*own, "secretive title", "hush-hush"]) == []


def test_erased_rows_are_known_when_they_come_again(store, session):
    row = full_turn(store, session, 1)
    erase.purge(store, forget.plan(store, [("O", row["O"])]), now=T0)
    known = [("O", "observation-1"), ("P", "prompt-1"), ("T", "tool-1")]
    assert all(erase.is_forgotten(store, kind, uid) for kind, uid in known)
    assert not erase.is_forgotten(store, "P", "tool-1")
    assert not erase.is_forgotten(store, "O", "observation-2")


def test_turn_with_nothing_left_stays_hidden_and_is_not_observed(store, session):
    row = full_turn(store, session, 1)
    erase.purge(store, forget.plan(store, [("P", row["P"])]), now=T0 + 7)
    turns = store.execute("SELECT hidden_at, assistant_message, error FROM turns").fetchall()
    assert turns == [(T0 + 7, "", "")]
    units = store.execute("SELECT state, error FROM work_units").fetchall()
    assert units == [("skipped", "")]


def test_turn_with_evidence_left_shows_again_without_its_message(store, session):
    turn = make.turn(store, session, assistant_message="said")
    make.prompt(store, turn, "kept")
    tool = make.tool(store, turn, "Bash", given={}, answer="gone")
    make.insert(store, "work_units", kind="turn", session_id=session, turn_id=turn, created_at=T0)
    erase.purge(store, forget.plan(store, [("T", tool)]), now=T0)
    assert found(store, "kept") == ["P1"]
    assert store.execute("SELECT hidden_at, assistant_message FROM turns").fetchall() == [
        (None, "")
    ]
    assert store.execute("SELECT state FROM work_units").fetchall() == [("pending",)]


def superseded(store, session):
    """O1 is superseded by O2, which is superseded by O3, each of a turn of its own."""
    refs = []
    for number in (1, 2, 3):
        turn = make.turn(store, session, number)
        prompt = make.prompt(store, turn, "x")
        refs.append(make.observation(store, turn, f"cache {number}", sources=(("P", prompt),)))
    for old, new in itertools.pairwise(refs):
        assert edits.supersede(store, old, new)
    return refs


@pytest.mark.parametrize(
    ("gone", "left"),
    [([3], ["O2"]), ([2], ["O3"]), ([1], ["O3"]), ([2, 3], ["O1"]), ([1, 3], ["O2"])],
    ids=str,
)
@pytest.mark.parametrize("hard", [False, True], ids=["hidden", "hard"])
def test_what_a_forgotten_row_stood_for_shows_again(store, session, gone, left, hard):
    refs = superseded(store, session)
    plan = forget.plan(store, [("O", refs[number - 1]) for number in gone])
    assert [f"O{ref}" for ref in released.shown(store, plan.observations)] == (
        left if left != ["O3"] else []
    )
    before = store.execute("SELECT id, superseded_by FROM observations").fetchall()
    forget.hide(store, plan, now=T0)
    assert found(store, "cache") == left
    if hard:
        erase.purge(store, plan, now=T0 + 1)
        assert found(store, "cache") == left
        assert store.execute("SELECT value FROM meta WHERE key = 'forget_released'").fetchall() in (
            [],
            [("[]",)],
        )
        return
    assert forget.unhide(store, [("O", gone[0])])
    assert store.execute("SELECT id, superseded_by FROM observations").fetchall() == before
    assert found(store, "cache") == ["O3"]


def test_what_was_superseded_meanwhile_is_not_bound_in_a_circle(store, session):
    refs = superseded(store, session)
    forget.hide(store, forget.plan(store, [("O", refs[1])]), now=T0)
    edits.restore(store, refs[0])
    edits.supersede(store, refs[2], refs[0])
    forget.unhide(store, [("O", refs[1])])
    assert found(store, "cache") == ["O1"]


def test_what_was_joined_as_a_duplicate_goes_along_on_either_side(store, session):
    turns = [make.turn(store, make.session(store, 1, f"d{n}"), 1) for n in (1, 2, 3)]
    refs = [
        make.observation(
            store, turn, "cache", f"n {turn}", sources=(("P", make.prompt(store, turn, "x")),)
        )
        for turn in turns
    ]
    dedup.join(store, refs[0], refs[1], level=1, score=0.9, now=T0)
    assert forget.plan(store, [("O", refs[0])]).observations == (refs[0], refs[1])
    assert forget.plan(store, [("O", refs[1])]).prompts == (1, 2)
    forget.hide(store, forget.plan(store, [("O", refs[0])]), now=T0)
    assert found(store, "cache") == [f"O{refs[2]}"]
    forget.unhide(store, [("O", refs[1])])
    assert found(store, "cache") == [f"O{refs[0]}", f"O{refs[2]}"]
    dedup.part(store, refs[1], now=T0)
    assert forget.plan(store, [("O", refs[0])]).observations == (refs[0],)


def test_nothing_is_decided_of_what_is_gone_for_good(store, session):
    turns = [make.turn(store, make.session(store, 1, f"d{n}"), 1) for n in (1, 2, 3)]
    refs = [make.observation(store, turn, "cache", f"n {turn}") for turn in turns]
    dedup.keep(store, refs[0], refs[1], score=0.9, now=T0)
    dedup.keep(store, refs[1], refs[2], score=0.9, now=T0)
    dedup.keep(store, refs[0], refs[2], score=0.9, now=T0)
    erase.purge(store, forget.plan(store, [("O", refs[1])]), now=T0)
    assert dedup.decided(store) == {(refs[0], refs[2])}
    assert store.execute("SELECT count(*) FROM near_duplicates").fetchall() == [(1,)]


def test_one_of_two_that_were_hidden_together_goes_and_the_other_is_due_still(store, session):
    rows = [full_turn(store, session, number) for number in (1, 2)]
    forget.hide(store, forget.plan(store, [("O", row["O"]) for row in rows]), now=T0)
    erase.purge(store, forget.plan(store, [("O", rows[0]["O"])]), now=T0 + 1)
    assert [one.rows.observations for one in forget.undoable(store)] == [(rows[1]["O"],)]
    assert forget.due(store, now=T0 + forget.UNDO_MS).observations == (rows[1]["O"],)


def test_session_with_notes_is_never_forgotten_as_a_whole(store):
    project = make.project(store)
    notes_of = make.session(store, project, "notes-1", host="user")
    other = make.session(store, project, "s2")
    for session in (notes_of, other):
        make.observation(store, make.turn(store, session), "a note")
        erase.purge(store, forget.plan(store, [("N", session)]), now=T0 + 9)
    until = [tombstones.forgotten_until(store, "N", f"claude-code:{n}") for n in ("notes-1", "s2")]
    assert until == [None, T0 + 9]


def test_purging_twice_changes_nothing_more(store, session):
    row = full_turn(store, session, 1)
    plan = forget.plan(store, [("O", row["O"])])
    assert erase.purge(store, plan, now=T0) == 3
    erase.purge(store, plan, now=T0)
    assert erase.finish(store) is False
    assert counts(store) == [0, 0, 0, 0, 0]


def test_reader_in_the_way_leaves_a_residue_that_is_said_and_cleaned_later(home, store, session):
    row = full_turn(store, session, 1)
    full_turn(store, session, 2)
    reader = connection.open_reader(str(home))
    cursor = reader.execute("SELECT id FROM tool_uses")
    next(cursor)
    with pytest.raises(BusyError, match="residue pending"):
        erase.purge(store, forget.plan(store, [("O", row["O"])]), now=T0)
    assert found(store, "title asked run") == ["O2", "P2", "T2"]
    cursor.close()
    reader.close()
    assert erase.finish(store) is True
    assert erase.finish(store) is False
    store.close()
    own = [piece for piece in pieces(told(1)) if piece not in told(2)]
    assert scan(str(home), own) == []


def test_interrupted_purge_is_completed_by_the_next(home, store, session, monkeypatch):
    row = full_turn(store, session, 1)
    full_turn(store, session, 2)
    plan = forget.plan(store, [("O", row["O"])])

    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(erase, "_blank_turn", interrupt)
        with pytest.raises(KeyboardInterrupt):
            erase.purge(store, plan, now=T0)
    again = forget.due(store, now=T0 + forget.UNDO_MS)
    erase.purge(store, again, now=T0 + forget.UNDO_MS)
    store.close()
    own = [piece for piece in pieces(told(1)) if piece not in told(2)]
    assert scan(str(home), own) == []


def test_no_lock_is_held_between_the_batches(home, store, session):
    for number in range(1, 5):
        full_turn(store, session, number)
    writer = apsw.Connection(store.filename)
    erase.purge(
        store,
        forget.plan(store, [("N", session)]),
        now=T0,
        progress=lambda *_: writer.execute("UPDATE meta SET value = value WHERE key = 'x'"),
    )
    writer.close()
    assert counts(store) == [0, 0, 0, 0, 0]


def test_scan_finds_every_form(home):
    for name, content in {
        "a": b"xx Needle Text xx",
        "b": "needle text".encode("utf-16-le"),
        "c": b"0" * ((1 << 20) - 5) + b"needle text",
        "d": b"nothing",
        "e": "ИГЛА".lower().encode(),
    }.items():
        (home / name).write_bytes(content)
    hits = scan(str(home), ["NEEDLE TEXT", "Игла"])
    assert [path[-1] for path in hits] == ["a", "b", "c", "e"]
    assert scan(str(home), []) == []
