from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmem.privacy.sanitise import clean

ESC = "\x1b"
CASES = {
    "plain": ("plain text\n\tof two lines", "plain text\n\tof two lines"),
    "other scripts": ("修改 설정 เมือง हिन्दी עברית", "修改 설정 เมือง हिन्दी עברית"),
    "colour": (f"{ESC}[1;31mred{ESC}[0m", "red"),
    "cursor": (f"a{ESC}[2J{ESC}[6n{ESC}[3Ab", "ab"),
    "clipboard": (f"a{ESC}]52;c;QUJD\x07b", "ab"),
    "link": (f"{ESC}]8;;http://x{ESC}\\name{ESC}]8;;{ESC}\\", "name"),
    "title without end": (f"a{ESC}]0;evil\nb", "a\nb"),
    "dcs, apc, pm, sos": (f"a{ESC}Pq{ESC}\\{ESC}_x{ESC}\\{ESC}^y{ESC}\\{ESC}Xz{ESC}\\b", "ab"),
    "eight bit": ("a\x9b31mb\x9d0;t\x9cc\x90q\x9cd", "abcd"),
    "reset": (f"a{ESC}cb", "ab"),
    "charset": (f"a{ESC}(0b", "ab"),
    "escape at the end": (f"a{ESC}", "a"),
    "escape of an escape": (f"{ESC}{ESC}[31m[31m", "[31m"),
    "csi cut short": (f"a{ESC}[12\nb", "a\nb"),
    "bell and backspace": ("a\x07b\x08c\x7fd", "abcd"),
    "nul": ("a\0b", "a\ufffdb"),
    "replacement character stays": ("a\ufffdb", "a\ufffdb"),
    "line ends": ("1\r\n2\r3\x0b4\x0c5\x856\u20287\u20298", "1\n2\n3\n4\n5\n6\n7\n8"),
    "bidi": ("a\u202eb\u2066c\u200ed\u061ce", "abcde"),
    "tags": ("a\U000e0041\U000e0042b", "ab"),
    "invisible": ("a\u200bb\u2060c\ufeffd\u00ade\u180ef\u3164g\uffa0h\ufff9i", "abcdefghi"),
    "surrogates": ("a\ud83d\ude00b", "ab"),
    "joiners stay": ("👨\u200d👩 می\u200cخواهم", "👨\u200d👩 می\u200cخواهم"),
}


@pytest.mark.parametrize(("text", "cleaned"), CASES.values(), ids=CASES)
def test_clean(text, cleaned):
    assert clean(text) == cleaned


@pytest.mark.parametrize(("text", "cleaned"), CASES.values(), ids=CASES)
def test_clean_on_one_line(text, cleaned):
    assert clean(text, one_line=True) == " ".join(cleaned.split())


HOSTILE = st.text(alphabet=st.sampled_from("a1;[]P\\m\x07\x1b\x9b\x9c\x9d\0\r\n\u202e\u2028\ud800"))


@given(st.text() | HOSTILE)
def test_nothing_that_acts_is_left(text):
    cleaned = clean(text)
    assert not [c for c in cleaned if (c < " " and c not in "\t\n") or "\x7f" <= c <= "\x9f"]
    assert not [c for c in cleaned if "\ud800" <= c <= "\udfff" or "\u202a" <= c <= "\u202e"]
    cleaned.encode()


@given(st.text() | HOSTILE)
def test_cleaning_twice_changes_nothing_more(text):
    assert clean(clean(text)) == clean(text)
    assert clean(clean(text, one_line=True), one_line=True) == clean(text, one_line=True)


@given(st.text() | HOSTILE)
def test_one_line_is_one_line(text):
    assert len(clean(text, one_line=True).splitlines()) <= 1


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_printable_ascii_is_untouched(text):
    assert clean(text) == text
