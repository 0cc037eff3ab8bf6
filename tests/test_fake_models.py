"""The scripted models that real clients are driven with, as far as those rely on them."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest
from fake_gemini import FakeGemini
from fake_openai import FakeOpenai

CODEX, GEMINI = "/v1/responses", "/v1beta/models/some-model:streamGenerateContent?alt=sse"
CALLS = {"text": "Looking.", "tools": [["shell", {"command": "ls {{cwd}}"}], ["patch", "a\nb"]]}


def ask(url: str, body: dict[str, Any]) -> str:
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(answer.read().decode())


def streamed(text: str) -> list[tuple[str, dict[str, Any]]]:
    """(event's name, data) of every event in a stream; "" for one without a name."""
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields.get("event", ""), json.loads(fields["data"])))
    return found


def test_the_responses_api_streams_texts_and_calls() -> None:
    with FakeOpenai([CALLS], vars={"cwd": "/w"}) as api:
        asked = {"model": "m", "stream": True, "input": []}
        events = streamed(ask(api.url + CODEX, asked))
        assert (api.requests[0]["body"], api.unused) == (asked, 0)
    assert [name for name, _data in events] == [data["type"] for _name, data in events]
    assert [name for name, _data in events] == [
        "response.created",
        *["response.output_item.done"] * 3,
        "response.completed",
    ]
    items = [data["item"] for name, data in events if name == "response.output_item.done"]
    assert items == events[-1][1]["response"]["output"]
    assert items[0]["content"] == [{"type": "output_text", "text": "Looking.", "annotations": []}]
    wanted = ("type", "name", "arguments", "input")
    assert [{key: item[key] for key in wanted if key in item} for item in items[1:]] == [
        {"type": "function_call", "name": "shell", "arguments": '{"command": "ls /w"}'},
        {"type": "custom_tool_call", "name": "patch", "input": "a\nb"},
    ]
    assert len({item["call_id"] for item in items[1:]}) == 2


def test_the_gemini_api_streams_one_piece_with_texts_and_calls() -> None:
    with FakeGemini([{"text": "Looking.", "tool": "ls", "input": {"dir": "{{cwd}}"}}, "done"],
                    vars={"cwd": "/w"}) as api:  # fmt: skip
        ((name, piece),) = streamed(ask(api.url + GEMINI, {"contents": []}))
        plain = GEMINI.replace("streamG", "g").partition("?")[0]
        whole = json.loads(ask(api.url + plain, {"contents": []}))
        assert [one["stream"] for one in api.requests] == [True, False]
    assert name == ""
    (candidate,) = piece["candidates"]
    assert candidate["finishReason"] == "STOP"
    assert candidate["content"] == {
        "role": "model",
        "parts": [{"text": "Looking."}, {"functionCall": {"name": "ls", "args": {"dir": "/w"}}}],
    }
    assert whole["candidates"][0]["content"]["parts"] == [{"text": "done"}]


@pytest.mark.parametrize(("fake", "path"), [(FakeOpenai, CODEX), (FakeGemini, GEMINI)])
def test_a_scripted_fault_is_that_status(fake: Any, path: str) -> None:
    with fake([{"status": 400, "message": "no"}]) as api:
        with pytest.raises(urllib.error.HTTPError) as caught:
            ask(api.url + path, {"stream": True})
        assert caught.value.code == 400
        assert api.requests[0]["status"] == 400
