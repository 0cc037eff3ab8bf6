"""One small question: what each kind of answer is called, and that something helps."""

from __future__ import annotations

import time
from typing import Any

import pytest
from fake_anthropic import FakeAnthropic

from cmem import settings
from cmem.observer import trial


def asked(**given: str) -> trial.Answer:
    own = settings.load("/nowhere", env={}, flags=given, trusted_env=False)
    return trial.ask(own, clock=time.monotonic)


FAULTS: dict[str, tuple[Any, str]] = {
    "401": ({"status": 401}, "auth"),
    "404": ({"status": 404, "message": "model: no-such"}, "config"),
    "402": ({"status": 402}, "quota"),
    "529": ({"status": 529}, "overload"),
    "drop": ({"drop": True}, "transport"),
    "empty": ({"content": []}, "unusable"),
    "refusal": ({"text": "", "stop_reason": "refusal"}, "unusable"),
    "too long": ({"status": 413}, "unusable"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_every_failure_has_its_class_and_a_way_out(case: str) -> None:
    reply, kind = FAULTS[case]
    with FakeAnthropic([reply]) as api:
        found = asked(provider="anthropic", api_key="mine", base_url=api.url)
    assert (found.ok, found.kind, found.cost_usd) == (False, kind, None)
    assert found.detail and found.fix


@pytest.mark.parametrize(
    ("name", "more"), [("anthropic", " --key-from-stdin"), ("command", " --command LINE")]
)
def test_what_is_missing_is_told_without_asking(name: str, more: str) -> None:
    found = asked(provider=name)
    assert (found.ok, found.kind) == (False, "missing")
    assert found.fix == f"`cmem provider use {name}{more}` sets it up"


def test_rules_are_free() -> None:
    assert asked(provider="extract") == trial.Answer(True, "free", "", "")


def test_a_price_that_nobody_knows_is_not_nothing() -> None:
    with FakeAnthropic(["ready"]) as api:
        found = asked(provider="anthropic", api_key="mine", base_url=api.url, model="qwen3")
    assert (found.ok, found.model, found.cost_usd) == (True, "qwen3", None)
    assert asked(provider="command", command="echo ready").cost_usd is None


def test_every_class_of_every_provider_has_its_help() -> None:
    kinds = ("config", "quota", "overload", "transport", "unusable")
    assert set(trial.HELP) == set(kinds)
    assert set(trial.AUTH) == {"anthropic", "claude-cli", "command"}
