"""Words: sentences, titles and cuts in any script. Pure, linear, the same for ever."""

from __future__ import annotations

import re
from collections.abc import Iterable

WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\u0e00-\u0eff]")
MARKER = re.compile(r"\[(?:redacted|private)[^\]\n]{0,80}\]|</?private\b[^>\n]{0,40}>?", re.I)
SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]`]*\s+(?![a-zß-ÿа-я])|(?<=[。！？])\s*")
ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|bzw|ca|Nr|No|resp|Dr|z\.\s?B)\.)$", re.I
)
BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)、])\s+(?:\[[ xX]\]\s+)?|^\s*(?:#{1,6}|>)\s*")
RULE = re.compile(r"^[|:\-=_*\s]{3,}$")
LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\((?:[^()\n]{0,500})\)")
BOLD = re.compile(r"\*\*([^*\n]{1,300})\*\*|__([^_\n]{1,300})__(?!\w)")
CODE = re.compile(r"`[^`\n]+`|\b\w+[._/:]\w+|\b\w+\(\)|\b[a-z]+[A-Z]\w*|\b[A-Z]{2,}\w*|--\w+|\d")
FILLER = re.compile(
    r"(?:done|ok(?:ay)?|sure|great|perfect|excellent|understood|noted|got it|alright|yes|no|"
    r"absolutely|certainly|of course|all set|finished|completed?|hello|hi|thanks?|thank you|"
    r"fertig|erledigt|klar|gerne|verstanden|xong|được|vâng|完成了?|好的?|好了|明白了?|没问题|"
    r"はい|完了(?:しました)?|了解(?:しました)?|できました|네|완료|готово|listo|hecho|voilà|terminé)"
    r"[\s.!,。！，、]*",
    re.I,
)
FIRST_PERSON = re.compile(r"^(?:I(?:['’]ve| have)?|We(?:['’]ve| have)?)\s+(?:now |also |just )*")
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
    """A line without Markdown's dress: bullets, headings, bold, link targets."""
    line = BULLET.sub("", line)
    line = LINK.sub(r"\1", line)
    line = BOLD.sub(lambda found: found[1] or found[2], line)
    return one_line(line.strip("|"))


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, Markdown undressed; a line never joins the next."""
    found: list[str] = []
    for line in text.splitlines():
        if RULE.match(line) or line.lstrip().startswith(("```", "~~~")):
            continue
        whole = plain(line)
        start = 0
        for end in SENTENCE_END.finditer(whole):
            piece = whole[start : end.start()]
            if not ABBREVIATION.search(piece):
                closing = whole[end.start() : end.end()].strip()
                found.append(piece + closing)
                start = end.end()
        found.append(whole[start:])
    return [one for one in (piece.strip() for piece in found) if one]


def is_marked(text: str) -> bool:
    """Does the text hold the trace of something private?"""
    return MARKER.search(text) is not None


def informative(sentence: str) -> bool:
    """Worth a title: long enough, more than a courtesy, nothing private in it."""
    return weight(sentence) >= 12 and not FILLER.fullmatch(sentence) and not is_marked(sentence)


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
    return head.rstrip(" ,;:，、；：([（`") + "…"


def join(pieces: Iterable[str]) -> str:
    """Sentences as one text: a space between them, but none after a wide full stop."""
    return re.sub(r"(?<=[。！？]) ", "", " ".join(pieces))


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
    bare = FIRST_PERSON.sub("", text)
    if bare != text and PAST.match(bare):
        text = bare
    text = text.rstrip(" .。:：,，;；!！")
    if len(text) > limit:
        ends = [one.start() for one in CLAUSE.finditer(text, 0, limit)]
        ends = [end for end in ends if end >= limit * 0.45]
        text = text[: ends[-1]].rstrip() if ends else shorten(text, limit)
        if text.count("`") % 2:
            text = text.replace("`", "")
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+\s", text) else text


def varied(text: str) -> bool:
    """Is the text more than a few words said over and over?"""
    said = text.split()
    return len(said) <= 60 or len(set(said)) >= 15


def same_script(one: str, other: str) -> bool:
    """Are two texts both mostly wide script, or both mostly not?"""

    def wide(text: str) -> bool:
        letters = sum(char.isalpha() for char in text) or 1
        return len(WIDE.findall(text)) / letters > 0.2

    return wide(one) == wide(other)


def norm(text: str) -> str:
    """A text as a key for comparison: letters and digits only, folded."""
    return "".join(char for char in text.casefold() if char.isalnum())


def unique(texts: list[str]) -> list[str]:
    """Each text once, the first spelling of it."""
    seen: dict[str, str] = {}
    for text in texts:
        seen.setdefault(norm(text) or text, text)
    return list(seen.values())
