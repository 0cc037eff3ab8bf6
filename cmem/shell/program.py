"""Which program the words of a command run in the end, and what kind of words it is told. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cmem.shell import names
from cmem.shell.text import Word

_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=")
_ASKS = (["-v"], ["-V"])
# An option behind which a program text stands, or that is one; of a shell and of an interpreter.
_SHELL_CODE = re.compile(r"-[A-Za-z]*c|--command(?:=|$)|-Command|/[cC]$")
_CODE = re.compile(r"-[A-Za-z]*[ceErpn]|--(?:eval|print|execute)(?:=|$)|eval$")


def is_assignment(text: str) -> bool:
    """Whether a word is ``A=b``."""
    return bool(_ASSIGNED.match(text))


def unwrapped(words: Sequence[Word]) -> tuple[int, bool]:
    """(where the program stands that the words run in the end, whether others stand before)."""
    at, wrapped = 0, False
    while at < len(words):
        text = words[at].text
        if is_assignment(text):
            at += 1
            continue
        if named(words[at]) == "command" and [w.text for w in words[at + 1 : at + 2]] in _ASKS:
            return len(words), False
        known, length = _wrapper(words, at)
        if known is None:
            break
        wrapped = True
        at = _behind(words, at + length, options=known[0], before=known[1])
    return at, wrapped


def _wrapper(words: Sequence[Word], at: int) -> tuple[tuple[frozenset[str], int] | None, int]:
    """(how the program here runs another, None when it does not; how many words name it)."""
    name = named(words[at])
    if name in names.WRAPPERS:
        return names.WRAPPERS[name], 1
    length = 1
    if name in names.COMPOSERS and words[at + 1 : at + 2] and words[at + 1].text == "compose":
        name = "compose"
        length = _behind(words, at + 2, options=names.COMPOSE_OPTIONS, before=0) - at
    verb = words[at + length].text if at + length < len(words) else ""
    return names.SUBCOMMANDS.get((name, verb)), length + 1


def _behind(words: Sequence[Word], at: int, *, options: frozenset[str], before: int) -> int:
    """Where the words of a program end and those of the one it runs begin."""
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            continue
        if text.startswith("-") and len(text) > 1:
            at += 2 if text in options else 1
        elif is_assignment(text):
            at += 1
        elif before:
            before -= 1
            at += 1
        else:
            break
    return min(at, len(words))


def options(rest: Sequence[Word]) -> list[Word]:
    """The options before the first word that is none, and what they take."""
    at = 0
    while at < len(rest) and rest[at].text.startswith("-"):
        at += 2 if rest[at].text in names.INTERPRETER_OPTIONS else 1
    # ``deno eval CODE`` has a word for it.
    return list(rest[: at + 1 if at < len(rest) and rest[at].text == "eval" else at])


def holds_code(rest: Sequence[Word]) -> bool:
    """Whether an interpreter is given its program among these words."""
    return any(_CODE.match(word.text) for word in options(rest))


def shell_code(rest: Sequence[Word]) -> int | None:
    """Where the option stands behind which a shell is given what it runs."""
    return next((at for at, word in enumerate(rest) if _SHELL_CODE.match(word.text)), None)


def reads_input(rest: Sequence[Word]) -> bool:
    """Whether a shell or an interpreter reads its program from its input."""
    plain = [word.text for word in rest if not word.text.startswith("-") or word.text == "-"]
    return not plain or plain[0] in ("-", "/dev/stdin") or any(w.text == "-s" for w in rest)


def verb(plain: Sequence[str]) -> str:
    """The first word that is no option, or an option that is one of these verbs itself."""
    at = 0
    while at < len(plain):
        word = plain[at]
        if not word.startswith("-") or word in names.PACKAGE_VERBS:
            return word
        at += 2 if word in names.VALUE_OPTIONS else 1
    return ""


def named(word: Word) -> str:
    """The program that a word at a command's beginning names."""
    return base(word.text)


def base(text: str) -> str:
    """The name of a program, without its folder; versions of interpreters are one."""
    name = text.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    if name[-1:].isdigit() or "." in name:
        bare = name.rstrip("0123456789.")
        if bare in names.INTERPRETERS:
            return bare
    return name
