"""The plugin for Claude Code: its files agree with the installer, its hook is as harmless."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import samples
from hookrun import entries, fire, ready, silent, spilled
from support import CLAUDE_CODE, ROOT, payload_bytes, run_cmem, run_json

from cmem import __version__, data_home
from cmem.cli import parse, spec
from cmem.context import health
from cmem.install import claude_code

HOOKS = ROOT / "hooks"
PLUGIN = HOOKS / "claude-code"
SHELLS = [name for name in ("sh", "dash", "bash", "busybox") if shutil.which(name)]
PROMPT = payload_bytes({"session_id": "s1", "prompt": "hello", "cwd": "/", "prompt_id": "p1"})
START = payload_bytes({"session_id": "s1", "source": "startup", "cwd": "/"})
NOTHING = {"systemMessage": f"cmem is on: nothing remembered for this folder yet{health.BEGIN}"}


def _document(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _command(event: str) -> str:
    return _document(PLUGIN / "hooks/hooks.json")["hooks"][event][0]["hooks"][0]["command"]


def _env(tmp_path: Path, **changes: str) -> dict[str, str]:
    """What the client gives a plugin's hook; nothing of cmem can be found with it."""
    return {
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "HOME": str(tmp_path / "user"),
        "CLAUDE_PLUGIN_ROOT": str(PLUGIN),
        "CLAUDE_PROJECT_DIR": str(tmp_path),
        "CMEM_AUTO_COMPRESS": "0",
        **changes,
    }


def _fire(
    tmp_path: Path, event: str, payload: bytes, *, shell: str = "sh", **changes: str
) -> subprocess.CompletedProcess[bytes]:
    words = ["busybox", "sh"] if shell == "busybox" else [shell]
    return subprocess.run(
        [str(shutil.which(words[0])), *words[1:], "-c", _command(event)],
        input=payload,
        capture_output=True,
        timeout=30,
        cwd=tmp_path,
        env=_env(tmp_path, **changes),
    )


def _program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def _cmem(tmp_path: Path, folder: str = "bin") -> None:
    """A ``cmem`` that runs this one."""
    words = f"PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m cmem"
    _program(tmp_path / folder / "cmem", f'{words} "$@"')


def _default_home(tmp_path: Path, base: str = "user/.local/share") -> Path:
    home = tmp_path / base / "cmem"
    home.parent.mkdir(parents=True, exist_ok=True)
    return home


def _tree(tmp_path: Path) -> list[str]:
    return sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))


# --- its files -------------------------------------------------------------------------------


def test_the_plugin_registers_the_events_that_install_registers() -> None:
    hooks = _document(PLUGIN / "hooks/hooks.json")["hooks"]
    found = {
        event: [hook for group in groups for hook in group["hooks"]]
        for event, groups in hooks.items()
    }
    line = 'sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/hook.sh" {} 2>/dev/null || exit 0'
    assert found == {
        event: [{"type": "command", "command": line.format(event), "timeout": seconds}]
        for event, seconds in claude_code.TIMEOUTS.items()
    }
    assert [set(group) for groups in hooks.values() for group in groups] == [{"hooks"}] * len(found)


def test_the_manifests_name_this_version_and_the_plugin_folder() -> None:
    manifest = _document(PLUGIN / ".claude-plugin/plugin.json")
    market = _document(HOOKS / ".claude-plugin/marketplace.json")
    assert (manifest["name"], manifest["version"]) == ("cmem", __version__)
    assert [(one["name"], (HOOKS / one["source"]).resolve()) for one in market["plugins"]] == [
        ("cmem", PLUGIN)
    ]


def test_every_command_the_skill_teaches_exists() -> None:
    text = (PLUGIN / "skills/memory/SKILL.md").read_text(encoding="utf-8")
    lines = [shlex.split(one)[1:] for one in re.findall(r"`(cmem [^`]+)`", text)]
    lines += [shlex.split(one)[1:] for one in re.findall(r"^    (cmem .+)$", text, re.MULTILINE)]
    taught = ["search", "timeline", "get", "raw", "search", "note", "note"]
    assert [words[0] for words in lines] == taught
    for words in lines:
        parse.parse(spec.BY_NAME[words[0]], words[1:])
    options = {word for word in re.findall(r"`(--[a-z-]+)", text) if word != "--"}
    commands = (spec.BY_NAME[name] for name in ("search", "note"))
    known = {name for command in commands for one in command.options for name in one.names}
    assert options
    assert options <= known


# --- its hook, where nothing is right --------------------------------------------------------


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("event", claude_code.EVENTS)
def test_without_cmem_every_hook_ends_in_silence_and_leaves_nothing(
    tmp_path: Path, event: str, shell: str
) -> None:
    before = _tree(tmp_path)
    assert silent(_fire(tmp_path, event, PROMPT, shell=shell))
    assert _tree(tmp_path) == before


