"""Each fault between host and mailbox, made and found."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import hookrun
import pytest

from cmem import launcher, lock, paths, spooled
from cmem.doctor import hooks, registered, trial
from cmem.doctor.finding import Finding
from cmem.install import claude_code, cursor, record


def test_no_settings_file(installed: Any) -> None:
    installed.settings.unlink()
    assert installed.faults() == [("error", "hooks")]
    assert installed.fault("hooks").fix == "cmem install"


def test_events_that_are_not_registered(installed: Any) -> None:
    document = json.loads(installed.settings.read_text())
    del document["hooks"]["Stop"], document["hooks"]["PreCompact"]
    installed.settings.write_text(json.dumps(document))
    assert installed.faults() == [("error", "hooks")]
    assert installed.fault("hooks").detail == (
        f"not registered in {installed.settings}: Stop, PreCompact"
    )


@pytest.mark.parametrize(
    ("raw", "trouble"),
    [
        (b'{"hooks": {},}', "line 1: "),
        (b"[1]", "not a JSON object"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
    ids=["comma", "array", "utf-16", "deep"],
)
def test_settings_that_no_host_can_read(installed: Any, raw: bytes, trouble: str) -> None:
    installed.settings.write_bytes(raw)
    assert installed.faults() == [("error", "settings"), ("error", "hooks")]
    assert trouble in installed.fault("settings").detail


def test_all_hooks_switched_off(installed: Any) -> None:
    installed.write(installed.settings, disableAllHooks=True)
    assert installed.faults() == [("error", "hooks switched off")]
    assert installed.fault("hooks switched off").fix == (
        f"remove disableAllHooks from {installed.settings}"
    )


def test_a_variable_of_this_shell_that_switches_hooks_off(installed: Any) -> None:
    installed.env["CMEM_DISABLE"] = "1"
    assert installed.faults() == [("warn", "hooks switched off")]
    assert installed.fault("hooks switched off").fix == "unset CMEM_DISABLE"


def test_memory_that_a_person_turned_off(installed: Any) -> None:
    (installed.work / ".cmem-off").touch()
    assert installed.faults() == [("warn", "hooks switched off")]
    (installed.home / "off").touch()
    assert installed.faults() == [("warn", "hooks switched off"), ("warn", "capture")]
    assert installed.fault("capture").detail.startswith("not tried: memory is off everywhere")


def test_registered_by_user_and_project(installed: Any) -> None:
    installed.write(installed.shared)
    assert installed.faults() == [("warn", "double registration")]
    found = installed.fault("double registration")
    assert str(installed.shared) in found.detail
    assert found.fix == "cmem uninstall --scope project"


def test_registered_twice_in_one_file(installed: Any) -> None:
    document = json.loads(installed.settings.read_text())
    document["hooks"]["Stop"] *= 2
    installed.settings.write_text(json.dumps(document))
    assert installed.faults() == [("warn", "double registration")]
    found = installed.fault("double registration")
    assert found.detail == f"registered more than once: Stop (in {installed.settings})"
    assert found.fix == "cmem install"


@pytest.mark.parametrize("plugin", ["cmem@some-place", "cmem"])
def test_registered_by_settings_and_a_plugin(installed: Any, plugin: str) -> None:
    installed.write(installed.settings, enabledPlugins={plugin: True, "other@place": True})
    assert installed.faults() == [("warn", "double registration")]
    assert installed.fault("double registration").fix == "cmem uninstall"
    installed.write(installed.settings, enabledPlugins={plugin: False})
    assert installed.faults() == []


def test_a_plugin_alone_is_well(installed: Any) -> None:
    installed.settings.write_text('{"enabledPlugins": {"cmem@place": true}}')
    assert installed.faults() == []


def test_a_plugin_alone_after_an_uninstall_runs_cmem_itself(installed: Any, tmp_path: Path) -> None:
    installed.settings.write_text('{"enabledPlugins": {"cmem@place": true}}')
    (installed.home / "hook.py").unlink()
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "cmem"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    installed.env |= {"PATH": f"/usr/bin:{folder}", "HOME": str(tmp_path)}
    assert installed.faults() == []
    (found,) = [one for one in installed.examine() if one.name == "launcher"]
    assert found.detail == f"the plugin runs {program}; it makes hook.py with the next prompt"
    installed.env["PATH"] = "/usr/bin"
    assert installed.faults() == [("error", "launcher"), ("warn", "command")]
    assert installed.fault("launcher").fix == "put cmem on PATH, or run `cmem install`"


def test_hooks_that_write_to_another_home(installed: Any, tmp_path: Path) -> None:
    other = hookrun.ready(tmp_path / "other")
    installed.write(installed.settings, lambda event: hookrun.line(other, event))
    assert installed.faults() == [("error", "hooks")]
    assert installed.fault("hooks").detail == (
        f"hooks write to {other}, while this command reads {installed.home}"
    )
    assert sorted(one.name for one in other.iterdir() if one.suffix == ".db") == []


def test_every_event_goes_to_two_homes(installed: Any, tmp_path: Path) -> None:
    other = hookrun.ready(tmp_path / "other")
    installed.write(installed.shared, lambda event: hookrun.line(other, event))
    assert installed.faults() == [("warn", "double registration")]
    assert installed.fault("double registration").fix == f"CMEM_HOME='{other}' cmem uninstall"


def test_a_file_of_another_folder_counts_by_the_install_record(installed: Any) -> None:
    place = installed.user / "elsewhere" / ".claude" / "settings.json"
    installed.write(place)
    installed.settings.unlink()
    _record(installed.home, "claude-code", place)
    assert installed.faults() == []
    (found,) = [one for one in installed.examine() if one.name == "hooks"]
    assert found == Finding("ok", "hooks", f"all 9 events are registered in {place}")


def test_an_install_record_that_cannot_be_read(installed: Any) -> None:
    (installed.home / "install.json").write_text("{")
    (installed.home / "install.json").chmod(0o600)
    assert installed.faults() == [("warn", "install record")]


def test_another_host_by_its_record(installed: Any) -> None:
    installed.settings.unlink()
    config = installed.user / "hooks.json"
    config.write_text(json.dumps({"command": installed.line("Stop")}))
    _record(installed.home, "some-host", config)
    found = [one for one in installed.examine() if one.name.startswith("hooks")]
    assert found == [Finding("ok", "hooks of some-host", f"registered in {config}")]
    config.write_text("{}")
    assert installed.fault("hooks of some-host").fix == "cmem install some-host"
    config.unlink()
    assert installed.fault("hooks of some-host").level == "warn"


def _record(home: Path, host: str, path: Path) -> None:
    one = record.Record(host=host, path=str(path), original=None, written=(), created=(), folder="")
    record.save(str(home), {str(path): one})


def test_a_setting_and_its_hook_that_do_not_agree(installed: Any) -> None:
    config = installed.home / "config.toml"
    config.write_text("recall_files = true\n")
    config.chmod(0o600)
    assert installed.faults() == [("warn", "recall")]
    assert installed.fault("recall").detail == "recall_files is on, but no hook runs on PreToolUse"
    document = json.loads(installed.settings.read_text())
    (hook,) = claude_code.optional(installed.line, ["recall_files"]).values()
    tools = claude_code.MATCHERS["PreToolUse"]
    document["hooks"]["PreToolUse"] = [{"matcher": tools, "hooks": [hook]}]
    installed.settings.write_text(json.dumps(document))
    assert installed.faults() == []
    config.write_text("recall_files = false\n")
    assert installed.fault("recall").detail == (
        "recall_files is off, but a hook still runs on every PreToolUse"
    )


# --- the line ------------------------------------------------------------------------


def test_a_matcher_and_a_wrong_event(installed: Any) -> None:
    document = json.loads(installed.settings.read_text())
    document["hooks"]["PostToolUse"][0]["matcher"] = "Bash"
    document["hooks"]["Stop"][0]["hooks"][0]["command"] = installed.line("PreCompact")
    installed.settings.write_text(json.dumps(document))
    found = [one.detail for one in installed.examine() if one.name == "hook command"]
    assert found == [
        f"a matcher keeps the hook under PostToolUse in {installed.settings} from some calls",
        f"the hook under Stop in {installed.settings} reports PreCompact",
    ]


def test_a_line_that_can_block_the_host_is_told_even_if_it_works(installed: Any) -> None:
    installed.write(
        installed.settings, lambda event: installed.line(event).removesuffix(" || exit 0")
    )
    faults = installed.faults()
    assert faults == [("warn", "hook command")] * len(claude_code.EVENTS)


def _with(installed: Any, python: str) -> None:
    installed.write(
        installed.settings,
        lambda event: launcher.command(
            python, str(installed.home), host="claude-code", event=event
        ),
    )


def test_python_is_gone(installed: Any) -> None:
    _with(installed, "/nowhere/bin/python3")
    assert installed.faults() == [("error", "interpreter"), ("error", "capture")]
    assert installed.fault("interpreter").fix == "cmem install"
    assert installed.fault("capture").detail.endswith("its event arrived nowhere")


def test_python_is_a_shim(installed: Any, tmp_path: Path) -> None:
    shim = tmp_path / "python3"
    shim.write_text(f'#!/bin/sh\nexec "{launcher.interpreter()}" "$@"\n')
    shim.chmod(0o755)
    _with(installed, str(shim))
    assert installed.faults() == [("warn", "interpreter")]
    assert "a shim" in installed.fault("interpreter").detail


def test_python_is_a_link(installed: Any, tmp_path: Path) -> None:
    link = tmp_path / "python3"
    link.symlink_to(launcher.interpreter())
    _with(installed, str(link))
    assert installed.faults() == [("warn", "interpreter")]
    assert "is a link to" in installed.fault("interpreter").detail


def test_python_is_another_one(tmp_path: Path) -> None:
    other = tmp_path / "python3"
    other.write_bytes(b"\x7fELF")
    other.chmod(0o755)
    found = hooks.judge_python(str(other))
    assert (found.level, found.detail) == (
        "warn",
        f"hooks run on {other}, this command on {launcher.interpreter()}",
    )
    assert hooks.judge_python(launcher.interpreter()).level == "ok"


# --- the launcher and what it starts -------------------------------------------------


def test_launcher_is_gone(installed: Any) -> None:
    (installed.home / "hook.py").unlink()
    assert installed.faults() == [("error", "launcher"), ("error", "capture")]


def test_launcher_is_an_old_one(installed: Any) -> None:
    path = installed.home / "hook.py"
    path.write_text(path.read_text() + "# older\n")
    assert installed.faults() == [("warn", "launcher")]


@pytest.mark.parametrize(
    ("prefix", "told"),
    [
        ("exit 2;", "exits 2; on 2 the host discards the prompt"),
        ("echo hello;", "prints what the host would take for an answer: hello"),
        ("echo oh >&2;", "prints what the host would take for an answer: oh"),
        (":", "ends well, but its event arrived nowhere"),
    ],
)
def test_a_line_that_does_what_it_must_not(installed: Any, prefix: str, told: str) -> None:
    installed.write(installed.settings, lambda event: f"{prefix} {installed.line(event)}")
    found = installed.fault("capture")
    assert (found.level, found.fix) == ("error", "cmem install")
    assert found.detail.endswith(told)
    assert hookrun.kinds(installed.home) == (0, 0, 0)


def test_a_line_that_does_not_end_is_ended(installed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "LIMIT_S", 0.5)
    installed.write(installed.settings, lambda event: f"sleep 60 | cat; {installed.line(event)}")
    assert installed.fault("capture").detail.endswith("did not end within 0 s")


def test_a_python_without_the_driver_spills(installed: Any) -> None:
    path = installed.home / "hook.py"
    text = path.read_text()
    start = text.index("PATHS = ")
    end = text.index("\n", start)
    path.write_text(text[:start] + "PATHS = ()" + text[end:])
    for bundle in installed.home.glob("hook.*.bin"):
        bundle.unlink()
    faults = installed.faults()
    assert faults == [("warn", "launcher"), ("warn", "capture")]
    assert "became a file" in installed.fault("capture").detail
    (found,) = [one for one in installed.examine() if one.name == "delivery"]
    assert found.level == "ok"
    assert list((installed.home / "spill").iterdir()) == []


def test_the_test_event_is_not_tried_while_a_run_holds_the_lock(
    installed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "WAIT_MS", 0)
    held = lock.acquire(paths.lock_file(str(installed.home)))
    assert held is not None
    try:
        assert installed.faults() == [("warn", "capture")]
    finally:
        lock.release(held)
    assert hookrun.kinds(installed.home) == (0, 0, 0)


def test_no_drain_is_started_by_the_test_event(installed: Any) -> None:
    lock_file = Path(paths.lock_file(str(installed.home)))
    lock_file.touch(0o600)
    os.utime(lock_file, (0, 0))  # so long ago that any hook would start one
    assert installed.faults() == []
    assert lock_file.stat().st_mtime == 0
    assert not (installed.home / "memory.db").exists()


# --- commands that came with a repository --------------------------------------------


@pytest.mark.parametrize(
    "evil",
    [
        "touch '{mark}'; {line}",
        "'{mark}.sh' -I -S '{home}/hook.py' claude-code {event} '{home}' 2>/dev/null || exit 0",
    ],
    ids=["another command", "another program"],
)
def test_a_projects_own_command_is_not_run(installed: Any, tmp_path: Path, evil: str) -> None:
    mark = tmp_path / "ran"
    script = tmp_path / "ran.sh"
    script.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    script.chmod(0o755)
    installed.settings.unlink()
    installed.write(
        installed.shared,
        lambda event: evil.format(
            mark=mark, line=installed.line(event), home=installed.home, event=event
        ),
    )
    found = installed.fault("capture")
    assert found.detail == (
        f"not tried: the command in {installed.shared} is none that `cmem install` writes here"
    )
    assert not mark.exists()


def test_a_projects_ordinary_line_is_run(installed: Any) -> None:
    installed.settings.unlink()
    installed.write(installed.shared)
    assert installed.faults() == []


def test_reading_settings_takes_any_shape() -> None:
    for text in (
        '{"hooks": 1}',
        '{"hooks": {"Stop": {}}}',
        '{"hooks": {"Stop": [1, {"hooks": 2}, {"hooks": [3, {"command": 4}]}]}}',
        '{"enabledPlugins": ["cmem"], "disableAllHooks": "true"}',
        "",
    ):
        found = registered.parse(text, path="p", scope="user")
        assert found == registered.Settings("p", "user")


def test_the_bare_environment_holds_nothing_but_a_path(tmp_path: Path) -> None:
    done = trial.fire("env; pwd; cat", b"seen", cwd=str(tmp_path))
    lines = sorted(done.out.decode().splitlines())
    assert [line for line in lines if not line.startswith(("PWD=", "_=", "SHLVL=", "OLDPWD="))] == [
        str(tmp_path),
        "PATH=/usr/bin:/bin",
        "seen",
    ]
    assert (done.code, done.err) == (0, b"")


def test_a_newer_spool_is_left_alone(installed: Any) -> None:
    conn = spooled.create(str(installed.home))
    conn.pragma("user_version", 9)
    conn.close()
    assert installed.faults() == [("error", "spool"), ("warn", "capture"), ("warn", "hook log")]
    assert installed.fault("spool").fix == "upgrade cmem"


def test_a_host_that_nobody_has_tried_is_named_as_such(installed: Any) -> None:
    config = installed.user / ".cursor" / "hooks.json"
    config.parent.mkdir()
    wanted = cursor.hooks(lambda event: hookrun.line(installed.home, event, host="cursor"))
    config.write_text(cursor.add("", wanted, launcher=str(installed.home / "hook.py")))
    (found,) = [one for one in installed.examine() if one.name == "hooks of cursor"]
    assert found == Finding(
        "ok",
        "hooks of cursor",
        f"all 9 events are registered in {config}. built from Cursor's documentation, and not yet tried with "
        "Cursor itself",
    )
