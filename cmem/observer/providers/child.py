"""A program that is asked: the request on its stdin, the reply from its stdout, and an end.

It gets no shell, no terminal, a folder of its own, and of the environment only what is listed
here; it runs in a process group of its own, which is gone when ``run`` returns or raises; at a time-out
so is all that it has started.
``CMEM_OBSERVER`` tells every hook of ours below it to do nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, NamedTuple

from cmem import intake, repo, settings
from cmem.observer import waiting
from cmem.observer.providers.settings import ProviderSettings

MAX_OUTPUT = 4 * 1024 * 1024
TAIL = 8_192
LAST_WORDS_S = 2.0

KEPT = frozenset(("PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME"))
# A person's way to the net, which a run that a hook started must not take from a repository.
NETWORK = frozenset(
    ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    + ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE")
)
SHARED = "/tmp"  # noqa: S108 - the folder in it gets a name of its own and is closed to others
NEAR = "localhost,127.0.0.1,::1"


class Ended(NamedTuple):
    """How the program ended, all it printed, and the end of what it complained of."""

    code: int
    out: str
    complaint: str


class LateError(Exception):
    """The program did not end in time, and was ended."""


class LoudError(Exception):
    """The program printed more than any reply has, and was ended."""


def environment(env: Mapping[str, str], chosen: ProviderSettings) -> dict[str, str]:
    """What the program may know of ``env``, and what the settings say of the net."""
    trusted = settings.trusts_environment(env)
    kept = {
        name: value
        for name, value in env.items()
        if name in KEPT
        or name.startswith("LC_")
        or (trusted and (name.upper() in NETWORK or name.startswith("XDG_")))
    }
    if chosen.proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
            kept.pop(name.lower(), None)
        kept |= {"HTTP_PROXY": chosen.proxy, "HTTPS_PROXY": chosen.proxy, "NO_PROXY": NEAR}
    if chosen.ca_file:
        path = os.path.expanduser(chosen.ca_file)
        kept |= {"NODE_EXTRA_CA_CERTS": path, "SSL_CERT_FILE": path, "REQUESTS_CA_BUNDLE": path}
    return kept | {"CMEM_OBSERVER": "1"}


def run(argv: Sequence[str], request: str, *, env: Mapping[str, str], timeout_s: float) -> Ended:
    """Start the program, give it the request, wait for its end. Raises OSError where it cannot
    be started, LateError or LoudError where it had to be ended."""
    with (
        tempfile.TemporaryDirectory(
            prefix=intake.OWN_FOLDER, dir=_place(), ignore_cleanup_errors=True
        ) as cwd,
        waiting.outside(),  # a program that is started may be done at once
        _started(argv, env=env, cwd=cwd) as process,
    ):
        return _talk(process, request.encode("utf-8", "replace"), timeout_s=timeout_s)


def _place() -> str | None:
    """Where the folder is made; None: where temporary folders belong. A repository may have them
    in itself, and an agent there would obey its files."""
    inside = repo.read_repo(os.path.realpath(tempfile.gettempdir()))[0]
    return SHARED if inside and os.access(SHARED, os.W_OK) else None


@contextlib.contextmanager
def _started(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str
) -> Iterator[subprocess.Popen[bytes]]:
    """The program, running; afterwards nothing of its group is left."""
    process = subprocess.Popen(
        list(argv),
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    try:
        yield process
    except (LateError, LoudError):
        _end_descendants(process.pid)
        raise
    finally:
        _end_group(process)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Its own end does not end what it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()


def _end_descendants(pid: int) -> None:
    """What a program that had to be ended has started goes with it, also in sessions of its own.
    Only where the system lists processes; what let go of its parents is not known as theirs."""
    for one in _descendants(pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(one, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with (
                contextlib.suppress(OSError, ValueError, IndexError),
                open(f"/proc/{name}/stat") as file,
            ):
                # The name of the program stands in brackets and can hold anything.
                parents.setdefault(int(file.read().rpartition(")")[2].split()[1]), []).append(
                    int(name)
                )
    found = list(parents.get(pid, ()))
    for one in found:  # grows while it is walked through
        found += parents.get(one, ())
    return found


class _Reader(threading.Thread):
    """Takes what comes out of a pipe: all of it up to a limit, or no more than its end."""

    def __init__(self, pipe: IO[bytes], *, tail: bool) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._tail = tail
        self.taken = bytearray()
        self.loud = threading.Event()

    def run(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._pipe.fileno(), 65_536):
                self.taken += chunk
                if self._tail:
                    del self.taken[:-TAIL]
                elif len(self.taken) > MAX_OUTPUT:
                    self.loud.set()
                    return


def _talk(process: subprocess.Popen[bytes], request: bytes, *, timeout_s: float) -> Ended:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    out = _Reader(process.stdout, tail=False)
    err = _Reader(process.stderr, tail=True)
    writer = threading.Thread(target=_give, args=(process.stdin, request), daemon=True)
    for thread in (out, err, writer):
        thread.start()
    code = _wait(process, out, timeout_s=timeout_s)
    # What it left running may hold the pipes; what it said itself is there by now.
    out.join(LAST_WORDS_S)
    if out.is_alive():
        _end_group(process)
        out.join(LAST_WORDS_S)
    err.join(0.2)
    if out.loud.is_set():
        raise LoudError
    return Ended(code, bytes(out.taken).decode("utf-8", "replace"), _text(err))


def _wait(process: subprocess.Popen[bytes], out: _Reader, *, timeout_s: float) -> int:
    """The exit code; ends the program at its time, or as soon as it says too much."""
    deadline = time.monotonic() + timeout_s
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(0.1)
        if out.loud.is_set():
            raise LoudError
        if time.monotonic() >= deadline:
            raise LateError


def _give(pipe: IO[bytes], request: bytes) -> None:
    """A program need not read all it is given."""
    rest = memoryview(request)
    with contextlib.suppress(OSError, ValueError):
        while rest:
            rest = rest[os.write(pipe.fileno(), rest) :]
    with contextlib.suppress(OSError):
        pipe.close()


def _text(reader: _Reader) -> str:
    return bytes(reader.taken).decode("utf-8", "replace")
