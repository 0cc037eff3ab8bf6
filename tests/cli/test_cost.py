"""``cmem cost``: sums by day, project, model and provider, and what is said about them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
import seeding
from support import run_cmem, run_json

from cmem import cost
from cmem.errors import UsageError
from cmem.model import TurnUnit, Usage
from cmem.observer import prices
from cmem.store import ledger, memory, units

NOON = int(time.mktime((2026, 11, 20, 12, 0, 0, 0, 0, -1))) * 1000
SINCE = "2026-11-01"
TOOK = Usage(1000, 200, 3000, 500, 0.0)


def call(
    conn: apsw.Connection,
    project: str,
    at: int,
    *,
    model: str = "claude-haiku-4-5",
    provider: str = "anthropic",
    usage: Usage = TOOK,
    microusd: int | None = 2_925,
    records: int = 2,
    calls: int = 1,
) -> None:
    """One unit observed at that time, with so many records of two facts each."""
    session = seeding.add_session(conn, f"{project}-{at}-{model}", project=project)
    turn = seeding.add_turn(conn, session)
    seeding.add_tool(conn, turn)
    unit = units.load(conn, seeding.add_unit(conn, turn), language="auto")
    assert isinstance(unit, TurnUnit)
    drafts = [
        seeding.draft(f"{project} {at} {model} {n}", facts=(f"a {n}", f"b {n}"))
        for n in range(records)
    ]
    observed = seeding.observed(*drafts, skipped=None if drafts else "nothing", usage=usage)
    observed = observed._replace(provider=provider, model=model, calls=calls)
    memory.commit(conn, unit=unit, observed=observed, started_at=at, now=at + 9, microusd=microusd)


@pytest.fixture
def filled(home: Path) -> Path:
    conn = seeding.open_store(home)
    call(conn, "calc", NOON)
    call(conn, "calc", NOON + 1000, records=0)
    call(conn, "tally", NOON + seeding.DAY, model="qwen3-coder", microusd=None, records=1)
    call(conn, "tally", NOON + seeding.DAY + 1, usage=seeding.FREE, provider="extract", calls=0)
    expected = ledger.Expected("anthropic", "claude-haiku-4-5", 700, 600, 3_700)
    with conn:
        ledger.start(conn, 1, expected, now=NOON + 2 * seeding.DAY)
        run = ledger.start(conn, 1, expected, now=NOON + 2 * seeding.DAY)
    failed = ledger.Result("anthropic", "m", "", "overload", 1, seeding.FREE, 0, "overload: 529")
    ledger.end(conn, 1, failed, started_at=NOON, now=NOON, run_id=run)
    ledger.interrupt_all(conn)
    conn.close()
    return home


def test_a_table_of_days(filled: Path) -> None:
    done = run_cmem("cost", "--since", SINCE)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().split("\n")
    assert lines[:5] == [
        "day         calls     in  cached    out       cost  obs  per obs  per fact",
        "2026-11-20      3  9,000     67%    400    $0.0059    2    4,700     2,350",
        "2026-11-21      1  4,500     67%    200    unknown    1    4,700     2,350",
        "2026-11-22      1    700      0%    600    $0.0037    0        -         -",
        "total           5  14.2k     63%  1,200  $0.0095+?    3    5,133     2,567",
    ]
    text = "\n".join(lines[5:])
    assert text.startswith(
        "Without a usable answer: 1 call.\n"
        "Cut off, and counted by their estimate: 1 call.\n"
        f"Price unknown: qwen3-coder. Name it in {filled}/prices.toml: "
        '[models."qwen3-coder"] with input and output, US dollars per million tokens.\n'
        "2 observations made by rules cost nothing and are not in the table.\n"
    )
    assert "prices of 2026-01-01 (" in text
    assert "Today: $0.00 of $1.00, 0 of 2,000,000 tokens.\n" in text


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("day", ["2026-11-20", "2026-11-21", "2026-11-22"]),
        ("project", ["calc", "tally"]),
        ("model", ["claude-haiku-4-5", "qwen3-coder", "m"]),
        ("provider", ["anthropic"]),
    ],
)
def test_every_sum_adds_up_to_the_total(by: str, names: list[str], filled: Path) -> None:
    found = run_json("cost", "--since", SINCE, "--by", by)
    assert [row[by] for row in found["rows"]] == names
    total = found["total"]
    for key in (
        "calls",
        "failed",
        "estimated",
        "batched",
        "unpriced",
        "input_tokens",
        "observations",
        "facts",
    ):
        assert sum(row[key] for row in found["rows"]) == total[key]
    assert total == {
        "calls": 5,
        "failed": 1,
        "estimated": 1,
        "batched": 0,
        "unpriced": 1,
        "input_tokens": 14_200,
        "cached_tokens": 9_000,
        "cached_share": 0.6338,
        "output_tokens": 1_200,
        "cost_usd": 0.00955,
        "observations": 3,
        "facts": 6,
        "tokens_per_observation": 5133.3,
        "tokens_per_fact": 2566.7,
    }
    assert (found["free_observations"], found["unpriced_models"]) == (2, ["qwen3-coder"])


def test_a_price_named_later_counts_for_calls_made_earlier(filled: Path) -> None:
    (filled / "prices.toml").write_text(
        '[models."qwen3-coder"]\ninput = 1\noutput = 2\ncache_read = 0\ncache_write = 0\n'
    )
    found = run_json("cost", "--since", SINCE, "--by", "model")
    (row,) = [one for one in found["rows"] if one["model"] == "qwen3-coder"]
    assert (row["cost_usd"], row["unpriced"], found["unpriced_models"]) == (0.0014, 0, [])
    assert found["prices"]["own"] == ["qwen3-coder"]


def test_nothing_of_unknown_price_is_called_free(filled: Path) -> None:
    rows = run_json("cost", "--since", SINCE, "--by", "model")["rows"]
    assert [row["cost_usd"] for row in rows if row["model"] == "qwen3-coder"] == [None]


@pytest.mark.parametrize(
    ("words", "calls"),
    [
        (("--since", "all"), 5),
        (("--since", "2026-11-21"), 2),
        (("--since", "all", "--until", "2026-11-20"), 3),
        (("--since", "2027-01-01"), 0),
    ],
)
def test_a_time_narrows_it(words: tuple[str, ...], calls: int, filled: Path) -> None:
    assert run_json("cost", *words)["total"]["calls"] == calls


def test_without_a_store_nothing_was_asked(home: Path) -> None:
    done = run_cmem("cost")
    assert done.returncode == 0
    assert done.stdout.decode().split("\n")[0] == "No model was asked in that time."
    assert run_json("cost")["rows"] == []
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [(("--by", "hour"), 2), (("--since", "soon"), 2), (("--since", "today", "--until", "2020"), 2)],
)
def test_a_wrong_line_is_a_usage_error(words: tuple[str, ...], code: int) -> None:
    done = run_cmem("cost", *words)
    assert (done.returncode, done.stdout) == (code, b"")


def test_wrong_prices_are_named(filled: Path) -> None:
    (filled / "prices.toml").write_text("[models.x]\n")
    done = run_cmem("cost", "--since", SINCE, "--json")
    assert (done.returncode, json.loads(done.stdout)["total"]["calls"]) == (0, 5)
    assert done.stderr.startswith(f"cmem: {filled}/prices.toml: x: give input and output".encode())


def test_columns_line_up_in_any_script(home: Path) -> None:
    conn = seeding.open_store(home)
    for project in ("記憶", "calc", "a-name-that-is-much-too-long-for-a-column", "x\x1b[31my"):
        call(conn, project, NOON)
    conn.close()
    lines = run_cmem("cost", "--since", "all", "--by", "project").stdout.decode().split("\n")[:6]
    from cmem.cli.cost import _width

    assert len({_width(line) for line in lines}) == 1
    assert "\x1b" not in "".join(lines)


def test_an_unknown_way_to_group_is_refused() -> None:
    with pytest.raises(UsageError, match="known: day, project, model, provider"):
        cost.sums([], "hour", prices.load())


def test_the_document_is_json_also_when_piped_nowhere(filled: Path) -> None:
    document: Any = json.loads(run_cmem("cost", "--json", "--since", "all").stdout)
    assert set(document) == {
        "since",
        "until",
        "by",
        "rows",
        "total",
        "free_observations",
        "unpriced_models",
        "prices",
        "today",
    }
