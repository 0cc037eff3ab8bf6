"""What the rules cut from a value, field by field: names and counts, never what was cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from cmem.privacy import rules, scrub, second, second_rules, secret_names

DEPTH = 100
HIDDEN = "hidden text"  # what is cut without a mark of its own
_NOTES = ("[image, ", "[data, ", "[base64, ", "[UNSCANNED ")


class Cut(NamedTuple):
    """One field, as a path of keys, and how often each rule has cut from it."""

    field: str
    rules: dict[str, int]


def compare(before: object, after: object) -> list[Cut]:
    """The fields in which the second value has less than the first, of the same shape."""
    return [
        Cut(field, cuts(old, new)) for field, old, new in _leaves(before, after, "") if old != new
    ]


def cuts(before: str, after: str) -> dict[str, int]:
    """How often each rule has made the second text from the first."""
    found = Counter(second.MARK.findall(after)) - Counter(second.MARK.findall(before))
    for name in rules.WRAPPERS:
        found[name] = _tags(rules.WRAPPER_TAG.format(name=name), before)
    found["private"] = _tags(rules.PRIVATE_TAG, before)
    for note in _NOTES:
        name = note.strip("[, ").lower()
        found[name] = after.count(note) - before.count(note)
    told = {name: number for name, number in sorted(found.items()) if number > 0}
    return told or {HIDDEN: 1}


def hook_rules() -> list[str]:
    """The names of what the hook knows to cut."""
    named = {rule[0] for rule in (*rules.TOKENS, *rules.LABELLED)}
    special = ("private", "private-key", "putty-key", "sensitive-source", "image")
    return sorted({*named, *special, *rules.WRAPPERS})


def ingest_rules() -> list[str]:
    """The names of what is cut besides on the way into the store."""
    kinds = (
        *(secret_names.PASSWORD, secret_names.SECRET, secret_names.TOKEN),
        *(secret_names.AUTH, secret_names.KEY, secret_names.SIGNATURE),
    )
    named = {rule[0] for rule in second_rules.FORMATS}
    named |= {rule[0] for rule in second_rules.SETTINGS}
    return sorted({*named, *kinds, "cli-password", "known-value"} - set(hook_rules()))


def _tags(pattern: str, text: str) -> int:
    return sum(not match["slash"] for match in rules.compiled(pattern).finditer(text))


def _leaves(before: object, after: object, field: str) -> Iterator[tuple[str, str, str]]:
    """Each text of the first value with what stands in its place."""
    depth = field.count(".") + 1
    if isinstance(before, str):
        yield field, before, after if isinstance(after, str) else ""
    elif isinstance(before, dict) and isinstance(after, dict) and depth < DEPTH:
        for (name, old), (clean, new) in zip(before.items(), after.items(), strict=False):
            if name != clean:
                yield f"{field}.(key)".lstrip("."), name, clean
            yield from _leaves(old, new, f"{field}.{scrub.scrub_text(clean)}".lstrip("."))
    elif isinstance(before, list) and isinstance(after, list) and depth < DEPTH:
        for at, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from _leaves(old, new, f"{field}.{at}".lstrip("."))
    elif isinstance(after, str) and before != after:
        yield field, "", after  # the whole value went, and a note stands there
