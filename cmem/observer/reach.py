"""How far a reply came that was cut at the token limit. Pure.

Its complete records are kept, and each is said to be made of the tool uses that it names or, where
it names none, of those whose words it has: nothing is a source that the reply may not have come
to. A reply of whose records nobody can tell that is no use, and its unit is halved.
"""

from __future__ import annotations

import re

from cmem.model import Evidence, ObservationDraft, Observed, TurnUnit
from cmem.observer.errors import UnusableReply
from cmem.observer.evidence import parse_json, strings
from cmem.observer.ground import FILE, PATH, QUOTED

SHORTEST = 4  # shorter pieces stand anywhere
UNKNOWN = "the complete records name no event (cut at the token limit)"
SPACE = re.compile(r"\s+")


def bounded(found: Observed, unit: TurnUnit) -> Observed:
    """The reply with the sources that its records can have. Raises UnusableReply where it was cut
    and none of them is known; a record of unknown sources beside known ones is left out."""
    if not found.cut or len(unit.evidence) < 2:
        return found
    texts = [(one.id, _text(one)) for one in unit.evidence]
    placed = [(one, one.sources or _told_of(one, texts)) for one in found.reply.observations]
    kept = tuple(one._replace(sources=ids) for one, ids in placed if ids)
    if not kept:
        raise UnusableReply(UNKNOWN, usage=found.usage)
    lost = len(placed) - len(kept)
    notes = (*found.reply.notes, *((f"{lost} incomplete record(s) left out",) if lost else ()))
    return found._replace(reply=found.reply._replace(observations=kept, notes=notes))


def _told_of(draft: ObservationDraft, texts: list[tuple[int, str]]) -> tuple[int, ...]:
    """The first tool use that has each of the pieces which the draft quotes or names."""
    said = "\n".join((draft.title, draft.subtitle, draft.narrative, *draft.facts))
    pieces = ["".join(one) for one in QUOTED.findall(said)] + PATH.findall(said)
    pieces += [*FILE.findall(said), *draft.files_read, *draft.files_modified]
    first: dict[int, None] = {}
    for piece in dict.fromkeys(_flat(one) for one in pieces):
        if len(piece) >= SHORTEST:
            first |= dict.fromkeys([ref for ref, text in texts if piece in text][:1])
    return tuple(sorted(first))


def _text(one: Evidence) -> str:
    given = (*strings(parse_json(one.tool_input)), *strings(parse_json(one.tool_response)))
    return _flat("\n".join(given))


def _flat(text: str) -> str:
    return SPACE.sub("", text).casefold()
