from __future__ import annotations

import json

import apsw
import pytest

from cmem.store import codec, functions

TITLES = {
    "command": (
        "Bash",
        {"command": "pytest -q", "description": "Run tests"},
        "Bash: pytest -q · Run tests",
    ),
    "file": ("Read", {"file_path": "/p/a.py", "limit": 3}, "Read: /p/a.py"),
    "pattern": ("Grep", {"pattern": "TODO", "path": "src"}, "Grep: src · TODO"),
    "one line": ("Bash", {"command": "a\n  b\tc"}, "Bash: a b c"),
    "long": ("WebFetch", {"url": "x" * 300}, "WebFetch: " + "x" * 200),
    "nothing known": ("mcp__x__y", {"n": 1}, "mcp__x__y"),
    "wrong type": ("Bash", {"command": ["a"]}, "Bash"),
    "a list": ("Odd", ["a"], "Odd"),
}
KEYS = {
    "observation": (("O", 17, "bugfix", "claude-code", ""), "d_o_ p_17_ t_bugfix_ h_claude-code_"),
    "agent": (
        ("O", 1, "change", "x", "Explore"),
        "d_o_ p_1_ t_change_ h_x_ a_explore_",
    ),
    "signs are spelled out": (("T", 1, "a b*é", "x", ""), "d_t_ p_1_ t_a.20.b.2a..e9._ h_x_"),
}


@pytest.mark.parametrize(("name", "given", "title"), TITLES.values(), ids=TITLES)
def test_tool_title(name, given, title):
    assert functions.tool_title(name, codec.pack(json.dumps(given))) == title


@pytest.mark.parametrize(("arguments", "keys"), KEYS.values(), ids=KEYS)
def test_keys(arguments, keys):
    assert functions.keys(*arguments) == keys


@pytest.mark.parametrize("stored", [None, "", "not json", "[" * 5000, '"x"', "3", "null", "{"])
def test_any_stored_value_has_a_title_and_a_body(stored):
    assert functions.tool_title("Bash", stored) == "Bash"
    assert isinstance(functions.tool_body(stored, stored), str)


def test_body_is_every_string_in_order_without_json_signs():
    given = {"command": "ls", "n": 3, "deep": [{"a": "x"}, ["y", None, True]]}
    answer = {"stdout": "one\ntwo", "stderr": ""}
    body = functions.tool_body(json.dumps(given), json.dumps(answer))
    assert body == "ls\nx\ny\none\ntwo"


def test_middle_of_a_long_body_is_left_out():
    body = functions.tool_body("", codec.pack(json.dumps("a" * 12_000 + "b" * 9_000 + "c" * 4_000)))
    assert body == "a" * 12_000 + "\n" + "c" * 4_000


def test_list_is_its_strings():
    assert functions.list_text('["a b", "c"]') == "a b\nc"
    assert functions.list_text("[]") == functions.list_text(None) == ""


def test_functions_work_where_the_schema_is_not_trusted():
    conn = apsw.Connection(":memory:")
    functions.register(conn)
    conn.pragma("trusted_schema", 0)
    conn.execute("CREATE VIEW v AS SELECT cmem_words('A-b') AS w, cmem_parts('fooBar') AS p")
    assert conn.execute("SELECT w, p FROM v").fetchall() == [("a b", "foo bar")]
