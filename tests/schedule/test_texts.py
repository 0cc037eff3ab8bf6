"""The text each scheduler gets, and that it comes to the same words again on the other side."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cmem.errors import CmemError
from cmem.schedule import cron, launchd, systemd
from cmem.schedule.job import Job, When, parse

AWKWARD = '/home/dev/it\'s 100% "mine" $HOME `x` ~ ёж 記憶'
ECHO = (sys.executable, "-c", "import sys; print(*sys.argv[1:], sep=chr(0), end=str())")


def job(home: str = "/home/dev/mem", every: str | None = None, at: str | None = None) -> Job:
    argv = ("/usr/bin/python3", "-I", "-S", f"{home}/hook.py", "--compress", home)
    return Job("cmem-compress-1234abcd", home, argv, parse(every, at))


# --- cron ----------------------------------------------------------------------------

BLOCK = """\
# >>> cmem-compress-1234abcd: written by `cmem schedule`, which overwrites changes >>>
# every 15 minutes
*/15 * * * * /usr/bin/python3 -I -S /home/dev/mem/hook.py --compress /home/dev/mem >/dev/null 2>&1
# <<< cmem-compress-1234abcd <<<
"""


def as_cron_runs_it(line: str) -> str:
    """The command that cron hands to sh: up to the first bare percent sign, escapes undone."""
    command, escaped = "", False
    for char in line.split(" ", 5)[5]:
        if char == "%" and not escaped:
            break
        if escaped and char == "%":
            command = command[:-1]
        command += char
        escaped = char == "\\" and not escaped
    return command


def test_a_block_of_a_crontab() -> None:
    assert cron.block(job()) == BLOCK


@pytest.mark.parametrize(
    ("every", "at", "times"),
    [
        ("1m", None, "* * * * *"),
        ("30m", None, "*/30 * * * *"),
        ("1h", None, "0 * * * *"),
        ("120m", None, "0 */2 * * *"),
        ("24h", None, "0 0 * * *"),
        (None, "03:07", "7 3 * * *"),
    ],
)
def test_times_of_a_crontab(every: str | None, at: str | None, times: str) -> None:
    assert cron.block(job(every=every, at=at)).split("\n")[2].startswith(f"{times} /usr")


@pytest.mark.parametrize("every", ["7m", "45m", "90m", "5h"])
def test_times_cron_cannot_keep_are_refused_with_those_it_can(every: str) -> None:
    with pytest.raises(CmemError, match="choose 1, 2, 3"):
        cron.block(job(every=every))


def test_a_path_reaches_the_program_through_cron_and_sh(tmp_path: Path) -> None:
    what = job(AWKWARD)._replace(argv=(*ECHO, AWKWARD, "%", "a%%b"))
    command = as_cron_runs_it(cron.block(what).split("\n")[2]).removesuffix(" >/dev/null 2>&1")
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout.decode().split("\0") == [AWKWARD, "%", "a%%b"]


def test_a_backslash_is_refused_because_crons_differ() -> None:
    with pytest.raises(CmemError, match="--kind systemd"):
        cron.block(job("/home/dev/a\\b"))


@pytest.mark.parametrize(
    "others",
    [
        "",
        "# mine\n0 1 * * * backup\n",
        'MAILTO=""\r\n0 1 * * * backup # >>> cmem >>>\r\n\n\n',
        "0 1 * * * echo 50\\% ёж\n" + BLOCK.replace("1234abcd", "99999999"),
    ],
    ids=["empty", "others", "CRLF and blank lines", "another home"],
)
def test_adding_and_removing_leaves_every_other_byte(others: str) -> None:
    there = cron.add(others, job())
    assert there == others + BLOCK
    assert cron.add(there, job()) == there
    assert cron.installed(there, job().name) == BLOCK
    assert cron.remove(there, job().name) == others
    assert cron.remove(others, job().name) == others
    assert cron.installed(others, job().name) == ""


def test_a_changed_time_stays_in_its_place() -> None:
    there = cron.add("a\n", job()) + "b\n"
    assert cron.add(there, job(at="03:00")) == "a\n" + cron.block(job(at="03:00")) + "b\n"


def test_a_last_line_without_an_end_gets_one() -> None:
    assert cron.add("0 1 * * * x", job()) == "0 1 * * * x\n" + BLOCK


@pytest.mark.parametrize(
    "torn",
    [
        BLOCK.rsplit("\n", 2)[0] + "\n",
        BLOCK.partition("\n")[2],
        BLOCK + BLOCK,
        "\n".join(reversed(BLOCK.rstrip("\n").split("\n"))) + "\n",
    ],
    ids=["no end", "no beginning", "twice", "upside down"],
)
def test_torn_marks_are_left_to_a_person(torn: str) -> None:
    for edit in (lambda: cron.add(torn, job()), lambda: cron.remove(torn, job().name)):
        with pytest.raises(CmemError, match="crontab -e"):
            edit()


# --- systemd -------------------------------------------------------------------------


def test_the_units_of_systemd() -> None:
    assert systemd.files(job(AWKWARD)) == {
        "cmem-compress-1234abcd.service": """[Unit]
