"""A turn read once: what was asked, done and answered, as values the rules draw on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cmem.hosts.wire import NOTIFICATION
from cmem.model import TurnUnit
from cmem.observer import text
from cmem.observer.evidence import Call, files, output_text, read_calls, relative, text_given
from cmem.observer.extract_commands import IMPORTANT, Command, commands, commits, shown
from cmem.observer.extract_edits import Change, changes

NOTIFIED = re.compile(r"<(summary|result)>(.*?)</\1>", re.S)
HARNESS = re.compile(r"<(tools-used-before-summary|system-reminder|usage)>.*?(?:</\1>|$)", re.S)
LOGGED = re.compile(
    r"\s*\[?\d{4}-\d\d-\d\d[T ]|\s*\[?\d\d:\d\d:\d\d|\s*\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE)\b|"
    r"\s+at \S|\s*File \"[^\"\n]{1,300}\", line \d|\s*Traceback \(|[$>]{1,3} \S|\s*\d+ \| |--- FAIL|FAIL\t|"
    r"goroutine \d|\s+\S{1,200}\.\w{1,4}:\d+"
)
# What a host answers in the place of a refused tool: only at its start, for further down a
# program could have printed it.
REFUSED = re.compile(
    r"\s*(?:The user doesn['’]t want to (?:proceed|take this action)|(?:Tool use|Request|Command|"
    r"Permission)\b[^\n]{0,80}\b(?:rejected|denied|declined|cancell?ed) by (?:the )?user)\b",
    re.I,
)
REASON = re.compile(r"\bthe user said:\s{0,20}(\S.{0,600})", re.I | re.S)
MANY = 400
NOTICE = 16_000
PASTE = 4000
PASTE_END = 1500


class View(NamedTuple):
    """``asked`` and ``said`` are sentences of the prompt and of the last message. ``told`` are
    what questions, subagents, services and notifications brought, as (fact, tool use)."""

    unit: TurnUnit
    calls: tuple[Call, ...]
    changes: tuple[Change, ...]
    commands: tuple[Command, ...]
    commits: tuple[tuple[str, str, int], ...]
    read: tuple[str, ...]
    modified: tuple[str, ...]
    asked: tuple[str, ...]
    said: tuple[str, ...]
    told: tuple[tuple[str, int], ...]
    chosen: tuple[tuple[str, int], ...]
    refused: tuple[tuple[str, int], ...]

    @property
    def acted(self) -> bool:
        """Did the turn leave a trace in the world, not only in the conversation?"""
        weighty = any(one.category in IMPORTANT for one in self.commands)
        return bool(self.changes or self.commits or self.told or weighty)


def view(unit: TurnUnit) -> View:
    calls = read_calls(unit)
    read, modified = files(calls, unit.roots)
    notified = unit.prompt.lstrip().startswith(NOTIFICATION)
    told = [(fact, 0) for fact in notices(unit.prompt)] if notified else []
    for call in calls:
        told += [(fact, call.evidence.id) for fact in told_by(call, unit.roots)]
    return View(
        unit=unit,
        calls=calls,
        changes=changes(calls, unit.roots),
        commands=commands(calls),
        commits=tuple(commits(calls)),
        read=read,
        modified=modified,
        asked=() if notified else tuple(asked(unit.prompt)),
        said=said(unit),
        told=tuple(told),
        chosen=tuple(pair for call in calls for pair in answers(call)),
        refused=tuple((no, call.evidence.id) for call in calls if (no := refusal(call))),
    )


def said(unit: TurnUnit) -> tuple[str, ...]:
    """The sentences of the answer without courtesies; what a failed turn ended with is the
    host's error, not an answer."""
    if unit.outcome == "failure":
        return ()
    found = list(filter(None, map(text.bare, text.sentences(unit.assistant_message))))
    return tuple(
        found if len(found) <= MANY else [*found[: MANY - MANY // 4], *found[-MANY // 4 :]]
    )


def asked(prompt: str) -> list[str]:
    """The sentences of a prompt that are the user's own: no pasted code, no lines of a log. A
    long prompt holds a paste; the user's words stand before or after it."""
    lines = text.prose(prompt)
    own = "\n".join(line for line in lines if not LOGGED.match(line)) or "\n".join(lines)
    if len(own) > PASTE:
        own = own[:PASTE_END] + "\n" + own[-PASTE_END:]
    return text.sentences(own)


def notices(prompt: str) -> list[str]:
    """What a background task reports: ``Agent "x" finished: its answer``."""
    found = {name: text.one_line(body) for name, body in NOTIFIED.findall(prompt[:NOTICE])}
    if "summary" not in found:
        return []
    result = f": {found['result']}" if found.get("result") else ""
    return [text.shorten(found["summary"] + result, 400)]


def answers(call: Call) -> list[tuple[str, int]]:
    """(question → the user's answer, tool use) of a question to the user."""
    if call.kind != "ask" or not call.ok:
        return []
    found: Any = call.answer.get("answers") if isinstance(call.answer, dict) else None
    if not isinstance(found, dict):
        return []
    return [
        (text.shorten(f"{question} → {answer}", 300), call.evidence.id)
        for question, answer in found.items()
        if isinstance(answer, str) and answer
    ]


def offered(call: Call) -> list[str]:
    """What the user could choose from, question by question."""
    asked = call.given.get("questions")
    lines = []
    for one in asked if isinstance(asked, list) else []:
        options = one.get("options") if isinstance(one, dict) else None
        labels = [str(o.get("label")) for o in options or [] if isinstance(o, dict)]
        if labels:
            lines.append(text.shorten(f"{one.get('question')} Offered: {', '.join(labels)}", 300))
    return lines


def refusal(call: Call) -> str:
    """What the user would not have done, with the reason given, "" if it was not refused."""
    if call.ok or REFUSED.match(call.output) is None:
        return ""
    what = text_given(call, "command", "cmd", "script")
    path = text_given(call, "file_path", "notebook_path", "path")
    plan = text_given(call, "plan")
    about = f"`{shown(what)}`" if what else call.evidence.tool_name
    about = f"the plan “{text.shorten(plan, 160)}”" if plan else about
    about += f" {relative(path, roots=(), cwd='')}" if path and not what else ""
    said = REASON.search(call.output[:NOTICE])
    reason = f": {text.shorten(said[1], 300)}" if said else ""
    return f"Refused by the user: {about}{reason}"


def told_by(call: Call, roots: Sequence[str]) -> list[str]:
    """What a call brought that is neither an edit nor a command nor a question."""
    tellers: dict[str, Callable[[Call], list[str]]] = {
        "agent": _agent,
        "fetch": _fetch,
        "todo": _todo,
        "plan": _plan,
        "other": _service,
    }
    if call.ok:
        teller = tellers.get(call.kind)
        return teller(call) if teller else []
    if call.kind in ("command", "meta", "search", "ask", "read") or refusal(call):
        return []
    path = text_given(call, "file_path", "notebook_path", "path")
    path = relative(path, roots=roots, cwd="") if path else text_given(call, "url", "query")
    about = f" {path}" if path else ""
    why = text.shorten(call.output, 200) or call.evidence.outcome
    return [f"{call.evidence.tool_name}{about} failed: {why}"]


def _agent(call: Call) -> list[str]:
    answer: Any = call.answer if isinstance(call.answer, dict) else {}
    said = HARNESS.sub("", output_text(answer.get("content"))).strip()
    if not said and isinstance(call.answer, str):
        said = call.answer.strip()
    if not said:
        return []
    name = text_given(call, "subagent_type", "agent") or call.evidence.agent_type
    task = text_given(call, "description")
    who = " ".join(filter(None, ("Subagent", name, f"({task})" if task else "")))
    return [f"{who}: {text.clip(said, 500)}"]


def _fetch(call: Call) -> list[str]:
    target = text_given(call, "url", "query")
    said = text.clip(call.output, 240)
    found = f": {said}" if said else ""
    return [f"{call.evidence.tool_name} {text.shorten(target, 160)}{found}"] if target else []


def _todo(call: Call) -> list[str]:
    """Only the last list counts; who asks takes the last fact that starts with ``Open:``."""
    items = next((one for one in call.given.values() if isinstance(one, list)), [])
    names = [
        str(one.get("content") or one.get("step") or one.get("description") or "")
        for one in items
        if isinstance(one, dict) and one.get("status") not in ("completed", "done", "cancelled")
    ]
    names = [name for name in names if name]
    return [f"Open: {'; '.join(text.shorten(name, 100) for name in names[:6])}"]


def _plan(call: Call) -> list[str]:
    plan = text_given(call, "plan")
    return [f"Plan: {text.clip(plan, 500)}"] if plan else []


def _service(call: Call) -> list[str]:
    """A call of a service, such as an MCP tool: what it was given and what it answered."""
    given = [f"{key}: {value}" for key, value in call.given.items() if isinstance(value, str)]
    shown = text.shorten("; ".join(given), 200)
    said = text.shorten(call.output, 200)
    repeated = any(
        value in said and 2 * len(value) > len(said)
        for value in call.given.values()
        if isinstance(value, str)
    )
    end = "" if repeated or not said else f": {said}"
    return [f"{call.evidence.tool_name}({shown}){end}"]
