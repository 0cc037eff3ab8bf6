"""``cmem forget``: show what goes, ask, then hide it or remove it for good."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cmem.cli import boundary, output, place
from cmem.cli.writing import writer
from cmem.errors import CmemError, UsageError
from cmem.store import erase, read
from cmem.store import forget as core

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from cmem.store.forget import Plan
    from cmem.store.read import Ref

NAMES = {
    "observations": ("observation", "observations"),
    "summaries": ("summary", "summaries"),
    "prompts": ("prompt", "prompts"),
    "tool_uses": ("tool use", "tool uses"),
}


def run(values: Mapping[str, Any]) -> int:
    """Forget what the ids name and what follows from it; 1 when one of them is unknown."""
    ids = [*values["ids"], *values["session"]]
    if not ids:
        raise UsageError("say what to forget: ids such as O12, or --session ID")
    conn = place.store()
    if conn is None:
        raise CmemError("no memories yet, so there is nothing to forget")
    try:
        refs, unknown = _resolve(conn, values)
        plan = core.plan(conn, refs)
    finally:
        conn.close()
    if not refs:
        raise CmemError(f"no such memory: {', '.join(unknown)}")
    if values["undo"]:
        document = _undo(refs, dry_run=values["dry_run"])
    else:
        document = _forget(refs, plan, values)
    _print(document, values)
    if unknown:
        boundary.complain(f"no such memory: {', '.join(unknown)}")
        return 1
    return 0


def _resolve(conn: apsw.Connection, values: Mapping[str, Any]) -> tuple[list[Ref], list[str]]:
    """The rows that the ids name, hidden ones too, and the ids that name none."""
    refs: list[Ref] = []
    unknown: list[str] = []
    asked = [(text, False) for text in values["ids"]]
    asked += [(text, True) for text in values["session"]]
    for text, is_session in asked:
        word = text.strip()
        if is_session and word.isascii() and word.isdigit():
            word = f"N{word}"  # a bare number is a session here, and O2 is still no session
        ref = place.parse_id(word)
        if ref is None or not _exists(core.plan(conn, [ref])):
            found = read.find_session(conn, word)
            ref = None if found is None else ("N", found)
        if ref is None or (is_session and ref[0] != "N"):
            unknown.append(text)
        else:
            refs.append(ref)
    return list(dict.fromkeys(refs)), unknown


def _exists(plan: Plan) -> bool:
    return bool(plan.total or plan.sessions)


def _forget(refs: Sequence[Ref], plan: Plan, values: Mapping[str, Any]) -> dict[str, Any]:
    hard = bool(values["hard"])
    document = _document(refs, plan, hard=hard)
    if values["dry_run"]:
        return document | {"dry_run": True}
    if not values["yes"]:
        _ask(plan, named=_named_one_by_one(refs), hard=hard)
    with writer(take_in=True) as conn:
        # What came in meanwhile, and what still lay in the mailbox, goes along.
        plan = core.plan(conn, refs)
        if hard:
            with _progress(plan.total) as progress:
                erase.purge(conn, plan, now=place.now_ms(), progress=progress)
        else:
            core.hide(conn, plan, now=place.now_ms())
    return _document(refs, plan, hard=hard) | {"done": True}


def _undo(refs: Sequence[Ref], *, dry_run: bool) -> dict[str, Any]:
    if dry_run:
        raise UsageError("--undo takes no --dry-run")
    with writer(take_in=True) as conn:
        shown = core.unhide(conn, refs)
    if not shown:
        raise CmemError("nothing of that is hidden, so there is nothing to undo")
    return {"ids": [f"{kind}{number}" for kind, number in refs], "undone": shown}


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int, int], None] | None]:
    if total < 50 or not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    with terminal.progress("removing", total) as advance:
        yield lambda done, _total: advance(done)


def _person() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _named_one_by_one(refs: Sequence[Ref]) -> bool:
    """Rows given by their ids say exactly what goes; a session does not."""
    return all(kind != "N" for kind, _number in refs)


def _ask(plan: Plan, *, named: bool, hard: bool) -> None:
    """Show the counts and let a person decide; CmemError for a no. Where nobody can be asked,
    rows named by id go as the caller said, and anything wider needs ``--yes``."""
    told = _told(_counts(plan))
    if not _person():
        if named:
            return
        raise CmemError(f"nothing was forgotten: that would be {told}; add --yes to do it")
    what = "Remove for good" if hard else "Hide"
    sys.stderr.write(f"{what}: {told}. Go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CmemError("nothing was forgotten")


def _document(refs: Sequence[Ref], plan: Plan, *, hard: bool) -> dict[str, Any]:
    return {
        "ids": [f"{kind}{number}" for kind, number in refs],
        "counts": _counts(plan),
        "total": plan.total,
        "hard": hard,
        "dry_run": False,
        "done": False,
    }


def _counts(plan: Plan) -> dict[str, int]:
    return {name: len(getattr(plan, name)) for name in NAMES}


def _told(counts: Mapping[str, int]) -> str:
    parts = [f"{count} {NAMES[name][count != 1]}" for name, count in counts.items() if count]
    return ", ".join(parts) or "nothing"


def _print(document: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    if values["json"]:
        output.write_json(document)
        return
    ids = " ".join(document["ids"])
    if "undone" in document:
        text = f"Shown again: {document['undone']} rows."
    elif document["dry_run"]:
        text = f"Would {'remove' if document['hard'] else 'hide'}: {_told(document['counts'])}."
    elif document["hard"]:
        text = f"Removed for good: {_told(document['counts'])}."
    else:
        text = (
            f"Hidden: {_told(document['counts'])}. "
            f"`cmem forget {ids} --undo` brings them back within a day."
        )
    output.write_lines([output.plain(text)])
