"""Transcripts made line by line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

SESSION = "aaaaaaaa-1111-4111-8111-111111111111"
ZERO = "2026-05-01T10:00:{:02d}.000Z"


class Script:
    """A Claude Code transcript that grows by a second a line."""

    def __init__(self, session: str = SESSION, *, cwd: str = "/home/dev/project") -> None:
        self.lines: list[dict[str, Any]] = []
        self._base = {"sessionId": session, "cwd": cwd, "gitBranch": "topic", "version": "2.0.0"}

    def add(self, kind: str, **more: Any) -> Script:
        number = len(self.lines)
        at = {"type": kind, "uuid": f"u{number}", "timestamp": ZERO.format(number)}
        self.lines.append({**self._base, **at, **more})
        return self

    def prompt(self, text: object, prompt_id: str = "", **more: Any) -> Script:
        named = {"promptId": prompt_id} if prompt_id else {}
        return self.add("user", message={"role": "user", "content": text}, **named, **more)

    def says(self, text: str, stop: str | None = "end_turn", **more: Any) -> Script:
        block = {"type": "text", "text": text}
        name = f"m{len(self.lines)}"
        message = {"id": name, "role": "assistant", "content": [block], "stop_reason": stop}
        return self.add("assistant", message=message, **more)

    def calls(self, name: str, given: dict[str, Any], call: str, **more: Any) -> Script:
        block = {"type": "tool_use", "id": call, "name": name, "input": given}
        message = {"id": f"m{call}", "role": "assistant", "content": [block]}
        return self.add("assistant", message=message, **more)

    def result(self, call: str, content: object, **more: Any) -> Script:
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        return self.add("user", message={"role": "user", "content": [block]}, **more)

    def text(self) -> bytes:
        return b"".join(
            json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in self.lines
        )

    def write(self, folder: Path, name: str = SESSION) -> Path:
        return written(folder / "-home-dev-project" / f"{name}.jsonl", self.text())


def written(path: Path, data: bytes) -> Path:
    """A file long untouched."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (1_780_000_000, 1_780_000_000))
    return path
