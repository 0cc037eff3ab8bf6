"""Our hooks in a host's JSON settings: what we register there, and the exact inverse. Pure.

Several hosts keep hooks as Claude Code does: ``{"hooks": {EVENT: [{"hooks": [HOOK]}]}}``. Our
entries are known by their command: it runs ``HOOK.py HOST EVENT HOME`` with the path of our own
launcher. Everything else in the file belongs to somebody else and is never touched.
"""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, NamedTuple

from cmem.install import json_edit
from cmem.install.host import RefusedError, Registration

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping


class Ours(NamedTuple):
    """Whose hooks these are: the host they are for, all events we have there, our launcher.
    ``matchers``: event → the tools that its hook is for, where it is not for all."""

    host: str
    events: tuple[str, ...]
    launcher: str
    matchers: Mapping[str, str] = {}


class Group(NamedTuple):
    """One own hook in the file: which event, where its group stands, where in the group."""

    event: str
    group: int
    item: int
    clean: bool  # nothing in the group narrows when the hook runs more than it should
    value: object


def snippet(
    wanted: Mapping[str, Mapping[str, object]], matchers: Mapping[str, str] | None = None
) -> str:
    """What a person adds by hand to a file that we do not edit."""
    narrow = matchers or {}
    value = {"hooks": {event: [_group(hook, narrow.get(event))] for event, hook in wanted.items()}}
    return json.dumps(value, indent=2, ensure_ascii=False)


def parse_command(command: object, host: str) -> Registration | None:
    """A command of ours for ``host`` taken apart, whichever data home it is for; None for any
    other."""
    if not isinstance(command, str) or host not in command:
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    for at in range(len(words) - 3):
        launcher, named, event, home = words[at : at + 4]
        if named == host and os.path.basename(launcher) == "hook.py" and event.isalnum():
            return Registration(launcher, event, home)
    return None


def hooks(
    command: Callable[[str], str], timeouts: Mapping[str, int]
) -> dict[str, dict[str, object]]:
    """Event → the hook to register; ``command`` gives the shell line for an event."""
    return {
        event: {"type": "command", "command": command(event), "timeout": timeout}
        for event, timeout in timeouts.items()
    }


def add(text: str, wanted: Mapping[str, dict[str, object]], ours: Ours) -> str:
    """The settings with each wanted hook registered exactly once, and no older one of ours."""
    text = checked(text, ours)
    for event in sorted({own.event for own in _own(text, ours)} - set(wanted)):
        text = _drop(text, event, ours=ours, created=_event_names(event))
    for event, hook in wanted.items():
        text = _put(text, event, hook, ours=ours)
    return text


def take_out(text: str, ours: Ours, *, created: Collection[str] | None) -> str:
    """The settings without our hooks, nor the emptied containers among ``created`` (names as
    ``created_by`` gives them; None: there is no record, so every container we emptied)."""
    text = checked(text, ours)
    own = {one.event for one in _own(text, ours)}
    for event in sorted(own):
        names = _event_names(event) if created is None else created
        text = _drop(text, event, ours=ours, created=names)
    value = json_edit.check(text)
    mine = "hooks" in created if created is not None else bool(own)
    if isinstance(value, dict) and value.get("hooks") == {} and mine:
        text = remove_member(text, json_edit.root(text), "hooks")
    return text


def created_by(before: str, ours: Ours) -> list[str]:
    """Which containers a registration in ``before`` has to make: "hooks", "hooks.EVENT"."""
    value = json_edit.check(checked(before, ours))
    found = value.get("hooks") if isinstance(value, dict) else None
    present = found if isinstance(found, dict) else {}
    names = [] if isinstance(found, dict) else ["hooks"]
    return names + ["hooks." + event for event in ours.events if event not in present]


def other_homes(text: str, ours: Ours) -> list[str]:
    """What to say of hooks of other data homes that stand in the file too."""
    value = json_edit.check(checked(text, ours))
    others = {
        one.home
        for one in _commands(value, ours.host)
        if os.path.abspath(one.launcher) != ours.launcher
    }
    return [
        f"another data home is registered here too, and every event goes to both: {home}"
        for home in sorted(others)
    ]


def value_of(text: str, *path: str) -> object:
    """The value that stands at ``path`` in the settings; None for none."""
    value = json_edit.check(text or "{}")
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def checked(text: str, ours: Ours) -> str:
    """The text, "{}" for an empty one; RefusedError unless hooks can be added to it."""
    text = text or "{}\n"
    try:
        value = json_edit.check(text)
    except json_edit.NotStrictJsonError as error:
        raise RefusedError(f"not strict JSON: {error}") from error
    if not isinstance(value, dict):
        raise RefusedError("not a JSON object")
    found = value.get("hooks", {})
    if not isinstance(found, dict):
        raise RefusedError('"hooks" is not an object')
    for event in ours.events:
        if not isinstance(found.get(event, []), list):
            raise RefusedError(f'"hooks.{event}" is not an array')
    return text


