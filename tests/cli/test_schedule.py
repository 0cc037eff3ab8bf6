"""``cmem schedule`` with stand-ins for crontab, systemctl and launchctl on PATH."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import programs
import pytest
from programs import head_of
from support import clean_env, payload_bytes, run_cmem, run_hook, run_json, session

from cmem import runlog
from cmem.cli import compress as cli_compress
from cmem.cli import parse, spec
from cmem.schedule import cron, job

CRONTAB = """{head}import os, sys
from pathlib import Path
table = Path({folder!r}) / "crontab.txt"
word = sys.argv[1]
if word == "-l":
    if not table.exists():
        sys.stderr.write("no crontab for dev\\n")
        sys.exit(1)
    sys.stdout.buffer.write(table.read_bytes())
elif word == "-r":
    table.unlink()
else:
    text = sys.stdin.buffer.read()
    if not text.endswith(b"\\n"):
        sys.stderr.write("new crontab file is missing newline before EOF, can't install.\\n")
        sys.exit(1)
    table.write_bytes(text)
"""
TELL = """{head}import os, sys
from pathlib import Path
folder = Path({folder!r})
with open(folder / "told.txt", "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
active = folder / "active"
words = sys.argv[1:]
if (folder / "broken").exists() and ("enable" in words or "bootstrap" in words):
    sys.stderr.write("Failed to connect to bus\\n")
    sys.exit(1)
if "restart" in words or "bootstrap" in words:
    active.touch()
if "disable" in words or "bootout" in words:
    active.unlink(missing_ok=True)
if "is-active" in words or "print" in words:
    sys.exit(0 if active.exists() else 3)
"""


class World:
    """A home folder, a PATH with nothing but the stand-ins, and a data home of an awkward name."""

    def __init__(self, tmp_path: Path, *programs: str) -> None:
        self.bin = tmp_path / "bin"
        self.bin.mkdir()
        self.user = tmp_path / "user"
        self.home = tmp_path / "da ta's 100%"
        for name in programs:
            text = CRONTAB if name == "crontab" else TELL
            path = self.bin / name
            path.write_text(text.format(head=head_of(), folder=str(self.bin)))
            path.chmod(0o755)

    @property
    def env(self) -> dict[str, str]:
        return {"PATH": f"relative:{self.bin}", "CMEM_HOME": str(self.home)}

    def run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return run_cmem("schedule", *words, **self.env)

    def json(self, *words: str) -> Any:
        return run_json("schedule", *words, **self.env)

    @property
    def crontab(self) -> str | None:
        path = self.bin / "crontab.txt"
        return path.read_text(encoding="utf-8") if path.exists() else None

    @property
    def told(self) -> list[str]:
        path = self.bin / "told.txt"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def name(self) -> str:
        return job.name(str(self.home))

    def units(self) -> list[str]:
        folder = self.user / ".config" / "systemd" / "user"
        return sorted(path.name for path in folder.glob("*"))


def test_cron_is_edited_and_given_back_exactly(tmp_path: Path) -> None:
    world = World(tmp_path, "crontab")
    mine = "# mine\n0 1 * * * backup 50\\%\n"
    (world.bin / "crontab.txt").write_text(mine)
    assert world.json("install")["changed"] is True
    what = job.job(str(world.home), job.parse(None, None))
    assert world.crontab == mine + cron.block(what)
    assert world.json("install")["changed"] is False
    assert world.json("install", "--at", "03:00")["changed"] is True
    assert world.crontab == mine + cron.block(what._replace(when=job.parse(None, "03:00")))
    assert world.json("remove") == {"removed": ["cron"], "dry_run": False}
    assert world.crontab == mine
    assert world.json("remove") == {"removed": [], "dry_run": False}


def test_a_crontab_that_held_nothing_else_is_gone_again(tmp_path: Path) -> None:
    world = World(tmp_path, "crontab")
    assert world.run("install").returncode == 0
    assert world.run("remove").returncode == 0
    assert world.crontab is None


def test_the_scheduled_line_takes_events_in_and_logs_what_it_did(tmp_path: Path) -> None:
    world = World(tmp_path, "crontab")
    assert world.run("install", "--every", "1m").returncode == 0
    for event, _at, payload in session("session-fix-subtract.jsonl"):
        run_hook(world.home, event, payload_bytes(payload))
    line = str(world.crontab).split("\n")[2]
    command = line.split(" ", 5)[5].replace("\\%", "%")
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(world.user)}
    for _ in range(2):
        subprocess.run(["sh", "-c", command], env=bare, cwd="/", check=True, timeout=60)
    status = run_json("status", CMEM_HOME=str(world.home))
    assert (status["spool"]["pending"], status["counts"]["prompts"]) == (0, 3)
    assert status["work"]["pending"] == 0
    log = (world.home / "compress.log").read_text().splitlines()
    assert len(log) == 1
    assert " run: extract: 23 events in, 4 units done, 0 calls, $0.0000, 0 pending" in log[0]
    last = world.json("status")["last_run"]
    assert last["text"].startswith("run: extract: 23 events in")


def test_a_scheduled_run_takes_no_setting_and_no_proxy_from_its_environment(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, "crontab")
    assert world.run("install").returncode == 0
    seen = tmp_path / "seen"
    model = programs.make(tmp_path, f"open({str(seen)!r}, 'w').write(json.dumps(dict(os.environ)))")
    (world.home / "config.toml").write_text(f'provider = "command"\ncommand = "{model}"\n')
    for event, _at, payload in session("session-fix-subtract.jsonl"):
        run_hook(world.home, event, payload_bytes(payload))
    words = shlex.split(str(world.crontab).split("\n")[2].split(" ", 5)[5].replace("\\%", "%"))
    planted = {"HTTPS_PROXY": "http://127.0.0.1:9", "CMEM_PROVIDER": "extract"}
    env = clean_env() | planted
    subprocess.run(words[: words.index(">/dev/null")], env=env, check=True, timeout=60)
    assert not set(planted) & set(json.loads(seen.read_text()))


def test_a_scheduled_run_leaves_the_work_to_one_that_has_the_lock(tmp_path: Path) -> None:
    world = World(tmp_path, "crontab")
    assert world.run("install").returncode == 0
    run_hook(world.home, "Stop", payload_bytes({"session_id": "s", "hook_event_name": "Stop"}))
    words = shlex.split(str(world.crontab).split("\n")[2].split(" ", 5)[5].replace("\\%", "%"))
    from cmem import lock, paths

    fd = lock.acquire(paths.lock_file(str(world.home)))
    assert fd is not None
    try:
        subprocess.run(words[: words.index(">/dev/null")], env=clean_env(), check=True, timeout=60)
    finally:
        lock.release(fd)
    assert run_json("status", CMEM_HOME=str(world.home))["spool"]["pending"] == 1


def test_the_log_is_rotated_by_the_run_itself(tmp_path: Path) -> None:
    world = World(tmp_path, "crontab")
    assert world.run("install").returncode == 0
    log = world.home / "compress.log"
    log.write_text("1 run: old\n" * 30_000)
    run_hook(world.home, "Stop", payload_bytes({"session_id": "s", "hook_event_name": "Stop"}))
    words = shlex.split(str(world.crontab).split("\n")[2].split(" ", 5)[5].replace("\\%", "%"))
    subprocess.run(words[: words.index(">/dev/null")], env=clean_env(), check=True, timeout=60)
    assert len(log.read_text().splitlines()) == 1
    assert (world.home / "compress.log.1").stat().st_size > 256 * 1024


def test_the_last_batch_is_told_beside_the_last_run(tmp_path: Path) -> None:
    world = World(tmp_path, "crontab")
    world.home.mkdir(mode=0o700, exist_ok=True)
    runlog.did(str(world.home), "anthropic: 0 events in, 3 units done", batch=True)
    status = world.json("status")
    assert status["last_run"] == status["last_batch"]
    assert status["last_batch"]["text"] == "batch: anthropic: 0 events in, 3 units done"
    runlog.did(str(world.home), "extract: 4 events in")
    assert world.json("status")["last_run"]["text"] == "run: extract: 4 events in"
    lines = world.run("status").stdout.decode().splitlines()
    assert [line.partition(":")[0] for line in lines[-2:]] == ["Last background run", "Last batch"]


def test_a_batch_that_a_clock_has_started_is_noted(home: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        report = cli_compress.core.Report(*(0,) * 10, 0.0, 0, "anthropic", "", ())
        patch.setattr(cli_compress.core, "compress", lambda *_, **__: report)
        patch.setattr(cli_compress.core, "end_on_signals", lambda: None)
        command = spec.BY_NAME["compress"]
        for words in (["--json"], ["--batch", "--json"]):
            assert cli_compress.run(parse.parse(command, words)) == 0
    (line,) = (home / "compress.log").read_text().splitlines()
    assert " batch: anthropic: 0 events in" in line


def test_systemd_is_told_of_its_units_and_of_their_end(tmp_path: Path) -> None:
    world = World(tmp_path, "systemctl", "crontab")
    timer = f"{world.name}.timer"
    found = world.json("install", "--every", "45m")
    assert (found["kind"], found["every_minutes"], found["changed"]) == ("systemd", 45, True)
    assert world.units() == [f"{world.name}.service", timer]
    for path, text in found["files"].items():
        assert Path(path).read_text(encoding="utf-8") == text
    assert world.told[-3:] == [
        "--user daemon-reload",
        f"--user enable {timer}",
        f"--user restart {timer}",
    ]
    assert world.json("install", "--every", "45m")["changed"] is False
    (world.bin / "active").unlink()
    assert world.json("install", "--every", "45m")["changed"] is True
    assert world.json("status")["schedules"] == [
        {
            "kind": "systemd",
            "every_minutes": 45,
            "at": None,
            "where": str(world.user / ".config/systemd/user" / f"{world.name}.service"),
            "current": True,
        }
    ]
    assert world.json("remove")["removed"] == ["systemd"]
    assert world.units() == []
    assert world.told[-2:] == [f"--user disable --now {timer}", "--user daemon-reload"]
    assert world.crontab is None


def test_a_systemd_that_refuses_leaves_nothing_behind(tmp_path: Path) -> None:
    world = World(tmp_path, "systemctl")
    (world.bin / "broken").touch()
    done = world.run("install")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.endswith(b"failed: Failed to connect to bus\n")
    assert world.units() == []


def test_launchd_is_told_by_user(tmp_path: Path) -> None:
    world = World(tmp_path, "launchctl")
    found = world.json("install", "--kind", "launchd", "--at", "03:07")
    path = world.user / "Library" / "LaunchAgents" / f"{world.name}.plist"
    assert list(found["files"]) == [str(path)]
    user = os.getuid()
    assert world.told[-1] == f"bootstrap gui/{user} {path}"
    status = world.json("status")["schedules"][0]
    assert (status["kind"], status["at"], status["current"]) == ("launchd", "03:07", True)
    assert world.json("remove")["removed"] == ["launchd"]
    assert not path.exists()
    assert world.told[-1] == f"bootout gui/{user}/{world.name}"


@pytest.mark.parametrize("kind", ["systemd", "cron", "launchd"])
def test_printing_and_trying_change_nothing(kind: str, tmp_path: Path) -> None:
    world = World(tmp_path, "crontab", "systemctl", "launchctl")
    printed = world.json("install", "--kind", kind, "--print")
    tried = world.json("install", "--kind", kind, "--dry-run")
    assert printed["files"] == tried["files"] != {}
    assert tried["changed"] is False
    told = world.run("install", "--kind", kind, "--dry-run").stdout.decode()
    assert told.startswith(f"Would run `cmem compress` every 15 minutes by {kind}: ")
    text = world.run("install", "--kind", kind, "--print").stdout.decode()
    assert all(one.rstrip("\n") in text for one in printed["files"].values())
    assert (world.crontab, world.told, world.home.exists()) == (None, [], False)
    assert sorted(path.name for path in world.user.iterdir()) == []


def test_without_any_scheduler_the_way_by_hand_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    done = world.run("install")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"`cmem schedule install --print` shows what to add by hand" in done.stderr
    named = world.run("install", "--kind", "cron")
    assert (named.returncode, named.stdout) == (1, b"")
    assert b"there is no crontab on PATH" in named.stderr
    assert world.run("install", "--print").stdout.startswith(b"# >>> cmem-compress-")


def test_a_crontab_that_cannot_be_read_is_not_overwritten(tmp_path: Path) -> None:
    world = World(tmp_path)
    program = world.bin / "crontab"
    program.write_text("#!/bin/sh\necho 'you are not allowed to use this program' >&2\nexit 1\n")
    program.chmod(0o755)
    done = world.run("install", "--kind", "cron")
    assert done.returncode == 1
    assert done.stderr == (
        b"cmem: could not read the crontab: you are not allowed to use this program\n"
    )


def test_a_schedule_of_a_python_that_has_moved_is_marked(tmp_path: Path) -> None:
    world = World(tmp_path, "crontab")
    assert world.run("install").returncode == 0
    table = world.bin / "crontab.txt"
    table.write_text(table.read_text().replace("*/15 * * * * /", "*/15 * * * * /old/"))
    assert world.json("status")["schedules"][0]["current"] is False
    assert b"out of date, `cmem schedule install` renews it" in world.run("status").stdout
    assert world.json("install")["changed"] is True
    assert world.json("status")["schedules"][0]["current"] is True


@pytest.mark.parametrize(
    "words",
    [
        ("install", "--every", "soon"),
        ("install", "--at", "25:00"),
        ("install", "--every", "15m", "--at", "03:00"),
        ("install", "--kind", "at"),
        ("remove", "--kind", "at"),
    ],
)
def test_a_wrong_line_is_a_usage_error(words: tuple[str, ...], tmp_path: Path) -> None:
    done = World(tmp_path, "crontab").run(*words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"cmem: ")


def test_another_home_keeps_its_schedule(tmp_path: Path) -> None:
    world = World(tmp_path, "crontab")
    assert world.run("install").returncode == 0
    first = world.crontab
    world.home = tmp_path / "other"
    assert world.json("status")["schedules"] == []
    assert world.run("install", "--at", "03:00").returncode == 0
    assert world.run("remove").returncode == 0
    assert world.crontab == first
    assert json.loads(world.run("status", "--json").stdout)["last_run"] is None


def test_the_schedule_goes_with_the_last_hook_because_it_starts_the_same_file(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, "crontab", "systemctl")
    (world.bin / "crontab.txt").write_text("0 1 * * * mine\n")
    config = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), **world.env}
    assert run_cmem("install", "--yes", **config).returncode == 0
    assert world.run("install", "--kind", "cron").returncode == 0
    assert world.run("install", "--kind", "systemd").returncode == 0
    done = run_cmem("uninstall", "--purge", "--yes", **config)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (world.crontab, world.units()) == ("0 1 * * * mine\n", [])
    assert not world.home.exists()


def test_purging_takes_the_log_and_the_prices_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    run_json("compress", CMEM_HOME=str(world.home))
    for name in ("compress.log", "compress.log.1", "prices.toml"):
        (world.home / name).write_text("x")
    done = run_cmem("uninstall", "--purge", "--yes", CMEM_HOME=str(world.home))
    assert done.returncode == 0, done.stderr
    assert not world.home.exists()
