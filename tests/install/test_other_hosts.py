"""Installing into the hosts besides Claude Code: once, beside everything else, and out again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import OTHERS, SETTINGS, installed
from support import clean_env, run_cmem

from cmem.hosts.wire import HOSTS as WIRES
from cmem.install import codex, copilot_cli, cursor, gemini_cli, opencode, register
from cmem.install.host import Host, RefusedError

LAUNCHER = "/data/it's/hook.py"
NOW = 1_795_988_496_981
MODULES: dict[str, Host] = {
    "codex": codex,
    "gemini-cli": gemini_cli,
    "opencode": opencode,
    "cursor": cursor,
    "copilot-cli": copilot_cli,
}
TITLES = {
    "codex": "Codex",
    "gemini-cli": "Gemini CLI",
    "opencode": "OpenCode",
    "cursor": "Cursor",
    "copilot-cli": "Copilot CLI",
}

every_host = pytest.mark.parametrize("host", OTHERS)
json_host = pytest.mark.parametrize("host", ["codex", "gemini-cli"])
file_host = pytest.mark.parametrize("host", ["codex", "gemini-cli", "cursor", "copilot-cli"])


def command(host: str, home: str = "/data/it'\\''s", python: str = "/usr/bin/python3") -> str:
    return f"'{python}' -I -S '{home}/hook.py' {host} {{event}} '{home}' 2>/dev/null || exit 0"


def wanted(host: str, line: str = "") -> dict[str, dict[str, object]]:
    return MODULES[host].hooks(lambda event: (line or command(host)).format(event=event))


def settings_of(host: str) -> Path:
    return Path(os.environ["HOME"], SETTINGS[host])


# --- what is registered ------------------------------------------------------------------


@every_host
def test_every_captured_event_is_registered_and_no_other(host: str) -> None:
    assert set(wanted(host)) == set(WIRES[host].kinds) == set(MODULES[host].EVENTS)


def test_the_time_granted_is_in_the_hosts_own_unit() -> None:
    assert {event: hook["timeout"] for event, hook in wanted("codex").items()} == {
        "SessionStart": 10,
        "UserPromptSubmit": 10,
        "PostToolUse": 10,
        "Stop": 10,
        "StopFailure": 10,
        "SubagentStop": 10,
        "PreCompact": 10,
        "Interrupt": 3,
        "SessionEnd": 3,
    }
    assert {event: hook["timeout"] for event, hook in wanted("gemini-cli").items()} == {
        "SessionStart": 10_000,
        "BeforeAgent": 10_000,
        "AfterTool": 10_000,
        "AfterAgent": 10_000,
        "SessionEnd": 5_000,
    }


@pytest.mark.parametrize(
    ("host", "env", "scope", "path"),
    [
        ("codex", {}, "user", "/me/.codex/hooks.json"),
        ("codex", {"CODEX_HOME": "/conf dir"}, "user", "/conf dir/hooks.json"),
        ("codex", {"CODEX_HOME": "rel"}, "user", "/repo/rel/hooks.json"),
        ("codex", {"CODEX_HOME": "/conf"}, "project", "/repo/.codex/hooks.json"),
        ("gemini-cli", {}, "user", "/me/.gemini/settings.json"),
        ("gemini-cli", {"GEMINI_CLI_HOME": "/conf"}, "user", "/conf/.gemini/settings.json"),
        ("gemini-cli", {"GEMINI_CLI_HOME": "rel"}, "user", "/repo/rel/.gemini/settings.json"),
        ("gemini-cli", {"GEMINI_CLI_HOME": "/conf"}, "project", "/repo/.gemini/settings.json"),
        ("opencode", {}, "user", "/me/.config/opencode/plugins/cmem.js"),
        ("opencode", {"XDG_CONFIG_HOME": "/x"}, "user", "/x/opencode/plugins/cmem.js"),
        (
            "opencode",
            {"XDG_CONFIG_HOME": "/x", "OPENCODE_CONFIG_DIR": "/o"},
            "user",
            "/o/plugins/cmem.js",
        ),
        ("opencode", {"OPENCODE_CONFIG_DIR": "/o"}, "project", "/repo/.opencode/plugins/cmem.js"),
        ("cursor", {}, "user", "/me/.cursor/hooks.json"),
        ("cursor", {}, "project", "/repo/.cursor/hooks.json"),
        ("copilot-cli", {}, "user", "/me/.copilot/hooks/cmem.json"),
        ("copilot-cli", {"COPILOT_HOME": "/c d"}, "user", "/c d/hooks/cmem.json"),
        ("copilot-cli", {"COPILOT_HOME": "/c"}, "project", "/repo/.github/hooks/cmem.json"),
    ],
)
def test_the_file_is_the_one_the_host_reads(
    host: str, env: dict[str, str], scope: str, path: str
) -> None:
    found = MODULES[host].settings_path(env=env, user_home="/me", scope=scope, cwd="/repo")
    assert found == path


# --- into the file and out again ---------------------------------------------------------


@file_host
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b'\xef\xbb\xbf{\r\n\t"a": 1\r\n}',
        b'{\n  "hooks": {"SessionEnd": [ ], "Other": [{"hooks": []}]},\n  "x": "\xc3\xbc"\n}',
    ],
    ids=["zero", "empty", "bom crlf tabs", "odd"],
)
def test_uninstall_gives_back_the_very_bytes(
    host: str, raw: bytes, home: Path, tmp_path: Path
) -> None:
    path, module = tmp_path / "settings.json", MODULES[host]
    path.write_bytes(raw)

    def put(python: str) -> register.Done:
        hooks = wanted(host, command(host, str(home), python))
        return register.install(str(home), str(path), hooks, now=NOW, host=module)

    done = put("/usr/bin/python3")
    assert Path(done.backup).name.startswith(f"{host}-settings-")
    assert Path(done.backup).read_bytes() == raw
    hooks = json.loads(path.read_bytes().decode("utf-8-sig"))["hooks"]
    assert {event: len(hooks[event]) for event in module.EVENTS} == dict.fromkeys(module.EVENTS, 1)
    assert not put("/usr/bin/python3").plan.changes
    assert put("/opt/python").plan.changes
    assert register.uninstall(str(home), str(path), now=NOW, host=module).plan.changes
    assert path.read_bytes() == raw


@json_host
def test_hooks_of_another_host_in_the_file_are_not_ours(host: str) -> None:
    others = wanted("gemini-cli" if host == "codex" else "codex")
    text = json.dumps({"hooks": {event: [{"hooks": [hook]}] for event, hook in others.items()}})
    module = MODULES[host]
    added = module.add(text, wanted(host), launcher=LAUNCHER)
    assert module.take_out(added, launcher=LAUNCHER, created=module.created_by(text)) == text


@file_host
def test_another_home_is_left_alone_but_told(host: str) -> None:
    module = MODULES[host]
    text = module.add("{}", wanted(host, command(host, "/other")), launcher="/other/hook.py")
    both = module.add(text, wanted(host), launcher=LAUNCHER)
    assert module.warnings(both, launcher=LAUNCHER) == [
        "another data home is registered here too, and every event goes to both: /other"
    ]


def test_a_switch_that_turns_geminis_hooks_off_is_told() -> None:
    text = '{"hooksConfig": {"enabled": false}}'
    assert gemini_cli.warnings(text, launcher=LAUNCHER) == [
        "hooksConfig.enabled is false in these settings: no hook runs"
    ]
    assert gemini_cli.warnings("", launcher=LAUNCHER) == []


def test_the_plugin_is_ours_as_a_whole() -> None:
    plugin = opencode.add("", wanted("opencode"), launcher=LAUNCHER)
    line = "const LINE = " + json.dumps(command("opencode").format(event='"$1"'))
    assert plugin.split("\n").count(line) == 1
    assert plugin == opencode.snippet(wanted("opencode")) + "\n"
    for older in (opencode.template(), plugin.replace("python3", "python2") + "// edited"):
        assert opencode.add(older, wanted("opencode"), launcher=LAUNCHER) == plugin
        assert opencode.take_out(older, launcher=LAUNCHER, created=None) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("export const Mine = async () => ({})\n", "it is not cmem's"),
        (
            opencode.add(
                "", wanted("opencode", command("opencode", "/other")), launcher="/other/hook.py"
            ),
            "it belongs to another data home: /other",
        ),
    ],
    ids=["foreign", "another home"],
)
def test_a_plugin_of_somebody_else_is_refused_and_left(text: str, reason: str) -> None:
    with pytest.raises(RefusedError) as caught:
        opencode.add(text, wanted("opencode"), launcher=LAUNCHER)
    assert str(caught.value) == reason
    assert opencode.take_out(text, launcher=LAUNCHER, created=None) == text


# --- as a person runs it -----------------------------------------------------------------


@every_host
def test_install_says_what_it_did_and_uninstall_leaves_nothing(host: str, tmp_path: Path) -> None:
    path, count = settings_of(host), len(WIRES[host].kinds)
    done = run_cmem("install", host, "--yes")
    assert done.returncode == 0
    notice = MODULES[host].NOTICE
    assert done.stderr.decode() == (f"cmem: warning: {notice}\n" if notice else "")
    assert done.stdout.decode() == (
        f"Registered {count} hooks for {TITLES[host]} in {path}.\n"
        f"Memories are kept in {tmp_path}/home, readable by you alone.\n"
        "Provider: extract. Observations are made by rules on this machine; nothing leaves it, "
        "and it costs nothing.\n"
        f"Next: start a session of {TITLES[host]}; `cmem status` shows what arrives, "
        f"`cmem uninstall {host}` takes this out again.\n"
    )
    before = path.read_bytes()
    again = run_cmem("install", host, "--yes")
    assert (again.stdout.decode().split("\n")[0], again.stderr) == (
        f"All {count} hooks for {TITLES[host]} are registered in {path} already.",
        b"",
    )
    assert path.read_bytes() == before
    assert run_cmem("uninstall", host).returncode == 0
    assert os.listdir(tmp_path / "user") == []
    assert list((tmp_path / "home").glob("hook.*")) == []


@every_host
def test_a_dry_run_and_a_printed_snippet_change_nothing(host: str, tmp_path: Path) -> None:
    shown = run_cmem("install", host, "--dry-run")
    assert shown.stdout.decode().startswith(f"--- {settings_of(host)}\n")
    assert not (tmp_path / "home").exists()
    snippet = run_cmem("install", host, "--print").stdout
    assert not settings_of(host).exists()
    settings_of(host).parent.mkdir(parents=True)
    settings_of(host).write_bytes(snippet)
    assert json.loads(run_cmem("install", host, "--json").stdout)["changed"] is False


@every_host
def test_the_project_scope_is_the_projects_own_file(host: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    done = run_cmem("install", host, "--scope", "project", "--json", cwd=project)
    report = json.loads(done.stdout)
    assert Path(report["settings"]).is_relative_to(project)
    assert report["warnings"][0] == (
        f"{report['settings']} now names paths of this machine; whoever shares this repository "
        "gets them too"
    )
    run_cmem("uninstall", host, cwd=tmp_path)
    assert os.listdir(project) == []


def test_hosts_do_not_take_each_others_hooks_out(tmp_path: Path) -> None:
    for host in OTHERS:
        installed(host)
    assert run_cmem("install", "--yes").returncode == 0
    kept = {host: settings_of(host).read_bytes() for host in OTHERS}
    assert run_cmem("uninstall").returncode == 0
    assert {host: settings_of(host).read_bytes() for host in OTHERS} == kept
    assert (tmp_path / "home" / "hook.py").exists()
    done = run_cmem("uninstall", "codex", "--purge", "--yes")
    assert done.returncode == 0, done.stderr
    assert (os.listdir(tmp_path / "user"), (tmp_path / "home").exists()) == ([], False)


def test_an_unknown_host_is_named_with_those_that_are_known() -> None:
    done = run_cmem("install", "emacs")
    assert (done.returncode, done.stdout) == (2, b"")
    assert (
        b"emacs; known: claude-code, codex, gemini-cli, opencode, cursor, copilot-cli"
        in done.stderr
    )


@every_host
def test_the_registered_line_ends_with_0_when_everything_is_gone(host: str, tmp_path: Path) -> None:
    commands = installed(host)
    assert run_cmem("uninstall", host, "--purge", "--yes").returncode == 0
    for line in (
        *commands.values(),
        next(iter(commands.values())).replace(sys.base_prefix, "/gone"),
    ):
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            input=b"{}",
            capture_output=True,
            env=clean_env(),
            cwd=tmp_path,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
