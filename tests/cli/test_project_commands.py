from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import apsw
import places
import pytest
import samples
import support

OLD = "5f7d2c1a-0000-4000-8000-000000000001"
NONE = dict.fromkeys(("sessions", "prompts", "tool_uses", "observations", "summaries"), 0)
CALC = {"sessions": 1, "prompts": 1, "tool_uses": 2, "observations": 2, "summaries": 1}
ONE_PROMPT = NONE | {"sessions": 1, "prompts": 1}


def add(conn: apsw.Connection, name: str, root: str, *, hours: int, text: str = "") -> int:
    """A project with one session of one prompt."""
    ref = samples.project(conn, name, root)
    at = samples.NOON + hours * samples.HOUR
    session = samples.session(conn, ref, f"s{ref}", cwd=root, started_at=at, last_event_at=at)
    turn = samples.turn(conn, session, 1)
    samples.prompt(conn, session, turn, text or f"a prompt of {name}", created_at=at)
    return ref


@pytest.fixture
def there(tmp_path: Path) -> Path:
    place = tmp_path / "there" / "calc"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def stored(home: Path, there: Path) -> Path:
    """calc (1), whose folder is gone; notes (2); another calc (3), whose folder is there."""
    conn = samples.calc(home)
    add(conn, "notes", "/src/notes", hours=2)
    add(conn, "Calc", str(there), hours=3)
    conn.close()
    return home


def run(*args: str, **env: str) -> tuple[int, str, str]:
    done = support.run_cmem("project", *args, **env)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def ok(*args: str) -> str:
    code, out, err = run(*args)
    assert (code, err) == (0, "")
    return out


def listed(*keys: str) -> list[tuple[Any, ...]]:
    found = support.run_json("project", "list")["projects"]
    return [tuple(one[key] for key in keys) for one in found]


def hits(project: str, text: str) -> list[str]:
    found = support.run_json("search", text, "--project", project)["hits"]
    return sorted(hit["id"] for hit in found)


def test_list_tells_everything(stored: Path, there: Path) -> None:
    assert support.run_json("project", "list") == {
        "projects": [
            {
                "id": 3,
                "name": "Calc",
                "key": str(there),
                "source": "path",
                "root": str(there),
                "merged_into": None,
                "last_used_at": samples.NOON + 3 * samples.HOUR,
                "counts": ONE_PROMPT,
                "gone": False,
                "resembles": 1,
            },
            {
                "id": 2,
                "name": "notes",
                "key": "/src/notes",
                "source": "path",
                "root": "/src/notes",
                "merged_into": None,
                "last_used_at": samples.NOON + 2 * samples.HOUR,
                "counts": ONE_PROMPT,
                "gone": True,
                "resembles": None,
            },
            {
                "id": 1,
                "name": "calc",
                "key": "/src/calc",
                "source": "path",
                "root": "/src/calc",
                "merged_into": None,
                "last_used_at": samples.NOON + samples.HOUR,
                "counts": CALC,
                "gone": True,
                "resembles": None,
            },
        ]
    }


def test_list_as_text(stored: Path, there: Path) -> None:
    when = [f"2026-05-2{day}" for day in "789"]
    lines = [line.split("  ") for line in ok("list").rstrip("\n").split("\n")]
    assert [[word for word in line if word[:10] not in when] for line in lines] == [
        [
            "3",
            " Calc",
            "1 session, 1 prompt",
            str(there),
            "maybe what became of 1: `cmem project merge 1 3`",
        ],
        ["2", " notes", "1 session, 1 prompt", "/src/notes (gone)"],
        [
            "1",
            " calc",
            "1 session, 1 prompt, 2 tool uses, 2 observations, 1 summary",
            "/src/calc (gone)",
        ],
    ]


def test_forgotten_rows_do_not_count(stored: Path) -> None:
    support.run_json("forget", "--session", "N1", "--yes")
    assert listed("id", "counts")[-1] == (1, NONE)


def test_without_a_store(home: Path) -> None:
    assert support.run_json("project", "list") == {"projects": []}
    assert ok("list") == "no projects yet\n"
    for args in (["show", "x"], ["merge", "a", "b"], ["rename", "a", "b"], ["alias", "a", "/b"]):
        assert run(*args) == (
            1,
            "",
            "cmem: no memories yet, so there are no projects; they come with the first session\n",
        )
    assert list(home.iterdir()) == []


