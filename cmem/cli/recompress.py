"""``cmem recompress``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from cmem import budget, compress, settings
from cmem import recompress as core
from cmem.cli import asking, output, place
from cmem.errors import CmemError, UsageError


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
    found = core.plan(home, chosen, session_id)
    if values["dry_run"]:
        _print_plan(found, session_id, values)
        return 0
    if found.calls and not values["yes"]:
        _ask(found)
    with _progress(quiet=bool(values["json"])) as progress:
        report = core.recompress(home, chosen, session_id, options=options, progress=progress)
    if values["json"]:
        cost = {"cost_usd": report.microusd / 1_000_000}
        output.write_json({"session": f"N{session_id}", **report._asdict(), **cost})
    else:
        output.write_lines(output.plain(line) for line in _told(report, found, session_id))
    return 0


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
        shown = _n(back, "earlier memory", "earlier memories")
        line = f"N{session_id}: taken back in {_n(taken, 'place')}; {shown} shown again."
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


def _ask(found: core.Plan) -> None:
    """Let a person decide about what it costs; a script says so with ``--yes``."""
    told = f"about {_weight(found)} by {_who(found)}"
    if not asking.person():
        raise CmemError(f"nothing was asked: that would be {told}; add --yes to do it")
    if not asking.agrees(f"Observe again: {told}. Go on?"):
        raise CmemError("nothing was asked")


@contextlib.contextmanager
def _progress(*, quiet: bool) -> Iterator[core.Progress | None]:
    """A bar for a person at a terminal, nothing anywhere else."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    with terminal.work("observing again") as advance:
        yield lambda done, of: advance(done, of, "")


def _print_plan(found: core.Plan, session_id: int, values: Mapping[str, Any]) -> None:
    if values["json"]:
        output.write_json({"dry_run": True, "session": f"N{session_id}", **found._asdict()})
        return
    output.write_lines(output.plain(line) for line in _planned(found, session_id))


def _planned(found: core.Plan, session_id: int) -> Iterator[str]:
    places = _n(found.places, "turn or summary", "turns and summaries")
    yield f"N{session_id}: {places} to observe again with {_who(found)}."
    if found.calls:
        yield f"About {_weight(found)}."
    if found.done:
        yield f"{found.done} more {'is' if found.done == 1 else 'are'} its own already."
    if found.pruned:
        yield f"{_n(found.pruned, 'turn')} cannot be observed again: the raw evidence is gone."
    if found.unsettled:
        yield f"{_n(found.unsettled, 'unit')} not observed yet; that is for `cmem compress`."


def _who(found: core.Plan) -> str:
    return " ".join(filter(None, (found.provider, found.model)))


def _weight(found: core.Plan) -> str:
    price = "price unknown"
    if found.cost_usd is not None:
        price = budget.dollars(round(found.cost_usd * 1_000_000))
    return (
        f"{_n(found.calls, 'call')} with {found.input_tokens:,} tokens in, "
        f"{found.output_tokens:,} out, {price}"
    )


def _told(report: core.Report, found: core.Plan, session_id: int) -> Iterator[str]:
    if not report.places and not found.done:
        waits = f"; {_n(found.unsettled, 'unit')} not observed yet" if found.unsettled else ""
        yield (
            f"N{session_id}: nothing to observe again: none of it was observed here{waits}. What "
            "was imported with its memories alone has no turns to make others of."
        )
        return
    if not report.places:
        yield f"N{session_id}: nothing to observe again; all of it is by {report.provider} already."
        return
    yield (
        f"N{session_id}: {report.provider} observed {report.replaced} of "
        f"{_n(report.places, 'place')} anew: {_n(report.observations, 'observation')} in, "
        f"{_n(report.superseded, 'earlier memory', 'earlier memories')} superseded."
    )
    if report.kept or report.unusable:
        yield (
            f"Left as they were: {report.kept} in which it found nothing to record, "
            f"{report.unusable} whose reply could not be used."
        )
    if report.calls:
        known = budget.dollars(report.microusd)
        price = f"{known}, {report.unpriced} of unknown price" if report.unpriced else known
        yield (
            f"{_n(report.calls, 'call')}: {report.input_tokens:,} tokens in, "
            f"{report.output_tokens:,} out, {price}."
        )
    if report.reason:
        yield f"Stopped: {report.reason}"
    if report.left:
        yield f"Left: {report.left}; the same command goes on there."
    if report.replaced:
        yield f"`cmem recompress N{session_id} --undo` takes it back."


def _n(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
