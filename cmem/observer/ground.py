"""What a model says held against what the unit shows.

Files come from the events. A link, a commit or a path that occurs nowhere in the unit is not a
fact: such a fact is dropped, and elsewhere the invented part is replaced by a sign. A fact that
quotes, or counts, what does not occur stays as it is; which pieces are in doubt is kept beside it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from cmem.model import SummaryUnit, TurnUnit
from cmem.observer.evidence import Call, files, parse_json, read_calls, relative, strings
from cmem.observer.text import weight

# A letter of a script that puts spaces between words: a link in a Chinese sentence ends where
# the Chinese goes on.
WIDE = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
)
LETTER = rf"[^\W{WIDE}]"
ONE_LETTER = re.compile(LETTER)
MOST_PLACES = 5_000
NAME = rf"(?:{LETTER}|[.@+~%-])"
END = rf"[^\s<>\"'`|\\^{{}}\[\]…{WIDE}]"
DOMAINS = "com|org|net|io|dev|ai|app|sh|me|co|cn|tw|jp|kr|vn|de|fr|eu|uk|ru|info|xyz|example|test"
URL = re.compile(
    rf"(?<![A-Za-z0-9])(?:[a-z][a-z0-9+.-]{{1,20}}://|www\.){END}+"
    rf"|(?<!{LETTER})(?<![@./\\-])(?:[a-z0-9-]{{1,60}}\.){{1,5}}(?:{DOMAINS})/{END}+",
    re.I,
)
SHA = re.compile(rf"(?<!{LETTER})(?<![#/.-])[0-9a-f]{{7,40}}(?!{LETTER})(?!-)")
# English words that look like one.
WORDS = frozenset(("acceded", "defaced", "effaced"))
PATH = re.compile(
    rf"(?<!{LETTER})(?<![.:/\\~@+%-])(?:[A-Za-z]:)?(?:[/\\]|{NAME}{{1,80}}[/\\])(?:{NAME}{{1,80}}[/\\]){{0,30}}"
    rf"{NAME}{{0,80}}\.[A-Za-z][A-Za-z0-9]{{0,7}}(?!{LETTER})(?![/\\])"
)
# A path says by its beginning that it is one, or by a first folder that the unit knows.
ROOTED = re.compile(
    rf"(?<!{LETTER})(?<![.:/\\~@+%<>*$)\]}}-])(?:~|\.{{1,2}})?/(?:{NAME}{{1,80}}/){{0,30}}{NAME}{{1,80}}/?"
)
FOLDERED = re.compile(
    rf"(?<!{LETTER})(?<![.:/\\~@+%<>*$-])({NAME}{{1,80}})/(?:{NAME}{{1,80}}/){{0,30}}{NAME}{{1,80}}"
)
# Endings of files; not those that properties of objects have too, as in console.log.
CODE = (
    "py|pyi|ipynb|js|mjs|cjs|ts|tsx|jsx|vue|svelte|go|rs|rb|java|kt|scala|swift|cc|cpp|hpp|cs|php|pl"
    "|lua|exs|erl|hs|clj|dart|sh|bash|zsh|ps1|bat|sql|proto|graphql|html|css|scss|md|rst|txt|json"
    "|jsonl|toml|yaml|yml|ini|cfg|xml|csv|sqlite|pem|crt|tf|gradle|mk"
)
# A file by its name alone. What begins with a capital and ends with .js is a product.
FILE = re.compile(
    rf"(?<![\w./\\@-])(?![A-Z]\w*\.js\b)(?:[\w-]{{1,80}}\.){{1,4}}(?:{CODE})(?![\w/(-])(?!\.\w)"
    r"|(?<![\w./\\@-])(?:Dockerfile|Containerfile|Makefile|Jenkinsfile|Procfile|Vagrantfile|Gemfile"
    r"|Rakefile|Justfile|\.env(?:\.\w+)?|\.\w{2,20}rc|\.(?:git|docker)ignore)(?![\w/.-]|\.\w)",
    re.A,
)
HOST = re.compile(
    rf"(?<![\w.-])(?:(?:[a-z0-9-]{{1,60}}\.){{1,5}}(?:{DOMAINS}|zone|page|site|cloud|info|biz)(?::\d+)?(?:/{END}*)?"
    rf"|(?:[a-z0-9-]{{1,60}}\.){{1,5}}[a-z]{{2,24}}/{END}+"
    rf"|\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d+)?)(?![\w-])",
    re.I | re.A,
)
LINE_SUFFIX = re.compile(r"(?::\d+(?:[:-]\d+)?|#L\d+(?:-L?\d+)?)$")
PLACE_SUFFIX = re.compile(r"(?<=[A-Za-z0-9])\(\d+(?:,\d+)?\)$")
QUOTED = re.compile(
    r"`([^`\n]{0,300})`|\"([^\"\n]{0,300})\"|“([^”\n]{0,300})”|„([^“”\n]{0,300})[“”]"
    r"|«([^»\n]{0,300})»|「([^」\n]{0,300})」|『([^』\n]{0,300})』"
    r"|(?<![\w'])'([^'\s][^'\n]{1,300})'(?![\w'])"
)
SHORTEST = 2.5
# Where a quotation says that it left something out, or joined lines.
LEFT_OUT = re.compile(
    r"\s*(?:…|\.\.\.)\s*|\s+[/⏎↵]\s+|\\n|\[(?:private|REDACTED[^\]]{0,60})\]", re.I
)
NUMBER = re.compile(r"(?<![\w.,:/#-])\d(?:[\d.,_’']{0,20}\d)?(?![\w/:-])", re.A)
RUN = re.compile(r"\d+")
YEAR = re.compile(r"(?:19|20)\d\d")
UNVERIFIED = "[unverified]"
TRAILING = ".,;:!?)]}>*_'\""
SPACE = re.compile(r"\s+")


class Ground:
    """All text of a unit, for asking whether something occurs in it; and its calls."""

    def __init__(self, texts: Iterable[str], roots: Sequence[str], calls: tuple[Call, ...]) -> None:
        self.text = "\n".join(texts)
        self.roots = roots
        self.calls = calls
        self._words: dict[str, bool] = {}

    @cached_property
    def flat(self) -> str:
        """Without spaces and case, for what was wrapped or spelled another way."""
        return SPACE.sub("", self.text).casefold()

    @cached_property
    def slashed(self) -> str:
        return self.text.replace("\\", "/")

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Every number, once as its digits and once by its parts."""
        whole = (re.sub(r"\D", "", one) for one in NUMBER.findall(self.text))
        return frozenset((*whole, *RUN.findall(self.text)))

    def holds(self, piece: str) -> bool:
        return piece in self.text or SPACE.sub("", piece).casefold() in self.flat

    def holds_word(self, piece: str) -> bool:
        """Does the piece occur, and not as the beginning or end of another word?"""
        if piece not in self._words:
            self._words[piece] = _bounded(piece, self.slashed)
        return self._words[piece]

    def holds_link(self, url: str) -> bool:
        return self.holds_word(url.rstrip("/")) or self.holds_word(re.sub(r"^\w+://", "", url))

    def holds_path(self, path: str) -> bool:
        """Does the path occur, in one of the ways a path is written?"""
        return any(self.holds_word(one) for one in self._spellings(path))

    def knows_path(self, path: str) -> bool:
        """Does the path occur, or at least every one of its parts, as in a listing?"""
        if self.holds_path(path):
            return True
        shown = min(self._spellings(path), key=len)
        return all(self.holds_word(part) for part in shown.split("/") if part)

    def _spellings(self, path: str) -> list[str]:
        """The path as it stands, normalised, and relative to the roots and each working
        directory."""
        plain = tidy(path)
        found = [plain]
        bases = [*self.roots, *(call.evidence.cwd for call in self.calls)]
        for base in dict.fromkeys(filter(None, bases)):
            for root in self.roots or ("",):
                whole = plain if plain.startswith("/") else posixpath.join(root, plain)
                if whole.startswith(base.rstrip("/") + "/"):
                    found.append(whole[len(base.rstrip("/")) + 1 :])
            name = posixpath.basename(base.rstrip("/"))
            if name and plain.startswith(name + "/"):
                found.append(plain[len(name) + 1 :])
        return list(dict.fromkeys(filter(None, found)))


