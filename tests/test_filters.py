"""Tool calls left out by a person's wish: which ones, by which rule, and never in silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import hookrun
import pytest
from capturing import put
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, clean_env, payload_bytes, run_cmem, run_hook, run_json

from cmem import bundle, filters, ingest, spill, spooled
from cmem.filters import Call
from cmem.hosts import calls
from cmem.hosts.wire import HOSTS
from cmem.store import connection

NOW = 1_800_000_000_000
TOOL = {
    "session_id": "s1",
    "cwd": "/w/calc",
    "hook_event_name": "PostToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "git status --short"},
    "tool_response": {"stdout": " M calc.py"},
    "tool_use_id": "toolu_1",
}


def event(**changes: Any) -> bytes:
    return payload_bytes({**TOOL, **changes})


def config(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text, encoding="utf-8")


def made(**set_to: str | int) -> filters.Filters:
    lines = [f"{name} = {json.dumps(value)}" for name, value in set_to.items()]
    return filters.load("\n".join(lines).encode(), {})


def call(host: str = "claude-code", **changes: Any) -> Call:
    return filters.call_of(host, event(**changes))


# --- the rules -----------------------------------------------------------------------

AGENT = {"agent_id": "a1", "agent_type": "Explore"}
READ = {"tool_name": "Read", "tool_input": {"file_path": "/w/calc/src/calc.py"}}
PATCH = "*** Begin Patch\n*** Update File: calc.py\n@@\n-a\n+b\n*** Add File: docs/new.txt\n+x\n"

VERDICTS: list[tuple[str, dict[str, Any], dict[str, Any], tuple[str, str] | None]] = [
    ("the name", {"skip_tools": "Bash"}, {}, ("skip_tools", "Bash")),
    ("case does not count", {"skip_tools": "bASH"}, {}, ("skip_tools", "bASH")),
    ("another name", {"skip_tools": "Bas,BashOutput"}, {}, None),
    (
        "a glob",
        {"skip_tools": "TodoWrite, mcp__*"},
        {"tool_name": "mcp__notes__add"},
        ("skip_tools", "mcp__*"),
    ),
    ("a character", {"skip_tools": "B?sh"}, {}, ("skip_tools", "B?sh")),
    ("an agent", {"skip_agents": "Explore"}, AGENT, ("skip_agents", "Explore")),
    ("every agent", {"skip_agents": "*"}, AGENT, ("skip_agents", "*")),
    ("a nameless one", {"skip_agents": "*"}, {"agent_id": "a1"}, ("skip_agents", "*")),
    ("the agent itself", {"skip_agents": "*"}, {"agent_type": "Explore"}, None),
    (
        "a plugin's agent",
        {"skip_agents": "a,tools:*"},
        {"agent_id": "a1", "agent_type": "tools:find"},
        ("skip_agents", "tools:*"),
    ),
    ("a file", {"skip_paths": "/w/calc/src/calc.py"}, READ, ("skip_paths", "/w/calc/src/calc.py")),
    ("a file's kind", {"skip_paths": "*.lock,*.py"}, READ, ("skip_paths", "*.py")),
    ("a folder above", {"skip_paths": "src"}, READ, ("skip_paths", "src")),
    ("a deep glob", {"skip_paths": "/w/**/*.py"}, READ, ("skip_paths", "/w/**/*.py")),
    ("another file", {"skip_paths": "/w/calc/*.py,calc.p,rc"}, READ, None),
    (
        "a file from here",
        {"skip_paths": "/w/private"},
        {"tool_name": "Read", "tool_input": {"file_path": "../private/x"}},
        ("skip_paths", "/w/private"),
    ),
    (
        "where a search looks",
        {"skip_paths": "src"},
        {"tool_name": "Grep", "tool_input": {"pattern": "x", "path": "src"}},
        ("skip_paths", "src"),
    ),
    (
        "a notebook",
        {"skip_paths": "*.ipynb"},
        {"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/w/a.ipynb"}},
        ("skip_paths", "*.ipynb"),
    ),
    (
        "a patch's second file",
        {"skip_paths": "docs"},
        {"tool_name": "apply_patch", "tool_input": {"command": PATCH}},
        ("skip_paths", "docs"),
    ),
    (
        "a patch is no command",
        {"skip_commands": "*"},
        {"tool_name": "apply_patch", "tool_input": {"command": PATCH}},
        None,
    ),
    (
        "a command names a file",
        {"skip_paths": "secret"},
        {"tool_input": {"command": "cat secret/x"}},
        None,
    ),
    ("a command", {"skip_commands": "ls,git status*"}, {}, ("skip_commands", "git status*")),
    ("the tool first", {"skip_tools": "*", "skip_commands": "*"}, {}, ("skip_tools", "*")),
    (
        "a small result",
        {"skip_small": 100},
        {**READ, "tool_response": {"file": {"content": "x"}}},
        ("skip_small", "100"),
    ),
    (
        "a large one",
        {"skip_small": 20},
        {**READ, "tool_response": {"file": {"content": "x" * 20}}},
        None,
    ),
    ("no reader", {"skip_small": 10_000}, {}, None),
    ("a failed reader", {"skip_small": 10_000}, {**READ, "tool_response": None}, None),
    ("nothing is set", {}, {}, None),
    ("an empty glob", {"skip_tools": " , ,"}, {}, None),
    ("odd types", {"skip_paths": "*"}, {"tool_input": ["x"], "tool_name": 7, "cwd": None}, None),
]


@pytest.mark.parametrize(
    ("set_to", "changes", "rule"),
    [row[1:] for row in VERDICTS],
    ids=[row[0] for row in VERDICTS],
)
def test_verdicts(
    set_to: dict[str, str | int], changes: dict[str, Any], rule: tuple[str, str] | None
) -> None:
    assert filters.verdict(made(**set_to), call(**changes)) == rule


COMMANDS = [
    ("ls", "ls", True),
    ("ls", "ls -la", False),
    ("ls *", "ls -la src", True),
    ("ls*", "  ls -la  ", True),
    ("git status*", "cd /w && git status", True),
    ("git status*", "cd /w; git status --short\n", True),
    ("git status*", "git status && make", False),
    ("git status*", "make || git status", False),
    ("git status*,make", "make && git status", True),
    ("ls*", "ls & rm -r x", False),
    ("ls*", "ls 2>&1", True),
    ("ls*", "ls &> out", False),
    ("ls*", "ls | head -3", True),
    ("ls*", "ls |\n head", False),
    ("echo *", "echo 'a; b' \"c && d\"", True),
    ("echo *", "echo a\\; rm", True),
    ("echo *", 'echo "a\\"; b"', True),
    ("echo *", "echo 'a\\'; rm x", False),
    ("cd *", "cd /w", True),
    ("cd *", "cd /w && make", False),
    ("*", "anything && at all", True),
    ("LS", "ls", True),
    ("ls*", "ls 2>&-", True),
    ("ls*", "ls >&2; ls", True),
    ("ls*", "ls >&2x", False),
    ("ls*", "ls > /dev/null", True),
    ("ls*", "ls > /dev/nullx", False),
    ("ls*", "ls >| out", False),
    ("ls*", "ls <> out", False),
    ("ls*", "ls < in", True),
    ("ls*", "ls <(rm x)", False),
    ("ls*", "ls >(rm x)", False),
    ("echo *", "echo $(rm x)", False),
    ("echo *", 'echo "`rm x`"', False),
    ("echo *", 'echo "$(rm x)"', False),
    ("echo *", "echo '$(rm x)' \\$(", True),
    ("echo *", "echo '> out' \\> \">\"", True),
    ("echo *", "echo $'a\\'; b'", True),
    ("echo *", "echo $'a\\''; rm x", False),
    ("echo *", "echo \\$'a\\'; rm x #'", False),
    ("echo *", "echo $$'a\\'; rm x #'", False),
    ("echo *", "echo $'a", False),
    ("ls*", "ls # ; > $(x)", True),
    ("*", "echo $(rm x) > y", True),
    ("*", "", False),
    ("*", ";;", False),
    ("*", "x" * 5_000, False),
]


@pytest.mark.parametrize(("globs", "line", "skipped"), COMMANDS)
def test_a_shell_line_is_left_out_when_each_command_of_it_is(
    globs: str, line: str, *, skipped: bool
) -> None:
    rule = filters.verdict(made(skip_commands=globs), call(tool_input={"command": line}))
    assert (rule is not None) is skipped


HOST_CALLS = [
    ("codex", {"tool_name": "Bash"}, ("Bash",), ()),
    ("codex", {"tool_name": "apply_patch", "tool_input": {"command": PATCH}}, ("apply_patch",), 2),
    ("gemini-cli", {"tool_name": "read_file", "tool_input": {"file_path": "a"}}, ("read_file",), 1),
    (
        "gemini-cli",
        {"tool_name": "read_many_files", "tool_input": {"paths": ["a", "b"], "include": "["}},
        ("read_many_files",),
        3,
    ),
    ("gemini-cli", {"tool_name": "mcp_notes_add"}, ("mcp_notes_add", "mcp__notes_add"), ()),
    ("gemini-cli", {"tool_name": "mcp__notes"}, ("mcp__notes",), ()),
    ("cursor", {"tool_name": "MCP:notes"}, ("MCP:notes", "mcp__notes"), ()),
    ("copilot-cli", {"tool_name": "notes-add"}, ("notes-add", "mcp__notes-add"), ()),
    ("opencode", {"tool_name": "read", "tool_input": {"filePath": "/a"}}, ("read",), 1),
    ("opencode", {"tool_name": "notes_add"}, ("notes_add", "mcp__notes_add"), ()),
]


@pytest.mark.parametrize(("host", "changes", "names", "files"), HOST_CALLS)
def test_calls_of_every_host_are_read(
    host: str, changes: dict[str, Any], names: tuple[str, ...], files: Any
) -> None:
    found = filters.call_of(host, event(**changes))
    assert found.names == names
    assert len(found.files) == (files or 0)


def test_every_host_has_its_names() -> None:
    assert set(calls.HOSTS) == set(HOSTS)


@pytest.mark.parametrize("name", ["valid", "NaN", "no json", "no object", "not utf-8"])
def test_the_slow_reader_reads_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    payload = {
        "valid": event(**AGENT, **READ, tool_response={"a": 1}, roots=["/a", "/b"], empty=[]),
        "NaN": b'{"tool_name":"Bash","x":NaN}',
        "no json": b"{",
        "no object": b"[1]",
        "not utf-8": b'{"tool_name":"Ba\xff"}',
    }[name]
    paths = (*calls.paths("claude-code"), "$.roots[0]", "$.cwd[0]", "$.empty[0]")
    slow = tuple(filters._slow_values(payload, paths))
    assert filters._values(payload, paths) == slow
    monkeypatch.setitem(sys.modules, "cmem.spool", None)
    assert filters._values(payload, paths) == slow
    assert slow[0] == {"valid": "Read", "NaN": "Bash", "not utf-8": "Ba\ufffd"}.get(name, "")


ANY = st.recursive(
    st.none()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["/a\0b", "~", "..", "[", '"']),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
EVERYTHING = b"""skip_tools = "a*"
skip_agents = "b*"
skip_paths = "/x/**,*.y,~/z"
skip_commands = "c *,d"
skip_small = 3
"""


@given(st.data())
def test_no_payload_breaks_the_judgement(data: st.DataObject) -> None:
    host = data.draw(st.sampled_from(sorted(HOSTS)))
    arguments = {name: data.draw(ANY) for name in (*calls.HOSTS[host].files, "command")}
    document = {name: data.draw(ANY) for name in ("tool_name", "agent_id", "agent_type", "cwd")}
    given_input = data.draw(st.sampled_from([arguments, data.draw(ANY)]))
    payload = json.dumps(document | {"tool_input": given_input, "tool_response": data.draw(ANY)})
    for raw in (payload.encode("utf-8", "surrogatepass"), data.draw(st.binary(max_size=30))):
        rule = filters.rule_of(filters.load(EVERYTHING, {}), host, raw)
        assert rule is None or rule[0] in (*filters.GLOBS, filters.SMALL)


@given(st.text(alphabet="ab'\"\\;&|>\n ", max_size=20))
def test_any_line_has_commands_and_loses_no_letter(line: str) -> None:
    kept = "".join(filters.parts(line))
    assert [char for char in kept if char in "ab"] == [char for char in line if char in "ab"]


# --- where they are set --------------------------------------------------------------


def test_the_environment_adds_to_the_file() -> None:
    env = {"CMEM_SKIP_TOOLS": "b, c", "CMEM_SKIP_SMALL": "70", "CMEM_SKIP_PATHS": ""}
    found = filters.load(b'skip_tools = "a"\nskip_small = 50\n', env)
    assert (found.globs["skip_tools"], found.small) == (("a", "b", "c"), 70)
    assert filters.load(b"skip_small = 90", env).small == 90
    assert not filters.load(b"", {"CMEM_SKIP_SMALL": "many"})


@pytest.mark.parametrize(
    "text", ["9" * 15, "9" * 30, "1" + "0" * 5000, "9007199254740992", "-1", "1e99", "true", '"x"']
)
def test_a_size_that_is_none_leaves_nothing_out(text: str) -> None:
    found = filters.load(f"skip_small = {text}\n".encode(), {"CMEM_SKIP_SMALL": text})
    small = call(**READ, tool_response={"file": {"content": "x"}})
    if text == "9" * 15:
        assert (found.small, found.unreadable) == (int(text), ())
    else:
        assert (found.small, found.unreadable) == (0, ("skip_small",))
        assert filters.verdict(found, small) is None


SPELLINGS = [
    (b"skip_tools = 'a,b'\nmodel = \"x\"\n", ("a", "b"), ()),
    (b'skip_tools = "a" # why\r\n', ("a",), ()),
    (b'skip_tools = "a\\u0062"\n', ("ab",), ()),
    (b'model = \nskip_tools = "a"\n', ("a",), ()),
    (b'skip_tools = ["a"]\n', (), ("skip_tools",)),
    (b"skip_tools = 1\n", (), ("skip_tools",)),
    (b"# skip_tools\n", (), ()),
    (b'\xffskip_tools = "a"', (), ()),
]


@pytest.mark.parametrize(("raw", "globs", "unreadable"), SPELLINGS)
def test_a_mistake_in_another_line_takes_nothing_away(
    raw: bytes, globs: tuple[str, ...], unreadable: tuple[str, ...]
) -> None:
    found = filters.load(raw, {})
    assert (found.globs["skip_tools"], found.unreadable) == (globs, unreadable)


def test_what_cannot_be_read_keeps_all_but_calls_that_name_files() -> None:
    found = filters.load(b'skip_tools = ["Bash"]\nskip_paths = ["x"]\nskip_small = "x"\n', {})
    assert filters.verdict(found, call()) is None
    assert filters.verdict(found, call(**READ)) == ("skip_paths", filters.UNREADABLE)


ODD = [
    ('skip_paths = "src"', "utf-8", "src"),
    ('skip_paths = "src"', "utf-8-sig", "src"),
    ('"skip\\u005fpaths" = "src"', "utf-8", "src"),
    ('model = "x"\rskip_paths = "src"\r', "utf-8", filters.UNREADABLE),
    ('skip_paths = "a"\nskip_paths = "src"', "utf-8", filters.UNREADABLE),
    ('skip_paths = "src"', "utf-16", ""),
    ('skip_paths = "src"', "utf-32-le", ""),
    ("#" + "x" * 70_000 + '\nskip_paths = "src"', "utf-8", ""),
    ('skip_paths = "/w/./calc//src/"', "utf-8", "/w/./calc//src/"),
    ('skip_paths = "/w/x/../calc/src"', "utf-8", "/w/x/../calc/src"),
]


@pytest.mark.parametrize(("text", "encoding", "met"), ODD)
def test_files_stay_private_however_the_setting_is_spelled(
    home: Path, text: str, encoding: str, met: str
) -> None:
    (home / "config.toml").write_text(text, encoding)
    assert hookrun.silent(run_hook(home, "PostToolUse", event(**READ)))
    # Where not even the names of settings can be read, all of memory is off, and that is counted.
    assert spooled.counts(str(home)) == (0, 0, 0 if met else 1)
    counted = [("skip_paths", met)] if met else []
    assert [one[:2] for one in filters.counts(str(home))] == counted


# --- in the hook ---------------------------------------------------------------------


def counted(home: Path) -> list[tuple[str, str, int]]:
    return [one[:3] for one in filters.counts(str(home))]


@pytest.mark.parametrize("way", ["config", "environment"])
def test_the_hook_keeps_nothing_of_it_but_a_count(home: Path, way: str) -> None:
    env = {"CMEM_SKIP_COMMANDS": "git status*"} if way == "environment" else {}
    if way == "config":
        config(home, 'skip_commands = "git status*"\n')
    for _ in range(3):
        assert hookrun.silent(run_hook(home, "PostToolUse", event(), **env))
    assert hookrun.silent(run_hook(home, "PostToolUse", event(tool_input={}), **env))
    assert spooled.counts(str(home)) == (1, 0, 0)
    assert counted(home) == [("skip_commands", "git status*", 3)]
    (path,) = (home / "filtered").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"--short" not in hookrun.everything(home)


def test_the_registered_line_knows_filters_too(home: Path) -> None:
    hookrun.ready(home)
    config(home, 'skip_tools = "Bash"\n')
    for name in ("Bash", "Edit"):
        payload = event(tool_name=name, tool_use_id=name)
        assert hookrun.silent(hookrun.fire(home, "PostToolUse", payload))
    assert spooled.counts(str(home)) == (1, 0, 0)
    assert counted(home) == [("skip_tools", "Bash", 1)]


def test_prompts_and_ends_are_never_left_out(home: Path) -> None:
    config(home, 'skip_tools = "*"\nskip_agents = "*"\nskip_paths = "*"\nskip_small = 9000\n')
    prompt = {"prompt": "hello", "prompt_id": "p1", **AGENT, **READ}
    for name in ("UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd"):
        run_hook(home, name, event(hook_event_name=name, **prompt))
    assert spooled.counts(str(home)) == (5, 0, 0)
    assert counted(home) == []


def test_where_memory_is_off_nothing_is_counted(home: Path, tmp_path: Path) -> None:
    config(home, 'skip_tools = "*"\n')
    (tmp_path / ".cmem-off").touch()
    run_hook(home, "PostToolUse", event(cwd=str(tmp_path)))
    assert not (home / "filtered").exists()


def test_nothing_is_loaded_for_it_while_nothing_is_set(home: Path) -> None:
    config(home, 'provider = "extract"\n')
    code = (
        "import os, sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "os._exit = lambda _code: os.write(1, ' '.join(sys.modules).encode())\n"
        "from cmem import hook; hook.main(sys.argv[1:])"
    )

    def loaded() -> set[str]:
        argv = [sys.executable, "-I", "-c", code, str(ROOT), "claude-code", "PostToolUse"]
        done = subprocess.run(
            [*argv, str(home)],
            input=event(),
            env=clean_env(CMEM_AUTO_COMPRESS="0"),
            capture_output=True,
            check=True,
        )
        return set(done.stdout.decode().split())

    assert "cmem.filters" not in loaded()
    config(home, "skip_tools = 'TodoWrite'\nskip_agents = \"Explore\"\n")
    after = loaded()
    assert "cmem.filters" in after
    assert not {"json", "re", "tomllib"} & after
    assert {"cmem.filters", "cmem.hosts.calls"} <= set(bundle.HOT)


@pytest.mark.parametrize("kept", [True, False])
def test_without_the_driver_it_is_not_spilled_either(home: Path, *, kept: bool) -> None:
    config(home, f'skip_paths = "{"other" if kept else "src"}"\n')
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); sys.modules['apsw'] = None\n"
        "from cmem import hook; hook.main(sys.argv[1:])"
    )
    argv = [sys.executable, "-c", code, str(ROOT), "claude-code", "PostToolUse", str(home)]
    subprocess.run(argv, input=event(**READ), env=clean_env(), check=True)
    assert spooled.counts(str(home)) == (0, int(kept), 0)
    assert counted(home) == ([] if kept else [("skip_paths", "src", 1)])


def test_a_count_that_cannot_be_written_keeps_the_event_out_all_the_same(
    home: Path, tmp_path: Path
) -> None:
    config(home, 'skip_tools = "*"\n')
    (home / "filtered").symlink_to(tmp_path)
    before = set(tmp_path.iterdir())
    assert hookrun.silent(run_hook(home, "PostToolUse", event()))
    assert spooled.counts(str(home)) == (0, 0, 0)
    assert set(tmp_path.iterdir()) == before


def test_a_count_that_begins_on_a_full_disk_leaves_no_half_of_a_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda _fd, _data: 3)
        filters.count(str(home), ("skip_tools", "a"))
    assert list((home / "filtered").iterdir()) == []
    filters.count(str(home), ("skip_tools", "a"))
    assert counted(home) == [("skip_tools", "a", 1)]


def test_counting_side_by_side_loses_none(home: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from cmem import filters\n"
        "for _ in range(200): filters.count(sys.argv[2], ('skip_tools', 'a,b \\u00e9'))"
    )
    argv = [sys.executable, "-c", code, str(ROOT), str(home)]
    running = [subprocess.Popen(argv, env=clean_env()) for _ in range(4)]
    assert [one.wait(timeout=60) for one in running] == [0] * 4
    assert counted(home) == [("skip_tools", "a,b \u00e9", 800)]


def test_a_count_from_before_its_head_is_counted(home: Path) -> None:
    (home / "filtered").mkdir()
    (home / "filtered" / "x").write_bytes(b"..1800000000000 skip_tools a b\n....")
    (home / "filtered" / "odd").write_bytes(b"nothing of ours")
    os.mkfifo(home / "filtered" / "pipe")
    assert filters.counts(str(home)) == [("skip_tools", "a b", 6, NOW)]


# --- on the way into the store -------------------------------------------------------


def tools(conn: apsw.Connection) -> list[tuple[str, str]]:
    rows = conn.execute("SELECT tool_use_id, tool_name FROM tool_uses ORDER BY id")
    return [(str(row[0]), str(row[1])) for row in rows]


def test_what_was_captured_before_the_setting_is_left_out_at_ingest(home: Path) -> None:
    put(home, "UserPromptSubmit", {**TOOL, "prompt": "hi", "prompt_id": "p"}, NOW)
    put(home, "PostToolUse", TOOL, NOW + 1)
    put(home, "PostToolUse", {**TOOL, "tool_use_id": "toolu_2", "tool_name": "Edit"}, NOW + 2)
    spilled = event(tool_use_id="toolu_3").strip()
    spill.write(
        str(home), host="claude-code", event="PostToolUse", captured_at=NOW + 3, payload=spilled
    )
    config(home, 'skip_tools = "Bash"\n')
    conn = connection.open_writer(str(home), now=NOW)
    taken = ingest.ingest(str(home), conn, now=NOW)
    assert (taken.events, taken.lost, taken.unreadable) == (2, 0, 0)
    assert tools(conn) == [("toolu_2", "Edit")]
    assert spooled.counts(str(home)) == (0, 0, 0)
    assert counted(home) == [("skip_tools", "Bash", 2)]
    conn.close()


def test_a_turn_of_which_every_call_was_left_out_still_closes(home: Path) -> None:
    config(home, 'skip_tools = "*"\n')
    for name, changes in (
        ("UserPromptSubmit", {"prompt": "list the files", "prompt_id": "p1"}),
        ("PostToolUse", {"prompt_id": "p1"}),
        ("Stop", {"prompt_id": "p1", "last_assistant_message": "There are three."}),
    ):
        run_hook(home, name, event(**changes))
    conn = connection.open_writer(str(home), now=NOW)
    ingest.ingest(str(home), conn, now=NOW)
    rows = conn.execute("SELECT outcome, assistant_message FROM turns").fetchall()
    assert rows == [("stop", "There are three.")]
    assert tools(conn) == []
    conn.close()


# --- told ----------------------------------------------------------------------------


def test_status_and_doctor_tell_what_is_left_out(home: Path) -> None:
    assert run_json("status")["filters"] == {"active": {}, "unreadable": [], "filtered": []}
    config(home, 'skip_tools = "TodoWrite,mcp__*"\nskip_small = 200\n')
    for name in ("TodoWrite", "mcp__notes__add", "TodoWrite"):
        run_hook(home, "PostToolUse", event(tool_name=name))
    told = run_json("status")["filters"]
    since = [one.pop("since") for one in told["filtered"]]
    assert all(isinstance(at, int) for at in since)
    assert told == {
        "active": {"skip_tools": ["TodoWrite", "mcp__*"], "skip_small": 200},
        "unreadable": [],
        "filtered": [
            {"setting": "skip_tools", "rule": "TodoWrite", "count": 2},
            {"setting": "skip_tools", "rule": "mcp__*", "count": 1},
        ],
    }
    lines = run_cmem("status").stdout.decode().split("\n")
    (line,) = [line for line in lines if line.startswith("filtered:")]
    assert line.startswith("filtered:      3 tool calls since ")
    assert line.endswith(" (2 skip_tools TodoWrite, 1 skip_tools mcp__*)")
    findings = {
        one["name"]: one for one in json.loads(run_cmem("doctor", "--json").stdout)["findings"]
    }
    assert findings["filters"]["level"] == "ok"
    assert "3 tool calls left out" in findings["filters"]["detail"]


def test_doctor_warns_of_filters_that_cannot_be_read(home: Path) -> None:
    config(home, 'skip_paths = ["x"]\n')
    findings = {
        one["name"]: one for one in json.loads(run_cmem("doctor", "--json").stdout)["findings"]
    }
    assert findings["filters"]["level"] == "error"
    assert "skip_paths" in findings["filters"]["detail"]
    done = run_cmem("status")
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"config.toml: skip_paths: must be text" in done.stdout
