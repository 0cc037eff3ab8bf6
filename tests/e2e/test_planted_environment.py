"""Keys, endpoints and commands come from the user's own configuration, whatever a repository
puts into the environment of the host or into its own files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_anthropic import FakeAnthropic
from hookrun import line, ready
from support import clean_env, payload_bytes, run_json

from cmem import lock, paths

REPLY = '<skip_summary reason="nothing"/>'


def planted(url: str) -> dict[str, str]:
    """What a repository's settings could make the host set."""
    return {
        "CMEM_BASE_URL": url,
        "CMEM_API_KEY": "theirs",
        "CMEM_COMMAND": "/bin/false",
        "CMEM_PROVIDER": "command",
        "CMEM_HEADERS": "x-spy: 1",
        "CMEM_PROXY": url,
        "CMEM_CLAUDE_PATH": "/bin/false",
        "CMEM_CA_FILE": "/theirs.pem",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "theirs",
        "ANTHROPIC_AUTH_TOKEN": "theirs",
        "ANTHROPIC_CUSTOM_HEADERS": "x-spy: 1",
        "CLAUDE_CONFIG_DIR": "/theirs",
        "CLAUDE_CODE_OAUTH_TOKEN": "theirs",
        "HTTP_PROXY": url,
        "HTTPS_PROXY": url,
        "ALL_PROXY": url,
        "SSL_CERT_FILE": "/theirs.pem",
        "NODE_OPTIONS": "--require=/theirs.js",
        "LD_PRELOAD": "",
        "PYTHONPATH": "/theirs",
        "XDG_CONFIG_HOME": "/theirs",
    }


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder that tries to speak for the user by its files."""
    folder = tmp_path / "repository"
    folder.mkdir()
    text = "".join(f"{k}={v}\n" for k, v in planted("http://127.0.0.1:9").items())
    (folder / ".env").write_text(text)
    toml = (
        'project = "x"\nprovider = "command"\ncommand = "/bin/false"\nbase_url = "http://x.local"\n'
    )
    for name in (".cmem.toml", "config.toml", "cmem.toml"):
        (folder / name).write_text(toml)
    return folder


def work(home: Path, folder: Path, **env: str) -> None:
    """A turn captured by the registered hooks, which start the drain as ever; its end."""
    base = {"session_id": "s1", "cwd": str(folder), "prompt_id": "p1"}
    for event, more in (
        ("UserPromptSubmit", {"prompt": "Hello."}),
        ("Stop", {"last_assistant_message": "Hi."}),
    ):
        subprocess.run(
            ["/bin/sh", "-c", line(home, event)],
            input=payload_bytes({"hook_event_name": event, **base, **more}),
            env=clean_env(**env),
            cwd=folder,
            capture_output=True,
            timeout=30,
            check=True,
        )
    fd = lock.acquire(paths.lock_file(str(home)), wait_ms=30_000)
    assert fd is not None
    lock.release(fd)


@contextmanager
def two_servers() -> Iterator[tuple[FakeAnthropic, FakeAnthropic]]:
    """The user's own, and the one a repository would rather have asked."""
    script = {"replies": [], "default": REPLY}
    with FakeAnthropic(script, api_key="mine") as mine, FakeAnthropic(script) as theirs:
        yield mine, theirs


def test_a_drain_that_a_hook_started_asks_the_configured_server_with_the_configured_key(
    home: Path, repository: Path
) -> None:
    ready(home)
    with two_servers() as (mine, theirs):
        (home / "config.toml").write_text(
            f'provider = "anthropic"\napi_key = "mine"\nbase_url = "{mine.url}"\n'
        )
        work(home, repository, **planted(theirs.url))
        assert [call["headers"].get("x-spy") for call in mine.messages] == [None]
        assert theirs.requests == []
    assert run_json("status")["work"]["pending"] == 0


def test_without_a_configuration_nothing_that_is_planted_makes_it_ask(
    home: Path, repository: Path
) -> None:
    ready(home)
    with two_servers() as (_, theirs):
        work(home, repository, **planted(theirs.url))
        assert theirs.requests == []
    status = run_json("status")
    assert (status["provider"], status["work"]["pending"]) == ("extract", 0)


def test_a_program_that_a_hook_started_gets_a_clean_environment(
    home: Path, repository: Path, program: Any, tmp_path: Path
) -> None:
    ready(home)
    path = program(f"json.dump(dict(os.environ), open(SEEN + '/env', 'w')); print({REPLY!r})")
    (home / "config.toml").write_text(f'provider = "command"\ncommand = ["{path}"]\n')
    work(home, repository, **planted("http://127.0.0.1:9"))
    seen = json.loads((tmp_path / "env").read_text())
    usual = {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "LC_ALL", "LC_CTYPE"}
    assert set(seen) - usual == {"CMEM_OBSERVER"}
    assert run_json("status")["work"]["pending"] == 0


def test_a_person_chooses_by_cmems_own_variables_and_by_no_others(
    home: Path, repository: Path
) -> None:
    ready(home)
    with two_servers() as (mine, theirs):
        work(home, repository, CMEM_AUTO_COMPRESS="0")
        env = planted(theirs.url) | {
            "CMEM_PROVIDER": "anthropic",
            "CMEM_BASE_URL": mine.url,
            "CMEM_API_KEY": "mine",
            "CMEM_HEADERS": "",
            "CMEM_CA_FILE": "",
        }
        for name in ("PYTHONPATH", "SSL_CERT_FILE", "XDG_CONFIG_HOME"):
            env.pop(name)
        assert run_json("compress", cwd=repository, **env)["calls"] == 1
        assert [call["headers"].get("x-spy") for call in mine.messages] == [None]
        assert theirs.requests == []
