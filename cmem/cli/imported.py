"""``cmem compress --imported``: a model looks at what imports of transcripts have brought."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cmem import booking, budget, estimate, replan, settings
from cmem import recompress as core
from cmem.cli import anew, output, place
from cmem.errors import UsageError
from cmem.search import when
from cmem.store import connection, ledger
from cmem.store.places import Wanted

if TYPE_CHECKING:
    from cmem.anew import Report
    from cmem.replan import Plan
    from cmem.settings import Settings

NOT_HERE = {
    "session": "--imported is for all sessions of the past; `cmem recompress N4` does one",
    "open": "--imported has no --open: it is for what was observed already",
    "batch": "--imported has no --batch: each reply takes the place of what is there when it "
    "comes; run it without, --budget says what it may take",
}
LIFT = "`cmem compress --imported --budget none` goes on now"
NOTHING_MORE = ledger.Expected("", "", 0, 0, 0)
UNDO = "`cmem recompress N4 --undo` takes one of these sessions back (`cmem session list`)."


def run(values: Mapping[str, Any]) -> int:
    """Tell what it would take, ask, and have the provider observe the past again."""
    for name, said in NOT_HERE.items():
        if values[name]:
            raise UsageError(said)
    home = place.home()
    env = settings.environment()
    flags = {name: values[name] for name in ("provider", "model") if values[name] is not None}
    chosen = settings.load(home, env=env, flags=flags, trusted_env=settings.trusts_environment(env))
    options, wanted, quiet = _options(values), _wanted(values), bool(values["json"])
    with anew.weighing(quiet=quiet) as weighing:
        found = replan.plan(home, chosen, wanted, options=options, progress=weighing)
    name = _name(found)
    if values["dry_run"] and values["json"]:
        output.write_json({"dry_run": True, **found.document()})
        return 0
    if found.places and not quiet:
        output.write_lines(output.plain(line) for line in anew.planned(found, name))
    if not found.places and not quiet:
        output.write_lines([output.plain(_nothing(found))])
    if values["dry_run"] or not (found.places or quiet):
        return 0
    if found.calls and not values["yes"]:
        anew.ask(found)
    with anew.progress(quiet=quiet) as progress:
        report = core.recompress(home, chosen, wanted, options=options, progress=progress)
    if quiet:
        output.write_json({**report._asdict(), "cost_usd": report.microusd / 1_000_000})
    else:
        lines = [*_told(report, name)]
        if values["budget"] is not None:
            lines += _day(home, chosen)
        output.write_lines(output.plain(line) for line in lines)
    return report.code


def _options(values: Mapping[str, Any]) -> core.Options:
    max_calls = values["max_calls"]
    if max_calls is not None and max_calls < 1:
        raise UsageError("--max-calls must be at least 1")
    options = core.Options(max_calls or 0, wait_s=max(0, values["wait"]), lift=LIFT)
    if values["budget"] is None:
        return options
    # Who says what the past may cost means the past, whatever else the day has taken.
    return options._replace(limits=budget.NO_LIMITS, purse=budget.parse(values["budget"]))


def _wanted(values: Mapping[str, Any]) -> Wanted:
    since = 0 if values["since"] is None else when.parse_since(values["since"], place.now_ms())
    if not place.is_project_given(values):
        return Wanted(since=since)
    conn = place.store()
    if conn is None:
        return Wanted(since=since)
    try:
        return Wanted(projects=place.scope(conn, values).projects, since=since)
    finally:
        conn.close()


def _name(found: Plan) -> str:
    return anew.n(found.sessions, "imported session")


def _day(home: str, chosen: Settings) -> Iterator[str]:
    """What it means for today, where it has used up the day's own budget."""
    conn = connection.open_reader(home)
    if conn is None or chosen.provider in estimate.FREE:
        return
    try:
        limits = core.limits_of(chosen, core.Options())
        full = booking.Books(conn, limits, now=place.now_ms()).refusal(NOTHING_MORE)
    finally:
        conn.close()
    if full:
        yield f"It counts for today: {full}; what is captured waits until midnight, {budget.LIFT}."


def _nothing(found: Plan) -> str:
    """Why there is nothing to do, and what there would be."""
    if found.done and found.provider in estimate.FREE:
        return (
            f"Nothing to observe again: {anew.n(found.done, 'imported place')} by "
            f"{found.provider} already. Name who asks a model: `cmem compress --imported "
            "--provider NAME --dry-run` tells the price (`cmem provider list`)."
        )
    if found.too_long:
        count = anew.n(found.too_long, "imported place")
        return f"Nothing to observe again: {count} left, {anew.TOO_LONG}."
    if found.done:
        own, count = found.done - found.settled, anew.n(found.done, "imported place")
        if not found.settled:
            return f"Nothing to observe again; {count} by {anew.who(found)} already."
        return (
            f"Nothing to observe again; of {count} {own:,} by {anew.who(found)} already, "
            f"{found.settled:,} {anew.SETTLED}."
        )
    if found.unsettled:
        count = anew.n(found.unsettled, "imported unit")
        return f"Nothing to observe again: {count} not observed at all yet; run `cmem compress`."
    if found.pruned:
        count = anew.n(found.pruned, "imported turn")
        return f"Nothing to observe again: the raw evidence of {count} is gone (keep_raw_days)."
    return (
        "Nothing to observe again: no session of that kind came in by an import of transcripts "
        "(`cmem import claude-code`)."
    )


def _told(report: Report, name: str) -> Iterator[str]:
    yield from anew.told(report, name)
    if report.replaced:
        yield UNDO
