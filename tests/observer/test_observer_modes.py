"""Modes: what is built in, what a user's file may say, and how faults are told."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support import ROOT

from cmem.errors import ConfigError
from cmem.model import ModeConcept, ModeType
from cmem.observer import mode_file, modes, prompt

Put = Callable[..., str]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Write a mode file into the home; the home."""

    def write(name: str, text: str | bytes) -> str:
        folder = tmp_path / "modes"
        folder.mkdir(exist_ok=True)
        raw = text if isinstance(text, bytes) else text.encode()
        (folder / f"{name}.toml").write_bytes(raw)
        return str(tmp_path)

    return write


def problems(name: str, home: str) -> list[str]:
    mode, found = modes.resolve(name, home)
    assert (mode is None) == bool(found)
    return [str(one).replace(home, "HOME") for one in found]


WHOLE = """identity = "You watch."
record = ["what counts"]
types = [{ key = "note", description = "a note" }]
concepts = [{ key = "idea", description = "an idea" }]
[fields]
title = "t"
subtitle = "s"
fact = "f"
narrative = "n"
concept = "c"
events = "e"
[summary]
request = "r"
investigated = "i"
learned = "l"
completed = "c"
next_steps = "x"
notes = "n"
"""


@pytest.mark.parametrize("name", modes.BUILT_IN)
def test_built_in_modes_are_whole(name: str) -> None:
    mode = modes.load(name)
    assert (mode.name, mode.origin, mode.parents) == (name, "built in", ())
    assert mode.skip and mode.examples and mode.description
    keys = [one.key for one in mode.types]
    assert len(set(keys)) == len(keys) >= 8
    assert all(one.label and one.mark for one in mode.types)
    assert len({one.mark for one in mode.types}) == len(keys)
    assert not set(keys) & {one.key for one in mode.concepts}


def test_code_has_the_types_and_concepts_that_are_promised() -> None:
    mode = modes.load()
    assert sorted(one.key for one in mode.types) == [
        *("bugfix", "change", "decision", "discovery", "feature", "refactor"),
        *("security_alert", "security_note", "sensitive"),
    ]
    assert [one.key for one in mode.concepts] == [
        *("how-it-works", "why-it-exists", "what-changed", "problem-solution"),
        *("gotcha", "pattern", "trade-off"),
    ]


def test_a_mode_of_ones_own_needs_no_parent(put: Put) -> None:
    mode = modes.load("mine", put("mine", WHOLE))
    assert mode.types == (ModeType("note", "", "", "a note"),)
    assert mode.concepts == (ModeConcept("idea", "an idea"),)
    assert (mode.label, mode.revision, mode.skip, mode.examples) == ("mine", 1, (), ())
    assert dict(mode.fields)["fact"] == "f" and dict(mode.summary)["guidance"] == ""


CHILD = """inherits = "code"
label = "Firmware"
revision = 7
more_record = ["which board it was seen on"]
skip = ["compiler banners"]
drop_types = ["refactor", "sensitive"]
drop_concepts = ["pattern"]
default_type = "measurement"

[[types]]
key = "bugfix"
mark = "×"

[[types]]
key = "measurement"
description = "a value read from hardware"

[[concepts]]
key = "timing"
description = "when something happens"

[fields]
title = "one line, with the board"

[summary]
guidance = "Name the board."

[[examples]]
type = "measurement"
title = "Board B draws 12 mA asleep"
concepts = ["timing"]
"""


def test_the_page_shows_a_mode_that_works_and_the_types_there_are(put: Put) -> None:
    page = (ROOT / "docs" / "modes.md").read_text(encoding="utf-8")
    found = re.search(r"```toml\n(.*?)```", page, re.S)
    assert found is not None
    mode = modes.load("firmware", put("firmware", found[1]))
    assert [one.key for one in mode.types][-1] == "measurement"
    for name in modes.BUILT_IN:
        types = ", ".join(one.key for one in modes.load(name).types)
        assert re.search(rf"^\| `{name}` \| [^|]+ \| {types} \|$", page, re.M)
    assert f"`{prompt.version(modes.load())}`" in page
    for key in (*mode_file.KNOWN, *mode_file.FIELDS, *mode_file.SUMMARY):
        assert f"`{key}`" in page or f"`[{key}]`" in page or f"`[[{key}]]`" in page


def test_a_child_changes_what_it_names_and_keeps_the_rest(put: Put) -> None:
    home = put("firmware", CHILD)
    code, mode = modes.load(), modes.load("firmware", home)
    assert (mode.label, mode.description, mode.parents) == ("Firmware", "", ("code",))
    assert mode.origin == f"{home}/modes/firmware.toml"
    assert mode.identity == code.identity
    assert mode.record == (*code.record, "which board it was seen on")
    assert mode.skip == ("compiler banners",)
    assert [one.key for one in mode.types] == [
        *("measurement", "discovery", "bugfix", "feature", "change", "decision"),
        *("security_alert", "security_note"),
    ]
    old = {one.key: one for one in code.types}
    assert mode.types[2] == old["bugfix"]._replace(mark="×")
    assert mode.types[0] == ModeType("measurement", "", "", "a value read from hardware")
    assert [one.key for one in mode.concepts] == [
        *(one.key for one in code.concepts if one.key != "pattern"),
        "timing",
    ]
    assert dict(mode.fields) == {**dict(code.fields), "title": "one line, with the board"}
    assert dict(mode.summary) == {**dict(code.summary), "guidance": "Name the board."}
    assert [one.title for one in mode.examples] == [
        *(one.title for one in code.examples),
        "Board B draws 12 mA asleep",
    ]


