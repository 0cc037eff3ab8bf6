"""What the records of a reply that was cut at the token limit can be made of."""

from __future__ import annotations

import making
import pytest
import seeding

from cmem.model import ObservationDraft, Observed, Reply, Usage
from cmem.observer import reach
from cmem.observer.errors import UnusableReply

STEPS = tuple(
    making.bash(10 + step, f"make step-{step}", f"step-{step} is up") for step in range(6)
)


def reply(*drafts: ObservationDraft, cut: bool = True) -> Observed:
    return Observed(Reply(drafts, None, None, ()), Usage(9, 9, 0, 0, 0.0), "p", "m", "v", 1, cut)


def record(*facts: str, sources: tuple[int, ...] | None = None) -> ObservationDraft:
    return seeding.draft("Done")._replace(
        narrative="It was done.",
        facts=facts,
        files_read=(),
        files_modified=(),
        sources=sources,
    )


@pytest.mark.parametrize(
    ("drafts", "sources"),
    [
        ((record(sources=(10, 11)),), [(10, 11)]),
        ((record("`make step-1` was run"),), [(11,)]),
        ((record("`make step-1` and then `make  step-3`"),), [(11, 13)]),
        ((record("all went well"), record(sources=(12,))), [(12,)]),
    ],
    ids=["named", "quoted", "several quoted", "one of two known"],
)
def test_a_record_is_made_of_what_it_tells_of(
    drafts: tuple[ObservationDraft, ...], sources: list[tuple[int, ...]]
) -> None:
    found = reach.bounded(reply(*drafts), making.unit(tools=[*STEPS]))
    assert [one.sources for one in found.reply.observations] == sources
    lost = len(drafts) - len(sources)
    assert found.reply.notes == (("1 incomplete record(s) left out",) if lost else ())


def test_records_of_which_nobody_can_tell_are_no_use() -> None:
    with pytest.raises(UnusableReply, match=r"name no event \(cut at the token limit\)"):
        reach.bounded(reply(record("all went well")), making.unit(tools=[*STEPS]))


def test_whole_replies_and_units_of_one_event_stay_as_they_are() -> None:
    whole = reply(record("all went well"), cut=False)
    assert reach.bounded(whole, making.unit(tools=[*STEPS])) is whole
    small = reply(record("all went well"))
    assert reach.bounded(small, making.unit(tools=[STEPS[0]])) is small
