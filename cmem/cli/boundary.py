"""The one place that turns what went wrong into a line and an exit code.

Expected failures end in one line that says what to do; a bug leaves a report fit to paste into
an issue, which names files, lines and the kind of error but no text of anybody's.
"""

from __future__ import annotations

import os
import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cmem import __version__, paths, settings
from cmem.errors import BusyError, CmemError
from cmem.privacy.sanitise import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from cmem.cli.spec import Command

BUG = 3
INTERRUPTED = 130
# What SQLite says when the file is at fault and not the program, by the driver's own names.
DAMAGED = ("CorruptError", "NotADBError")
UNUSABLE = ("CantOpenError", "FullError", "IOError", "PermissionsError", "ReadOnlyError")


def guard(command: Command, values: Mapping[str, Any]) -> int:
    """Run the command and return its exit code, whatever happens in it."""
    try:
        code = _function(command.target)(values)
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go_of_stdout()
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - this is the boundary
        return _end(command.name, error)
    return code


def complain(text: str) -> None:
    """One line to stderr."""
    line = clean(text, one_line=True)
    sys.stderr.write(f"cmem: {line.encode('utf-8', 'replace').decode()}\n")


def _function(target: str) -> Callable[[Mapping[str, Any]], int]:
    module, _, name = target.partition(":")
    found: Callable[[Mapping[str, Any]], int] = getattr(import_module(module), name)
    return found


def _end(name: str, error: Exception) -> int:
    expected = _expected(error)
    if expected is not None:
        complain(str(expected))
        return expected.exit_code
    path = _report(name, error)
    where = f"; a report without your data is in {path}" if path else ""
    complain(f"{name} failed by a bug ({type(error).__name__}){where}")
    return BUG


def _expected(error: Exception) -> CmemError | None:
    """The error as one that was to be expected; None for a bug."""
    if isinstance(error, CmemError):
        return error
    names = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "apsw"]
    if "BusyError" in names or "LockedError" in names:
        return BusyError("the memory is in use by another process; try again")
    if any(name in names for name in DAMAGED):
        return CmemError("memory.db is damaged; move it away or restore a backup")
    if any(name in names for name in UNUSABLE):
        return CmemError(f"could not use memory.db: {error}")
    if isinstance(error, OSError):
        reason = (error.strerror or type(error).__name__).lower()
        return CmemError(f"{error.filename}: {reason}" if error.filename else reason)
    return None


def _let_go_of_stdout() -> None:
    """The reader has gone: let the interpreter's last flush go nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)


def _report(name: str, error: Exception) -> str:
    """Write a report below the data home; its path, "" where that cannot be done."""
    now = time.time_ns() // 1_000_000
    try:
        folder = os.path.join(paths.data_home(settings.environment()), "reports")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"{now}-{os.getpid()}.txt")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            file.write("\n".join(_report_lines(name, error)) + "\n")
    except OSError:
        return ""
    return path


def _report_lines(name: str, error: Exception) -> list[str]:
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
