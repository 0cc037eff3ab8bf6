"""A hook as the host runs it: the registered line under ``sh -c``, through a real launcher."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

from support import clean_env

from cmem import bundle, launcher, spooled
from cmem.model import Entry

BOM = b"\xef\xbb\xbf"


def ready(home: Path) -> Path:
    """The home with a launcher and its byte code in it, as ``launcher.install`` leaves it."""
    home.mkdir(mode=0o700, exist_ok=True)
    Path(home, "hook.py").write_text(launcher._current(), encoding="utf-8")
    Path(bundle.path(str(home))).write_bytes(_bundle())
    return home


@functools.cache
def _bundle() -> bytes:
    return bundle.build()


def line(home: Path, event: str, *, host: str = "claude-code") -> str:
    """The registered command."""
    return launcher.command(launcher.interpreter(), str(home), host=host, event=event)


def argv(home: Path, event: str, *, host: str = "claude-code") -> list[str]:
    """The same in exec form."""
    script = str(home / "hook.py")
    return [launcher.interpreter(), "-I", "-S", script, host, event, str(home)]


def fire(home: Path, event: str, payload: bytes, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run the registered line with the payload on stdin; no drain is started."""
    return subprocess.run(
        ["/bin/sh", "-c", line(home, event)],
        input=payload,
        capture_output=True,
        timeout=30,
        check=False,
        cwd=os.environ["HOME"],
        env=clean_env(CMEM_AUTO_COMPRESS="0", **env),
    )


def silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    """Whether the host saw nothing at all of it."""
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def entries(home: Path) -> list[Entry]:
    """What lies in the spool, in order."""
    conn = spooled.open_drain(str(home))
    if conn is None:
        return []
    try:
        return spooled.read_batch(conn, after_id=0, limit=10_000, max_bytes=1 << 30)
    finally:
        conn.close()


def spilled(home: Path) -> list[bytes]:
    """The payloads of the spill files, in order."""
    files = sorted((home / "spill").glob("*.event"))
    return [path.read_bytes().partition(b"\n")[2] for path in files]


def everything(home: Path) -> bytes:
    """Every byte of every file below the home."""
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


def kinds(home: Path) -> tuple[int, int, int]:
    """(rows, spill files, dropped)."""
    return spooled.counts(str(home))
