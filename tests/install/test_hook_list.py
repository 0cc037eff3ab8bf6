"""Surgery on files that list hooks flat, as Cursor and Copilot CLI do."""

from __future__ import annotations

import json

import pytest

from cmem.install import copilot_cli, cursor, hook_list
from cmem.install.host import RefusedError

LAUNCHER = "/data/hook.py"
OTHERS = """{
  "version": 1,
  "hooks": {
    "stop": [{"command": "./mine.sh"}],
    "sessionStart": []
  }
}
"""


def line(event: str, home: str = "/data", host: str = "cursor") -> str:
    return (
        f"'/usr/bin/python3' -I -S '{home}/hook.py' {host} {event} '{home}' 2>/dev/null || exit 0"
    )


def wanted(home: str = "/data") -> dict[str, dict[str, object]]:
    return cursor.hooks(lambda event: line(event, home))


def test_a_new_file_has_the_version_and_every_hook_once() -> None:
    text = cursor.add("", wanted(), launcher=LAUNCHER)
    assert json.loads(text) == {
        "version": 1,
        "hooks": {event: [{"command": line(event), "timeout": 10}] for event in cursor.EVENTS},
    }
    assert text == hook_list.snippet(wanted()) + "\n"
    assert cursor.add(text, wanted(), launcher=LAUNCHER) == text


def test_hooks_of_others_stay_where_they_are() -> None:
    text = cursor.add(OTHERS, wanted(), launcher=LAUNCHER)
    hooks = json.loads(text)["hooks"]
    assert hooks["stop"] == [
        {"command": "./mine.sh"},
        {"command": line("stop"), "timeout": 10},
    ]
    created = cursor.created_by(OTHERS)
    assert "version" not in created
    assert cursor.take_out(text, launcher=LAUNCHER, created=created) == OTHERS


@pytest.mark.parametrize(
    "before",
    ["{}\n", '{"hooks": {}}', '{"hooks": {"stop": []}, "x": 1}', '{\n\t"version": 1\n}\n', OTHERS],
)
def test_what_was_made_for_our_hooks_goes_with_them(before: str) -> None:
    text = cursor.add(before, wanted(), launcher=LAUNCHER)
    assert cursor.take_out(text, launcher=LAUNCHER, created=cursor.created_by(before)) == before


def test_without_a_record_what_our_going_empties_goes_too() -> None:
    text = cursor.add("", wanted(), launcher=LAUNCHER)
    assert json.loads(cursor.take_out(text, launcher=LAUNCHER, created=None)) == {}
    kept = cursor.add(OTHERS, wanted(), launcher=LAUNCHER)
    left = json.loads(cursor.take_out(kept, launcher=LAUNCHER, created=None))
    assert left == {"version": 1, "hooks": {"stop": [{"command": "./mine.sh"}]}}


def test_a_version_that_others_hooks_need_stays() -> None:
    created = cursor.created_by("")
    document = json.loads(cursor.add("", wanted(), launcher=LAUNCHER))
    document["hooks"]["stop"].append({"command": "./theirs.sh"})
    left = cursor.take_out(json.dumps(document), launcher=LAUNCHER, created=created)
    assert json.loads(left) == {"version": 1, "hooks": {"stop": [{"command": "./theirs.sh"}]}}


def test_an_older_line_of_ours_is_replaced_in_its_place_and_doubles_go() -> None:
    old = {"command": line("stop").replace("python3", "python2"), "timeout": 3}
    before = json.dumps({"version": 1, "hooks": {"stop": [old, {"command": "x"}]}})
    hooks = json.loads(cursor.add(before, wanted(), launcher=LAUNCHER))["hooks"]
    ours = {"command": line("stop"), "timeout": 10}
    assert hooks["stop"] == [ours, {"command": "x"}]
    twice = json.dumps({"version": 1, "hooks": {"stop": [old, {"command": "x"}, old]}})
    hooks = json.loads(cursor.add(twice, wanted(), launcher=LAUNCHER))["hooks"]
    assert hooks["stop"] == [{"command": "x"}, ours]


def test_a_hook_of_an_event_that_is_ours_no_more_goes() -> None:
    before = json.dumps({"version": 1, "hooks": {"preToolUse": [{"command": line("preToolUse")}]}})
    hooks = json.loads(cursor.add(before, wanted(), launcher=LAUNCHER))["hooks"]
    assert set(hooks) == set(cursor.EVENTS)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "not a JSON object"),
        ('{"hooks": []}', '"hooks" is not an object'),
        ('{"hooks": {"stop": {}}}', '"hooks.stop" is not an array'),
        ("{,}", "not strict JSON: line 1: expecting property name enclosed in double quotes"),
    ],
)
def test_a_file_of_another_shape_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RefusedError) as caught:
        cursor.add(text, wanted(), launcher=LAUNCHER)
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    "odd", ["null", '"text"', "[null, 5]", '[{"command": 5}]', '[{"bash": ""}]']
)
def test_odd_entries_of_other_events_are_left(odd: str) -> None:
    before = f'{{"version": 1, "hooks": {{"preToolUse": {odd}}}}}'
    text = cursor.add(before, wanted(), launcher=LAUNCHER)
    assert cursor.take_out(text, launcher=LAUNCHER, created=cursor.created_by(before)) == before


def test_a_file_that_is_switched_off_is_told() -> None:
    text = '{"disableAllHooks": true}'
    assert copilot_cli.warnings(text, launcher=LAUNCHER) == [
        "disableAllHooks is true in this file: none of its hooks runs"
    ]
    assert copilot_cli.warnings("", launcher=LAUNCHER) == []
