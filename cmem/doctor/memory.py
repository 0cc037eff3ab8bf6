"""The store: is it whole, is it of this version, does the index know every row, what waits."""

from __future__ import annotations

from collections.abc import Iterator

from cmem import batch, breaker, budget, fitness, ingest
from cmem.breaker import fingerprint
from cmem.context import health
from cmem.doctor.finding import ERROR, OK, WARN, Finding
from cmem.errors import CmemError
from cmem.plural import counted
from cmem.privacy.sanitise import clean
from cmem.settings import Settings
from cmem.store import check as store
from cmem.store import connection, counts, drafts, future, pause
from cmem.store.rows import value

COMPRESS = "cmem compress"
CHECK_MS = 5_000
SHOWN_REASONS = 3


def judge_sqlite(version: str) -> Finding:
    """Whether SQLite is one that keeps a log whole under many writers."""
    said = fitness.old_sqlite(version)
    return (
        Finding(ERROR, "sqlite", said, fitness.upgrade())
        if said
        else Finding(OK, "sqlite", version)
    )


def look(home: str) -> store.State | None:
    """The store as it is, in a bounded time."""
    return store.look(home, within_ms=CHECK_MS)


def is_usable(state: store.State | None) -> bool:
    """Whether a test event may be tried on the store itself: opening another schema would
    change it."""
    return state is not None and not state.damage and state.schema == store.SCHEMA


def judge(state: store.State | None) -> Iterator[Finding]:
    """Damage, version, index."""
    if state is None:
        yield Finding(OK, "store", "no memory yet; the first `cmem compress` makes memory.db")
        return
    if state.damage:
        detail = f"memory.db is damaged: {state.damage}"
        fix = "cmem doctor --repair, or put back a copy: cmem backup list"
        yield Finding(ERROR, "store", detail, fix)
        return
    if state.schema > store.SCHEMA:
        detail = f"memory.db has schema {state.schema}, this cmem knows {store.SCHEMA}"
        yield Finding(ERROR, "store", detail, "upgrade cmem")
        return
    if state.schema < store.SCHEMA:
        detail = f"memory.db has schema {state.schema} and is brought to {store.SCHEMA} by"
        yield Finding(WARN, "store", detail + " the next run", COMPRESS)
        return
    how = "no damage" if state.complete else f"no damage in the first {CHECK_MS // 1000} s"
    yield Finding(OK, "store", f"schema {state.schema}, {how}")
    yield judge_index(state)


def judge_index(state: store.State) -> Finding:
    """The index knows each document once, by terms made as this version makes them."""
    if state.indexed != state.documents:
        detail = f"{counted(state.documents, 'document')}, but {state.indexed:,} in the index"
    elif state.segmenter != store.SEGMENTER:
        detail = f"made by rules {state.segmenter}, this cmem searches by rules {store.SEGMENTER}"
    else:
        return Finding(OK, "index", f"all of {counted(state.documents, 'document')}")
    fix = "cmem doctor --repair; `cmem get` and `cmem timeline` go on working meanwhile"
    return Finding(ERROR, "index", detail, fix)


def check_work(home: str, chosen: Settings | None, *, now: int) -> list[Finding]:
    """What waits for an observer, what was put aside, whether one is asked at all."""
    try:
        conn = connection.open_reader(home, index=False)
    except (*connection.ENVIRONMENT_ERRORS, CmemError):
        return []  # the store has its own finding
    if conn is None:
        return []
    try:
        work = counts.work(conn)
        current = pause.get(conn)
        daily = pause.get(conn, pause.BUDGET)
        last = value(conn, counts.LAST_OBSERVED)
        reasons = store.parked_reasons(conn)
        batched = batch.told(conn, chosen) if chosen is not None else ()
        ahead = future.find(conn, now=now)
    finally:
        conn.close()
    found = [judge_work(work, last_observed=last, now=now)]
    if ahead.rows and now >= ingest.SANE_MS:
        found.append(judge_ahead(ahead))
    if reasons:
        found.append(judge_parked(reasons))
    for said in batched:
        if not said.endswith(batch.COLLECTS):
            fix = "cmem queue list --state batched, then cmem queue retry with the ids"
            detail = clean(said.partition(f"; {batch.TAKE_BACK}")[0], one_line=True)
            found.append(Finding(WARN, "batch", detail, fix))
    mark = fingerprint(chosen) if chosen is not None else ""
    if current is not None and breaker.holds(current, fingerprint=mark, now=now):
        found.append(judge_pause(current, now=now))
    elif current is not None and current.fingerprint == mark and work.pending:
        detail = f"the provider has not answered since its last trouble: {current.reason}"
        found.append(Finding(WARN, "provider trouble", clean(detail, one_line=True), COMPRESS))
    limits = budget.limits(chosen.daily_usd, chosen.daily_tokens) if chosen else budget.NO_LIMITS
    if daily is not None and breaker.budget_holds(daily, limits=limits, now=now):
        detail = f"turns wait for the next day: {daily.reason.partition(';')[0]}"
        found.append(Finding(WARN, "budget", detail, "cmem compress --budget none"))
    return found


def judge_work(work: counts.Work, *, last_observed: int | None, now: int) -> Finding:
    """Whether turns become observations."""
    late = health.stalled(oldest_pending=work.oldest_at, last_success=last_observed, now=now)
    if late:
        return Finding(ERROR, "work", late.partition(": run")[0], COMPRESS)
    return Finding(OK, "work", f"{counted(work.pending, 'turn')} waiting to be observed")


def judge_ahead(ahead: future.Found) -> Finding:
    """What a wrong clock has made the newest for years."""
    detail = f"{counted(ahead.rows, 'row')} dated in the future, up to {drafts.day(ahead.newest)}"
    detail += ": a clock was wrong; they come before all later work"
    return Finding(WARN, "clock", detail, "cmem doctor --repair")


def judge_parked(reasons: list[tuple[str, int]]) -> Finding:
    """Units that failed too often, with the most frequent reasons."""
    total = sum(number for _, number in reasons)
    told = "; ".join(
        f"{number} × {clean(reason, one_line=True) or 'no reason kept'}"
        for reason, number in reasons[:SHOWN_REASONS]
    )
    detail = f"{counted(total, 'turn')} could not be observed and put aside: {told}"
    fix = "`cmem queue retry --all` tries them again, `cmem queue drop --all` gives them up"
    return Finding(WARN, "parked work", detail, fix)


def judge_pause(current: pause.Pause, *, now: int) -> Finding:
    """The provider is left alone for now."""
    seconds = max(1, (current.until - now) // 1000)
    detail = f"the provider is not asked for {counted(seconds, 'second')}: {current.reason}"
    return Finding(WARN, "paused", clean(detail, one_line=True), "cmem compress, after that time")
