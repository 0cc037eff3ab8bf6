"""Codex CLI's transcripts: ``rollout-TIME-ID.jsonl``, lines of ``{timestamp, type, payload}``;
``codex_lines`` brings older ones into this form.

The same thing is told several times, as an item of the wire and as an event; which of them are
there has changed over the versions. A prompt is taken from whichever comes first. A tool call is
told when its output has come; a command's own output is taken before the text for the model,
because that is what the host gives its hooks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cmem import lenient
from cmem.eid import sha256_hex
from cmem.hosts import codex as host
from cmem.importers import codex_lines, told
from cmem.importers.told import Group, Problem, Reading, Told, word

HOST = "codex"
TITLE = "Codex CLI"
# What the host puts before the conversation in the user's name.
_NOT_THE_USERS = ("<", "# AGENTS.md instructions")
_KINDS = frozenset({"turn_context", "response_item", "event_msg", "compacted"})
_SHELLS = frozenset(
    {"exec_command", "shell", "shell_command", "local_shell", "container.exec", "unified_exec"}
)
_HEAD = re.compile(
    r"(?:Chunk ID: [^\n]{0,80}\n|Wall time: [^\n]{0,80}\n|Process exited with code \d{1,10}\n"
    r"|Original token count: \d{1,12}\n|Exit code: \d{1,10}\n){1,8}(?:Output:\n)?"
)
_EXIT = re.compile(r"(?:Process exited with code|Exit code:) (\d{1,10})\n")


def folder(env: Mapping[str, str], user_home: str) -> str:
    """Where its transcripts lie."""
    return os.path.join(env.get("CODEX_HOME") or os.path.join(user_home, ".codex"), "sessions")


def groups(root: str, complain: Callable[[Problem], None]) -> list[Group]:
    """The sessions below ``root``, archived ones too where that is the host's own folder."""
    found = list(told.walk(root, codex_lines.SUFFIXES, complain))
    beside = os.path.join(os.path.dirname(root), "archived_sessions")
    if os.path.basename(root) == "sessions" and os.path.isdir(beside):
        found += told.walk(beside, codex_lines.SUFFIXES, complain)
    return [
        Group((path,), size, changed)
        for path, size, changed in found
        if codex_lines.is_transcript(path, asked_for=path == root)
    ]


def session(group: Group) -> str:
    """The session's id, as the file's name says it."""
    return codex_lines.named(group.files[0])


def tell(group: Group, reading: Reading) -> Iterator[Told]:
    """What the session's file tells."""
    for path in group.files:
        teller = _Teller(reading.millis, codex_lines.named(path))
        yield from told.of_file(path, codex_lines.lines(path, reading), teller, reading=reading)


