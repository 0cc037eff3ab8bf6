"""A standard stream that is closed, full or read by nobody."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import samples
import support

COMMANDS = {
    "status": "status --json",
    "search": "search subtract --all-projects",
    "get": "get O1 --json",
    "raw": "raw O1",
    "context": "context",
    "timeline": "timeline --all-projects",
    "compress": "compress",
    "dry run": "compress --dry-run --json",
    "projects": "project list",
    "help": "--help",
    "command's help": "search --help",
    "no words": "",
    "version": "--version",
}


@pytest.fixture
def stored(home: Path) -> Path:
    samples.calc(home).close()
    return home.parent


def shell(command: str, cwd: Path) -> tuple[str, str]:
    """What the shell printed, and its stderr; ``cmem`` is this tree's."""
    script = f'cmem() {{ {shlex.quote(sys.executable)} -m cmem "$@"; }}; {command}'
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=cwd,
        env=support.clean_env(PYTHONPATH=str(support.ROOT)),
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("name", COMMANDS)
def test_closed_stdout_is_success(stored: Path, name: str) -> None:
    assert shell(f"cmem {COMMANDS[name]} >&-; echo $? >&2", stored) == ("", "0\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_reader_that_has_gone_is_success(stored: Path, name: str) -> None:
    told = shell(f"cmem {COMMANDS[name]} 2>&1 | true; echo ${{PIPESTATUS[0]}}", stored)
    assert told == ("0\n", "")
    # The reader is gone before the first byte.
    late = shell(f"(sleep 0.2; cmem {COMMANDS[name]}; echo $? >&2) | true", stored)
    assert late == ("", "0\n")


def test_other_streams_may_be_closed_too(stored: Path) -> None:
    assert shell("cmem status <&- >&- 2>&-; echo $?", stored) == ("0\n", "")
    assert shell("cmem get O99 2>&-; echo $?", stored) == ("1\n", "")
    assert shell("(cmem get O99 2>&1 >/dev/null; echo $? >&3) 3>&2 | true", stored) == ("", "1\n")


def test_a_database_never_becomes_a_standard_stream(home: Path) -> None:
    assert shell("cmem compress <&- >&- 2>&-; echo $?", home.parent) == ("0\n", "")
    assert (home / "memory.db").read_bytes().startswith(b"SQLite format 3\0")


@pytest.mark.parametrize("command", ["status --json", "--version", "--help"])
def test_a_full_disk_is_a_failure_in_one_line(stored: Path, command: str) -> None:
    told = shell(f"cmem {command} >/dev/full; echo $?", stored)
    assert told == ("1\n", "cmem: no space left on device\n")


@pytest.mark.parametrize("command", ["install --dry-run", "get O99é", "note 项目 ☃"])
def test_no_character_is_too_much_for_a_stream(tmp_path: Path, command: str) -> None:
    odd = "PYTHONIOENCODING=ascii PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 LC_ALL=C"
    home = f"CMEM_HOME='{tmp_path}/☃ é'"
    out, err = shell(f"export {home} {odd}; cmem {command} 2>&1", tmp_path)
    assert (any(one in out for one in "é☃"), "\\" in out, err) == (True, False, "")
