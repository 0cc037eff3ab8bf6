"""Whether a shell command may print what a stranger wrote. Pure.

A program that fetches is found wherever a command can begin: behind others that run it, within
quotes that a shell is given, in a program text that an interpreter is given. Patterns, texts and
names of files are none. In doubt it fetches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from cmem.shell import names, program
from cmem.shell import text as text_of
from cmem.shell.text import Simple, Word

DEEPEST = 5
# So many words of an unknown program are looked at as commands of their own.
TRIED = 5
_URL = re.compile(
    r"(?i)\b(?:https?|ftps?|sftp|ssh|wss?|s3|gs)://(?!(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]"
    r"|0\.0\.0\.0)(?::\d{1,5})?(?:[/?#\s'\"`)\],;|&]|$))[^\s'\"`)]"
)
_NAMED = "|".join(sorted((re.escape(name) for name in names.TELLING), key=len, reverse=True))
# A program's name, where the text is not read as commands.
_SAID = re.compile(rf"(?<![\w./-])(?:/\S{{0,80}}/)?(?:{_NAMED})(?![\w./-])")
_CODE = re.compile(
    r"""urlopen|urlretrieve|urllib\.request|\burllib[23]|\brequests\b|\bhttpx\b|\baiohttp\b
    |\bhttp\.client|\bhttplib|(?<!\.)\bfetch\b|(?:window|globalThis|global|self)\.fetch\b|\baxios\b
    |\bsockets?\b|\bsmtplib|\bftplib|\bimaplib|\bpoplib|\bparamiko|\bpycurl|\bcurl_|\bnet/https?\b
    |\bNet::|LWP::|\bIO::Socket|open-uri\b|\bOpenURI\b|\bHTTParty|\bFaraday|\bfsockopen
    |\bXMLHttpRequest\b|\bWebSocket\b|\bundici\b|\bgot\(|\bnode-fetch\b|\bsuperagent\b
    |(?:require\(\s*|from\s+|import\()['"](?:node:)?(?:https?|net|tls|http2|dgram)['"]
    |Invoke-(?:WebRequest|RestMethod)|\bWebClient\b|\bHttpClient\b|/inet/(?:tcp|udp)""",
    re.VERBOSE,
)
_SOCKET = re.compile(r"^/dev/(?:tcp|udp)/(?!(?:localhost|127\.0\.0\.1)/)")
_OTHERS = re.compile(
    r"(?:^|[\s:.^=])(?:refs/remotes/|remotes/|origin/|upstream/|FETCH_HEAD\b)|@\{(?:u|upstream)\}"
)


def fetches(command: str) -> bool:
    """True when the command fetches from elsewhere, or may."""
    return _any(command, 0)


def _any(text: str, deep: int) -> bool:
    """Whether one of the commands of a text fetches; what cannot be read is looked through."""
    read = text_of.read(text)
    if (not read.whole or deep > DEEPEST) and (_SAID.search(text) or _URL.search(text)):
        return True
    if deep > DEEPEST:
        return False
    if any(_one(one, deep) for one in read.commands):
        return True
    said = [*_said(read.commands)] if _runs_what_is_said(read.commands) else []
    return any(_any(one, deep + 1) or bool(_code(one)) for one in said)


def _one(one: Simple, deep: int) -> bool:
    if any(_SOCKET.match(file) for file in one.files):
        return True
    words = list(one.words)
    given = [word for word in words if program.is_assignment(word.text)]
    if any(program.base(word.text.partition("=")[2]) in names.FETCHERS for word in given):
        return True
    return _words(words, one.texts, deep=deep)


def _words(words: list[Word], texts: Sequence[str], *, deep: int) -> bool:
    """Whether the command of these words fetches."""
    if deep > DEEPEST:
        return any(program.named(word) in names.FETCHERS for word in words)
    start, wrapped = program.unwrapped(words)
    if start == len(words):
        # ``A=b`` alone keeps an address and does nothing with it.
        return wrapped and any(_is_foreign(word, deep) for word in words)
    name, rest = program.named(words[start]), words[start + 1 :]
    if name in names.INTERPRETERS:
        module = next(
            (at for at, one in enumerate(program.options(rest)) if one.text == "-m"), None
        )
        if module is not None and module + 1 < len(rest):
            name, rest = program.named(rest[module + 1]), rest[module + 2 :]
    if name not in names.DATA and any(_URL.search(word.text) for word in words[: start + 1]):
        return True
    if wrapped and any(_is_foreign(word, deep) for word in words[:start]):
        return True
    if words[start].quoted and " " in name:
        return _any(words[start].text, deep + 1)  # a program that is given a command as one word
    if name in names.AMBIGUOUS and not words[start].text.startswith("."):
        return True
    return _program(name, rest, texts, wrapped=wrapped, deep=deep)


def _program(
    name: str, rest: list[Word], texts: Sequence[str], *, wrapped: bool, deep: int
) -> bool:
    """Whether a program, told these words, fetches."""
    if name in names.FETCHERS:
        return True
    plain = [word.text for word in rest]
    if name in names.CLOUDS:
        told = [word for word in plain if not word.startswith("-")]
        return not any(word.partition("-")[0] in names.CHANGES for word in told[:5])
    if name == "uv" and plain[:1] == ["pip"]:
        plain = plain[1:]
    if name in names.PACKAGERS and program.verb(plain) in names.PACKAGE_VERBS:
        return True
    if name in names.RUNNERS and plain[:1] and plain[0] in names.RUNNER_OPTIONS:
        return True
    if name == "git":
        return _git(rest, deep)
    if (name, program.verb(plain)) in names.OTHER_FETCHES:
        return True
    if name == "eval":
        return _any(" ".join(plain), deep + 1)
    if name in names.SHELLS:
        return _shell(rest, texts, deep)
    if name in names.INTERPRETERS:
        return _interpreter(name, rest, texts, wrapped=wrapped, deep=deep)
    if name == "find":
        return _found(rest, deep)
    if name in names.DATA:
        return False
    return _unknown(name, rest, wrapped=wrapped, deep=deep)


def _git(rest: list[Word], deep: int) -> bool:
    """Whether git is told to reach a server, or to show what a branch of others holds."""
    plain = [word.text for word in rest]
    at = 0
    while at < len(plain) and plain[at].startswith("-"):
        if plain[at] == "-c" and at + 1 < len(plain) and "!" in plain[at + 1]:
            return _any(plain[at + 1].partition("!")[2], deep + 1)
        at += 2 if plain[at] in ("-C", "-c", "--git-dir", "--work-tree", "--exec-path") else 1
    verb, told = (plain[at], plain[at + 1 :]) if at < len(plain) else ("", [])
    if verb in names.GIT_FETCHES or (verb, program.verb(told)) in names.GIT_PAIRS:
        return True
    if verb in ("push", "archive", "bundle", "request-pull", "am", "apply"):
        return any(_URL.search(word) or word.startswith("--remote") for word in told)
    if verb == "bisect" and told[:1] == ["run"]:
        return _words(rest[at + 2 :], (), deep=deep + 1)
    if verb in ("rebase", "filter-branch") and any(
        _any(word, deep + 1) for word in told if " " in word
    ):
        return True
    if verb == "grep":
        told = told[1 + next((i for i, word in enumerate(told) if word[:1] != "-"), 0) :]
    return verb in names.GIT_SHOWS and _shows_others(verb, told)


def _shows_others(verb: str, told: Sequence[str]) -> bool:
    """Whether a branch of others is shown. Of ``theirs..own``, what is shown is own."""
    for at, word in enumerate(told):
        if word == "--":
            return False
        if at and told[at - 1] in names.TEXT_OPTIONS:
            continue
        if word.startswith("--remotes"):
            return True
        between = ".." in word and (verb in ("log", "shortlog", "format-patch") or "..." in word)
        if _OTHERS.search(word.rpartition("..")[2] if between else word.replace("..", " ")):
            return True
    return False


def _shell(rest: list[Word], texts: Sequence[str], deep: int) -> bool:
    """Whether what a shell is told to run fetches: after ``-c``, or what it is given to read."""
    at = program.shell_code(rest)
    if at is not None:
        if any(_any(word.text, deep + 1) or _code(word.text) for word in rest[at + 1 : at + 2]):
            return True
        return _unknown("", rest[at + 2 :], wrapped=True, deep=deep)
    if any(_URL.search(word.text) for word in rest):
        return True
    if program.reads_input(rest):
        return any(_any(text, deep + 1) for text in texts)
    return False


def _interpreter(
    name: str, rest: list[Word], texts: Sequence[str], *, wrapped: bool, deep: int
) -> bool:
    """Whether the program text that an interpreter is given names what fetches, or an address."""
    told = list(texts) if program.reads_input(rest) else []
    options = program.options(rest)
    awk = name.endswith("awk")
    if awk or program.holds_code(rest):
        told += [word.text for word in rest]
    if any(_code(text) for text in told):
        return True
    # ``perl -pe 's/a/b/'`` changes a text, and awk reads one: an address there is part of it.
    if awk or (name == "perl" and any("p" in word.text or "n" in word.text for word in options)):
        return False
    found = any(_URL.search(text) for text in told)
    return found or _unknown(name, rest, wrapped=wrapped, deep=deep)


def _code(text: str) -> bool:
    return bool(_CODE.search(text) or _SAID.search(text))


def _found(rest: list[Word], deep: int) -> bool:
    """Whether what ``find`` runs for each file fetches."""
    at = 0
    while at < len(rest):
        start, at = at + 1, at + 1
        if rest[start - 1].text in ("-exec", "-execdir", "-ok", "-okdir"):
            at = next((i for i in range(start, len(rest)) if rest[i].text in (";", "+")), len(rest))
            if _words(rest[start:at], (), deep=deep + 1):
                return True
    return False


def _unknown(name: str, rest: list[Word], *, wrapped: bool, deep: int) -> bool:
    """Whether a program that nothing is known of may run something that fetches."""
    tried = 0
    for at, word in enumerate(rest):
        if at and rest[at - 1].text in names.TEXT_OPTIONS and not wrapped:
            continue
        if _is_foreign(word, deep):
            return True
        if name in names.BUILDERS and not wrapped:
            continue
        base = program.base(word.text if word.quoted else word.text.rpartition("=")[2])
        if base in names.TELLING and ("/" not in word.text or word.text.startswith("/")):
            return True
        more = at + 1 < len(rest)
        if tried < TRIED and deep < DEEPEST and _begins(base, more=more, wrapped=wrapped):
            tried += 1
            if _words(rest[at:], (), deep=DEEPEST):
                return True
    return False


def _begins(base: str, *, more: bool, wrapped: bool) -> bool:
    """Whether a word in the middle looks like the beginning of a command."""
    if wrapped and (base in names.FETCHERS or base in names.AMBIGUOUS):
        return True
    return more and (
        base in names.SHELLS
        or base in names.INTERPRETERS
        or base == "git"
        or base in names.PACKAGERS
        or base in names.WRAPPERS
    )


def _is_foreign(word: Word, deep: int) -> bool:
    """Whether a word is an address, or a command for a program to run."""
    if _URL.search(word.text):
        return True
    if not word.quoted or " " not in word.text.strip() or deep >= DEEPEST:
        return False
    for one in text_of.read(word.text).commands:
        start, wrapped = program.unwrapped(one.words)
        if start == len(one.words):
            continue
        name, rest = program.named(one.words[start]), one.words[start + 1 :]
        if name in names.SHELLS and _shell(list(rest), one.texts, deep + 1):
            return True
        if name in names.TELLING and (wrapped or _is_order(name, rest)):
            return True
    return False


def _is_order(name: str, rest: Sequence[Word]) -> bool:
    """Whether a name and what follows are a command and not the beginning of a sentence."""
    if not rest:
        return True
    first = rest[0].text
    if name in ("gh", "glab", "hub"):
        return first in ("pr", "issue", "api", "run", "repo", "release", "gist", "mr", "search")
    return any(sign in first for sign in "-./:${")


def _runs_what_is_said(commands: Iterable[Simple]) -> bool:
    """Whether one of the commands runs what others print, or a file that they write."""
    written = {file.removeprefix("./") for one in commands for file in one.files}
    for one in commands:
        start, _wrapped = program.unwrapped(one.words)
        front = {program.base(word.text) for word in one.words[:start]}
        if start == len(one.words):
            continue
        name, rest = program.named(one.words[start]), one.words[start + 1 :]
        runs = name in names.SHELLS or name in names.INTERPRETERS
        code = program.holds_code(rest) or program.shell_code(rest) is not None
        if runs and not one.texts and program.reads_input(rest) and not code:
            return True
        if front & {"xargs", "parallel"} and name not in names.DATA:
            return True
        called = [one.words[start].text]
        called += [word.text for word in rest] if runs or name in ("source", ".") else []
        if any(word.removeprefix("./") in written for word in called):
            return True
    return False


def _said(commands: Iterable[Simple]) -> Iterator[str]:
    """What the commands that print what they are told print."""
    for one in commands:
        start, _wrapped = program.unwrapped(one.words)
        if start < len(one.words) and program.named(one.words[start]) in names.TELLERS:
            yield " ".join(word.text for word in one.words[start + 1 :])
            yield from one.texts
