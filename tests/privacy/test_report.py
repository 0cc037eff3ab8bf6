"""What was cut, by field and rule, and never the thing itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmem.privacy import report, scrub, second

TOKEN = "gh" + "p_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
CUTS = [
    (f"a {TOKEN} b {TOKEN}", {"github": 2}),
    ("<private>x</private> and <private>y", {"private": 2}),
    ("<system-reminder>x</system-reminder>words", {"system-reminder": 1}),
    ("data:image/png;base64," + "A0" * 40, {"image": 1}),
    ("&lt;private&gt;words of mine", {"private": 1}),
    ("\\u003cprivate\\u003e words of mine", {"private": 1}),
    ("<pri\u200bvate> words of mine", {report.HIDDEN: 1}),
    (f"[REDACTED:github] and {TOKEN}", {"github": 1}),
]


@pytest.mark.parametrize(("text", "wanted"), CUTS)
def test_each_kind_of_cut_has_a_name(text: str, wanted: dict[str, int]) -> None:
    clean = scrub.scrub_text(text)
    assert clean != text
    assert report.cuts(text, clean) == wanted


def test_fields_are_named_by_their_keys() -> None:
    before = {"a": [{"b": TOKEN}, 1], "c": "plain text", TOKEN: "x", "d": None}
    after = second.scrub_document(before)
    found = report.compare(before, after)
    assert found == [
        report.Cut("a.0.b", {"github": 1}),
        report.Cut("(key)", {"github": 1}),
    ]
    assert report.compare(before, before) == []


def test_every_name_stands_in_one_list() -> None:
    hook, ingest = report.hook_rules(), report.ingest_rules()
    assert {"github", "private", "private-key", "sensitive-source"} <= set(hook)
    assert {"password", "cookie", "known-value"} <= set(ingest)
    assert not set(hook) & set(ingest)
    assert all(name == name.strip() and name for name in [*hook, *ingest])


JSON = st.recursive(
    st.none() | st.integers() | st.text() | st.just(TOKEN),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(JSON)
def test_no_value_breaks_it_and_no_secret_is_in_it(value: object) -> None:
    found = report.compare(value, second.scrub_document(value))
    assert TOKEN not in json.dumps([one._asdict() for one in found])
    assert (found == []) == (second.scrub_document(value) == value)
