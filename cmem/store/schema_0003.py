"""Schema 3: the session start reads the branch from its index too.

A session start weighs fifty memories by their branch and read fifty rows of the table for it:
fifty pages, a third of a millisecond from memory and fifty reads of a cold disk. The index
grows by the branch's name for each row, about 8 MB at a million.
"""

from __future__ import annotations

NAME = "branch in the index of a session start"

STATEMENTS: tuple[str, ...] = (
    "DROP INDEX IF EXISTS observations_recent",
    """CREATE INDEX observations_recent ON observations(
        project_id, created_at DESC, id DESC, type, pinned, taint, prompt_number, session_id,
        agent_type, evidence_tokens, read_tokens, title, subtitle, branch)
        WHERE hidden_at IS NULL AND superseded_by IS NULL""",
)
