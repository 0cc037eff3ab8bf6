"""``cmem install`` and ``cmem uninstall`` as a person runs them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from machines import Machine
from support import REGISTERED, ROOT, clean_env, run_cmem

from cmem.cli import consent
from cmem.install import claude_code
from cmem.sync import last

REFUSED = b'{\n  // mine\n  "model": "opus"\n}\n'


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    return tmp_path / "user" / ".claude" / "settings.json"


def _commands(path: Path) -> dict[str, str]:
    hooks = json.loads(path.read_text())["hooks"]
    return {event: groups[-1]["hooks"][0]["command"] for event, groups in hooks.items()}


def test_install_says_in_plain_words_what_it_did(tmp_path: Path, settings: Path) -> None:
    done = run_cmem("install", "--yes")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == (
        f"Registered 9 hooks for Claude Code in {settings}.\n"
        f"Memories are kept in {tmp_path}/home, readable by you alone.\n"
        "Provider: extract. Observations are made by rules on this machine; nothing leaves it, "
        "and it costs nothing.\n"
        "Next: start a session of Claude Code; `cmem status` shows what arrives, "
        "`cmem uninstall` takes this out again.\n"
    )
    assert set(_commands(settings)) == set(REGISTERED)
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    again = run_cmem("install", "--yes")
    assert again.stdout.decode().split("\n")[0] == (
        f"All 9 hooks for Claude Code are registered in {settings} already."
    )


def test_install_and_uninstall_as_documents(tmp_path: Path, settings: Path) -> None:
    settings.parent.mkdir()
    settings.write_text("{}")
    installed = json.loads(run_cmem("install", "--json").stdout)
    assert installed == {
        "host": "claude-code",
        "scope": "user",
        "settings": str(settings),
        "changed": True,
        "events": list(claude_code.EVENTS),
        "home": str(tmp_path / "home"),
        "launcher": str(tmp_path / "home" / "hook.py"),
        "backup": installed["backup"],
        "provider": "extract",
        "warnings": [],
    }
    assert Path(installed["backup"]).read_text() == "{}"
    assert json.loads(run_cmem("uninstall", "--json").stdout) == {
        "host": "claude-code",
        "settings": [str(settings)],
        "changed": True,
        "home": str(tmp_path / "home"),
        "purged": False,
        "left": [],
        "synced": "",
    }
    assert settings.read_text() == "{}"
    assert list((tmp_path / "home").glob("hook.*")) == []
    assert (
        run_cmem("uninstall")
        .stdout.decode()
        .startswith("No hook of this data home was registered with Claude Code.\n")
    )


def test_the_printed_snippet_works_once_it_is_pasted(tmp_path: Path, settings: Path) -> None:
    done = run_cmem("install", "--print")
    assert set(json.loads(done.stdout)["hooks"]) == set(REGISTERED)
    assert not settings.exists()
    settings.parent.mkdir()
    settings.write_bytes(done.stdout)
    assert (tmp_path / "home" / "hook.py").exists()
    assert json.loads(run_cmem("install", "--json").stdout)["changed"] is False


def test_a_dry_run_changes_nothing(tmp_path: Path, settings: Path) -> None:
    settings.parent.mkdir()
    settings.write_text('{"model": "opus"}\n')
    shown = run_cmem("install", "--dry-run").stdout.decode()
    assert shown.startswith(f'--- {settings}\n+++ {settings}\n@@ -1 +1 @@\n-{{"model": "opus"}}\n')
    assert settings.read_text() == '{"model": "opus"}\n'
    assert not (tmp_path / "home").exists()
    assert run_cmem("uninstall", "--dry-run").stdout == b"Nothing would change.\n"


def test_a_file_that_cannot_be_edited_stays_and_the_snippet_is_shown(settings: Path) -> None:
    settings.parent.mkdir()
    settings.write_bytes(REFUSED)
    before = settings.stat().st_mtime_ns
    snippet = run_cmem("install", "--print").stdout
    for flags in ([], ["--json"], ["--yes"], ["--dry-run"]):
        done = run_cmem("install", *flags)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.startswith(
            f"cmem: will not edit {settings}: not strict JSON: line 2: ".encode()
        )
        assert done.stderr.endswith(
            b"The file was not changed. Correct it, or add this by hand:\n" + snippet
        )
    assert (settings.read_bytes(), settings.stat().st_mtime_ns) == (REFUSED, before)
    assert run_cmem("uninstall").returncode == 1


def test_the_hosts_folder_variable_and_the_project_scope_are_honoured(tmp_path: Path) -> None:
    conf, project = tmp_path / "con f", tmp_path / "pro'j"
    project.mkdir()
    assert run_cmem("install", CLAUDE_CONFIG_DIR=str(conf)).returncode == 0
    assert set(_commands(conf / "settings.json")) == set(REGISTERED)
    done = run_cmem("install", "--scope", "project", cwd=project)
    path = project / ".claude" / "settings.json"
    assert done.stderr.decode() == (
        f"cmem: warning: {path} now names paths of this machine; whoever shares this repository "
        "gets them too. To keep them to yourself, move the hooks to settings.local.json\n"
    )
    assert run_cmem("uninstall", "--scope", "project", cwd=project).returncode == 0
    assert not path.parent.exists()
    assert (conf / "settings.json").exists()
    assert run_cmem("uninstall").returncode == 0  # without a scope: wherever it was installed
    assert not conf.exists()


@pytest.mark.parametrize("name", ["plain", "with blank", "quo'te\"s", "dollar $HOME `x`", "ünï 木"])
def test_the_registered_command_runs_wherever_the_home_is(tmp_path: Path, name: str) -> None:
    home = tmp_path / name
    assert run_cmem("install", CMEM_HOME=str(home)).returncode == 0
    command = _commands(tmp_path / "user" / ".claude" / "settings.json")["Stop"]
    payload = (
        b'{"session_id":"s","hook_event_name":"Stop","cwd":"/","last_assistant_message":"m"}\n'
    )
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=payload,
        env=clean_env(CMEM_AUTO_COMPRESS="0"),
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (home / "spool.db").exists()
    assert run_cmem("uninstall", "--purge", "--yes", CMEM_HOME=str(home)).returncode == 0
    assert not home.exists()
    done = subprocess.run(
        ["/bin/sh", "-c", command], input=payload, env=clean_env(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not home.exists()


def test_a_chosen_provider_goes_into_the_config_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('# mine\nprovider = "extract"  # so far\n')
    done = run_cmem("install", "--provider", "anthropic")
    assert done.returncode == 0, done.stderr
    assert (home / "config.toml").read_text() == '# mine\nprovider = "anthropic"  # so far\n'
    assert (home / "config.toml").stat().st_mode & 0o777 == 0o600
    assert done.stdout.decode().split("\n")[2:6] == [
        "Provider: anthropic, the Messages API (model claude-haiku-4-5), one call per turn.",
        "Each turn goes to api.anthropic.com, with your key; secrets and <private> parts are taken "
        "out first.",
        "Price: $1 in and $5 out per million tokens, about 0.9 cents a turn.",
        f"It still needs a key: the setting api_key, in {home}/config.toml. Until then turns are "
        "kept and wait. `cmem provider use anthropic --key-from-stdin` writes it there. "
        "(CMEM_API_KEY works for commands you type, not for background runs.)",
    ]


def at_a_terminal(answer: str, *words: str, first: str = "y") -> tuple[int, str]:
    """``cmem install`` by a person who confirms the change and then says this."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cmem", "install", *words],
        env=clean_env(PYTHONPATH=str(ROOT), TERM="dumb", COLUMNS="60"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=os.environ["HOME"],
    )
    os.close(theirs)
    os.write(ours, f"{first}\n{answer}\n".encode())
    said = b""
    try:
        while chunk := os.read(ours, 65_536):
            said += chunk
    except OSError:  # how Linux tells that the other end is closed
        pass
    os.close(ours)
    return process.wait(30), said.decode()