def test_show(stored: Path) -> None:
    shown = support.run_json("project", "show", "1")
    (session,) = shown.pop("sessions")
    assert (session["id"], session["host_session"], session["prompts"]) == ("N1", OLD, 0)
    assert shown == {
        "id": 1,
        "name": "calc",
        "key": "/src/calc",
        "source": "path",
        "root": "/src/calc",
        "merged_into": None,
        "last_used_at": samples.NOON + samples.HOUR,
        "counts": CALC,
        "gone": True,
        "members": [],
        "aliases": [{"kind": "path", "alias": "/src/calc", "project": 1}],
    }
    lines = ok("show", "/SRC/Notes").split("\n")
    assert lines[:2] == ["project:    notes (2)", "recognised: /src/notes (path)"]
    assert lines[5] == "alias:      path /src/notes"


def test_show_is_of_this_folder_without_a_name(stored: Path) -> None:
    # The test's own folder lies in a temp directory and so is no project.
    assert run("show") == (
        1,
        "",
        "cmem: nothing remembered for unsorted yet; `cmem project list` has all\n",
    )
    conn = samples.open_store(stored)
    alias = {"kind": "env", "alias": "mine", "project_id": 2, "created_at": samples.NOON}
    samples.insert(conn, "project_aliases", **alias)
    conn.close()
    assert support.run_json("project", "show", CMEM_PROJECT="Mine")["id"] == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [("1", 1), ("#2", 2), ("NOTES", 2), ("/src/calc", 1), ("3", 3)],
)
def test_a_project_has_many_names(stored: Path, text: str, found: int) -> None:
    assert support.run_json("project", "show", text)["id"] == found


def test_a_name_that_can_be_two_is_refused(stored: Path, there: Path) -> None:
    assert run("show", "calc") == (
        1,
        "",
        f"cmem: calc can be several projects: 1 (/src/calc), 3 ({there}); "
        "give the number or the key\n",
    )
    assert run("show", "note") == (1, "", "cmem: no such project: note; did you mean notes?\n")


def test_merge_and_back(stored: Path) -> None:
    assert hits("notes", "prompt") == ["P2"]
    ok("merge", "notes", "1", "--dry-run")
    assert hits("notes", "prompt") == ["P2"]
    told = ok("merge", "notes", "1")
    assert told == (
        "Merged notes (2) with 1 session, 1 prompt into calc (1). "
        "`cmem project unmerge 2` takes it back.\n"
    )
    assert listed("id", "merged_into") == [(3, None), (2, 1), (1, None)]
    assert "part of 1 calc" in ok("list")
    shown = support.run_json("project", "show", "1")
    assert (shown["members"], shown["counts"]["prompts"], len(shown["sessions"])) == ([2], 2, 2)
    assert hits("/src/calc", "prompt") == ["P2"]
    assert run("merge", "2", "1")[2] == "cmem: notes (2) and calc (1) are one project already\n"
    assert support.run_json("project", "unmerge", "notes") == {
        "unmerged": 2,
        "was_in": 1,
        "dry_run": False,
    }
    assert listed("id", "merged_into") == [(3, None), (2, None), (1, None)]
    assert run("unmerge", "notes")[2] == "cmem: notes (2) is not merged into another project\n"


def test_chains_of_merges_end_in_one_name_and_come_apart(stored: Path) -> None:
    ok("merge", "notes", "1")
    ok("merge", "1", "3")
    (hit,) = support.run_json("search", '"prompt of notes"', "--all")["hits"]
    assert hit["project"] == "Calc"
    assert support.run_json("get", "P2")["items"][0]["project"] == "Calc"
    assert support.run_json("project", "show", "3")["members"] == [1, 2]
    assert run("merge", "3", "2")[0] == 1
    assert run("merge", "2", "3")[2] == "cmem: notes (2) and Calc (3) are one project already\n"
    ok("unmerge", "1")
    assert support.run_json("project", "show", "1")["members"] == [2]
    assert support.run_json("project", "show", "3")["members"] == []


def test_a_part_is_not_merged_again(stored: Path) -> None:
    ok("merge", "notes", "1")
    assert run("merge", "notes", "3") == (
        1,
        "",
        "cmem: notes (2) is part of project 1; `cmem project unmerge 2` first, or merge that one\n",
    )


