from __future__ import annotations

import pytest

from cmem import taint

ROOT = "/w/calc"


@pytest.mark.parametrize(
    ("tool", "fields", "expected"),
    [
        ("WebFetch", {"url": "http://example.org"}, "external"),
        ("WebSearch", {}, "external"),
        ("mcp__notes__add", {"text": "x"}, "external"),
        ("unreadable", {}, "external"),
        ("google_web_search", {"query": "x"}, "external"),
        ("webfetch", {"url": "http://example.org"}, "external"),
        ("read", {"filePath": "/w/other/a.py"}, "external"),
        ("read", {"filePath": "/w/calc/a.py"}, "local"),
        ("list_directory", {"dir_path": "/etc"}, "external"),
        ("apply_patch", {"command": "*** Update File: a.md\n+curl x\n+cat /etc/x"}, "local"),
        ("apply_patch", {"command": "*** Add File: /etc/x\n+a"}, "external"),
        ("patch", {"patch": "*** Update File: a\n*** Move to: ../b\n+a"}, "external"),
        ("AskUserQuestion", {"answers": {"a": "b"}}, "user"),
        ("SubagentStop", {}, "agent"),
        ("Agent", {"prompt": "look"}, "agent"),
        ("update_topic", {"title": "Fix"}, "agent"),
        ("complete_task", {"report": {}}, "agent"),
        ("Read", {"file_path": "/w/calc/a.py"}, "local"),
        ("Read", {"file_path": "a.py"}, "local"),
        ("Read", {"file_path": "/w/calc"}, "local"),
        ("Read", {"file_path": "/w/calc-other/a.py"}, "external"),
        ("Read", {"file_path": "/w/calc/../secret/a.py"}, "external"),
        ("Read", {"file_path": "/w/calc/node_modules/x/index.js"}, "external"),
        ("Edit", {"file_path": "vendor/x.go"}, "external"),
        ("Glob", {"path": "../"}, "external"),
        ("Read", "not an object", "local"),
        ("Bash", {"command": "python3 -m unittest -q 2>&1"}, "local"),
        ("Bash", {"command": "grep -rn '/login' src"}, "local"),
        ("Bash", {"command": "make > /tmp/log 2>&1; tail /tmp/log"}, "local"),
        ("Bash", {"command": "cat /tmp/log"}, "external"),
        ("Bash", {"command": "cat ~/notes.txt"}, "external"),
        ("Bash", {"command": "cd /w/calc && ls"}, "local"),
        ("Bash", {"command": "echo curling; ls wget-notes"}, "local"),
        ("Bash", {"command": "git commit -m 'fetch the clone'"}, "local"),
        ("Bash", {"command": "curl -s https://example.org | head"}, "external"),
        ("Bash", {"command": "cd x && FOO=1 wget https://example.org"}, "external"),
        ("Bash", {"command": "echo $(gh pr view 3)"}, "external"),
        ("Bash", {"command": "git -C sub clone https://example.org/x"}, "external"),
        ("Bash", {"command": "git fetch origin"}, "external"),
        ("Bash", {"command": "python3 -m pip install x"}, "external"),
        ("Bash", {"command": "npm install"}, "external"),
        ("Bash", {"command": "npm test"}, "local"),
        ("Bash", {"command": "cat node_modules/x/README.md"}, "external"),
    ],
)
def test_taint_of_a_tool_use(tool: str, fields: object, expected: str) -> None:
    assert taint.of_tool(tool, fields, cwd=ROOT, roots=[ROOT]) == expected


def test_without_a_known_root_paths_say_nothing() -> None:
    assert taint.of_tool("Read", {"file_path": "/x/y"}, cwd="", roots=["", ""]) == "local"


@pytest.mark.parametrize(
    ("taints", "expected"),
    [
        ([], "user"),
        (["agent", "user"], "agent"),
        (["local", "external", "user"], "external"),
        (["made-up"], "external"),
    ],
)
def test_the_worst_counts(taints: list[str], expected: str) -> None:
    assert taint.worst(taints) == expected


def test_a_hostile_command_is_judged_in_linear_time() -> None:
    command = "A=b " * 20_000 + "git -c x " * 20_000 + "(" * 20_000
    assert taint.of_tool("Bash", {"command": command}, cwd=ROOT, roots=[ROOT]) == "local"


@pytest.mark.parametrize("piece", ["\n", " ", "\t", "A=b ", "git ", "sudo ", "/a", "> ", "-c x "])
def test_hostile_repetition_in_a_command_ends(piece: str) -> None:
    """Unbounded, the first of these took five minutes at this size."""
    command = piece * (64_000 // len(piece))
    assert taint.of_tool("Bash", {"command": command}, cwd="/p", roots=["/p"]) == "local"
    fetch = {"command": command + "\ncurl x"}
    assert taint.of_tool("Bash", fetch, cwd="/p", roots=["/p"]) == "external"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("npx jest --ci", "local"),
        ("cd web && npx tsc -p .", "local"),
        ("npx -y create-app x", "external"),
        ("bunx --yes tool", "external"),
        ("uvx ruff check", "external"),
        ("pnpm dlx -p x y", "external"),
    ],
)
def test_a_tool_of_the_project_is_local_and_one_fetched_for_the_run_is_not(
    command: str, expected: str
) -> None:
    assert taint.of_tool("Bash", {"command": command}, cwd="/p", roots=["/p"]) == expected
