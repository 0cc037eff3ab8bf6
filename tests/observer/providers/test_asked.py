"""What is made of a reply whoever was asked: its tokens, trouble told in prose, what was lost."""

from __future__ import annotations

from typing import Any

import pytest
from making import bash, unit

from cmem import tokens
from cmem.model import Usage
from cmem.observer import mended, prompt
from cmem.observer.errors import ProviderError, UnusableReply
from cmem.observer.modes import load
from cmem.observer.providers import asked
from cmem.observer.providers.asked import Asked, Model

REQUEST = prompt.Request("You are asked.", "What was done?", "test/1")
SENT = tokens.count(REQUEST.system + REQUEST.user)
TURN = unit("fix src/app.py", "Done.", tools=[bash(1, "pytest -q", "1 passed"), bash(2, "ls", "a")])
WHOLE = "<observation><type>change</type><title>Done</title><narrative>All of it.</narrative></observation>"


def reply(text: str, usage: Usage, stop: str = "end_turn") -> Asked:
    return Asked(text, stop, "some-model", usage, ())


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        (Usage(10, 5, 0, 0, 0.1), Usage(10, 5, 0, 0, 0.1)),
        (Usage(0, 5, 10, 0, 0.1), Usage(0, 5, 10, 0, 0.1)),
        (Usage(0, 0, 0, 0, 0.0), Usage(SENT, 2, 0, 0, 0.0)),
        (Usage(0, 0, 0, 0, 0.1), Usage(SENT, 2, 0, 0, 0.1)),
        (Usage(0, 5, 0, 0, 0.1), Usage(SENT, 5, 0, 0, 0.0)),
        (Usage(10, 0, 0, 0, 0.1), Usage(10, 2, 0, 0, 0.0)),
    ],
    ids=["all", "from the cache", "nothing", "only a price", "nothing in", "nothing out"],
)
def test_tokens_nobody_told_are_counted(told: Usage, counted: Usage) -> None:
    text = "It works"
    assert tokens.count(text) == 2
    assert asked.counted(reply(text, told), REQUEST).usage == counted


@pytest.mark.parametrize(
    ("value", "number"),
    [(7, 7), (0, 0), (-5, 0), ("NaN", 0), (None, 0), (True, 0), (1e26, 0), (10**26, 0), (2.5, 0)],
)
def test_an_odd_number_of_tokens_is_none(value: object, number: int) -> None:
    assert asked.count(value) == number


def outcome(text: str, stop: str = "end_turn") -> Any:
    model = Model("some", lambda _request: reply(text, Usage(900, 100, 0, 0, 0.0), stop))
    try:
        return model.observe(TURN)
    except (ProviderError, UnusableReply) as error:
        return error


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("You've hit your usage limit. Resets at 5pm (UTC)", "quota"),
        ("Claude AI usage limit reached|1735689600", "quota"),
        ("Your credit balance is too low", "quota"),
        ("Invalid API key · Please run /login", "auth"),
        ("OAuth token has expired", "auth"),
        ("I cannot help with that.", "unusable"),
        ("Nothing was done about the usage limit. " * 20, "unusable"),
        ("<b>usage limit</b>", "unusable"),
        ("", "unusable"),
    ],
)
def test_a_sentence_about_a_limit_or_a_login_is_the_providers_trouble(text: str, kind: str) -> None:
    error = outcome(text)
    assert getattr(error, "kind", "unusable") == kind
    assert error.usage == Usage(900, 100, 0, 0, 0.0)


def test_the_time_at_which_a_limit_ends_is_read() -> None:
    error = outcome("You've hit your usage limit. Resets at 5pm (UTC)")
    assert 0 < error.retry_after_s <= 86_400


def test_a_cut_reply_counts_with_what_it_lost() -> None:
    whole = WHOLE.replace("All of it.", "`pytest -q` passed.")
    found = outcome(whole + "<observation><type>change</type><title>ha", "max_tokens")
    assert (len(found.reply.observations), found.cut) == (1, True)
    assert found.mended == ("1 reply cut at the token limit", "1 incomplete record left out")


def test_notes_are_counted_without_their_text() -> None:
    notes = (
        "fact left out, not in the events: /etc/secret",
        "fact left out, not in the events: /etc/other",
        "3 observation(s) over the limit left out",
        "2 repeated observation(s) left out",
        "unknown type: riddle",
        "no price known for model x: cost counted as 0",
    )
    assert mended.counted(notes) == (
        "3 records over the limit",
        "2 facts left out",
        "1 unknown type",
    )


def test_the_mode_has_a_request_of_its_own_tokens() -> None:
    """Counted of what is really sent, not of a part of it."""
    request = prompt.observation_request(TURN, load())
    found = asked.counted(reply("x", Usage(0, 0, 0, 0, 0.0)), request)
    assert found.usage.input_tokens == tokens.count(request.system + request.user)
