"""A real client in a world of its own: one person's machine, and a scripted model.

A world is a folder with a home, a configuration folder and a small repository; the model is one
of ``tests/fake_*.py`` on loopback, and whatever else the client would like to reach meets a
proxy that is not there.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from e2e_client import FOLDER, ROOT, E2eError, Package

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

SESSION_S = 90
WAIT_S = 60
NOWHERE = "http://127.0.0.1:9"

CODE = {
    "README.md": "# calculator\n",
    ".gitignore": "__pycache__/\n",
    "calc.py": "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return b - a\n",
    "test_calc.py": """\
import unittest

import calc


class CalcTest(unittest.TestCase):
    def test_subtract(self):
        self.assertEqual(calc.subtract(5, 3), 2)


if __name__ == "__main__":
    unittest.main()
""",
}


class Client(NamedTuple):
    """How one host's client is run without a person, and without its own model.

    ``model``: the fake in ``tests/`` that speaks its model's language. ``asks``: whether a call
    to it belongs to the conversation. ``words`` and ``variables`` get the fake's address.
    ``rules``: what the fake answers to requests that no script knows of.
    """

    host: str
    title: str
    package: Package
    model: str
    asks: Callable[[Mapping[str, Any]], bool]
    words: Callable[[str, str], Sequence[str]]
    variables: Callable[[World, str], Mapping[str, str]]
    rules: Sequence[Mapping[str, Any]] = ()


class World(NamedTuple):
    """One person's machine: ``home`` is the data home that cmem takes by itself in it.
    ``program``: the words that start the client."""

    client: Client
    program: tuple[str, ...]
    root: Path
    user: Path
    config: Path
    project: Path
    home: Path


class Session(NamedTuple):
    """What one client process did. ``requests``: the bodies the model got, in order."""

    code: int
    events: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    stderr: str

    def told(self) -> str:
        """All text that the first request carried."""
        return "\n".join(texts(self.requests[0])) if self.requests else ""

    def tail(self) -> object:
        """What helps when something is not as it should be."""
        return self.code, self.stderr[-500:], self.events[-2:], len(self.requests)


@contextlib.contextmanager
def new_world(client: Client, program: tuple[str, ...], *, keep: bool) -> Iterator[World]:
    """A fresh world; afterwards it is gone, unless ``keep``."""
    FOLDER.mkdir(exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix="world-", dir=FOLDER))
    user = root / "user"
    home = user / ".local" / "share" / "cmem"
    if sys.platform == "darwin":
        home = user / "Library" / "Application Support" / "cmem"
    world = World(client, program, root, user, root / "config", root / "calculator", home)
    try:
        for folder in (user, world.config, world.project):
            folder.mkdir()
        for name, text in CODE.items():
            (world.project / name).write_text(text, encoding="utf-8")
        _make_repository(world)
        yield world
        # A run in the background would write into a folder that is being removed.
        run_cmem(world, "compress", "--wait", str(WAIT_S))
    finally:
        if keep:
            print(f"kept: {root.relative_to(ROOT)}")
        else:
            shutil.rmtree(root, ignore_errors=True)


def _make_repository(world: World) -> None:
    author = ("-c", "user.name=Dev", "-c", "user.email=dev@example.com")
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "."),
        (*author, "commit", "-q", "-m", "Start the calculator"),
    ):
        subprocess.run(["git", *words], cwd=world.project, env=environment(world), check=True)


def environment(world: World, url: str = NOWHERE, **more: str) -> dict[str, str]:
    """All that a process in the world sees: nothing of ours leaks in, nothing leads out."""
    return {
        "PATH": os.pathsep.join((str(ROOT / ".venv/bin"), os.environ.get("PATH", os.defpath))),
        "HOME": str(world.user),
        "SHELL": "/bin/sh",
        "LANG": "C.UTF-8",
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),  # noqa: S108 - the system's own default
        "HTTP_PROXY": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "NO_PROXY": "127.0.0.1",
        **world.client.variables(world, url),
        **more,
    }


@contextlib.contextmanager
def started(
    world: World, prompt: str, *, script: Sequence[Any], args: Sequence[str] = (), **more: str
) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[], Session]]]:
    """The client, given PROMPT, against a model that plays the script: the process, and what it
    did once it has ended. Both processes are gone afterwards. ``more``: further variables."""
    folder = Path(tempfile.mkdtemp(prefix="session-", dir=world.root))
    played = {"rules": world.client.rules, "replies": script}
    (folder / "script.json").write_text(json.dumps(played), encoding="utf-8")
    with scripted_model(world, folder) as url:
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            process = subprocess.Popen(
                [*world.program, *world.client.words(url, prompt), *args],
                cwd=world.project,
                env=environment(world, url, **more),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        try:
            yield process, lambda: _ended(world.client, process, folder)
        finally:
            if process.poll() is None:
                kill(process)
                process.wait(10)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL for the client, and for the process of its own that it may run in."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def run_session(
    world: World, prompt: str, *, script: Sequence[Any], args: Sequence[str] = (), **more: str
) -> Session:
    """One whole session."""
    with started(world, prompt, script=script, args=args, **more) as (_process, ended):
        return ended()


def _ended(client: Client, process: subprocess.Popen[bytes], folder: Path) -> Session:
    try:
        code = process.wait(SESSION_S)
    except subprocess.TimeoutExpired as error:
        raise E2eError(f"the client did not end within {SESSION_S} s") from error
    return Session(
        code,
        lines(folder / "stdout"),
        [call["body"] for call in lines(folder / "calls.jsonl") if client.asks(call)],
        (folder / "stderr").read_text(encoding="utf-8", errors="replace"),
    )


@contextlib.contextmanager
def scripted_model(world: World, folder: Path) -> Iterator[str]:
    """The address of a scripted model."""
    words = [sys.executable, str(ROOT / "tests" / world.client.model)]
    words += ["--script", str(folder / "script.json"), "--record", str(folder / "calls.jsonl")]
    words += ["--port-file", str(folder / "port"), "--var", f"cwd={world.project}"]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        port = wait_for(lambda: _read(folder / "port"), "the scripted model to listen")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def run_cmem(world: World, *args: str) -> str:
    """What ``cmem ARGS`` prints in the project; E2eError when it fails."""
    return _run(world, str(ROOT / ".venv/bin/cmem"), *args)


def run_client(world: World, *args: str) -> str:
    """What the client prints for ARGS in the project; E2eError when it fails."""
    return _run(world, *world.program, *args)


def _run(world: World, *words: str) -> str:
    done = subprocess.run(
        words,
        cwd=world.project,
        env=environment(world),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=2 * WAIT_S,
        check=False,
    )
    if done.returncode:
        line = " ".join((os.path.basename(words[0]), *words[1:]))
        raise E2eError(f"{line}: exit {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def wait_for(look: Callable[[], Any], what: str) -> Any:
    """The first true value that ``look`` gives; E2eError after a minute."""
    deadline = time.monotonic() + WAIT_S
    while not (found := look()):
        if time.monotonic() > deadline:
            raise E2eError(f"waited {WAIT_S} s for {what}")
        time.sleep(0.2)
    return found


def processes(world: World) -> list[str]:
    """Command lines that name this world; always none where there is no /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if str(world.root) in line:
            found.append(line)
    return found


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def lines(path: Path) -> list[dict[str, Any]]:
    """The complete JSON lines of a file that a killed process may have left torn."""
    found = [line for line in _read(path).split("\n")[:-1] if line.startswith("{")]
    return [json.loads(line) for line in found]


def texts(value: Any) -> Iterator[str]:
    """Every text in a document, in order; not the names of its fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts(one)
