"""Gemini CLI's transcripts: ``chats/session-TIME-ID.jsonl``, or one JSON document in older versions.

A message is written again, under the same id, when its calls of tools are done; and a ``$set`` may
bring all of them once more. So each prompt and each call is told when it is first met in full. The
host's hooks know no ids, the transcript does: a turn that hooks have captured is known by its words
and its time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cmem.importers import told
from cmem.importers.told import Group, Problem, Reading, Told, word

HOST = "gemini-cli"
TITLE = "Gemini CLI"
_HEAD = 4096
_NAMED = re.compile(rb'"sessionId"\s*:\s*"([!#-\[\]-~]{1,200})"')
MAX_DOCUMENT = 64 * 1024 * 1024
_CONTEXT = "<session_context>"
_CWD = re.compile(
    r"(?:Workspace Directories:\*{0,2}\s*\n\s*- |working in the directory: )(/[^\n]{1,4096})"
)
_INJECTED = re.compile(
    r"\n{0,2}<hook_context>(?:(?!<hook_context>).){0,100000}</hook_context>\Z", re.S
)


def folder(env: Mapping[str, str], user_home: str) -> str:
    """Where its transcripts lie."""
    return os.path.join(env.get("GEMINI_CLI_HOME") or user_home, ".gemini", "tmp")


def groups(root: str, complain: Callable[[Problem], None]) -> list[Group]:
    """The sessions below ``root``."""
    return [
        Group((path,), size, changed)
        for path, size, changed in told.walk(root, (".jsonl", ".json"), complain)
        if os.path.basename(path).startswith("session-")
    ]


def session(group: Group) -> str:
    """The session's id, as the file's beginning says it."""
    try:
        with open(group.files[0], "rb") as file:
            found = _NAMED.search(file.read(_HEAD))
    except OSError:
        return ""
    return found[1].decode() if found else ""


def tell(group: Group, reading: Reading) -> Iterator[Told]:
    """What the session's file tells."""
    if not reading.complete:
        # What its hooks are about to bring could not be told from what stands here.
        detail = "is still in use; import it again when the session is over"
        reading.complain(Problem(group.files[0], 0, detail))
        return
    for path in group.files:
        teller = _Teller(_root_beside(path), reading.millis)
        yield from told.of_file(path, _lines(path, reading), teller, reading=reading)


def _lines(path: str, reading: Reading) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.endswith(".jsonl"):
        yield from told.lines(path, reading)
        return
    found = told.document(path, reading, most=MAX_DOCUMENT)
    if found is not None:
        yield 1, {**found, "$set": {"messages": found.get("messages")}}


def _root_beside(path: str) -> str:
    """The project's folder, where the host has written it beside its chats."""
    try:
        place = os.path.join(os.path.dirname(os.path.dirname(path)), ".project_root")
        with open(place, encoding="utf-8") as file:
            return file.read(4096).strip()
    except (OSError, ValueError):
        return ""


class _Teller:
    """One file's lines as events: what must be known from one line to the next."""

    def __init__(self, cwd: str, millis: Callable[[object, int], int]) -> None:
        self._cwd, self._millis = cwd, millis
        self._session = self._prompt_id = self._answer = self._model = ""
        self._foreign = False
        self._met: set[str] = set()
        self._at = self._said_at = 0

    @property
    def is_known(self) -> bool:
        """Whether anything was as this host writes it."""
        return bool(self._session)

    def line(self, line: dict[str, Any]) -> Iterator[Told]:
        """What one line tells, and what it shows to be over."""
        if "sessionId" in line:
            self._session = word(line.get("sessionId")) or self._session
            self._foreign = line.get("kind") not in (None, "main")
            self._at = self._millis(line.get("startTime"), self._at)
        patch = line.get("$set")
        again = patch.get("messages") if isinstance(patch, dict) else None
        for message in again if isinstance(again, list) else [line]:
            if not self._foreign:
                yield from self._message(message)

    def end(self, *, complete: bool) -> Iterator[Told]:
        """What is over because the file is."""
        if complete:
            yield from self._over()
        if self._prompt_id:
            yield self._told("SessionStart", {"source": "startup", "model": self._model})

    def _message(self, message: dict[str, Any]) -> Iterator[Told]:
        kind = message.get("type")
        if kind not in ("user", "gemini"):
            return
        self._at = self._millis(message.get("timestamp"), self._at)
        if kind == "user":
            yield from self._user(message)
            return
        self._model = word(message.get("model")) or self._model
        calls = message.get("toolCalls")
        for call in calls if isinstance(calls, list) else []:
            yield from self._call(call)
        text = told.texts(message.get("content"))
        if text.strip() and not self._is_met("said", message):
            self._answer, self._said_at = text, self._at

    def _is_met(self, kind: str, one: dict[str, Any]) -> bool:
        name = f"{kind} {one.get('id')}"
        if name in self._met:
            return True
        self._met.add(name)
        return False

    def _user(self, message: dict[str, Any]) -> Iterator[Told]:
        text = told.texts(message.get("displayContent") or message.get("content"))
        if text.startswith(_CONTEXT):
            found = _CWD.search(text)
            self._cwd = self._cwd or (found[1].strip() if found else "")
        elif text.strip() and not self._is_met("user", message):
            yield from self._over()
            self._prompt_id = word(message.get("id")) or str(self._at)
            yield self._told("BeforeAgent", {"prompt": text})

    def _call(self, call: dict[str, Any]) -> Iterator[Told]:
        status = call.get("status")
        if status not in ("success", "error") or self._is_met("call", call):
            return
        fields: dict[str, object] = {
            "tool_name": call.get("name"),
            "tool_input": call.get("args"),
            "tool_response": _response(call),
        }
        if word(call.get("id")):
            fields["tool_use_id"] = call["id"]
        made = self._told("AfterTool", fields)
        yield made._replace(at=self._millis(call.get("timestamp"), self._at))

    def _over(self) -> Iterator[Told]:
        if self._prompt_id and self._answer:
            stop = self._told("AfterAgent", {"prompt_response": self._answer})
            yield stop._replace(at=self._said_at)
        self._answer = ""

    def _told(self, event: str, more: dict[str, object]) -> Told:
        fields: dict[str, object] = {
            "session_id": self._session,
            "cwd": self._cwd,
            "hook_event_name": event,
        }
        if event != "SessionStart":
            fields["prompt_id"] = self._prompt_id
        return Told(event, self._at, {**fields, **more})


def _response(call: dict[str, Any]) -> dict[str, object]:
    """The answer in the form of the hook's."""
    results = call.get("result")
    found: dict[str, object] = {"llmContent": "", "returnDisplay": call.get("resultDisplay")}
    for one in results if isinstance(results, list) else []:
        part = one.get("functionResponse") if isinstance(one, dict) else None
        answer = part.get("response") if isinstance(part, dict) else None
        if isinstance(answer, dict) and isinstance(answer.get("output"), str):
            found["llmContent"] = _INJECTED.sub("", answer["output"])
        elif isinstance(answer, dict) and answer.get("error"):
            found |= {"llmContent": answer["error"], "error": {"message": answer["error"]}}
    if call.get("status") == "error" and "error" not in found:
        found["error"] = {"message": found["llmContent"] or "failed"}
    return found