@pytest.mark.parametrize("shell", SHELLS)
def test_a_plugin_folder_that_has_gone_is_silent_too(tmp_path: Path, shell: str) -> None:
    done = _fire(tmp_path, "Stop", PROMPT, shell=shell, CLAUDE_PLUGIN_ROOT=str(tmp_path / "gone"))
    assert silent(done)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("event", claude_code.EVENTS)
def test_a_cmem_that_fails_loudly_is_not_heard(tmp_path: Path, event: str, shell: str) -> None:
    _program(tmp_path / "bin/cmem", "echo told; echo trouble >&2; exit 2")
    done = _fire(tmp_path, event, PROMPT, shell=shell)
    told = b"told\n" if event == "SessionStart" else b""
    assert (done.returncode, done.stdout, done.stderr) == (0, told, b"")


@pytest.mark.parametrize("entry", ["", ".", "bin", "./bin"])
def test_a_cmem_below_the_project_is_not_run(tmp_path: Path, entry: str) -> None:
    (tmp_path / "project/bin").mkdir(parents=True)
    for folder in ("project", "project/bin"):
        _program(tmp_path / folder / "cmem", 'touch "$HOME/was-run"')
    done = subprocess.run(
        ["sh", "-c", _command("Stop")],
        input=PROMPT,
        capture_output=True,
        cwd=tmp_path / "project",
        env=_env(tmp_path, PATH=f"{entry}:/usr/bin:/bin"),
    )
    assert silent(done)
    assert not (tmp_path / "user/was-run").exists()


def test_python_variables_of_a_project_do_not_reach_cmem(tmp_path: Path) -> None:
    names = ("PYTHONPATH", "PYTHONHOME", "PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__")
    told = " ".join(f"${{{name}-unset}}" for name in names)
    _program(tmp_path / "bin/cmem", f'echo "{told}"')
    done = _fire(tmp_path, "SessionStart", START, **dict.fromkeys(names, "/project"))
    assert done.stdout == b"unset unset unset unset\n"


# --- its hook at work ------------------------------------------------------------------------


@pytest.mark.parametrize("shell", SHELLS)
def test_cmem_on_path_stores_the_event(tmp_path: Path, shell: str) -> None:
    _cmem(tmp_path)
    home = _default_home(tmp_path)
    assert silent(_fire(tmp_path, "UserPromptSubmit", PROMPT, shell=shell))
    assert [(one.host, one.event) for one in entries(home)] == [("claude-code", "UserPromptSubmit")]


def test_cmem_where_pipx_puts_it_is_found_with_a_short_path(tmp_path: Path) -> None:
    _cmem(tmp_path, "user/.local/bin")
    assert silent(_fire(tmp_path, "UserPromptSubmit", PROMPT))
    assert len(entries(_default_home(tmp_path))) == 1


def test_the_launcher_of_a_data_home_serves_where_cmem_is_not_on_path(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").symlink_to(os.path.realpath(sys.executable))
    home = ready(_default_home(tmp_path))
    assert silent(_fire(tmp_path, "UserPromptSubmit", PROMPT))
    assert len(entries(home)) == 1
    done = _fire(tmp_path, "SessionStart", START)
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, NOTHING, b"")


def test_a_cmem_whose_python_is_gone_leaves_the_event_to_the_launcher(tmp_path: Path) -> None:
    _program(tmp_path / "bin/cmem", "")
    (tmp_path / "bin/cmem").write_text("#!/gone/python\n", encoding="utf-8")
    (tmp_path / "bin/python3").symlink_to(os.path.realpath(sys.executable))
    home = ready(_default_home(tmp_path))
    assert silent(_fire(tmp_path, "UserPromptSubmit", PROMPT))
    assert len(entries(home)) == 1


def test_recall_is_heard_where_it_is_on_and_once_beside_an_install(tmp_path: Path) -> None:
    _cmem(tmp_path)
    home = ready(_default_home(tmp_path))
    samples.calc(home).close()
    document = {"session_id": "s1", "cwd": "/src/calc", "prompt": "subtract swaps its operands"}

    def prompt(number: int) -> bytes:
        return payload_bytes({**document, "prompt_id": f"p{number}"})

    assert silent(_fire(tmp_path, "UserPromptSubmit", prompt(1)))
    (home / "config.toml").write_text("recall_prompts = true\n")
    assert b"O1 bugfix" in _fire(tmp_path, "UserPromptSubmit", prompt(2)).stdout
    # Its twin comes second.
    assert silent(fire(home, "UserPromptSubmit", prompt(2)))
    assert silent(_fire(tmp_path, "Stop", payload_bytes({"session_id": "s1", "cwd": "/"})))


