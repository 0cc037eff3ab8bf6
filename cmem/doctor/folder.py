"""The files of the folder's project that try to say how memory is made. They cannot: a repository is
not its user. Only names of cmem's own table are told, never what stands behind them.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator

from cmem import repo, setting_table
from cmem.doctor.finding import OK, WARN, Finding

DOTENV, OWN = ".env", ".cmem.toml"
MAX_FILE = 256 * 1024
# Of other programs; an endpoint among them may be meant to lead a session elsewhere.
THEIRS = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
    *("ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_MODEL"),
)
SUSPICIOUS = ("ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS")
LINE = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=", re.M)
KEY = re.compile(r"^[ \t]*[\"']?([A-Za-z][\w-]*)[\"']?[ \t]*=", re.M)


def check(cwd: str) -> list[Finding]:
    """What the files from the folder up to the root of its repository try to set."""
    return [found for path in _files(cwd) for found in judge(path, _text(path))]


def judge(path: str, text: str) -> Iterator[Finding]:
    """One line for a file that names what it cannot set."""
    if os.path.basename(path) == OWN:
        names = _own(text)
        suspicious = bool(names)
    else:
        ours = {one.env for one in setting_table.SETTINGS}
        names = [one for one in _unique(LINE.findall(text)) if one in ours or one in THEIRS]
        suspicious = any(one in ours or one in SUSPICIOUS for one in names)
    if not names:
        return
    detail = f"{path} names {', '.join(names)}: ignored, a project's file sets none of it"
    if suspicious:
        fix = "nothing to do if you trust the project; your own settings are in config.toml"
        yield Finding(WARN, "project file", detail, fix)
    else:
        yield Finding(OK, "project file", detail)


def _own(text: str) -> list[str]:
    """The names of settings anywhere in the file, whether or not it can be read as TOML."""
    known = {one.name for one in setting_table.SETTINGS}
    try:
        names = list(_keys(tomllib.loads(text)))
    except (ValueError, RecursionError):
        names = KEY.findall(text)
    return [
        one for one in _unique(name.replace("-", "_").lower() for name in names) if one in known
    ]


def _keys(table: dict[str, object]) -> Iterator[str]:
    for name, value in table.items():
        yield name
        if isinstance(value, dict):
            yield from _keys(value)


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _files(cwd: str) -> Iterator[str]:
    place = os.path.realpath(cwd)
    root = os.path.realpath(repo.read_repo(place)[0] or place)
    while True:
        yield from (os.path.join(place, name) for name in (DOTENV, OWN))
        if place == root or not place.startswith(root.rstrip("/") + "/"):
            return
        place = os.path.dirname(place)


def _text(path: str) -> str:
    """The file's text, "" where there is none that can be read."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(MAX_FILE)
    except OSError:
        return ""
