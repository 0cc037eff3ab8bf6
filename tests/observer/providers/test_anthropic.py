"""The Messages API provider against the scripted server: what is sent, what every end becomes."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from fake_anthropic import FakeAnthropic

from cmem.errors import ConfigError
from cmem.model import Usage
from cmem.observer import prices, providers
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply
from cmem.observer.providers import anthropic

OBSERVATION = """<observation><type>bugfix</type><title>Limit is 5</title>
<facts><fact>MAX is 5</fact></facts><narrative>It was 3.</narrative></observation>"""
SUMMARY = "<summary><request>r</request><completed>The limit is 5.</completed></summary>"


class Settings(NamedTuple):
    provider: str = "anthropic"
    model: str = ""
    base_url: str = ""
    api_key: str = "dummy"
    headers: str = ""
    proxy: str = ""
    ca_file: str = ""
    claude_path: str = ""
    claude_config_dir: str = ""
    command: str = ""
    timeout_s: float = 5
    language: str = "auto"


@pytest.fixture
def turn(make: Any) -> Any:
    tools = [make.edit(7, "deploy.py", "MAX = 3", "MAX = 5"), make.bash(8, "true")]
    return make.unit("Raise the limit to 5.", "Done.", tools=tools)


def ask(api: FakeAnthropic, unit: Any, **settings: Any) -> Any:
    return providers.get(Settings(base_url=api.url, **settings)).observe(unit)


def test_request_carries_the_turn_and_the_reply_becomes_drafts_with_their_price(turn: Any) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 200, "cache_read_input_tokens": 4000}
    with FakeAnthropic([{"text": OBSERVATION, "usage": usage}]) as api:
        seen = ask(api, turn)
        (call,) = api.messages
    body = call["body"]
    assert (body["model"], body["max_tokens"], call["stream"]) == ("claude-haiku-4-5", 4096, False)
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert [one["role"] for one in body["messages"]] == ["user"]
    assert body["messages"][0]["content"].count("<observed_from_primary_session>") == 2
    assert [draft.title for draft in seen.reply.observations] == ["Limit is 5"]
    assert seen.reply.observations[0].files_modified == ("deploy.py",)
    cost = (1000 * 1.0 + 200 * 5.0 + 4000 * 0.1) / 1_000_000
    assert seen.usage == Usage(1000, 200, 4000, 0, cost)
    assert (seen.provider, seen.model, seen.calls) == ("anthropic", "claude-haiku-4-5", 1)


REPLIES: dict[str, tuple[Any, int, bool]] = {
    "several": (OBSERVATION + "\n" + OBSERVATION.replace("5", "6"), 2, False),
    "fenced": (f"```xml\n{OBSERVATION}\n```", 1, False),
    "prose around": (f"Here it is:\n{OBSERVATION}\nHope that helps.", 1, False),
    "skip": ('<skip_summary reason="routine"/>', 0, True),
    "thinking and text": ({"thinking": "hm", "text": OBSERVATION}, 1, False),
    "cut at the limit": (
        {"text": OBSERVATION + "<observation><title>half", "stop_reason": "max_tokens"},
        1,
        False,
    ),
}


@pytest.mark.parametrize("case", REPLIES)
def test_replies_that_count(case: str, turn: Any) -> None:
    reply, observations, skipped = REPLIES[case]
    with FakeAnthropic([reply]) as api:
        seen = ask(api, turn)
    assert len(seen.reply.observations) == observations
    assert (seen.reply.skipped is not None) == skipped


UNUSABLE: dict[str, tuple[Any, str]] = {
    "prose": ("I am sorry.", "no observation in the reply, only other text"),
    "empty": ({"content": []}, "empty reply"),
    "thinking only": ({"thinking": OBSERVATION}, "empty reply"),
    "refusal": ({"text": "", "stop_reason": "refusal"}, "the model refused"),
    "cut in the first": (
        {"text": "<observation><title>half", "stop_reason": "max_tokens"},
        "cut off before the first observation was complete (cut at the token limit)",
    ),
    "too large": (
        {"status": 413, "message": "request exceeds the maximum size"},
        "the request was refused (413): request exceeds the maximum size",
    ),
    "bad request": (
        {"status": 400, "message": "prompt is too long"},
        "the request was refused (400): prompt is too long",
    ),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_unusable_replies_say_why(case: str, turn: Any) -> None:
    reply, reason = UNUSABLE[case]
    with FakeAnthropic([reply]) as api, pytest.raises(UnusableReply) as caught:
        ask(api, turn)
    assert (caught.value.reason, caught.value.calls) == (reason, 1)


def test_an_unusable_reply_keeps_its_tokens(turn: Any) -> None:
    usage = {"input_tokens": 100, "output_tokens": 10}
    with FakeAnthropic([{"text": "no", "usage": usage}]) as api, pytest.raises(UnusableReply) as e:
        ask(api, turn)
    assert e.value.usage == Usage(100, 10, 0, 0, 0.00015)


FAULTS: dict[str, tuple[Any, str, float | None]] = {
    "401": ({"status": 401}, "auth", None),
    "403": ({"status": 403}, "auth", None),
    "402": ({"status": 402}, "quota", None),
    "400 credit": ({"status": 400, "message": "Your credit balance is too low"}, "quota", None),
    "429 quota": ({"status": 429, "message": "monthly usage limit reached"}, "quota", None),
    "404 model": ({"status": 404, "message": "model: no-such"}, "config", None),
    "400 model": ({"status": 400, "message": "unknown model"}, "config", None),
    "429": ({"status": 429, "headers": {"retry-after": "7"}}, "overload", 7.0),
    "500": ({"status": 500}, "overload", None),
    "529": ({"status": 529, "headers": {"retry-after": "soon"}}, "overload", None),
    "503 html": ({"status": 503, "raw": "<html>x</html>"}, "overload", None),
    "redirect": ({"status": 302, "headers": {"location": "http://127.0.0.1:9/"}}, "config", None),
    "drop": ({"drop": True}, "transport", None),
    "cut": ({"text": OBSERVATION, "cut": 40}, "transport", None),
    "html": ({"raw": "<html>x</html>", "content_type": "text/html"}, "transport", None),
    "no json": ({"raw": "{", "content_type": "application/json"}, "transport", None),
    "other json": ({"raw": '{"ok": true}'}, "transport", None),
    "a list": ({"raw": "[]"}, "transport", None),
    "null content": ({"raw": '{"type": "message", "content": null}'}, "transport", None),
    "hang": ({"hang": 3}, "transport", None),
}


@pytest.mark.parametrize("case", FAULTS)
def test_every_fault_has_its_class_and_is_asked_once(case: str, turn: Any) -> None:
    reply, kind, wait = FAULTS[case]
    with FakeAnthropic([reply]) as api:
        with pytest.raises(ProviderError) as caught:
            ask(api, turn, timeout_s=0.5 if case == "hang" else 5)
        assert len(api.messages) == 1
    assert (caught.value.kind, caught.value.retry_after_s) == (kind, wait)
    assert "<" not in str(caught.value) and "dummy" not in str(caught.value)


def test_nobody_listening_is_a_transport_fault(turn: Any) -> None:
    with FakeAnthropic([]) as api:
        url = api.url
    with pytest.raises(ProviderError) as caught:
        providers.get(Settings(base_url=url)).observe(turn)
    assert caught.value.kind == "transport"


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/v1/messages"])
def test_base_url_in_every_spelling(end: str, turn: Any) -> None:
    for gateway in ("", "/gateway"):
        with FakeAnthropic([OBSERVATION]) as api:
            who = Settings(base_url=api.url + gateway + end)
            providers.get(who).observe(turn)
            assert api.messages[0]["path"] == f"{gateway}/v1/messages"


def test_variables_of_the_users_main_client_do_not_leak(
    turn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "theirs")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "theirs")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-spy: 1\nx-api-key: theirs\nX-Stainless: 1")
    with FakeAnthropic([OBSERVATION], api_key="dummy") as api:
        ask(api, turn)
        headers = api.messages[0]["headers"]
    assert "x-spy" not in headers and "x-stainless" not in headers
    assert headers["content-type"] == "application/json"


def test_summary(turn: Any, make: Any) -> None:
    unit = make.summary_unit([turn], [()])
    with FakeAnthropic([SUMMARY]) as api:
        seen = providers.get(Settings(base_url=api.url)).summarise(unit)
        assert "observed_from_primary_session" not in str(api.messages[0]["body"])
    assert seen.reply.summary is not None
    assert (seen.reply.summary.request, seen.reply.summary.completed) == ("r", "The limit is 5.")


def test_missing_key_asks_nobody_and_imports_nothing() -> None:
    code = """
