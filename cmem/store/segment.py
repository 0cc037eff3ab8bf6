"""Text to index terms, by our own rules, so that every script can be found (design D).

- Fold: NFKC, casefold; accents go from Latin, Greek and Cyrillic letters only (が stays が).
- A word is a run of letters, digits and marks; ``_`` splits like any other sign, so that
  ``auth.ts`` and ``foo_bar`` are phrases of two words.
- Scripts without spaces become overlapping grams: two characters for Han, kana and Hangul,
  three for Thai, Lao, Khmer and Myanmar. The end of a run keeps its short tail grams
  (修改了 → 修改 改了 了), so a word of full length is a phrase of grams and a shorter one the
  prefix of a gram, and nothing is missed at the end of a run. Another script ends a run.
- An emoji is a word; joiners and variation selectors are dropped.

``parts`` is a second text for what must not disturb the positions of the first: the parts of
``getUserById`` and ``utf8``, and the spellings that are words only as a whole (``c++``, ``c#``,
``.env``, ``--flag``).

The index can forget a row only by producing the same terms again: any change here that
changes an output is a new ``SEGMENTER_VERSION`` and a reindex.
"""

from cmem.lazy import pattern
from cmem.store import signs

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

SEGMENTER_VERSION = 1

# A longer run of letters is a hash, a key or a blob: cut, so that no term is of any length.
WORD_MAX = 64
# An identifier of more parts is a random string, whose parts are noise.
PARTS_MAX = 8

_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u302f\u3031-\u3035\u3038-\u303c\u3041-\u3096"
    "\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48c\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
    "\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_SEA = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
    "\u17d7\u17dc-\u17e9\ua9e0-\ua9fe\uaa60-\uaa7f"
)
_EMOJI = (
    "\u231a\u231b\u23e9-\u23ff\u2600-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f000-\U0001f0ff\U0001f10d-\U0001f1ff\U0001f200-\U0001f64f\U0001f680-\U0001faff"
)
# Marks are no word characters to ``re``, yet without them a Hindi or a pointed Hebrew word
# falls apart.
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0"
    "\u07eb-\u07f3\u0816-\u082d\u0859-\u085b\u0898-\u08e1\u08e3-\u0903\u093a-\u094f\u0951-\u0957"
    "\u0962\u0963\u0981-\u0983\u09bc-\u09e3\u09fe\u0a01-\u0a03\u0a3c-\u0a75\u0a81-\u0a83"
    "\u0abc-\u0ae3\u0afa-\u0b03\u0b3c-\u0b63\u0b82\u0bbe-\u0bd7\u0c00-\u0c04\u0c3c-\u0c63"
    "\u0c81-\u0c83\u0cbc-\u0ce3\u0d00-\u0d03\u0d3b-\u0d4d\u0d57-\u0d63\u0d81-\u0d83\u0dca-\u0df3"
    "\u0f18\u0f19\u0f35\u0f37\u0f39\u0f3e-\u0f84\u0f86-\u0fbc\u135d-\u135f\u18a9\u1a17-\u1a1b"
    "\u1a55-\u1a7f\u1ab0-\u1ace\u1b00-\u1b44\u1b6b-\u1b73\u1b80-\u1bf3\u1c24-\u1c37\u1cd0-\u1cd2"
    "\u1cd4-\u1cf9\u1dc0-\u1dff\u20d0-\u20dc\u20e1\u20e5-\u20f0\u2de0-\u2dff\ua66f\ua674-\ua67d"
    "\ua802-\ua827\ua880-\ua8c5\ua8e0-\ua8f1\ua926-\ua92d\ua947-\ua953\ua980-\ua9c0\ua9e5"
    "\uaa29-\uaa4d\uaab0-\uaac1\uabe3-\uabed\ufb1e\ufe20-\ufe2f"
)

# Signs of vowels in Arabic and Hebrew, and what stretches an Arabic word: they can be left out.
_POINTS = (
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
)

_NOT_WORD = {c: " " for c in range(128) if not chr(c).isalnum()}
# Joiners, selectors, soft hyphens, the keycap ring, surrogates: they separate nothing.
_UNSEEN = (
    "\u00ad\u034f\u115f\u1160\u180b-\u180f\u200b-\u200f\u20dd-\u20e0\u20e2-\u20e4"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ud800-\udfff\U000e0000-\U000e0fff"
)
_DROPPED = pattern(f"[{_UNSEEN}]+")
_ACCENTED = pattern(
    "[A-Za-z\u00aa-\u024f\u0370-\u03ff\u0400-\u052f\u1e00-\u1fff][\u0300-\u036f]+"
    "|[\u00c0-\u024f\u0370-\u03ff\u0400-\u052f\u1e00-\u1fff]"
)
# Only stretches with a sign that is not ASCII are looked at closely; the rest is one translate.
_BEYOND_ASCII = pattern(r"[^\x00-\x7f][^\x00-/:-@\[-`{-\x7f]*")
_LONG = pattern(f"[^ ]{{{WORD_MAX + 1},}}")

_POINTED = pattern(f"[{_POINTS}]+")
_IDENTIFIER = pattern("[A-Za-z0-9]+")
_PART = pattern("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]|[0-9]+")
# Each begins with its literal, which is what makes the scan fast; the look-behind follows.
_DOTTED = pattern(r"\.(?<![\w.)\]}]\.)[A-Za-z][\w-]{1,30}")
_FLAG = pattern(r"--(?<![\w-]--)[A-Za-z][\w-]{1,40}")
_SIGNED = pattern(r"(?:\+\+(?<=[A-Za-z0-9]\+\+)|#(?<=[A-Za-z0-9]#))(?![\w+#])")
_SIGNED_NAME = pattern(r"(?<![\w+#])[A-Za-z][A-Za-z0-9]{0,9}$")
# Letters of their own right that have no accent to take off, yet are typed without.
_STROKED = {"đ": "d", "ł": "l", "ø": "o", "ħ": "h", "ı": "i"}

