"""What a model says held against what the unit shows.

Files come from the events. A link, a commit or an absolute path that occurs nowhere in the
unit is not a fact: such a fact is dropped, and elsewhere the invented part is marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from cmem.model import SummaryUnit, TurnUnit
from cmem.observer.evidence import Call, files, parse_json, read_calls, relative, strings

URL = re.compile(r"\bhttps?://[^\s<>\"'`)\]}，。、；]+", re.I)
SHA = re.compile(r"(?<![\w#/.-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w-])")
PATH = re.compile(r"(?<![\w.:/~-])/(?:[\w.@+-]+/)*[\w@+-]+\.[A-Za-z]\w{0,7}(?![\w/])")
QUOTED = re.compile(
    r"`([^`\n]{3,200})`|\"([^\"\n]{3,200})\"|“([^”\n]{3,200})”|「([^」\n]{2,200})」"
)
UNVERIFIED = "[unverified]"
SPACE = re.compile(r"\s+")


class Ground(NamedTuple):
    """All text of a unit, for asking whether something occurs in it; and its calls."""

    text: str
    flat: str
    root: str
    calls: tuple[Call, ...]

    def holds(self, piece: str) -> bool:
        return piece in self.text or SPACE.sub("", piece).casefold() in self.flat


def _ground(texts: Iterable[str], root: str, calls: tuple[Call, ...]) -> Ground:
    whole = "\n".join(texts)
    return Ground(whole, SPACE.sub("", whole).casefold(), root, calls)


def of_turn(unit: TurnUnit) -> Ground:
    texts = [unit.prompt, unit.assistant_message, unit.error, unit.project_root]
    for one in unit.evidence:
        texts += [one.tool_name, one.cwd, *strings(parse_json(one.tool_input))]
        texts += strings(parse_json(one.tool_response))
    return _ground(texts, unit.project_root, read_calls(unit))


def of_summary(unit: SummaryUnit) -> Ground:
    texts = [unit.project]
    for turn in unit.turns:
        texts += [turn.prompt, turn.assistant_message]
        for one in turn.observations:
            texts += [one.title, one.subtitle, one.narrative, *one.facts]
            texts += [*one.files_read, *one.files_modified]
    return _ground(texts, "", ())


def invented(text: str, ground: Ground) -> list[str]:
    """The links, commits and absolute paths of a text that the unit does not hold."""
    found = [one.rstrip(".,;:!?") for one in URL.findall(text)]
    rest = URL.sub(" ", text)
    found += SHA.findall(rest) + PATH.findall(rest)
    return [one for one in dict.fromkeys(found) if not ground.holds(one)]


def marked(text: str, ground: Ground) -> tuple[str, list[str]]:
    """The text with every invented part marked, and those parts."""
    parts = invented(text, ground)
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, UNVERIFIED)
    return text, parts


def foreign_quotes(text: str, ground: Ground) -> list[str]:
    """What a text quotes although the unit does not hold it."""
    pieces = [next(filter(None, found)) for found in QUOTED.findall(text)]
    return [piece for piece in pieces if not ground.holds(piece)]


def grounded_files(
    ground: Ground,
    sources: tuple[int, ...] | None,
    *,
    claimed: list[str],
    claimed_modified: list[str],
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """(read, modified, dropped): the files of the sources' events, with those a model names if
    they occur. What a model calls modified counts so only if an event of the unit modified it
    or a command names it."""
    calls = [one for one in ground.calls if sources is None or one.evidence.id in sources]
    read, modified = (dict.fromkeys(one) for one in files(calls, ground.root))
    all_modified = set(files(ground.calls, ground.root)[1])
    commanded = "\n".join(
        value for call in ground.calls if call.kind == "command" for value in strings(call.given)
    )
    dropped = []
    for name in (*claimed, *claimed_modified):
        cwd = ground.calls[0].evidence.cwd if ground.calls else ""
        path = name if URL.match(name) else relative(name, root=ground.root, cwd=cwd)
        if not name or not (ground.holds(name) or ground.holds(path)):
            dropped.append(name)
        elif name in claimed_modified and (path in all_modified or name in commanded):
            modified[path] = None
        elif path not in modified:
            read[path] = None
    return tuple(read), tuple(modified), dropped