import sys
from cmem import settings
from cmem.model import TurnUnit
from cmem.observer import providers
from cmem.observer.errors import MissingCredential
who = settings.load("/nowhere", env={}, flags={"provider": "anthropic"}, trusted_env=False)
unit = TurnUnit(1, 1, "p", "", "auto", 1, 1, "hi", 0, (), "", "stop", "", 0, 0)
try:
    providers.get(who).observe(unit)
except MissingCredential as error:
    print(error, "anthropic" in sys.modules, sep="|")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    expected = "no api_key for provider anthropic: set api_key or CMEM_API_KEY|False\n"
    assert done.stdout == expected


def test_unknown_provider_names_the_known_ones() -> None:
    with pytest.raises(
        ConfigError, match="unknown provider: gpt; known: extract, anthropic, claude-cli, command"
    ):
        providers.get(Settings(provider="gpt"))


def test_missing_credential_is_raised_before_the_request(turn: Any) -> None:
    with FakeAnthropic([OBSERVATION]) as api:
        with pytest.raises(MissingCredential):
            ask(api, turn, api_key="")
        assert api.requests == []


def test_prices_know_dated_and_prefixed_names_and_count_unknown_models_as_nothing(
    turn: Any,
) -> None:
    known = prices.find("claude-haiku-4-5")
    assert known is not None
    assert prices.find("claude-haiku-4-5-20251001") == known
    assert prices.find("anthropic/claude-haiku-4-5") == known
    with FakeAnthropic([OBSERVATION]) as api:
        seen = ask(api, turn, model="qwen3-coder")
    assert (seen.usage.cost_usd, seen.model) == (0.0, "qwen3-coder")
    assert "no price known for model qwen3-coder: cost counted as 0" in seen.reply.notes


