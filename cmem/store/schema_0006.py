"""Schema 6: the index names the body first, and is a fifth smaller; what may be injected has
indexes of its own.

FTS5 writes two bytes for every word of a row that stands in any column but the first one. Nearly
all words stand in the body: at 10,000 rows the index was 1.55 times the text, and is 1.24 times
(at a million 1.35, and 1.06). Building it anew takes a third of a millisecond a row, once, in the
step's own transaction: an index of half the rows would find half, and could forget none of them.

Left to itself FTS5 merges 4 MB of an index of a million rows at every sixtieth insert, 25 to 50 ms
of one transaction. The end of ``compress`` does that in steps, and ``documents`` among many rows.

A session start walked the newest rows of a project, of which those from outside sources were
dropped afterwards: sixty pages read of the web took every place. Its index holds only what may be
told now, and one of the few rows that stay worth telling reaches behind the newest. Everything
else that reads a project's rows, and counts them, has a narrow index instead: 25 bytes a row.
"""

from __future__ import annotations

NAME = "body first in the index, indexes of what may be injected"

# Gives a row where the step has been done already.
DONE = """SELECT 1 FROM pragma_table_info('documents_fts') f, sqlite_schema s
    WHERE f.name = 'body' AND f.cid = 0
        AND s.name = 'observations_recent' AND instr(s.sql, 'external')"""

STATEMENTS: tuple[str, ...] = (
    "DROP TABLE IF EXISTS documents_fts",
    """CREATE VIRTUAL TABLE documents_fts USING fts5(
        body, title, meta, x, k,
        content='documents_text', content_rowid='id',
        tokenize="porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'")""",
    "INSERT INTO documents_fts(documents_fts, rank) VALUES('secure-delete', 1)",
    "INSERT INTO documents_fts(documents_fts, rank) VALUES('automerge', 0)",
    "INSERT INTO documents_fts(documents_fts) VALUES('rebuild')",
    "DROP INDEX IF EXISTS observations_recent",
    """CREATE INDEX observations_recent ON observations(
        project_id, created_at DESC, id DESC, type, pinned, taint, prompt_number, session_id,
        agent_type, evidence_tokens, read_tokens, title, subtitle, branch)
        WHERE hidden_at IS NULL AND superseded_by IS NULL AND taint <> 'external'""",
    """CREATE INDEX IF NOT EXISTS observations_lasting ON observations(
        project_id, created_at DESC, id DESC, type, pinned, taint, prompt_number, session_id,
        agent_type, evidence_tokens, read_tokens, title, subtitle, branch)
        WHERE type IN ('decision', 'note', 'security_alert')
            AND hidden_at IS NULL AND superseded_by IS NULL AND taint <> 'external'""",
    """CREATE INDEX IF NOT EXISTS observations_project ON observations(
        project_id, created_at DESC, id DESC)
        WHERE hidden_at IS NULL AND superseded_by IS NULL""",
    """CREATE INDEX IF NOT EXISTS observations_external ON observations(project_id)
        WHERE taint = 'external' AND hidden_at IS NULL AND superseded_by IS NULL""",
)
