"""Schema 4: what a session observed again has put in the place of what, and batches of calls.

Taking a second observation back needs to know exactly which rows it replaced and which it
made; rows that both results share tell neither. A row for each turn or summary observed again:
identities, no text. The key is the unit of the new result; nothing else is looked up.

A batch is given to a provider in one run and collected in a later one, so what was given has to
outlive the process: a row for each batch, written before it is sent, and one for each unit in it.
"""

from __future__ import annotations

NAME = "what was observed again, and batches"

STATEMENTS: tuple[str, ...] = (
    """CREATE TABLE IF NOT EXISTS replacements(
        unit_id INTEGER PRIMARY KEY REFERENCES work_units(id),
        made TEXT NOT NULL,
        replaced TEXT NOT NULL,
        at INTEGER NOT NULL,
        undone_at INTEGER)""",
    # state: sending | waiting | ended. remote: the provider's id, "" until it is known.
    """CREATE TABLE IF NOT EXISTS batches(
        id INTEGER PRIMARY KEY,
        token TEXT NOT NULL UNIQUE,
        remote TEXT NOT NULL DEFAULT '',
        state TEXT NOT NULL,
        sent_at INTEGER NOT NULL,
        ended_at INTEGER)""",
    """CREATE TABLE IF NOT EXISTS batch_units(
        batch_id INTEGER NOT NULL REFERENCES batches(id),
        unit_id INTEGER NOT NULL REFERENCES work_units(id),
        run_id INTEGER NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY(batch_id, unit_id)) WITHOUT ROWID""",
)
