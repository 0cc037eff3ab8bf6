"""What a tool call was: its kind, its files, and the output a person would have seen.

The one place of the observer that knows how tools spell their parameters. It reads any JSON,
of any host, and what it does not know is kind ``other``: nothing here raises.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from cmem.model import Evidence, TurnUnit

KINDS = {
    "read": "read view read_file notebookread read_many_files open_file",
    "edit": "edit multiedit write notebookedit write_file create_file replace str_replace "
    "apply_patch patch str_replace_based_edit_tool",
    "command": "bash shell run_shell_command exec_command local_shell powershell",
    "search": "grep glob ls search_file_content list_directory list codesearch find",
    "fetch": "webfetch websearch web_fetch web_search google_web_search",
    "ask": "askuserquestion ask_user question",
    "agent": "agent task subagentstop",
    "todo": "todowrite write_todos update_plan",
    "plan": "exitplanmode",
    "meta": "skill toolsearch bashoutput taskoutput killshell kill_shell slashcommand",
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}
PATH_KEYS = ("file_path", "notebook_path", "filePath", "absolute_path", "path")
PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.M)
OUTPUT_KEYS = ("error", "stdout", "stderr", "output", "result", "text", "message")
LAST_KEYS = ("returnDisplay", "llmContent", "content", "results", "file", "metadata")
NOISE = re.compile(r"\nShell cwd was reset to .*|</?untrusted_context>|Process Group PGID: \d+")


class Call(NamedTuple):
    """A tool use, read. ``given`` is its input ({} if that is no object), ``answer`` its
    response as parsed, ``output`` the text of that response."""

    kind: str
    evidence: Evidence
    given: dict[str, Any]
    answer: Any
    output: str

    @property
    def ok(self) -> bool:
        return self.evidence.outcome == "ok"


def parse_json(text: str) -> Any:
    """The value of a JSON text; a text that is none is its own value."""
    try:
        return json.loads(text) if text else ""
    except (ValueError, RecursionError):
        return text


def read_call(evidence: Evidence) -> Call:
    given = parse_json(evidence.tool_input)
    answer = parse_json(evidence.tool_response)
    return Call(
        kind=KIND_OF.get(evidence.tool_name.lower(), "other"),
        evidence=evidence,
        given=given if isinstance(given, dict) else {},
        answer=answer,
        output=NOISE.sub("", output_text(answer)).strip(),
    )


def output_text(answer: Any, depth: int = 0) -> str:
    """The readable text of a response: errors and streams first, then blocks of content."""
    if isinstance(answer, str):
        return answer
    if depth > 4:
        return ""
    if isinstance(answer, list):
        return "\n".join(filter(None, (output_text(one, depth + 1) for one in answer)))
    if not isinstance(answer, dict):
        return ""
    parts = [answer[key] for key in OUTPUT_KEYS if isinstance(answer.get(key), str)]
    text = "\n".join(part for part in parts if part)
    if text:
        return text
    for key in LAST_KEYS:
        text = output_text(answer.get(key), depth + 1)
        if text:
            return text
    return ""


def strings(value: Any, depth: int = 0) -> Iterator[str]:
    """Every string inside a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif depth > 60:
        return
    elif isinstance(value, list):
        for one in value:
            yield from strings(one, depth + 1)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from strings(one, depth + 1)


def text_given(call: Call, *keys: str) -> str:
    """The first of these parameters that is a text, else ""."""
    for key in keys:
        value = call.given.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and all(isinstance(one, str) for one in value) and value:
            return " ".join(value)
    return ""


# --- files ---------------------------------------------------------------------------


def relative(path: str, *, roots: Sequence[str], cwd: str) -> str:
    """The path as seen from the first of the project's folders that it is inside of, else
    absolute. A file is called the same in every work tree."""
    if not path.startswith("/") and cwd:
        path = posixpath.join(cwd, path)
    path = posixpath.normpath(path)
    for base in map(posixpath.normpath, filter(None, roots)):
        if base != "/" and path.startswith(base + "/"):
            return path[len(base) + 1 :]
    return path


def patched_files(call: Call) -> list[tuple[str, str]]:
    """(Add | Update | Delete, path) of each file a patch text names."""
    patch = text_given(call, "command", "patch", "input")
    return [(one[1], one[2].strip()) for one in PATCH_FILE.finditer(patch)]


def paths_of(call: Call) -> list[str]:
    """The files a read or an edit is about, as the host spelled them."""
    path = text_given(call, *PATH_KEYS)
    if path:
        return [path]
    return [name for _verb, name in patched_files(call)] if call.kind == "edit" else []


def files(calls: Iterable[Call], roots: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(read, modified): files of calls that worked, first seen first, relative to ``roots``."""
    seen: dict[str, dict[str, None]] = {"read": {}, "edit": {}}
    for call in calls:
        if call.ok and call.kind in seen:
            for path in paths_of(call):
                shown = relative(path, roots=roots, cwd=call.evidence.cwd)
                seen[call.kind][shown] = None
    return tuple(seen["read"]), tuple(seen["edit"])


def read_calls(unit: TurnUnit) -> tuple[Call, ...]:
    return tuple(read_call(one) for one in unit.evidence)


def newest(unit: TurnUnit, sources: Iterable[int] | None = None) -> int:
    """The time of the newest event: of the named tool uses, else of the whole unit. A turn
    without an answer was closed by the clock, so that its closing is no event."""
    chosen = set(sources or ())
    times = [one.at for one in unit.evidence if not chosen or one.id in chosen]
    if not chosen:
        times.append(unit.prompt_at)
        if unit.assistant_message or unit.outcome == "failure":
            times.append(unit.closed_at)
    return max(times, default=unit.closed_at)


def agent_of(unit: TurnUnit, sources: Iterable[int] | None) -> tuple[str, str]:
    """The subagent that did all of the named tool uses, with None all of the unit's; else
    ("", "")."""
    chosen = None if sources is None else set(sources)
    events = [one for one in unit.evidence if chosen is None or one.id in chosen]
    agents = {(one.agent_id, one.agent_type) for one in events}
    return agents.pop() if len(agents) == 1 else ("", "")
