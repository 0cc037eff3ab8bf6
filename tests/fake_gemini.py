"""A scriptable stand-in for the Gemini API: ``:generateContent`` and its streamed form.

Scripts, faults, records and options are those of ``fake_anthropic``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import fake_anthropic
from fake_anthropic import FakeAnthropic, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator


class FakeGemini(FakeAnthropic):
    """A scriptable fake of the Gemini API, on loopback only."""

    @staticmethod
    def handler() -> type:
        return Handler

    def build(self, reply: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        """The response for a reply that succeeds; streamed, it is the only piece."""
        parts: list[dict[str, Any]] = [{"text": reply["text"]}] if "text" in reply else []
        calls = [
            *reply.get("tools", []),
            *([[reply["tool"], reply.get("input", {})]] if "tool" in reply else []),
        ]
        parts += [{"functionCall": {"name": name, "args": given}} for name, given in calls]
        content = {"role": "model", "parts": parts}
        used = {"promptTokenCount": tokens(body), "candidatesTokenCount": tokens(parts)}
        return {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": used | {"totalTokenCount": sum(used.values())},
            "responseId": self.new_id("resp"),
        }


class Handler(fake_anthropic.Handler):
    server_version = "fake-gemini"

    def asks_model(self, path: str) -> bool:
        return path.endswith((":generateContent", ":streamGenerateContent"))

    def is_streamed(self, path: str, body: Any) -> bool:
        return path.endswith(":streamGenerateContent")

    def events(self, reply: dict[str, Any], body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        yield "", self.api.build(reply, body)


if __name__ == "__main__":
    sys.exit(fake_anthropic.main(server=FakeGemini))