Description=Take in captured events and turn closed turns into memories (cmem)

[Service]
Type=oneshot
ExecStart="/usr/bin/python3" "-I" "-S" "/home/dev/it's 100%% \\"mine\\" $$HOME `x` ~ ёж 記憶/hook.py" \
"--compress" "/home/dev/it's 100%% \\"mine\\" $$HOME `x` ~ ёж 記憶"
Nice=10
""",
        "cmem-compress-1234abcd.timer": """[Unit]
Description=Take in captured events and turn closed turns into memories (cmem), every 15 minutes

[Timer]
OnActiveSec=1min
OnUnitActiveSec=15min

[Install]
WantedBy=timers.target
""",
    }


def test_a_timer_of_a_time_of_day_catches_up() -> None:
    timer = systemd.files(job(at="03:07"))["cmem-compress-1234abcd.timer"]
    assert "OnCalendar=*-*-* 03:07:00\nPersistent=true\n" in timer


def test_the_program_itself_gets_no_dollar_doubled() -> None:
    what = job()._replace(argv=("/opt/$odd/py\\thon", "$x"))
    service = systemd.files(what)["cmem-compress-1234abcd.service"]
    assert 'ExecStart="/opt/$odd/py\\\\thon" "$$x"\n' in service


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not here")
def test_systemd_itself_finds_nothing_wrong(tmp_path: Path) -> None:
    """Of an awkward home, and of a program with a space and a dollar sign in its path."""
    program = tmp_path / "a $HOME b" / "py"
    program.parent.mkdir()
    program.symlink_to(sys.executable)
    argv = (str(program), "-c", "pass", AWKWARD, "%h%Q", "a\\")
    often = job(AWKWARD, every="45m")._replace(argv=argv)
    daily = job(at="03:00")._replace(argv=argv, name="cmem-compress-99999999")
    for name, text in (*systemd.files(often).items(), *systemd.files(daily).items()):
        (tmp_path / name).write_text(text, encoding="utf-8")
    units = sorted(str(path) for path in tmp_path.glob("cmem-*"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", "--recursive-errors=no", *units],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")


# --- launchd -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("every", "at", "key", "value"),
    [
        ("15m", None, "StartInterval", 900),
        ("90m", None, "StartInterval", 5400),
        (None, "03:07", "StartCalendarInterval", {"Hour": 3, "Minute": 7}),
    ],
)
def test_the_property_list_of_launchd(
    every: str | None, at: str | None, key: str, value: object
) -> None:
    what = job(AWKWARD + " <&>", every, at)
    files = launchd.files(what)
    assert list(files) == ["cmem-compress-1234abcd.plist"]
    assert plistlib.loads(files["cmem-compress-1234abcd.plist"].encode()) == {
        "Label": "cmem-compress-1234abcd",
        "ProgramArguments": list(what.argv),
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
        key: value,
    }


def test_when_says_minutes_or_a_time() -> None:
    assert (When(15, 0, 0).words, When(0, 3, 7).words) == ("every 15 minutes", "at 03:07")
