"""Names that a file had before and has now, by the moves in captured commands (``mv``, ``git mv``).

A move is known only where it was a tool call of its own words; what a script did inside is not.
"""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, NamedTuple

from cmem.store.codec import unpack
from cmem.store.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import apsw

    Move = tuple[str, str]

# Packed inputs are long scripts; a move is short.
_MOVES = """SELECT t.tool_input, t.cwd FROM tool_uses t JOIN sessions n ON n.id = t.session_id
    WHERE n.project_id IN (SELECT value FROM json_each(?)) AND t.hidden_at IS NULL
    AND t.outcome = 'ok' AND typeof(t.tool_input) = 'text' AND instr(t.tool_input, 'mv ')
    ORDER BY t.created_at DESC, t.id DESC"""
_ENDS = frozenset((";", "&&", "||", "|", "&"))
_MOST = 20


class Names(NamedTuple):
    """Other names of a file: those it had before, the last one first, and those it had then."""

    earlier: list[str]
    later: list[str]


def names(conn: apsw.Connection, projects: Sequence[int], path: Sequence[str]) -> Names:
    """The names that the file called ``path`` (all ways to spell it) had by other times, as far as
    it was moved itself or a folder it was in."""
    every = [
        move
        for stored, cwd in rows(conn, _MOVES, (json.dumps(list(projects)),))
        for move in reversed(list(moves(_command(stored), str(cwd))))
    ]
    return Names(_followed(path, every, _before), _followed(path, reversed(every), _after))


def _followed(
    path: Sequence[str],
    every: Iterable[Move],
    step: Callable[[str, Move], str],
) -> list[str]:
    called = list(path)
    found: list[str] = []
    for move in every:
        other = next(filter(None, [step(one, move) for one in called]), "")
        if other:
            called = [other]
            found += [other] if other not in (*found, *path) else []
        if len(found) >= _MOST:
            break
    return found


def _before(path: str, move: Move) -> str:
    """What the path was called before the move; "" where that did not touch it."""
    source, target = move
    rest = _inside(path, target)
    if rest is None:
        return ""
    if rest[:1] == [os.path.basename(source)]:
        # The target was a folder that was there already.
        return os.path.join(source, *rest[1:])
    return "" if rest and _is_file(source) else os.path.join(source, *rest)


def _after(path: str, move: Move) -> str:
    """What the path was called after the move; "" where that did not touch it."""
    source, target = move
    rest = _inside(path, source)
    if rest is None or (rest and _is_file(source)):
        return ""
    if _is_file(source) and not _is_file(target):
        return os.path.join(target, os.path.basename(source))
    return os.path.join(target, *rest)


def _inside(path: str, folder: str) -> list[str] | None:
    """The names that lead from the folder to the path; [] where they are the same."""
    parts = path.split("/")
    for end in range(len(parts), 0, -1):
        head = "/".join(parts[:end])
        if head and _is_same(head, folder):
            return parts[end:]
    return None


def _is_file(path: str) -> bool:
    """Whether a path looks like one of a file: nothing else tells."""
    return bool(os.path.splitext(path)[1])


def moves(command: str, cwd: str) -> Iterator[Move]:
    """(old, new) absolute path of each file that the command line moves by its own words."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return
    part: list[str] = []
    for word in [*words, ";"]:
        if word not in _ENDS:
            part.append(word)
            continue
        if part[:1] == ["cd"] and len(part) == 2:
            cwd = os.path.normpath(os.path.join(cwd, part[1]))
        yield from _moved(part, cwd)
        part = []


def _moved(part: Sequence[str], cwd: str) -> Iterator[tuple[str, str]]:
    words = list(part[1:] if part[:1] == ["git"] else part)
    if words[:1] != ["mv"]:
        return
    names = [word for word in words[1:] if not word.startswith("-")]
    if len(names) < 2:
        return
    *sources, target = names
    into = len(sources) > 1 or target.endswith("/") or target in (".", "..")
    for source in sources:
        new = os.path.join(target, os.path.basename(source)) if into else target
        yield (
            os.path.normpath(os.path.join(cwd, source)),
            os.path.normpath(os.path.join(cwd, new)),
        )


def _command(stored: str) -> str:
    try:
        given = json.loads(unpack(stored))
    except ValueError:
        return ""
    command = given.get("command") if isinstance(given, dict) else None
    return command if isinstance(command, str) else ""


def _is_same(asked: str, path: str) -> bool:
    """A path that was asked for may be the end of one."""
    return path == asked or path.endswith("/" + asked.lstrip("/"))