def test_examples_of_a_dropped_type_go_with_it_and_all_can_be_dropped(put: Put) -> None:
    home = put("a", 'inherits = "code"\ndrop_types = ["bugfix"]\n')
    assert modes.load("a", home).examples == ()
    put("b", 'inherits = "code"\ndrop_examples = true\n')
    assert modes.load("b", home).examples == ()


def test_grandparents_count_and_a_file_can_change_a_built_in_mode(put: Put) -> None:
    home = put("code", 'inherits = "code"\nmore_skip = ["by code"]\n')
    put("team", 'inherits = "code"\nmore_skip = ["by team"]\n')
    put("mine", 'inherits = "team"\nmore_skip = ["by me"]\n')
    mode = modes.load("mine", home)
    assert mode.parents == ("team", "code", "code")
    assert mode.skip == (*modes.load().skip, "by code", "by team", "by me")
    assert modes.load("code", home).skip == (*modes.load().skip, "by code")


def test_names_are_the_users_files_and_the_built_in_ones(put: Put) -> None:
    assert modes.names("") == modes.names("/nowhere") == modes.BUILT_IN
    home = put("zeta", WHOLE)
    put("alpha", WHOLE)
    put("code", 'inherits = "code"')
    assert modes.names(home) == ("alpha", "code", "zeta", "research", "writing")


def test_a_byte_order_mark_and_crlf_do_no_harm(put: Put) -> None:
    home = put("mine", b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode())
    assert modes.load("mine", home).types[0].key == "note"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("key = \n", ["HOME/modes/m.toml:1: invalid value"]),
        (b"a = 1\nb = '\xff'\n", ["HOME/modes/m.toml:2: is not UTF-8"]),
        ("#" * 70_000, ["HOME/modes/m.toml:1: larger than 65,536 bytes"]),
        (
            'inherits = "code"\n\ntyps = 1\n',
            ["HOME/modes/m.toml:3: unknown key: typs; did you mean types?"],
        ),
        (
            'inherits = "code"\nrecord = "x"\nskip = [""]\nrevision = 0\ndrop_examples = 1\n',
            [
                "HOME/modes/m.toml:2: record must be a list of texts",
                "HOME/modes/m.toml:3: skip: each entry must have 1 to 400 characters",
                "HOME/modes/m.toml:4: revision must be a whole number from 1 on",
                "HOME/modes/m.toml:5: drop_examples must be true or false",
            ],
        ),
        (
            'inherits = "code"\n[[types]]\nkey = "a"\ndescription = "d"\n\n'
            '[[types]]\nkey = "Not One"\nmark = "a b"\n',
            [
                "HOME/modes/m.toml:7: types.key must be a lower-case word of letters, digits, "
                "- and _: Not One",
                "HOME/modes/m.toml:8: types.mark must be one sign without spaces",
            ],
        ),
        (
            'inherits = "code"\n[[types]]\nlabel = "A"\n[[concepts]]\nkey = "x"\ncolour = "red"\n',
            [
                "HOME/modes/m.toml:2: types needs a key",
                "HOME/modes/m.toml:6: unknown key: concepts.colour; known: key, description",
            ],
        ),
        (
            'inherits = "code"\n[[types]]\nkey = "a"\ndescription = "d"\n'
            '[[types]]\nkey = "a"\ndescription = "d"\n',
            ["HOME/modes/m.toml:6: types: a stands here twice"],
        ),
        (
            'inherits = "code"\n[fields]\nfacts = "x"\n',
            ["HOME/modes/m.toml:3: unknown key: fields.facts; did you mean fact?"],
        ),
        (
            f'inherits = "code"\nidentity = """\n{"long " * 900}"""\nfields = 3\ntypes = "x"\n',
            [
                "HOME/modes/m.toml:2: identity has 4,500 characters, 4,000 are allowed",
                "HOME/modes/m.toml:4: fields must be a table: [fields]",
                "HOME/modes/m.toml:5: types must be a list of tables: [[types]]",
            ],
        ),
        (
            'inherits = "code"\ndrop_types = ["bugfx"]\ndefault_type = "finding"\n',
            [
                "HOME/modes/m.toml:2: unknown key in drop_types: bugfx; did you mean bugfix?",
                "HOME/modes/m.toml:3: unknown default_type: finding; known: discovery, bugfix, "
                "feature, refactor, change, decision, security_alert, security_note, sensitive",
            ],
        ),
        (
            'inherits = "code"\n[[types]]\nkey = "new"\n',
            ["HOME/modes/m.toml:3: types: new needs a description"],
        ),
        (
            'inherits = "code"\n[[examples]]\ntitle = "t"\ntype = "bugfixes"\n',
            ["HOME/modes/m.toml:4: unknown type in examples: bugfixes; did you mean bugfix?"],
        ),
        (
            'inherits = "cod"\n',
            ["HOME/modes/m.toml:1: inherits: unknown mode: cod; did you mean code?"],
        ),
        ('# me\ninherits = "m"\n', ["HOME/modes/m.toml:2: inherits from itself: m → m"]),
        (
            "",
            [
                f'HOME/modes/m.toml:1: {name} is missing: add it, or inherit it: inherits = "code"'
                for name in ("identity", "record", "types", "concepts")
            ]
            + [
                "HOME/modes/m.toml:1: [fields] lacks title, subtitle, fact, narrative, concept, "
                'events, or inherit it: inherits = "code"',
                "HOME/modes/m.toml:1: [summary] lacks request, investigated, learned, completed, "
                'next_steps, notes, or inherit it: inherits = "code"',
            ],
        ),
    ],
)
def test_faults_are_told_with_file_and_line(text: str | bytes, found: list[str], put: Put) -> None:
    assert problems("m", put("m", text)) == found


