"""What counts in a reply, and what does not."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmem.model import Mode, ObservationDraft, Reply
from cmem.observer import modes, parser, prompt
from cmem.observer.errors import UnusableReply

MODE = modes.load("code")


@pytest.fixture
def turn(make: Any) -> Any:
    tools = [
        make.tool(
            12, "Read", {"file_path": f"{make.root}/calc.py"}, {"file": {"content": "b - a"}}
        ),
        make.edit(13, "calc.py", "b - a", "a - b"),
        make.bash(14, "git commit -qm fix && sed -i s/a/b/ other.py", "6d9a472 fix"),
    ]
    return make.unit("fix it; see https://example.org/a", "Fixed.", tools=tools)


def one(reply: str, turn: Any) -> ObservationDraft:
    (draft,) = parser.parse_observation(reply, turn, MODE).observations
    return draft


FULL = """<observation>
  <type>bugfix</type>
  <title>subtract &amp; add: operands &#x27;swapped&#39;</title>
  <subtitle>one line</subtitle>
  <facts><fact>`a - b` now</fact><fact>Commit 6d9a472</fact></facts>
  <narrative>First.
Second &lt;b&gt; &eacute; & more < less.</narrative>
  <concepts><concept>problem-solution</concept><concept>bugfix</concept></concepts>
  <files_read><file>calc.py</file></files_read>
  <files_modified><file>/home/dev/project/calc.py</file></files_modified>
  <events>T13, T99</events>
