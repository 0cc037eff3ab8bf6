"""``rules test`` says of an event what the hook and ingest then do; ``rules list`` what is set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from capturing import put
from hookrun import everything
from support import CLAUDE_CODE, FIXTURES, payload_bytes, run_cmem, run_hook

from cmem import explain, filters, ingest, spooled
from cmem.hosts.wire import HOSTS
from cmem.privacy import report
from cmem.store import connection

NOW = 1_800_000_000_000
GITHUB = "gh" + "p_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
TOOL = {
    "session_id": "s1",
    "cwd": "/w/calc",
    "hook_event_name": "PostToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "make test"},
    "tool_response": {"stdout": "ok"},
    "tool_use_id": "toolu_1",
}
STEPS = (
    *("event", "switches", "own events", "filters", "secret sources", "secrets, in the hook"),
    *("size", "identity", "project", "secrets, at ingest"),
)


def asked(*args: str, stdin: bytes = b"", **env: str) -> Any:
    done = run_cmem("rules", "test", *args, "--json", stdin=stdin, **env)
    assert (done.returncode, done.stderr) == (0, b""), done
    assert GITHUB.encode() not in done.stdout
    return json.loads(done.stdout)


def explained(home: Path, event: str, **changes: Any) -> explain.Explained:
    raw = payload_bytes({**TOOL, "hook_event_name": event, **changes})
    return explain.explain(explain.Asked(str(home), "claude-code", event, raw, {}, NOW))


def config(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text, encoding="utf-8")


def test_each_step_of_a_payload_from_a_file(home: Path) -> None:
    found = asked(str(CLAUDE_CODE / "PostToolUse-Bash.json"))
    assert [one["name"] for one in found["steps"]] == [*STEPS]
    assert {one["result"] for one in found["steps"]} == {"pass"}
    assert (found["host"], found["event"]) == ("claude-code", "PostToolUse")
    assert found["stored"] is True
    assert found["outcome"] == "stored as tool call Bash (ok), in project project"
    assert list(home.iterdir()) == []


def test_lines_for_a_person(home: Path) -> None:
    config(home, 'skip_commands = "git status*"\n')
    args = ("rules", "test", "--command", "git status -s", "--cwd", "/w/calc")
    assert run_cmem(*args).stdout.decode() == (
        "pass event: claude-code PostToolUse, 111 bytes\n"
        "pass switches: memory is on in /w/calc\n"
        "pass own events: not of cmem's own observer\n"
        "stop filters: skip_commands git status* (config.toml)\n"
        "=>   not stored: skip_commands git status* (config.toml)\n"
    )


ENDINGS: list[tuple[str, dict[str, Any], str, bool, str]] = [
    ("Nonsense", {}, "", False, "not stored: claude-code Nonsense is not captured; these are: "),
    ("PostToolUse", {}, 'skip_tools = "B*"', False, "not stored: skip_tools B* (config.toml)"),
    (
        "PostToolUse",
        {},
        'exclude = "calc"',
        False,
        "not stored: excluded by calc (setting exclude)",
    ),
    (
        "PostToolUse",
        {"cwd": "/tmp/cmem-observer-x/y"},
        "",
        False,
        "not stored: it is of cmem's own observer",
    ),
    ("UserPromptSubmit", {"prompt": "hi"}, 'skip_tools = "*"', True, "stored as prompt, in "),
    (
        "UserPromptSubmit",
        {"prompt": "<private>hi</private>"},
        "",
        True,
        "stored as prompt; it is private, so the tool calls of its turn are hidden, in project",
    ),
    ("UserPromptSubmit", {"prompt": 7}, "", False, "not stored: it cannot be read: prompt is no"),
    ("Stop", {}, "", True, "stored as end of a turn, in project calc"),
    ("SessionStart", {"source": "startup"}, "", True, "stored as start of a session, in project"),
    (
        "PostToolUse",
        {"tool_name": ""},
        "",
        True,
        "stored as tool call that could not be read (tool",
    ),
    ("PostToolUseFailure", {"error": "x"}, "", True, "stored as tool call Bash (failed), in"),
]


@pytest.mark.parametrize(("event", "changes", "settings", "stored", "outcome"), ENDINGS)
def test_the_outcome_is_what_happens(
    home: Path, event: str, changes: dict[str, Any], settings: str, *, stored: bool, outcome: str
) -> None:
    config(home, settings + "\n")
    found = explained(home, event, **changes)
    assert (found.stored, found.outcome[: len(outcome)]) == (stored, outcome)
    assert (found.steps[-1].result == "stop") is not stored
    captured = event in HOSTS["claude-code"].kinds
    if captured:
        raw = payload_bytes({**TOOL, "hook_event_name": event, **changes})
        run_hook(home, event, raw)
    conn = connection.open_writer(str(home), now=NOW)
    taken = ingest.ingest(str(home), conn, now=NOW)
    assert (taken.events - taken.lost == 1) is stored
    conn.close()


def test_what_is_cut_is_told_by_rule_and_field_and_never_shown(home: Path) -> None:
    word = "hunter2" + "Xy9z"
    payload = {
        **TOOL,
        "tool_input": {"command": f"DB_PASSWORD={word} make", GITHUB: "x"},
        "tool_response": {"lines": ["<private>a</private>", f"a {GITHUB} b {GITHUB}", word]},
    }
    found = asked("-", stdin=payload_bytes(payload))
    steps = {one["name"]: one for one in found["steps"]}
    assert steps["secrets, in the hook"]["cuts"] == [
        {"field": "tool_input.(key)", "rules": {"github": 1}},
        {"field": "tool_response.lines.0", "rules": {"private": 1}},
        {"field": "tool_response.lines.1", "rules": {"github": 2}},
    ]
    assert [one["field"] for one in steps["secrets, at ingest"]["cuts"]] == [
        "tool_input.command",
        "tool_response.lines.2",
    ]
    assert word not in json.dumps(found)
    assert steps["secrets, in the hook"]["detail"] == "4 cut in 3 fields"


@pytest.mark.parametrize("name", ["malformed", "sensitive", "large", "larger", "known"])
def test_sizes_sources_and_known_events(home: Path, name: str) -> None:
    changes: dict[str, Any] = {
        "sensitive": {"tool_input": {"command": "cat .env"}},
        "large": {"tool_response": {"stdout": "word " * 60_000}},
        "larger": {"tool_response": {f"k{at}": "word " * 12_000 for at in range(6)}},
    }.get(name, {})
    if name == "known":
        put(home, "PostToolUse", TOOL, NOW)
        conn = connection.open_writer(str(home), now=NOW)
        ingest.ingest(str(home), conn, now=NOW)
        conn.close()
    found = asked(stdin=b"{" if name == "malformed" else payload_bytes({**TOOL, **changes}))
    told = {one["name"]: (one["result"], one["detail"]) for one in found["steps"]}
    wanted = {
        "malformed": ("size", ("cut", "malformed: only that it happened is kept, and its size")),
        "sensitive": (
            "secret sources",
            ("cut", "it names one: the fact is kept, what it reads or writes is not"),
        ),
        "large": ("size", ("cut", "long texts cut in the middle: 65688 of 300177 bytes are kept")),
        "larger": (
            "size",
            ("pass", "360213 bytes: too large for the spool, so it waits as a file"),
        ),
        "known": ("identity", ("stop", "claude-code:s1:t:toolu_1 is in the store already")),
    }
    step, said = wanted[name]
    assert told[step] == said


def test_switches_of_the_environment_and_where_a_rule_was_set(home: Path) -> None:
    config(home, 'skip_tools = "Edit"\n')
    made = ("--tool", "Write")
    off = asked(*made, CMEM_DISABLE="1")
    assert off["outcome"] == "not stored: off by CMEM_DISABLE in this environment"
    told = asked(*made, CMEM_SKIP_TOOLS="W*")["outcome"]
    assert told == "not stored: skip_tools W* (CMEM_SKIP_TOOLS in this environment)"
    assert asked("--tool", "Edit")["outcome"] == "not stored: skip_tools Edit (config.toml)"


def test_events_of_every_host_can_be_made_up_or_read(home: Path) -> None:
    config(home, 'skip_agents = "Explore"\nskip_paths = "*.lock"\nskip_commands = "ls"\n')
    for host in HOSTS:
        for option, value, rule in (
            ("--command", "ls", "skip_commands ls"),
            ("--path", "uv.lock", "skip_paths *.lock"),
            ("--agent", "Explore", "skip_agents Explore"),
        ):
            told = asked("--host", host, option, value)["outcome"]
            assert told == f"not stored: {rule} (config.toml)"
    file = FIXTURES / "hosts" / "gemini-cli" / "AfterTool-read_file.json"
    assert asked(str(file), "--host", "gemini-cli")["event"] == "AfterTool"
    moved = asked(str(file), "--host", "gemini-cli", "--cwd", "/w/other")
    assert moved["outcome"] == "stored as tool call read_file (ok), in project other"
    args = ("--host", "cursor", "--event", "postToolUse")
    payload = {"conversation_id": "c1", "workspace_roots": ["/w/calc"], "tool_name": "Shell"}
    for cwd, name in (((), "calc"), (("--cwd", "/w/other"), "other")):
        told = asked(*args, *cwd, stdin=payload_bytes(payload))
        assert told["outcome"].endswith(f"in project {name}")


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--host", "nobody"], 2, "no such host: nobody; known: claude-code, codex"),
        (["x.json", "--tool", "Bash"], 2, "give a FILE, or --tool"),
        (["missing.json"], 1, "could not read missing.json: no such file"),
        (["."], 1, "could not read .: is a directory"),
    ],
)
def test_wrong_lines_say_what_to_do(args: list[str], code: int, message: str) -> None:
    done = run_cmem("rules", "test", *args)
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.decode().startswith(f"cmem: {message}")


def test_nothing_is_written_by_a_test(home: Path) -> None:
    config(home, 'skip_tools = "Edit"\n')
    before = everything(home)
    for tool in ("Edit", "Bash"):
        asked("--tool", tool)
    assert everything(home) == before
    assert spooled.counts(str(home)) == (0, 0, 0)
    assert filters.counts(str(home)) == []


# --- rules list ----------------------------------------------------------------------


def listed(**env: str) -> Any:
    done = run_cmem("rules", "list", "--json", **env)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


def test_the_list_tells_what_is_set_where_and_what_it_left_out(home: Path) -> None:
    config(home, 'skip_tools = "Edit, mcp__*"\nskip_small = 99\nexclude = "~/one:two"\n')
    for rule in (("skip_tools", "Edit"), ("skip_paths", "old")):
        filters.count(str(home), rule)
    found = listed(CMEM_SKIP_AGENTS="*", CMEM_EXCLUDE="three")
    rows = [(one["setting"], one["rule"], one["origin"], one["count"]) for one in found["filters"]]
    assert rows == [
        ("skip_tools", "Edit", "config.toml", 1),
        ("skip_tools", "mcp__*", "config.toml", 0),
        ("skip_agents", "*", "CMEM_SKIP_AGENTS in this environment", 0),
        ("skip_small", "99", "config.toml", 0),
        ("skip_paths", "old", None, 1),
    ]
    assert found["exclude"] == [
        {"glob": "~/one", "origin": "config.toml"},
        {"glob": "two", "origin": "config.toml"},
        {"glob": "three", "origin": "CMEM_EXCLUDE in this environment"},
    ]
    assert found["scrub"] == {"hook": report.hook_rules(), "ingest": report.ingest_rules()}
    lines = run_cmem("rules", "list").stdout.decode().split("\n")
    assert lines[0].startswith("skip_tools: Edit (config.toml; 1 left out since ")
    assert lines[1] == "skip_tools: mcp__* (config.toml; 0 left out)"


def test_an_empty_list_says_what_could_be_set(home: Path) -> None:
    lines = run_cmem("rules", "list").stdout.decode().split("\n")
    assert lines[0] == (
        "filters: none set (skip_tools, skip_agents, skip_paths, skip_commands, skip_small)"
    )
    config(home, 'skip_paths = ["x"]\n')
    assert listed()["unreadable"] == ["skip_paths"]
