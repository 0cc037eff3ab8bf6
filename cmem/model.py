"""The values that cross the arrows: wire → event → evidence → unit → draft → item.

All are immutable named tuples of plain values (``dataclasses`` would cost every hot
command 17 ms of import). Times are integer milliseconds UTC. Text is clean here: no NUL,
no lone surrogate, secrets already replaced.
"""

from typing import NamedTuple

# --- spool ---------------------------------------------------------------------------


class Repo(NamedTuple):
    """Where a directory stands in git, read from ``.git`` files; every field may be ""."""

    root: str
    common_dir: str
    branch: str
    commit: str


class Entry(NamedTuple):
    """One captured hook call as it lies in the spool: the host's wire plus what had to be
    read at that moment. ``id`` is the spool row, 0 for a spill file. ``wanted``: False where a
    person has said that nothing of its place or session is to be kept."""

    id: int
    eid: str
    host: str
    event: str
    captured_at: int
    cwd: str
    repo: Repo
    project_env: str
    payload: bytes
    wanted: bool = True


# --- events (decoded by hosts/<host>.py) ---------------------------------------------


class Origin(NamedTuple):
    """What every event knows: who sent it, when, from where."""

    eid: str
    host: str
    event: str
    session: str
    at: int
    cwd: str
    repo: Repo
    project_env: str
    prompt_id: str
    agent_id: str
    agent_type: str


class SessionStarted(NamedTuple):
    origin: Origin
    source: str  # startup | resume | clear | compact | fork
    model: str
    title: str


class PromptSubmitted(NamedTuple):
    """``kind``: user | notification. ``private``: nothing was left outside <private>."""

    origin: Origin
    text: str
    kind: str
    private: bool


class ToolUsed(NamedTuple):
    """One finished tool call. ``tool_input`` and ``tool_response`` are JSON texts.
    ``outcome``: ok | failed | interrupted."""

    origin: Origin
    tool_use_id: str
    tool_name: str
    tool_input: str
    tool_response: str
    outcome: str
    duration_ms: int | None


class TurnEnded(NamedTuple):
    """The agent stopped (``outcome`` stop), failed (failure, ``error`` set) or was stopped by
    the user (interrupted)."""

    origin: Origin
    message: str
    outcome: str
    error: str


class Answered(NamedTuple):
    """What the agent said while its turn goes on; the last one stands for the turn."""

    origin: Origin
    message: str


class SubagentEnded(NamedTuple):
    origin: Origin
    message: str


class CompactStarted(NamedTuple):
    origin: Origin
    trigger: str  # manual | auto


class SessionEnded(NamedTuple):
    origin: Origin
    reason: str


class Unreadable(NamedTuple):
    """A payload that is no event: malformed, oversize or of an unknown name. It is
    counted, never guessed at."""

    origin: Origin
    reason: str


Event = (
    SessionStarted
    | PromptSubmitted
    | ToolUsed
    | TurnEnded
    | Answered
    | SubagentEnded
    | CompactStarted
    | SessionEnded
    | Unreadable
)

# --- projects ------------------------------------------------------------------------


class ProjectIdentity(NamedTuple):
    """Which project a directory belongs to. ``key`` is folded; ``source`` is environment |
    git-remote | path | unsorted; ``aliases`` are (kind, folded value), strongest first."""

    key: str
    source: str
    name: str
    root: str
    aliases: tuple[tuple[str, str], ...]


# --- observation ---------------------------------------------------------------------


class ModeType(NamedTuple):
    """A type of observation: ``key`` is stored; ``label`` and ``mark`` are for people and may
    be ""."""

    key: str
    label: str
    mark: str
    description: str


class ModeConcept(NamedTuple):
    key: str
    description: str


class ModeExample(NamedTuple):
    """A record as it should be, shown to the model."""

    situation: str
    type: str
    title: str
    subtitle: str
    facts: tuple[str, ...]
    narrative: str
    concepts: tuple[str, ...]