def test_unsorted_stays_what_it_is(stored: Path, home: Path) -> None:
    conn = samples.open_store(home)
    samples.project(conn, "unsorted", "", source="unsorted")
    conn.close()
    for args in (
        ["merge", "unsorted", "1"],
        ["merge", "1", "unsorted"],
        ["rename", "unsorted", "x"],
    ):
        code, out, err = run(*args)
        assert (code, out) == (1, "") and err.startswith("cmem: unsorted is what belongs to no")


def test_rename(stored: Path) -> None:
    ok("rename", "notes", "diary", "--dry-run")
    assert hits("notes", "prompt") == ["P2"]
    assert ok("rename", "notes", " my\tdiary ") == "notes (2) is called my diary now.\n"
    assert hits("My Diary", "prompt") == ["P2"]
    assert support.run_json("search", "prompt", "--project", "my diary")["hits"][0]["project"] == (
        "my diary"
    )
    assert support.run_json("project", "rename", "2", "My Diary") == {
        "project": 2,
        "name": "My Diary",
        "was": "my diary",
        "dry_run": False,
    }


def test_a_name_that_is_none_or_taken(stored: Path) -> None:
    for name in ("", " \t", "unsorted"):
        assert run("rename", "2", name)[2].endswith("cannot be the name of a project\n")
    assert run("rename", "2", "CALC") == (
        1,
        "",
        "cmem: project 1 (/src/calc) has that name; choose another, or make them one: "
        "`cmem project merge 2 1`\n",
    )
    ok("merge", "2", "1")
    ok("merge", "1", "3")
    assert ok("rename", "2", "calc") == "notes (2) is called calc now.\n"


def test_alias_of_a_remote(stored: Path) -> None:
    added = {"project": 2, "aliases": [{"kind": "remote", "alias": "example.org/me/notes"}]}
    given = ["git@example.org:Me/Notes.git", "https://example.org/me/notes", "example.org/me/notes"]
    dry = support.run_json("project", "alias", "notes", given[0], "--dry-run")
    assert dry == added | {"dry_run": True}
    assert support.run_json("project", "alias", "notes", given[0]) == added | {"dry_run": False}
    for again in given:
        assert ok("alias", "notes", again) == f"Nothing to change: {again} (notes).\n"
    assert run("alias", "1", given[1]) == (
        1,
        "",
        "cmem: example.org/me/notes belongs to project 2 already; "
        "`cmem project merge 2 1` makes them one\n",
    )
    assert support.run_json("project", "show", given[2])["id"] == 2
    assert ok("alias", "notes", given[1], "--remove") == (
        "Not its any more: remote example.org/me/notes (notes).\n"
    )
    assert run("show", given[2])[0] == 1


def test_alias_of_folders(stored: Path, tmp_path: Path) -> None:
    kinds = [
        (one["kind"], one["alias"])
        for one in support.run_json("project", "alias", "notes", "/srv/No-Such/Notes")["aliases"]
    ]
    assert kinds == [("git", "/srv/No-Such/Notes/.git"), ("path", "/srv/No-Such/Notes")]
    assert run("alias", "notes", "/srv/No-Such/Notes", "--dry-run") == (
        0,
        "Would be: Nothing to change: /srv/No-Such/Notes (notes).\n",
        "cmem: there is no folder /srv/No-Such/Notes yet; what comes there will be of notes\n",
    )
    for nobody in ("/", "~", "/tmp", str(tmp_path)):
        assert run("alias", "notes", nobody) == (
            1,
            "",
            f"cmem: {nobody} cannot be a project: name a folder of its own, or a repository\n",
        )
    assert run("alias", "notes", "/src/calc")[2] == (
        "cmem: /src/calc belongs to project 1 already; `cmem project merge 1 2` makes them one\n"
    )
    kept = support.run_json("project", "show", "2")["aliases"]
    assert ("git", "/src/calc/.git") not in [(one["kind"], one["alias"]) for one in kept]


def test_a_word_that_is_no_folder_and_no_remote_is_refused(stored: Path) -> None:
    for word in ("nonsense", "src/nonsense"):
        assert run("alias", "notes", word) == (
            1,
            "",
            f"cmem: {word} is no folder here, and no remote's address; "
            f"./{word} is a folder that is yet to come\n",
        )
        assert ok("alias", "notes", word, "--remove") == f"Nothing to change: {word} (notes).\n"


