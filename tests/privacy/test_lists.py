"""What reaches over the texts of a list goes as if they were one text; the list stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
import secret_forms
from hypothesis import given
from hypothesis import strategies as st

from cmem import lenient
from cmem.hosts import values
from cmem.hosts.wire import HOSTS
from cmem.privacy import gates, lists, second
from cmem.privacy.scrub import scrub_payload

SHAPE = HOSTS["claude-code"].shape
DRAW = secret_forms.drawing(32)
BODY = [DRAW(64, secret_forms.ALNUM) for _ in range(3)]
BEGIN, END = ("-----" + word + " RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
SECRET = "Dragon" + "fly7q"


def hook(value: object) -> Any:
    raw = json.dumps({"tool_response": value}).encode()
    assert gates.hit(raw)
    clean = scrub_payload(raw)
    assert scrub_payload(clean) == clean
    return json.loads(clean)["tool_response"]


def ingest(value: object) -> Any:
    clean = json.loads(values.document(value))
    assert second.scrub_document(value) == clean
    assert json.loads(values.document(clean)) == clean
    return clean


def marked(*lines: str, mark: str = "+") -> list[str]:
    return [mark + line for line in lines]


LISTS: dict[str, tuple[object, object]] = {
    "patch": (
        [{"start": 1, "lines": [" # notes", *marked("<private>", "x1", "</private>"), " end"]}],
        [{"start": 1, "lines": [" # notes", "+[private]", "", "", " end"]}],
    ),
    "patch of two hunks": (
        [{"lines": ["-<private>", "-x1"]}, {"lines": ["-x2", "-</private>", " end"]}],
        [{"lines": ["-[private]", ""]}, {"lines": ["", "", " end"]}],
    ),
    "cells": (
        {"cells": [{"source": ["<private>\n", "x1\n", "</private>\n"]}, {"source": ["y\n"]}]},
        {"cells": [{"source": ["[private]", "", "\n"]}, {"source": ["y\n"]}]},
    ),
    "blocks": (
        [{"type": "text", "text": text} for text in ("a <private>", "x1", "x2</private> b", "c")],
        [{"type": "text", "text": text} for text in ("a [private]", "", " b", "c")],
    ),
    "parts": (
        {"llmContent": [{"text": "a"}, {"text": "&lt;private&gt;"}, {"text": "x1"}]},
        {"llmContent": [{"text": "a"}, {"text": "[private]"}, {"text": ""}]},
    ),
    "texts and blocks": (
        ["a <private>", {"type": "text", "text": "x1"}, {"type": "image", "n": 1}, "x2</private> b"],
        ["a [private]", {"type": "text", "text": ""}, {"type": "image", "n": 1}, " b"],
    ),
    "wholly private": (["<private>", "x1", "</private>"], ["", "", ""]),
    "nested": (
        ["a<private>", "<private>x1</private>", "x2</private>b"],
        ["a[private]", "", "b"],
    ),
    "closer in an opener": (["a <pri</private>vate>", "x1"], ["a [private]", ""]),
    "hidden": (["a <pri\u200bvate>", "x1", "x2\u200b", "</private>b"], ["a [private]", "", "", "b"]),
    "reminder": (["a", "<system-reminder>", "x1", "</system-reminder>", "b"], ["a", "", "", "", "b"]),
    "key": ([BEGIN, *BODY, END, "b"], ["[REDACTED:private-key]", "", "", "", "", "b"]),
    "key in a patch": (
        [" a", *marked(BEGIN, *BODY, END), " b"],
        [" a", "+[REDACTED:private-key]", "", "", "", "", " b"],
    ),
    "removed key": (marked(BEGIN, *BODY, mark="-"), ["-[REDACTED:private-key]", "", "", ""]),
    "putty": (
        ["PuTTY-" + "User-Key-File-3: ssh-rsa", BODY[0], "Private-MAC: " + "0a" * 16, "b"],
        ["[REDACTED:putty-key]", "", "", "b"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_what_reaches_over_a_list_goes(name: str) -> None:
    value, expected = LISTS[name]
    assert hook(value) == expected
    assert ingest(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        ["a", "b"],
        ["private class A {", "List<String> x;", "}"],
        [{"text": "<private>x</private>"}],
        {"a": "<b>", "c": ["private"]},
        ["login", "password reset"],
        ["--token", "--help", "-v"],
        ["git", "commit", "-m", "the password is fine"],
        ["--password", "PASSWORD"],
        ["password", "username", "email"],
    ],
)
def test_other_lists_stay(value: Any) -> None:
    plain = json.loads(json.dumps(value).replace("<private>x</private>", "[private]"))
    if isinstance(value[0] if isinstance(value, list) else None, dict):
        plain = [{"text": ""}]
    assert ingest(value) == plain


ARGUMENTS: list[tuple[list[str], list[str]]] = [
    (["mysql", "--password", SECRET], ["mysql", "--password", "[REDACTED:password]"]),
    (["x", "--token", "Qx81mmPz0" + "Lk2nVt5rr"], ["x", "--token", "[REDACTED:token]"]),
    (["mysql", "-u", "me", "-p" + SECRET], ["mysql", "-u", "me", "-p[REDACTED:cli-password]"]),
    (["curl", "-u", "me:" + SECRET, "h"], ["curl", "-u", "me:[REDACTED:cli-password]", "h"]),
    (["sshpass", "-p", SECRET], ["sshpass", "-p", "[REDACTED:cli-password]"]),
    (["x", f"--password={SECRET}"], ["x", "--password=[REDACTED:password]"]),
    (
        ["curl", "-H", "Authorization:", "Key", "Qx81mmPz0" + "Lk2nVt5rr"],
        ["curl", "-H", "Authorization:", "Key", "[REDACTED:authorization]"],
    ),
]


@pytest.mark.parametrize(("words", "expected"), ARGUMENTS)
def test_what_an_option_is_given_goes(words: list[str], expected: list[str]) -> None:
    assert ingest({"argv": words, "n": 1}) == {"argv": expected, "n": 1}


@pytest.mark.parametrize("mark", ["", "+", "-", " "])
def test_a_pair_on_two_lines_goes(mark: str) -> None:
    lines = [mark + "login me", mark + "password " + SECRET]
    expected = [mark + "login me", mark + "password [REDACTED:netrc]"]
    assert ingest(lines) == expected
    assert second.scrub("\n".join(lines)) == "\n".join(expected)
    lines = [mark + "password:", mark + "  " + SECRET]
    expected = [mark + "password:", mark + "  [REDACTED:password]"]
    assert ingest(lines) == expected
    assert second.scrub("\n".join(lines)) == "\n".join(expected)
    lines = [mark + '"name": "DB_PASSWORD",', mark + f'"value": "{SECRET}"']
    expected = [lines[0], mark + '"value": "[REDACTED:password]"']
    assert ingest(lines) == expected


def test_a_huge_list_ends() -> None:
    value = [{"lines": ["+<private>" if not n % 3 else "+x1" for n in range(30_000)]}]
    assert "x1" not in json.dumps(hook(value))
    key = "k" * 100_000
    wide = {key: [{f"a{n}": "private"} for n in range(20_000)]}
    assert lists.across(wide, lambda pieces: pieces) is wide


def test_a_deep_list_ends() -> None:
    deep: object = ["<private>", "x1"]
    for _ in range(200):
        deep = [deep]
    raw = json.dumps({"a": deep}).encode()
    assert lenient.TOO_DEEP in scrub_payload(raw, SHAPE).decode()


@given(st.lists(st.lists(st.sampled_from(["<private>", "</private>", "a", "\n", BEGIN, END, BODY[0]])).map("".join), max_size=6))  # fmt: skip
def test_a_list_is_cut_as_its_lines_are(pieces: list[str]) -> None:
    clean = json.loads(scrub_payload(json.dumps(pieces).encode()))
    assert len(clean) == len(pieces)
    assert json.loads(scrub_payload(json.dumps(clean).encode())) == clean
    assert "<private>" not in json.dumps(clean)