@pytest.mark.parametrize(
    ("answer", "name"),
    [("", "extract"), ("1", "extract"), ("command", "command"), ("2", "claude-cli")],
)
def test_a_person_is_offered_the_choice_with_prices(answer: str, name: str, tmp_path: Path) -> None:
    code, said = at_a_terminal(answer)
    assert code == 0
    assert "1  extract: rules on this machine, without any model. Price: nothing;" in said
    assert "3  anthropic: the Messages API" in said and "$1 in and $5 out per million" in said
    text = (tmp_path / "home" / "config.toml").read_text()
    assert text.split("\n")[0] == f'provider = "{name}"'
    if answer:
        assert "Who is to turn" not in at_a_terminal("")[1]  # chosen is chosen


def test_a_person_is_told_in_short_what_is_written_and_what_is_asked(settings: Path) -> None:
    settings.parent.mkdir()
    settings.write_text('{\n  "model": "opus"\n}\n')
    said = at_a_terminal("")[1].replace("\r\n", "\n")
    before = said.partition("[y/N]")[0]
    home = settings.parent.parent.parent / "home"
    (line,) = [one for one in before.split("\n") if " -I -S " in one]
    assert f"'{home}/hook.py' claude-code SessionStart '{home}'" in line
    shown = before.replace(line, "  LINE").removeprefix("y\n\n")
    assert shown == (
        f"{settings} is to have 9 hooks by which Claude Code calls cmem:\n"
        f"  {', '.join(claude_code.EVENTS)}\n"
        "Each runs a line like this one, and never keeps the host from its work:\n"
        "  LINE\n"
        "That adds 102 lines and takes out 1; nothing else in the file changes. "
        "`cmem install --dry-run` shows all of it.\n\n"
        f"{consent.questions(choosing=True)}\nWrite this to {settings}? "
    )


