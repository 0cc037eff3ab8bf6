"""Whether an agent finds ``cmem``: with real folders, real links and a real shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import support

from cmem.doctor import command
from cmem.doctor.finding import Finding

BARE = "/usr/bin:/bin"
UNFOUND = "cmem is not on PATH: an agent that is told to run it does not find it"


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "user"


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment with a cmem in it."""
    folder = tmp_path / "my env"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/cmem").write_text("#!/bin/sh\necho found\n", encoding="utf-8")
    (folder / "bin/cmem").chmod(0o755)
    return folder


def _judge(user: Path, venv: Path, path: str, **env: str) -> Finding:
    own = str(venv / "bin/cmem")
    return command.judge({"PATH": path} | env, user_home=str(user), own=own)


def test_a_cmem_on_path_is_found(user: Path, venv: Path) -> None:
    path = f"{BARE}:{venv}/bin"
    detail = f"{venv}/bin/cmem is on PATH, where an agent finds it"
    assert _judge(user, venv, path) == Finding("ok", "command", detail)


@pytest.mark.parametrize("entry", ["", ".", "bin", "./bin"])
def test_an_entry_that_depends_on_the_folder_is_none(
    user: Path, venv: Path, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(venv)
    assert _judge(user, venv, f"{entry}:{BARE}").detail == UNFOUND


@pytest.mark.parametrize(
    ("variables", "level"),
    [
        ({"VIRTUAL_ENV": "{}"}, "warn"),
        ({"VIRTUAL_ENV": "{}/"}, "warn"),
        ({"CONDA_PREFIX": "{}", "CONDA_DEFAULT_ENV": "work"}, "warn"),
        ({"CONDA_PREFIX": "{}", "CONDA_DEFAULT_ENV": "base"}, "ok"),
        ({"VIRTUAL_ENV": "/another"}, "ok"),
    ],
)
def test_one_in_an_environment_that_is_active_here_is_none(
    user: Path, venv: Path, variables: dict[str, str], level: str
) -> None:
    env = {name: value.format(venv) for name, value in variables.items()}
    found = _judge(user, venv, f"{venv}/bin:{BARE}", **env)
    assert found.level == level
    if level == "warn":
        assert found.detail == (
            f"cmem is on PATH only while {venv}/bin is active: "
            "an agent that is told to run it does not find it"
        )


@pytest.mark.parametrize("state", ["no folder", "folder", "dead link"])
def test_what_it_says_to_type_puts_it_there(user: Path, venv: Path, state: str) -> None:
    local = user / ".local/bin"
    if state != "no folder":
        local.mkdir(parents=True)
    if state == "dead link":
        (local / "cmem").symlink_to("/gone/cmem")
    path = f"{local}:{BARE}"
    fix = _judge(user, venv, path).fix
    assert subprocess.run(["sh", "-c", fix], env={"PATH": BARE}, check=False).returncode == 0
    assert subprocess.check_output(["sh", "-c", "cmem"], env={"PATH": path}) == b"found\n"
    assert _judge(user, venv, path).level == "ok"


def test_a_folder_that_is_not_on_path_is_to_be_put_there(user: Path, venv: Path) -> None:
    fix = _judge(user, venv, BARE).fix
    local = user / ".local/bin"
    assert fix == (
        f"mkdir -p {local} && ln -s '{venv}/bin/cmem' {local}/cmem; then {command.EXPORT}"
    )
    subprocess.run(["sh", "-c", fix.partition(";")[0]], env={"PATH": BARE}, check=True)
    assert _judge(user, venv, BARE).fix == command.EXPORT


def test_without_a_program_of_its_own_pipx_is_named(user: Path) -> None:
    found = command.judge({"PATH": BARE}, user_home=str(user), own="")
    assert found == Finding("warn", "command", UNFOUND, command.PIPX)


def test_the_doctor_warns(installed: Any) -> None:
    installed.env["PATH"] = str(installed.work)
    assert installed.faults() == [("warn", "command")]


def test_the_install_warns(tmp_path: Path, user: Path) -> None:
    (tmp_path / "path").mkdir()
    for name in ("sh", "git"):
        (tmp_path / "path" / name).symlink_to(str(shutil.which(name)))
    done = support.run_cmem("install", "--yes", PATH=str(tmp_path / "path"))
    assert done.returncode == 0
    own = Path(sys.prefix, "bin/cmem")
    fix = command.judge(
        {"PATH": ""}, user_home=str(user), own=str(own) if os.access(own, os.X_OK) else ""
    ).fix
    assert done.stderr.decode() == f"cmem: warning: {UNFOUND}; to help it: {fix}\n"
