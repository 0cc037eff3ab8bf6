"""One host event: read stdin, scrub, append, exit 0 whatever happens.

Exit 2 would block the user's prompt, anything printed where the host expects nothing would
steer the agent, a hang would hang it. So every way out is ``os._exit(0)``, a timer ends what
does not end, and an event goes to the spool, else to a spill file, else is counted.
"""

import os
import sys
import time

from cmem import driver, intake, off, paths, privacy
from cmem.hosts.wire import HOSTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from cmem.hosts.wire import Wire
    from cmem.malformed import Where

_IDLE_S, _READ_S, _LIMIT_S = 0.5, 0.8, 5.0
# Claude Code gives all hooks of a session's end 1.5 s together, Codex these two 3 s at most.
_LIMITS = {"SessionEnd": 1.4, "Interrupt": 1.4}
_RECALL_S = 0.6  # a prompt waits for it; what comes later is better not told
_PAUSE_S = 30  # between the starts of two drains
_OFF = ("0", "false", "no", "off")


class _LateError(Exception):
    """Stdin did not say anything for too long."""


class _State:
    """What the timer must know when it rings."""

    reading = False
    wanted = False  # by a person: nothing is off for this event
    stored = False
    home = host = event = ""
    payload = b""
    captured_at = 0
    settings: "dict[str, str | int | bool | float] | None" = None  # once they were read


_now = _State()


def _switched_off() -> bool:
    env = os.environ
    return any(env.get(name, "0") not in ("", "0") for name in ("CMEM_DISABLE", "CMEM_OBSERVER"))


def _run(argv: list[str]) -> None:
    host, event = argv[0], argv[1]
    wire = HOSTS.get(host)
    if wire is None or (event not in wire.kinds and event not in wire.recalls):
        return
    _fill_standard_descriptors()
    os.umask(0o077)
    _now.host, _now.event = host, event
    if len(argv) == 3:
        home = argv[2]
    else:
        from cmem import data_home

        home = data_home.find(os.environ)
    if not os.path.isabs(home):
        return
    _now.home = home
    _now.stored = event not in wire.kinds  # then nothing is to be kept, whatever fails
    deadline = time.monotonic() + _LIMITS.get(event, _LIMIT_S)
    raw, size = _read_stdin()
    if not raw.strip():
        return
    _watch(max(0.05, deadline - time.monotonic()), wire.kinds.get(event, "tool"))
    _now.captured_at = time.time_ns() // 1_000_000
    try:
        paths.ensure_home(home)
    except OSError as error:
        _lose(error, size, f"nothing is kept, because {home} cannot be used: run `cmem doctor`")
        return
    driver.load()
    _keep(raw, size=size, wire=wire)


