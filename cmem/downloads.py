"""What a shell command that fetched has put into files, and whether a later call reads them. Pure.

It goes by the texts of the commands alone: output options, redirections, targets of clones,
copies and archives. What a program does beside its words nobody sees.
"""

from __future__ import annotations

import fnmatch
import functools
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cmem.shell import program
from cmem.shell import text as text_of
from cmem.shell.text import Simple

OUTPUTS = ("-o", "-O", "--output", "--output-document", "--out", "--outfile")
FOLDERS = ("-P", "--directory-prefix", "--output-dir", "-d", "-C", "--directory", "-D", "--dir")
COPIES = ("cp", "mv", "ln", "install", "scp", "rsync")
ARCHIVES = (".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tgz", ".tbz2", ".txz", ".tar", ".zip")
UNPACKERS = ("tar", "bsdtar", "unzip", "7z", "7za")
WRITES = ("tee",)
SAVES = ("-O", "--remote-name", "--remote-name-all")
# They tell of a file no more than that it is there.
QUIET = (
    "cd",
    "rm",
    "mkdir",
    "touch",
    "chmod",
    "chown",
    "ls",
    "stat",
    "test",
    "[",
    "echo",
    "printf",
)
QUIET_GIT = ("add", "rm", "mv", "commit", "status", "push", "check-ignore")
LONGEST = 4_096


class Brought(NamedTuple):
    """Absolute paths: of files, and of folders of which everything came from outside."""

    files: frozenset[str]
    folders: frozenset[str]


@functools.lru_cache(maxsize=512)
def brought(command: str, cwd: str) -> Brought:
    """What a command that fetched, or read what was fetched, has written."""
    files: set[str] = set()
    folders: set[str] = set()
    for one, place in _placed(command, cwd):
        written = [file for file in one.files if _is_written(file, command)]
        found, inside = _told(one)
        files |= {_full(file, place) for file in (*written, *found)}
        folders |= {_full(folder, place) for folder in inside}
    # Nothing that a session works in came with one command.
    above = {"", cwd, *(cwd[:at] or "/" for at, sign in enumerate(cwd) if sign == "/")}
    return Brought(frozenset(files - above - {"/dev/null"}), frozenset(folders - above))


def reads(
    paths: Sequence[str], command: str, cwd: str, *, earlier: Iterable[Brought], edits: bool = False
) -> bool:
    """Does a call name a file that was brought? An edit within a folder of others is own work."""
    named = [_full(path, cwd) for path in paths]
    if command:
        named += [
            _full(word, place)
            for one, place in _placed(command, cwd)
            if not _is_quiet(one)
            for word in (*(word.text for word in one.words), *one.files)
        ]
    return any(_is_of(path, one, edits=edits) for one in earlier for path in named)


def _is_of(path: str, one: Brought, *, edits: bool) -> bool:
    if path in one.files:
        return True
    if not edits and any(path == top or path.startswith(top + "/") for top in one.folders):
        return True
    glob = "*" in path or "?" in path or "[" in path
    return glob and any(fnmatch.fnmatchcase(file, path) for file in one.files)


def _is_quiet(one: Simple) -> bool:
    start, wrapped = program.unwrapped(one.words)
    if wrapped or start == len(one.words) or one.files:
        return False
    name = program.named(one.words[start])
    verb = next((word.text for word in one.words[start + 1 :]), "")
    return name in QUIET or (name == "git" and verb in QUIET_GIT)


def _placed(command: str, cwd: str) -> Iterator[tuple[Simple, str]]:
    """The simple commands with the folder that each runs in, as far as ``cd`` says."""
    place = cwd
    for one in text_of.read(command[:LONGEST]).commands:
        words = [word.text for word in one.words]
        if words[:1] == ["cd"] and len(words) > 1:
            place = _full(words[1], place)
        yield one, place


def _is_written(file: str, command: str) -> bool:
    return re.search(rf">\s{{0,9}}['\"]?{re.escape(file)}", command) is not None


def _told(one: Simple) -> tuple[list[str], list[str]]:
    """(files, folders) that the words of a simple command say it writes."""
    start, _wrapped = program.unwrapped(one.words)
    if start == len(one.words):
        return [], []
    name = program.named(one.words[start])
    words = [word.text for word in one.words[start + 1 :]]
    plain = [word for word in words if not word.startswith("-")]
    if name == "git":
        return [], _cloned(plain)
    if name in ("gh", "glab", "hub") and plain[:2] == ["repo", "clone"]:
        return [], _cloned(["clone", *plain[2:]])
    within = _after(words, FOLDERS)
    if name in UNPACKERS:
        return [], [*within, *(_stem(word) for word in plain if word.endswith(ARCHIVES))]
    if name in COPIES and len(plain) > 1:
        ends = [posixpath.join(plain[-1], posixpath.basename(word)) for word in plain[:-1]]
        suffix = "." in posixpath.basename(plain[-1]) or "." not in posixpath.basename(plain[0])
        return [*plain[-1:], *ends] if suffix else ends, []
    if name in WRITES:
        return plain, []
    saves = name == "wget" or any(word in SAVES or _bundled(word, "O") for word in words)
    given = [word for word in plain if word not in within]
    ends = [end for word in given if saves and (end := _last(word))]
    found = [*_after(words, OUTPUTS), *ends]
    return [*found, *(posixpath.join(top, end) for top in within for end in ends)], []


def _after(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """The values of some options: ``-o x``, ``-ox``, ``-so x``, ``--output=x``."""
    found = []
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        for option in options:
            short = len(option) == 2
            if word == option or (short and _bundled(word, option[1])):
                found.append(following)
            elif word.startswith(option if short else f"{option}="):
                found.append(word[len(option) :].lstrip("="))
    return [one for one in found if one and one != "-" and "://" not in one]


def _bundled(word: str, letter: str) -> bool:
    """Is a word several short options of which the last is this one?"""
    return word[:1] == "-" and word[1:].isalpha() and len(word) < 9 and word.endswith(letter)


def _cloned(plain: Sequence[str]) -> list[str]:
    """The folder of ``git clone``: the last word, or the last part of an address."""
    if "clone" not in plain:
        return []
    told = plain[plain.index("clone") + 1 :]
    if not told:
        return []
    end = told[-1]
    foreign = "://" in end or "@" in end or len(told) == 1
    return [_last(end).removesuffix(".git") if foreign else end]


def _last(address: str) -> str:
    path = address.partition("?")[0].partition("#")[0]
    return posixpath.basename(path.rstrip("/").replace(":", "/"))


def _stem(archive: str) -> str:
    end = next((one for one in ARCHIVES if archive.endswith(one)), "")
    return posixpath.basename(archive.removesuffix(end))


def _full(path: str, cwd: str) -> str:
    return posixpath.normpath(posixpath.join(cwd or "/", path)) if path else ""
