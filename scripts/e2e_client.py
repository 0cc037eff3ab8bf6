"""The real Claude Code client in a world of its own: installed, started, ended.

The client comes from npm, once, into ``.e2e/client`` of the clone. A world is a folder with a
home, a configuration folder and a small repository; the model is ``tests/fake_anthropic.py`` on
loopback, and whatever else the client would like to reach meets a proxy that is not there.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".e2e"
PACKAGE = "@anthropic-ai/claude-code"
VERSION = "2.1.332"
INSTALL_S = 240
SESSION_S = 90
WAIT_S = 60

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


class E2eError(Exception):
    """The world could not be made, or something in it did not end in time."""


class MissingError(E2eError):
    """What a run needs is not here and could not be fetched."""


class World(NamedTuple):
    """One person's machine: ``home`` is the data home that cmem takes by itself in it."""

    client: Path
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

    def hook_runs(self, event: str) -> int:
        """How many hooks the client ran for the event."""
        return sum(
            one.get("subtype") == "hook_response" and one.get("hook_event") == event
            for one in self.events
        )

    def told(self) -> str:
        """All text that the first request carried."""
        return "\n".join(_texts(self.requests[0])) if self.requests else ""

    def results(self) -> list[str]:
        """The text of every tool result the model got, in order."""
        blocks = [
            block
            for message in (self.requests[-1]["messages"] if self.requests else ())
            for block in (message["content"] if isinstance(message["content"], list) else ())
        ]
        return [
            "\n".join(_texts(block["content"]))
            for block in blocks
            if block["type"] == "tool_result"
        ]


def find_client() -> Path:
    """The client's binary, installed first if it is not there in this version."""
    if shutil.which("git") is None:
        raise MissingError("git is not here")
    found = _installed() or _install()
    try:
        subprocess.run([found, "--version"], capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingError(f"{PACKAGE} {VERSION} does not run here: {error}") from error
    return found


def _install() -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise MissingError(f"npm is not here, so {PACKAGE} cannot be installed")
    folder = FOLDER / "client"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    cache = FOLDER / "npm-cache"
    words = [npm, "install", "--prefix", str(folder), "--cache", str(cache), "--ignore-scripts"]
    words += ["--no-audit", "--no-fund", "--no-save", "--no-package-lock", "--loglevel=error"]
    words += ["--fetch-retries=1", "--fetch-timeout=60000"]
    print(f"installing {PACKAGE} {VERSION} into {folder.relative_to(ROOT)}", flush=True)
    try:
        done = subprocess.run(
            [*words, f"{PACKAGE}@{VERSION}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_S,
            check=False,
        )
        nothing = f"npm ended with {done.returncode} and brought no program for this platform"
        said = (done.stderr.strip() or nothing).splitlines()[0]
    except subprocess.TimeoutExpired:
        said = f"npm did not end within {INSTALL_S} s"
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    found = _installed()
    if found is None:
        shutil.rmtree(folder, ignore_errors=True)
        raise MissingError(f"{PACKAGE} {VERSION} could not be installed: {said}")
    return found


def _installed() -> Path | None:
    """The platform package's own binary: it needs no Node and no install script."""
    system = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system(), "")
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(
        platform.machine().lower(), ""
    )
    scope = FOLDER / "client" / "node_modules" / PACKAGE.split("/", maxsplit=1)[0]
    for name in (f"claude-code-{system}-{machine}", f"claude-code-{system}-{machine}-musl"):
        binary = scope / name / "claude"
        if os.access(binary, os.X_OK) and _version(scope / name) == VERSION:
            return binary
    return None


def _version(package: Path) -> str:
    try:
        return str(json.loads((package / "package.json").read_text(encoding="utf-8"))["version"])
    except (OSError, ValueError, KeyError):
        return ""


@contextlib.contextmanager
def new_world(client: Path, *, keep: bool) -> Iterator[World]:
    """A fresh world; afterwards it is gone, unless ``keep``."""
    FOLDER.mkdir(exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix="world-", dir=FOLDER))
    user = root / "user"
    home = user / ".local" / "share" / "cmem"
    if sys.platform == "darwin":
        home = user / "Library" / "Application Support" / "cmem"
    world = World(client, root, user, root / "config", root / "calculator", home)
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


def environment(world: World, url: str = "", **more: str) -> dict[str, str]:
    """All that a process in the world sees: nothing of ours leaks in, nothing leads out."""
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": os.pathsep.join((str(ROOT / ".venv/bin"), os.environ.get("PATH", os.defpath))),
        "HOME": str(world.user),
        "SHELL": "/bin/sh",
        "LANG": "C.UTF-8",
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),  # noqa: S108 - the system's own default
        "CLAUDE_CONFIG_DIR": str(world.config),
        "ANTHROPIC_API_KEY": "dummy",
        "ANTHROPIC_BASE_URL": url or nowhere,
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
        "NO_PROXY": "127.0.0.1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        **more,
    }


@contextlib.contextmanager
def started(
    world: World, prompt: str, *, script: Sequence[Any], args: Sequence[str] = (), **more: str
) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[], Session]]]:
    """``claude -p PROMPT`` against a model that plays the script: the process, and what it did
    once it has ended. Both processes are gone afterwards. ``more``: further variables."""
    folder = Path(tempfile.mkdtemp(prefix="session-", dir=world.root))
    (folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
    with _model(world, folder) as url:
        words = [str(world.client), "-p", prompt, "--allowedTools", "Bash,Edit,Read,Write"]
        words += ["--output-format", "stream-json", "--verbose", "--include-hook-events", *args]
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            process = subprocess.Popen(
                words,
                cwd=world.project,
                env=environment(world, url, **more),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        try:
            yield process, lambda: _ended(process, folder)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait(10)


def run_session(
    world: World, prompt: str, *, script: Sequence[Any], args: Sequence[str] = (), **more: str
) -> Session:
    """One whole session."""
    with started(world, prompt, script=script, args=args, **more) as (_process, ended):
        return ended()


def _ended(process: subprocess.Popen[bytes], folder: Path) -> Session:
    try:
        code = process.wait(SESSION_S)
    except subprocess.TimeoutExpired as error:
        raise E2eError(f"the client did not end within {SESSION_S} s") from error
    calls = [one for one in _lines(folder / "calls.jsonl") if one["path"].endswith("/v1/messages")]
    return Session(
        code,
        _lines(folder / "stdout"),
        [one["body"] for one in calls],
        (folder / "stderr").read_text(encoding="utf-8", errors="replace"),
    )


@contextlib.contextmanager
def _model(world: World, folder: Path) -> Iterator[str]:
    """The address of a scripted model."""
    words = [sys.executable, str(ROOT / "tests/fake_anthropic.py")]
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
    """What ``claude ARGS`` prints in the project; E2eError when it fails."""
    return _run(world, str(world.client), *args)


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


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _lines(path: Path) -> list[dict[str, Any]]:
    """The complete JSON lines of a file that a killed process may have left torn."""
    found = [line for line in _read(path).split("\n")[:-1] if line.startswith("{")]
    return [json.loads(line) for line in found]


def _texts(value: Any) -> Iterator[str]:
    """Every text in a request: strings themselves, and those of content blocks."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for key in ("system", "messages", "text", "content"):
            if key in value:
                yield from _texts(value[key])
