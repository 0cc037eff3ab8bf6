"""Clients of hosts, from npm, in the versions that the scripts name.

Each is fetched once, into a folder of its own in ``.e2e`` of the clone. npm runs no script of
theirs: a client is the platform's own binary, or a program that node starts.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".e2e"
INSTALL_S = 240


class E2eError(Exception):
    """The world could not be made, or something in it did not end in time."""


class MissingError(E2eError):
    """What a run needs is not here and could not be fetched."""


class Package(NamedTuple):
    """A client as npm has it. ``programs``: where its program can be below ``node_modules``,
    the best first; ``{}`` stands for the platform, ``*`` for any name."""

    folder: str
    name: str
    version: str
    programs: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def find_client(package: Package) -> tuple[str, ...]:
    """The words that start the client, which is installed first if this version is not there."""
    if shutil.which("git") is None:
        raise MissingError("git is not here")
    found = list(_installed(package)) or _install(package)
    said = ""
    for words in found:
        try:
            done = subprocess.run(
                [*words, "--version"], capture_output=True, text=True, timeout=60, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            said = str(error)
            continue
        if package.version in done.stdout:
            return words
        said = f"it calls itself {done.stdout.strip()}"
    raise MissingError(f"{package} does not run here: {said}")


def _install(package: Package) -> list[tuple[str, ...]]:
    npm = shutil.which("npm")
    if npm is None:
        raise MissingError(f"npm is not here, so {package.name} cannot be installed")
    folder, cache = FOLDER / package.folder, FOLDER / "npm-cache"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = [npm, "install", "--prefix", str(folder), "--cache", str(cache), "--ignore-scripts"]
    words += ["--no-audit", "--no-fund", "--no-save", "--no-package-lock", "--loglevel=error"]
    words += ["--fetch-retries=1", "--fetch-timeout=60000"]
    print(f"installing {package} into {folder.relative_to(ROOT)}", flush=True)
    try:
        done = subprocess.run(
            [*words, f"{package.name}@{package.version}"],
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
    found = list(_installed(package))
    if not found:
        shutil.rmtree(folder, ignore_errors=True)
        raise MissingError(f"{package} could not be installed: {said}")
    return found


def _installed(package: Package) -> Iterator[tuple[str, ...]]:
    """The words for each program that is there; none for another version of the package."""
    modules = FOLDER / package.folder / "node_modules"
    if _version(modules / package.name) != package.version:
        return
    for pattern in package.programs:
        for program in sorted(modules.glob(pattern.format(_platform()))):
            if program.suffix == ".js":
                yield shutil.which("node") or "node", str(program)
            elif os.access(program, os.X_OK):
                yield (str(program),)


def _platform() -> str:
    """As npm packages call it: linux-x64."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
    name = platform.machine().lower()
    return f"{platform.system().lower()}-{machine.get(name, name)}"


def _version(package: Path) -> str:
    try:
        return str(json.loads((package / "package.json").read_text(encoding="utf-8"))["version"])
    except (OSError, ValueError, KeyError):
        return ""
