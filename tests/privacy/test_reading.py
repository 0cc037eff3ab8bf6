"""What a reader does not see hides neither a secret nor a tag, however it is spelled."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
import secret_forms
from hypothesis import given, settings
from hypothesis import strategies as st

from cmem.privacy import gates, reading, rules, second, seen
from cmem.privacy.scrub import scrub_payload, scrub_text

DRAW = secret_forms.drawing(31)
TOKENS = {name: secret_forms.FIRST[name](DRAW) for name in ("github", "aws-key", "gitlab")}
TOKENS["sk-key"] = secret_forms.FIRST["openai old"](DRAW)
IGNORED = (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x2800, 0x3164, 0xFFA0)


def is_unseen(code: int) -> bool:
    """By the Unicode properties: format, control but tab and line breaks, variation selectors,
    halves of a pair, plane 14, and those that are ignorable by name."""
    if code in (9, 10, 13, 0x85):
        return False
    return (
        unicodedata.category(chr(code)) in ("Cf", "Cc", "Cs")
        or 0x180B <= code <= 0x180F
        or 0xFE00 <= code <= 0xFE0F
        or 0xFFF0 <= code <= 0xFFF8
        or 0xE0000 <= code <= 0xE0FFF
        or code in IGNORED
    )


UNSEEN = [code for code in range(0x110000) if re.match(rules.INVISIBLE, chr(code))]


def test_list_is_that_of_the_properties() -> None:
    # A later Unicode knows more format characters than an older interpreter's tables.
    missing = [hex(code) for code in range(0x110000) if is_unseen(code) and code not in set_]
    extra = [
        hex(code)
        for code in UNSEEN
        if not is_unseen(code) and unicodedata.category(chr(code)) != "Cn"
    ]
    assert (missing, extra) == ([], [])


set_ = frozenset(UNSEEN)


def spellings(code: int) -> list[bytes]:
    """The character as JSON holds it: as an escape, as it is, as two sorts of entities."""
    char = chr(code)
    found = [json.dumps(char)[1:-1], f"&#{code};", f"&amp;amp;#x000{code:X};"]
    if code > 0x7E and not 0xD800 <= code < 0xE000:
        found.append(char)
    return [text.encode() for text in found]


def test_cheap_looks_at_a_text_agree_with_the_patterns() -> None:
    """No pattern is run where they say that it would find nothing; they are sure of nearly all
    ordinary characters, or a megabyte would take 25 ms."""
    letter = re.compile(rules.ALIKE_LETTER)
    doubted = 0
    beside = {code + step for code in UNSEEN for step in (-1, 0, 1)} - {-1, 0x110000}
    alike = {ord(char) + step for char in "".join(rules.ALIKE.values()) for step in (-1, 0, 1)}
    for code in sorted({*beside, *alike, *range(0x500), *range(0, 0x110000, 61)}):
        char = chr(code)
        for text in (char, char * 1_200) if code < 0x500 else (char,):
            rare = reading._beyond_ascii(text)
            plain = reading._is_plain(text, rare)
            assert not (plain and code in set_), hex(code)
            assert reading._may_look_alike(rare) or not letter.match(char), hex(code)
            doubted += not plain and code not in set_
    assert doubted == 0


def test_entities_of_the_gates_are_those_of_the_names() -> None:
    assert seen._NAME_HEADS | {b"am"} == gates.ENTITIES


@pytest.mark.parametrize("code", [code for code in UNSEEN if code < 0xD800 or code >= 0xE000][::7])
def test_token_with_an_unseen_character_goes(code: int) -> None:
    token = TOKENS["github"]
    for spelled in spellings(code):
        for at in (2, 12):
            raw = b'{"x":"it is %s ok"}' % (token[:at].encode() + spelled + token[at:].encode())
            assert gates.hit(raw), spelled
            assert json.loads(scrub_payload(raw)) == {"x": "it is [REDACTED:github] ok"}


SPLITS = (
    "\x1b[0m", "\x1b[1;31m", "\x1b[K", "\x1b[38;5;12m\x1b[K", "\x9b1m", "\x1b(B\x1b[m", "\b", "\f", "\x7f", "\ud800",
    "&#8203;", "&#x200B;", "&#X200b;", "&#00000000173;", "&shy;", "&shy", "&zwj;", "&zwnj;", "&lrm;", "&amp;shy;",
    "&ZeroWidthSpace;", "&NoBreak;", "&ic;", "&NegativeThinSpace;", "<wbr>", "<WBR/>", "<wbr />", "\\u200b", "\\\\u00ad",
    "\\u001b[1m", "\U000e0041", "\U000e0100", "\U0001d173", "\u3164",
)  # fmt: skip


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", TOKENS)
def test_token_that_is_split_goes(name: str, split: str) -> None:
    token = TOKENS[name]
    for text in (token[:2] + split + token[2:], split.join(token), token[:9] + split + token[9:]):
        raw = json.dumps({"x": f"it is {text} ok"}).encode()
        assert gates.hit(raw)
        assert json.loads(scrub_payload(raw)) == {"x": f"it is [REDACTED:{name}] ok"}
        wide = json.dumps({"x": text}, ensure_ascii=False).encode("utf-8", "replace")
        assert gates.hit(wide) or "\ud800" in split


@pytest.mark.parametrize("split", SPLITS)
def test_tag_that_is_split_opens(split: str) -> None:
    text = f"a <pri{split}vate>x1</p{split}rivate> b"
    raw = json.dumps({"x": text}).encode()
    assert gates.hit(raw)
    assert json.loads(scrub_payload(raw)) == {"x": "a [private] b"}


def test_second_tier_reads_so_too() -> None:
    secret = "Dragon" + "fly7q"
    for split in ("\u200d", "&shy;", "<wbr>", "\x1b[0m", "\ufe0f"):
        text = f"DB_PASS{split}WORD={secret[:5]}{split}{secret[5:]} \U0001f468\u200d\U0001f469"
        clean = second.scrub(text)
        assert secret[5:] not in clean
        assert second.scrub(clean) == clean


KEPT = (
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 می\u200cخواهم क्\u200dष ✔\ufe0f co\xadoperate",
    "\x1b[32mPASSED\x1b[0m tests/test_a.py",
    "a &amp; b &#39;c&#39; &shy;",
    "super<wbr>cali",
    "regex \\bword\\b \\u200b \\x1b[0m",
)


@pytest.mark.parametrize("text", KEPT)
def test_text_without_a_secret_stays(text: str) -> None:
    assert scrub_text(text) == text
    assert second.scrub(text) == text
    assert not gates.hit(json.dumps({"x": text}).encode())
    assert not gates.hit(json.dumps({"x": text}, ensure_ascii=False).encode())


@pytest.mark.parametrize("text", KEPT)
def test_a_secret_that_is_not_hidden_leaves_the_rest_as_it_was(text: str) -> None:
    assert scrub_text(f"{text} {TOKENS['github']} {text}") == f"{text} [REDACTED:github] {text}"
    assert second.scrub(f"{text} {TOKENS['github']}") == f"{text} [REDACTED:github]"


def test_what_an_unseen_character_sets_apart_goes_beside_what_it_hides() -> None:
    token = TOKENS["sk-key"]
    text = f"word\u200b{token} and {token[:9]}\u200b{token[9:]}"
    assert scrub_text(text) == "word[REDACTED:sk-key] and [REDACTED:sk-key]"


PIECES = st.sampled_from(
    [*SPLITS, "gh", "p_", "ghp", "_", "a1B2c3D4e5F6g7H8i9J0", "<", ">", "private", "pri", "vate", "/", "&", "amp;",
     "#60;", "lt;", "\\", "u200b", "sk-", " ", "word", "ｐ", "Ｐrivate", "＜", "‹", "\u3000", "x", "\n", "env", ".env"]
)  # fmt: skip


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=16).map("".join))
def test_gate_fires_wherever_a_rule_does(text: str) -> None:
    clean = scrub_text(text)
    assert scrub_text(clean) == clean
    if clean != text:
        assert gates.hit(json.dumps({"x": text}).encode())
        if "\ud800" not in text:
            assert gates.hit(json.dumps({"x": text}, ensure_ascii=False).encode())


@pytest.mark.parametrize(
    "piece", ["&amp;", "&#0", "&amp;amp;#", "\x1b[", "\x1b[0", "\u200b", "<wbr", "\\u001b", "&zwj", "%25", "\\", "\x9b"]
)  # fmt: skip
def test_hostile_repetition_ends(piece: str) -> None:
    text = piece * (65_536 // len(piece))
    reading.shown(text)
    scrub_text(text)
    assert gates.hit(json.dumps({"x": text}).encode()) in (True, False)
