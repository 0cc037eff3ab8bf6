from __future__ import annotations

import pytest

from cmem.shell import text


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("a b; c | d && e & f\ng", [["a", "b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("A=1 a 'b c' \"d $x\" e\\ f # g", [["A=1", "a", "b c", "d $x", "e f"]]),
        ("a $(b c) d", [["b", "c"], ["a", "$()", "d"]]),
        ('a "x $(b "c") y" `d`', [["b", "c"], ["d"], ["a", "x $() y", "$()"]]),
        ("(a b) | c; d() { e; }", [["a", "b"], ["c"], ["d"], ["{", "e"], ["}"]]),
        ("a > b 2>&1 &> c < d e", [["a", "e"]]),
        ("a \\\n b", [["a", "b"]]),
        ("a <<X b\n'c\nX\nd", [["a", "b"], ["d"]]),
        ("a <<X\n$(b c)\nX", [["a"], ["b", "c"]]),
        ("a <<'X'\n$(b c)\nX", [["a"]]),
    ],
)
def test_words_of_the_simple_commands(command: str, expected: list[list[str]]) -> None:
    read = text.read(command)
    assert read.whole
    assert [[word.text for word in one.words] for one in read.commands] == expected


def test_texts_and_files_go_with_the_command_that_has_them() -> None:
    read = text.read("a <<-X > f\n\tone\n\tX\nb <<< 'two' >> g")
    assert [(one.texts, one.files) for one in read.commands] == [
        (("\tone\n",), ("f",)),
        (("two",), ("g",)),
    ]


@pytest.mark.parametrize("command", ["a 'b", 'a "b', "a $(b", "a `b", "$(" * 50 + ")" * 50])
def test_what_is_not_closed_or_too_deep_is_not_whole(command: str) -> None:
    assert not text.read(command).whole