class Mode(NamedTuple):
    """The vocabulary and guidance of observation. The first of ``types`` is the neutral one;
    ``fields`` and ``summary`` are (name, meaning); ``parents`` are what it inherits from,
    nearest first."""

    name: str
    label: str
    description: str
    origin: str  # built in | the file's path
    parents: tuple[str, ...]
    revision: int
    identity: str
    record: tuple[str, ...]
    skip: tuple[str, ...]
    types: tuple[ModeType, ...]
    concepts: tuple[ModeConcept, ...]
    fields: tuple[tuple[str, str], ...]
    examples: tuple[ModeExample, ...]
    summary: tuple[tuple[str, str], ...]


class Evidence(NamedTuple):
    """One tool use as the observer sees it. ``id`` is the row, shown as T<id>."""

    id: int
    tool_name: str
    tool_input: str
    tool_response: str
    outcome: str
    at: int
    cwd: str
    agent_id: str
    agent_type: str
    taint: str


class TurnUnit(NamedTuple):
    """The evidence of one closed turn, or of a part of one after halving."""

    unit_id: int
    session_id: int
    project: str
    project_root: str
    language: str
    turn_number: int
    prompt_id: int | None  # the prompt's row, shown as P<id>; None for a turn without one
    prompt: str
    prompt_at: int
    evidence: tuple[Evidence, ...]
    assistant_message: str
    outcome: str  # stop | failure | interrupted
    error: str
    closed_at: int
    attempts: int
    mode: Mode | None = None  # None: the default one
    trees: tuple[str, ...] = ()  # other work trees of the project: linked ones, other clones

    @property
    def roots(self) -> tuple[str, ...]:
        """Every folder that a path of the project is relative to, inner ones first."""
        known = dict.fromkeys(filter(None, (self.project_root, *self.trees)))
        return tuple(sorted(known, key=len, reverse=True))


class ObservationDraft(NamedTuple):
    """An observation not stored yet. ``sources`` are the tool uses it rests on: None means the
    whole unit, () nothing but what the user and the agent said. ``at`` is the time of the
    newest event it tells of. ``unverified``: pieces of its facts that the unit does not hold."""

    type: str
    title: str
    subtitle: str
    narrative: str
    facts: tuple[str, ...]
    concepts: tuple[str, ...]
    files_read: tuple[str, ...]
    files_modified: tuple[str, ...]
    sources: tuple[int, ...] | None
    at: int
    agent_id: str
    agent_type: str
    unverified: tuple[str, ...] = ()


class SessionTurn(NamedTuple):
    """One turn as a summary sees it: prompt, last message, and what was observed in it."""

    number: int
    prompt: str
    assistant_message: str
    outcome: str
    observations: tuple[ObservationDraft, ...]


class SummaryUnit(NamedTuple):
    """What one summary is made of: the session's turns since its last summary."""

    unit_id: int
    session_id: int
    project: str
    language: str
    reason: str  # end | idle | compact
    turns: tuple[SessionTurn, ...]
    at: int
    attempts: int
    mode: Mode | None = None  # None: the default one


class SummaryDraft(NamedTuple):
    request: str
    investigated: str
    learned: str
    completed: str
    next_steps: str
    notes: str
    files_read: tuple[str, ...]
    files_edited: tuple[str, ...]


class Usage(NamedTuple):
    """Tokens and price of one provider call, zeros for a call that is none."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float


class Reply(NamedTuple):
    """A reply that counts: drafts, or an explicit skip with its reason. Never both empty."""

    observations: tuple[ObservationDraft, ...]
    summary: SummaryDraft | None
    skipped: str | None
    notes: tuple[str, ...]  # what the parser put right, for the log


class Observed(NamedTuple):
    """What a provider made of a unit, with provenance."""

    reply: Reply
    usage: Usage
    provider: str
    model: str
    prompt_version: str
    calls: int
    cut: bool = False  # the reply ended at the limit of its tokens, so that there may be more
    mended: tuple[str, ...] = ()  # what was lost or put right, as counts without any of its text
