from __future__ import annotations

import pytest

from cmem.store.titles import norm_key


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Fix: the build.", "fix the  BUILD"),
        ("Fixed “subtract”", "fixed subtract"),
        ("auth/login.ts", "auth login ts"),
        ("ＦＩＸ build", "fix build"),
        ("Straße gesperrt", "STRASSE gesperrt"),
        ("修改了配置。", "修改了配置"),
        ("well-known bug", "well known bug"),
    ],
)
def test_same_title(first: str, second: str) -> None:
    assert norm_key(first) == norm_key(second)


APART = [
    ("C", "C++", "C#"),
    ("upgrade to v1.1", "upgrade to v11", "upgrade to v1.10"),
    ("fix ffmpeg-7.1.conf", "fix ffmpeg-6.0.conf"),
    ("returns 1", "returns -1"),
    ("closes #12", "closes 12"),
    ("x < y", "x > y", "x = y"),
    ("tests ✅", "tests ❌"),
    ("ใกล", "ใกล้"),
    ("5 $", "5 €"),
]


@pytest.mark.parametrize("titles", APART, ids=[titles[0] for titles in APART])
def test_titles_that_differ_in_what_matters(titles: tuple[str, ...]) -> None:
    assert len({norm_key(title) for title in titles}) == len(titles)


def test_key_is_words_with_single_spaces() -> None:
    assert norm_key("  Fix(C++): v1.1 → v2.0 -- done!  ") == "fix c++ v1.1 → v2.0 done"
