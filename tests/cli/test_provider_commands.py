"""``cmem provider``: list, show, test and use, as processes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import seeding
from fake_anthropic import FakeAnthropic
from support import run_cmem, run_json

from cmem import booking, breaker, lock, paths, settings
from cmem.cli import provider as commands
from cmem.errors import BusyError
from cmem.install import provider
from cmem.store import connection, ledger, pause

NAMES = ["extract", "claude-cli", "anthropic", "command"]


@pytest.fixture
def config(home: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = home / "config.toml"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        return path

    return write


def words(*args: str, stdin: bytes = b"", **env: str) -> tuple[int, str, str]:
    done = run_cmem("provider", *args, stdin=stdin, **env)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


# --- list and show -------------------------------------------------------------------


def test_list_says_what_each_costs_and_where_text_goes(home: Path, config: Any) -> None:
    config('provider = "anthropic"\nbase_url = "https://gate.example/v1"\n')
    found = run_json("provider", "list")
    assert found["provider"] == "anthropic"
    assert [one["name"] for one in found["providers"]] == NAMES
    assert [one["chosen"] for one in found["providers"]] == [False, False, True, False]
    assert [one["paid"] for one in found["providers"]] == [False, True, True, True]
    extract, _, anthropic, command = found["providers"]
    assert (extract["price"], extract["where"]) == ("nothing", "nothing leaves this machine")
    assert anthropic["price"] == "what gate.example asks for it"
    assert anthropic["where"] == "each turn goes to gate.example, with your key"
    assert anthropic["lacks"] == "a key: the setting api_key"
    assert command["lacks"] == "a program: the setting command"
    code, out, err = words("list")
    assert (code, err) == (0, "")
    assert out.split("\n")[:3] == [
        "  extract: rules on this machine, without any model",
        "    price:      nothing",
        "    text:       nothing leaves this machine",
    ]
    assert "\n* anthropic: " in out


def test_the_price_is_that_of_the_model(home: Path, config: Any) -> None:
    config('model = "claude-opus-4-5"\n')
    prices = {one["name"]: one["price"] for one in run_json("provider", "list")["providers"]}
    assert prices["anthropic"] == ("$5 in and $25 out per million tokens, about 4.5 cents a turn")


def test_show_tells_of_a_pause(home: Path, config: Any) -> None:
    path = config('provider = "anthropic"\napi_key = "k"\n')
    until = time.time_ns() // 1_000_000 + 60_000
    own = settings.load(str(home), env={}, flags={}, trusted_env=False)
    arm(home, until, breaker.fingerprint(own))
    found = run_json("provider", "show")
    assert (found["name"], found["config"]) == ("anthropic", str(path))
    assert found["paused"] == {"reason": "auth: 401", "until": until}
    assert "auth: 401" in words("show")[1]
    assert run_json("provider", "show", "extract")["paused"] is None


def arm(home: Path, until: int, mark: str, *, waiting: bool = False) -> None:
    conn = connection.open_writer(str(home), now=0)
    pause.arm(conn, reason="auth: 401", until=until, step=0, fingerprint=mark)
    if waiting:
        seeding.add_unit(conn, seeding.add_turn(conn, seeding.add_session(conn)))
        conn.execute("UPDATE work_units SET created_at = ?", (until - 120_000,))
    conn.close()


@pytest.mark.parametrize(
    ("after_ms", "changed", "health"),
    [
        (60_000, "", "paused until "),
        (60_000, 'api_key = "another"\n', "ok"),
        (60_000, 'provider = "extract"\n', "ok"),
        (-60_000, "", "the provider has not answered since its last trouble: 1 waiting: auth: 401"),
    ],
    ids=["holds", "another key", "another provider", "over, nobody was asked"],
)
@pytest.mark.usefixtures("plugged")
def test_status_tells_of_a_trouble_of_these_settings_alone(
    after_ms: int, changed: str, health: str, home: Path, config: Any
) -> None:
    config('provider = "anthropic"\napi_key = "k"\n')
    own = settings.load(str(home), env={}, flags={}, trusted_env=False)
    until = time.time_ns() // 1_000_000 + after_ms
    arm(home, until, breaker.fingerprint(own), waiting=True)
    if changed:
        rest = 'provider = "anthropic"\n' if changed.startswith("api_key") else 'api_key = "k"\n'
        config(rest + changed)
    assert run_json("status")["health"].startswith(health)
    assert (run_json("provider", "show")["paused"] is None) is (health[:6] != "paused")


def test_a_variable_of_this_shell_is_not_the_choice(home: Path) -> None:
    assert run_json("provider", "list", CMEM_PROVIDER="anthropic")["provider"] == "extract"
    out = words("show", CMEM_PROVIDER="anthropic")[1]
    assert "anthropic, for commands typed in this shell only" in out


@pytest.mark.parametrize("command", ["show", "test", "use"])
def test_unknown_names_are_a_usage_error(command: str, home: Path) -> None:
    code, out, err = words(command, "gpt")
    assert (code, out) == (2, "")
    assert err == f"cmem: no such provider: gpt; known: {', '.join(NAMES)}\n"


# --- test ----------------------------------------------------------------------------


def test_an_answer_comes_with_what_it_took(home: Path, config: Any) -> None:
    usage = {"input_tokens": 30, "output_tokens": 4}
    with FakeAnthropic([{"text": "ready", "usage": usage}], api_key="mine") as api:
        config(f'provider = "anthropic"\napi_key = "mine"\nbase_url = "{api.url}"\n')
        done = run_cmem("provider", "test", "--json")
        assert len(api.messages) == 1
    assert done.returncode == 0
    assert done.stderr == (
        b"cmem: asking anthropic once, a small question; price: what 127.0.0.1 asks for it\n"
    )
    found = json.loads(done.stdout)
    assert found.pop("seconds") >= 0
    assert found == {
        "provider": "anthropic",
        "ok": True,
        "kind": "ok",
        "detail": "ready",
        "fix": "",
        "model": "claude-haiku-4-5",
        "input_tokens": 30,
        "output_tokens": 4,
        "cost_usd": 0.00005,
        "asked": True,
    }


def test_every_question_is_in_the_ledger(home: Path, config: Any) -> None:
    usage = {"input_tokens": 30, "output_tokens": 4}
    replies = [{"text": "ready", "usage": usage}, {"status": 401}]
    with FakeAnthropic(replies, api_key="mine") as api:
        config(f'provider = "anthropic"\napi_key = "mine"\nbase_url = "{api.url}"\n')
        assert [run_cmem("provider", "test").returncode for _ in replies] == [0, 1]
    config('provider = "command"\ncommand = "/nowhere/program"\n')
    assert run_cmem("provider", "test").returncode == 1  # nobody was asked
    config('provider = "anthropic"\napi_key = "mine"\nbase_url = "http://127.0.0.1:9/?x=1"\n')
    assert words("test")[:2] == (
        1,
        "anthropic failed: config: base_url http://127.0.0.1:9/?x=1 must end with its path, without "
        "? and #\nWhat helps: correct what is named in config.toml (`cmem provider show` says where "
        "it is)\n",
    )
    cost = run_json("cost", "--by", "project")
    (row,) = cost["rows"]
    assert (row["project"], row["calls"], row["failed"], row["cost_usd"]) == (
        *("(provider test)", 2, 1),
        0.00005,
    )
    assert cost["today"]["calls"] == 2
    assert run_json("status")["spend_today"] == {"tokens": 34, "usd": 0.00005}


def test_a_question_that_was_cut_off_counts_by_its_estimate(home: Path) -> None:
    chosen = settings.load(
        str(home), env={}, flags={"provider": "claude-cli", "claude_path": "/bin/true"},
        trusted_env=True,
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt), booking.booked(str(home), chosen, env={}, now=5):
        raise KeyboardInterrupt
    conn = connection.open_writer(str(home), now=6)
    (call,) = ledger.calls(conn, since=0)
    assert (call.outcome, call.provider, call.model) == ("started", "claude-cli", "haiku")
    assert ledger.spent(conn, since=0).tokens == call.input_tokens + call.output_tokens > 20
    assert call.microusd == call.input_tokens + 5 * call.output_tokens
    conn.close()


def test_a_failure_is_told_with_its_class_and_what_helps(home: Path, config: Any) -> None:
    with FakeAnthropic([{"status": 401}, {"status": 401}]) as api:
        config(f'provider = "anthropic"\napi_key = "mine"\nbase_url = "{api.url}"\n')
        done = run_cmem("provider", "test", "--json")
        found = json.loads(done.stdout)
        code, out, _ = words("test")
    assert (done.returncode, found["ok"], found["kind"]) == (1, False, "auth")
    assert code == 1
    assert out.split("\n")[:2] == [
        f"anthropic failed: auth: {found['detail']}",
        f"What helps: {found['fix']}",
    ]


def test_without_a_key_nobody_is_asked(home: Path) -> None:
    code, out, _ = words("test", "anthropic")
    assert code == 1
    assert out.startswith("anthropic failed: missing: no api_key for provider anthropic")


def test_rules_need_no_question(home: Path) -> None:
    assert words("test") == (
        0,
        "extract works by rules on this machine; there is nobody to ask.\n",
        "",
    )


def test_an_answer_ends_the_pause_of_these_settings_and_no_other(home: Path, config: Any) -> None:
    config('provider = "command"\ncommand = "echo ready"\n')
    own = settings.load(str(home), env={}, flags={}, trusted_env=False)

    def armed(fingerprint: str) -> pause.Pause | None:
        conn = connection.open_writer(str(home), now=0)
        pause.arm(conn, reason="x", until=2**52, step=3, fingerprint=fingerprint)
        conn.close()
        assert words("test")[0] == 0
        conn = connection.open_writer(str(home), now=0)
        try:
            return pause.get(conn)
        finally:
            conn.close()

    assert armed("another") is not None
    assert armed(breaker.fingerprint(own)) is None


def test_test_refuses_inside_the_observer(home: Path) -> None:
    code, out, err = words("test", "command", CMEM_OBSERVER="1")
    assert (code, out) == (1, "") and "CMEM_OBSERVER" in err


def test_a_program_is_not_asked_while_a_run_is_asking(
    home: Path, config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config('provider = "command"\ncommand = "/bin/true"\n')
    monkeypatch.setattr(commands, "WAIT_MS", 0)
    held = lock.acquire(paths.lock_file(str(home)))
    assert held is not None
    with pytest.raises(BusyError, match="already"):
        commands.run_test({"name": None, "json": False})
    lock.release(held)


# --- use -----------------------------------------------------------------------------


def test_use_writes_the_choice_and_leaves_the_rest(home: Path, config: Any) -> None:
    path = config('# mine\nprovider = "extract"   # so far\nlanguage = "de"\n')
    code, out, err = words("use", "command", "--command", 'llm -m "a b" \\x', "--model", "q")
    assert (code, err) == (0, "")
    assert path.read_text() == (
        '# mine\nprovider = "command"   # so far\nlanguage = "de"\n'
        'model = "q"\ncommand = "llm -m \\"a b\\" \\\\x"\n'
    )
    assert out.split("\n")[0] == f"Wrote {path}."
    assert 'Provider: command, llm -m "a b" \\x, one call per turn.' in out


def test_use_without_a_file_makes_one_for_its_owner_alone(tmp_path: Path) -> None:
    found = run_json("provider", "use", "extract")
    path = tmp_path / "home" / "config.toml"
    assert found == {
        "provider": "extract",
        "before": "extract",
        "changed": True,
        "config": str(path),
        "dry_run": False,
        "lacks": None,
        "taken_out": {},
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run_json("provider", "use", "extract")["changed"] is False


def test_the_step_from_one_paid_provider_to_another_is_told(home: Path, config: Any) -> None:
    config('provider = "anthropic"\napi_key = "k"\n')
    assert words("use", "command", "--command", "cat")[1].split("\n")[1] == (
        "It was anthropic before."
    )


@pytest.mark.parametrize(
    ("before", "use", "model"),
    [
        ('provider = "claude-cli"\nmodel = "haiku"\n', "anthropic", ""),
        ('provider = "claude-cli"\nmodel = "claude-haiku-4-5"\n', "anthropic", "claude-haiku-4-5"),
        ('provider = "anthropic"\nmodel = "qwen3"\n', "claude-cli", ""),
        ('provider = "anthropic"\nmodel = "claude-opus-4-5"\n', "claude-cli", "claude-opus-4-5"),
        ('provider = "anthropic"\nmodel = "qwen3"\n', "command", ""),
        ('provider = "anthropic"\nmodel = "qwen3"\n', "anthropic", "qwen3"),
        ('provider = "anthropic"\nmodel = "qwen3"\n', "extract", "qwen3"),
        ('model = "qwen3"\n', "claude-cli", ""),
    ],
)
def test_a_model_goes_with_the_provider_it_was_set_for(
    home: Path, config: Any, before: str, use: str, model: str
) -> None:
    path = config(before + 'language = "de"\n')
    provider.choose(str(home), use)
    left = settings.read_document(str(home))
    assert (left["provider"], left.get("model", ""), left["language"]) == (use, model, "de")
    assert path.read_text().count("model") == bool(model)


def test_a_model_that_goes_is_told_and_another_may_be_named(home: Path, config: Any) -> None:
    config('provider = "claude-cli"\nmodel = "haiku"\n')
    assert words("use", "command", "--command", "cat")[1].split("\n")[1] == (
        "Took model = haiku out of config.toml: it was set for another provider. "
        "`cmem provider use command --model NAME` sets one."
    )
    config('provider = "claude-cli"\nmodel = "haiku"\n')
    used = run_json("provider", "use", "anthropic", "--model", "claude-x")
    assert (used["taken_out"], settings.read_document(str(home))["model"]) == ({}, "claude-x")


def test_a_key_comes_from_stdin_and_is_not_shown(home: Path, config: Any) -> None:
    path = config('provider = "extract"\napi_key = "older-key"\n')
    args = ("use", "anthropic", "--key-from-stdin")
    code, out, _ = words(*args, "--dry-run", stdin=b"newer-key\n")
    assert code == 0 and "older-key" not in out and "newer-key" not in out
    assert "+api_key = …" in out and "older-key" in path.read_text()
    code, out, _ = words(*args, stdin=b"newer-key\n")
    assert code == 0 and "newer-key" not in out
    assert path.read_text() == 'provider = "anthropic"\napi_key = "newer-key"\n'
    for wrong in (b"", b"one-key\nanother-key\n", b"two words\n"):
        code, out, err = words(*args, stdin=wrong)
        assert (code, out) == (2, "") and "standard input" in err
    assert path.read_text() == 'provider = "anthropic"\napi_key = "newer-key"\n'


def test_dry_run_shows_the_difference_and_changes_nothing(home: Path, config: Any) -> None:
    path = config('provider = "extract"\n')
    code, out, _ = words("use", "anthropic", "--dry-run")
    assert (code, out) == (
        0,
        f'--- {path}\n+++ {path}\n@@ -1 +1 @@\n-provider = "extract"\n+provider = "anthropic"\n',
    )
    assert path.read_text() == 'provider = "extract"\n'
    assert words("use", "extract", "--dry-run")[1] == "Nothing would change.\n"


def test_wrong_values_are_refused_before_anything_is_written(home: Path, config: Any) -> None:
    path = config("")
    for args, said in (
        (("use", "command", "--command", "llm 'x"), "cannot be split into words"),
        (("use", "anthropic", "--base-url", "http://8.8.8.8"), "must be https://"),
    ):
        code, out, err = words(*args)
        assert (code, out) == (78, "") and said in err
    assert path.read_text() == ""


def test_the_login_and_the_program_of_the_person_who_chooses_are_kept(
    home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "claude").write_text("#!/bin/sh\n")
    (folder / "claude").chmod(0o755)
    env = {"CLAUDE_CONFIG_DIR": "/work/claude", "PATH": f"{folder}:{os.environ['PATH']}"}
    assert words("use", "claude-cli", **env)[0] == 0
    assert (home / "config.toml").read_text() == (
        'provider = "claude-cli"\nclaude_config_dir = "/work/claude"\n'
        f'claude_path = "{folder}/claude"\n'
    )
    env["CLAUDE_CONFIG_DIR"] = "/other"
    assert run_json("provider", "use", "claude-cli", **env)["changed"] is False


def test_a_list_in_the_file_is_a_command_too(home: Path, config: Any) -> None:
    config('provider = "command"\ncommand = ["echo", "a b"]\n')
    assert run_json("provider", "test")["detail"] == "a b"


def test_a_closed_pipe_is_success(home: Path) -> None:
    line = f"{sys.executable} -m cmem provider list | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, cwd=Path(__file__).parents[2])
    assert (done.returncode, done.stderr) == (0, b"")
