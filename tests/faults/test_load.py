"""Fifty hooks at once, again and again, while runs of ``compress`` take in what they store.

Rounds of hooks and of as many bare interpreters take turns, so that the load of the machine is
in both; ``CMEM_LOAD`` sets the rounds and ``CMEM_LOAD_HOOKS`` how many start at once.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from hookrun import argv, kinds, ready
from support import ROOT, clean_env, run_json
from sweeping import assert_sound, tool

from cmem import launcher

ROUNDS = int(os.environ.get("CMEM_LOAD", "2"))
AT_ONCE = int(os.environ.get("CMEM_LOAD_HOOKS", "50"))
# Of the slowest bare interpreters; the slowest of a hundred are one or two, and prove less.
LIMIT = 2.5 if ROUNDS > 2 else 4


class Ends(NamedTuple):
    """Of processes started together: how each ended, and after how many seconds."""

    codes: list[int]
    seconds: list[float]


def together(commands: list[list[str]], payloads: list[bytes], **env: str) -> Ends:
    """Start them all, feed each its payload by a file, and take the time each took."""
    poller = select.poll()
    started: dict[int, tuple[int, float]] = {}
    files = [_file(payload) for payload in payloads]
    for command, stdin in zip(commands, files, strict=True):
        began = time.perf_counter()
        actions = [(os.POSIX_SPAWN_DUP2, stdin, 0)]
        pid = os.posix_spawn(command[0], command, clean_env(**env), file_actions=actions)
        watched = os.pidfd_open(pid)
        poller.register(watched, select.POLLIN)
        started[watched] = pid, began
    ends = Ends([], [])
    while started:
        for watched, _events in poller.poll(60_000):
            pid, began = started.pop(watched)
            ends.seconds.append(time.perf_counter() - began)
            ends.codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            poller.unregister(watched)
            os.close(watched)
    for fd in files:
        os.close(fd)
    return ends


def _file(payload: bytes) -> int:
    fd = os.memfd_create("payload")
    os.write(fd, payload)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class Drains:
    """``compress`` again and again, and not at the low priority that background runs have."""

    def __init__(self) -> None:
        self.runs = 0
        self.failed: list[bytes] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go)
        self._thread.start()

    def _go(self) -> None:
        while not self._over.is_set():
            done = subprocess.run(
                [sys.executable, "-m", "cmem", "compress", "--json"],
                env=clean_env(PYTHONPATH=str(ROOT)),
                cwd=os.environ["HOME"],
                capture_output=True,
            )
            self.runs += 1
            if done.returncode:
                self.failed.append(done.stderr)

    def end(self) -> None:
        self._over.set()
        self._thread.join()


def interpreter(folder: Path) -> str:
    """The one the hooks use, with a bare environment: what else is installed costs it nothing."""
    subprocess.run([launcher.interpreter(), "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


def p99(seconds: list[float]) -> float:
    return sorted(seconds)[min(len(seconds) - 1, len(seconds) * 99 // 100)]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_hooks_at_once_lose_nothing_and_wait_little(home: Path, tmp_path: Path) -> None:
    ready(home)
    bare, hooks = Ends([], []), Ends([], [])
    pass_ = [[interpreter(tmp_path / "venv"), "-c", "pass"]] * AT_ONCE
    drains = Drains()
    try:
        for round_ in range(ROUNDS):
            for kind, commands, names in (
                (bare, pass_, [""] * AT_ONCE),
                (
                    hooks,
                    [argv(home, "PostToolUse")] * AT_ONCE,
                    [f"{round_}-{n}" for n in range(AT_ONCE)],
                ),
            ):
                ends = together(commands, [tool(name) for name in names], CMEM_AUTO_COMPRESS="0")
                kind.codes.extend(ends.codes)
                kind.seconds.extend(ends.seconds)
    finally:
        drains.end()
    assert set(hooks.codes) == {0}
    assert drains.failed == []
    spilled = kinds(home)[1]
    run_json("compress")
    status = run_json("status")
    assert status["spool"]["pending"] == status["spool"]["spilled"] == 0
    sent = ROUNDS * AT_ONCE
    assert status["counts"]["tool_uses"] + status["spool"]["dropped"] == sent
    assert_sound(home)
    ratio = p99(hooks.seconds) / p99(bare.seconds)
    print(
        f"load: {sent} hooks, {AT_ONCE} at once, {drains.runs} runs of compress: "
        f"{status['counts']['tool_uses']} stored, {spilled} still spilled at the end, "
        f"{status['spool']['dropped']} dropped; p99 {p99(hooks.seconds) * 1000:.0f} ms, "
        f"bare {p99(bare.seconds) * 1000:.0f} ms, ratio {ratio:.2f}",
    )
    assert ratio <= LIMIT
