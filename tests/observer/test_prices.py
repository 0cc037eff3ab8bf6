"""The price lists: names, the user's own prices, and what nobody knows."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from cmem.errors import ConfigError
from cmem.model import Usage
from cmem.observer import prices
from cmem.observer.prices import Price

HAIKU = Price(1.0, 5.0, 0.1, 1.25)
USAGE = Usage(1000, 100, 2000, 300, 0.0)


@pytest.mark.parametrize(
    "name",
    [
        "claude-haiku-4-5",
        "claude-haiku-4-5-20251001",
        "claude-haiku-4-5@20251001",
        "claude-haiku-4-5-latest",
        "anthropic/claude-haiku-4.5",
        "us.anthropic.claude-haiku-4-5-20251001-v1:0",
        "Claude-Haiku-4-5",
        "haiku",
        "haiku[1m]",
        "haiku-4.5",
        "claude-haiku",
        "claude-haiku-latest",
    ],
)
def test_a_model_is_found_however_a_vendor_spells_it(name: str) -> None:
    assert prices.find(name) == HAIKU


@pytest.mark.parametrize("name", ["", "qwen3-coder", "claude-haiku-4-5-turbo", "haiku-5", "claude"])
def test_a_model_that_is_not_listed_has_no_price(name: str) -> None:
    assert prices.find(name) is None


def own(home: Path, text: str) -> prices.PriceList:
    (home / "prices.toml").write_text(text, encoding="utf-8")
    return prices.load_for(str(home))


def test_own_prices_add_to_the_list_and_win(home: Path) -> None:
    known = own(
        home,
        '[models."qwen3-coder"]\ninput = 0.2\noutput = 1\n'
        '[models."claude-haiku-4.5"]\ninput = 2\noutput = 6\ncache_read = 0\ncache_write = 3\n',
    )
    assert prices.find("qwen3-coder", known) == Price(0.2, 1.0, pytest.approx(0.02), 0.25)
    assert prices.find("claude-haiku-4-5-20251001", known) == Price(2.0, 6.0, 0.0, 3.0)
    assert prices.find("claude-sonnet-4-5", known) == prices.find("claude-sonnet-4-5")
    assert prices.load_for(str(home / "elsewhere")) == prices.load()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models = 3\n", 'no table [models."NAME"]'),
        ("[models.x]\ninput = 1\n", "x: give input and output"),
        ("[models.x]\ninput = -1\noutput = 1\n", "x: give input and output"),
        ("[models.x]\ninput = true\noutput = 1\n", "x: give input and output"),
        ("[models.x]\ninput = 1\noutput = 1\ncache = 2\n", "x: give input and output"),
        ("[models.x]\ninput = nan\noutput = 1\n", "x: give input and output"),
        ("[models.x]\ninput = \n", "invalid value"),
    ],
)
def test_what_is_wrong_with_own_prices_is_said(text: str, said: str, home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        own(home, text)
    assert str(home / "prices.toml") in str(caught.value)
    assert said in str(caught.value)


def test_own_prices_that_are_a_pipe_are_not_waited_for(home: Path) -> None:
    os.mkfifo(home / "prices.toml")
    with pytest.raises(ConfigError, match=r"is no regular file$"):
        prices.load_for(str(home))


def test_a_charge_is_by_the_own_price_then_by_the_provider_then_by_the_list(home: Path) -> None:
    known = own(home, "[models.mine]\ninput = 1\noutput = 1\ncache_read = 1\ncache_write = 1\n")
    told = USAGE._replace(cost_usd=0.0123456789)
    assert prices.charge(told, "mine", known) == 3_400
    assert prices.charge(told, "claude-haiku-4-5", known) == 12_346
    assert prices.charge(USAGE, "claude-haiku-4-5", known) == 1000 + 500 + 200 + 375
    assert prices.charge(told, "unknown", known) == 12_346
    assert prices.charge(USAGE, "unknown", known) is None
    assert prices.charge(Usage(0, 0, 0, 0, 0.0), "", known) == 0


def test_prices_have_an_age() -> None:
    known = prices.PriceList("2026-01-01", {}, {})
    assert prices.age_days(known, date(2026, 11, 30)) == 333
    assert prices.age_days(known, date(2025, 12, 31)) == 0
    assert date.fromisoformat(prices.load().date)
