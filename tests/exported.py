"""A memory with everything in it that an export has to tell, and exports as bytes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import apsw
import store_rows

from cmem.export import jsonl
from cmem.importers import bring
from cmem.importers import jsonl as lines
from cmem.importers.bring import Brought
from cmem.store import connection, dedup, documents, erase, forget
from cmem.store.dump import Chosen

T0 = store_rows.T0
NOW = T0 + 100 * store_rows.DAY


def export(conn: apsw.Connection, chosen: Chosen | None = None, *, redacted: bool = False) -> bytes:
    out = io.BytesIO()
    jsonl.write(out, "-", jsonl.records(conn, chosen or Chosen(), redacted=redacted))
    return out.getvalue()


def bring_in(conn: apsw.Connection, data: bytes, *, now: int = NOW, dry: bool = False) -> Brought:
    stream = io.BufferedReader(io.BytesIO(data))
    return bring.bring(conn, lines.items(stream), now=now, dry_run=dry)


def told(data: bytes, record: str) -> list[dict[str, Any]]:
    """The records of one kind in an export."""
    rows = [json.loads(line) for line in data.decode().split("\n") if line]
    return [row for row in rows if row["record"] == record]


def counts(brought: Brought, result: str) -> dict[str, int]:
    return {name: count for (name, found), count in brought.counts.items() if found == result}


def store(home: Path) -> apsw.Connection:
    home.mkdir(mode=0o700, exist_ok=True)
    return connection.open_writer(str(home), now=T0)


def full(home: Path) -> apsw.Connection:
    """Two projects, one merged into the other; sessions with rows of every kind, one row
    hidden, one erased, one superseded, a private turn, an open turn, a very long text."""
    conn = store(home)
    shop = store_rows.project(conn, "shop")
    old = store_rows.project(conn, "old shop", merged_into=shop)
    for kind, alias in (("path", "/p/shop"), ("remote", "example.org/team/shop")):
        store_rows.insert(
            conn, "project_aliases", kind=kind, alias=alias, project_id=shop, created_at=T0
        )
    for number, project in enumerate((shop, old, shop)):
        _session(conn, project, number)
    pruned = "UPDATE tool_uses SET tool_input = NULL, tool_response = NULL WHERE id = 2"
    documents.refresh(conn, "T", 2, lambda: conn.execute(pruned).fetchall())
    conn.execute("UPDATE observations SET superseded_by = 4 WHERE id = 1")
    conn.execute("UPDATE observations SET superseded_by = 5 WHERE id = 5")
    dedup.keep(conn, 3, 6, score=0.875, now=T0 + 3)
    assert dedup.join(conn, 3, 8, level=2, score=1.0, now=T0 + 4)
    erase.purge(conn, forget.plan(conn, [("P", 11)]), now=T0 + 5)
    forget.hide(conn, forget.plan(conn, [("T", 7)]), now=T0 + 6)
    return conn


def _session(conn: apsw.Connection, project: int, number: int) -> None:
    session = store_rows.session(
        conn, project, f"s{number}", started_at=T0 + number, title="Räume 🧪", model="m"
    )
    for turn_number in (1, 2, 3):
        turn = store_rows.turn(
            conn, session, turn_number, assistant_message=f"done {turn_number}", branch="main"
        )
        said = store_rows.prompt(conn, turn, f'zähle \u2028 "q" \\ 数える {number}{turn_number}\n')
        used = store_rows.tool(
            conn, turn, "Bash", given={"command": "make"}, answer={"stdout": "né\u0301 " * 300}
        )
        made = store_rows.observation(
            conn,
            turn,
            f"Titel <b>{number}{turn_number}</b>",
            "a\nb\t\u200d👩‍💻",
            facts=("x = 1", "价格"),
            concepts=("gotcha",),
            files=("src/ä b.py",),
            sources=(("P", said), ("T", used)),
            metadata=json.dumps({"unverified": ["1"], "n": 1.5}),
        )
        assert made
    store_rows.summary(conn, turn, "request", learned="much", files_edited='["a.py"]')
    private = store_rows.turn(conn, session, 4, private=1)
    store_rows.insert(
        conn,
        "user_prompts",
        uid=f"private-{number}",
        session_id=session,
        turn_id=private,
        prompt_number=4,
        kind="user",
        native_prompt_hash=f"private-{number}",
        created_at=T0,
        prompt_text="",
    )
    store_rows.turn(conn, session, 5, closed_at=None, closed_by=None, outcome=None)
    store_rows.insert(
        conn,
        "work_state_entries",
        uid=f"w{number}",
        project_id=project,
        session_id=session,
        item=number + 1,
        state="open",
        created_at=T0,
        text="write docs",
    )
