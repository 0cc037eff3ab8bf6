from __future__ import annotations

import json
from pathlib import Path

from support import run_cmem, run_json

from cmem.cli import sync as command
from cmem.sync.folder import Trouble
from cmem.sync.run import Report

DONE = Report(
    folder="/sync",
    machine="0123abcd",
    changed=5,
    told=4,
    taken={"gone": 2, "mark": 1, "observation": 1200},
    machines=2,
    waiting=3,
    bad=1,
    troubles=(Trouble("/sync/x", 7, "not JSON"),),
    warnings=(),
    dry_run=False,
)


def test_the_report_is_told_in_words() -> None:
    told = "2 things forgotten or brought back, 1 other decision, 1,200 observations"
    assert list(command.told(DONE)) == [
        f"Told 4 news, took in {told} of 2 other machines.",
        "Waiting for what is not in the folder yet: 3 records; a later sync takes it in.",
        "Could not be read: 1 line; tried again next time.",
    ]
    quiet = DONE._replace(taken={}, machines=1, waiting=0, bad=0, dry_run=True)
    assert list(command.told(quiet)) == [
        "Would tell 5 news, would take in none of 1 other machine."
    ]


def test_a_note_reaches_another_home_and_status_says_so(home: Path, tmp_path: Path) -> None:
    folder, other = tmp_path / "folder", str(tmp_path / "other")
    folder.mkdir()
    (home / "config.toml").write_text(f'sync_dir = "{folder}"\nsync_auto = true\n')
    assert run_cmem("note", "the cache is in /tmp/cache").returncode == 0
    assert run_json("status")["sync"] is None
    assert run_cmem("compress").returncode == 0  # syncs at its end
    done = run_json("sync", str(folder), CMEM_HOME=other)
    assert (done["taken"]["observation"], done["machines"], done["bad"]) == (1, 1, 0)
    found = run_json("search", "cache", "--all", CMEM_HOME=other)
    assert [hit["title"] for hit in found["hits"]] == ["the cache is in /tmp/cache"]
    told = run_json("status")["sync"]
    assert (told["folder"], told["machines"]) == (str(folder), 0)
    doctor = json.loads(run_cmem("doctor", "--json").stdout)
    assert [one["level"] for one in doctor["findings"] if one["name"] == "sync"] == ["ok"]


def test_what_cannot_be_synced_with_is_told_in_a_line(home: Path, tmp_path: Path) -> None:
    for words, told in (
        ((), b"cmem: name the folder: `cmem sync DIR`, or sync_dir in config.toml\n"),
        ((str(tmp_path / "none"),), b"make it, or wait until it is mounted\n"),
    ):
        done = run_cmem("sync", *words)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.endswith(told)
