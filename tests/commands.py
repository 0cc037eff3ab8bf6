"""Commands by the thousand: a process that has imported cmem forks one for each command.

Each child has arguments, an environment, a folder and descriptors 0 to 2 of its own and runs
``cmem._entry.main`` as ``python -m cmem`` does, without the third of a second that the imports
take. The server runs nothing and opens no database before it forks.

A request is one message on a socket: five descriptors, of which the fourth is a file with the
rest as JSON and the fifth takes the answer, the child's process id and its exit code.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent
# What the interpreter itself looks at when it starts: no fork can stand for another value.
AT_START = ("PYTHON", "LC_", "LANG")


def run(
    args: Sequence[str], *, cwd: str, env: Mapping[str, str], stdin: bytes, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    """Run ``cmem ARGS`` in a process of its own, output captured (so: into a pipe)."""
    if sys.platform == "linux":
        server = _Server.here()
        if _at_start(env) == server.start:
            return server.run(args, cwd=cwd, env=env, stdin=stdin, timeout=timeout)
    return subprocess.run(
        [sys.executable, "-m", "cmem", *args],
        cwd=cwd,
        env=env,
        input=stdin,
        capture_output=True,
        timeout=timeout,
        check=False,
    )


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that the interpreter looks at, but for the path to cmem."""
    return {k: v for k, v in env.items() if k.startswith(AT_START) and k != "PYTHONPATH"}


class _Server:
    _one: _Server | None = None
    _lock = threading.Lock()

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CMEM_"))}
        self.start = _at_start(kept)
        subprocess.Popen(
            [sys.executable, __file__, str(other.fileno())],
            pass_fds=(other.fileno(),),
            env=kept | {"PYTHONPATH": str(ROOT)},
            cwd=ROOT,
        )
        other.close()

    @classmethod
    def here(cls) -> _Server:
        """The server of this process; it ends when this process does."""
        with cls._lock:
            cls._one = cls._one or cls()
            return cls._one

    def run(
        self,
        args: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes,
        timeout: float,
    ) -> subprocess.CompletedProcess[bytes]:
        told = {"args": args, "cwd": cwd, "env": dict(env), "umask": _umask()}
        outputs = [_Output(), _Output()]
        answer, answering = os.pipe()
        with _file(stdin) as given, _file(json.dumps(told).encode()) as request:
            ends = [one.end for one in outputs]
            fds = [given.fileno(), *ends, request.fileno(), answering]
            socket.send_fds(self._socket, [b"r"], fds)
        for end in (*ends, answering):
            os.close(end)
        with open(answer, "rb", buffering=0) as lines:
            child = int(_line(lines, 60) or b"0")
            code = _line(lines, timeout)
            if not code:
                os.kill(child, signal.SIGKILL)
                raise subprocess.TimeoutExpired(["cmem", *args], timeout)
        stdout, stderr = (one.whole() for one in outputs)
        return subprocess.CompletedProcess(["cmem", *args], int(code), stdout, stderr)


class _Output:
    """A pipe that is read as it fills."""

    def __init__(self) -> None:
        self._fd, self.end = os.pipe()
        self._parts: list[bytes] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with open(self._fd, "rb", buffering=0) as pipe:
            self._parts.extend(iter(lambda: pipe.read(65536), b""))

    def whole(self) -> bytes:
        self._thread.join()
        return b"".join(self._parts)


def _file(data: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115
    file.write(data)
    file.seek(0)
    return file


def _line(pipe: Any, timeout: float) -> bytes:
    ready, _, _ = select.select([pipe], [], [], timeout)
    return pipe.readline() if ready else b""


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def serve(requests: socket.socket) -> None:
    """Fork for each request, and tell how each child ended, until the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: dict[int, tuple[int, int]] = {}  # descriptor of the process → (its id, the answer's)
    while True:
        ready, _, _ = select.select([requests, *children], [], [])
        for one in ready:
            if one is requests:
                data, fds, _, _ = socket.recv_fds(requests, 16, 5)
                if not data:
                    return
                child = _start(fds)
                children[os.pidfd_open(child)] = child, fds[4]
                os.write(fds[4], b"%d\n" % child)
            else:
                child, answer = children.pop(one)
                _, status = os.waitpid(child, 0)
                os.write(answer, b"%d\n" % os.waitstatus_to_exitcode(status))
                os.close(answer)
                os.close(one)


def _start(fds: Sequence[int]) -> int:
    child = os.fork()
    if child:
        for fd in fds[:4]:
            os.close(fd)
        return child
    with open(fds[3], "rb", closefd=False) as file:
        told = json.load(file)
    for fd in range(3):
        os.dup2(fds[fd], fd)
    os.closerange(3, 512)
    code = 1
    try:
        code = _become(told)
    except SystemExit as end:
        code = _code(end.code)
    except BaseException:  # noqa: BLE001 - shown as the interpreter shows it
        traceback.print_exc()
    finally:
        _end(code)
    return 0


def _code(told: object) -> int:
    """The exit code that the interpreter makes of what ``sys.exit`` was given."""
    if told is None or isinstance(told, int):
        return told or 0
    print(told, file=sys.stderr)
    return 1


def _end(code: int) -> None:
    """End as the interpreter does, but do not take apart what it would only free."""
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        code = code or 120
    sys.stderr.flush()
    os._exit(code & 0xFF)


def _become(told: dict[str, Any]) -> int:
    """Be the process that ``python -m cmem`` would be."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.umask(told["umask"])
    os.chdir(told["cwd"])
    os.environ.clear()
    os.environ.update(told["env"])
    time.tzset()
    sys.path[0] = told["cwd"]
    sys.argv = [str(ROOT / "cmem" / "__main__.py"), *told["args"]]
    sys.orig_argv[1:] = ["-m", "cmem", *told["args"]]
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        stream = open(fd, "w" if fd else "r", encoding="utf-8")  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    return _entry.main()


if __name__ == "__main__":
    import gc
    import importlib
    import pkgutil

    import anthropic

    import cmem
    from cmem import _entry, driver

    driver.load()
    for module in pkgutil.walk_packages(cmem.__path__, "cmem."):
        if module.name != "cmem.__main__":
            importlib.import_module(module.name)
    del anthropic
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