_KINDS = ((_CJK, 2), (_SEA, 3), (_EMOJI, 1))
_RUN = pattern(f"([{_CJK}]+)|([{_SEA}]+)|([{_EMOJI}])|((?:[^\\W_{_CJK}{_SEA}]|[{MARKS}])+)")

# Short texts of a process that are not worth compiling expressions for.
_BRIEF_MAX = 40
_met = [0]
_bare: dict[str, str] = {}


def words(text: str) -> str:
    """The words and grams of ``text`` in order, one space between. Any string is fine."""
    if text.isascii():
        return _ascii_words(text)
    terms: list[str] = []
    for run in runs(text):
        if run[1] or len(run[0]) > WORD_MAX:
            terms += run_terms(run)
        else:
            terms.append(run[0])
    return " ".join(terms)


def parts(text: str) -> str:
    """The parts of identifiers and the special spellings in ``text``, each spelling once."""
    found: dict[str, str] = {}
    for word in set(_IDENTIFIER.findall(text)):
        if not (word.islower() and word.isalpha()) and len(word) <= WORD_MAX:
            pieces = split_identifier(word)
            if 1 < len(pieces) <= PARTS_MAX:
                found[word] = " ".join(pieces)
    # A set has no order of its own, and the same text must give the same terms.
    terms = [found[word] for word in sorted(found)]
    return " ".join(terms + specials(text))


def split_identifier(word: str) -> list[str]:
    """``getUserById`` → get user by id; ``utf8`` → utf 8; an ordinary word is one part."""
    return [part.lower() for part in _PART.findall(word)]


def specials(text: str) -> list[str]:
    """The spellings in ``text`` whose signs belong to them, folded, each once."""
    found: list[str] = []
    if "." in text and (len(text) > signs.SHORT or signs.has_lone_dot(text)):
        found += _DOTTED.findall(text)
    if "--" in text:
        found += _FLAG.findall(text)
    if "++" in text or "#" in text:
        for sign in _SIGNED.finditer(text):
            name = _SIGNED_NAME.search(text, max(0, sign.start() - 11), sign.start())
            if name:
                found.append(name[0] + sign[0])
    return list(dict.fromkeys([spelling.lower() for spelling in found]))


def fold(text: str) -> str:
    """``text`` as the index compares it: compatible forms, case and accents are equal."""
    if text.isascii():
        return text.lower()
    if _is_brief(text):
        return signs.fold(text, dropped=_UNSEEN, strokes=_STROKED)
    from unicodedata import normalize

    folded = normalize("NFKC", _DROPPED.sub("", text)).casefold()
    return _ACCENTED.sub(_base, folded)


def is_pointed_script(folded: str) -> bool:
    """Whether a word is of a script whose vowels can be left out."""
    return "\u0590" < folded[:1] < "\u0700"


def bare(folded: str) -> str:
    """A word of such a script without what can be left out. The index keeps it."""
    return _POINTED.sub("", folded)


def _is_brief(text: str) -> bool:
    """Whether to go sign by sign: a short text, in a process that has not met many."""
    if len(text) > signs.SHORT:
        return False
    if len(text) > 1:
        _met[0] += 1
    return _met[0] <= _BRIEF_MAX


def runs(text: str) -> list[tuple[str, int]]:
    """The runs of one script of ``text``, folded, with their gram length (0: a plain word)."""
    folded = fold(text)
    if folded.isascii():
        return [(word, 0) for word in folded.translate(_NOT_WORD).split()]
    if _is_brief(folded):
        return signs.runs(folded, _KINDS, marks=MARKS)
    found: list[tuple[str, int]] = []
    done = 0
    for beyond in _BEYOND_ASCII.finditer(folded):
        start = beyond.start()
        while start > done and folded[start - 1].isalnum():
            start -= 1
        found += [(word, 0) for word in folded[done:start].translate(_NOT_WORD).split()]
        done = beyond.end()
        for cjk, sea, emoji, word in _RUN.findall(folded[start:done]):
            found.append((cjk, 2) if cjk else (sea, 3) if sea else (emoji or word, 0))
    found += [(word, 0) for word in folded[done:].translate(_NOT_WORD).split()]
    return found


def run_terms(run: tuple[str, int]) -> list[str]:
    """The terms one run is indexed as, short tail grams included."""
    text, gram = run
    if gram:
        return [text[i : i + gram] for i in range(len(text))]
    if len(text) > WORD_MAX:
        return [text[i : i + WORD_MAX] for i in range(0, len(text), WORD_MAX)]
    return [text]


def _ascii_words(text: str) -> str:
    spaced = " ".join(text.lower().translate(_NOT_WORD).split())
    if len(spaced) <= WORD_MAX:
        return spaced
    return _LONG.sub(lambda found: " ".join(run_terms((found[0], 0))), spaced)


def _base(found: "re.Match[str]") -> str:
    text = found[0]
    bare = _bare.get(text)
    if bare is None:
        from unicodedata import normalize

        apart = normalize("NFD", text)
        bare = "".join([_STROKED.get(c, c) for c in apart if not "\u0300" <= c <= "\u036f"])
        if len(_bare) < 4096:
            _bare[text] = bare
    return bare
