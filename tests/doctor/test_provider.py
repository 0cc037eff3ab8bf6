"""What doctor says of the provider: as a run sees it that a hook has started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cmem import settings
from cmem.doctor import provider
from cmem.doctor.finding import Finding

CONFIG = "/home/dev/cmem/config.toml"


@pytest.fixture
def chosen() -> Any:
    def make(name: str, **flags: object) -> settings.Settings:
        given = {"provider": name} | {key: str(value) for key, value in flags.items()}
        return settings.load("/nowhere", env={}, flags=given, trusted_env=False)

    return make


@pytest.fixture
def claude(tmp_path: Path) -> Any:
    """A program that tells this version, or fails."""

    def make(said: str = "2.1.332 (Claude Code)", code: int = 0) -> Path:
        path = tmp_path / "claude"
        path.write_text(f"#!/bin/sh\necho '{said}'\nexit {code}\n")
        path.chmod(0o755)
        return path

    return make


def test_claude_code_with_its_version_and_login(chosen: Any, claude: Any) -> None:
    path = claude()
    assert provider.judge_provider(
        chosen("claude-cli", claude_path=path, claude_config_dir="/work"), {}, config=CONFIG
    ) == Finding("ok", "provider", f"claude-cli: {path} (2.1.332), with the login in /work")


@pytest.mark.parametrize(
    ("said", "told"),
    [("2.1.168 (Claude Code)", "2.1.168"), ("1.9", "1.9"), ("", "unknown"), ("v2.x", "v2.x")],
)
def test_claude_code_that_cannot_be_isolated_is_a_fault(
    said: str, told: str, chosen: Any, claude: Any
) -> None:
    path = claude(said)
    found = provider.judge_provider(chosen("claude-cli", claude_path=path), {}, config=CONFIG)
    assert found == Finding(
        "error",
        "provider",
        f"{path} is version {told}, claude-cli needs 2.1.169",
        "claude update",
    )


def test_claude_code_that_is_not_here(chosen: Any, tmp_path: Path) -> None:
    missing = chosen("claude-cli", claude_path=tmp_path / "none")
    assert provider.judge_provider(missing, {}, config=CONFIG) == Finding(
        "error",
        "provider",
        f"claude-cli lacks the program {tmp_path}/none in background runs, so turns wait",
        "`cmem provider use claude-cli` sets it up",
    )


@pytest.mark.parametrize(
    ("line", "level"),
    [("sh -c true", "ok"), ("/bin/sh", "ok"), ("no-such-program-here x", "error"), ("", "error")],
)
def test_a_command_that_can_be_found(line: str, level: str, chosen: Any) -> None:
    env = {"PATH": "/usr/bin:/bin"}
    found = provider.judge_provider(chosen("command", command=line), env, config=CONFIG)
    assert found.level == level


def environment(own: settings.Settings, **env: str) -> list[tuple[str, str]]:
    return [(one.level, one.detail) for one in provider.judge_environment(own, env)]


def test_variables_that_background_runs_do_not_take_are_told(chosen: Any) -> None:
    planted = {
        "CMEM_API_KEY": "k",
        "CMEM_COMMAND": "x",
        "CMEM_LANGUAGE": "de",
        "HTTPS_PROXY": "http://proxy:1",
        "SSL_CERT_FILE": "/x.pem",
        "ANTHROPIC_BASE_URL": "http://x",
        "ANTHROPIC_AUTH_TOKEN": "t",
        "CLAUDE_CONFIG_DIR": "/work",
    }
    ours = ("warn", "CMEM_API_KEY, CMEM_COMMAND: count for commands you type only")
    proxy = ("warn", "HTTPS_PROXY: background runs go without a proxy")
    said = "not used by background runs; the setting ca_file adds certificates"
    certificates = ("ok", f"SSL_CERT_FILE: {said}")
    login = ("warn", "CLAUDE_CONFIG_DIR: background runs use the login of the usual folder")
    said = "of other programs, not used by cmem"
    theirs = ("ok", f"ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL: {said}")
    assert environment(chosen("claude-cli"), **planted) == [
        *(ours, proxy, certificates, login, theirs),
    ]
    assert environment(chosen("anthropic"), **planted) == [ours, proxy, certificates, theirs]
    assert environment(chosen("extract"), **planted) == []


def test_settings_of_ones_own_settle_it(chosen: Any) -> None:
    env = {"https_proxy": "http://p:1", "SSL_CERT_FILE": "/x", "CLAUDE_CONFIG_DIR": "/work"}
    own = {"proxy": "http://mine:1", "ca_file": "/mine.pem", "claude_config_dir": "/mine"}
    assert environment(chosen("claude-cli", **own), **env) == []
    here = chosen("anthropic", base_url="http://127.0.0.1:8080")
    assert environment(here, **env) == []


def test_planted_variables_show_in_doctor(installed: Any) -> None:
    text = 'provider = "anthropic"\napi_key = "kkkk"\n'
    (installed.home / "config.toml").write_text(text)
    (installed.home / "config.toml").chmod(0o600)
    installed.env |= {"ANTHROPIC_BASE_URL": "http://x", "HTTPS_PROXY": "http://proxy:1"}
    assert ("warn", "environment") in installed.faults()
    assert "kkkk" not in str(installed.examine())
