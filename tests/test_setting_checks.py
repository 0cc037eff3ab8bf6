"""What a value must look like, beyond its type."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmem import settings
from cmem.errors import ConfigError
from cmem.setting_checks import complaint, header_list

GOOD: list[tuple[str, str]] = [
    ("command", "llm -m 'a b'"),
    ("command", ""),
    ("proxy", "http://proxy.example:3128"),
    ("proxy", "https://user:word@proxy.example"),
    ("ca_file", "/etc/ssl/own.pem"),
    ("ca_file", "~/own.pem"),
    ("claude_path", "~/.local/bin/claude"),
    ("claude_config_dir", "/work/claude"),
    ("headers", "x-team: core"),
    ("headers", "a: b:c | d_e: |"),
    ("headers", ""),
    ("language", "anything"),
]
BAD: list[tuple[str, str, str]] = [
    ("command", "llm 'x", "cannot be split into words: no closing quotation"),
    ("command", "  ", "must name a program"),
    ("proxy", "proxy.example:3128", "must be an address such as http://proxy.example:3128"),
    ("proxy", "socks5://x", "must be an address such as http://proxy.example:3128"),
    ("proxy", "http://[", "must be an address such as http://proxy.example:3128"),
    ("ca_file", "own.pem", "must be a full path"),
    ("claude_path", "claude", "must be a full path"),
    ("claude_config_dir", "./x", "must be a full path"),
    ("headers", "x-team", "must be `Name: value`, several with ` | ` between them"),
    ("headers", "a b: c", "must be `Name: value`, several with ` | ` between them"),
    ("headers", "ü: c", "must be `Name: value`, several with ` | ` between them"),
]


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_values_that_can_be_used(name: str, value: str) -> None:
    assert complaint(name, value) == ""


@pytest.mark.parametrize(("name", "value", "said"), BAD)
def test_values_that_cannot_be_used_are_named_with_what_is_wrong(
    name: str, value: str, said: str
) -> None:
    assert complaint(name, value) == said


def test_headers_are_names_and_values() -> None:
    assert header_list(" A: b | c-d:e:f ") == [("A", "b"), ("c-d", "e:f")]


def test_a_command_may_be_a_list_in_the_file(home: Path) -> None:
    config = home / "config.toml"

    def command() -> str:
        return settings.load(str(home), env={}, flags={}, trusted_env=False).command

    config.write_text('command = ["llm", "-m", "a b", ""]\n')
    assert command() == "llm -m 'a b' ''"
    for text in ("[1]", "{a = 1}", "7"):
        config.write_text(f"command = {text}\n")
        with pytest.raises(ConfigError, match=r"config.toml: command: must be text"):
            command()