class _Teller:
    """One file's lines as events: what must be known from one line to the next."""

    def __init__(self, millis: Callable[[object, int], int], named: str) -> None:
        self._millis, self._named = millis, named
        self._session = self._cwd = self._branch = self._turn = self._model = ""
        self._calls: dict[str, tuple[str, object]] = {}
        self._outputs: dict[str, object] = {}
        self._exits: dict[str, object] = {}
        self._prompts: set[str] = set()
        self._answer = ""
        self._at = self._said_at = 0
        self._open = False

    @property
    def is_known(self) -> bool:
        """Whether anything was as this host writes it."""
        return bool(self._session)

    def line(self, line: dict[str, Any]) -> Iterator[Told]:
        """What one line tells, and what it shows to be over."""
        self._at = self._millis(line.get("timestamp"), self._at)
        kind, body = line.get("type"), line.get("payload")
        if not isinstance(body, dict):
            return
        if kind == "session_meta":
            self._meta(body)
            return
        if kind in _KINDS:
            self._session = self._session or self._named
        if kind == "turn_context":
            self._context(body)
        elif kind == "response_item":
            yield from self._item(body)
        elif kind == "event_msg":
            yield from self._event(body)
        elif kind == "compacted":
            yield self._told("PreCompact", {"trigger": "auto"})

    def end(self, *, complete: bool) -> Iterator[Told]:
        """What is over because the file is."""
        if complete and self._open and self._answer:
            yield from self._over(self._answer)
        if self._session and self._prompts:
            yield self._told("SessionStart", {"source": "startup", "model": self._model})

    # --- lines -----------------------------------------------------------------------

    def _meta(self, body: dict[str, Any]) -> None:
        if self._session:  # a fork repeats the first line of what it was made from
            return
        self._session = word(body.get("id")) or word(body.get("session_id"))
        self._cwd = word(body.get("cwd"))
        git = body.get("git")
        self._branch = word(git.get("branch")) if isinstance(git, dict) else ""

    def _context(self, body: dict[str, Any]) -> None:
        self._cwd = word(body.get("cwd")) or self._cwd
        self._model = word(body.get("model")) or self._model
        self._turn = word(body.get("turn_id")) or self._turn

    def _item(self, body: dict[str, Any]) -> Iterator[Told]:
        kind = body.get("type")
        if kind == "message" and body.get("role") == "user":
            text = told.texts(body.get("content"))
            self._cwd = self._cwd or codex_lines.folder_in(text)
            if not text.startswith(_NOT_THE_USERS):
                yield from self._prompt(text)
        elif kind == "message" and body.get("role") == "assistant":
            self._say(told.texts(body.get("content")))
        elif kind == "function_call":
            self._calls[word(body["call_id"])] = _call(_name(body), body.get("arguments"))
        elif kind == "local_shell_call":
            action = body.get("action")
            given = action.get("command") if isinstance(action, dict) else None
            self._calls[word(body["call_id"])] = ("Bash", {"command": _command(given)})
        elif kind == "custom_tool_call":
            given = {"command": body.get("input")}
            self._calls[word(body["call_id"])] = (word(body["name"]), given)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield from self._result(word(body["call_id"]), body.get("output"))

    def _event(self, body: dict[str, Any]) -> Iterator[Told]:
        kind = body.get("type")
        if kind == "task_started":
            yield from self._close()
            self._turn = word(body.get("turn_id"))
        elif kind == "user_message":
            yield from self._prompt(word(body.get("message")))
        elif kind == "agent_message":
            self._say(word(body.get("message")))
        elif kind == "item_completed" and isinstance(body.get("item"), dict):
            yield from self._completed(body, body["item"])
        elif kind == "task_complete":
            yield from self._over(word(body.get("last_agent_message")) or self._answer)
        elif kind == "turn_aborted":
            yield self._told("Interrupt", {"last_assistant_message": self._answer})
            self._open, self._turn, self._answer, self._said_at = False, "", "", 0
        elif kind == "context_compacted":
            yield self._told("PreCompact", {"trigger": "auto"})

    def _completed(self, body: dict[str, Any], item: dict[str, Any]) -> Iterator[Told]:
        kind = item.get("type")
        if kind == "UserMessage":
            self._turn = word(body.get("turn_id")) or self._turn
            yield from self._prompt(told.texts(item.get("content")))
        elif kind == "AgentMessage":
            self._say(told.texts(item.get("content")))
        elif kind == "CommandExecution":
            name = word(item.get("id"))
            self._outputs[name] = item.get("aggregated_output")
            self._exits[name] = item.get("exit_code")
            self._calls.setdefault(name, ("Bash", {"command": _command(item.get("command"))}))

    # --- events ----------------------------------------------------------------------

    def _prompt(self, text: str) -> Iterator[Told]:
        told_before = self._open and not self._answer and text in self._prompts
        if not text.strip() or told_before:
            return
        yield from self._close()
        # Older versions name no turns; the words and their time do then, in a fork as well.
        self._turn = self._turn or sha256_hex(f"{self._at}\0{text}".encode())[:32]
        self._prompts = {text}
        self._open, self._answer, self._said_at = True, "", 0
        yield self._told("UserPromptSubmit", {"prompt": text})

    def _close(self) -> Iterator[Told]:
        """The end of a turn that none of its own lines tells."""
        if self._open and self._answer:
            yield from self._over(self._answer)
        if self._open:
            self._open, self._turn = False, ""

    def _over(self, text: str) -> Iterator[Told]:
        for name in list(self._outputs):
            yield from self._result(name, self._outputs[name])
        stop = self._told("Stop", {"last_assistant_message": text})
        yield stop._replace(at=self._said_at or stop.at)
        self._open, self._turn, self._answer, self._said_at = False, "", "", 0

    def _say(self, text: str) -> None:
        if text.strip():
            self._answer, self._said_at = text, self._at

    def _result(self, name: str, output: object) -> Iterator[Told]:
        tool, given = self._calls.pop(name, ("", None))
        own, code = self._outputs.pop(name, None), self._exits.pop(name, None)
        if not tool:
            return
        text, written = _output(tool, output)
        text = own if isinstance(own, str) else text
        call: dict[str, object] = {"tool_name": tool, "tool_input": given, "tool_use_id": name}
        code = code if isinstance(code, int) else written
        if tool == "Bash" and code and isinstance(text, str):
            # A hook is not told it, so there is no form of the host's own.
            call["exit_code"] = code
            text = host.failed(code, text)
        yield self._told("PostToolUse", {**call, "tool_response": text})

    def _told(self, event: str, more: dict[str, object]) -> Told:
        fields: dict[str, object] = {
            "session_id": self._session,
            "cwd": self._cwd,
            "hook_event_name": event,
        }
        if self._turn and event != "SessionStart":
            fields["turn_id"] = self._turn
        return Told(event, self._at, {**fields, **more}, self._branch)


