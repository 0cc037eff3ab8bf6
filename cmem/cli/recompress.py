"""``cmem recompress``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cmem import budget, compress, replan, settings
from cmem import recompress as core
from cmem.cli import anew, output, place
from cmem.errors import CmemError, UsageError
from cmem.store.places import Wanted

if TYPE_CHECKING:
    from cmem.anew import Report
    from cmem.replan import Plan


def run(values: Mapping[str, Any]) -> int:
    """Observe a session again, or take that back."""
    compress.end_on_signals()
    env = settings.environment()
    if settings.inside_observer(env):
        raise CmemError("this runs inside cmem's own observer (CMEM_OBSERVER): nothing was done")
    session_id = _session(str(values["session"]))
    if values["undo"]:
        return _undo(session_id, values)
    flags = {name: values[name] for name in ("provider", "model") if values[name] is not None}
    home = place.home()
    chosen = settings.load(home, env=env, flags=flags, trusted_env=settings.trusts_environment(env))
    options = _options(values)
    wanted = Wanted(session_id)
    name = f"N{session_id}"
    found = replan.plan(home, chosen, wanted, options=options)
    if values["dry_run"]:
        if values["json"]:
            output.write_json({"dry_run": True, "session": name, **found.document()})
        else:
            output.write_lines(output.plain(line) for line in anew.planned(found, name))
        return 0
    if found.calls and not values["yes"]:
        anew.ask(found)
    with anew.progress(quiet=bool(values["json"])) as progress:
        report = core.recompress(home, chosen, wanted, options=options, progress=progress)
    if values["json"]:
        cost = {"cost_usd": report.microusd / 1_000_000}
        output.write_json({"session": name, **report._asdict(), **cost})
    else:
        output.write_lines(output.plain(line) for line in _told(report, found, name))
    return report.code


def _undo(session_id: int, values: Mapping[str, Any]) -> int:
    if values["dry_run"]:
        raise UsageError("--undo has no --dry-run: it asks nobody, and recompress does it again")
    wait = max(0, values["wait"])
    taken, back = core.undo(place.home(), session_id, wait_s=wait, now=place.now_ms())
    if not taken:
        raise CmemError(f"nothing to undo: N{session_id} was not observed again")
    if values["json"]:
        output.write_json({"session": f"N{session_id}", "undone": taken, "shown": back})
    else:
        shown = anew.n(back, "earlier memory", "earlier memories")
        line = f"N{session_id}: taken back in {anew.n(taken, 'place')}; {shown} shown again."
        output.write_lines([output.plain(line)])
    return 0


def _session(text: str) -> int:
    conn = place.store()
    if conn is None:
        raise CmemError("no memories yet, so there is no session to observe again")
    try:
        found = place.session(conn, text)
    finally:
        conn.close()
    if found is None:
        raise UsageError("name a session; `cmem project show` and `cmem search` tell them")
    return found


def _options(values: Mapping[str, Any]) -> core.Options:
    max_calls = values["max_calls"]
    if max_calls is not None and max_calls < 1:
        raise UsageError("--max-calls must be at least 1")
    return core.Options(
        max_calls=max_calls or 0,
        limits=None if values["budget"] is None else budget.parse(values["budget"]),
        wait_s=max(0, values["wait"]),
    )


def _told(report: Report, found: Plan, name: str) -> Iterator[str]:
    if not report.places and not found.done:
        waits = f"; {anew.n(found.unsettled, 'unit')} not observed yet" if found.unsettled else ""
        yield (
            f"{name}: nothing to observe again: none of it was observed here{waits}. What "
            "was imported with its memories alone has no turns to make others of."
        )
        return
    if not report.places:
        yield f"{name}: nothing to observe again; all of it is by {report.provider} already."
        return
    yield from anew.told(report, name)
    if report.replaced:
        yield f"`cmem recompress {name} --undo` takes it back."
