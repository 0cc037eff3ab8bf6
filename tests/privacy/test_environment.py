"""The values of variables that are named like a secret go wherever they stand."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import secret_forms
from hookrun import everything, line, ready
from support import clean_env, payload_bytes, run_cmem, run_json

from cmem import detach, lock, paths
from cmem.privacy import environment, second, secret_names
from cmem.store import cleaning

DRAW = secret_forms.drawing(51)
PASSWORD = "zq" + "Dragon" + "fly/7"
KEY = secret_forms.key(DRAW)
MARK = "[REDACTED:known-value]"


@pytest.fixture(autouse=True)
def nothing_used() -> Iterator[None]:
    yield
    environment.use({})


CUT: dict[str, tuple[dict[str, str], str, str]] = {
    "password": ({"DB_PASSWORD": PASSWORD}, f"as {PASSWORD}!", f"as {MARK}!"),
    "in a url": ({"X_TOKEN": PASSWORD}, f"?a={PASSWORD.replace('/', '%2F')}&b", f"?a={MARK}&b"),
    "of a url": ({"DATABASE_URL": "db://u:" + "a1B2c3D4" + "@h/x"}, "x a1B2c3D4 y", f"x {MARK} y"),
    "key": ({"STRIPE_KEY": KEY}, f"got {KEY}", f"got {MARK}"),
    "short key": ({"STRIPE_KEY": KEY[:16]}, f"got {KEY[:16]}", f"got {MARK}"),
    "salt": ({"SALT": KEY[:10] + "1"}, f"got {KEY[:10]}1", f"got {MARK}"),
    "within another": ({"A_TOKEN": KEY[:12] + "9", "B_TOKEN": KEY[:12] + "9zz"}, f"{KEY[:12]}9zz", MARK),
    "handed on": ({"CMEM_KNOWN": f"A_SECRET={PASSWORD}\x1fB=x"}, f"{PASSWORD}, x", f"{MARK}, x"),
    "hidden": ({"DB_PASSWORD": PASSWORD}, f"as {PASSWORD[:5]}\u200b{PASSWORD[5:]}", f"as {MARK}"),
}  # fmt: skip


@pytest.mark.parametrize("name", CUT)
def test_value_goes(name: str) -> None:
    env, text, expected = CUT[name]
    assert second.scrub(text) != expected
    environment.use(env)
    assert second.scrub(text) == expected
    assert second.scrub(expected) == expected
    assert second.scrub_document({"a": [text]}) == {"a": [expected]}
    assert cleaning.line(text) == expected


def test_value_that_may_as_well_be_a_word_stays() -> None:
    env = {
        "DB_PASSWORD": "postgres",
        "PASSWORD": "a1B2c3",
        "API_TOKEN": "changeme",
        "X_SECRET": "correct-horse-battery",
        "SSH_AUTH_SOCK": "/run/user/1000/agent.1",
        "KEY_TOKEN": "/run/secrets/token1",
        "MAX_TOKENS": "32000x64000",
        "GPG_KEY": "7169605F62C751356D054A26A821E680E5FA6305",
        "PWD": "/home/me/project1",
        "OTHER": PASSWORD,
        "MARK_SECRET": "known-value]",
        "HTTP_PROXY": "http://127.0.0.1:8080",
    }
    assert environment.values(env) == ()
    environment.use(env)
    text = " ".join(env.values())
    assert second.scrub(text) == text


def test_what_a_hook_hands_on_is_what_may_be_a_secret() -> None:
    env = {"PATH": "/usr/bin", "MY_PASSWORD": PASSWORD, "A_URL": "db://u:p@h", "EDITOR": "vi -u none", "X_KEY": "short"}  # fmt: skip
    made = detach.clean_env(env | {"CMEM_KNOWN": "theirs"})
    assert made == {
        "PATH": "/usr/bin",
        "CMEM_KNOWN": f"MY_PASSWORD={PASSWORD}\x1fA_URL=db://u:p@h",
        "CMEM_STARTED_BY": "hook",
    }
    assert environment.values(made) == environment.values(env)
    many = {f"TOKEN_{n}": "x" * 512 for n in range(10_000)}
    assert len(detach.clean_env(many)["CMEM_KNOWN"]) < 64_000


def test_every_name_of_a_secret_is_handed_on() -> None:
    for word in sorted({*secret_names._PASSWORDS, *secret_names._SECRETS, *secret_names._KEYS}):
        assert "CMEM_KNOWN" in detach.clean_env({f"X_{word.upper()}": PASSWORD}), word


def _said(text: str) -> bytes:
    document = {
        "session_id": "s1",
        "cwd": "/nowhere",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_use_id": "t1",
        "tool_input": {"command": "run"},
        "tool_response": {"stdout": text},
    }
    return payload_bytes(document)


def _fire(home: Path, event: str, raw: bytes, **env: str) -> None:
    argv = ["/bin/sh", "-c", line(home, event)]
    subprocess.run(argv, input=raw, env=clean_env(**env), check=True, timeout=30)


def test_run_of_a_person_cuts_what_its_own_environment_gives_away(home: Path) -> None:
    _fire(ready(home), "PostToolUse", _said(f"as {PASSWORD}!"), CMEM_AUTO_COMPRESS="0")
    assert run_json("compress", CMEM_PROVIDER="extract", DB_PASSWORD=PASSWORD)["ingested"] == 1
    assert PASSWORD.encode() not in everything(home)
    assert MARK.encode() in run_cmem("raw", "T1").stdout


def test_run_that_a_hook_started_cuts_what_the_hooks_environment_gives_away(home: Path) -> None:
    _fire(ready(home), "PostToolUse", _said(f"as {PASSWORD}!"), DB_PASSWORD=PASSWORD)
    fd = lock.acquire(paths.lock_file(str(home)), wait_ms=30_000)
    assert fd is not None
    lock.release(fd)
    assert MARK.encode() in run_cmem("raw", "T1").stdout
    assert PASSWORD.encode() not in everything(home)
