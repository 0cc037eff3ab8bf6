"""Replies as models give them, each with all that comes of it.

The replies stand in ``replies/*.toml``, the outcomes in the ``.expected`` file beside each.
``CMEM_GOLDEN=write`` rewrites those; read the difference as someone who has to trust the memory.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cmem.model import ObservationDraft, Reply
from cmem.observer import modes, parser
from cmem.observer.errors import UnusableReply

FOLDER = Path(__file__).resolve().parent / "replies"
WRITE = os.environ.get("CMEM_GOLDEN") == "write"
MODE = modes.load("code")


def replies(name: str) -> dict[str, str]:
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    listed = tomllib.loads(text)["reply"]
    found = {one["id"]: one["text"] for one in listed}
    assert len(found) == len(listed)
    return found


def expected(name: str) -> dict[str, str]:
    text = (FOLDER / f"{name}.expected").read_text(encoding="utf-8")
    parts = text.split("\n== ")[1:]
    return {head: rest for head, _, rest in (part.partition("\n") for part in parts)}


def write(name: str, parse: Callable[[str], str]) -> None:
    parts = [f"\n== {one}\n{parse(text)}" for one, text in replies(name).items()]
    (FOLDER / f"{name}.expected").write_text("".join(parts), encoding="utf-8")


def turn_of(make: Any) -> Any:
    tools = [
        make.tool(
            12, "Read", {"file_path": f"{make.root}/calc.py"}, {"file": {"content": "b - a"}}
        ),
        make.edit(13, "calc.py", "b - a", "a - b"),
        make.bash(14, "git commit -qm fix && sed -i s/a/b/ other.py", "6d9a472 fix"),
        make.bash(15, "python -m pytest", "ModuleNotFoundError: No module named 'numpy'", fails=1),
    ]
    return make.unit("fix it; 请修复减法; see https://example.org/a(1).", "Fixed.", tools=tools)


def told(draft: ObservationDraft) -> list[str]:
    """Every field that is not empty, a line each."""
    fields = draft._asdict() | {"at": "", "type": "", "title": ""}
    lines = [f"[{draft.type}] {draft.title}"]
    for name, value in fields.items():
        shown = list(value) if isinstance(value, tuple) else value
        lines += [f"  {name}: {shown!r}"] if value else []
    return lines


def outcome(parse: Callable[[], Reply]) -> str:
    try:
        reply = parse()
    except UnusableReply as error:
        return f"unusable: {error.reason}\n"
    lines = [line for draft in reply.observations for line in told(draft)]
    if reply.skipped is not None:
        lines.append(f"skipped: {reply.skipped}")
    if reply.summary is not None:
        lines += [f"{name}: {value!r}" for name, value in reply.summary._asdict().items() if value]
    return "\n".join([*lines, *(f"note: {note}" for note in reply.notes)]) + "\n"


@pytest.fixture
def observed(make: Any) -> Callable[[str], str]:
    turn = turn_of(make)
    return lambda text: outcome(lambda: parser.parse_observation(text, turn, MODE))


@pytest.fixture
def summarised(make: Any) -> Callable[[str], str]:
    turn = turn_of(make)
    record = "<observation><title>calc.py fixed in 6d9a472</title></observation>"
    (draft,) = parser.parse_observation(record, turn, MODE).observations
    unit = make.summary_unit([turn], [(draft,)])
    return lambda text: outcome(lambda: parser.parse_summary(text, unit))


def test_every_reply_has_an_outcome(
    observed: Callable[[str], str], summarised: Callable[[str], str]
) -> None:
    for name, parse in (("observations", observed), ("summaries", summarised)):
        if WRITE:
            write(name, parse)
        assert list(replies(name)) == list(expected(name))


@pytest.mark.parametrize("name", replies("observations"))
def test_reply_to_an_observation_request(name: str, observed: Callable[[str], str]) -> None:
    assert observed(replies("observations")[name]) == expected("observations")[name]


@pytest.mark.parametrize("name", replies("summaries"))
def test_reply_to_a_summary_request(name: str, summarised: Callable[[str], str]) -> None:
    assert summarised(replies("summaries")[name]) == expected("summaries")[name]
