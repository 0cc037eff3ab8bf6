"""Hooks by the thousand: a process that has imported the hook forks one for each request.

    HOST EVENT HOME STDIN STDOUT STDERR     tab-separated, one line on the server's stdin
    CODE                                    its answer

Each child is the hook as the launcher calls it, with real descriptors 0 to 2, and without the
20 ms of an interpreter's start. It opens no database before it forks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PLACES = ((0, os.O_RDONLY), (1, os.O_WRONLY | os.O_TRUNC), (2, os.O_WRONLY | os.O_TRUNC))


class Done(NamedTuple):
    """What the host sees of a hook."""

    returncode: int
    stdout: bytes
    stderr: bytes


class Server:
    """Forks hooks; the files it hands them lie in ``folder``."""

    def __init__(self, folder: Path, **env: str) -> None:
        self._files = [folder / name for name in ("stdin", "stdout", "stderr")]
        for file in self._files:
            file.touch()
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=kept | {"CMEM_AUTO_COMPRESS": "0"} | env,
            cwd=folder,
        )

    def fire(self, home: Path, host: str, event: str, *, raw: bytes) -> Done:
        stdin, stdout, stderr = self._files
        stdin.write_bytes(raw)
        request = "\t".join([host, event, str(home), *map(str, self._files)])
        _pipe(self._process.stdin).write(request.encode() + b"\n")
        _pipe(self._process.stdin).flush()
        code = int(_pipe(self._process.stdout).readline())
        return Done(code, stdout.read_bytes(), stderr.read_bytes())

    def close(self) -> None:
        _pipe(self._process.stdin).close()
        _pipe(self._process.stdout).close()
        self._process.wait(10)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def serve() -> None:
    from cmem import hook, launcher, spool
    from cmem.privacy import scrub

    del launcher, spool, scrub  # only so that no child has to import them
    for line in sys.stdin:
        host, event, home, *files = line.rstrip("\n").split("\t")
        pid = os.fork()
        if not pid:
            for (fd, flags), file in zip(PLACES, files, strict=True):
                os.dup2(os.open(file, flags), fd)
            os.closerange(3, 64)
            hook.main([host, event, home])
        _pid, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    serve()
