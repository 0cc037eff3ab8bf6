"""Words: sentences, titles and cuts in any script. Pure, linear, the same for ever."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cmem.observer import extract_words as words

WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\u0e00-\u0eff]")
MARKER = re.compile(r"\[(?:redacted|private)[^\]\n]{0,80}\]|</?private\b[^>\n]{0,40}>?", re.I)
SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]`]*\s+(?![a-zß-ÿа-я])|(?<=[。！？।])\s*")
ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|bzw|ca|Nr|No|resp|Dr|z\.\s?B)\.)$", re.I
)
BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)、])\s+(?:\[[ xX]\]\s+)?|^\s*(?:#{1,6}|>)\s*")
HEADING = re.compile(r"^\s{0,3}#{1,6}\s|^\s*\*\*[^*`\n]{1,70}\*\*:?\s*$")
RULE = re.compile(r"^[|:\-=_*\s]{3,}$")
FENCE = ("```", "~~~")
LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\((?:[^()\n]{0,500})\)")
BOLD = re.compile(r"(?<!\()(?:\*\*(?!\s)|(?<!\s)\*\*)")
ITALIC = re.compile(r"(?<![\w*(])\*(\w[^*\n]{0,120})\*(?![\w*])")
CODE = re.compile(r"`[^`\n]+`|\b\w+[._/:]\w+|\b\w+\(\)|\b[a-z]+[A-Z]\w*|\b[A-Z]{2,}\w*|--\w+|\d")
COURTEOUS = 90.0
FIRST_PERSON = re.compile(r"^(?:I(?:['’]ve| have)?|We(?:['’]ve| have)?)\s+(?:now |also |just )*")
HAVE_DONE = re.compile(r"^(?:J['’]ai|Nous avons|Tôi đã|Chúng tôi đã)\s+", re.I)
PAST = re.compile(r"^(?:\w+ed|made|wrote|built|found|ran|set|put|split|took|left|kept|chose)\b")
PLEASE = re.compile(
    r"^(?:please|pls|can you|could you|would you|bitte|请|請|麻烦|hãy)\b[,\s]*(?:please\s+)?|^请",
    re.I,
)
CLAUSE = re.compile(r"[,;:，、；：]\s*|\s[–—-]\s|\s\(")


def weight(text: str) -> float:
    """How much a text says, in Latin characters: a wide character carries about two and a
    half of them."""
    return len(text) + 1.5 * len(WIDE.findall(text))


def one_line(text: str) -> str:
    return " ".join(text.split())


def plain(line: str) -> str:
    """A line without Markdown's dress: bullets, headings, bold, link targets. What stands
    between backticks is code, whose stars and underscores are its own."""
    pieces = BULLET.sub("", line).split("`")
    for at in range(0, len(pieces), 2 if len(pieces) % 2 else len(pieces)):
        pieces[at] = ITALIC.sub(r"\1", BOLD.sub("", LINK.sub(r"\1", pieces[at])))
    return one_line("`".join(pieces))


def prose(text: str) -> list[str]:
    """The lines of a text that are language: no fenced code, no headings, a table's row told
    with its columns' names. A text that is nothing but code or headings stays as it is."""
    kept: list[str] = []
    header: list[str] | None = None
    fence = ""
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(FENCE) and fence in ("", bare[:3]):
            fence = "" if fence else bare[:3]
        elif not fence and RULE.match(bare):
            header = _cells(kept.pop()) if "|" in bare and kept and _is_row(kept[-1]) else None
        elif not fence and bare and not HEADING.match(line):
            kept.append(_row(_cells(line), header) if header and _is_row(line) else line)
            header = header if _is_row(line) else None
    whole = [line for line in text.splitlines() if not line.strip().startswith(FENCE)]
    return kept or [line for line in whole if not RULE.match(line)]


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|")


def _cells(line: str) -> list[str]:
    return [one.strip() for one in line.strip().strip("|").split("|")]