def _fill_standard_descriptors() -> None:
    """Put the null device on closed descriptors 0-2, or the database would become one."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)


# --- stdin ---------------------------------------------------------------------------


def _read_stdin() -> tuple[bytes, int]:
    """(what was read, its true size). Ends with the input, at 500 ms of silence or 800 ms in
    all; what came until then counts, for a host may never close the pipe."""
    if os.isatty(0):
        return b"", 0
    chunks: list[bytes] = []
    size = 0
    end = time.monotonic() + _READ_S
    _now.reading = True
    try:
        try:
            while (left := end - time.monotonic()) > 0:
                _arm(min(_IDLE_S, left))
                chunk = os.read(0, 262_144)
                if not chunk:
                    break
                if size <= intake.MAX_STDIN:
                    chunks.append(chunk)
                size += len(chunk)
        except OSError:
            pass
        _arm(0)  # until here it may ring
        _now.reading = False
    except _LateError:
        _now.reading = False
    # The same bytes in whatever pieces they came: an event is named by them.
    return b"".join(chunks)[: intake.MAX_STDIN + 1], size


def _arm(seconds: float) -> None:
    """Ring after ``seconds``. The C module is loaded with the interpreter, ``signal`` is not."""
    signal = sys.modules.get("_signal")
    if signal is not None and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _ring)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _ring(_number: int, _frame: object) -> None:
    if _now.reading:
        raise _LateError
    _give_up(0)


def _watch(seconds: float, kind: str) -> None:
    """End the process after ``seconds``. SQLite can wait 10 s inside one call, and no signal's
    handler runs meanwhile; a thread does, but costs 1 % of a hook: too much for tool calls."""
    if kind != "tool":
        import _thread

        try:
            _thread.start_new_thread(_give_up, (seconds,))
            return
        except RuntimeError:  # no thread to be had
            pass
    _arm(seconds)


def _give_up(seconds: float) -> None:
    try:
        time.sleep(seconds)
        if not _now.stored:
            _report(TimeoutError())
    finally:
        os._exit(0)


# --- storing -------------------------------------------------------------------------


def _keep(raw: bytes, *, size: int, wire: "Wire") -> None:
    if _now.event in wire.transcripts:
        from cmem import answer

        raw = answer.attach(raw, wire.transcripts[_now.event])
    payload = intake.reduce(raw, wire=wire, event=_now.event, size=size)
    if not payload:  # a byte order mark and nothing behind it
        return
    _now.payload = payload
    try:
        taken = intake.identify(_now.host, _now.event, payload, captured_at=_now.captured_at)
    except ImportError as error:  # apsw is missing or broken; the drain will name the event
        from cmem.malformed import place

        if _is_wanted(place(payload, wire)) and not _is_filtered(payload, wire):
            _spill(error)
        return
    if taken is None or intake.OWN_LINE in payload:
        from cmem import own

        taken = own.kept(_now.home, _now.event, payload, wire=wire, taken=taken)
    if taken is None:
        return
    where = (taken.cwd, taken.repo, taken.session, taken.beside)
    if not _is_wanted(where) or _is_filtered(taken.payload, wire):
        return
    _now.payload = taken.payload
    new = True
    if len(taken.payload) > intake.MAX_EVENT:
        _spill("too-large")
    elif _now.event in wire.kinds:
        new = _append(taken)
    _now.stored = True
    if _now.event in wire.injects:
        _speak(taken, wire)
    if _now.event in wire.kinds:
        _start_drain(always=_now.event in wire.always_drain)
    # The same hook may be registered twice: the one that stored the event speaks.
    if new and _may_recall(wire):
        _watch(_RECALL_S, "other")
        _speak(taken, wire)


def _is_wanted(where: "Where" = ("", ("",) * 4, "", ())) -> bool:
    """Whether no person has said that nothing of this place or session is to be kept."""
    cwd, repo, session, beside = where
    globs = os.environ.get("CMEM_EXCLUDE", "")
    why = off.reason(_now.home, cwd=cwd, repo=repo, session=session, exclude=globs, beside=beside)
    _now.wanted = not why
    if off.is_doubt(why) and not _now.stored:
        _lose("unreadable-setting", len(_now.payload), f"memory is {why}")
    return _now.wanted


def _is_filtered(payload: bytes, wire: "Wire") -> bool:
    """Whether it is a tool call that a person does not want kept; then it is counted."""
    if wire.kinds.get(_now.event) != "tool":
        return False
    config = off.config_text(_now.home)
    named = any(name.startswith("CMEM_SKIP_") for name in os.environ)
    if not named and not off.may_name(config, "skip_"):
        return False
    from cmem import filters

    # Where it is, nothing is left to be done for the event.
    found = filters.load(config, os.environ)
    _now.stored = filters.leaves_out(found, _now.home, host=_now.host, payload=payload)
    return _now.stored


def _append(taken: intake.Taken) -> bool:
    """Whether the event is new, as far as can be told."""
    import apsw

    from cmem import spool

    try:
        return spool.append(
            _now.home,
            eid=taken.eid,
            host=_now.host,
            event=_now.event,
            session=taken.session,
            captured_at=_now.captured_at,
            cwd=taken.cwd,
            repo=taken.repo,
            project_env=_project_env(),
            digest=taken.digest,
            window=taken.window,
            payload=taken.payload,
            oldest=taken.oldest if _now.event in HOSTS[_now.host].injects else None,
        )
    except (apsw.Error, OSError) as error:
        _spill(error)
    return True


def _project_env() -> str:
    name = os.environ.get("CMEM_PROJECT", "")
    return privacy.project_name(name) if name else ""


def _spill(why: object) -> None:
    """The second place; when that fails too the event is counted as dropped."""
    from cmem import hooklog, spill

    if not _now.home:
        return
    # What went wrong before the event's own folder was known: the process's stands for it.
    if not _now.wanted and not _is_wanted():
        return
    if not _now.payload:
        _lose(why, 0)
        return
    try:
        spill.write(
            _now.home,
            host=_now.host,
            event=_now.event,
            captured_at=_now.captured_at,
            payload=_now.payload,
        )
    except OSError as error:
        _lose(error, len(_now.payload))
        return
    _now.stored = True
    hooklog.note(_now.home, _now.event, why, size=len(_now.payload), outcome="spilled")


def _lose(why: object, size: int, said: str = "") -> None:
    """Count the event, and tell the person whose session starts what has stopped."""
    from cmem import hooklog

    hooklog.lose(_now.home, _now.event, why, size=size)
    _now.stored = True
    if said and _now.event in HOSTS[_now.host].injects:
        from cmem.context import tell

        tell.stopped(HOSTS[_now.host], said)


def _report(error: BaseException) -> None:
    """A failure nobody expected: the event is kept if it is scrubbed already, else counted."""
    try:
        if _now.home and not _now.stored:
            _spill(error)
        elif _now.home:
            from cmem import hooklog

            hooklog.note(_now.home, _now.event, error, outcome="stored")
    except BaseException:  # noqa: BLE001 - there is nobody left to tell
        _count()


def _count() -> None:
    """The last resort where no module can be loaded: the package is gone or being replaced."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        wanted = _now.wanted or _is_wanted()
    except Exception:  # noqa: BLE001 - nobody can tell, and a count tells nothing
        wanted = True
    try:
        if wanted and not _now.stored and os.lstat(_now.home).st_uid == os.geteuid():
            os.write(os.open(_now.home + "/dropped", flags, 0o600), b".")
    except Exception:  # noqa: BLE001, S110 - there is nothing else to try
        pass