def tidy(path: str) -> str:
    """A path without its line number, with slashes, without ``./``."""
    path = PLACE_SUFFIX.sub("", LINE_SUFFIX.sub("", path.strip())).replace("\\", "/")
    return posixpath.normpath(path) if path else ""


def _bounded(piece: str, text: str) -> bool:
    """Does the piece stand in the text as a word? A piece that is part of other words in its
    first thousands of places is taken for none."""
    at = text.find(piece) if piece else -1
    for _ in range(MOST_PLACES):
        if at < 0:
            return False
        end = at + len(piece)
        before = _in_word(piece[0]) and _in_word(text[at - 1 : at])
        if not before and not (_in_word(piece[-1]) and _in_word(text[end : end + 1])):
            return True
        at = text.find(piece, at + 1)
    return False


def _in_word(char: str) -> bool:
    """Is it a letter or digit of a script with spaces between its words?"""
    return ONE_LETTER.match(char) is not None


def of_turn(unit: TurnUnit) -> Ground:
    texts = [unit.prompt, unit.assistant_message, unit.error, unit.project, unit.project_root]
    for one in unit.evidence:
        texts += [one.tool_name, one.cwd, *strings(parse_json(one.tool_input))]
        texts += strings(parse_json(one.tool_response))
    return Ground(texts, unit.roots, read_calls(unit))


def of_summary(unit: SummaryUnit) -> Ground:
    texts = [unit.project]
    for turn in unit.turns:
        texts += [turn.prompt, turn.assistant_message]
        for one in turn.observations:
            texts += [one.title, one.subtitle, one.narrative, *one.facts]
            texts += [*one.files_read, *one.files_modified]
    return Ground(texts, (), ())


# --- texts ---------------------------------------------------------------------------


