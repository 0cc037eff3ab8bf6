"""A scriptable stand-in for the Responses API, as far as Codex uses it: streamed answers.

Scripts, faults, records and options are those of ``fake_anthropic``. A reply's ``tool`` with an
object for input becomes a function call, with a text for input a custom tool call.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import fake_anthropic
from fake_anthropic import FakeAnthropic, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator


class FakeOpenai(FakeAnthropic):
    """A scriptable fake of the Responses API, on loopback only."""

    @staticmethod
    def handler() -> type:
        return Handler

    def build(self, reply: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        """The whole response object for a reply that succeeds."""
        output = [_message(self.new_id("msg"), reply["text"])] if "text" in reply else []
        calls = [
            *reply.get("tools", []),
            *([[reply["tool"], reply.get("input", {})]] if "tool" in reply else []),
        ]
        output += [_call(self.new_id("call"), name, given) for name, given in calls]
        used = {"input_tokens": tokens(body), "output_tokens": tokens(output)}
        return {
            "id": self.new_id("resp"),
            "object": "response",
            "status": "completed",
            "model": body.get("model"),
            "output": output,
            "usage": used | {"total_tokens": sum(used.values())},
        }


class Handler(fake_anthropic.Handler):
    server_version = "fake-openai"

    def asks_model(self, path: str) -> bool:
        return path.endswith("/responses")

    def events(self, reply: dict[str, Any], body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        whole = self.api.build(reply, body)
        yield _event("response.created", response={**whole, "status": "in_progress", "output": []})
        for index, item in enumerate(whole["output"]):
            yield _event("response.output_item.done", output_index=index, item=item)
        yield _event("response.completed", response=whole)


def _event(kind: str, **more: Any) -> tuple[str, Any]:
    return kind, {"type": kind, **more}


def _message(name: str, text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": name, "role": "assistant", "content": content}


def _call(name: str, tool: str, given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        return {"type": "custom_tool_call", "call_id": name, "name": tool, "input": given}
    return {"type": "function_call", "call_id": name, "name": tool, "arguments": json.dumps(given)}


if __name__ == "__main__":
    sys.exit(fake_anthropic.main(server=FakeOpenai))