def test_the_default_endpoint_gets_no_bearer_header() -> None:
    assert anthropic.endpoint("") == anthropic.ENDPOINT


DRESSED = {
    "overloaded_error": "overload",
    "authentication_error": "auth",
    "permission_error": "auth",
    "billing_error": "quota",
    "not_found_error": "config",
    "something_else": "transport",
}


@pytest.mark.parametrize("named", DRESSED)
def test_an_error_dressed_as_success_is_the_trouble_that_it_names(named: str) -> None:
    body = {"type": "error", "error": {"type": named, "message": "No, not now"}}
    with pytest.raises(ProviderError) as caught:
        anthropic.read(SimpleNamespace(**body), "m")
    assert caught.value.kind == DRESSED[named]
    assert named == "something_else" or str(caught.value) == (
        f"{named} in place of a message: No, not now"
    )


def test_a_refusal_dressed_as_success_is_the_units() -> None:
    error = {"type": "invalid_request_error", "message": "prompt is too long"}
    with pytest.raises(UnusableReply, match="prompt is too long"):
        anthropic.read(SimpleNamespace(type="error", error=error), "m")


UNMADE = {
    "socks": ({}, "socks5://127.0.0.1:1080", "a SOCKS proxy is not supported without"),
    "no address of a proxy": ({}, "::::", "the request could not be made (Invalid port"),
    "a line break in the key": (
        {"api_key": "a\nb"},
        "",
        "the request could not be made (a header has a sign that none can have)",
    ),
    "query": (
        {"base_url": "http://model.internal/?x=1"},
        "",
        "base_url http://model.internal/?x=1",
    ),
}


@pytest.mark.parametrize("case", UNMADE)
def test_what_cannot_even_be_sent_is_a_setting_and_uses_nothing(
    case: str, turn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    more, proxy, said = UNMADE[case]
    monkeypatch.setenv("ALL_PROXY", proxy)
    with FakeAnthropic([]) as api, pytest.raises(ProviderError) as caught:
        here = "http://model.internal" if proxy else api.url
        providers.get(Settings(**{"base_url": here, **more})).observe(turn)  # type: ignore[arg-type]
    error = caught.value
    assert api.requests == []
    assert (error.kind, error.sent, error.served) == ("config", False, False)
    assert str(error).startswith(said)
