"""A fault in a file of the user's own stops no run that asks nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import payload_bytes, run_cmem, run_hook, run_json

from cmem import compress, configured, lock, paths
from cmem.errors import ConfigError

# name → (file, its text, what a run without a model says of it)
FAULTS = {
    "no toml": ("config.toml", "model = \n", "could not read settings: config.toml: invalid value"),
    "a wrong value": (
        "config.toml",
        'model = "x"\ntimeout_s = "soon"\n',
        "could not read settings: config.toml: timeout_s: must be a whole number; until",
    ),
    "an unknown name": ("config.toml", "tiemout = 1\n", "config.toml: tiemout: no such setting"),
    "a mode that is not there": ("config.toml", 'mode = "novel"\n', "unknown mode: novel; known"),
    "a broken mode": (
        "modes/novel.toml",
        'inherits = "write"\n',
        "novel.toml:1: inherits: unknown mode: write; did you mean writing?",
    ),
    "prices": ("prices.toml", "[models.x]\ninput = 1\n", "prices.toml: x: give input and output"),
    "prices that are no toml": ("prices.toml", "[", "prices.toml: "),
}


def fault(home: Path, name: str, more: str = "") -> str:
    file, text, said = FAULTS[name]
    if name == "a broken mode":
        (home / "config.toml").write_text(f'mode = "novel"\n{more}')
    elif file != "config.toml" and more:
        (home / "config.toml").write_text(more)
    (home / file).parent.mkdir(exist_ok=True)
    (home / file).write_text((more if file == "config.toml" else "") + text)
    return said


def load(home: Path) -> tuple[compress.Report, tuple[str, ...]]:
    chosen, faults = configured.load(str(home), env={}, flags={}, trusted_env=False)
    report = compress.compress(str(home), chosen, compress.Options(faults=faults))
    return report, report.warnings


@pytest.mark.parametrize("name", FAULTS)
def test_without_a_model_the_fault_is_told_and_the_work_done(home: Path, name: str) -> None:
    said = fault(home, name)
    report, warnings = load(home)
    assert (report.provider, len(warnings), said in warnings[0]) == ("extract", 1, True)


@pytest.mark.parametrize("name", FAULTS)
def test_with_a_model_the_fault_ends_the_run(home: Path, name: str) -> None:
    fault(home, name, 'provider = "command"\ncommand = "true"\n')
    with pytest.raises(ConfigError):
        load(home)


@pytest.mark.parametrize("text", ["provider = 3\n", 'provider = ["extract"\n', "\0"])
def test_where_the_provider_is_not_known_nothing_is_assumed(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text)
    with pytest.raises(ConfigError):
        load(home)


def test_what_an_unreadable_file_could_have_switched_is_not_done(home: Path) -> None:
    (home / "config.toml").write_text("keep_raw_days = \n")
    report, _ = load(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compress.retention, "prune_slice", None)
        patch.setattr(compress.backup, "daily", None)
        again, _ = load(home)
    assert again == report


def test_a_wrong_flag_or_variable_is_a_fault_still(home: Path) -> None:
    for env, flags in ({"CMEM_TIMEOUT_S": "soon"}, {}), ({}, {"timeout_s": "soon"}):
        with pytest.raises(ConfigError, match="must be a whole number, not 'soon'"):
            configured.load(str(home), env=env, flags=flags, trusted_env=True)


def test_both_ways_of_running_go_on_and_say_so(home: Path) -> None:
    stop = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "hello"}
    said = fault(home, "a wrong value")
    run_hook(home, "UserPromptSubmit", payload_bytes(stop))
    done = run_cmem("compress")
    assert (done.returncode, said in done.stderr.decode()) == (0, True)
    assert b"Ingested 1 event; extract made" in done.stdout
    run_hook(home, "UserPromptSubmit", payload_bytes({**stop, "prompt": "again"}))
    fd = lock.acquire(paths.lock_file(str(home)))
    compress.main_background(str(home), fd)
    first, second = (home / "compress.log").read_text().splitlines()
    assert (" run: extract: 1 events in" in first, f" compress: {said}" in second) == (True, True)
    (home / "config.toml").unlink()
    assert run_json("status")["counts"]["prompts"] == 2
