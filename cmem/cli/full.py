"""One memory at full length, as a person reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cmem.cli import marks, output
from cmem.privacy.sanitise import clean

if TYPE_CHECKING:
    from cmem.cli.output import Line
    from cmem.store.read import Record

SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
SESSION = ("title", "model", "status", "cwd")
PROVENANCE = (
    ("session", "session"),
    ("host_session", "host session"),
    ("host", "host"),
    ("branch", "branch"),
    ("commit_sha", "commit"),
    ("agent_type", "agent"),
    ("generated_by_model", "model"),
    ("prompt_version", "prompt version"),
    ("sources", "sources"),
    ("taint", "origin"),
    ("superseded_by", "superseded by"),
)


NOT_SEEN = "  (unverified)"


def lines(records: list[Record]) -> list[Line]:
    """Every record with a blank line between."""
    found: list[Line] = []
    for record in records:
        if found:
            found.append([])
        found += _head(record)
        found += _BODIES[record["kind"]](record)
        found += _provenance(record)
    return found


def _head(record: Record) -> list[Line]:
    at = record["started_at" if record["kind"] == "session" else "created_at"]
    return [
        [
            (record["id"], output.STYLES[record["id"][0]]),
            (f"  {output.when(int(at))}  ", "dim"),
            (marks.shown(_one(record.get("type") or record["kind"].replace("_", " "))), ""),
            (f"  ({_one(record['project'])})", "dim"),
        ]
    ]


def _observation(record: Record) -> list[Line]:
    doubts = _doubts(record["metadata"])
    found: list[Line] = [_told(record["title"], doubts, style="bold")]
    if record["subtitle"]:
        found.append(_told(record["subtitle"], doubts))
    found += [_told(fact, doubts, mark="  - ") for fact in record["facts"]]
    if record["narrative"]:
        found += output.paragraphs(record["narrative"])
        found += [[(NOT_SEEN.strip(), "dim")]] if _holds(record["narrative"], doubts) else []
    found += _named("files read", record["files_read"])
    found += _named("files modified", record["files_modified"])
    return found + _named("concepts", record["concepts"])


def _doubts(metadata: Any) -> list[str]:
    """The pieces of a record that its evidence does not hold."""
    pieces = metadata.get("unverified", []) if isinstance(metadata, dict) else []
    return [piece for piece in pieces if isinstance(piece, str)]


def _holds(text: str, doubts: list[str]) -> bool:
    return any(piece in text for piece in doubts)


def _told(text: str, doubts: list[str], *, mark: str = "", style: str = "") -> Line:
    """A text, with a note where it holds a piece that its evidence does not."""
    return [(mark + _one(text), style), (NOT_SEEN if _holds(text, doubts) else "", "dim")]


def _summary(record: Record) -> list[Line]:
    found: list[Line] = []
    for name in SUMMARY:
        if record[name]:
            found.append([(name.replace("_", " ") + ":", "bold")])
            found += output.paragraphs(record[name], "  ")
    found += _named("files read", record["files_read"])
    return found + _named("files edited", record["files_edited"])


def _prompt(record: Record) -> list[Line]:
    return output.paragraphs(record["prompt_text"])


def tool(record: Record) -> list[Line]:
    """A tool call with its input and output."""
    found: list[Line] = [[(_one(record["tool_name"]), "bold"), (f"  {record['outcome']}", "dim")]]
    if record["pruned"]:
        return [*found, [("input and response: removed by prune", "dim")]]
    for name in ("tool_input", "tool_response"):
        found.append([(name.removeprefix("tool_") + ":", "bold")])
        found += output.paragraphs(_readable(record[name]), "  ")
    return found


def _session(record: Record) -> list[Line]:
    found = [line for name in SESSION for line in _named(name, [record[name]])]
    found += _named("prompts", record["user_prompts"])
    found += _named("observations", record["observations"])
    found += _named("summaries", record["session_summaries"])
    return found + _named("tool uses", record["tool_uses"])


def _open_work(record: Record) -> list[Line]:
    since = output.when(int(record["changed_at"]))
    return [[(_one(record["text"]), "bold"), (f"  {record['state']} since {since}", "dim")]]


_BODIES = {
    "observation": _observation,
    "summary": _summary,
    "prompt": _prompt,
    "tool_use": tool,
    "session": _session,
    "open_work": _open_work,
}


def _provenance(record: Record) -> list[Line]:
    parts = []
    for key, label in PROVENANCE:
        value = record.get(key)
        text = ", ".join(value) if isinstance(value, list) else str(value or "")
        if text and not (key == "session" and record["kind"] == "session"):
            parts.append(f"{label} {_one(text)}")
    return [[("; ".join(parts), "dim")]] if parts else []


def _named(label: str, values: list[str]) -> list[Line]:
    text = ", ".join(_one(value) for value in values if value)
    return [[(f"{label}: ", "bold"), (text, "")]] if text else []


def _readable(value: Any) -> str:
    """A JSON value as text: strings as they are, what holds others with a key a line."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_readable(one)}" for key, one in value.items())
    return json.dumps(value, ensure_ascii=False)


def _one(text: Any) -> str:
    return clean(str(text), one_line=True)
