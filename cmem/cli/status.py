"""``cmem status``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cmem import batch, breaker, budget, paths, settings, spool_check, spooled
from cmem import off as switches
from cmem.cli import filtering, off, output, place
from cmem.context import health
from cmem.doctor import heard
from cmem.errors import ConfigError
from cmem.plural import counted, named
from cmem.store import counts, last_run, pause
from cmem.sync import last as sharing

if TYPE_CHECKING:
    import apsw

    from cmem.cli.output import Line
    from cmem.store.counts import StatusCounts
    from cmem.store.pause import Pause

INSTALLED = "install.json"
OK = "ok"
NOTHING = "nothing captured yet: start a session of your agent"
MAX_RECORD = 16 * 1024 * 1024
EMPTY = counts.StatusCounts(0, 0, 0, 0, 0, counts.Work(0, 0, None), None, None, 0, 0.0)


# A pause has ended, and nobody knows whether the provider is well again.
UNANSWERED = "the provider has not answered since its last trouble: "


class Spool(NamedTuple):
    pending: int
    spilled: int
    dropped: int
    oldest_at: int | None
    newest_at: int | None


def run(values: Mapping[str, Any]) -> int:
    """Print the state of the pipeline; 1 when it has stopped although events arrive."""
    home, now = place.home(), place.now_ms()
    env = settings.environment()
    chosen, unreadable = _chosen(home, env)
    limits = budget.limits(chosen.daily_usd, chosen.daily_tokens)
    waiting = _spool(home)
    stored, paused, left = _stored(limits, now, chosen)
    why = off.why()
    trouble = why if switches.is_doubt(why) else ""
    trouble = trouble or _unwritable(home) or unreadable or _trouble(waiting, stored, now)
    document = _document(home, chosen.provider, waiting, stored=stored, paused=paused)
    document["daily_budget"] = {
        "tokens": limits.tokens or None,
        "usd": limits.microusd / 1_000_000 or None,
    }
    document["off"] = why or None
    document["off_sessions"] = [one for one in switches.sessions(home) if one.isprintable()]
    document["filters"] = filtering.document(home, env)
    synced = sharing.last(home)
    document["sync"] = None if synced is None else synced._asdict()
    uncaptured, partly = _uncaptured(home, env)
    document["uncaptured"] = uncaptured or partly or None
    ok = _ok(waiting, stored, paused=paused, left=left, partly=partly)
    document["health"] = trouble or document["off"] or _together(uncaptured, ok)
    document["hint"] = _hint(home)
    document["dropped_why"] = (_why_dropped(home) or None) if waiting.dropped else None
    if values["json"]:
        output.write_json(document)
    else:
        output.write_lines(_lines(document, bad=bool(trouble)))
    return 1 if trouble else 0


def _chosen(home: str, env: Mapping[str, str]) -> tuple[settings.Settings, str]:
    """The settings and what is wrong with them; the defaults where nothing can be made of them."""
    trusted = settings.trusts_environment(env)
    try:
        return settings.load(home, env=env, flags={}, trusted_env=trusted), ""
    except ConfigError:
        from cmem import configured  # here, because it costs and is usually not needed
    try:
        chosen, faults = configured.load(home, env=env, flags={}, trusted_env=trusted)
        return chosen, "; ".join(faults)
    except ConfigError as error:
        return settings.defaults(), f"{error}; until then nothing is observed"


def _unwritable(home: str) -> str:
    there = os.path.isdir(home)
    return health.unwritable(home) if there and not os.access(home, os.W_OK | os.X_OK) else ""


def _spool(home: str) -> Spool:
    pending, spilled, dropped = spooled.counts(home)
    times = [spooled.oldest(home), spool_check.newest(home)] if pending else []
    times += _spill_times(home) if spilled else []
    known = [at for at in times if at is not None]
    ends = (min(known), max(known)) if known else (None, None)
    return Spool(pending, spilled, dropped, *ends)


def _spill_times(home: str) -> list[int]:
    """When the spilled events were captured: the file's name begins with that."""
    try:
        names = [one for one in os.listdir(paths.spill_dir(home)) if one.endswith(".event")]
    except OSError:
        return []
    return [int(one[:15]) for one in names if one[:15].isdecimal()]