def _group(hook: Mapping[str, object], matcher: str | None) -> dict[str, object]:
    return {"matcher": matcher, "hooks": [hook]} if matcher else {"hooks": [hook]}


def _put(text: str, event: str, hook: dict[str, object], *, ours: Ours) -> str:
    own = [one for one in _own(text, ours) if one.event == event]
    if len(own) == 1 and own[0].clean:
        if own[0].value == hook:
            return text
        part = _item_part(text, own[0])
        return json_edit.replace(text, part, hook)
    if own:
        text = _drop(text, event, ours=ours, created=())
    group = _group(hook, ours.matchers.get(event))
    at = value_at(text, ["hooks"])
    if at is None:
        return json_edit.add_member(text, json_edit.root(text), key="hooks", value={event: [group]})
    array = value_at(text, ["hooks", event])
    if array is None:
        return json_edit.add_member(text, at, key=event, value=[group])
    return json_edit.add_item(text, array, group)


def _drop(text: str, event: str, *, ours: Ours, created: Collection[str]) -> str:
    """Our hooks of one event taken out, last first so that earlier positions stay true."""
    own = [one for one in _own(text, ours) if one.event == event]
    for one in reversed(own):
        array = value_at(text, ["hooks", event])
        assert array is not None
        groups = json_edit.items(text, array)
        group = json_edit.check(text[groups[one.group].value : groups[one.group].end])
        if isinstance(group, dict) and len(group["hooks"]) == 1 and group.keys() <= _GROUP_KEYS:
            text = json_edit.remove(text, groups, one.group)
            continue
        inside = _hooks_array(text, groups[one.group].value)
        text = json_edit.remove(text, json_edit.items(text, inside), one.item)
    array = value_at(text, ["hooks", event])
    if own and array is not None and not json_edit.items(text, array):
        at = value_at(text, ["hooks"])
        if "hooks." + event in created and at is not None:
            text = remove_member(text, at, event)
    return text


_GROUP_KEYS = frozenset(("hooks", "matcher"))


def _own(text: str, ours: Ours) -> list[Group]:
    """Every hook in the file that runs our launcher, in file order."""
    value = json_edit.check(text)
    found = value.get("hooks") if isinstance(value, dict) else None
    return [
        Group(event, group, item, clean=_is_clean(entry, ours.matchers.get(event)), value=hook)
        for event, groups in (found.items() if isinstance(found, dict) else ())
        for group, entry in enumerate(groups if isinstance(groups, list) else ())
        for item, hook in enumerate(_hooks_of(entry))
        if _is_own(hook, ours)
    ]


def _commands(value: object, host: str) -> list[Registration]:
    found = value.get("hooks") if isinstance(value, dict) else None
    events = found.values() if isinstance(found, dict) else ()
    hooks_of = (
        hook
        for groups in events
        for entry in (groups if isinstance(groups, list) else ())
        for hook in _hooks_of(entry)
    )
    parsed = (
        parse_command(hook.get("command"), host) for hook in hooks_of if isinstance(hook, dict)
    )
    return [one for one in parsed if one is not None]


def _hooks_of(entry: object) -> list[object]:
    found = entry.get("hooks") if isinstance(entry, dict) else None
    return found if isinstance(found, list) else []


def _is_clean(entry: object, matcher: str | None) -> bool:
    return isinstance(entry, dict) and not is_narrowed(entry.get("matcher"), matcher)


def is_narrowed(found: object, wanted: str | None) -> bool:
    """Whether a matcher keeps our hook from calls that it is for."""
    return found != wanted if wanted else found not in (None, "", "*")


def _is_own(hook: object, ours: Ours) -> bool:
    parsed = parse_command(hook.get("command"), ours.host) if isinstance(hook, dict) else None
    return parsed is not None and os.path.abspath(parsed.launcher) == ours.launcher


def _item_part(text: str, own: Group) -> json_edit.Part:
    array = value_at(text, ["hooks", own.event])
    assert array is not None
    group = json_edit.items(text, array)[own.group]
    return json_edit.items(text, _hooks_array(text, group.value))[own.item]


def _hooks_array(text: str, group: int) -> int:
    return next(part.value for part in json_edit.members(text, group) if part.key == "hooks")


def value_at(text: str, path: list[str]) -> int | None:
    """Where the value at ``path`` begins; None when there is none."""
    at = json_edit.root(text)
    for key in path:
        found = [part for part in json_edit.members(text, at) if part.key == key]
        if not found:
            return None
        at = found[0].value
    return at


def remove_member(text: str, at: int, key: str) -> str:
    """The object at ``at`` without its member ``key``."""
    parts = json_edit.members(text, at)
    index = next(i for i, part in enumerate(parts) if part.key == key)
    return json_edit.remove(text, parts, index)


def _event_names(event: str) -> tuple[str, ...]:
    return ("hooks." + event,)