def invented(text: str, ground: Ground) -> list[str]:
    """The links, commits and paths of a text that the unit does not hold."""
    links = [_trimmed(one) for one in URL.findall(text)]
    found = [one for one in links if not ground.holds_link(one)]
    rest = URL.sub(" ", text)
    found += [one for one in SHA.findall(rest) if _is_sha(one) and not ground.holds(one)]
    found += [one for one in PATH.findall(rest) if not ground.knows_path(one)]
    rest = PATH.sub(" ", rest)
    found += [one for one in _plain_paths(rest, ground) if not ground.knows_path(one)]
    return list(dict.fromkeys(found))


def _plain_paths(text: str, ground: Ground) -> list[str]:
    """The paths of a text that end without an extension. One name behind a slash may be a command
    or a route, and is none."""
    rooted = [one.rstrip(TRAILING) for one in ROOTED.findall(text)]
    found = [one for one in rooted if one.strip("/").count("/") or one[0] != "/"]
    for match in FOLDERED.finditer(ROOTED.sub(" ", text)):
        if ground.holds_word(match[1] + "/") and "." not in match[0].rpartition("/")[2].strip("."):
            found.append(match[0].rstrip(TRAILING))
    return [one for one in found if any(char.isalnum() for char in one)]


def _trimmed(url: str) -> str:
    """A link without the punctuation of the sentence it stands in; a bracket that it opened
    itself is its own."""
    while url and url[-1] in TRAILING:
        if url[-1] == ")" and url.count("(") >= url.count(")"):
            break
        url = url[:-1]
    return url


def _is_sha(piece: str) -> bool:
    return not piece.isdigit() and piece not in WORDS


def marked(text: str, ground: Ground) -> tuple[str, list[str]]:
    """The text with every invented part replaced by a sign, and those parts."""
    parts = invented(text, ground)
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, UNVERIFIED)
    return text, parts


def doubtful(text: str, ground: Ground) -> list[str]:
    """What a text quotes, and the larger numbers it names, although the unit does not hold it."""
    pieces = ["".join(found) for found in QUOTED.findall(text)]
    found = [one for one in pieces if weight(one) > SHORTEST and not _quoted(one, ground)]
    rest = QUOTED.sub(" ", text)
    found += [one for one in NUMBER.findall(HOST.sub(" ", rest)) if _odd(one, ground)]
    return list(dict.fromkeys(found + doubtful_names(text, ground)))


def doubtful_names(text: str, ground: Ground) -> list[str]:
    """The files and hosts that a text calls by their names alone, and that do not occur. They are
    only in doubt: a name can be right that nobody has written before."""
    text = PATH.sub(" ", URL.sub(" ", text))
    hosts = [_trimmed(one) for one in HOST.findall(text)]
    named = [*hosts, *FILE.findall(HOST.sub(" ", text))]
    return [one for one in named if not ground.holds_word(one) and not ground.holds(one)]


def _quoted(piece: str, ground: Ground) -> bool:
    """Does the unit hold a quotation, apart from what it says it left out?"""
    plain = LINE_SUFFIX.sub("", piece.rstrip(".,;:!?。，；：！？").removesuffix("()"))
    if ground.holds(piece) or ground.holds(plain):
        return True
    if PATH.fullmatch(plain) and ground.knows_path(piece):
        return True
    parts = LEFT_OUT.split(piece)
    return len(parts) > 1 and all(ground.holds(one) for one in parts if one)


def _odd(number: str, ground: Ground) -> bool:
    """Is a number of three digits or more nowhere in the unit? A year is no finding."""
    digits = re.sub(r"\D", "", number)
    if len(digits) < 3 or YEAR.fullmatch(number):
        return False
    return digits not in ground.numbers


# --- files ---------------------------------------------------------------------------


def grounded_files(
    ground: Ground,
    sources: tuple[int, ...] | None,
    *,
    claimed: list[str],
    claimed_modified: list[str],
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """(read, modified, dropped): the files of the sources' events, with those a model names if
    they occur. What a model calls modified counts so only if an event of the unit modified it
    or a command names it."""
    calls = [one for one in ground.calls if sources is None or one.evidence.id in sources]
    read, modified = (dict.fromkeys(one) for one in files(calls, ground.roots))
    all_modified = set(files(ground.calls, ground.roots)[1])
    cwd = ground.calls[0].evidence.cwd if ground.calls else ""
    dropped = []
    for name, changed in [(one, False) for one in claimed] + [
        (one, True) for one in claimed_modified
    ]:
        if URL.match(name):
            path, there = name, ground.holds_link(name)
        else:
            path, there = relative(tidy(name), roots=ground.roots, cwd=cwd), ground.holds_path(name)
        if not name or not there:
            dropped.append(name)
        elif changed and (path in all_modified or _commanded(name, ground)):
            modified[path] = None
        elif path not in modified:
            read[path] = None
    return tuple(read), tuple(modified), dropped


def _commanded(name: str, ground: Ground) -> bool:
    """Does a command of the unit name the file?"""
    given = "\n".join(
        value for call in ground.calls if call.kind == "command" for value in strings(call.given)
    )
    return any(_bounded(one, given) for one in (name, tidy(name)))