def test_a_circle_of_parents_is_told_with_its_way(put: Put) -> None:
    home = put("a", 'inherits = "b"')
    put("b", 'inherits = "c"')
    put("c", 'inherits = "a"')
    assert problems("a", home) == ["HOME/modes/c.toml:1: inherits from itself: a → b → c → a"]


def test_a_fault_of_a_parent_is_told_where_it_is(put: Put) -> None:
    home = put("parent", 'inherits = "code"\nfoo = 1\n')
    put("child", 'inherits = "parent"\n')
    assert problems("child", home) == [
        "HOME/modes/parent.toml:2: unknown key: foo; known: " + ", ".join(mode_file.KNOWN)
    ]


def test_too_many_parents_and_too_large_modes_are_refused(put: Put) -> None:
    for number in range(12):
        home = put(f"m{number}", f'inherits = "m{number + 1}"\n')
    assert problems("m0", home) == ["HOME/modes/m8.toml:1: inherits over more than 8 steps"]
    entries = "\n".join(f'"{number} {"x" * 390}",' for number in range(60))
    put("big", f'inherits = "code"\nrecord = [\n{entries}\n]\n')
    (problem,) = problems("big", home)
    assert problem.startswith("HOME/modes/big.toml:1: the whole mode has ")


@pytest.mark.parametrize("name", ["nope", "../config", "", "Code", "a" * 60, "mine\0"])
def test_an_unknown_mode_names_the_known_ones(name: str, put: Put) -> None:
    home = put("mine", WHOLE)
    with pytest.raises(ConfigError, match=r"^unknown mode: .*; (known: mine, code|did you mean )"):
        modes.load(name, home)


def test_a_file_whose_name_is_none_is_told_so(put: Put, tmp_path: Path) -> None:
    home = put("My Mode", WHOLE)
    put(".swap", WHOLE)
    assert modes.names(home) == ("My Mode", *modes.BUILT_IN)
    rule = "the name of a mode has lower-case letters, digits, - and _ only"
    assert problems("My Mode", home) == [f"mode My Mode cannot be used: {rule}"]
    path = str(tmp_path / "modes" / "My Mode.toml")
    assert [str(one) for one in modes.resolve_file(path, home)[1]] == [
        f"{path}:1: rename the file: {rule}"
    ]


def test_load_tells_the_first_fault_and_how_to_see_the_others(put: Put) -> None:
    home = put("m", 'inherits = "code"\nfoo = 1\nrecord = 2\n')
    with pytest.raises(ConfigError) as caught:
        modes.load("m", home)
    assert str(caught.value) == (
        f"{home}/modes/m.toml:2: unknown key: foo; known: {', '.join(mode_file.KNOWN)} "
        "(and 1 more); see `cmem mode check m`"
    )


def test_a_file_that_is_none_is_told_and_not_waited_for(put: Put, tmp_path: Path) -> None:
    home = put("mine", WHOLE)
    os.mkfifo(tmp_path / "modes" / "pipe.toml")
    (tmp_path / "modes" / "folder.toml").mkdir()
    (tmp_path / "modes" / "link.toml").symlink_to("nowhere")
    assert problems("pipe", home) == ["HOME/modes/pipe.toml:1: is no regular file"]
    assert problems("folder", home) == ["HOME/modes/folder.toml:1: is a directory"]
    assert problems("link", home) == ["HOME/modes/link.toml:1: no such file or directory"]


def test_lines_of_multi_line_texts_are_not_keys() -> None:
    text = 'a = """\nb = 1\n[[types]]\n"""\nb = 2\n[[types]]\nkey = 1\n'
    assert mode_file.line_of(text, ("", 0, "b")) == 5
    assert mode_file.line_of(text, ("types", 0, "key")) == 7
    assert mode_file.line_of(text, ("types", 0, "mark")) == 6
    assert mode_file.line_of(text, ("types", 1, "mark")) == 1
