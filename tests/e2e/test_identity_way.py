"""Writing and reading agree on what a project is: hooks in one place, `cmem search` and
`project list` in another, through real repositories, commands and a store in between."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from places import AT_ONCE, OTHER, SAME, Case, Place, visit
from support import run_json

# What a user meets; the others take their time in `make test-slow`.
COMMON = (
    *("subdirectory", "worktree", "removed worktree", "symbolic link", "case"),
    *("ssh and https remote", "renamed with a remote", "places that are no project"),
    *("submodule", "nested repository", "same folder name", "renamed without a remote"),
)


def names(table: dict[str, Case]) -> list[object]:
    return [
        pytest.param(name, marks=() if name in COMMON else (pytest.mark.slow,)) for name in table
    ]


def word(number: int) -> str:
    return f"saffron{number}"


def go(home: Path, case: Case, tmp_path: Path, *, at_once: bool) -> list[Place]:
    """A session in each place, each taken in by a run of its own or all by one."""
    places: list[Place] = []
    for place in case(tmp_path):
        visit(home, place, f"s{len(places)}", f"gather the {word(len(places))} harvest")
        places.append(place)
        if at_once:
            run_json("compress", cwd="/")
    run_json("compress", "--all", cwd="/")
    return places


def seen(place: Place, count: int) -> set[int]:
    """Whose prompts a search in the place finds."""
    cwd, env = place
    hits = run_json("search", "harvest", "--kind", "prompt", cwd=cwd, **env)["hits"]
    return {number for number in range(count) for hit in hits if word(number) in hit["title"]}


def sessions() -> list[int]:
    """How many sessions each project has, merged ones with it, of those that have any."""
    found = Counter[int]()
    for one in run_json("project", "list", cwd="/")["projects"]:
        found[one["merged_into"] or one["id"]] += one["counts"]["sessions"]
    return sorted(count for count in found.values() if count)


@pytest.mark.parametrize("name", names(SAME))
def test_all_is_found_from_every_place(name: str, home: Path, tmp_path: Path) -> None:
    places = go(home, SAME[name], tmp_path, at_once=name in AT_ONCE)
    standing = [place for place in places if place[0].is_dir()]
    assert standing
    for place in standing:
        assert seen(place, len(places)) == set(range(len(places))), place
    assert sessions() == [len(places)]


@pytest.mark.parametrize("name", names(OTHER))
def test_each_place_finds_its_own(name: str, home: Path, tmp_path: Path) -> None:
    places = go(home, OTHER[name], tmp_path, at_once=False)
    for number, place in enumerate(places):
        if place[0].is_dir():
            assert seen(place, len(places)) == {number}, place
    assert sessions() == [1] * len(places)
