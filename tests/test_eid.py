"""Names of events: the forms of the interface, and nothing odd in them."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmem import eid
from cmem.hosts.wire import HOSTS

WIRE = HOSTS["claude-code"]
PAYLOAD = b'{"x":1}'
HASH = hashlib.sha256(PAYLOAD).hexdigest()[:32]
WORDS = hashlib.sha256(b"hello").hexdigest()[:16]


def name(event: str, *fields: str) -> tuple[str, str, bool]:
    session, prompt_id, tool, prompt, source, cwd = (*fields, *[""] * 6)[:6]
    given_fields = (session, prompt_id, tool, prompt, source, cwd)
    return eid.derive(
        "claude-code", event, wire=WIRE, fields=given_fields, payload=PAYLOAD, captured_at=7
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (name("PostToolUse", "s", "p", "t"), ("claude-code:s:t:t", "", False)),
        (name("PostToolUseFailure", "s", "p", "t"), ("claude-code:s:t:t", "", False)),
        (
            name("UserPromptSubmit", "s", "p", "", "hello"),
            (f"claude-code:s:p:p:{WORDS}", "", False),
        ),
        (name("Stop", "s", "p"), (f"claude-code:s:h:{HASH}", "", False)),
        (name("PostToolUse", "s"), (f"claude-code:s:h:{HASH}", "", False)),
        (
            name("SessionStart", "s", "", "", "", "startup"),
            (f"claude-code:s:h:{HASH}", "", False),
        ),
        *(
            (found, (f"claude-code:s:h:{HASH}~7", f"claude-code:s:h:{HASH}", True))
            for found in (
                name("SessionStart", "s", "", "", "", "resume"),
                name("SessionStart", "s", "", "", "", "compact"),
                name("SessionEnd", "s"),
                name("PreCompact", "s"),
                name("UserPromptSubmit", "s", "", "", "hello"),
            )
        ),
    ],
)
def test_forms(found: tuple[str, str, bool], expected: tuple[str, str, bool]) -> None:
    assert found == expected


@given(st.text(max_size=200))
def test_any_id_becomes_a_harmless_one(text: str) -> None:
    found = eid.safe_id(text)
    assert 0 < len(found) <= 128
    assert set(found) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-")
    assert eid.safe_id(found) == found
