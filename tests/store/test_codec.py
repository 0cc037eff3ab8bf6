from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmem.store import codec


@given(st.text(st.characters(exclude_categories=[])) | st.text("ab\0\ud800", min_size=500))
def test_any_text_comes_back(text: str) -> None:
    assert codec.unpack(codec.pack(text)) == text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", str),
        ("x" * 511, str),
        ("日" * 511, str),
        ("x" * 512, bytes),
        ("cut\0off", bytes),
        ("\ud800", bytes),
    ],
    ids=["empty", "short", "short cjk", "long", "nul", "surrogate"],
)
def test_short_clean_text_is_kept_plain(text: str, kind: type) -> None:
    assert type(codec.pack(text)) is kind


def test_null_reads_as_nothing() -> None:
    assert codec.unpack(None) == ""


def test_long_text_shrinks() -> None:
    text = '{"stdout": "all tests passed"}' * 100
    packed = codec.pack(text)
    assert isinstance(packed, bytes)
    assert len(packed) < len(text) // 10