def test_what_was_added_is_taken_away_whatever_became_of_the_folder(
    stored: Path, tmp_path: Path
) -> None:
    def aliases() -> list[tuple[str, str]]:
        found = support.run_json("project", "show", "2")["aliases"]
        return [(one["kind"], one["alias"]) for one in found]

    def become(state: str) -> None:
        shutil.rmtree(place, ignore_errors=True)
        if state == "repository":
            places.repository(place)
        elif state == "folder":
            place.mkdir()

    before, place = aliases(), tmp_path / "notes2"
    for first in ("nothing", "repository"):
        for then in ("nothing", "folder", "repository"):
            become(first)
            support.run_json("project", "alias", "notes", str(place))
            become(then)
            told = ok("alias", "notes", str(place), "--remove")
            gone = f"git {place}/.git, path {place}"
            assert (first, then, told) == (first, then, f"Not its any more: {gone} (notes).\n")
            assert aliases() == before


def test_an_alias_of_a_part_is_taken_away_too(stored: Path) -> None:
    ok("merge", "notes", "1")
    told = ok("alias", "1", "/src/notes", "--remove")
    assert told == "Not its any more: path /src/notes (calc).\n"


def test_a_project_of_the_environment_is_its_own_and_told_apart(stored: Path, home: Path) -> None:
    """The repository of that name was thought to be meant."""
    user = home.parent / "user"
    said = (
        "cmem: CMEM_PROJECT=Notes is a project of its own, with nothing in it yet; "
        "--project takes another one of that name: 2 (/src/notes)\n"
    )

    def mine(*args: str) -> tuple[str, str]:
        done = support.run_cmem(*args, cwd=user, CMEM_PROJECT="Notes")
        assert done.returncode == 0
        return done.stdout.decode(), done.stderr.decode()

    further = "in Notes; --all-projects looks in every project\n"
    assert mine("search", "prompt") == ("", f"{said}cmem: nothing found {further}")
    assert mine("list") == ("", f"{said}cmem: nothing to list {further}")
    assert mine("timeline") == ("", f"{said}cmem: nothing to show yet {further}")
    assert run("show", CMEM_PROJECT="Notes") == (
        1,
        "",
        f"{said}cmem: nothing remembered for Notes yet; `cmem project list` has all\n",
    )
    assert mine("context")[1] == mine("note", "A first one.", "--type", "fact")[1] == said
    assert mine("search", "prompt") == ("", f"cmem: nothing found {further}")
    shown = ok("show", "env:notes").split("\n")
    assert shown[:2] == [
        "project:    Notes (4)",
        "recognised: env:notes (environment: CMEM_PROJECT, in any folder)",
    ]
    assert [line[:28] for line in ok("list").split("\n") if "otes" in line] == [
        "4   Notes (CMEM_PROJECT)  20",
        "2   notes  2026-05-28 22:26 ",
    ]
    assert run("show", "notes")[2] == (
        "cmem: notes can be several projects: 2 (/src/notes), 4 (env:notes); "
        "give the number or the key\n"
    )
    ok("merge", "env:notes", "2")
    assert "a prompt of notes" in mine("search", "prompt")[0]


def test_stored_text_is_harmless_on_a_terminal(home: Path) -> None:
    conn = samples.open_store(home)
    add(conn, "evil\x1b[31m\n\u202ename", "/src/\x1b]0;x\x07evil", hours=1)
    conn.close()
    for args in (["list"], ["show", "1"]):
        assert "\x1b" not in ok(*args) and "\u202e" not in ok(*args)
    code, out, _err = run("list", "--json")
    assert code == 0 and "\x1b" not in out
    assert json.loads(out)["projects"][0]["name"] == "evil\x1b[31m\n\u202ename"


def test_usage(stored: Path) -> None:
    assert run("lst") == (
        2,
        "",
        "cmem: no such command 'lst'. Did you mean 'list'? See `cmem project --help`\n",
    )
    assert run() == (2, "", "cmem: missing command; see `cmem project --help`\n")
    assert (
        run("merge", "1")[2] == "cmem: missing argument 'INTO'; see `cmem project merge --help`\n"
    )
    assert run("list", "--nope")[0] == 2
