"""Schema 7: an index of the newest memories of a branch.

A session start read the newest 48 memories of a project and weighed those by their branch. Work
that had rested for a few sessions was not among them, however well it fitted, and sixty finds of
subagents took every place. This index leads to the newest of a branch that no subagent has made:
24 rows are read there, and only where the newest 48 hold fewer.

It holds no text but the branch: 33 bytes a row, and what inserting a row costs differs by less
than can be measured.
"""

from __future__ import annotations

NAME = "index of the newest memories of a branch"

STATEMENTS: tuple[str, ...] = (
    """CREATE INDEX IF NOT EXISTS observations_branch ON observations(
        project_id, branch, created_at)
        WHERE hidden_at IS NULL AND superseded_by IS NULL AND taint <> 'external'
            AND agent_type = ''""",
)
