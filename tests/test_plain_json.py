from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
import support
from hypothesis import given
from hypothesis import strategies as st

from cmem import plain_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
TEXTS = (
    *("", " ", "[1", '{"a"}', "[1]x", "nul", '"\x01"', "\ufeff[1]", "[1,]", "[1] [2]", "\xa0[1]"),
    *(' {"a": [1, 2.5, -3e10, null, true, "x\\u00e9\\ud800"]}\n', "NaN", "[-Infinity, 1e999]"),
    *('{"a": 1, "a": 2}', "1", '"\\ud83d\\ude00"', "[" * 100_000),
)


def outcome(loads, text):
    try:
        return repr(loads(text))
    except (ValueError, RecursionError) as error:
        return type(error), isinstance(error, RecursionError) or str(error)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:20])
def test_a_text_is_read_as_the_package_reads_it(text):
    assert outcome(plain_json.loads, text) == outcome(json.loads, text)


@given(VALUES)
def test_a_value_is_written_as_the_package_writes_it(value):
    written = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    assert plain_json.dumps(value) == written
    assert outcome(plain_json.loads, written) == outcome(json.loads, written)


def test_what_it_does_not_know_is_left_to_the_package():
    assert plain_json.dumps({1: (2, None), None: math.inf}) == '{"1": [2, null], "null": Infinity}'
    with pytest.raises(TypeError):
        plain_json.dumps({1, 2})


def test_the_package_is_not_imported():
    code = (
        "import sys; from cmem import plain_json as p; p.loads(p.dumps({'a': [1, 2.5, 'é']}));"
        "print(sorted({'json', 're', 'typing'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=support.clean_env(PYTHONPATH=str(support.ROOT)),
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout == "[]\n"
