"""Registering in Claude Code's settings: once, beside everything else, and out again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cmem.install import claude_code

LAUNCHER = "/data/it's/hook.py"
COMMAND = (
    "'/usr/bin/python3.11' -I -S '/data/it'\\''s/hook.py' claude-code {event} "
    "'/data/it'\\''s' 2>/dev/null || exit 0"
)
WANTED = claude_code.hooks(lambda event: COMMAND.format(event=event))
OLD = claude_code.hooks(lambda event: COMMAND.format(event=event).replace("3.11", "3.9"))
THEIRS = {"type": "command", "command": "echo 'claude-code PostToolUse' >> log"}

FULL = """{
    "permissions": {"deny": ["Read(./.env)"]},
    "hooks": {
        "PostToolUse": [
            {"matcher": "Edit", "hooks": [{"type": "command", "command": "fmt"}]}
        ],
        "PreToolUse": []
    },
    "model": "opus"
}
"""


def _add(text: str, wanted: dict[str, dict[str, object]] = WANTED) -> str:
    return claude_code.add(text, wanted, launcher=LAUNCHER)


def _take_out(text: str, created: list[str] | None = None) -> str:
    return claude_code.take_out(text, launcher=LAUNCHER, created=created)


def _with_ours(**extra: Any) -> dict[str, Any]:
    return {"hooks": {event: [{"hooks": [hook]}] for event, hook in WANTED.items()}, **extra}


def test_the_nine_events_are_registered_without_matcher_and_with_seconds() -> None:
    assert {event: hook["timeout"] for event, hook in WANTED.items()} == {
        "SessionStart": 10,
        "UserPromptSubmit": 10,
        "PostToolUse": 10,
        "PostToolUseFailure": 10,
        "Stop": 10,
        "StopFailure": 10,
        "SubagentStop": 10,
        "PreCompact": 10,
        "SessionEnd": 5,
    }
    assert json.loads(_add("")) == _with_ours()
    assert json.loads(claude_code.snippet(WANTED)) == _with_ours()


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{}\n",
        FULL,
        FULL.replace("\n", "\r\n"),
        FULL.replace("    ", "\t"),
        '{"a": "ü\\u00fc"}',
    ],
    ids=["empty", "newline", "full", "crlf", "tabs", "unicode"],
)
def test_what_was_there_stays_and_comes_back(text: str) -> None:
    added = _add(text)
    before, after = json.loads(text), json.loads(added)
    expected = {event: [{"hooks": [hook]}] for event, hook in WANTED.items()}
    theirs = before.get("hooks", {})
    hooks = {**theirs, **{name: theirs.get(name, []) + new for name, new in expected.items()}}
    assert after == {**before, "hooks": hooks}
    assert ("\r" in added) == ("\r" in text)
    assert _add(added) == added
    assert _take_out(added, claude_code.created_by(text)) == text


def test_an_upgrade_replaces_only_our_own_hook_in_its_place() -> None:
    old = _add(FULL, OLD)
    assert _add(old) == old.replace("3.9", "3.11")


def test_repeated_narrowed_and_retired_entries_of_ours_become_one() -> None:
    messy: dict[str, Any] = _with_ours()
    messy["hooks"]["Stop"] += messy["hooks"]["Stop"]
    messy["hooks"]["PostToolUse"][0]["matcher"] = "Edit"
    messy["hooks"]["PostToolUse"][0]["hooks"].append(THEIRS)
    messy["hooks"]["PreToolUse"] = [
        {"hooks": [{"type": "command", "command": COMMAND.format(event="PreToolUse")}]}
    ]
    messy["hooks"]["SessionEnd"][0]["hooks"][0]["async"] = True
    expected = _with_ours()
    expected["hooks"]["PostToolUse"].insert(0, {"matcher": "Edit", "hooks": [THEIRS]})
    assert json.loads(_add(json.dumps(messy, indent=2))) == expected


def test_taking_out_leaves_what_the_user_put_beside_ours() -> None:
    edited = json.loads(_add("{}"))
    edited["hooks"]["Stop"].append({"hooks": [THEIRS]})
    edited["hooks"]["SessionEnd"][0]["hooks"].insert(0, THEIRS)
    edited["new"] = True
    kept = _take_out(json.dumps(edited, indent=2), claude_code.created_by("{}"))
    assert json.loads(kept) == {
        "hooks": {"Stop": [{"hooks": [THEIRS]}], "SessionEnd": [{"hooks": [THEIRS]}]},
        "new": True,
    }


def test_containers_that_were_there_before_stay_even_when_empty() -> None:
    text = '{\n  "hooks": {\n    "Stop": []\n  }\n}\n'
    assert _take_out(_add(text), claude_code.created_by(text)) == text


def test_without_a_record_emptied_containers_go() -> None:
    assert _take_out(_add("{}\n"), None) == "{}\n"
    assert _take_out('{"hooks": {}}', None) == '{"hooks": {}}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"hooks": []}', '"hooks" is not an object'),
        ('{"hooks": null}', '"hooks" is not an object'),
        ('{"hooks": {"Stop": {}}}', '"hooks.Stop" is not an array'),
        ('{"a": 1,}', "not strict JSON: line 1: "),
        (" \n", "not strict JSON: line 2: expecting value"),
    ],
)
def test_a_file_we_do_not_understand_is_refused(text: str, reason: str) -> None:
    for work in (_add, _take_out):
        with pytest.raises(claude_code.RefusedError) as caught:
            work(text)
        assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("command", "launcher"),
    [
        (COMMAND.format(event="Stop"), LAUNCHER),
        ("'PY' -I -S '/other home/hook.py' claude-code Stop '/other home'", "/other home/hook.py"),
        ("cmem hook claude-code Stop", None),
        ("python hook.py codex Stop /x", None),
        ("echo 'hook.py claude-code Stop /x'", None),
        ("unbalanced ' hook.py claude-code Stop /x", None),
        (7, None),
    ],
)
def test_our_command_is_known_by_its_shape(command: object, launcher: str | None) -> None:
    found = claude_code.parse_command(command)
    assert (found.launcher if found else None) == launcher


def test_another_home_is_left_alone_but_told() -> None:
    other = claude_code.hooks(
        lambda event: f"'P' -I -S '/other/hook.py' claude-code {event} '/other' || exit 0"
    )
    text = claude_code.add("{}", other, launcher="/other/hook.py")
    both = _add(text.replace("{", '{"disableAllHooks": true, ', 1))
    assert claude_code.warnings(both, launcher=LAUNCHER) == [
        "disableAllHooks is true in these settings: no hook runs until it is removed",
        "another data home is registered here too, and every event goes to both: /other",
    ]
    assert json.loads(_take_out(both))["hooks"] == json.loads(text)["hooks"]


@pytest.mark.parametrize(
    ("env", "scope", "path"),
    [
        ({}, "user", "/me/.claude/settings.json"),
        ({"CLAUDE_CONFIG_DIR": ""}, "user", "/me/.claude/settings.json"),
        ({"CLAUDE_CONFIG_DIR": "/conf dir"}, "user", "/conf dir/settings.json"),
        ({"CLAUDE_CONFIG_DIR": "rel"}, "user", "/repo/rel/settings.json"),
        ({"CLAUDE_CONFIG_DIR": "/conf"}, "project", "/repo/.claude/settings.json"),
    ],
)
def test_the_file_is_the_one_the_host_reads(env: dict[str, str], scope: str, path: str) -> None:
    found = claude_code.settings_path(env=env, user_home="/me", scope=scope, cwd="/repo")
    assert found == path