def _row(cells: list[str], header: list[str]) -> str:
    if len(cells) < 3 or len(cells) != len(header):
        return ": ".join(filter(None, cells))
    rest = [
        f"{name} {cell}".strip() for name, cell in zip(header[1:], cells[1:], strict=True) if cell
    ]
    return f"{cells[0]}: {', '.join(rest)}"


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, Markdown undressed; a line never joins the next."""
    found: list[str] = []
    for line in prose(text):
        whole = plain(line.strip().strip("|") if _is_row(line) else line)
        start = 0
        for end in SENTENCE_END.finditer(whole):
            piece = whole[start : end.start()]
            if not ABBREVIATION.search(piece[-12:]):
                closing = whole[end.start() : end.end()].strip()
                found.append(piece + closing)
                start = end.end()
        found.append(whole[start:])
    return [one for one in (piece.strip() for piece in found) if one]


def bare(sentence: str) -> str:
    """The sentence without a courtesy before it: ``Done! Added x`` says ``Added x``."""
    for _ in range(3):
        found = words.OPENER.match(sentence)
        if found is None:
            break
        sentence = sentence[found.end() :]
    return sentence


def is_marked(text: str) -> bool:
    """Does the text hold the trace of something private?"""
    return MARKER.search(text) is not None


def informative(sentence: str) -> bool:
    """Worth a title: long enough, more than a courtesy, nothing private in it."""
    return weight(sentence) >= 12 and not courteous(sentence) and not is_marked(sentence)


def courteous(sentence: str) -> bool:
    """Does the sentence only accompany the answer: a greeting, an offer, an announcement?"""
    if words.FILLER.fullmatch(sentence):
        return True
    polite = words.COURTESY.match(sentence) is not None and CODE.search(sentence) is None
    return polite and weight(sentence) < COURTEOUS


def shorten(text: str, limit: int) -> str:
    """The text on one line, cut between words at ``limit`` with an ellipsis. A wide script
    has no spaces, so there it may be cut between any two characters."""
    text = one_line(text)
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    if not WIDE.match(text[limit - 1]) and not text[limit - 1].isspace():
        space = head.rfind(" ")
        head = head[:space] if space >= limit // 2 else head
    head = head.rstrip(" ,;:，、；：([（`")
    return head + ("…`" if head.count("`") % 2 else "…")


def join(pieces: Iterable[str]) -> str:
    """Sentences as one text: a space between them, none after a wide full stop, a semicolon
    after an item of a list that ends without one."""
    joined = ""
    for piece in pieces:
        if joined and joined[-1] not in "。！？":
            joined += " " if joined[-1] in ".!?…:;,，：；\"”')" else "; "
        joined += piece
    return joined


def clip(text: str, limit: int) -> str:
    """Whole sentences of the text up to ``limit``, with an ellipsis if any is left out."""
    kept: list[str] = []
    size = 0
    every = sentences(text)
    for one in every:
        if size + len(one) + 1 > limit:
            return (join(kept) + " …") if kept else shorten(one, limit)
        kept.append(one)
        size += len(one) + 1
    return join(kept)


def title(sentence: str, limit: int = 100) -> str:
    """A sentence as a title: courtesy, first person and the last full stop gone, cut at a
    clause where there is one, else between words."""
    text = PLEASE.sub("", one_line(sentence))
    deed = FIRST_PERSON.sub("", text)
    if deed != text and PAST.match(deed):
        text = deed
    text = HAVE_DONE.sub("", text)
    text = text.rstrip(" .。:：,，;；!！")
    if len(text) > limit:
        ends = [one.start() for one in CLAUSE.finditer(text, 0, limit)]
        ends = [end for end in ends if end >= limit * 0.45]
        text = text[: ends[-1]].rstrip() if ends else shorten(text, limit)
        opened = text.rfind("(") if text.count("(") > text.count(")") else -1
        text = text[:opened].rstrip(" :,;") if opened >= limit * 0.25 else text
        if text.count("`") % 2:
            text = text.replace("`", "")
    starts = (
        re.match(r"[^\W\d_]+(?:['’][^\W\d_]+)?\s", text) is not None
        and WIDE.search(text[:20]) is None
    )
    return text[:1].upper() + text[1:] if starts and text[:1].islower() else text


def varied(text: str) -> bool:
    """Is the text more than a few words said over and over?"""
    said = text.split()
    return len(said) <= 60 or len(set(said)) >= 15


def same_script(one: str, other: str) -> bool:
    """Are two texts both mostly wide script, or both mostly not? Names of code count for none."""

    def wide(text: str) -> bool:
        told = "".join(text.split("`")[::2])
        characters = len(WIDE.findall(told))
        return characters > 0.5 * len(re.findall(r"[A-Za-zÀ-ɏ]{2,}", told)) + 1

    return wide(one) == wide(other)


def norm(text: str) -> str:
    """A text as a key for comparison: letters and digits only, folded."""
    return "".join(char for char in text.casefold() if char.isalnum())


def same(one: str, other: str) -> bool:
    """Do two texts say the same but for dress and punctuation?"""
    return norm(one) == norm(other)


def retells(sentence: str, heading: str) -> bool:
    """Does a sentence say no more than a title does?"""
    return same(sentence, heading) or same(title(sentence, len(sentence) + 1), heading)


def unique(texts: list[str]) -> list[str]:
    """Each text once, the first spelling of it."""
    seen: dict[str, str] = {}
    for text in texts:
        seen.setdefault(norm(text) or text, text)
    return list(seen.values())