# --- after storing -------------------------------------------------------------------


def _speak(taken: intake.Taken, wire: "Wire") -> None:
    """Print what belongs to the event, or nothing; that is no reason to fail."""
    try:
        from cmem.context import tell

        tell.speak(
            _now.home,
            event=_now.event,
            taken=taken,
            wire=wire,
            project_env=_project_env(),
            settings=_settings(),
        )
    except Exception as error:  # noqa: BLE001 - a session must go on without a memory too
        _report(error)


def _may_recall(wire: "Wire") -> bool:
    """Whether a person wants such events to be answered."""
    name = wire.recalls.get(_now.event, ("",))[0]
    there = bool(name) and name.encode() in off.config_text(_now.home)
    return there and _settings().get(name) is True


def _settings() -> "dict[str, str | int | bool | float]":
    if _now.settings is None:
        _now.settings = {}
        if os.path.exists(paths.config_file(_now.home)):
            from cmem import config

            _now.settings = config.read(_now.home)
    return _now.settings


def _start_drain(*, always: bool) -> None:
    if not always and _lately():
        return
    stopped = os.environ.get("CMEM_AUTO_COMPRESS", "1").lower() in _OFF
    if stopped or _settings().get("auto_compress", True) is False:
        return
    from cmem import detach

    detach.start_compress(_now.home)


def _lately() -> bool:
    """Whether the last start is less than 30 s away, in either direction of a wrong clock: most
    tool events end here, before anything is loaded."""
    try:
        touched = os.stat(paths.lock_file(_now.home)).st_mtime
    except OSError:
        return False
    return abs(time.time() - touched) < _PAUSE_S


def main(argv: list[str]) -> "NoReturn":  # last: a torn file has none, and the launcher sees it
    """``[HOST, EVENT]`` or ``[HOST, EVENT, HOME]``. Ends the process with 0."""
    try:
        if not _switched_off() and len(argv) in (2, 3):
            _run(argv)
    except BaseException as error:  # noqa: BLE001 - nothing may reach the host
        _report(error)
    finally:
        os._exit(0)
