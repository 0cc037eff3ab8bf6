"""Surgery keeps every byte it was not asked to change."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmem.install import json_edit

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
LAYOUTS = st.sampled_from([None, 1, 2, 4, "\t"])


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("{}", '{\n  "k": [\n    1\n  ]\n}'),
        ("{ }\n", '{\n  "k": [\n    1\n  ]\n}\n'),
        ('{"a": 1}', '{"a": 1, "k": [1]}'),
        ('{"a":1}\n', '{"a":1, "k": [1]}\n'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"k": [\n\t\t1\n\t]\n}\n'),
        ('{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\r\n    "k": [\r\n        1\r\n    ]\r\n}'),
        ('{ "a": 1,\n  "b": 2 }', '{ "a": 1,\n  "b": 2,\n  "k": [\n    1\n  ] }'),
    ],
    ids=["empty", "blank", "inline", "tight", "tabs", "crlf and four", "odd"],
)
def test_a_member_is_added_in_the_style_of_the_file(text: str, after: str) -> None:
    assert json_edit.add_member(text, 0, key="k", value=[1]) == after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('{"h": [1]}', '{"h": [1, 9]}'),
        ('{"h": []}', '{"h": [9]}'),
        ('{\n  "h": []\n}', '{\n  "h": [\n    9\n  ]\n}'),
        ('{\n  "h": [\n    1\n  ]\n}', '{\n  "h": [\n    1,\n    9\n  ]\n}'),
        ('{\n  "h": [ 1 ]\n}', '{\n  "h": [ 1, 9 ]\n}'),
    ],
)
def test_an_item_is_added_in_the_style_of_its_array(text: str, after: str) -> None:
    at = json_edit.members(text, 0)[0].value
    assert json_edit.add_item(text, at, 9) == after


@pytest.mark.parametrize(
    ("index", "after"),
    [
        (0, '{\n  "b": 2,\n  "c": 3\n}'),
        (1, '{\n  "a": 1,\n  "c": 3\n}'),
        (2, '{\n  "a": 1,\n  "b": 2\n}'),
    ],
)
def test_removing_takes_the_comma_along(index: int, after: str) -> None:
    text = '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}'
    assert json_edit.remove(text, json_edit.members(text, 0), index) == after


def test_removing_the_only_member_leaves_an_empty_object() -> None:
    text = '{\n  "a": {"x": [1, "}"]}\n}\n'
    assert json_edit.remove(text, json_edit.members(text, 0), 0) == "{}\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1,}', "line 1: "),
        ('{\n  // note\n  "a": 1\n}', "line 2: "),
        ('{"a": 1, "a": 2}', "the key 'a' stands twice in one object"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": "x\ny"}', "line 1: invalid control character at"),
        ("{} {}", "line 1: extra data"),
        ("[" * 100_000, "nested too deeply, or a number too long"),
        (" ", "line 1: expecting value"),
    ],
    ids=["trailing comma", "comment", "twice", "nan", "control", "two", "deep", "blank"],
)
def test_what_is_not_strict_json_is_refused(text: str, reason: str) -> None:
    with pytest.raises(json_edit.NotStrictJsonError) as caught:
        json_edit.check(text)
    assert str(caught.value).startswith(reason)


@given(st.dictionaries(st.text(), VALUES, max_size=4), LAYOUTS, VALUES)
def test_adding_then_removing_a_member_changes_nothing_else(
    document: dict[str, object], indent: int | str | None, value: object
) -> None:
    document.pop("new", None)
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    added = json_edit.add_member(text, 0, key="new", value=value)
    assert json.loads(added) == {**document, "new": value}
    parts = json_edit.members(added, 0)
    assert [part.key for part in parts] == [*document, "new"]
    assert json_edit.remove(added, parts, len(parts) - 1) == text


@given(st.lists(VALUES, min_size=1, max_size=4), LAYOUTS, VALUES, st.integers(0, 3))
def test_replacing_an_item_changes_that_item_only(
    document: list[object], indent: int | str | None, value: object, index: int
) -> None:
    index %= len(document)
    text = json.dumps(document, indent=indent)
    replaced = json_edit.replace(text, json_edit.items(text, 0)[index], value)
    assert json.loads(replaced) == [*document[:index], value, *document[index + 1 :]]
