"""The hooks of every other host are followed as Claude Code's are, link by link."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import hookrun
import pytest
import store_rows
import support

from cmem import launcher
from cmem.doctor import registered
from cmem.install import record
from cmem.store import connection

HOSTS = sorted(registered.OTHERS)


class Place:
    """An installation that has this one host's hooks, and none of Claude Code."""

    def __init__(self, installed: Any, host: str) -> None:
        self.installed, self.host = installed, registered.OTHERS[host]
        self.home = installed.home
        # Where a machine has them elsewhere, its variables say so.
        for name in ("CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "OPENCODE_CONFIG_DIR"):
            installed.env.pop(name, None)
        installed.env.pop("XDG_CONFIG_HOME", None)
        installed.settings.unlink()
        self.user = self.path("user")
        self.write(self.user)
        one = record.Record(host, str(self.user), None, (), (), "")
        record.save(str(self.home), {str(self.user): one})

    def path(self, scope: str) -> Path:
        at = self.installed
        named = self.host.settings_path(
            env=at.env, user_home=str(at.user), scope=scope, cwd=str(at.work)
        )
        return Path(named)

    def write(self, path: Path, python: str = "") -> None:
        wanted = self.host.hooks(
            lambda event: launcher.command(
                python or launcher.interpreter(), str(self.home), host=self.host.HOST, event=event
            )
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.host.add("", wanted, launcher=str(self.home / "hook.py")))

    def faults(self) -> list[tuple[str, str]]:
        return list(self.installed.faults())

    def fault(self, name: str) -> Any:
        return self.installed.fault(name)


@pytest.fixture(params=HOSTS)
def place(request: pytest.FixtureRequest, installed: Any) -> Place:
    return Place(installed, request.param)


@pytest.fixture
def codex(installed: Any) -> Place:
    return Place(installed, "codex")


def test_a_host_that_works_is_well_and_its_event_arrives(place: Place) -> None:
    found = place.installed.examine()
    assert [one for one in found if one.level != "ok"] == []
    (hooks,) = [one for one in found if one.name == f"hooks of {place.host.HOST}"]
    assert hooks.detail.startswith(
        f"all {len(place.host.EVENTS)} events are registered in {place.user}"
    )
    (capture,) = [one for one in found if one.name == "capture"]
    assert f"command in {place.user} ran in a bare environment" in capture.detail
    names = [one.name for one in found]
    assert {"interpreter", "launcher", "delivery"} <= set(names)
    assert hookrun.kinds(place.home) == (0, 0, 0)


def test_what_cannot_be_seen_of_codex_is_told(codex: Place) -> None:
    (hooks,) = [one for one in codex.installed.examine() if one.name == "hooks of codex"]
    unseen = (
        "Codex runs only hooks that you have trusted, which cannot be seen from here: "
        "type /hooks in codex"
    )
    assert hooks.detail.endswith(f"hooks.json. {unseen}")
    home = {"CMEM_HOME": str(codex.home)}
    status = support.run_json("status", **home)
    assert status["hint"] == f"nothing of Codex has arrived yet; {unseen}"
    told = support.run_cmem("status", **home).stdout.decode().splitlines()
    assert f"hint:          {status['hint']}" in told
    conn = connection.open_writer(str(codex.home), now=1)
    store_rows.session(conn, store_rows.project(conn), host="codex")
    conn.close()
    assert support.run_json("status", **home)["hint"] is None


def test_a_launcher_that_is_gone(place: Place) -> None:
    (place.home / "hook.py").unlink()
    assert place.faults() == [("error", "launcher"), ("error", "capture")]
    assert place.fault("launcher").fix == f"cmem install {place.host.HOST}"
    assert place.fault("capture").fix == f"cmem install {place.host.HOST}"


def test_a_python_that_is_gone(place: Place) -> None:
    place.write(place.user, "/nowhere/bin/python3")
    assert place.faults() == [("error", "interpreter"), ("error", "capture")]
    assert place.fault("interpreter").fix == f"cmem install {place.host.HOST}"


def test_entries_that_are_gone(place: Place) -> None:
    place.user.write_text("{}")
    assert place.faults() == [("error", f"hooks of {place.host.HOST}")]
    found = place.fault(f"hooks of {place.host.HOST}")
    assert found.fix.startswith(f"cmem install {place.host.HOST}, or `cmem uninstall ")
    place.user.unlink()
    assert place.faults() == [("error", f"hooks of {place.host.HOST}")]


def test_registered_by_user_and_project(place: Place) -> None:
    place.write(place.path("project"))
    name = f"double registration of {place.host.HOST}"
    assert place.faults() == [("warn", name)]
    assert place.fault(name).fix == f"cmem uninstall {place.host.HOST} --scope project"


def test_a_host_without_a_record_is_found_by_its_hooks(place: Place) -> None:
    (place.home / "install.json").unlink()
    (place.home / "hook.py").unlink()
    assert place.faults() == [("error", "launcher"), ("error", "capture")]


def test_one_event_that_is_gone_and_one_that_is_narrowed(codex: Place) -> None:
    document = json.loads(codex.user.read_text())
    del document["hooks"]["Stop"]
    document["hooks"]["PostToolUse"][0]["matcher"] = "Bash"
    codex.user.write_text(json.dumps(document))
    assert codex.faults() == [("error", "hooks of codex"), ("warn", "hook command")]
    assert codex.fault("hooks of codex").detail == f"not registered in {codex.user}: Stop"
    assert codex.fault("hook command").fix == "cmem install codex"


def test_a_command_that_is_not_the_one_install_writes(place: Place) -> None:
    text = place.user.read_text()
    place.user.write_text(re.sub(r" \|\| exit 0", "", text))
    assert set(place.faults()) == {("warn", "hook command")}


def test_a_file_that_is_no_json(codex: Place) -> None:
    codex.user.write_text("{")
    assert codex.faults() == [("error", "hooks of codex")]
    assert codex.fault("hooks of codex").fix == "correct it, then run `cmem install codex`"


@pytest.mark.parametrize(
    ("host", "more", "switch"),
    [
        ("copilot-cli", {"disableAllHooks": True}, "disableAllHooks"),
        ("gemini-cli", {"hooksConfig": {"enabled": False}}, "hooksConfig.enabled"),
    ],
)
def test_hooks_that_the_host_is_told_not_to_run(
    host: str, more: dict[str, Any], switch: str, installed: Any
) -> None:
    place = Place(installed, host)
    document = json.loads(place.user.read_text()) | more
    place.user.write_text(json.dumps(document))
    assert place.faults() == [("error", f"hooks of {host}")]
    assert place.fault(f"hooks of {host}").fix == f"remove {switch} from {place.user}"


def test_a_projects_own_line_of_another_host_is_not_run(codex: Place, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    shared = codex.path("project")
    codex.write(shared)
    document = json.loads(shared.read_text())
    entry = document["hooks"]["UserPromptSubmit"][0]["hooks"][0]
    entry["command"] = f"touch '{mark}'; {entry['command']}"
    shared.write_text(json.dumps(document))
    assert ("warn", "capture") in codex.faults()
    assert not mark.exists()