</observation>"""


def test_every_field(turn: Any) -> None:
    assert parser.parse_observation(FULL, turn, MODE) == Reply(
        observations=(
            ObservationDraft(
                type="bugfix",
                title="subtract & add: operands 'swapped'",
                subtitle="one line",
                narrative="First.\nSecond <b> &eacute; & more < less.",
                facts=("`a - b` now", "Commit 6d9a472"),
                concepts=("problem-solution",),
                files_read=(),
                files_modified=("calc.py",),
                sources=(13,),
                at=turn.evidence[1].at,
                agent_id="",
                agent_type="",
            ),
        ),
        summary=None,
        skipped=None,
        notes=(),
    )


MINIMAL = "<observation><title>T one</title></observation>"


@pytest.mark.parametrize(
    "reply",
    [
        MINIMAL,
        f"```xml\n{MINIMAL}\n```",
        f"```\n{MINIMAL}```",
        f"I would say:\n\n{MINIMAL}\n\nAnything else?",
        f"{MINIMAL}\n<observation><title>cut of",
        "<observation><title><![CDATA[T one]]></title></observation>",
        "<OBSERVATION>\n<Title>T one</Title>\n</OBSERVATION>",
        '<observation id="1"><title>T one</title></observation >',
        "<observation><title>T one<facts></facts></observation>",
        f"<observation>\n<title>cut\n<narrative>x\n{MINIMAL}",
    ],
)
def test_forms_of_the_same_record(reply: str, turn: Any) -> None:
    draft = one(reply, turn)
    assert (draft.title, draft.type, draft.sources) == ("T one", "discovery", None)


def test_types_missing_unknown_and_as_attribute(turn: Any) -> None:
    notes = parser.parse_observation(MINIMAL, turn, MODE).notes
    assert notes == ("type missing",)
    reply = MINIMAL.replace("<title>", "<type>Post Mortem</type><title>")
    parsed = parser.parse_observation(reply, turn, MODE)
    assert (parsed.observations[0].type, parsed.notes) == (
        "post-mortem",
        ("unknown type: post-mortem",),
    )
    assert one(
        MINIMAL.replace("observation>", 'observation type="security_note">', 1), turn
    ).type == ("security_note")


def test_plain_text_in_a_block_is_salvaged_and_an_empty_block_is_not(turn: Any) -> None:
    draft = one("<observation>The limit is per key. It resets at noon.</observation>", turn)
    assert draft.title == "The limit is per key"
    assert draft.narrative == "The limit is per key. It resets at noon."
    empty = "<observation><title></title><narrative> </narrative><facts></facts></observation>"
    parsed = parser.parse_observation(empty + MINIMAL, turn, MODE)
    assert len(parsed.observations) == 1
    assert "empty observation left out" in parsed.notes


def test_tags_inside_a_text_are_text(turn: Any) -> None:
    body = "<narrative>The page lacks a <title>x</title> tag.</narrative><title>Right</title>"
    draft = one(f"<observation>{body}</observation>", turn)
    assert (draft.title, draft.narrative) == ("Right", "The page lacks a <title>x</title> tag.")


def test_facts_without_tags_are_lines(turn: Any) -> None:
    draft = one("<observation><title>t</title><facts>- a b\n* c d\n\n</facts></observation>", turn)
    assert draft.facts == ("a b", "c d")


def test_skip_is_a_result_and_records_win_over_it(turn: Any) -> None:
    for reply, reason in {
        '<skip_summary reason="only a &quot;ls&quot;"/>': 'only a "ls"',
        "<skip_summary />": "no reason given",
        "```xml\n<skip_summary reason='x'></skip_summary>\n```": "x",
        "<skip_summary>nothing new</skip_summary>": "nothing new",
    }.items():
        assert parser.parse_observation(reply, turn, MODE) == Reply((), None, reason, ())
    both = parser.parse_observation(MINIMAL + '<skip_summary reason="x"/>', turn, MODE)
    assert (len(both.observations), both.skipped) == (1, None)


def test_names_in_a_title_that_occur_nowhere_are_in_doubt(turn: Any) -> None:
    reply = "<observation><title>Edited calc.py and evil.py</title></observation>"
    draft = one(reply, turn)
    assert (draft.title, draft.unverified) == ("Edited calc.py and evil.py", ("evil.py",))
    notes = parser.parse_observation(reply, turn, MODE).notes
    assert "quoted but not in the events: evil.py" in notes


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty reply"),
        ("  \n", "empty reply"),
        ("I cannot help with that.", "no observation in the reply, only other text"),
        ("<observation><title>never closed", "cut off before the first observation was complete"),
        ("<observation><title></title></observation>", "nothing but an empty observation"),
        ("<observation>ok</observation>", "nothing but an empty observation"),
        (
            "I will not produce <observation>…</observation> blocks.",
            "no observation in the reply, only other text",
        ),
        (
            "<summary><completed>x</completed></summary>",
            "summary in answer to a request for observation",
        ),
    ],
)
def test_unusable_replies(reply: str, reason: str, turn: Any) -> None:
    with pytest.raises(UnusableReply) as caught:
        parser.parse_observation(reply, turn, MODE)
    assert caught.value.reason == reason


def test_what_is_not_in_the_events_is_dropped_or_marked(turn: Any) -> None:
    reply = """<observation><title>Fixed in deadbee1</title>
    <facts><fact>Commit deadbee1 holds it</fact><fact>See https://evil.example/x?q=1 for more</fact>
    <fact>/nope/gone.py was changed</fact><fact>`b - a` was wrong</fact><fact>`zzz` too</fact></facts>
    <narrative>Read https://example.org/a and https://evil.example/x.</narrative>
    <files_read><file>/etc/passwd</file></files_read>
    <files_modified><file>nope.py</file><file>other.py</file></files_modified></observation>"""
    parsed = parser.parse_observation(reply, turn, MODE)
    draft = parsed.observations[0]
    assert draft.title == "Fixed in [unverified]"
    assert draft.narrative == "Read https://example.org/a and [unverified]."
    assert draft.facts == ("`b - a` was wrong", "`zzz` too")
    assert (draft.files_read, draft.files_modified) == (("calc.py",), ("calc.py", "other.py"))
    assert parsed.notes == (
        "fact left out, not in the events: deadbee1",
        "fact left out, not in the events: https://evil.example/x?q=1",
        "fact left out, not in the events: /nope/gone.py",
        "quoted but not in the events: zzz",
        "type missing",
        "file not in the events left out: /etc/passwd",
        "file not in the events left out: nope.py",
        "not in the events, marked: deadbee1",
        "not in the events, marked: https://evil.example/x",
    )


def test_caps(turn: Any) -> None:
    facts = "".join(f"<fact>{n} {'word ' * 110}</fact>" for n in range(22))
    body = (
        f"<title>{'tit le ' * 60}</title><facts>{facts}</facts><narrative>{'n' * 4500}</narrative>"
    )
    draft = one(f"<observation>{body}</observation>", turn)
    assert (len(draft.facts), len(draft.narrative)) == (20, 4000)
    assert len(draft.title) <= 200 and max(map(len, draft.facts)) <= 500


def test_records_over_the_limit_are_left_out_and_said(turn: Any) -> None:
    reply = "".join(MINIMAL.replace("one", str(number)) for number in range(500))
    parsed = parser.parse_observation(reply, turn, MODE)
    assert [draft.title for draft in parsed.observations] == [f"T {one}" for one in range(20)]
    assert "480 observation(s) over the limit left out" in parsed.notes


def test_one_record_five_hundred_times_is_one_record(turn: Any) -> None:
    parsed = parser.parse_observation(MINIMAL * 500, turn, MODE)
    assert len(parsed.observations) == 1
    assert "499 repeated observation(s) left out" in parsed.notes


def test_types_of_another_mode_and_its_neutral_one(turn: Any) -> None:
    writing = modes.load("writing")
    reply = MINIMAL.replace("<title>", "<type>Fact check</type><title>")
    (draft,) = parser.parse_observation(reply, turn, writing).observations
    assert draft.type == "fact_check"
    (draft,) = parser.parse_observation(MINIMAL, turn, writing).observations
    assert draft.type == "note"


@pytest.mark.parametrize("mode", [modes.load(name) for name in modes.BUILT_IN])
def test_what_is_shown_as_example_is_no_record(mode: Mode, turn: Any) -> None:
    system = prompt.observation_system(mode)
    with pytest.raises(UnusableReply) as caught:
        parser.parse_observation(system[system.index("For example.") :], turn, mode)
    assert caught.value.reason == "nothing but an empty observation"


def test_no_doctype_is_expanded(turn: Any) -> None:
    reply = '<!DOCTYPE x [<!ENTITY a "boom">]><observation><title>&a;&amp;lt; &#0;&#27;x</title></observation>'
    assert one(reply, turn).title == "&a;&lt; x"


def test_a_subagents_record_names_it(turn: Any, make: Any) -> None:
    tools = [make.bash(1, "ls"), make.tool(2, "Bash", {"command": "rg x"}, agent="Explore")]
    draft = one(MINIMAL.replace("</o", "<events>T2</events></o"), make.unit("a", "b", tools=tools))
    assert (draft.agent_id, draft.agent_type, draft.sources) == ("a1", "Explore", (2,))


def test_a_record_of_a_whole_turn_is_a_subagents_where_all_of_it_is(make: Any) -> None:
    helper = make.tool(2, "Bash", {"command": "rg x"}, agent="Explore")
    whole = one(MINIMAL, make.unit("a", "b", tools=[helper]))
    assert (whole.agent_id, whole.agent_type, whole.sources) == ("a1", "Explore", None)
    mixed = one(MINIMAL, make.unit("a", "b", tools=[make.bash(1, "ls"), helper]))
    assert (mixed.agent_id, mixed.agent_type, mixed.sources) == ("", "", None)


# --- summaries -----------------------------------------------------------------------


def test_summary_takes_its_files_from_the_observations(turn: Any, make: Any) -> None:
    unit = make.summary_unit([turn], [(one(FULL, turn),)])
    reply = """Sure:
