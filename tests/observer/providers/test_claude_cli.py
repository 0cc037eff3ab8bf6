"""The user's own Claude Code, by a stand-in that tells how it was called."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cmem.model import Usage
from cmem.observer import providers
from cmem.observer.errors import ProviderError, UnusableReply
from cmem.observer.providers import claude_cli

ANSWER = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "<skip_summary/>",
    "stop_reason": "end_turn",
    "total_cost_usd": 0.00123,
    "usage": {
        "input_tokens": 100,
        "output_tokens": 20,
        "cache_read_input_tokens": 3000,
        "cache_creation_input_tokens": 4,
    },
    "modelUsage": {
        "claude-tiny": {"outputTokens": 1},
        "claude-haiku-5-5": {"outputTokens": 20},
    },
}
CALL = """
call = {"argv": sys.argv[1:], "env": dict(os.environ), "stdin": sys.stdin.read(), "cwd": os.getcwd()}
open(SEEN + "/call.json", "w").write(json.dumps(call))
"""


@pytest.fixture
def claude(program: Any, chosen: Any) -> Any:
    """Provider with a stand-in that prints this answer and ends with this code."""

    def make(answer: Any = ANSWER, *, code: int = 0, said: str = "", **settings: Any) -> Any:
        out = answer if isinstance(answer, str) else json.dumps(answer)
        body = f"{CALL}\nprint({out!r}); print({said!r}, file=sys.stderr); sys.exit({code})"
        path = program(body, "claude")
        return claude_cli.provider(
            chosen(**{"provider": "claude-cli", "claude_path": path, **settings})
        )

    return make


def failure(who: Any, ours: Any) -> tuple[str, str]:
    with pytest.raises((ProviderError, UnusableReply)) as caught:
        who.ask(ours)
    return getattr(caught.value, "kind", "unusable"), str(caught.value)


def test_it_is_called_in_the_isolated_form_with_the_prompt_on_stdin(
    claude: Any, ours: Any, tmp_path: Path
) -> None:
    claude().ask(ours)
    call = json.loads((tmp_path / "call.json").read_text())
    session = call["argv"][call["argv"].index("--session-id") + 1]
    assert call["argv"] == [
        *("-p", "--output-format", "json", "--safe-mode", "--tools", "", "--strict-mcp-config"),
        *("--no-session-persistence", "--disable-slash-commands", "--max-turns", "1"),
        *("--session-id", session, "--model", "haiku", "--system-prompt", "You observe."),
    ]
    assert session.startswith("c3e30b5e-4ef0-4") and len(session) == 36
    assert call["stdin"] == f"[cmem observer request]\n{ours.user}"
    assert "/cmem-observer-" in call["cwd"] and not Path(call["cwd"]).exists()


def test_it_knows_nothing_of_the_session_that_started_us(
    claude: Any, ours: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDECODE"):
        monkeypatch.setenv(name, "theirs")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/repo/.claude")
    monkeypatch.setenv("MAX_THINKING_TOKENS", "1")
    monkeypatch.setenv("CMEM_STARTED_BY", "hook")
    claude().ask(ours)
    seen = json.loads((tmp_path / "call.json").read_text())["env"]
    assert "theirs" not in seen.values() and "CLAUDE_CONFIG_DIR" not in seen
    assert {
        name for name in seen if name not in ("PATH", "HOME", "LANG", "TMPDIR", "USER", "TZ")
    } <= {
        *("CMEM_OBSERVER", "API_TIMEOUT_MS", "CLAUDE_CODE_MAX_RETRIES"),
        *("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_DISABLE_THINKING", "LOGNAME", "LC_CTYPE"),
        *("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "LC_ALL"),
        *("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"),
    }
    assert seen["CMEM_OBSERVER"] == "1"


def test_the_login_is_that_of_the_settings_or_of_the_person_who_asks(
    chosen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def folder(**env: str) -> str | None:
        return claude_cli.environment(env, own).get("CLAUDE_CONFIG_DIR")

    own = chosen()
    assert folder() is None
    assert folder(CLAUDE_CONFIG_DIR="/work") == "/work"
    assert folder(CLAUDE_CONFIG_DIR="/work", CMEM_STARTED_BY="hook") is None
    own = chosen(claude_config_dir="~/mine")
    assert folder(CLAUDE_CONFIG_DIR="/work") == os.path.expanduser("~/mine")


def test_the_reply_comes_with_the_model_and_price_it_tells(claude: Any, ours: Any) -> None:
    reply = claude().ask(ours)
    assert reply.text == "<skip_summary/>"
    assert reply.model == "claude-haiku-5-5"
    assert reply.usage == Usage(100, 20, 3000, 4, 0.00123)


def test_lines_before_the_result_do_not_matter(claude: Any, ours: Any) -> None:
    out = 'a warning\n{"note": 1}\n' + json.dumps(ANSWER) + "\n\n"
    assert claude(out).ask(ours).text == "<skip_summary/>"


def test_fields_of_other_types_are_as_good_as_missing(claude: Any, ours: Any) -> None:
    odd = ANSWER | {"usage": [], "modelUsage": {"x": 1}, "total_cost_usd": "1", "stop_reason": None}
    reply = claude(odd).ask(ours)
    assert (reply.usage, reply.model, reply.stop_reason) == (Usage(0, 0, 0, 0, 0.0), "haiku", "")


def failed(result: str | None, status: int | None = None, **more: Any) -> dict[str, Any]:
    return ANSWER | {"is_error": True, "result": result, "api_error_status": status} | more


LOGIN = "; run `claude` once and log in"
FAILURES: dict[str, tuple[dict[str, Any], str, str]] = {
    "not logged in": (
        failed("Not logged in · Please run /login"),
        "auth",
        "Not logged in · Please run /login" + LOGIN,
    ),
    "expired": (
        failed("OAuth token has expired. Please obtain a new token"),
        "auth",
        "OAuth token has expired. Please obtain a new token" + LOGIN,
    ),
    "401": (failed("API Error: 401 bad", 401), "auth", "API Error: 401 bad" + LOGIN),
    "403": (failed("API Error: 403 bad", 403), "auth", "API Error: 403 bad" + LOGIN),
    "limit": (failed("You've hit your weekly limit", 429), "quota", "You've hit your weekly limit"),
    "limit in prose": (
        ANSWER | {"result": "Claude AI usage limit reached"},
        "quota",
        "Claude AI usage limit reached",
    ),
    "credit": (failed("Credit balance is too low", 400), "quota", "Credit balance is too low"),
    "429": (failed("Request rejected (429)", 429), "overload", "Request rejected (429)"),
    "529": (failed("API Error: 529", 529), "overload", "API Error: 529"),
    "500": (failed("API Error: 500", 500), "overload", "API Error: 500"),
    "404": (
        failed("There's an issue with the selected model", 404),
        "config",
        "There's an issue with the selected model; check the setting model (haiku)",
    ),
    "too long": (
        failed("Prompt is too long for this model", 400),
        "unusable",
        "the request was refused: Prompt is too long for this model",
    ),
    "too long, no status": (
        failed("Prompt is too long"),
        "unusable",
        "the request was refused: Prompt is too long",
    ),
    "refusal": (failed("…", stop_reason="refusal"), "unusable", "the model refused"),
    "cut": (
        failed("Claude's response exceeded the 4096 output token maximum"),
        "unusable",
        "the reply was cut at the token limit",
    ),
    "tool": (
        failed(None, subtype="error_max_turns"),
        "unusable",
        "the model asked for a tool",
    ),
    "connection": (
        failed("API Error: Connection error."),
        "transport",
        "API Error: Connection error.",
    ),
    "nothing": (failed(None), "transport", "claude failed without a reason"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_every_failure_has_its_class(case: str, claude: Any, ours: Any) -> None:
    answer, kind, said = FAILURES[case]
    who = claude(answer, code=int(answer["is_error"]))
    assert failure(who, ours) == (kind, said)


WORDS: dict[str, tuple[str, int, str, str]] = {
    "old": (
        "error: unknown option '--safe-mode'",
        1,
        "config",
        "error: unknown option '--safe-mode'; this Claude Code is too old for provider "
        "claude-cli; run `claude update`",
    ),
    "login": ("Invalid API key", 1, "auth", "Invalid API key" + LOGIN),
    "limit": ("5-hour limit reached", 1, "quota", "5-hour limit reached"),
    "crash": ("panic", 134, "transport", "claude ended with 134 without a result: panic"),
    "silent": ("", 1, "transport", "claude ended with 1 without a result"),
    "no interpreter": ("", 127, "config", "claude ended with 127 without a result"),
}


@pytest.mark.parametrize("case", WORDS)
def test_without_a_result_its_words_tell(case: str, claude: Any, ours: Any) -> None:
    said, code, kind, told = WORDS[case]
    assert failure(claude("", code=code, said=said), ours) == (kind, told)


def test_an_answer_that_is_not_success_by_its_exit_code_is_none(claude: Any, ours: Any) -> None:
    assert failure(claude(ANSWER, code=1), ours)[0] == "transport"


def test_a_reply_that_tells_of_a_limit_is_a_reply(claude: Any, ours: Any) -> None:
    text = "<observation><title>Usage limit reached in the API</title></observation>"
    assert claude(ANSWER | {"result": text}).ask(ours).text == text


def test_too_late_is_a_fault_of_the_way(program: Any, chosen: Any, ours: Any) -> None:
    path = program("time.sleep(30)", "claude")
    who = claude_cli.provider(chosen(claude_path=path, timeout_s=1))
    said = "claude did not answer within 1 s (setting timeout_s)"
    assert failure(who, ours) == ("transport", said)


def test_no_program_is_a_matter_of_the_settings(chosen: Any, ours: Any, tmp_path: Path) -> None:
    who = claude_cli.provider(chosen(claude_path=tmp_path / "nowhere"))
    kind, said = failure(who, ours)
    assert kind == "config" and said.endswith("name it by the setting claude_path")


def test_program_is_found_where_installers_put_it_and_on_path(tmp_path: Path) -> None:
    here, relative = tmp_path / "bin", Path("bin")
    local = Path(os.environ["HOME"]) / ".local/bin"
    for folder in (here, local):
        folder.mkdir(parents=True)
        (folder / "claude").write_text("#!/bin/sh\n")
        (folder / "claude").chmod(0o755)
    by_hand = {"PATH": f"{relative}:{here}"}
    assert claude_cli.find("", by_hand) == str(here / "claude")
    assert claude_cli.find("", by_hand | {"CMEM_STARTED_BY": "hook"}) == str(local / "claude")
    assert claude_cli.find("~/.local/bin/claude", {}) == str(local / "claude")
    (local / "claude").chmod(0o644)
    assert claude_cli.find("", by_hand | {"CMEM_STARTED_BY": "hook"}) == str(here / "claude")
    assert claude_cli.find("~/.local/bin/claude", by_hand) == ""
    assert claude_cli.find("", {"PATH": "bin:."}) in ("", *claude_cli.PLACES)


def test_it_observes(program: Any, chosen: Any, make: Any) -> None:
    text = """<observation><type>bugfix</type><title>Limit is 5</title>
    <facts><fact>MAX is 5</fact></facts><narrative>It was 3.</narrative></observation>"""
    path = program(f"print(json.dumps({ANSWER | {'result': text}!r}))", "claude")
    who = providers.get(chosen(provider="claude-cli", claude_path=path))
    unit = make.unit("Raise it.", "Done.", tools=[make.edit(7, "a.py", "MAX = 3", "MAX = 5")])
    seen = who.observe(unit)
    assert [one.title for one in seen.reply.observations] == ["Limit is 5"]
    assert (seen.provider, seen.model, seen.calls) == ("claude-cli", "claude-haiku-5-5", 1)