def _call(name: str, arguments: object) -> tuple[str, object]:
    """The call as hooks are told of it: every way to run a command is ``Bash``."""
    given: object = arguments
    if isinstance(arguments, str):
        try:
            given = lenient.loads(arguments.encode("utf-8", "replace"))
        except ValueError:
            given = {"command": arguments}
    if name in _SHELLS and isinstance(given, dict):
        command = _command(given.get("cmd") or given.get("command"))
        patch = _patch(given.get("command"))
        return ("apply_patch", {"command": patch}) if patch else ("Bash", {"command": command})
    return name, given


def _name(body: dict[str, Any]) -> str:
    """The tool's name; an outside server's as hooks are told it."""
    name, server = word(body["name"]), word(body.get("namespace")).rstrip("_")
    full = f"{server}__{name}" if server else name
    return full if "__" not in full or full.startswith("mcp__") else "mcp__" + full


def _patch(command: object) -> str:
    """The patch in a call that older versions made through their shell tool."""
    if isinstance(command, list) and len(command) == 2 and command[0] == "apply_patch":
        return word(command[1])
    return ""


def _command(words: object) -> str:
    """The command line without the shell around it."""
    if not isinstance(words, list):
        return word(words)
    parts = [word(one) for one in words]
    wrapped = len(parts) == 3 and parts[1] in ("-lc", "-c")
    return parts[2] if wrapped else " ".join(parts)


def _output(tool: str, output: object) -> tuple[object, int]:
    """What the tool has answered, without what is written around it for the model, and the exit
    code that stands there; 0 where there is none."""
    code = 0
    if isinstance(output, str) and output.startswith('{"output":'):
        try:
            found = lenient.loads(output.encode("utf-8", "replace"))
        except ValueError:
            return output, 0
        if isinstance(found, dict):
            output, more = found.get("output"), found.get("metadata")
            told_code = more.get("exit_code") if isinstance(more, dict) else None
            code = told_code if isinstance(told_code, int) else 0
    if tool != "Bash" or not isinstance(output, str):
        return output, code
    head = _HEAD.match(output)
    if head is None:
        return output, code
    ended = _EXIT.search(head[0])
    return output[head.end() :], int(ended[1]) if ended else code