def _uncaptured(home: str, env: Mapping[str, str]) -> tuple[str, str]:
    """Why nothing more comes, and what does not although something does; "" each for nothing."""
    user_home = env.get("HOME") or os.path.expanduser("~")
    return heard.trouble(os.path.abspath(home), env=env, user_home=user_home, cwd=place.directory())


def _together(uncaptured: str, ok: str) -> str:
    """One line of what keeps events from coming and of what is with those that came."""
    if not uncaptured:
        return ok
    return uncaptured if ok == OK or ok.startswith(NOTHING) else f"{uncaptured}; {ok}"


def _stored(
    limits: budget.Limits, now: int, chosen: settings.Settings
) -> tuple[StatusCounts, Pause | None, str]:
    """The store's numbers, the pause that holds, and why work is left."""
    conn = place.store()
    if conn is None:
        return EMPTY, None, ""
    try:
        stored = counts.status_counts(conn, midnight=budget.day(now)[0])
        mark = breaker.fingerprint(chosen)
        paused = _paused(conn, limits, now, mark=mark)
        return stored, paused, _left(conn, stored, chosen, mark=mark)
    finally:
        conn.close()


def _left(
    conn: apsw.Connection, stored: StatusCounts, chosen: settings.Settings, *, mark: str
) -> str:
    """Why turns wait or were put aside, "" when nothing is left or nothing is known of it."""
    trouble = pause.get(conn)
    if trouble is not None and trouble.fingerprint == mark and stored.work.pending:
        return f"{UNANSWERED}{stored.work.pending} waiting: {trouble.reason}"
    parts = list(batch.told(conn, chosen))
    last = last_run.get(conn)
    # A run that gave a batch away ends with the same sentence.
    told = last is not None and last.reason == "; ".join(parts)
    if last is not None and last.reason and stored.work.pending and not told:
        other = last.provider not in ("", chosen.provider)
        whose = f" (the last run asked {last.provider})" if other else ""
        parts.append(f"{stored.work.pending} waiting{whose}: {last.reason}")
    if stored.work.parked:
        parts.append(f"{stored.work.parked} parked: {counts.parked_reason(conn)}")
    return "; ".join(parts)


def _paused(conn: apsw.Connection, limits: budget.Limits, now: int, *, mark: str) -> Pause | None:
    """The pause that holds: the provider's own trouble before the day's budget. ``mark``: of the
    settings that are asked with now."""
    current = pause.get(conn)
    if current is not None and breaker.holds(current, fingerprint=mark, now=now):
        return current
    daily = pause.get(conn, pause.BUDGET)
    return daily if breaker.budget_holds(daily, limits=limits, now=now) else None


def _trouble(waiting: Spool, stored: StatusCounts, now: int) -> str:
    """Why this is no healthy memory; "" when it is."""
    return health.uncollected(
        waiting=waiting.pending + waiting.spilled, oldest_waiting=waiting.oldest_at, now=now
    ) or health.stalled(
        oldest_pending=stored.work.oldest_at, last_success=stored.last_observed_at, now=now
    )


def _ok(
    waiting: Spool, stored: StatusCounts, *, paused: Pause | None, left: str, partly: str
) -> str:
    if paused is not None:
        return f"paused until {output.when(paused.until)}: {paused.reason}"
    if stored.last_captured_at is None and not any(waiting[:3]) and not partly:
        return NOTHING
    if left.startswith(UNANSWERED):
        return left
    if stored.last_captured_at is None and waiting.oldest_at is not None:
        number = waiting.pending + waiting.spilled
        verb = "waits" if number == 1 else "wait"
        return (
            f"{counted(number, 'event')} {verb} since {output.when(waiting.oldest_at)}, and none "
            "is stored yet: `cmem compress` does it now"
        )
    notes = [left] if left else []
    notes += [partly] if partly else []
    if waiting.dropped:
        notes.append(f"{counted(waiting.dropped, 'event')} dropped")
    return OK + (f" ({', '.join(notes)})" if notes else "")


