"""Whatever is stored, the block keeps its shape: structure, never judgement of content."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import apsw
import pytest
import samples
from context import poison
from context.test_block import start, text_of

from cmem import tokens
from cmem.context import block, select
from cmem.store import notes, projects
from cmem.store.connection import transaction

OWN = "5f7d2c1a-0000-4000-8000-000000000001"
MARKS = (
    *("- ", "  · ", "cmem notes from", "Shown: ", "Last session (", "Memories of ", "Pinned:"),
    *("Look closer: ", "Not shown: ", "In every project:", "Still to be done:"),
    *("This session so far (", "New since this session, of ", "New since the forked session, of "),
)
FIELDS = {
    "projects": ("name",),
    "observations": ("title", "subtitle", "narrative", "type", "branch"),
    "session_summaries": ("request", "learned", "completed", "next_steps"),
    "user_prompts": ("prompt_text",),
    "turns": ("assistant_message",),
    "work_state_entries": ("text",),
}


def build(home: Path) -> apsw.Connection:
    """A store in which every kind of text that the block tells of has a row."""
    conn = samples.calc(home)
    other = samples.session(conn, 1, "other")
    turn = samples.turn(conn, other, 1)
    samples.observation(conn, 1, other, turn, created_at=samples.NOON + samples.DAY)
    samples.observation(conn, 1, other, turn, title="p", pinned=1)
    last = samples.turn(conn, 1, 2)
    samples.prompt(conn, 1, last, "q", created_at=samples.NOON + 9000)
    with transaction(conn):
        scope = projects.resolve(conn, notes.GLOBAL, now=samples.NOON)
        samples.insert(
            conn,
            "work_state_entries",
            uid="w",
            project_id=1,
            session_id=1,
            item=1,
            state="open",
            created_at=samples.NOON,
            text="w",
        )
    notes.add_to(conn, notes.clean(notes.Note("n")), project=scope, now=samples.NOON)
    return conn


def plant(conn: apsw.Connection, text: str) -> None:
    for table, columns in FIELDS.items():
        for column in columns:
            conn.execute(f"UPDATE {table} SET {column} = ?", (text,))
    conn.execute("UPDATE observations SET facts = json_array(?1, ?1 || 'x')", (text,))


def holds(text: str, budget: int) -> None:
    first, *inside, last = text.split("\n")
    nonce = first.removeprefix("<cmem-memory id=").removesuffix(">")
    assert len(nonce) == 16
    assert (first, last) == (f"<cmem-memory id={nonce}>", f"</cmem-memory {nonce}>")
    assert all(line.startswith(MARKS) for line in inside)
    body = "\n".join(inside)
    assert nonce not in body
    assert not set(body) & set("<>\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
    hidden = {one for one in body if unicodedata.category(one) in ("Cc", "Cs", "Cn")}
    assert hidden <= {"\n"}
    formats = {one for one in body if unicodedata.category(one) == "Cf"}
    assert formats <= {"\u200d", "\u200c"}
    assert not any(mark in body for mark in ("```", "~~~", "](", "][", "]:", "!["))
    assert poison.LEAK not in body
    assert select.utf16(text) <= block.MAX_UNITS
    assert tokens.count(text) <= budget


def test_there_are_texts_enough() -> None:
    assert len(poison.TEXTS) == len(set(poison.TEXTS)) >= 80


@pytest.mark.parametrize("source", ["startup", "compact", "resume", "fork"])
def test_no_stored_text_breaks_the_block(home: Path, source: str) -> None:
    conn = build(home)
    if source in ("resume", "fork"):
        conn.execute("UPDATE sessions SET last_event_at = ?", (samples.NOON + 10_000,))
    for text in poison.TEXTS:
        plant(conn, text)
        for budget in (2000, 100_000):
            document = start(home, "/src/calc", source=source, session=OWN, budget=budget)
            holds(text_of(document), budget)
    conn.close()
