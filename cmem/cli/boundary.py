"""The one place that turns what went wrong into a line and an exit code.

Expected failures end in one line that says what to do; a bug leaves a report fit to paste into
an issue, which names files, lines and the kind of error but no text of anybody's.
"""

from __future__ import annotations

import os
import stat
import sys
import time

from cmem import data_home, paths, settings
from cmem.context.health import DAMAGED
from cmem.errors import BusyError, CmemError, ConfigError
from cmem.privacy import environment
from cmem.privacy.sanitise import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any

    from cmem.cli.spec import Command

BUG = 3
INTERRUPTED = 130
# What SQLite says when the file is at fault and not the program, by the driver's own names.
UNUSABLE = ("CantOpenError", "FullError", "IOError", "PermissionsError", "ReadOnlyError")


def guard(command: Command, values: Mapping[str, Any]) -> int:
    """Run the command and return its exit code, whatever happens in it."""
    environment.use(settings.environment())
    try:
        code = _function(command.target)(values)
        sys.stdout.flush()
    except BrokenPipeError:
        let_go_of(1)
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - this is the boundary
        code = end(command.name, error)
        _drop_unwritable()
    return code


def complain(text: str) -> None:
    """One line to stderr; the exit code tells where nobody can read it."""
    line = clean(text, one_line=True)
    try:
        sys.stderr.write(f"cmem: {line.encode('utf-8', 'replace').decode()}\n")
        sys.stderr.flush()
    except OSError:
        let_go_of(2)


def _module(name: str) -> object:
    __import__(name)
    return sys.modules[name]


def _function(target: str) -> Callable[[Mapping[str, Any]], int]:
    module, _, name = target.partition(":")
    found: Callable[[Mapping[str, Any]], int] = getattr(_module(module), name)
    return found


def let_go_of(fd: int) -> None:
    """Nobody takes what is written there: let the interpreter's last flush go nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, fd)
    os.close(null)


def _drop_unwritable() -> None:
    """What a full disk did not take would be tried, and told, once more at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        let_go_of(1)


def end(name: str, error: Exception) -> int:
    """Tell what went wrong in the command; its exit code."""
    expected = _expected(name, error)
    if expected is not None:
        complain(str(expected))
        return expected.exit_code
    path = _report(name, error)
    where = f"; a report without your data is in {path}" if path else ""
    complain(f"{name} failed by a bug ({type(error).__name__}){where}")
    return BUG


def _expected(name: str, error: Exception) -> CmemError | None:
    """The error as one that was to be expected; None for a bug."""
    unfit = _unfit_home(error)
    if unfit:
        return ConfigError(unfit)
    if isinstance(error, CmemError):
        return error
    names = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "apsw"]
    if "BusyError" in names or "LockedError" in names:
        return BusyError("the memory is in use by another process; try again")
    if any(name in names for name in DAMAGED):
        return CmemError(_damage(name, _file_at_fault(error)))
    if any(name in names for name in UNUSABLE):
        reason = "the disk is full; free some space" if _is_disk_full() else str(error)
        return CmemError(f"could not use {_file_at_fault(error)}: {reason}")
    if isinstance(error, OSError):
        reason = (error.strerror or type(error).__name__).lower()
        return CmemError(f"{error.filename}: {reason}" if error.filename else reason)
    return None


def _unfit_home(error: Exception) -> str:
    """What to do about the data home, where that is at fault and the error does not say; ""
    where it is not. The place itself is asked: a closed door has many error numbers."""
    cause = error if isinstance(error, OSError) else error.__cause__
    if not isinstance(cause, OSError) or (isinstance(error, CmemError) and ";" in str(error)):
        return ""
    home = data_home.find(settings.environment())
    if cause.filename != home and not str(cause.filename).startswith(home + "/"):
        return ""
    try:
        found = os.stat(home)
    except OSError:
        return ""
    elsewhere = "set CMEM_HOME to a place of your own"
    if not stat.S_ISDIR(found.st_mode):
        return f"the data home {home} is not a folder; move that file away or {elsewhere}"
    if found.st_uid != os.geteuid():
        return f"the data home {home} belongs to somebody else; {elsewhere}"
    if found.st_mode & 0o022:
        from shlex import quote

        return f"others can write to the data home; run `chmod 700 {quote(home)}`"
    return ""


def _is_disk_full() -> bool:
    return paths.is_full(data_home.find(settings.environment()))


def _file_at_fault(error: Exception) -> str:
    """The database the error came from: the innermost module of ours on the way knows."""
    found = "memory.db"
    trace = error.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.startswith("cmem."):
            found = "spool.db" if module.startswith("cmem.spool") else "memory.db"
        trace = trace.tb_next
    return found


def _damage(name: str, file: str) -> str:
    if file == "memory.db":
        return "memory.db is damaged; run `cmem doctor --repair`"
    if name == "compress":
        return "spool.db is damaged; move it away, hooks make a new one"
    return "spool.db is damaged; run `cmem compress`, which saves what can be read of it"


def _report(name: str, error: Exception) -> str:
    """Write a report below the data home; its path, "" where that cannot be done."""
    now = time.time_ns() // 1_000_000
    try:
        folder = os.path.join(data_home.find(settings.environment()), "reports")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"{now}-{os.getpid()}.txt")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            file.write("\n".join(_report_lines(name, error)) + "\n")
    except OSError:
        return ""
    return path


def _report_lines(name: str, error: Exception) -> list[str]:
    from cmem import __version__

    version = ".".join(str(part) for part in sys.version_info[:3])
    lines = [f"cmem {__version__}, Python {version}, {sys.platform}", f"command: {name}"]
    cause: BaseException | None = error
    while cause is not None:
        lines.append(f"{type(cause).__module__}.{type(cause).__name__}")
        lines += _trace_lines(cause.__traceback__)
        cause = cause.__cause__ or cause.__context__
    return lines


def _trace_lines(trace: TracebackType | None) -> list[str]:
    """File, line and function of each frame: paths from the package on, no values."""
    lines = []
    while trace is not None:
        code = trace.tb_frame.f_code
        place = "/".join(code.co_filename.split("/")[-3:])
        lines.append(f"  {place}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return lines
