"""Our hooks in a file that lists them flat: ``{"version": 1, "hooks": {EVENT: [HOOK]}}``. Pure.

Cursor and Copilot CLI keep hooks so. As in ``hooks_json``, an entry is ours when its command runs
our own launcher, and nothing else in the file is touched.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from cmem.install import hooks_json, json_edit

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cmem.install.host import Registration

VERSION = 1


class Entry(NamedTuple):
    """One hook in the file that runs some launcher of cmem's: where, what, and which."""

    event: str
    item: int
    value: object
    runs: Registration


def snippet(wanted: Mapping[str, Mapping[str, object]]) -> str:
    """What a person adds by hand to a file that we do not edit."""
    value = {"version": VERSION, "hooks": {event: [hook] for event, hook in wanted.items()}}
    return json.dumps(value, indent=2, ensure_ascii=False)


def add(text: str, wanted: Mapping[str, dict[str, object]], ours: hooks_json.Ours) -> str:
    """The file with each wanted hook registered exactly once, and no older one of ours."""
    text = hooks_json.checked(text, ours)
    if hooks_json.value_at(text, ["version"]) is None:
        text = json_edit.add_member(text, json_edit.root(text), key="version", value=VERSION)
    for event in sorted({one.event for one in _own(text, ours)} - set(wanted)):
        text = _drop(text, event, ours=ours, created=("hooks." + event,))
    for event, hook in wanted.items():
        text = _put(text, event, hook, ours=ours)
    return text


def take_out(text: str, ours: hooks_json.Ours, *, created: Collection[str] | None) -> str:
    """The file without our hooks, nor what of ``created`` (names as ``created_by`` gives them;
    None: there is no record, so all that our going has emptied) is left empty."""
    text = hooks_json.checked(text, ours)
    own = {one.event for one in _own(text, ours)}
    for event in sorted(own):
        names = ("hooks." + event,) if created is None else created
        text = _drop(text, event, ours=ours, created=names)
    mine = created if created is not None else ("version", "hooks") if own else ()
    value = json_edit.check(text)
    if isinstance(value, dict) and value.get("hooks") == {} and "hooks" in mine:
        text = hooks_json.remove_member(text, json_edit.root(text), "hooks")
    gone = "hooks" not in mine or hooks_json.value_at(text, ["hooks"]) is None
    if "version" in mine and gone and hooks_json.value_of(text, "version") == VERSION:
        text = hooks_json.remove_member(text, json_edit.root(text), "version")
    return text


def created_by(before: str, ours: hooks_json.Ours) -> list[str]:
    """What a registration in ``before`` has to make: "version", "hooks", "hooks.EVENT"."""
    there = hooks_json.value_at(hooks_json.checked(before, ours), ["version"]) is not None
    return ([] if there else ["version"]) + hooks_json.created_by(before, ours)


def other_homes(text: str, ours: hooks_json.Ours) -> list[str]:
    """What to say of hooks of other data homes that stand in the file too."""
    found = _entries(hooks_json.checked(text, ours), ours)
    homes = {one.runs.home for one in found if not _is_own(one, ours)}
    return [
        f"another data home is registered here too, and every event goes to both: {home}"
        for home in sorted(homes)
    ]


def _put(text: str, event: str, hook: dict[str, object], *, ours: hooks_json.Ours) -> str:
    own = [one for one in _own(text, ours) if one.event == event]
    if len(own) == 1:
        if own[0].value == hook:
            return text
        array = hooks_json.value_at(text, ["hooks", event])
        assert array is not None
        return json_edit.replace(text, json_edit.items(text, array)[own[0].item], hook)
    if own:
        text = _drop(text, event, ours=ours, created=())
    at = hooks_json.value_at(text, ["hooks"])
    if at is None:
        root = json_edit.root(text)
        return json_edit.add_member(text, root, key="hooks", value={event: [hook]})
    array = hooks_json.value_at(text, ["hooks", event])
    if array is None:
        return json_edit.add_member(text, at, key=event, value=[hook])
    return json_edit.add_item(text, array, hook)


def _drop(text: str, event: str, *, ours: hooks_json.Ours, created: Collection[str]) -> str:
    """Our hooks of one event taken out, last first so that earlier positions stay true."""
    own = [one for one in _own(text, ours) if one.event == event]
    for one in reversed(own):
        array = hooks_json.value_at(text, ["hooks", event])
        assert array is not None
        text = json_edit.remove(text, json_edit.items(text, array), one.item)
    array, at = (hooks_json.value_at(text, path) for path in (["hooks", event], ["hooks"]))
    emptied = array is not None and not json_edit.items(text, array)
    if own and emptied and at is not None and "hooks." + event in created:
        text = hooks_json.remove_member(text, at, event)
    return text


def _own(text: str, ours: hooks_json.Ours) -> list[Entry]:
    """Every hook in the file that runs our launcher, in file order."""
    return [one for one in _entries(text, ours) if _is_own(one, ours)]


def _is_own(one: Entry, ours: hooks_json.Ours) -> bool:
    return os.path.abspath(one.runs.launcher) == ours.launcher


def _entries(text: str, ours: hooks_json.Ours) -> list[Entry]:
    value = json_edit.check(text)
    found = value.get("hooks") if isinstance(value, dict) else None
    entries = []
    for event, hooks in found.items() if isinstance(found, dict) else ():
        for item, hook in enumerate(hooks if isinstance(hooks, list) else ()):
            line = hook.get("command") or hook.get("bash") if isinstance(hook, dict) else None
            runs = hooks_json.parse_command(line, ours.host)
            if runs is not None:
                entries.append(Entry(event, item, hook, runs))
    return entries