<summary><request>Fix &amp; commit</request><investigated>none</investigated>
<learned>Operands were swapped</learned><completed>Commit 6d9a472, not deadbee1</completed>
<next_steps>N/A</next_steps><notes></notes><files_edited><file>/nope.py</file></files_edited></summary>"""
    summary = parser.parse_summary(reply, unit).summary
    assert summary is not None
    assert summary._asdict() == {
        "request": "Fix & commit",
        "investigated": "",
        "learned": "Operands were swapped",
        "completed": "Commit 6d9a472, not [unverified]",
        "next_steps": "",
        "notes": "",
        "files_read": (),
        "files_edited": ("calc.py",),
    }


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("<summary></summary>", "nothing but an empty summary"),
        ("<summary><request>r</request><notes>n</notes></summary>", "nothing but an empty summary"),
        ("<summary><learned>none.</learned></summary>", "nothing but an empty summary"),
        ("<summary><learned>x", "cut off before the first summary was complete"),
        (MINIMAL, "observation in answer to a request for summary"),
        ("All done!", "no summary in the reply, only other text"),
    ],
)
def test_unusable_summaries(reply: str, reason: str, turn: Any, make: Any) -> None:
    with pytest.raises(UnusableReply) as caught:
        parser.parse_summary(reply, make.summary_unit([turn], [()]))
    assert caught.value.reason == reason


def test_summary_skip(turn: Any, make: Any) -> None:
    unit = make.summary_unit([turn], [()])
    assert parser.parse_summary('<skip_summary reason="idle"/>', unit).skipped == "idle"


PIECES = [
    "<observation>",
    "</observation>",
    "<title>",
    "</title>",
    "<fact>",
    "<![CDATA[",
    "]]>",
    "&#",
    "```",
    "\n",
    "a b",
]


@settings(max_examples=150, deadline=None)
@given(
    reply=st.one_of(
        st.text(max_size=300), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
    )
)
def test_any_reply_gives_records_or_a_reason(reply: str) -> None:
    from cmem.model import TurnUnit

    unit = TurnUnit(1, 1, "p", "/r", "auto", 1, 1, "hi", 0, (), "m", "stop", "", 9, 0)
    try:
        parsed = parser.parse_observation(reply, unit, MODE)
    except UnusableReply as error:
        assert error.reason
    else:
        assert parsed.observations or parsed.skipped
        for draft in parsed.observations:
            assert draft.title


@pytest.mark.parametrize(
    "reply",
    [
        "".join(MINIMAL.replace("one", str(number)) for number in range(500)),
        "<observation><title>a " * 250_000,
        "<observation>\n" * 400_000,
        f"<observation>{'<title>' * 700_000}</observation>",
        f"<observation><facts>{'<fact>x y z</fact>' * 300_000}</facts></observation>",
        "<think></think>" * 350_000,
        f"<observation><title>t</title><narrative>{'a/' * 2_500_000}</narrative></observation>",
    ],
    ids=["500", "unclosed", "opened", "titles", "facts", "thoughts", "paths"],
)
def test_large_replies_take_less_than_a_second(reply: str, turn: Any) -> None:
    began = time.process_time()
    with contextlib.suppress(UnusableReply):
        parser.parse_observation(reply, turn, MODE)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "piece", [*PIECES, "<observation>\n<title>", "<skip_summary ", "&amp;", "a.", "/a.b "]
)
def test_hostile_repetition_is_read_in_bounded_time(piece: str, turn: Any) -> None:
    reply = piece * (262_144 // len(piece))
    with pytest.raises(UnusableReply):
        parser.parse_observation(reply, turn, MODE)
    block = f"<observation><narrative>{reply[:200_000]}</narrative></observation>"
    try:
        parser.parse_observation(block, turn, MODE)
    except UnusableReply as error:
        assert error.reason
