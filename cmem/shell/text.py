"""A shell command as the simple commands in it. Pure; total; one pass, whatever the text.

Words lose their quotes, comments are left out, and what stands in ``$(…)``, backticks, ``<(…)``
or ``(…)`` is a command of its own. Here-documents are texts of the command that reads them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_DEEP = 40
# What is told of a word's part that only running can tell.
RUN = "$()"
_PLAIN = re.compile(r"[^\s'\"\\`$;&|()<>#]+")
_IN_QUOTES = re.compile(r"[^\"\\`$]+")
_HERE = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([^\s'\"\\`;&|()<>]+))")

# The first words of a command that is run within a text.
_RUN = re.compile(r"(?<!\\)(?:\$\(|`)[ \t]*([^\n()`]{1,200})")


class Word(NamedTuple):
    """``quoted``: some of it was, so that blanks in it are its own."""

    text: str
    quoted: bool


class Simple(NamedTuple):
    """One simple command: its words, the texts it is given, the files it is redirected to or
    from."""

    words: tuple[Word, ...]
    texts: tuple[str, ...]
    files: tuple[str, ...]


class Read(NamedTuple):
    """``whole``: the text ended where a command may end."""

    commands: tuple[Simple, ...]
    whole: bool


class _Frame:
    """A command that is being read. ``closes``: the sign that ends it, "" for none."""

    def __init__(self, closes: str) -> None:
        self.closes = closes
        self.opened = False
        self.words: list[Word] = []
        self.texts: list[str] = []
        self.files: list[str] = []
        self.next = ""
        self.word: list[str] | None = None
        self.quoted = False

    def add(self, text: str, *, quoted: bool = False) -> None:
        if self.word is None:
            self.word = []
        self.word.append(text)
        self.quoted = self.quoted or quoted

    def end_word(self) -> None:
        if self.word is None:
            return
        found = "".join(self.word)
        if self.next == "text":
            self.texts.append(found)
        elif self.next == "file":
            self.files.append(found)
        else:
            self.words.append(Word(found, self.quoted))
        self.word, self.quoted, self.next = None, False, ""


class _Reader:
    """The state of one reading; ``at`` only grows."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.frames = [_Frame("")]
        self.done: list[tuple[list[Word], list[str], list[str]]] = []
        self.whole = True
        # (texts it goes to, the line that ends it, whether tabs before that are left out,
        # whether commands in it are run)
        self.waiting: list[tuple[list[str], str, bool, bool]] = []

    def end_command(self) -> None:
        frame = self.frames[-1]
        frame.end_word()
        frame.next = ""
        if frame.words or frame.texts or frame.files:
            # Its texts are still to come: a here-document begins only on the next line.
            self.done.append((frame.words, frame.texts, frame.files))
        frame.words, frame.texts, frame.files = [], [], []

    def push(self, closes: str) -> None:
        self.frames.append(_Frame(closes))

    def pop(self) -> None:
        frame = self.frames[-1]
        if frame.closes == '"':
            self.frames.pop()
            self.frames[-1].add("".join(frame.word or ()), quoted=True)
            return
        before = len(self.done)
        self.end_command()
        self.frames.pop()
        if frame.opened:
            self.frames[-1].add(RUN)
        elif before == len(self.done):
            self.end_command()  # ``name()``: its body is a command

    def open_run(self, closes: str, length: int) -> None:
        self.push(closes)
        self.frames[-1].opened = True
        self.at += length


def read(text: str) -> Read:
    """The commands of a text, in the order in which they end. What is nested deeper than
    anybody writes, or not closed, makes it not whole."""
    reader = _Reader(text)
    while reader.at < len(text):
        if len(reader.frames) > MOST_DEEP:
            reader.whole = False
            break
        if reader.frames[-1].closes == '"':
            _quoted_step(reader)
        else:
            _step(reader)
    reader.whole = reader.whole and len(reader.frames) == 1
    while len(reader.frames) > 1:
        reader.pop()
    reader.end_command()
    found = [
        Simple(tuple(words), tuple(texts), tuple(files)) for words, texts, files in reader.done
    ]
    return Read(tuple(found), reader.whole)


