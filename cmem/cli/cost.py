"""``cmem cost``."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from cmem import budget, settings
from cmem import cost as core
from cmem.cli import boundary, output, place
from cmem.errors import ConfigError
from cmem.observer import prices
from cmem.plural import counted
from cmem.privacy.sanitise import clean
from cmem.search import when
from cmem.store import ledger

if TYPE_CHECKING:
    from cmem.cli.output import Line
    from cmem.cost import Sum
    from cmem.store.ledger import Call, Spent

HEADS = ("", "calls", "in", "cached", "out", "cost", "obs", "per obs", "per fact")
NAME_CELLS = 24
NOTHING: ledger.Spent = ledger.Spent(0, 0, 0, 0)


class Found(NamedTuple):
    """What is shown: the sums, and what has to be said about them."""

    since: int | None
    until: int | None
    sums: list[Sum]
    total: Sum
    models: list[str]
    free: int
    known: prices.PriceList
    today: Spent
    limits: budget.Limits


def run(values: Mapping[str, Any]) -> int:
    """Print what calls took, a line for each day, project, model or provider."""
    home, now = place.home(), place.now_ms()
    env = settings.environment()
    chosen = settings.load(home, env=env, flags={}, trusted_env=settings.trusts_environment(env))
    given = values["since"]
    since, until = when.parse_range(None if given == "all" else given, values["until"], now)
    known = _prices(home)
    calls, today = _read(since, until, now)
    found = Found(
        since=since,
        until=until,
        sums=core.sums(calls, values["by"], known),
        total=core.total(calls, known),
        models=core.unpriced_models(calls, known),
        free=core.free_observations(calls),
        known=known,
        today=today,
        limits=budget.limits(chosen.daily_usd, chosen.daily_tokens),
    )
    if values["json"]:
        output.write_json(_document(found, by=values["by"]))
    else:
        output.write_lines([*_table(found, by=values["by"]), *_notes(found, home)])
    return 0


def _prices(home: str) -> prices.PriceList:
    """The price list; the packaged one alone, said so, where the user's own cannot be read."""
    try:
        return prices.load_for(home)
    except ConfigError as error:
        boundary.complain(f"{error}; the prices that come with cmem are used")
        return prices.load()


def _read(since: int | None, until: int | None, now: int) -> tuple[list[Call], Spent]:
    conn = place.store()
    if conn is None:
        return [], NOTHING
    try:
        began, ends = budget.day(now)
        calls = ledger.calls(
            conn, since=since or 0, until=ledger.FOR_EVER if until is None else until
        )
        return calls, ledger.spent(conn, since=began, until=ends)
    finally:
        conn.close()


# --- for people ----------------------------------------------------------------------


def _table(found: Found, *, by: str) -> Iterator[Line]:
    if not found.total.calls:
        yield output.plain("No model was asked in that time.")
        return
    rows = [_cells(one) for one in (*found.sums, found.total)]
    table = [(by, *HEADS[1:]), *rows]
    widths = [max(_width(row[column]) for row in table) for column in range(len(HEADS))]
    for at, row in enumerate(table):
        style = "bold" if at in (0, len(table) - 1) else ""
        first, *rest = zip(row, widths, strict=True)
        padded = [_pad(first[0], first[1])]
        padded += [" " * (width - _width(text)) + text for text, width in rest]
        yield [("  ".join(padded), style)]


def _cells(one: Sum) -> tuple[str, ...]:
    share = one.cached_share
    return (
        _cut(clean(one.name, one_line=True)),
        f"{one.calls:,}",
        _short(one.input_tokens),
        "-" if share is None else f"{share:.0%}",
        _short(one.output_tokens),
        _money(one),
        f"{one.observations:,}",
        _mean(one.tokens_per_observation),
        _mean(one.tokens_per_fact),
    )


def _money(one: Sum) -> str:
    if one.unpriced and not one.microusd:
        return "unknown"
    return budget.dollars(one.microusd) + ("+?" if one.unpriced else "")


