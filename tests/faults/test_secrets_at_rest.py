"""No file of the home holds a secret, at any moment somebody could look.

Tokens with a prefix of their own and ``<private>`` text are in none after any hook: log, shared
memory, spill files and what was set aside included. What only the second set of rules knows
is in none after the next ``compress``, free pages and what is left of logs included.
``CMEM_SECRETS`` sets how many payloads are tried, ``CMEM_SEED`` which.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import secret_forms
from forked import Server
from hookrun import everything
from secret_forms import Draw
from support import payload_bytes, run_json

COUNT = int(os.environ.get("CMEM_SECRETS", "25"))
SEED = int(os.environ.get("CMEM_SEED", "20"))
STATES = ("as usual", "spool locked out", "too large for a row", "malformed")

Write = Callable[[str], bytes]


# --- how a secret can be written -------------------------------------------------------


def _escaped(text: str) -> str:
    """Every letter as JSON may also spell it."""
    return "".join(f"\\u{ord(c):04x}" if c.isalnum() else json.dumps(c)[1:-1] for c in text)


def _document(draw: Draw, text: str, *, name: str, state: str) -> dict[str, Any]:
    document: dict[str, Any] = {
        "session_id": f"s-{name}",
        "cwd": "/nowhere",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_use_id": f"t-{name}",
        "tool_input": {"command": "run", "list": [1, {"deep": "x"}]},
        "tool_response": {"stdout": "fine", "stderr": ""},
    }
    place = int(draw(1, "012345"))
    if place == 0:
        document["tool_input"]["command"] = text
    elif place == 1:
        document["tool_input"]["list"][1]["deep"] = text
    elif place == 2:
        document["tool_response"] = text
    elif place == 3:
        document["unknown"] = {"a": [text]}
    elif place == 4:
        document["tool_response"] = {text: "a key"}
    else:
        document["tool_response"]["stdout"] = text
    if state == "too large for a row":
        document["more"] = {f"part{n}": chr(97 + n) * 60_000 for n in range(6)}
    return document


def written(draw: Draw, text: str, *, name: str, state: str) -> bytes:
    raw = payload_bytes(_document(draw, text, name=name, state=state))
    if draw(1, "01") == "1":
        raw = raw.replace(payload_bytes({"": text})[4:-3], _escaped(text).encode())
    if state == "malformed":
        raw = raw[: -int(draw(1, "123456789"))]
    return raw


# --- the files of the home -------------------------------------------------------------


def assert_nowhere(secret: str, home: Path, raw: bytes) -> None:
    """Neither as it is, nor in UTF-16, nor in another case."""
    found = everything(home).lower()
    for spelling in (secret.lower().encode(), secret.lower().encode("utf-16-le")):
        assert spelling not in found, (secret, raw[:2_000])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "io").mkdir()
    server = Server(tmp_path / "io")
    yield server
    server.close()


def lay(home: Path, state: str) -> None:
    folder = home / "spool.db"
    if state == "spool locked out" and not folder.exists():
        folder.mkdir()
    elif state != "spool locked out" and folder.is_dir():
        folder.rmdir()


@pytest.mark.parametrize("state", STATES)
def test_first_tier_is_in_no_file_after_any_hook(state: str, home: Path, server: Server) -> None:
    rng = random.Random(f"{SEED} {state}")
    draw = secret_forms.drawing(rng.randrange(1 << 30))
    lay(home, state)
    for number in range(COUNT):
        name, build = rng.choice(sorted(secret_forms.FIRST.items()))
        secret = build(draw)
        context = rng.choice(sorted(secret_forms.CONTEXTS.values()))
        raw = written(draw, context.format(secret), name=f"{number}", state=state)
        done = server.fire(home, "claude-code", "PostToolUse", raw=raw)
        assert done == (0, b"", b""), name
        assert_nowhere(secret[-12:], home, raw)


OPENED = ("<private>", "<PRIVATE why='x'>", "< private >", "&lt;private&gt;", "<private><private>")


def in_pieces(draw: Draw, lines: list[str]) -> Any:
    """Lines as hosts give them in lists: of a patch, of a notebook, as blocks, as parts."""
    marked = [draw(1, "+- ") + line for line in lines]
    return {
        "0": {"structuredPatch": [{"lines": [marked[0]]}, {"lines": marked[1:]}]},
        "1": {"cells": [{"source": [line + "\n" for line in lines]}]},
        "2": [{"type": "text", "text": line} for line in lines],
        "3": {"llmContent": ["x", *({"text": line} for line in lines)]},
    }[draw(1, "0123")]


@pytest.mark.parametrize("state", STATES)
def test_what_reaches_over_a_list_is_in_no_file_after_any_hook(
    state: str, home: Path, server: Server
) -> None:
    rng = random.Random(f"{SEED} lists {state}")
    draw = secret_forms.drawing(rng.randrange(1 << 30))
    lay(home, state)
    dashes = "-" * 5
    for number in range(COUNT // 3 + 1):
        body = [draw(64, secret_forms.ALNUM) for _ in range(3)]
        first, last = rng.choice(
            [
                (rng.choice(OPENED), "</private>"),
                ("<system-reminder>", "</system-reminder>"),
                (f"{dashes}BEGIN RSA PRIVATE KEY{dashes}", f"{dashes}END RSA PRIVATE KEY{dashes}"),
                ("<private>", "no end"),
            ]
        )
        document = _document(draw, "x", name=f"{number}", state=state)
        document["tool_response"] = in_pieces(draw, [first, *body, last])
        raw = payload_bytes(document)
        raw = raw[:-2] if state == "malformed" else raw
        done = server.fire(home, "claude-code", "PostToolUse", raw=raw)
        assert done == (0, b"", b"")
        for line in body:
            assert_nowhere(line[8:32], home, raw)


@pytest.mark.parametrize("state", STATES)
def test_private_text_is_in_no_file_after_any_hook(state: str, home: Path, server: Server) -> None:
    rng = random.Random(f"{SEED} private {state}")
    draw = secret_forms.drawing(rng.randrange(1 << 30))
    lay(home, state)
    for number in range(COUNT):
        private = draw(24, secret_forms.LOWER)
        opened = rng.choice(OPENED)
        closed = rng.choice(
            ("", opened.replace("private", "/private").replace("PRIVATE", "/PRIVATE"))
        )
        text = f"before {opened}{private} {private}{closed}"
        raw = written(draw, text, name=f"{number}", state=state)
        done = server.fire(home, "claude-code", "PostToolUse", raw=raw)
        assert done == (0, b"", b"")
        assert_nowhere(private, home, raw)


def test_second_tier_is_in_no_file_after_the_next_run(home: Path, server: Server) -> None:
    rng = random.Random(f"{SEED} second")
    draw = secret_forms.drawing(rng.randrange(1 << 30))
    builders = [build for many in secret_forms.SECOND.values() for build in many]
    sent: list[tuple[str, bytes]] = []
    for number in range(COUNT):
        secret = rng.choice(builders)(draw)
        context = rng.choice(sorted(secret_forms.CONTEXTS.values()))
        raw = written(draw, context.format(secret), name=f"{number}", state="as usual")
        done = server.fire(home, "claude-code", "PostToolUse", raw=raw)
        assert done == (0, b"", b"")
        sent.append((secret, raw))
    assert run_json("compress", "--all", CMEM_PROVIDER="extract")["ingested"] == COUNT
    # One in a hundred is not known by its form alone, as tests/privacy measures.
    left = [raw for secret, raw in sent if secret[-12:].encode() in everything(home)]
    assert len(left) <= COUNT // 100, left[:3]
