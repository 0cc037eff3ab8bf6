"""Show cmem at work: install it, replay a recorded session through its hooks, read the memory.

Everything happens below one folder (``.demo`` in the clone, made anew each time) with a home of
its own; the user's settings and memory are not looked at. The hook commands are taken from the
settings file that ``cmem install`` wrote and are run as the host runs them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SESSION = ROOT / "tests/fixtures/hosts/claude-code/session-fix-subtract.jsonl"
RECORDED_PROJECT = "/home/dev/project"
RECORDED_HOME = "/home/dev"
COMMANDS = (
    "cmem compress",
    "cmem context",
    "cmem search subtract --limit 4",
    "cmem timeline",
    "cmem get O1",
)
CODE = {
    "calc.py": ("def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return b - a\n"),
    "test_calc.py": "import unittest\n\nimport calc\n",
}
# The least that makes a folder a repository, so that the demo needs no git.
GIT = {
    "HEAD": "ref: refs/heads/main\n",
    "config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    "refs/heads/main": "bfa080a" + "0" * 33 + "\n",
    "objects/info/.keep": "",
}


class Place(NamedTuple):
    """The demo's own world: data home, user's home and the project worked on."""

    root: Path
    home: Path
    user: Path
    project: Path


class DemoError(Exception):
    """A step did not do what it should."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Show cmem at work on a recorded session.")
    parser.add_argument("--transcript", action="store_true", help="print what the README shows")
    given = parser.parse_args()
    try:
        if given.transcript:
            # Paths count as tokens, so this place has a name of the same length everywhere.
            with tempfile.TemporaryDirectory(prefix="cmem-", dir="/tmp") as folder:
                sys.stdout.write(transcript(make_place(Path(folder) / "demo")))
        else:
            show(make_place(ROOT / ".demo"))
    except DemoError as error:
        sys.stderr.write(f"demo: {error}\n")
        return 1
    return 0


def show(place: Place) -> None:
    """The whole demo on the terminal."""
    print(run_command("cmem install --yes", place), end="", flush=True)
    count = replay(place)
    print(f"\n# replayed a recorded session of three prompts: {count} hook calls\n", flush=True)
    for command in COMMANDS:
        print(run_command(command, place), flush=True)


def transcript(place: Place) -> str:
    """The demo's output with times and ids of this run replaced, so that runs are equal."""
    run_command("cmem install --yes", place)
    replay(place)
    return settle("\n".join(run_command(command, place) for command in COMMANDS), place)


def make_place(root: Path) -> Place:
    """A fresh folder: an empty home and a small project that looks like a repository."""
    shutil.rmtree(root, ignore_errors=True)
    place = Place(root, root / "home", root / "user", root / "calculator")
    (place.user / ".claude").mkdir(parents=True)
    for name, text in {**CODE, **{f".git/{name}": text for name, text in GIT.items()}}.items():
        path = place.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return place


def replay(place: Place) -> int:
    """Run every registered hook of the recording as the host does; how many that were."""
    commands = registered(place)
    count = 0
    for line in SESSION.read_text(encoding="utf-8").split("\n"):
        row: dict[str, Any] = json.loads(line) if line else {}
        for command in commands.get(row.get("event", ""), ()):
            call_hook(command, row, place)
            count += 1
    if not count:
        raise DemoError("no hook is registered")
    return count


def registered(place: Place) -> dict[str, list[str]]:
    """Event → its shell commands, from the settings file that install wrote."""
    path = place.user / ".claude" / "settings.json"
    hooks = json.loads(path.read_text(encoding="utf-8"))["hooks"]
    return {
        event: [hook["command"] for group in groups for hook in group["hooks"]]
        for event, groups in hooks.items()
    }


def call_hook(command: str, row: dict[str, Any], place: Place) -> None:
    """One hook call: the shell, the project as working directory, the payload on stdin."""
    moved = json.loads(_moved(json.dumps(row), place))
    payload = json.dumps(moved["stdin"], ensure_ascii=False) + "\n"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=payload.encode("utf-8", "surrogatepass"),
        cwd=place.project,
        env={**moved["env"], **environment(place)},
        capture_output=True,
        timeout=30,
        check=False,
    )
    if done.returncode or done.stderr:
        raise DemoError(f"{row['event']} hook: exit {done.returncode}: {done.stderr!r}")


def run_command(line: str, place: Place) -> str:
    """``$ line`` and what it printed; DemoError when it fails."""
    words = shlex.split(line)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "cmem", *words[1:]],
        cwd=place.project,
        env={**environment(place), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise DemoError(f"{line}: exit {done.returncode}: {done.stderr.strip()}")
    return f"$ {line}\n{done.stdout}{done.stderr}"


def environment(place: Place) -> dict[str, str]:
    """What the demo's processes see: nothing that leads out of its folder."""
    return {
        "PATH": os.pathsep.join((str(ROOT / ".venv/bin"), os.environ.get("PATH", os.defpath))),
        "HOME": str(place.user),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),  # noqa: S108 - the system's own default
        "CLAUDE_CONFIG_DIR": str(place.user / ".claude"),
        "CMEM_HOME": str(place.home),
        # The background run would finish at some moment of its own; the demo compresses itself.
        "CMEM_AUTO_COMPRESS": "0",
    }


def settle(text: str, place: Place) -> str:
    """The text without what differs from run to run: this folder, dates, times, fence marks."""
    text = text.replace(str(place.root), "~")
    text = re.sub(r"\b\d{4}-\d\d-\d\d\b", "2026-11-29", text)
    text = re.sub(r"\b\d\d:\d\d(:\d\d)?\b", "14:03", text)
    text = re.sub(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b", "Sun", text)
    return re.sub(r"(cmem-memory (?:id=)?)[0-9a-f]{8,}", r"\g<1>5f3a9c07d2e81b46", text)


def _moved(text: str, place: Place) -> str:
    """A recorded JSON text with the demo's folders in place of the recorded ones."""
    text = text.replace(RECORDED_PROJECT, json.dumps(str(place.project))[1:-1])
    return text.replace(RECORDED_HOME + "/", json.dumps(str(place.user) + "/")[1:-1])


if __name__ == "__main__":
    sys.exit(main())