def _quoted_step(reader: _Reader) -> None:
    """One step within double quotes."""
    text, at, frame = reader.text, reader.at, reader.frames[-1]
    if plain := _IN_QUOTES.match(text, at):
        frame.add(plain.group())
        reader.at = plain.end()
    elif text[at] == '"':
        reader.at += 1
        reader.pop()
    elif text[at] == "\\":
        kept = text[at + 1 : at + 2]
        frame.add(kept if kept in '"\\$`' else "" if kept == "\n" else "\\" + kept)
        reader.at += 2
    elif text.startswith("$(", at):
        reader.open_run(")", 2)
    elif text[at] == "`":
        reader.open_run("`", 1)
    else:
        frame.add(text[at])
        reader.at += 1


def _step(reader: _Reader) -> None:
    """One step outside of quotes."""
    text, at, frame = reader.text, reader.at, reader.frames[-1]
    char = text[at]
    if plain := _PLAIN.match(text, at):
        frame.add(plain.group())
        reader.at = plain.end()
    elif char == "\n":
        reader.at += 1
        reader.end_command()
        _here_documents(reader)
    elif char.isspace():
        reader.at += 1
        frame.end_word()
    elif char in "'\"\\":
        _quote(reader, char)
    elif char == "$":
        _dollar(reader)
    elif char == "#" and frame.word is None:
        end = text.find("\n", at)
        reader.at = len(text) if end < 0 else end
    elif char in "<>":
        _redirect(reader, char)
    elif char == "&" and text.startswith("&>", at):
        reader.at += 1
    elif char in "()`":
        _paren(reader, char)
    else:
        reader.at += 1
        if char in ";&|":
            reader.end_command()
        else:
            frame.add(char)


def _quote(reader: _Reader, char: str) -> None:
    text, at, frame = reader.text, reader.at, reader.frames[-1]
    if char == '"':
        reader.at += 1
        reader.push('"')
    elif char == "\\":
        if text[at + 1 : at + 2] != "\n":
            frame.add(text[at + 1 : at + 2])
        reader.at += 2
    else:
        end = text.find("'", at + 1)
        reader.whole = reader.whole and end >= 0
        end = len(text) if end < 0 else end
        frame.add(text[at + 1 : end], quoted=True)
        reader.at = end + 1


def _dollar(reader: _Reader) -> None:
    text, at = reader.text, reader.at
    if text.startswith("$(", at):
        reader.open_run(")", 2)
        return
    if not text.startswith(("$'", '$"'), at):
        reader.frames[-1].add("$")
    reader.at += 1


def _paren(reader: _Reader, char: str) -> None:
    frame = reader.frames[-1]
    if char == "`" and frame.closes != "`":
        reader.open_run("`", 1)
        return
    reader.at += 1
    if char == "(":
        frame.end_word()
        reader.push(")")
    elif frame.closes == char:
        reader.pop()
    else:
        reader.end_command()


def _redirect(reader: _Reader, char: str) -> None:
    text, frame = reader.text, reader.frames[-1]
    if text.startswith((char + "("), reader.at):
        reader.open_run(")", 2)
        return
    if frame.word is not None and not frame.quoted and "".join(frame.word).isdigit():
        frame.word = None
    frame.end_word()
    if text.startswith("<<<", reader.at):
        frame.next = "text"
        reader.at += 3
    elif found := _HERE.match(text, reader.at):
        end = found.group(2) or found.group(3) or found.group(4)
        runs = found.group(2) is None and found.group(3) is None and "\\" not in found.group()
        reader.waiting.append((frame.texts, end, bool(found.group(1)), runs))
        reader.at = found.end()
    else:
        frame.next = "file"
        reader.at += 1
        while text[reader.at : reader.at + 1] in ("<", ">", "&", "|"):
            reader.at += 1


def _here_documents(reader: _Reader) -> None:
    """The texts that begin where a line ends, each as long as its last line is not met."""
    text = reader.text
    for texts, last, tabs, runs in reader.waiting:
        indent = r"\t*" if tabs else ""
        ends = re.compile(f"^{indent}{re.escape(last)}$", re.MULTILINE)
        found = ends.search(text, reader.at)
        told = text[reader.at : found.start() if found else len(text)]
        texts.append(told)
        for run in _RUN.findall(told) if runs else ():
            reader.done.append(([Word(word, quoted=False) for word in run.split()], [], []))
        reader.at = min(found.end() + 1, len(text)) if found else len(text)
    reader.waiting.clear()
