"""Modes, language and grounding from the hook to the next session, with a scripted model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_anthropic import FakeAnthropic
from support import payload_bytes, run_cmem, run_hook, run_json

from cmem.observer import modes, prompt

PLACE = "/home/dev/novel"
REPLY = """<observation><type>Preference</type><title>No dialogue before page three</title>
<facts><fact>The author said "no talking before page three"</fact>
<fact>The author said "I love adverbs"</fact><fact>See https://evil.example/x</fact></facts>
<narrative>The opening must be quiet.</narrative><concepts>voice</concepts></observation>"""


def capture(home: Path, number: int, said: str) -> None:
    base = {"session_id": "s1", "cwd": PLACE, "prompt_id": f"p{number}"}
    edit = {
        "tool_name": "Edit",
        "tool_use_id": f"t{number}",
        "tool_input": {
            "file_path": f"{PLACE}/02.md",
            "old_string": "a",
            "new_string": f"b{number}",
        },
        "tool_response": {"filePath": f"{PLACE}/02.md"},
    }
    for event, payload in (
        ("UserPromptSubmit", {"prompt": said}),
        ("PostToolUse", edit),
        ("Stop", {"last_assistant_message": "Done."}),
    ):
        full = {"hook_event_name": event, **base, **payload}
        assert run_hook(home, event, payload_bytes(full)).returncode == 0


@pytest.fixture
def compress() -> Any:
    def run(api: FakeAnthropic, **env: str) -> Any:
        asked = {"CMEM_PROVIDER": "anthropic", "CMEM_BASE_URL": api.url, "CMEM_API_KEY": "dummy"}
        return run_cmem("compress", "--json", **asked, **env)

    return run


def text(*args: str, **env: str) -> str:
    done = run_cmem(*args, **env)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_a_modes_types_work_from_the_model_to_the_next_session(home: Path, compress: Any) -> None:
    capture(home, 1, 'Please note: "no talking before page three" is what I want.')
    capture(home, 2, "请记住，开头要安静。")
    gone = {"hook_event_name": "SessionEnd", "session_id": "s1", "cwd": PLACE, "reason": "other"}
    assert run_hook(home, "SessionEnd", payload_bytes(gone)).returncode == 0
    summary = "<summary><learned>The author wants a quiet opening.</learned></summary>"
    replies = [REPLY, '<skip_summary reason="said already"/>', summary]
    with FakeAnthropic(replies) as api:
        assert compress(api, CMEM_MODE="writing").returncode == 0
        bodies = [call["body"] for call in api.messages]
    mode = modes.load("writing")
    static = prompt.observation_system(mode)
    cached = {"type": "text", "cache_control": {"type": "ephemeral"}}
    assert [body["system"] for body in bodies] == [
        [{**cached, "text": one}] for one in (static, static, prompt.summary_system(mode))
    ]
    asked = [json.dumps(body["messages"], ensure_ascii=False) for body in bodies]
    assert "Record this turn. Write in English." in asked[0]
    assert "Record this turn. Write in Chinese." in asked[1]
    # Found and shown under any mode, also under one that does not know the type.
    for chosen in ("writing", "code"):
        hits = run_json("search", "--type", "preference", "--all", CMEM_MODE=chosen)["hits"]
        assert [(hit["type"], hit["title"]) for hit in hits] == [
            ("preference", "No dialogue before page three")
        ]
        ref = hits[0]["id"]
        shown = text("context", "--project", "novel", CMEM_MODE=chosen)
        assert f"- {ref} preference: No dialogue before page three" in shown
    item = run_json("get", ref)["items"][0]
    assert item["prompt_version"] == prompt.version(mode)
    assert item["concepts"] == ["voice"]


def test_what_is_in_doubt_is_marked_beside_the_text_and_the_text_is_whole(
    home: Path, compress: Any
) -> None:
    capture(home, 1, 'Please note: "no talking before page three" is what I want.')
    with FakeAnthropic([REPLY]) as api:
        assert compress(api, CMEM_MODE="writing").returncode == 0
    (hit,) = run_json("search", '"I love adverbs"', "--kind", "O", "--all")["hits"]
    item = run_json("get", hit["id"])["items"][0]
    assert item["facts"] == [
        'The author said "no talking before page three"',
        'The author said "I love adverbs"',
    ]
    assert item["metadata"] == {"unverified": ["I love adverbs"]}
    lines = text("get", hit["id"]).splitlines()
    assert '  - The author said "no talking before page three"' in lines
    assert '  - The author said "I love adverbs"  (unverified)' in lines
    shown = text("context", "--project", "novel")
    assert "· (unverified) The author said" in shown
    assert shown.count("(unverified)") == 1


def test_a_mode_of_ones_own_is_chosen_by_the_config(home: Path, compress: Any) -> None:
    capture(home, 1, "Please note this.")
    (home / "modes").mkdir()
    (home / "modes" / "novel.toml").write_text(
        'inherits = "writing"\n[[types]]\nkey = "omen"\ndescription = "something bad comes"\n',
        encoding="utf-8",
    )
    (home / "config.toml").write_text('mode = "novel"\n', encoding="utf-8")
    reply = "<observation><type>omen</type><title>Crows</title></observation>"
    with FakeAnthropic([reply]) as api:
        done = compress(api)
        told = api.messages[0]["body"]["system"][0]["text"]
    assert (done.returncode, json.loads(done.stdout)["observations"]) == (0, 1)
    assert "- omen: something bad comes" in told
    (hit,) = run_json("search", "crows", "--kind", "O", "--all")["hits"]
    assert hit["type"] == "omen"


def test_a_broken_mode_asks_nobody_and_loses_nothing(home: Path, compress: Any) -> None:
    capture(home, 1, "Please note this.")
    (home / "modes").mkdir()
    (home / "modes" / "novel.toml").write_text('inherits = "write"\n', encoding="utf-8")
    with FakeAnthropic([REPLY]) as api:
        done = compress(api, CMEM_MODE="novel")
        assert api.messages == []
    assert (done.returncode, done.stdout) == (78, b"")
    assert done.stderr.decode() == (
        f"cmem: {home}/modes/novel.toml:1: inherits: unknown mode: write; did you mean writing?; "
        "see `cmem mode check novel`\n"
    )
    status = run_json("status")
    assert (status["counts"]["tool_uses"], status["work"]["pending"]) == (1, 1)
    with FakeAnthropic([REPLY]) as api:
        assert compress(api).returncode == 0
