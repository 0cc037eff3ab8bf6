"""``cmem pin`` and ``cmem unpin``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cmem.cli import boundary, observations, output
from cmem.cli.writing import beside
from cmem.errors import CmemError
from cmem.store import edits

if TYPE_CHECKING:
    from collections.abc import Mapping


def run_pin(values: Mapping[str, Any]) -> int:
    """Pin the observations; 1 when an id is none, which is then named."""
    return _set(values, pinned=True)


def run_unpin(values: Mapping[str, Any]) -> int:
    """Take the pin of the observations."""
    return _set(values, pinned=False)


def _set(values: Mapping[str, Any], *, pinned: bool) -> int:
    with beside() as conn:
        refs, unknown = observations.resolve(conn, values["ids"])
        if not refs:
            raise CmemError(observations.refusal(unknown))
        changed = edits.pin(conn, refs, pinned=pinned)
        untold = edits.untold(conn, refs) if pinned else []
        unseen = {ref: edits.standing(conn, ref) for ref in refs} if pinned else {}
    superseded = {f"O{ref}": f"O{last}" for ref, last in unseen.items() if ref != last}
    ids = [f"O{ref}" for ref in refs]
    if values["json"]:
        document = {"ids": ids, "pinned": pinned, "changed": [f"O{ref}" for ref in changed]}
        document |= {"untold": [f"O{ref}" for ref in untold]} if pinned else {}
        document |= {"superseded": superseded} if superseded else {}
        output.write_json(document)
    else:
        word = "Pinned" if pinned else "Not pinned any more"
        rest = "" if len(changed) == len(refs) else f" ({len(refs) - len(changed)} before)"
        output.write_lines([output.plain(f"{word}: {' '.join(ids)}{rest}.")])
    for old, new in superseded.items():
        boundary.complain(
            f"{old} is not shown: {new} stands for it, and is shown by `cmem pin {new}`"
        )
    for ref in untold:
        boundary.complain(
            f"O{ref} came from an outside source, so no session is told it by itself; "
            "`cmem note --pin` with your own words is"
        )
    if unknown:
        boundary.complain(observations.refusal(unknown))
        return 1
    return 0
