"""Where a setting comes from, and what a wrong one says."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmem import settings
from cmem.errors import ConfigError
from cmem.setting_table import SETTINGS
from cmem.settings import Settings

DEFAULTS = Settings(
    provider="extract",
    model="",
    base_url="",
    api_key="",
    headers="",
    proxy="",
    ca_file="",
    claude_path="",
    claude_config_dir="",
    command="",
    mode="code",
    language="auto",
    context_budget=2000,
    activation=False,
    recall_prompts=False,
    recall_files=False,
    recall_failures=False,
    auto_compress=True,
    exclude="",
    skip_tools="",
    skip_agents="",
    skip_paths="",
    skip_commands="",
    skip_small=0,
    timeout_s=60,
    max_calls=0,
    daily_usd=1.0,
    daily_tokens=2_000_000,
    keep_raw_days=30,
    dedup=False,
    backups=3,
    sync_dir="",
    sync_auto=False,
)


def _load(home: Path, *, trusted_env: bool = True, **variables: str) -> Settings:
    return settings.load(str(home), env=variables, flags={}, trusted_env=trusted_env)


def _config(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text, encoding="utf-8")


def test_without_any_source_the_defaults_hold(home: Path) -> None:
    assert _load(home) == DEFAULTS
    assert _load(home / "missing") == DEFAULTS


def test_the_table_and_the_type_name_the_same_settings() -> None:
    assert tuple(one.name for one in SETTINGS) == Settings._fields


def test_flag_beats_environment_beats_config_beats_default(home: Path) -> None:
    _config(home, 'provider = "a"\nmodel = "a"\nlanguage = "a"\n')
    found = settings.resolve(
        str(home),
        env={"CMEM_MODEL": "b", "CMEM_LANGUAGE": "b"},
        flags={"language": "c", "model": None},
        trusted_env=True,
    )
    assert {name: tuple(one) for name, one in found.items() if one.origin != "default"} == {
        "provider": ("a", "config"),
        "model": ("b", "environment"),
        "language": ("c", "flag"),
    }


def test_a_run_started_by_a_hook_takes_no_endpoint_and_no_key_from_the_environment(
    home: Path,
) -> None:
    _config(home, 'api_key = "mine"\n')
    variables = {
        "CMEM_API_KEY": "theirs",
        "CMEM_BASE_URL": "https://other.example",
        "CMEM_HEADERS": "x-spy: 1",
        "CMEM_PROXY": "http://other.example",
        "CMEM_CA_FILE": "/theirs.pem",
        "CMEM_CLAUDE_PATH": "/theirs",
        "CMEM_CLAUDE_CONFIG_DIR": "/theirs",
        "CMEM_COMMAND": "theirs",
        "CMEM_LANGUAGE": "de",
    }
    assert _load(home, trusted_env=False, **variables) == DEFAULTS._replace(
        api_key="mine", language="de"
    )
    assert settings.trusts_environment({})
    assert not settings.trusts_environment({"CMEM_STARTED_BY": "hook"})


def test_an_empty_variable_counts_as_not_set(home: Path) -> None:
    assert _load(home, CMEM_PROVIDER="", CMEM_TIMEOUT_S="") == DEFAULTS


@pytest.mark.parametrize(
    ("word", "value"),
    [("1", True), ("YES", True), ("on", True), ("0", False), ("False", False), (" off ", False)],
)
def test_words_for_true_and_false(home: Path, word: str, value: bool) -> None:
    assert _load(home, CMEM_AUTO_COMPRESS=word).auto_compress is value


@pytest.mark.parametrize(("text", "value"), [("2", 2.0), ("0.25", 0.25), ("0", 0.0)])
def test_a_number_may_have_a_point(home: Path, text: str, value: float) -> None:
    assert _load(home, CMEM_DAILY_USD=text).daily_usd == value
    _config(home, f"daily_usd = {text}\n")
    assert _load(home).daily_usd == value


def test_a_run_started_by_a_hook_takes_no_budget_from_the_environment(home: Path) -> None:
    variables = {"CMEM_DAILY_USD": "1000", "CMEM_DAILY_TOKENS": "0"}
    assert _load(home, trusted_env=False, **variables) == DEFAULTS


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("provider = ", "config.toml: invalid value (at end of document)"),
        (
            'providr = "x"',
            "config.toml: providr: no such setting; known: " + ", ".join(Settings._fields),
        ),
        ("provider = 1", "config.toml: provider: must be text"),
        ('provider = ""', "config.toml: provider: must not be empty; the default is extract"),
        ('model = "a\\nb"', "config.toml: model: must be one line of text"),
        ('timeout_s = "60"', "config.toml: timeout_s: must be a whole number"),
        ("timeout_s = 0", "config.toml: timeout_s: must be at least 1"),
        ("timeout_s = true", "config.toml: timeout_s: must be a whole number"),
        ("context_budget = -1", "config.toml: context_budget: must be at least 0"),
        ("auto_compress = 1", "config.toml: auto_compress: must be true or false"),
        ("[provider]", "config.toml: provider: must be text"),
        ('daily_usd = "1"', "config.toml: daily_usd: must be a number"),
        ("daily_usd = true", "config.toml: daily_usd: must be a number"),
        ("daily_usd = -0.5", "config.toml: daily_usd: must be at least 0"),
        ("daily_usd = nan", "config.toml: daily_usd: must be a smaller number"),
        ("daily_usd = 1" + "0" * 400, "config.toml: daily_usd: must be a number"),
        ("daily_tokens = 1.5", "config.toml: daily_tokens: must be a whole number"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(home: Path, text: str, complaint: str) -> None:
    _config(home, text)
    with pytest.raises(ConfigError) as caught:
        _load(home)
    assert str(caught.value) == f"could not read settings: {complaint}"
    assert caught.value.exit_code == 78


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("CMEM_TIMEOUT_S", "abc", "must be a whole number, not 'abc'"),
        ("CMEM_TIMEOUT_S", "9" * 30, "must be a smaller number"),
        ("CMEM_AUTO_COMPRESS", "maybe", "must be true or false, not 'maybe'"),
        ("CMEM_DAILY_USD", "a lot", "must be a number, not 'a lot'"),
        ("CMEM_DAILY_USD", "inf", "must be a number, not 'inf'"),
        ("CMEM_DAILY_USD", "-1", "must be a number, not '-1'"),
    ],
)
def test_a_wrong_variable_is_named(home: Path, variable: str, value: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _load(home, **{variable: value})
    assert str(caught.value) == f"could not read settings: {variable}: {complaint}"


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com",
        "http://127.0.0.1:8080/v1",
        "http://localhost:11434",
        "http://[::1]:80",
        "http://192.168.1.4:4000",
        "http://box.local",
    ],
)
def test_an_endpoint_may_be_encrypted_or_near(home: Path, url: str) -> None:
    assert _load(home, CMEM_BASE_URL=url).base_url == url


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        (
            "http://api.example.com",
            "must be https://, because that host is not on a private network",
        ),
        ("http://8.8.8.8/v1", "must be https://, because that host is not on a private network"),
        (
            "ftp://box",
            "must be an https:// address, or http:// on this machine or a private network",
        ),
        (
            "api.example.com",
            "must be an https:// address, or http:// on this machine or a private network",
        ),
        (
            "http://[::1",
            "must be an https:// address, or http:// on this machine or a private network",
        ),
    ],
)
def test_a_key_never_crosses_the_open_net_in_clear(home: Path, url: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _load(home, CMEM_BASE_URL=url)
    assert str(caught.value) == f"could not read settings: CMEM_BASE_URL: {complaint}"


def test_names_of_variable_and_flag_follow_from_the_setting() -> None:
    assert [(one.env, one.flag) for one in SETTINGS[:3]] == [
        ("CMEM_PROVIDER", "--provider"),
        ("CMEM_MODEL", "--model"),
        ("CMEM_BASE_URL", "--base-url"),
    ]
