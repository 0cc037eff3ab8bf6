from __future__ import annotations

import re

import pytest

from cmem.lazy import pattern


def test_a_pattern_does_what_the_compiled_one_does():
    ours, compiled = pattern("(a+)b"), re.compile("(a+)b")
    assert ours.findall("aab ab") == compiled.findall("aab ab") == ["aa", "a"]
    assert ours.sub("x", "aab") == ours.sub("x", "aab") == "x"
    assert (ours.pattern, ours.groups) == (compiled.pattern, compiled.groups)


def test_a_wrong_one_fails_when_it_is_used():
    wrong = pattern("(")
    with pytest.raises(re.error):
        wrong.search("")