def test_a_small_change_is_shown_as_it_is(settings: Path) -> None:
    at_a_terminal("")
    text = settings.read_text()
    settings.write_text(text.replace('"timeout": 5', '"timeout": 6'))
    said = at_a_terminal("")[1].replace("\r\n", "\n")
    assert consent.questions(choosing=False) in said
    assert '-            "timeout": 6\n+            "timeout": 5\n' in said
    assert settings.read_text() == text


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "cmem install"),
        (("codex",), "cmem install codex"),
        (("gemini-cli", "--scope", "project"), "cmem install gemini-cli --scope project"),
    ],
)
def test_a_person_who_does_not_agree_is_told_what_to_do_next(
    tmp_path: Path, words: tuple[str, ...], line: str
) -> None:
    code, said = at_a_terminal("", *words, first="")
    assert code == 1
    assert said.replace("\r\n", "\n").endswith(
        f"cmem: nothing was changed: that was no y. `{line}` asks again, `{line} --yes` writes "
        f"without asking, `{line} --print` prints what to add by hand\n"
    )
    assert not (tmp_path / "home").exists() and os.listdir(tmp_path / "user") == []


def test_an_answer_that_is_no_provider_changes_nothing(tmp_path: Path, settings: Path) -> None:
    code, said = at_a_terminal("gpt")
    assert code == 1 and "no such provider: gpt; nothing was changed" in said
    assert not settings.exists() and not (tmp_path / "home" / "config.toml").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["install", "emacs"], 2),
        (["install", "--scope", "galaxy"], 2),
        (["install", "--provider", "nobody"], 78),
    ],
)
def test_what_does_not_exist_is_named_and_nothing_is_written(
    tmp_path: Path, settings: Path, words: list[str], code: int
) -> None:
    done = run_cmem(*words)
    assert (done.returncode, done.stdout) == (code, b"")
    assert words[-1] in done.stderr.decode()
    assert not settings.exists()
    assert not (tmp_path / "home").exists()


def test_purging_asks_first(tmp_path: Path, settings: Path) -> None:
    run_cmem("install", "--yes")
    home = tmp_path / "home"
    for answer in (b"", b"n\n"):
        done = run_cmem("uninstall", "--purge", stdin=answer)
        assert done.returncode == 1
        assert done.stderr.decode() == (
            f"Delete {home} and every memory in it? [y/N] "
            "cmem: nothing was changed; say yes, or use --yes\n"
        )
    assert home.exists() and settings.exists()
    done = run_cmem("uninstall", "--purge", stdin=b"y\n")
    assert done.stdout.decode() == f"Took the hooks out of {settings}.\nDeleted {home}.\n"
    assert not home.exists()
    assert os.listdir(tmp_path / "user") == []
    again = run_cmem("uninstall", "--purge", "--yes")
    assert again.stdout.decode() == (
        "No hook of this data home was registered with Claude Code.\n"
        f"There was no {home} to delete.\n"
    )


def test_a_home_that_others_can_write_to_is_refused(tmp_path: Path, settings: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o777)
    done = run_cmem("install", "--yes")
    assert (done.returncode, done.stdout) == (78, b"")
    assert done.stderr.decode() == (
        f"cmem: could not use {home}: others can write to the data home; "
        "set CMEM_HOME to a place of your own\n"
    )
    assert not settings.exists()


def test_a_setting_brings_a_hook_of_its_own_and_takes_it_along(
    tmp_path: Path, settings: Path
) -> None:
    config = tmp_path / "home" / "config.toml"
    config.parent.mkdir(mode=0o700)
    config.write_text("recall_files = true\nrecall_prompts = true\n")
    done = run_cmem("install", "--yes")
    assert done.stdout.decode().startswith("Registered 10 hooks for Claude Code in ")
    (group,) = json.loads(settings.read_text())["hooks"]["PreToolUse"]
    assert group["matcher"] == "Read|Edit|MultiEdit|Write|NotebookEdit"
    assert " claude-code PreToolUse " in group["hooks"][0]["command"]
    again = run_cmem("install", "--yes")
    assert again.stdout.decode().startswith("All 10 hooks for Claude Code are registered in ")
    config.write_text("recall_files = false\n")
    run_cmem("install", "--yes")
    assert "PreToolUse" not in json.loads(settings.read_text())["hooks"]
    config.write_text("recall_files = true\n")
    printed = json.loads(run_cmem("install", "--print").stdout)
    assert printed["hooks"]["PreToolUse"] == [group]
    run_cmem("install", "--yes")
    run_cmem("uninstall")
    assert not settings.exists()


def test_purge_names_the_file_that_other_machines_read(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "a")
    assert last.own_file(str(machine.home)) == ""
    machine.note("told to others")
    machine.sync()
    own = machine.own
    machine.conn.close()
    assert last.own_file(str(machine.home)) == str(own)
    done = run_cmem("uninstall", "--purge", "--yes", CMEM_HOME=str(machine.home))
    assert done.stdout.decode().splitlines()[-2:] == [
        f"Deleted {machine.home}.",
        f"What other machines were told stays in {own}; delete it if it should go too.",
    ]
    assert (machine.home.exists(), own.exists()) == (False, True)


def test_no_file_is_told_of_a_memory_that_cannot_be_read(home: Path) -> None:
    home.mkdir(exist_ok=True)
    for content in (b"", b"no database" * 1000):
        (home / "memory.db").write_bytes(content)
        assert last.own_file(str(home)) == ""
