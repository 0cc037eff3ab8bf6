from __future__ import annotations

import pytest

from cmem import tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("x" * 4000, 1000),
        ("é" * 8, 2),
        ("Привет, мир", 3),
        ("修", 1),
        ("修改了", 2),
        ("修改函数名", 4),
        ("データベース", 4),
        ("설정", 2),
        ("𠮷野家", 2),
        ("fix 修改了", 3),
        ("ไทย", 1),
        ("🎉🎉🎉🎉", 1),
    ],
)
def test_characters_count_a_quarter_and_cjk_two_thirds(text: str, expected: int) -> None:
    assert tokens.count(text) == expected
