"""Migration 1: the path from a hook's event to a memory that can be found.

Frozen: never edited once released; later shapes are later migrations. Short columns stand
before long ones, so that a listing does not walk overflow pages. ``created_at`` is the time
of what is told, never the time of writing.
"""

NAME = "the whole path: evidence, turns, work units, observations, summaries, index"

# Each entry is one statement: a driver that stops at the first row must not swallow the rest.
STATEMENTS = (
    # -- bookkeeping -------------------------------------------------------------------
    """CREATE TABLE IF NOT EXISTS meta(
        key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID""",
    # Event identities ever taken in; a host's retry after the spool row is gone is no new event.
    """CREATE TABLE IF NOT EXISTS seen_events(
        eid TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS seen_events_at ON seen_events(at)",
    # Keyed hashes of what was forgotten: no text, enough to refuse its return.
    """CREATE TABLE IF NOT EXISTS tombstones(
        mac BLOB PRIMARY KEY, kind TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID""",
    # -- projects and sessions ---------------------------------------------------------
    """CREATE TABLE IF NOT EXISTS projects(
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        key_source TEXT NOT NULL,
        name TEXT NOT NULL,
        root TEXT NOT NULL,
        merged_into INTEGER REFERENCES projects(id),
        created_at INTEGER NOT NULL)""",
    """CREATE INDEX IF NOT EXISTS projects_merged
        ON projects(merged_into) WHERE merged_into IS NOT NULL""",
    """CREATE TABLE IF NOT EXISTS project_aliases(
        kind TEXT NOT NULL,
        alias TEXT NOT NULL,
        project_id INTEGER NOT NULL REFERENCES projects(id),
        created_at INTEGER NOT NULL,
        PRIMARY KEY(kind, alias)) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS project_aliases_project ON project_aliases(project_id)",
    """CREATE TABLE IF NOT EXISTS sessions(
        id INTEGER PRIMARY KEY,
        uid TEXT NOT NULL UNIQUE,
        host TEXT NOT NULL,
        content_session_id TEXT NOT NULL,
        memory_session_id TEXT,
        project_id INTEGER NOT NULL REFERENCES projects(id),
        project_key_source TEXT NOT NULL,
        cwd TEXT NOT NULL,
        model TEXT NOT NULL DEFAULT '',
        title TEXT NOT NULL DEFAULT '',
        status TEXT NOT NULL DEFAULT 'active',
        prompt_counter INTEGER NOT NULL DEFAULT 0,
        started_at INTEGER NOT NULL,
        last_event_at INTEGER NOT NULL,
        completed_at INTEGER,
        UNIQUE(host, content_session_id))""",
    "CREATE INDEX IF NOT EXISTS sessions_project ON sessions(project_id, started_at DESC)",
    # -- evidence ----------------------------------------------------------------------
    # A turn: one prompt, what followed, the last message. Closed exactly once.
    """CREATE TABLE IF NOT EXISTS turns(
        id INTEGER PRIMARY KEY,
        session_id INTEGER NOT NULL REFERENCES sessions(id),
        number INTEGER NOT NULL,
        kind TEXT NOT NULL,
        native_prompt_id TEXT NOT NULL DEFAULT '',
        private INTEGER NOT NULL DEFAULT 0,
        opened_at INTEGER NOT NULL,
        last_event_at INTEGER NOT NULL,
        closed_at INTEGER,
        closed_by TEXT,
        outcome TEXT,
        hidden_at INTEGER,
        branch TEXT NOT NULL DEFAULT '',
        commit_sha TEXT NOT NULL DEFAULT '',
        error TEXT NOT NULL DEFAULT '',
        assistant_message TEXT NOT NULL DEFAULT '',
        UNIQUE(session_id, number))""",
    """CREATE INDEX IF NOT EXISTS turns_open
        ON turns(session_id) WHERE closed_at IS NULL""",
    """CREATE TABLE IF NOT EXISTS user_prompts(
        id INTEGER PRIMARY KEY,
        uid TEXT NOT NULL UNIQUE,
        session_id INTEGER NOT NULL REFERENCES sessions(id),
        turn_id INTEGER NOT NULL REFERENCES turns(id),
        prompt_number INTEGER NOT NULL,
        kind TEXT NOT NULL,
        native_prompt_id TEXT NOT NULL DEFAULT '',
        native_prompt_hash TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        hidden_at INTEGER,
        cwd TEXT NOT NULL DEFAULT '',
        prompt_text TEXT NOT NULL,
        UNIQUE(session_id, native_prompt_id, native_prompt_hash))""",
    "CREATE INDEX IF NOT EXISTS user_prompts_turn ON user_prompts(turn_id)",
    # tool_input and tool_response: the codec's form (plain TEXT when short, else a zlib BLOB).
    """CREATE TABLE IF NOT EXISTS tool_uses(
        id INTEGER PRIMARY KEY,
        uid TEXT NOT NULL UNIQUE,
        session_id INTEGER NOT NULL REFERENCES sessions(id),
        turn_id INTEGER NOT NULL REFERENCES turns(id),
        tool_use_id TEXT NOT NULL,
        tool_name TEXT NOT NULL,
        outcome TEXT NOT NULL,
        prompt_number INTEGER NOT NULL,
        agent_id TEXT NOT NULL DEFAULT '',
        agent_type TEXT NOT NULL DEFAULT '',
        taint TEXT NOT NULL DEFAULT 'local',
        duration_ms INTEGER,
        created_at INTEGER NOT NULL,
        hidden_at INTEGER,
        evidence_tokens INTEGER NOT NULL,
        branch TEXT NOT NULL DEFAULT '',
        commit_sha TEXT NOT NULL DEFAULT '',
        cwd TEXT NOT NULL DEFAULT '',
        tool_input,
        tool_response,
        UNIQUE(session_id, tool_use_id))""",
    "CREATE INDEX IF NOT EXISTS tool_uses_turn ON tool_uses(turn_id, id)",
    # -- work --------------------------------------------------------------------------
    # kind turn: observe one closed turn (first_tool..last_tool when it was halved);
    # kind summary: summarise the session up to turn_id. state: pending | done | skipped |
    # parked | split (halved; two new units stand for it) | dropped (given up by a person;
    # ``queue retry`` takes it back). A claim is the attempt counted
    # before the call; nothing else marks it.
    """CREATE TABLE IF NOT EXISTS work_units(
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        session_id INTEGER NOT NULL REFERENCES sessions(id),
        turn_id INTEGER NOT NULL REFERENCES turns(id),
        first_tool INTEGER,
        last_tool INTEGER,
        state TEXT NOT NULL DEFAULT 'pending',
        reason TEXT NOT NULL DEFAULT '',
        attempts INTEGER NOT NULL DEFAULT 0,
        crashes INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        finished_at INTEGER,
        error TEXT NOT NULL DEFAULT '')""",
    """CREATE INDEX IF NOT EXISTS work_units_pending
        ON work_units(kind, id) WHERE state = 'pending'""",
    "CREATE INDEX IF NOT EXISTS work_units_turn ON work_units(turn_id)",
    "CREATE INDEX IF NOT EXISTS work_units_session ON work_units(session_id)",
    # One observer run = one memory session: provider, model, tokens, price, outcome.
    """CREATE TABLE IF NOT EXISTS observer_runs(
        id INTEGER PRIMARY KEY,
        unit_id INTEGER NOT NULL REFERENCES work_units(id),
        session_id INTEGER NOT NULL REFERENCES sessions(id),
        project_id INTEGER NOT NULL REFERENCES projects(id),
        kind TEXT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_version TEXT NOT NULL,
        outcome TEXT NOT NULL,
        calls INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        cache_read_tokens INTEGER NOT NULL,
        cache_write_tokens INTEGER NOT NULL,
        cost_usd REAL NOT NULL,
        started_at INTEGER NOT NULL,
        ended_at INTEGER NOT NULL,
        error TEXT NOT NULL DEFAULT '')""",
    "CREATE INDEX IF NOT EXISTS observer_runs_started ON observer_runs(started_at)",
    "CREATE INDEX IF NOT EXISTS observer_runs_unit ON observer_runs(unit_id)",
    # -- memory ------------------------------------------------------------------------
    """CREATE TABLE IF NOT EXISTS observations(
        id INTEGER PRIMARY KEY,
        uid TEXT NOT NULL UNIQUE,
        session_id INTEGER NOT NULL REFERENCES sessions(id),
        project_id INTEGER NOT NULL REFERENCES projects(id),
        turn_id INTEGER NOT NULL REFERENCES turns(id),
        unit_id INTEGER REFERENCES work_units(id),
        run_id INTEGER REFERENCES observer_runs(id),
        host TEXT NOT NULL,
        prompt_number INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        hidden_at INTEGER,
        superseded_by INTEGER REFERENCES observations(id),
        pinned INTEGER NOT NULL DEFAULT 0,
        taint TEXT NOT NULL,
        type TEXT NOT NULL,
        evidence_tokens INTEGER NOT NULL,
        discovery_tokens INTEGER NOT NULL,
        read_tokens INTEGER NOT NULL,
        occurrence_count INTEGER NOT NULL DEFAULT 1,
        last_reinforced INTEGER NOT NULL,
        reinforcement_dates TEXT NOT NULL,
        content_hash TEXT NOT NULL,
        title_norm_key TEXT NOT NULL,
        agent_id TEXT NOT NULL DEFAULT '',
        agent_type TEXT NOT NULL DEFAULT '',
        branch TEXT NOT NULL DEFAULT '',
        commit_sha TEXT NOT NULL DEFAULT '',
        generated_by_model TEXT NOT NULL,
        prompt_version TEXT NOT NULL,
        origin_device_id TEXT NOT NULL DEFAULT '',
        origin_local_id INTEGER,
        sync_rev INTEGER NOT NULL DEFAULT 0,
        synced_at INTEGER,
        title TEXT NOT NULL,
        subtitle TEXT NOT NULL,
        concepts TEXT NOT NULL,
        files_read TEXT NOT NULL,
        files_modified TEXT NOT NULL,
        facts TEXT NOT NULL,
        narrative TEXT NOT NULL,
        metadata TEXT NOT NULL DEFAULT '{}',
        UNIQUE(session_id, content_hash))""",
    # The session start query: newest of a project, everything a line of the context needs,
    # no row read, no sort. 168 MB at a million rows, 12 pages read (measured, retrieval notes).
    """CREATE INDEX IF NOT EXISTS observations_recent ON observations(
        project_id, created_at DESC, id DESC, type, pinned, taint, prompt_number, session_id,
        agent_type, evidence_tokens, read_tokens, title, subtitle)
        WHERE hidden_at IS NULL AND superseded_by IS NULL""",
    """CREATE INDEX IF NOT EXISTS observations_pinned ON observations(project_id, created_at DESC)
        WHERE pinned = 1 AND hidden_at IS NULL AND superseded_by IS NULL""",
    # Deleting a row must not scan the table for rows that it superseded.
    """CREATE INDEX IF NOT EXISTS observations_superseded
        ON observations(superseded_by) WHERE superseded_by IS NOT NULL""",
    """CREATE INDEX IF NOT EXISTS observations_session
        ON observations(session_id, created_at)""",
    "CREATE INDEX IF NOT EXISTS observations_turn ON observations(turn_id)",
    "CREATE INDEX IF NOT EXISTS observations_unit ON observations(unit_id)",
    """CREATE TABLE IF NOT EXISTS observation_files(
        path TEXT NOT NULL,
        observation_id INTEGER NOT NULL REFERENCES observations(id),
        role TEXT NOT NULL,
        PRIMARY KEY(path, observation_id, role)) WITHOUT ROWID""",
    """CREATE INDEX IF NOT EXISTS observation_files_observation
        ON observation_files(observation_id)""",
    # What an observation was made of: kind P (prompt) or T (tool use), and the row.
    """CREATE TABLE IF NOT EXISTS observation_sources(
        observation_id INTEGER NOT NULL REFERENCES observations(id),
        kind TEXT NOT NULL,
        ref INTEGER NOT NULL,
        PRIMARY KEY(observation_id, kind, ref)) WITHOUT ROWID""",
    """CREATE INDEX IF NOT EXISTS observation_sources_ref
        ON observation_sources(kind, ref)""",
    """CREATE TABLE IF NOT EXISTS session_summaries(
        id INTEGER PRIMARY KEY,
        uid TEXT NOT NULL UNIQUE,
        session_id INTEGER NOT NULL REFERENCES sessions(id),
        project_id INTEGER NOT NULL REFERENCES projects(id),
        turn_id INTEGER NOT NULL REFERENCES turns(id),
        unit_id INTEGER UNIQUE REFERENCES work_units(id),
        run_id INTEGER REFERENCES observer_runs(id),
        created_at INTEGER NOT NULL,
        hidden_at INTEGER,
        prompt_number INTEGER NOT NULL,
        taint TEXT NOT NULL,
        evidence_tokens INTEGER NOT NULL,
        discovery_tokens INTEGER NOT NULL,
        read_tokens INTEGER NOT NULL,
        branch TEXT NOT NULL DEFAULT '',
        generated_by_model TEXT NOT NULL,
        prompt_version TEXT NOT NULL,
        origin_device_id TEXT NOT NULL DEFAULT '',
        origin_local_id INTEGER,
        sync_rev INTEGER NOT NULL DEFAULT 0,
        synced_at INTEGER,
        request TEXT NOT NULL,
        investigated TEXT NOT NULL,
        learned TEXT NOT NULL,
        completed TEXT NOT NULL,
        next_steps TEXT NOT NULL,
        notes TEXT NOT NULL,
        files_read TEXT NOT NULL,
        files_edited TEXT NOT NULL,
        metadata TEXT NOT NULL DEFAULT '{}')""",
    """CREATE INDEX IF NOT EXISTS session_summaries_recent
        ON session_summaries(project_id, created_at DESC) WHERE hidden_at IS NULL""",
    """CREATE INDEX IF NOT EXISTS session_summaries_session
        ON session_summaries(session_id)""",
    # What is hidden is little: counting the visible and purging the hidden need no scan.
    """CREATE INDEX IF NOT EXISTS tool_uses_hidden
        ON tool_uses(hidden_at) WHERE hidden_at IS NOT NULL""",
    """CREATE INDEX IF NOT EXISTS user_prompts_hidden
        ON user_prompts(hidden_at) WHERE hidden_at IS NOT NULL""",
    """CREATE INDEX IF NOT EXISTS observations_hidden
        ON observations(hidden_at) WHERE hidden_at IS NOT NULL""",
    """CREATE INDEX IF NOT EXISTS turns_hidden
        ON turns(hidden_at) WHERE hidden_at IS NOT NULL""",
    # -- index -------------------------------------------------------------------------
    # One number space over everything that can be found. kind: O | S | P | T.
    """CREATE TABLE IF NOT EXISTS documents(
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        ref INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        UNIQUE(kind, ref))""",
    # The text the index is made of, segmented by our own code (functions registered on every
    # connection, innocuous). External content over this view, because a contentless table
    # leaves the tokens of forgotten text in the file.
    """CREATE VIEW IF NOT EXISTS documents_text(id, title, body, meta, x, k) AS
        SELECT d.id,
            cmem_words(o.title || ' ' || o.subtitle),
            cmem_words(cmem_list(o.facts) || ' ' || o.narrative),
            cmem_words(cmem_list(o.concepts) || ' ' || cmem_list(o.files_read) || ' '
                || cmem_list(o.files_modified)),
            cmem_parts(o.title || ' ' || o.subtitle || ' ' || cmem_list(o.facts) || ' '
                || o.narrative || ' ' || cmem_list(o.files_read) || ' '
                || cmem_list(o.files_modified)),
            cmem_keys('O', o.project_id, o.type, o.host, o.agent_type)
          FROM documents d JOIN observations o ON d.kind = 'O' AND o.id = d.ref
        UNION ALL
        SELECT d.id,
            cmem_words(s.request),
            cmem_words(s.investigated || ' ' || s.learned || ' ' || s.completed || ' '
                || s.next_steps || ' ' || s.notes),
            cmem_words(cmem_list(s.files_read) || ' ' || cmem_list(s.files_edited)),
            cmem_parts(s.request || ' ' || s.investigated || ' ' || s.learned || ' '
                || s.completed || ' ' || s.next_steps || ' ' || s.notes || ' '
                || cmem_list(s.files_read) || ' ' || cmem_list(s.files_edited)),
            cmem_keys('S', s.project_id, 'summary', n.host, '')
          FROM documents d JOIN session_summaries s ON d.kind = 'S' AND s.id = d.ref
          JOIN sessions n ON n.id = s.session_id
        UNION ALL
        SELECT d.id, '', cmem_words(p.prompt_text), '', cmem_parts(p.prompt_text),
            cmem_keys('P', n.project_id, 'prompt', n.host, '')
          FROM documents d JOIN user_prompts p ON d.kind = 'P' AND p.id = d.ref
          JOIN sessions n ON n.id = p.session_id
        UNION ALL
        SELECT d.id,
            cmem_words(cmem_tool_title(t.tool_name, t.tool_input)),
            cmem_words(cmem_tool_body(t.tool_input, t.tool_response)),
            '',
            cmem_parts(cmem_tool_title(t.tool_name, t.tool_input) || ' '
                || cmem_tool_body(t.tool_input, t.tool_response)),
            cmem_keys('T', n.project_id, t.tool_name, n.host, t.agent_type)
          FROM documents d JOIN tool_uses t ON d.kind = 'T' AND t.id = d.ref
          JOIN sessions n ON n.id = t.session_id""",
    """CREATE VIRTUAL TABLE IF NOT EXISTS documents_fts USING fts5(
        title, body, meta, x, k,
        content='documents_text', content_rowid='id',
        tokenize="porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'")""",
    "INSERT INTO documents_fts(documents_fts, rank) VALUES('secure-delete', 1)",
)
