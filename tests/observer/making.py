"""Units made by hand, and those of the written sessions; what was kept of them."""

from __future__ import annotations

import json
from typing import Any

from planted import Session, Tool

from cmem import taint
from cmem.model import Evidence, ObservationDraft, TurnUnit
from cmem.observer import extract

ROOT = "/home/dev/project"


def unit(
    prompt: str = "",
    message: str = "",
    *,
    tools: list[Evidence] | None = None,
    outcome: str = "stop",
    error: str = "",
    number: int = 1,
    start: int = 1_795_988_490_000,
) -> TurnUnit:
    return TurnUnit(
        unit_id=number,
        session_id=1,
        project="project",
        project_root=ROOT,
        language="auto",
        turn_number=number,
        prompt_id=number,
        prompt=prompt,
        prompt_at=start,
        evidence=tuple(tools or ()),
        assistant_message=message,
        outcome=outcome,
        error=error,
        closed_at=start + 60_000,
        attempts=0,
    )


def tool(
    row: int, name: str, given: Any, answer: Any = "", *, outcome: str = "ok", agent: str = ""
) -> Evidence:
    return Evidence(
        id=row,
        tool_name=name,
        tool_input=json.dumps(given, ensure_ascii=False),
        tool_response=json.dumps(answer, ensure_ascii=False),
        outcome=outcome,
        at=1_795_988_490_000 + row * 1000,
        cwd=ROOT,
        agent_id="a1" if agent else "",
        agent_type=agent,
        taint=taint.of_tool(name, given, cwd=ROOT, roots=[ROOT]),
    )


def bash(row: int, command: str, out: str = "", *, fails: int = 0) -> Evidence:
    """A command's evidence as Claude Code tells of it."""
    if fails:
        error = {"error": f"Exit code {fails}\n{out}"}
        return tool(row, "Bash", {"command": command}, error, outcome="failed")
    return tool(row, "Bash", {"command": command}, {"stdout": out, "stderr": ""})


def edit(row: int, path: str, old: str, new: str) -> Evidence:
    given = {"file_path": f"{ROOT}/{path}", "old_string": old, "new_string": new}
    return tool(row, "Edit", given, {"filePath": f"{ROOT}/{path}"})


def write(row: int, path: str, content: str) -> Evidence:
    given = {"file_path": f"{ROOT}/{path}", "content": content}
    return tool(row, "Write", given, {"type": "create", "filePath": f"{ROOT}/{path}"})


def evidence(row: int, used: Tool) -> Evidence:
    """A tool of a written session."""
    kind, first, *rest = used
    if kind == "bash":
        return bash(row, first, rest[0], fails=rest[1])
    if kind == "edit":
        return edit(row, first, *rest)
    if kind == "write":
        return write(row, first, *rest)
    if kind == "read":
        answer = {"type": "text", "file": {"content": rest[0]}}
        return tool(row, "Read", {"file_path": f"{ROOT}/{first}"}, answer)
    if kind == "ask":
        options, answer = rest
        question = {"question": first, "options": [{"label": one} for one in options]}
        return tool(row, "AskUserQuestion", {"questions": [question]}, {"answers": {first: answer}})
    if kind == "agent":
        task, answer = rest
        given = {"subagent_type": first, "description": task, "prompt": task}
        return tool(row, "Agent", given, {"content": [{"type": "text", "text": answer}]})
    if kind == "todo":
        items = [{"content": name, "status": state} for name, state in (first, *rest)]
        return tool(row, "TodoWrite", {"todos": items})
    if kind == "notebook":
        given = {"notebook_path": f"{ROOT}/{first}", "new_source": rest[1], "cell_id": "c4"}
        return tool(row, "NotebookEdit", given, {"old_source": rest[0]})
    if kind == "failed":
        return tool(row, first, rest[0], {"error": rest[1]}, outcome="failed")
    return tool(row, first, *rest)


def units(session: Session) -> list[TurnUnit]:
    found = []
    row = 0
    for number, turn in enumerate(session.turns, 1):
        tools = []
        for used in turn.tools:
            row += 1
            tools.append(evidence(row, used))
        found.append(
            unit(
                turn.prompt,
                turn.message,
                tools=tools,
                outcome=turn.outcome,
                number=number,
                error="overloaded" if turn.outcome == "failure" else "",
            )
        )
    return found


def drafts(session: Session) -> list[tuple[ObservationDraft, ...]]:
    return [extract.observe(one).reply.observations for one in units(session)]


def lines(found: list[tuple[ObservationDraft, ...]]) -> list[str]:
    return [line for turn in found for one in turn for line in told(one)]


def recall(session: Session, kept: list[str]) -> tuple[str, ...]:
    """The planted facts that were lost."""
    return tuple(
        fact
        for fact in session.planted
        if not any(all(part in line for part in fact.split(" & ")) for line in kept)
    )


def told(draft: ObservationDraft) -> tuple[str, ...]:
    return (draft.title, draft.subtitle, *draft.narrative.splitlines(), *draft.facts)
