from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from cmem import tokens
from cmem.context import price


@given(st.text(max_size=60))
def test_any_text_costs_what_the_rule_says(text: str) -> None:
    assert price.count(text) == tokens.count(text)


def test_every_character_is_counted_alike() -> None:
    for code in range(0, sys.maxunicode + 1, 7):
        text = chr(code) * 4
        assert price.count(text) == tokens.count(text), hex(code)
    for start in range(0, 0x10000, 0x100):
        for code in (start, start + 0x2F, start + 0x30, start + 0x7F, start + 0x80, start + 0xFF):
            assert price.count(chr(code)) == tokens.count(chr(code)), hex(code)
