"""``cmem mode list|show|check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import run_cmem

from cmem.observer import modes, prompt

MINE = """inherits = "writing"
label = "Novel"
description = "Work on the novel."
[[types]]
key = "draft"
mark = "✎"
"""


@pytest.fixture
def mine(home: Path) -> Path:
    folder = home / "modes"
    folder.mkdir(parents=True)
    (folder / "novel.toml").write_text(MINE, encoding="utf-8")
    return folder


def run(*args: str, cwd: Path | None = None, **env: str) -> tuple[int, str, str]:
    done = run_cmem("mode", *args, cwd=cwd, **env)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_list_without_modes_of_ones_own(home: Path) -> None:
    assert run("list") == (
        0,
        "* code      Software work: what was built, fixed, found out and decided.\n"
        "  research  Reading and inquiry: findings, their sources, and how sure they are.\n"
        "  writing   Work on a text: its purpose, voice, structure, changes and the author's "
        "wishes.\n",
        "",
    )


def test_list_tells_own_chosen_broken_and_missing_modes(mine: Path) -> None:
    (mine / "broken.toml").write_text('inherits = "cod"\n', encoding="utf-8")
    code, out, err = run("list", CMEM_MODE="novel")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == [
        f"  broken    broken: {mine}/broken.toml:1: inherits: unknown mode: cod; did you mean "
        "code?",
        f"* novel     Work on the novel.  (inherits writing; {mine}/novel.toml)",
    ]
    assert run("list", CMEM_MODE="gone")[1].splitlines()[-1] == (
        "* gone      broken: unknown mode: gone; known: broken, novel, code, research, writing"
    )


def test_list_as_json(mine: Path) -> None:
    (mine / "broken.toml").write_text("x = 1\n", encoding="utf-8")
    found = json.loads(run("list", "--json")[1])["modes"]
    assert [(one["name"], one["chosen"]) for one in found] == [
        *(("broken", False), ("novel", False), ("code", True)),
        *(("research", False), ("writing", False)),
    ]
    assert found[1] == {
        "name": "novel",
        "chosen": False,
        "label": "Novel",
        "description": "Work on the novel.",
        "origin": f"{mine}/novel.toml",
        "inherits": ["writing"],
        "version": prompt.version(modes.load("novel", str(mine.parent))),
        "problems": [],
    }
    assert found[0]["problems"][0].startswith(f"{mine}/broken.toml:1: unknown key: x")


def test_show_tells_types_concepts_and_what_a_model_is_told(mine: Path) -> None:
    code, out, err = run("show", "novel")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    mode = modes.load("novel", str(mine.parent))
    assert lines[:5] == [
        f"Novel  novel, inherits writing; {mine}/novel.toml",
        "Work on the novel.",
        f"prompt version: {prompt.version(mode)}",
        "",
        "types",
    ]
    assert f"  ✎ {'draft'.ljust(10)}  a new part was written" in lines
    assert f"  · {'audience'.ljust(11)}  who reads the text and what they know" in lines
    for text in (prompt.observation_system(mode), prompt.summary_system(mode)):
        assert "\n".join("  " + line if line else "" for line in text.split("\n")) in out


def test_show_without_a_name_is_the_chosen_mode(mine: Path) -> None:
    assert run("show", CMEM_MODE="research")[1].startswith("Research  research, built in\n")
    mine.parent.joinpath("config.toml").write_text('mode = "novel"\n', encoding="utf-8")
    assert run("show")[1].startswith("Novel  novel, inherits writing; ")


def test_show_only_the_prompt(home: Path) -> None:
    mode = modes.load("writing")
    assert run("show", "writing", "--prompt")[1] == prompt.observation_system(mode) + "\n"
    assert run("show", "writing", "--prompt", "--summary")[1] == prompt.summary_system(mode) + "\n"


def test_show_as_json(home: Path) -> None:
    shown = json.loads(run("show", "code", "--json")[1])
    mode = modes.load("code")
    assert shown["types"][1] == {
        "key": "bugfix",
        "label": "Bug fix",
        "mark": "●",
        "description": "something was broken and works now",
    }
    assert shown["prompt"] == {
        "observation": prompt.observation_system(mode),
        "summary": prompt.summary_system(mode),
    }
    assert list(shown) == [*mode._fields, "version", "prompt"]


def test_check_of_a_good_mode_and_of_a_file_anywhere(mine: Path, tmp_path: Path) -> None:
    version = prompt.version(modes.load("novel", str(mine.parent)))
    assert run("check", "novel") == (0, f"novel: no problem found ({version})\n", "")
    place = tmp_path / "some where"
    place.mkdir()
    (place / "draft.toml").write_text('inherits = "novel"\n', encoding="utf-8")
    code, out, err = run("check", "draft.toml", cwd=place)
    assert (code, err) == (0, "") and out.startswith("draft: no problem found (draft/1-")
    (place / "draft.toml").write_text('inherits = "novel"\n\nlable = "x"\n', encoding="utf-8")
    assert run("check", str(place / "draft.toml")) == (
        1,
        f"{place}/draft.toml:3: unknown key: lable; did you mean label?\n",
        "",
    )
    assert run("check", "none.toml", cwd=place) == (
        1,
        f"{place}/none.toml:1: no such file or directory\n",
        "",
    )


def test_check_tells_every_problem(mine: Path) -> None:
    (mine / "bad.toml").write_text('record = 1\n\nfoo = "x"\n', encoding="utf-8")
    code, out, err = run("check", "bad")
    assert (code, err) == (1, "")
    assert out.splitlines()[0] == f"{mine}/bad.toml:1: record must be a list of texts"
    assert out.splitlines()[1].startswith(f"{mine}/bad.toml:3: unknown key: foo; known: ")
    code, out, err = run("check", "bad", "--json")
    assert (code, err) == (1, "")
    assert json.loads(out)["ok"] is False
    assert json.loads(out)["problems"][0] == {
        "path": f"{mine}/bad.toml",
        "line": 1,
        "problem": "record must be a list of texts",
    }


@pytest.mark.parametrize("command", ["show", "check"])
def test_an_unknown_mode_is_one_line_on_stderr(command: str, home: Path) -> None:
    code, out, err = run(command, "cod")
    assert (code, out) == (78 if command == "show" else 1, "")
    assert err == "cmem: unknown mode: cod; did you mean code?\n"


def test_a_mode_named_by_a_path_is_no_setting(home: Path) -> None:
    code, out, err = run("list", CMEM_MODE="../../evil")
    assert (code, out) == (78, "")
    assert err == (
        "cmem: could not read settings: CMEM_MODE: must be the name of a mode: see "
        "`cmem mode list`\n"
    )
