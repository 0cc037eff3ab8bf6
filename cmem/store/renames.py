"""Names that a file had before, by the moves in captured commands (``mv``, ``git mv``).

A move is known only where it was a tool call of its own words; what a script did inside is not.
"""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING

from cmem.store.codec import unpack
from cmem.store.rows import rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

# Packed inputs are long scripts; a move is short.
_MOVES = """SELECT t.tool_input, t.cwd FROM tool_uses t JOIN sessions n ON n.id = t.session_id
    WHERE n.project_id IN (SELECT value FROM json_each(?)) AND t.hidden_at IS NULL
    AND t.outcome = 'ok' AND typeof(t.tool_input) = 'text' AND instr(t.tool_input, 'mv ')
    ORDER BY t.created_at DESC, t.id DESC"""
_ENDS = frozenset((";", "&&", "||", "|", "&"))
_MOST = 20


def earlier(conn: apsw.Connection, projects: Sequence[int], path: Sequence[str]) -> list[str]:
    """The names the file had before it was called ``path`` (all ways to spell it), the last one
    first."""
    known = list(path)
    found: list[str] = []
    for stored, cwd in rows(conn, _MOVES, (json.dumps(list(projects)),)):
        for source, target in reversed(list(moves(_command(stored), str(cwd)))):
            if any(_is_same(one, target) for one in known) and source not in found:
                found.append(source)
                known.append(source)
        if len(found) >= _MOST:
            break
    return found


def moves(command: str, cwd: str) -> Iterator[tuple[str, str]]:
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
    return path == asked or path.endswith("/" + asked.lstrip("./"))
