"""Compress: ingest → observe → maintain, one run at a time.

Single flight by an OS lock held for the process's life; no clock and no pid decides who may
run. What a killed run left is simply still there: spool rows not deleted, units pending.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from cmem import ingest, lock, observe, paths, spool
from cmem.errors import BusyError, CmemError, ConfigError
from cmem.failpoint import hit
from cmem.observer import providers
from cmem.store import connection, counts, erase, forget, last_run, maintain, pause

if TYPE_CHECKING:
    import apsw

    from cmem.settings import Settings

MERGE_BUDGET_MS = 200
MAX_ROUNDS = 100


class Options(NamedTuple):
    """What a run is asked for. ``wait_s``: how long to wait for another run to end."""

    session: str = ""
    close_open: bool = False
    max_calls: int = 0
    wait_s: float = 10.0


class Report(NamedTuple):
    """The counts of design §13, plus why the run stopped asking (``reason``, may be "")."""

    ingested: int
    units: int
    observations: int
    summaries: int
    skipped: int
    pending: int
    parked: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    provider: str
    reason: str
    warnings: tuple[str, ...]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def compress(
    home: str,
    settings: Settings,
    options: Options,
    *,
    progress: Callable[[observe.Tally, int], None] = lambda _tally, _unit: None,
) -> Report:
    """One run for a person: waits for the lock, does everything there is to do.

    Raises BusyError when another run holds the lock for longer than ``wait_s``."""
    paths.ensure_home(home)
    fd = lock.acquire(paths.lock_file(home), wait_ms=int(options.wait_s * 1000))
    if fd is None:
        raise BusyError("another compress is running; try again when it is done")
    try:
        return _locked(home, settings, options, progress=progress)
    finally:
        lock.release(fd)


def _locked(
    home: str,
    settings: Settings,
    options: Options,
    *,
    progress: Callable[[observe.Tally, int], None],
) -> Report:
    try:
        provider = providers.get(settings)
    except ConfigError as error:
        ingest_only(home, str(error))
        raise
    conn = connection.open_writer(home, now=now_ms())
    try:
        hit("after_lock")
        run = _run(conn, settings, provider, progress=progress)
        ingested, warnings, tally = _rounds(home, run, options)
        hit("before_maintain")
        _maintain(conn)
        reason = tally.reason or _unusable(tally)
        last_run.put(conn, last_run.LastRun(now_ms(), reason))
        work = counts.work(conn)
        return Report(
            ingested=ingested,
            units=tally.units,
            observations=tally.observations,
            summaries=tally.summaries,
            skipped=tally.skipped,
            pending=work.pending,
            parked=work.parked,
            calls=tally.calls,
            input_tokens=tally.input_tokens,
            output_tokens=tally.output_tokens,
            cost_usd=round(tally.cost_usd, 6),
            provider=settings.provider,
            reason=reason,
            warnings=warnings,
        )
    finally:
        conn.close()


def ingest_only(home: str, reason: str) -> None:
    """What a run can do that knows no provider: take in what was captured, and say why
    nothing more was done."""
    conn = connection.open_writer(home, now=now_ms())
    try:
        ingest.ingest(home, conn, now=now_ms())
        ingest.sweep(conn, now=now_ms(), close_open=False, session=None)
        _maintain(conn)
        last_run.put(conn, last_run.LastRun(now_ms(), reason))
    finally:
        conn.close()


def _unusable(tally: observe.Tally) -> str:
    """Why work was left although the provider answered, "" when it was not."""
    if not tally.unusable:
        return ""
    count = len(tally.unusable)
    replies = "1 reply" if count == 1 else f"{count} replies"
    return f"{replies} could not be used ({tally.unusable[-1]}); the work stays pending"


def _run(
    conn: apsw.Connection,
    settings: Settings,
    provider: providers.Provider,
    *,
    progress: Callable[[observe.Tally, int], None],
) -> observe.Run:
    return observe.Run(
        conn=conn,
        provider=provider,
        provider_name=settings.provider,
        model=settings.model,
        fingerprint=fingerprint(settings),
        language=settings.language,
        clock=now_ms,
        progress=progress,
    )


def _rounds(
    home: str, run: observe.Run, options: Options
) -> tuple[int, tuple[str, ...], observe.Tally]:
    """Ingest and observe until neither finds anything new: what arrived while the provider
    was thinking is taken along, so a run leaves no tail."""
    tally = observe.Tally(reason=_pause_reason(run))
    limits = observe.Limits(max_calls=options.max_calls, session=options.session)
    tried: set[int] = set()
    ingested = 0
    warnings: tuple[str, ...] = ()
    for _ in range(MAX_ROUNDS):
        taken = ingest.ingest(home, run.conn, now=run.clock())
        ingested += taken.events
        warnings += (taken.trouble,) if taken.trouble else ()
        closed = ingest.sweep(
            run.conn,
            now=run.clock(),
            close_open=options.close_open,
            session=options.session or None,
        )
        before = tally
        tally = observe.observe(run, tally, limits=limits, tried=tried)
        if not taken.events and not closed and tally == before:
            break
    return ingested, warnings, tally


def _pause_reason(run: observe.Run) -> str:
    current = pause.get(run.conn)
    if observe.paused(current, fingerprint=run.fingerprint, now=run.clock()):
        assert current is not None
        return f"paused: {current.reason}"
    return ""


def _maintain(conn: apsw.Connection) -> None:
    now = now_ms()
    forgotten = forget.due(conn, now=now)
    # A reader may keep the log from being cut; the next run does the rest.
    with contextlib.suppress(BusyError):
        if forgotten.total:
            erase.purge(conn, forgotten, now=now)
        erase.finish(conn)
    maintain.expire_seen(conn, now=now)
    maintain.merge_index(conn, budget_ms=MERGE_BUDGET_MS)
    maintain.return_space(conn)
    maintain.truncate_wal(conn)


def fingerprint(settings: Settings) -> str:
    """What a pause is bound to: a changed key, model or endpoint is a new start. One way, so
    that no part of the key can be read back from the store."""
    parts = (settings.provider, settings.model, settings.base_url, settings.api_key)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def end_on_signals() -> None:
    """A run told to end gives back what it holds: SIGTERM and SIGHUP become SystemExit with
    the shell's code (143, 129)."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, end)


