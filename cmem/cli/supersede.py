"""``cmem supersede``: a newer memory stands for an older one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cmem.cli import observations, output
from cmem.cli.writing import beside
from cmem.errors import CmemError, UsageError
from cmem.store import edits

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw


def run(values: Mapping[str, Any]) -> int:
    """Let NEW stand for OLD, or with ``--undo`` OLD for itself again."""
    if bool(values["new"]) == bool(values["undo"]):
        raise UsageError("say which memory is superseded by which: O12 O20, or O12 --undo")
    with beside() as conn:
        old = observations.one(conn, values["old"])
        document = _undo(conn, old) if values["undo"] else _supersede(conn, old, values["new"])
    if values["json"]:
        output.write_json(document)
    else:
        output.write_lines([output.plain(_told(document))])
    return 0


def _supersede(conn: apsw.Connection, old: int, text: str) -> dict[str, Any]:
    new = observations.one(conn, text)
    if new == old:
        raise CmemError(f"O{old} cannot supersede itself")
    changed = edits.supersede(conn, old, new)
    return {"old": f"O{old}", "superseded_by": f"O{new}", "changed": changed}


def _undo(conn: apsw.Connection, old: int) -> dict[str, Any]:
    before = edits.restore(conn, old)
    if before is None:
        raise CmemError(f"O{old} is not superseded, so there is nothing to undo")
    return {"old": f"O{old}", "superseded_by": None, "changed": True}


def _told(document: Mapping[str, Any]) -> str:
    old, new = document["old"], document["superseded_by"]
    if new is None:
        return f"{old} stands for itself again."
    if not document["changed"]:
        return f"{old} is superseded by {new} already."
    return f"{new} stands for {old} now. `cmem supersede {old} --undo` takes that back."