def _hint(home: str) -> str | None:
    """What to look at where hooks are installed and no event of theirs has ever come, because
    the host keeps to itself whether it runs them."""
    try:
        with open(os.path.join(home, INSTALLED), "rb") as file:
            installed = b'"codex"' in file.read(MAX_RECORD)
    except OSError:
        return None
    if not installed:
        return None
    conn = place.store()
    try:
        if conn is not None and counts.has_host(conn, "codex"):
            return None
    finally:
        if conn is not None:
            conn.close()
    from cmem.install import codex

    return f"nothing of Codex has arrived yet; {codex.UNSEEN}"


def _why_dropped(home: str) -> str:
    from cmem.doctor import logs  # here, because usually nothing was

    return logs.why_dropped(home)


def _document(
    home: str, provider: str, waiting: Spool, *, stored: StatusCounts, paused: Pause | None
) -> dict[str, Any]:
    return {
        "home": home,
        "provider": provider,
        "spool": {
            "pending": waiting.pending,
            "spilled": waiting.spilled,
            "dropped": waiting.dropped,
        },
        "work": stored.work._asdict(),
        "counts": {
            "sessions": stored.sessions,
            "prompts": stored.prompts,
            "tool_uses": stored.tool_uses,
            "observations": stored.observations,
            "summaries": stored.summaries,
        },
        "waiting_since": waiting.oldest_at,
        "last_captured_at": max(
            (at for at in (stored.last_captured_at, waiting.newest_at) if at is not None),
            default=None,
        ),
        "last_observed_at": stored.last_observed_at,
        "paused": None if paused is None else {"reason": paused.reason, "until": paused.until},
        "spend_today": {"tokens": stored.spend_tokens, "usd": round(stored.spend_usd, 6)},
        "mended_today": stored.mended,
    }


def _lines(document: dict[str, Any], *, bad: bool) -> list[Line]:
    waiting, work, stored = document["spool"], document["work"], document["counts"]
    spend = document["spend_today"]
    lines = [
        _pair("health", document["health"], "bold red" if bad else "green"),
        _pair("home", document["home"]),
        _pair("provider", document["provider"]),
        _pair("waiting", _waits(waiting, document["waiting_since"])),
        _pair("work", f"{work['pending']} pending, {work['parked']} parked"),
        _pair("stored", ", ".join(named(count, name) for name, count in stored.items())),
        _pair("last captured", _at(document["last_captured_at"])),
        _pair("last observed", _at(document["last_observed_at"])),
        _pair("spent today", _spent(spend, document["daily_budget"])),
    ]
    if mended := document["mended_today"]:
        told = f"{mended} today with something left out or marked (`cmem trace` tells what)"
        lines.append(_pair("replies", told))
    if document["hint"]:
        lines.append(_pair("hint", document["hint"]))
    if document["dropped_why"]:
        lines.insert(4, _pair("dropped", document["dropped_why"]))
    if document["off"] and bad and document["off"] != document["health"]:
        lines.insert(1, _pair("capture", document["off"]))
    if filtered := filtering.told(document["filters"]):
        lines.append(_pair("filtered", filtered))
    if synced := document["sync"]:
        machines = counted(synced["machines"], "other machine")
        told = f"{_at(synced['at'])}, {machines} in {synced['folder']}"
        lines.append(_pair("synced", told))
    if document["off_sessions"]:
        lines.append(_pair("sessions off", ", ".join(document["off_sessions"])))
    return lines


def _waits(waiting: dict[str, int], since: int | None) -> str:
    told = ", ".join(f"{count} {name}" for name, count in waiting.items())
    return told if since is None else f"{told} (the oldest since {output.when(since)})"


def _spent(spend: dict[str, Any], allowed: dict[str, Any]) -> str:
    usd = f" of {budget.dollars(round(allowed['usd'] * 1e6))} a day" if allowed["usd"] else ""
    tokens = f" of {allowed['tokens']:,}" if allowed["tokens"] else ""
    return f"${spend['usd']:.4f}{usd}; {spend['tokens']:,}{tokens} tokens"


def _pair(label: str, text: str, style: str = "") -> Line:
    return [(f"{label + ':':<15}", "bold"), (output.plain(text)[0][0], style)]


def _at(at: int | None) -> str:
    return "never" if at is None else output.when(at)
