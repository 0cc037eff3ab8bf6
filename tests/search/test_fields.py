"""Filters among the words of a query: what is one, and what is text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmem.search import fields

CASES = {
    "type:decision cache": ("cache", {"type": ["decision"]}),
    "cache type:decision": ("cache", {"type": ["decision"]}),
    "a file:auth.ts b": ("a  b", {"file": ["auth.ts"]}),
    'file:"my notes.md" x': ("x", {"file": ["my notes.md"]}),
    "TYPE:bugfix type:feature x": ("x", {"type": ["bugfix", "feature"]}),
    "since:monday until:today": ("", {"since": ["monday"], "until": ["today"]}),
    "branch:fix/login agent:Explore": ("", {"branch": ["fix/login"], "agent": ["Explore"]}),
    "concept:概念 缓存": ("缓存", {"concept": ["概念"]}),
    "file:C:\\a.txt": ("", {"file": ["C:\\a.txt"]}),
    '"type:decision"': ('"type:decision"', {}),
    '"a type:decision b" c': ('"a type:decision b" c', {}),
    "“kind:o type:x” c": ("“kind:o type:x” c", {}),
    "foo:bar x": ("foo:bar x", {}),
    "type: decision": ("type: decision", {}),
    "type:": ("type:", {}),
    'type:""': ('type:""', {}),
    'type:"': ('type:"', {}),
    "type::name": ("type::name", {}),
    "file:///etc/hosts": ("file:///etc/hosts", {}),
    "subtype:decision": ("subtype:decision", {}),
    "x=type:decision": ("x=type:decision", {}),
    'type:a"b"': ('type:a"b"', {}),
    "host:8080": ("host:8080", {}),
    "": ("", {}),
}


@pytest.mark.parametrize(("text", "expected"), CASES.items(), ids=map(ascii, CASES))
def test_split(text, expected):
    found = fields.split(text, {"host": lambda value: not value.isdigit()})
    assert found == (*expected, {})


WITHOUT = {
    "-type:decision x": ("x", {}, {"type": ["decision"]}),
    'type:a -type:b -FILE:"a b.md" z': ("z", {"type": ["a"]}, {"type": ["b"], "file": ["a b.md"]}),
    "--type:decision x": ("--type:decision x", {}, {}),
    "-since:monday x": ("-since:monday x", {}, {}),
    "-host:8080": ("-host:8080", {}, {}),
    '"-type:decision" x': ('"-type:decision" x', {}, {}),
}


@pytest.mark.parametrize(("text", "expected"), WITHOUT.items(), ids=map(ascii, WITHOUT))
def test_a_minus_before_a_filter(text, expected):
    assert fields.split(text, {"host": lambda value: not value.isdigit()}) == expected


@given(text=st.text(alphabet=st.sampled_from('abfile:type" -“”\n\0x')))
def test_any_text_can_be_split_and_what_is_no_filter_stays(text):
    left, given, without = fields.split(text, {})
    if not given and not without:
        assert left == text
    assert all(value for one in (given, without) for values in one.values() for value in values)


def test_a_value_that_cannot_be_meant_is_text():
    assert fields.split("since:banana x", {"since": lambda _: False}) == (
        "since:banana x",
        {},
        {},
    )