@pytest.mark.parametrize(
    ("base", "variables"),
    [
        ("user/.local/share", {}),
        ("user/.local/share", {"XDG_DATA_HOME": "relative"}),
        ("xdg", {"XDG_DATA_HOME": "{}/xdg"}),
        ("else where", {"CMEM_HOME": "{}/else where/cmem"}),
        ("user/Library/Application Support", {}),
    ],
)
def test_an_installed_home_is_found(tmp_path: Path, base: str, variables: dict[str, str]) -> None:
    _program(tmp_path / "bin/cmem", 'echo "$@"')
    home = ready(_default_home(tmp_path, base))
    changes = {name: value.format(tmp_path) for name, value in variables.items()}
    done = _fire(tmp_path, "SessionStart", START, **changes)
    assert done.stdout.decode() == f"hook claude-code SessionStart {home}\n"


def test_the_homes_looked_at_are_those_that_cmem_takes_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CMEM_HOME")
    for changes in ({}, {"XDG_DATA_HOME": str(tmp_path / "xdg")}):
        for name, value in changes.items():
            monkeypatch.setenv(name, value)
        home = ready(_default_home(tmp_path, os.path.dirname(data_home.find(os.environ))))
        _program(tmp_path / "bin/cmem", 'echo "$4"')
        done = _fire(tmp_path, "SessionStart", START, **changes)
        assert done.stdout.decode().strip() == str(home)


def test_an_event_that_comes_from_settings_and_plugin_is_stored_once(tmp_path: Path) -> None:
    _cmem(tmp_path)
    home = ready(_default_home(tmp_path))
    for path in sorted(CLAUDE_CODE.glob("*.json")):
        payload = _document(path)
        event = payload["hook_event_name"]
        if event not in ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop"):
            continue
        assert silent(fire(home, event, payload_bytes(payload)))
        first = len(entries(home)) + len(spilled(home))
        assert silent(_fire(tmp_path, event, payload_bytes(payload)))
        assert len(entries(home)) + len(spilled(home)) == first, path.name
    assert len(entries(home)) > 20


@pytest.mark.parametrize(
    "name", ["config/settings.json", ".claude/settings.json", ".claude/settings.local.json"]
)
def test_the_session_is_told_once_where_settings_run_our_hooks_too(
    tmp_path: Path, name: str
) -> None:
    _cmem(tmp_path)
    home = ready(_default_home(tmp_path))
    config = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    done = _fire(tmp_path, "SessionStart", START, **config)
    assert json.loads(done.stdout) == NOTHING
    printed = run_cmem("install", "--print", CMEM_HOME=str(home))
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_bytes(printed.stdout)
    later = payload_bytes({"session_id": "s2", "source": "startup", "cwd": "/"})
    assert silent(_fire(tmp_path, "SessionStart", later, **config))
    assert len(entries(home)) == 2


def _comes(what: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not what() and time.monotonic() < deadline:
        time.sleep(0.1)
    return what()


@pytest.mark.parametrize("last", ["UserPromptSubmit", "SessionEnd"])
def test_the_first_prompt_or_end_without_an_install_makes_the_launcher(
    tmp_path: Path, last: str
) -> None:
    _cmem(tmp_path)
    home = _default_home(tmp_path)
    done = _fire(tmp_path, "SessionStart", START)
    assert json.loads(done.stdout) == NOTHING
    assert not (home / "hook.py").exists()
    assert silent(_fire(tmp_path, last, PROMPT))
    assert _comes((home / "hook.py").exists)
    assert not (tmp_path / "user/.claude").exists()


def test_a_first_session_that_is_over_before_the_launcher_is_made_becomes_memory(
    tmp_path: Path,
) -> None:
    _cmem(tmp_path)
    home = _default_home(tmp_path)
    work = {"session_id": "s1", "cwd": str(tmp_path / "user")}
    held = home / "install.lock"
    home.mkdir(mode=0o700)
    with open(held, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for event, more in (
            ("SessionStart", {"source": "startup"}),
            ("UserPromptSubmit", {"prompt": "We use tabs.", "prompt_id": "p1"}),
            ("Stop", {"prompt_id": "p1", "last_assistant_message": "Noted."}),
            ("SessionEnd", {"reason": "other"}),
        ):
            payload = payload_bytes(work | {"hook_event_name": event} | more)
            assert _fire(tmp_path, event, payload, CMEM_AUTO_COMPRESS="1").returncode == 0
        assert not (home / "hook.py").exists()
    assert _comes(lambda: (home / "memory.db").exists() and not entries(home))
    status = run_json("status", CMEM_HOME=str(home))
    assert (status["counts"]["sessions"], status["counts"]["prompts"]) == (1, 1)


@pytest.mark.parametrize("variable", ["CMEM_DISABLE", "CMEM_OBSERVER"])
def test_no_launcher_is_made_where_hooks_are_off(tmp_path: Path, variable: str) -> None:
    _cmem(tmp_path)
    home = _default_home(tmp_path)
    assert _fire(tmp_path, "SessionStart", START).returncode == 0
    assert silent(_fire(tmp_path, "Stop", PROMPT, **{variable: "1"}))
    time.sleep(0.5)
    assert not (home / "hook.py").exists() and not (home / "install.lock").exists()
