from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmem.cli import app, boundary, parse, spec

GOOD: dict[str, tuple[list[str], dict[str, Any]]] = {
    "words": (["a", "b"], {"query": ["a", "b"]}),
    "nothing": ([], {}),
    "spaced": (["--limit", "5", "a"], {"query": ["a"], "limit": 5}),
    "equals": (["--limit=5"], {"limit": 5}),
    "short": (["-n", "5"], {"limit": 5}),
    "short joined": (["-n5"], {"limit": 5}),
    "negative": (["-n", "-5"], {"limit": -5}),
    "repeated": (["--kind", "O", "--kind=T"], {"kind": ["O", "T"]}),
    "alias": (["--all"], {"all_projects": True}),
    "options among words": (["a", "--json", "b"], {"query": ["a", "b"], "json": True}),
    "end of options": (["a", "--", "-b", "--json"], {"query": ["a", "-b", "--json"]}),
    "value like an option": (["--file", "--json"], {"file": "--json"}),
    "empty value": (["--file="], {"file": ""}),
    "lone minus": (["-"], {"query": ["-"]}),
    "last one wins": (["-n", "1", "-n", "2"], {"limit": 2}),
}
BAD: dict[str, list[str]] = {
    "unknown": ["--nope"],
    "unknown short": ["-x"],
    "no value": ["--limit"],
    "no number": ["--limit", "many"],
    "flag with a value": ["--json=yes"],
}


def by_typer(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any] | int:
    """What typer makes of the line: the values its command would get, or the exit code."""
    seen: list[dict[str, Any]] = []

    def guard(_command: spec.Command, values: dict[str, Any]) -> int:
        seen.append(values)
        return 0

    monkeypatch.setattr(boundary, "guard", guard)
    with contextlib.redirect_stderr(io.StringIO()):
        code = app.run(argv)
    return seen[0] if seen else code


@pytest.mark.parametrize("name", GOOD)
def test_both_parsers_understand_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    argv, given_values = GOOD[name]
    wanted = parse.defaults(spec.BY_NAME["search"]) | given_values
    assert parse.parse(spec.BY_NAME["search"], argv) == wanted
    assert by_typer(["search", *argv], monkeypatch) == wanted


@pytest.mark.parametrize("name", BAD)
def test_both_parsers_refuse_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(parse.ParseError):
        parse.parse(spec.BY_NAME["search"], BAD[name])
    assert by_typer(["search", *BAD[name]], monkeypatch) == 2


COMPLAINTS = {
    ("search", "--no-verify"): "no such option: --no-verify; text that begins with a minus comes "
    "after `--`: `cmem search -- --no-verify`; see `cmem search --help`",
    ("search", "a", "-it's"): "no such option: -i; text that begins with a minus comes after `--`: "
    "`cmem search -- '-it'\"'\"'s'`; see `cmem search --help`",
    ("list", "-q"): "no such option: -q; see `cmem list --help`",
    ("search", "--sinse", "7d"): "no such option: --sinse (Possible options: --json, --kind, "
    "--since); see `cmem search --help`",
    ("search", "-nothing"): "--limit takes a whole number; see `cmem search --help`",
    ("timeline", "--before", "x"): "--before takes a whole number; see `cmem timeline --help`",
    ("help", "nosuch"): "no such command 'nosuch'; see `cmem --help`",
}


@pytest.mark.parametrize(("argv", "said"), COMPLAINTS.items(), ids=str)
def test_a_complaint_says_what_to_write(
    argv: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run([*argv]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"cmem: {said}\n")


@pytest.mark.parametrize("words", [[], ["get"], ["session", "show"], ["import"]], ids=str)
def test_help_is_a_command_too(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["help", *words]) == 0
    shown = capsys.readouterr().out
    assert app.run([*words, "--help"]) == 0
    assert capsys.readouterr().out == shown
    assert "<str" not in shown and "<list" not in shown


@pytest.mark.parametrize("command", spec.COMMANDS, ids=lambda one: one.name)
def test_defaults_are_the_same(command: spec.Command, monkeypatch: pytest.MonkeyPatch) -> None:
    argv = [arg.name for arg in command.args if arg.default is None]
    assert by_typer([*command.name.split(), *argv], monkeypatch) == parse.parse(command, argv)


def test_missing_argument_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(parse.ParseError):
        parse.parse(spec.BY_NAME["get"], ["--json"])
    assert by_typer(["get", "--json"], monkeypatch) == 2


@given(st.lists(st.text(max_size=12), max_size=6))
def test_any_line_gives_values_or_a_parse_error(argv: list[str]) -> None:
    with contextlib.suppress(parse.ParseError):
        values = parse.parse(spec.BY_NAME["search"], argv)
        assert set(values) == set(parse.defaults(spec.BY_NAME["search"]))


@pytest.mark.parametrize("command", spec.COMMANDS, ids=lambda one: one.name)
def test_every_command_has_help_and_an_example(
    command: spec.Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run([*command.name.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert command.summary in shown
    for example in command.examples:
        assert example.startswith(f"cmem {command.name}") and example in shown
    for option in command.options:
        assert option.help.split()[0] in shown and option.names[0] in shown


def test_no_words_print_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run([]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {command.name.split()[0]}" in shown for command in spec.COMMANDS)
