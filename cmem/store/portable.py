"""What a row is like outside the store: a record, a flat JSON object that says in ``record`` what it is.

A record names other rows by what is the same everywhere: a project by its key, a session by
its uid, a turn by session and number. Columns are looked up in the file and not listed here,
so that one a later schema adds travels too. What belongs to this machine stays: row ids, the
queue of work, the ledger of calls, the index.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Record = dict[str, Any]

# The host of what a person writes, notes and open work. Its sessions have no end: one in each
# project, of the same name everywhere, which is never forgotten as a whole.
BY_HAND = "user"
FORMAT = 1
HEAD = "cmem-export"


class Kind(NamedTuple):
    """A kind of row below a session. ``letter``: of its ids, "" for a turn. ``arrays`` are
    columns that hold a JSON document, ``packed`` those in the form of the codec."""

    type: str
    letter: str
    table: str
    order: str
    arrays: tuple[str, ...] = ()
    packed: tuple[str, ...] = ()


TURN = Kind("turn", "", "turns", "number")
PROMPT = Kind("prompt", "P", "user_prompts", "created_at, uid")
TOOL_USE = Kind(
    "tool_use", "T", "tool_uses", "created_at, uid", packed=("tool_input", "tool_response")
)
OBSERVATION = Kind(
    "observation",
    "O",
    "observations",
    "created_at, uid",
    arrays=(
        "concepts",
        "facts",
        "files_modified",
        "files_read",
        "metadata",
        "reinforcement_dates",
    ),
)
SUMMARY = Kind(
    "summary",
    "S",
    "session_summaries",
    "created_at, uid",
    arrays=("files_edited", "files_read", "metadata"),
)
# What became of an item of open work; ``item`` names the entry that opened it.
WORK = Kind("work_state", "W", "work_state_entries", "created_at, uid")
# In the order in which they can be put into a store: what is named comes before what names it.
KINDS = (TURN, PROMPT, TOOL_USE, OBSERVATION, SUMMARY, WORK)
BY_TYPE = {kind.type: kind for kind in KINDS}
PROJECT, SESSION, TOMBSTONE = "project", "session", "tombstone"
TYPES = (PROJECT, SESSION, *BY_TYPE, TOMBSTONE)

# Columns that mean something in their own store only, or that a record says in another way.
LOCAL = frozenset(
    ("id", "session_id", "project_id", "turn_id", "unit_id", "run_id", "hidden_at", "merged_into")
    + ("memory_session_id", "synced_at", "superseded_by", "item")
)
# How a turn ends that was still open when it was exported: whoever has it observes it.
OPEN = "export"