def _notes(found: Found, home: str) -> Iterator[Line]:
    for text in _texts(found, os.path.join(home, prices.FILE)):
        yield output.plain(text)


def _texts(found: Found, path: str) -> Iterator[str]:
    total = found.total
    if total.failed:
        yield f"Without a usable answer: {counted(total.failed, 'call')}."
    if total.estimated:
        yield f"Cut off, and counted by their estimate: {counted(total.estimated, 'call')}."
    if total.batched:
        yield f"In a batch, and counted by their estimate: {counted(total.batched, 'call')}."
    if found.models:
        names = ", ".join(name or "(not told)" for name in found.models)
        first = next(filter(None, found.models), "")
        how = f'[models."{first}"] with input and output, US dollars per million tokens'
        fix = f"Name it in {path}: {how}" if first else "Name a model in the setting model"
        yield f"Price unknown: {names}. {fix}."
    if found.free:
        yield f"{counted(found.free, 'observation')} made by rules cost nothing and are not in the table."
    if total.calls:
        yield (
            f"Money is an estimate by prices of {found.known.date} "
            f"({counted(_age(found.known), 'day')} old){_own(found.known)}, not a bill. "
            "`in` is all that was sent, `cached` the share of it read from the provider's cache; "
            "`per obs` and `per fact` are tokens in and out."
        )
    yield _today(found.today, found.limits)


def _today(spent: Spent, limits: budget.Limits) -> str:
    money = f" of {budget.dollars(limits.microusd)}" if limits.microusd else ""
    tokens = f" of {limits.tokens:,}" if limits.tokens else ""
    return f"Today: {budget.dollars(spent.microusd)}{money}, {spent.tokens:,}{tokens} tokens."


def _own(known: prices.PriceList) -> str:
    return f" and {counted(len(known.own), 'price')} of your own" if known.own else ""


def _age(known: prices.PriceList) -> int:
    return prices.age_days(known, date.today())  # noqa: DTZ011 - a local day is meant


def _short(count: int) -> str:
    """A count in at most six cells."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if count >= size:
            return f"{count / (1_000 if unit == 'k' else size):.1f}{unit}"
    return f"{count:,}"


def _mean(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _width(text: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _cut(text: str) -> str:
    if _width(text) <= NAME_CELLS:
        return text
    while _width(text) >= NAME_CELLS:
        text = text[:-1]
    return text + "…"


# --- for programs --------------------------------------------------------------------


def _document(found: Found, *, by: str) -> dict[str, Any]:
    limits = found.limits
    return {
        "since": found.since,
        "until": found.until,
        "by": by,
        "rows": [{by: one.name, **_figures(one)} for one in found.sums],
        "total": _figures(found.total),
        "free_observations": found.free,
        "unpriced_models": found.models,
        "prices": {
            "date": found.known.date,
            "age_days": _age(found.known),
            "own": sorted(found.known.own),
        },
        "today": {
            "calls": found.today.calls,
            "tokens": found.today.tokens,
            "usd": found.today.microusd / 1_000_000,
            "budget_usd": limits.microusd / 1_000_000 or None,
            "budget_tokens": limits.tokens or None,
        },
    }


def _figures(one: Sum) -> dict[str, Any]:
    """The figures; no cost at all where not one price is known."""
    known = one.microusd or not one.unpriced
    return {
        "calls": one.calls,
        "failed": one.failed,
        "estimated": one.estimated,
        "batched": one.batched,
        "unpriced": one.unpriced,
        "input_tokens": one.input_tokens,
        "cached_tokens": one.cached_tokens,
        "cached_share": _rounded(one.cached_share, 4),
        "output_tokens": one.output_tokens,
        "cost_usd": one.microusd / 1_000_000 if known else None,
        "observations": one.observations,
        "facts": one.facts,
        "tokens_per_observation": _rounded(one.tokens_per_observation, 1),
        "tokens_per_fact": _rounded(one.tokens_per_fact, 1),
    }


def _rounded(value: float | None, places: int) -> float | None:
    return None if value is None else round(value, places)
