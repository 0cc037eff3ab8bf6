"""``cmem compress --imported`` as a person and a script run it: imported transcripts, and a model's
server on loopback."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_anthropic import FakeAnthropic
from support import FIXTURES, ROOT, clean_env, run_cmem, run_json
from transcribed import imported

from cmem.anew import Report
from cmem.cli import anew

SAMPLES = FIXTURES / "transcripts" / "claude-code"
RECORD = """<observation><type>bugfix</type><title>The retry limit is three</title>
<narrative>The deploy gave up before the server was up.</narrative></observation>"""
SUMMARY = """<summary><request>Take a step</request><investigated></investigated><learned></learned>
<completed>the step is taken</completed><next_steps></next_steps></summary>"""
SCRIPT: dict[str, Any] = {
    "replies": [],
    "default": RECORD,
    "rules": [{"match": {"last": "Summarise"}, "reply": SUMMARY}],
}
IMPORTED = ("compress", "--imported")


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("brought") / "home"
    home.mkdir(mode=0o700)
    assert imported(home, SAMPLES).sessions == 4
    return home


@pytest.fixture
def past(brought: Path, tmp_path: Path) -> Path:
    """Four sessions with sixteen turns and summaries."""
    return Path(shutil.copytree(brought, tmp_path / "home"))


def env(api: FakeAnthropic) -> dict[str, str]:
    return {"CMEM_PROVIDER": "anthropic", "CMEM_BASE_URL": api.url, "CMEM_API_KEY": "dummy"}


def test_it_asks_what_it_said_it_would_once_and_can_be_taken_back(past: Path) -> None:
    with FakeAnthropic(SCRIPT) as api:
        found = run_json(*IMPORTED, "--dry-run", **env(api))
        assert api.messages == []
        done = run_cmem(*IMPORTED, **env(api))
        assert (done.returncode, api.messages) == (1, [])
        assert done.stderr.startswith(b"cmem: nothing was asked: that would be about 16 calls with")
        small = {"CMEM_DAILY_TOKENS": "1000"}
        done = run_cmem(*IMPORTED, "--yes", "--budget", "none", **env(api), **small)
        assert (done.returncode, done.stderr) == (0, b"")
        assert len(api.messages) == found["calls"] == 16
        assert run_cmem(*IMPORTED, **env(api)).stdout == (
            b"Nothing to observe again; 16 imported places by anthropic claude-haiku-4-5 already.\n"
        )
    assert (found["places"], found["sessions"], found["now"], found["left"]) == (16, 4, 16, 0)
    lines = done.stdout.decode().split("\n")
    assert lines[0] == (
        "4 imported sessions: 16 turns and summaries to observe again with anthropic "
        "claude-haiku-4-5."
    )
    assert lines[1].startswith("About 16 calls with ")
    assert lines[2].startswith("4 imported sessions: anthropic observed 16 of 16 places anew: ")
    assert lines[3].startswith("16 calls: ")
    assert lines[4] == (
        "`cmem recompress N4 --undo` takes one of these sessions back (`cmem session list`)."
    )
    assert lines[5].startswith("It counts for today: daily budget of 1,000 tokens reached (")
    assert lines[5].endswith("waits until midnight, `cmem compress --budget none` goes on now.")
    assert lines[6:] == [""]
    back = run_json("recompress", "N1", "--undo")["undone"]
    assert back > 0
    with FakeAnthropic(SCRIPT) as api:
        assert run_cmem(*IMPORTED, **env(api)).stdout.decode() == (
            f"Nothing to observe again; of 16 imported places {16 - back} by anthropic "
            f"claude-haiku-4-5 already, {back} made on another machine or taken back.\n"
        )


def test_a_budget_of_money_is_kept_and_a_killed_run_goes_on(past: Path) -> None:
    with FakeAnthropic(SCRIPT) as api:
        report = run_json(*IMPORTED, "--yes", "--budget", "$0.02", **env(api))
        first = len(api.messages)
        assert 0 < report["microusd"] <= 20_000
        assert report["reason"].startswith("this run's budget of $0.0200 leaves no room")
        assert (report["calls"], report["left"]) == (first, 16 - first)
        more = run_json(*IMPORTED, "--dry-run", "--budget", "0.02", **env(api))
        assert (more["done"], more["now"] > 0) == (first, True)
        kill = {"CMEM_TEST": "1", "CMEM_FAILPOINT": "again_after_commit@2=kill"}
        assert run_cmem(*IMPORTED, "--yes", **env(api), **kill).returncode != 0
        assert len(api.messages) == first + 2
        assert run_json(*IMPORTED, "--yes", **env(api))["left"] == 0
        assert len(api.messages) == 16


def test_a_provider_that_is_down_is_no_error_and_the_same_command_goes_on(past: Path) -> None:
    with FakeAnthropic({"replies": [RECORD], "default": {"status": 401}}) as api:
        done = run_cmem(*IMPORTED, "--yes", "--since", "2020-01-01", **env(api))
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().split("\n")
    assert lines[4].startswith("Stopped: auth: 401")
    assert lines[5] == "Left: 15; the same command goes on there."


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--imported", "--session", "N1"), 2, "`cmem recompress N4` does one"),
        (("--imported", "--batch"), 2, "--imported has no --batch: each reply takes the place"),
        (("--imported", "--open"), 2, "--imported has no --open"),
        (("--imported", "--max-calls", "0"), 2, "--max-calls must be at least 1"),
        (("--imported", "--budget", "lots"), 2, "cannot read --budget 'lots'"),
        (("--imported", "--project", "nobody"), 1, "no such project: nobody"),
        (("--since", "90d"), 2, "--since goes with --imported"),
        (("--project", "calc"), 2, "--project goes with --imported"),
        (("--yes",), 2, "--yes goes with --imported"),
        (("--imported",), 0, "Nothing to observe again: 16 imported places by extract already."),
        (
            ("--imported", "--since", "2030-01-01"),
            0,
            "no session of that kind came in by an import",
        ),
    ],
)
def test_what_has_no_effect_says_so(
    words: tuple[str, ...], code: int, said: str, past: Path
) -> None:
    done = run_cmem("compress", *words)
    assert (done.returncode, done.stdout == b"") == (code, code != 0)
    assert said in (done.stdout if code == 0 else done.stderr).decode()


def test_nothing_imported_is_said_too(home: Path) -> None:
    assert run_cmem(*IMPORTED).stderr == (
        b"cmem: no memories yet, so there is nothing to observe again\n"
    )
    run_json("compress")
    assert run_cmem(*IMPORTED).stdout.startswith(b"Nothing to observe again: no session of that")


def test_an_import_ends_with_the_command_and_what_it_would_take(home: Path, tmp_path: Path) -> None:
    samples = tmp_path / "samples"
    shutil.copytree(SAMPLES, samples)
    for file in samples.rglob("*"):  # a fresh checkout's look like those of running sessions
        os.utime(file, (1, 1))

    def last(place: Path, **env: str) -> str:
        place.mkdir(mode=0o700, exist_ok=True)
        done = run_cmem("import", "claude-code", str(samples), CMEM_HOME=str(place), **env)
        return done.stdout.decode().split("\n")[-2]

    unknown = (
        "To have a model look at them too: `cmem compress --imported --provider NAME --dry-run` "
        "tells the price first."
    )
    assert last(home) == unknown
    assert last(home).startswith("Unchanged")
    assert last(tmp_path / "wrong", CMEM_PROVIDER="oracle") == unknown
    priced = last(tmp_path / "priced", CMEM_PROVIDER="anthropic")
    assert priced.startswith(
        "To have anthropic claude-haiku-4-5 look at them too, in about 16 calls with "
    )
    assert priced.endswith(": `cmem compress --imported`.")
    assert " tokens in, $0." in priced
    odd = last(tmp_path / "odd", CMEM_PROVIDER="command", CMEM_COMMAND="true")
    assert odd.startswith("To have command look at them too, in about 16 calls with ")
    assert "$" not in odd


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"\n", 1)], ids=["yes", "enter"])
def test_a_person_is_told_the_price_and_asked(answer: bytes, code: int, past: Path) -> None:
    (past / "model.sh").write_text(f"#!/bin/sh\ncat > /dev/null\necho '{RECORD}'\n")
    (past / "model.sh").chmod(0o700)
    chosen = {"CMEM_PROVIDER": "command", "CMEM_COMMAND": str(past / "model.sh")}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cmem", *IMPORTED, "--max-calls", "1"],
        env=clean_env(PYTHONPATH=str(ROOT), TERM="dumb", **chosen),
        cwd=os.environ["HOME"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(ours, 65536)
    os.write(ours, answer)
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == code
    assert b"Observe again: about 16 calls with " in seen
    lines = out.decode().split("\n")
    assert lines[0] == "4 imported sessions: 16 turns and summaries to observe again with command."
    assert lines[2] == ("Now 1 call of them; 15 places would wait: at most 1 call in one run.")
    assert (len(lines) > 4) == (code == 0)
    if code == 0:
        assert lines[3].startswith("4 imported sessions: command observed 1 of 16 places anew: ")
        assert lines[5:7] == [
            "Stopped: at most 1 call in one run",
            "Left: 15; the same command goes on there.",
        ]


@pytest.mark.parametrize(
    ("done", "microusd", "seconds", "said"),
    [
        (0, 0, 5.0, ""),
        (1, 12_300, 0.5, "$0.0123"),
        (6, 123_000, 60.0, "$0.12  6 a minute  9 min left"),
        (50, 123_000, 10.0, "$0.12  300 a minute  2 s left"),
    ],
)
def test_the_pace_tells_money_rate_and_time(
    done: int, microusd: int, seconds: float, said: str
) -> None:
    report = Report("p", 60, *(0,) * 5, done, *(0,) * 2, microusd, 0, left=60 - done, reason="")
    assert anew.pace(report, seconds) == said


def test_what_was_passed_over_is_named_and_not_promised() -> None:
    large = tuple(f"N{number} turn 1 (about $0.61)" for number in range(1, 8))
    report = Report("p", 9, 1, *(0,) * 9, left=8, reason="", too_long=1, over=large)
    assert [*anew.told(report, "2 imported sessions")][1:] == [
        "Left as they were too: 1 place, more than the model takes, also in pieces; "
        "`cmem recompress N4` asks about a session again.",
        "Passed over, because each alone takes more than the budget: N1 turn 1 (about $0.61), "
        "N2 turn 1 (about $0.61), N3 turn 1 (about $0.61), N4 turn 1 (about $0.61), "
        "N5 turn 1 (about $0.61) and 2 more; a greater --budget does them too.",
        "Left: 1; the same command goes on there.",
    ]