# --- the background run ----------------------------------------------------------------


def main_background(home: str, lock_fd: int, *, env: Mapping[str, str] | None = None) -> None:
    """What a hook starts: holds the lock it was given, drains, and looks once more after
    letting go, because an event may have come between the last look and the release."""
    os.nice(10)
    end_on_signals()
    fd: int | None = lock_fd
    for _ in range(MAX_ROUNDS):
        if fd is None:
            return
        try:
            settings = _background_settings(home, env or {})
            if settings is None:
                return
            report = _locked(home, settings, Options(), progress=lambda _tally, _unit: None)
            for warning in report.warnings:
                _log(home, CmemError(warning))
        except Exception as error:  # noqa: BLE001 - nobody reads a background traceback
            _log(home, error)
            return
        finally:
            lock.release(fd)
        pending, spilled, _dropped = spool.counts(home)
        fd = lock.acquire(paths.lock_file(home)) if pending or spilled else None


def _background_settings(home: str, env: Mapping[str, str]) -> Settings | None:
    """The settings; None, with what was captured taken in, when they cannot be read."""
    from cmem.settings import load

    try:
        return load(home, env=env, flags={}, trusted_env=False)
    except ConfigError as error:
        ingest_only(home, str(error))
        _log(home, error)
        return None


def _log(home: str, error: Exception) -> None:
    """One line in compress.log, never any text of an event."""
    text = str(error) if isinstance(error, CmemError) else type(error).__name__
    line = f"{now_ms()} compress: {text}\n"
    path = os.path.join(home, "compress.log")
    try:
        if os.path.exists(path) and os.path.getsize(path) > 256 * 1024:
            os.replace(path, path + ".1")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        fd = os.open(path, flags, 0o600)
        os.write(fd, line.encode("utf-8", "replace"))
        os.close(fd)
    except OSError:
        return
