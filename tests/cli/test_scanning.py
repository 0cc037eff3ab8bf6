"""``cmem scan``: rows stored before there was a rule, put straight into the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import secret_forms
import store_rows as make
import support

from cmem import forget as residue
from cmem import lock, paths
from cmem.cli import scan
from cmem.errors import BusyError

DRAW = secret_forms.drawing(31)


@pytest.fixture
def planted(home: Path) -> list[str]:
    """A store with a secret in a row of each kind beside clean ones; returns the secrets."""
    secrets = [secret_forms.key(DRAW) for _ in range(7)]
    conn = make.open_store(home)
    session = make.session(conn, make.project(conn), title=f"API_KEY={secrets[6]}")
    turn = make.turn(conn, session, assistant_message=f"done: DB_PASSWORD={secrets[0]}")
    prompt = make.prompt(conn, turn, f"the password is {secrets[1]} for zanzibar")
    tool = make.tool(
        conn, turn, "Bash", given={"command": f"tool --token {secrets[2]}"}, answer={"stdout": "ok"}
    )
    make.observation(
        conn,
        turn,
        "Set the zanzibar key",
        f'api_key = "{secrets[3]}"',
        facts=(f"SECRET_KEY={secrets[4]}", "plain fact"),
        files=("/p/shop/a.py",),
        sources=(("P", prompt), ("T", tool)),
    )
    make.summary(conn, turn, f"TOKEN: {secrets[5]}")
    clean = make.turn(conn, session, 2, assistant_message="nothing here")
    make.prompt(conn, clean, "max_tokens=4096 and a plain zanzibar prompt")
    make.observation(conn, clean, "A plain one", "no secret")
    conn.close()
    return secrets


FOUND = [
    {"id": "P1", "part": "", "columns": ["prompt_text"], "rules": ["password"]},
    {"id": "T1", "part": "", "columns": ["tool_input"], "rules": ["token"]},
    {"id": "N1", "part": "turn 1", "columns": ["assistant_message"], "rules": ["password"]},
    {"id": "O1", "part": "", "columns": ["facts", "narrative"], "rules": ["secret"]},
    {"id": "S1", "part": "", "columns": ["request"], "rules": ["token"]},
    {"id": "N1", "part": "", "columns": ["title"], "rules": ["secret"]},
]


def hits(word: str) -> list[str]:
    document: Any = support.run_json("search", word, "--all")
    return sorted(hit["id"] for hit in document["hits"])


def test_rows_are_named_and_nothing_is_changed(home: Path, planted: list[str]) -> None:
    assert support.run_json("scan") == {"rows": 9, "found": FOUND, "fixed": 0}
    done = support.run_cmem("scan")
    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (
        0,
        "P1 prompt_text: password\n"
        "T1 tool_input: token\n"
        "N1 (turn 1) assistant_message: password\n"
        "O1 facts, narrative: secret\n"
        "S1 request: token\n"
        "N1 title: secret\n"
        "Secrets in 6 of 9 rows; `cmem scan --fix` cuts them out.\n",
        "",
    )
    assert residue.scan(str(home), planted) != []


def test_fix_leaves_no_byte_and_the_rest_as_it_was(home: Path, planted: list[str]) -> None:
    assert hits(planted[1]) == ["P1"]
    assert support.run_json("scan", "--fix") == {"rows": 9, "found": FOUND, "fixed": 6}
    pieces = [one[at : at + 8] for one in planted for at in range(0, len(one) - 8, 4)]
    assert residue.scan(str(home), pieces) == []
    assert support.run_json("scan", "--fix") == {"rows": 9, "found": [], "fixed": 0}
    assert hits("zanzibar") == ["O1", "P1", "P2"]
    assert hits(planted[1]) == []
    (item,) = support.run_json("get", "O1")["items"]
    assert item["narrative"] == 'api_key = "[REDACTED:secret]"'
    assert item["facts"] == ["SECRET_KEY=[REDACTED:secret]", "plain fact"]
    (tool,) = support.run_json("raw", "T1")["items"]
    assert tool["tool_input"] == {"command": "tool --token [REDACTED:token]"}
    conn = make.open_store(home)
    conn.execute("INSERT INTO documents_fts(documents_fts) VALUES('integrity-check')").fetchall()
    conn.close()


def test_no_store_is_nothing_to_do(home: Path) -> None:
    done = support.run_cmem("scan")
    assert (done.returncode, done.stdout) == (0, b"No secret known to any rule in 0 rows.\n")
    assert list(home.iterdir()) == []


def test_two_observations_alike_but_for_a_secret_stay_two(home: Path) -> None:
    conn = make.open_store(home)
    session = make.session(conn, make.project(conn))
    turn = make.turn(conn, session)
    for _ in range(2):
        make.observation(conn, turn, "Same", f"API_KEY={secret_forms.key(DRAW)}")
    conn.close()
    assert support.run_json("scan", "--fix")["fixed"] == 2
    items = support.run_json("get", "O1", "O2")["items"]
    assert [item["narrative"] for item in items] == ["API_KEY=[REDACTED:secret]"] * 2


def test_fix_waits_for_a_running_compress(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fd = lock.acquire(paths.lock_file(str(home)))
    assert fd is not None
    monkeypatch.setattr("cmem.cli.writing.LOCK_WAIT_MS", 0)
    with pytest.raises(BusyError):
        scan.run({"fix": True, "json": True})
    lock.release(fd)
    assert scan.run({"fix": True, "json": True}) == 0


def test_what_is_captured_now_needs_no_fix(home: Path) -> None:
    secret = secret_forms.password(DRAW)
    payload = {
        "session_id": "5f7d2c1a-0000-4000-8000-000000000009",
        "hook_event_name": "PostToolUse",
        "cwd": "/src/calc",
        "tool_name": "Bash",
        "tool_use_id": "toolu_1",
        "tool_input": {"command": f"DB_PASSWORD={secret} ./deploy"},
        "tool_response": {"stdout": f"deployed with {secret}", "stderr": ""},
    }
    assert support.run_hook(home, "PostToolUse", support.payload_bytes(payload)).returncode == 0
    support.run_json("compress", "--all", "--provider", "extract")
    (item,) = support.run_json("raw", "T1")["items"]
    assert item["tool_input"] == {"command": "DB_PASSWORD=[REDACTED:known-value] ./deploy"}
    assert "deployed with [REDACTED:known-value]" in json.dumps(item["tool_response"])
    assert support.run_json("scan") == {
        "rows": support.run_json("scan")["rows"],
        "found": [],
        "fixed": 0,
    }
    with open(paths.memory_db(str(home)), "rb") as file:
        assert secret.encode() not in file.read()
