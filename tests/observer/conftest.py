"""Units made straight from recorded payloads, without the store; and drafts as readable text."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import session

from cmem.model import (
    Evidence,
    ObservationDraft,
    Reply,
    SessionTurn,
    SummaryUnit,
    TurnUnit,
)
from cmem.observer import extract

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for ``planted`` and ``making``

from making import ROOT, bash, edit, tool, unit, write

PRIVATE = re.compile(r"<private>.*?</private>", re.S)


def _tool_of(row: int, event: str, at: int, payload: dict[str, Any]) -> Evidence:
    failed = event == "PostToolUseFailure"
    answer = {"error": payload["error"]} if failed else payload.get("tool_response", "")
    interrupted = failed and payload.get("is_interrupt")
    return tool(
        row,
        payload["tool_name"],
        payload["tool_input"],
        answer,
        outcome="interrupted" if interrupted else "failed" if failed else "ok",
        agent=payload.get("agent_type", ""),
    )._replace(at=at, cwd=payload["cwd"])


def turns_of(name: str) -> list[TurnUnit]:
    """The turns of a recorded session, as ingest would close them."""
    found: list[TurnUnit] = []
    current: TurnUnit | None = None
    row = 0
    for event, at, payload in session(name):
        if event == "UserPromptSubmit":
            if current is not None:
                found.append(current._replace(outcome="interrupted", closed_at=at))
            text = PRIVATE.sub("[private]", payload["prompt"])
            current = unit(text, number=len(found) + 1, start=at)
        elif event.startswith("PostToolUse") and current is not None:
            row += 1
            evidence = (*current.evidence, _tool_of(row, event, at, payload))
            current = current._replace(evidence=evidence)
        elif event in ("Stop", "StopFailure") and current is not None:
            found.append(
                current._replace(
                    assistant_message=payload.get("last_assistant_message", ""),
                    outcome="stop" if event == "Stop" else "failure",
                    error=payload.get("error", ""),
                    closed_at=at,
                )
            )
            current = None
    return found if current is None else [*found, current._replace(outcome="interrupted")]


def summary_unit(turns: list[TurnUnit], drafts: list[tuple[ObservationDraft, ...]]) -> SummaryUnit:
    return SummaryUnit(
        unit_id=99,
        session_id=1,
        project="project",
        language="auto",
        reason="end",
        turns=tuple(
            SessionTurn(
                number=turn.turn_number,
                prompt=turn.prompt,
                assistant_message=turn.assistant_message,
                outcome=turn.outcome,
                observations=found,
            )
            for turn, found in zip(turns, drafts, strict=True)
        ),
        at=max((turn.closed_at for turn in turns), default=0),
        attempts=0,
    )


def render_draft(draft: ObservationDraft) -> list[str]:
    lines = [f"[{draft.type}] {draft.title}"]
    lines += [f"  sub: {draft.subtitle}"] if draft.subtitle else []
    lines += [f"  {line}" for line in draft.narrative.splitlines()]
    lines += [f"  * {fact}" for fact in draft.facts]
    lines.append(f"  concepts: {', '.join(draft.concepts)}")
    for label, values in (("read", draft.files_read), ("modified", draft.files_modified)):
        lines += [f"  {label}: {', '.join(values)}"] if values else []
    agent = f" by {draft.agent_type}" if draft.agent_type else ""
    named = ", ".join(f"T{one}" for one in draft.sources or ())
    sources = "the whole unit" if draft.sources is None else named or "what was said"
    return [*lines, f"  from: {sources}{agent}"]


def render_reply(reply: Reply) -> list[str]:
    lines = [f"skipped: {reply.skipped}"] if reply.skipped else []
    for draft in reply.observations:
        lines += render_draft(draft)
    if reply.summary:
        for label, value in reply.summary._asdict().items():
            text = value if isinstance(value, str) else ", ".join(value)
            lines += [f"{label}: {text}"] if text else []
    return lines


def from_outside(turn: TurnUnit, draft: ObservationDraft) -> bool:
    """Does the draft rest on outside evidence? The store keeps it from summaries then."""
    sources = draft.sources
    named = [one for one in turn.evidence if sources is None or one.id in sources]
    return any(one.taint == "external" for one in named)


def render_session(turns: list[TurnUnit]) -> str:
    """Every turn's observations and the summary over them, for reading and comparing."""
    lines: list[str] = []
    drafts: list[tuple[ObservationDraft, ...]] = []
    for turn in turns:
        reply = extract.observe(turn).reply
        drafts.append(tuple(one for one in reply.observations if not from_outside(turn, one)))
        asked = " ".join(turn.prompt.split())[:80]
        lines += [f"== turn {turn.turn_number} ({turn.outcome}): {asked}", *render_reply(reply), ""]
    reply = extract.summarise(summary_unit(turns, drafts)).reply
    return "\n".join([*lines, "== summary", *render_reply(reply), ""])


@pytest.fixture
def recorded() -> Callable[[str], str]:
    return lambda name: render_session(turns_of(name))


@pytest.fixture
def written() -> Callable[[list[TurnUnit]], str]:
    return render_session


@pytest.fixture
def make() -> Iterator[Any]:
    """The makers above, for tests: ``make.unit``, ``make.bash`` …"""
    from types import SimpleNamespace

    yield SimpleNamespace(
        unit=unit,
        tool=tool,
        bash=bash,
        edit=edit,
        write=write,
        turns_of=turns_of,
        summary_unit=summary_unit,
        render_reply=render_reply,
        root=ROOT,
    )
