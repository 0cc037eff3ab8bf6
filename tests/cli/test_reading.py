from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
import samples
import support

from cmem.cli import output, spec
from cmem.context import shown
from cmem.store import connection

HOT = [command.name for command in spec.COMMANDS if command.hot]
HOST_SESSION = "5f7d2c1a-0000-4000-8000-000000000001"


@pytest.fixture
def root(home: Path) -> Path:
    """A project folder outside every temp directory's rules: a repository by its files."""
    place = home.parent / "calc"
    git = place / ".git"
    (git / "refs").mkdir(parents=True)
    (git / "objects").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    return place


@pytest.fixture
def stored(home: Path, root: Path) -> Path:
    conn = samples.calc(home, str(root))
    samples.insert(
        conn,
        "project_aliases",
        kind="git",
        alias=str(root / ".git"),
        project_id=1,
        created_at=samples.NOON,
    )
    conn.close()
    return root


def ok(*args: str, cwd: Path) -> str:
    done = support.run_cmem(*args, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, b""), (args, done)
    return done.stdout.decode()


def failing(*args: str, cwd: Path) -> tuple[int, str, str]:
    done = support.run_cmem(*args, cwd=cwd)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_search_finds_rows_of_every_kind(stored: Path) -> None:
    found = support.run_json("search", "subtract", cwd=stored)
    assert found["query"] == "subtract" and found["steps"] == ["all words"]
    assert {hit["id"]: hit["kind"] for hit in found["hits"]} == {
        "O1": "observation",
        "S1": "summary",
        "P1": "prompt",
        "T1": "tool_use",
    }
    (hit,) = [one for one in found["hits"] if one["id"] == "O1"]
    assert {key: hit[key] for key in hit if key not in ("score", "snippet")} == {
        "id": "O1",
        "kind": "observation",
        "project": "calc",
        "session": "N1",
        "host_session": HOST_SESSION,
        "type": "bugfix",
        "title": "Fixed subtract",
        "subtitle": "The operands were swapped",
        "created_at": samples.NOON + 2000,
        "files": ["calc.py"],
        "tokens": 60,
    }
    assert (
        support.run_json("search", "--kind", "t", "subtract", cwd=stored)["hits"][0]["id"] == "T1"
    )


def test_search_text_is_one_line_and_a_snippet(stored: Path) -> None:
    lines = ok("search", "--type", "decision", cwd=stored).split("\n")
    day = lines[0][4:20]
    assert lines == [
        f"O2  {day}  decision  unittest, not pytest  (calc, ~60 tokens)",
        "    The user wants the standard library's unittest.",
        "",
    ]


def test_search_is_bound_to_the_project(stored: Path, home: Path) -> None:
    elsewhere = home.parent / "user"
    assert support.run_json("search", "subtract", cwd=elsewhere)["hits"] == []
    assert len(support.run_json("search", "subtract", "--all", cwd=elsewhere)["hits"]) == 4
    named = support.run_json("search", "subtract", "--project", "CALC", cwd=elsewhere)
    assert len(named["hits"]) == 4
    assert failing("search", "x", "--project", "clac", "--json", cwd=elsewhere) == (
        1,
        "",
        "cmem: no such project: clac; did you mean calc?\n",
    )


USAGE = {
    "nothing": (["search"], 2),
    "limit": (["search", "a", "--limit", "0"], 2),
    "kind": (["search", "a", "--kind", "zebra"], 2),
    "since": (["search", "a", "--since", "someday"], 2),
    "range": (["search", "a", "--since", "2026-02-02", "--until", "2026-01-01"], 2),
    "option": (["search", "--nope"], 2),
    "no ids": (["get"], 2),
    "command": (["serach"], 2),
    "timeline": (["timeline", "--before", "-1"], 2),
    "source": (["context", "--source", "dream"], 2),
    "source of a project": (["context", "--project", "calc", "--source", "fork"], 2),
    "session of a project": (["context", "--project", "calc", "--session", "N1"], 2),
    "session": (["search", "a", "--session", "N99"], 1),
    "budget": (["context", "--budget", "-5"], 2),
}


@pytest.mark.parametrize("name", USAGE)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_failures_are_one_line_on_stderr(stored: Path, name: str, more: list[str]) -> None:
    argv, code = USAGE[name]
    got, out, err = failing(*argv, *more, cwd=stored)
    assert (got, out) == (code, "")
    assert err.startswith("cmem: ") and err.count("\n") == 1 and err.endswith("\n")


def test_get_prints_every_field(stored: Path) -> None:
    (item,) = support.run_json("get", "o1", cwd=stored)["items"]
    assert item["id"] == "O1" and item["session"] == "N1" and item["project"] == "calc"
    assert item["facts"] == ["calc.py: `return b - a` became `return a - b`", "Ran 2 tests: OK"]
    assert item["concepts"] == ["problem-solution"] and item["sources"] == ["P1", "T1", "T2"]
    assert item["host_session"] == HOST_SESSION and item["taint"] == "local"
    ids = [
        one["id"]
        for one in support.run_json("get", "#1", "S1", "p1", "#T1", "N1", "1", cwd=stored)["items"]
    ]
    assert ids == ["O1", "S1", "P1", "T1", "N1"]
    by_host_id = support.run_json("get", HOST_SESSION, HOST_SESSION[:10], cwd=stored)["items"]
    assert [one["id"] for one in by_host_id] == ["N1"]
    assert by_host_id[0]["tool_uses"] == ["T1", "T2"]


def test_get_text_of_an_observation(stored: Path) -> None:
    lines = ok("get", "O1", cwd=stored).split("\n")
    assert lines[1:] == [
        "Fixed subtract",
        "The operands were swapped",
        "  - calc.py: `return b - a` became `return a - b`",
        "  - Ran 2 tests: OK",
        "Asked to fix subtract. The operands were swapped; both tests pass now.",
        "files read: calc.py",
        "files modified: calc.py",
        "concepts: problem-solution",
        f"session N1; host session {HOST_SESSION}; host claude-code; model extract; "
        "prompt version extract/1; sources P1, T1, T2; origin local",
        "",
    ]
    assert lines[0].startswith("O1  ") and lines[0].endswith("  bugfix  (calc)")


def test_get_marks_every_text_that_holds_what_is_in_doubt(stored: Path, home: Path) -> None:
    conn = connection.open_writer(str(home), now=0)
    doubts = json.dumps({"unverified": ["subtract", "operands", "2 tests", "both"]})
    conn.execute("UPDATE observations SET metadata = ? WHERE id = 1", (doubts,)).fetchall()
    conn.close()
    assert ok("get", "O1", cwd=stored).split("\n")[1:7] == [
        "Fixed subtract  (unverified)",
        "The operands were swapped  (unverified)",
        "  - calc.py: `return b - a` became `return a - b`",
        "  - Ran 2 tests: OK  (unverified)",
        "Asked to fix subtract. The operands were swapped; both tests pass now.",
        "(unverified)",
    ]


@pytest.mark.parametrize("command", ["get", "raw"])
def test_unknown_ids_among_known_ones(stored: Path, command: str) -> None:
    code, out, err = failing(command, "O1", "O99", "nonsense", "--json", cwd=stored)
    assert code == 1 and len(json.loads(out)["items"]) > 0
    hint = "`cmem search`, `cmem list` and `cmem session list` show which there are\n"
    assert err == f"cmem: no such memory: O99, nonsense; {hint}"
    big = "O" + "9" * 30
    told = failing(command, big, "--json", cwd=stored)
    assert told == (1, "", f"cmem: no such memory: {big}; {hint}")


def test_raw_follows_every_kind_to_its_tool_uses(stored: Path) -> None:
    for ref in ("O1", "P1", "S1", "N1", HOST_SESSION):
        items = support.run_json("raw", ref, cwd=stored)["items"]
        assert [one["id"] for one in items] == ["T1", "T2"], ref
    (item,) = support.run_json("raw", "T2", cwd=stored)["items"]
    assert item["tool_name"] == "Edit"
    assert item["tool_input"]["new_string"] == "a - b"
    assert item["tool_response"] == {"filePath": f"{stored}/calc.py"}
    assert support.run_json("raw", "O2", cwd=stored) == {"items": []}


def test_timeline_is_in_time_order(stored: Path) -> None:
    def ids(*args: str) -> list[str]:
        return [one["id"] for one in support.run_json("timeline", *args, cwd=stored)["items"]]

    assert ids() == ["P1", "O1", "O2", "S1"]
    assert ids("O2", "--before", "1", "--after", "0") == ["O1", "O2"]
    assert ids("O2", "--before", "0", "--after", "1") == ["O2", "S1"]
    assert ids("unittest", "pytest", "--after", "0", "--before", "0") == ["O2"]
    assert ids("N1", "--kind", "T", "--kind", "P") == ["P1", "T1", "T2"]
    assert ids("T2", "--kind", "T", "--session", "N1") == ["T1", "T2"]
    assert support.run_json("timeline", "o2", cwd=stored)["anchor"] == "O2"
    assert failing("timeline", "O99", "--json", cwd=stored) == (
        1,
        "",
        "cmem: no such memory: O99; `cmem search`, `cmem list` and `cmem session list` show which "
        "there are\n",
    )


NOTHING = {
    ("timeline", "zzzz"): "nothing found for zzzz in calc; --all-projects looks in every project",
    ("timeline", "zzzz", "--all"): "nothing found for zzzz in all projects",
    ("timeline", "--until", "2001-01-01", "--all"): "nothing found of that time in all projects",
    (
        "timeline",
        "--host",
        "x",
    ): "no such option: --host; text that begins with a minus comes after "
    "`--`: `cmem timeline -- --host`; see `cmem timeline --help`",
    (
        "timeline",
        "--session",
        "N9",
    ): "no such session: N9; `cmem session list` shows which there are",
}


@pytest.mark.parametrize(("line", "said"), NOTHING.items(), ids=str)
def test_what_is_not_found_is_said_beside_the_results(
    stored: Path, line: tuple[str, ...], said: str
) -> None:
    _code, out, err = failing(*line, cwd=stored)
    assert (out, err) == ("", f"cmem: {said}\n")


def test_context_is_what_the_hook_prints(stored: Path, home: Path) -> None:
    from cmem import here, repo
    from cmem.context import inject

    document = inject.session_start(
        str(home),
        source="startup",
        cwd=str(stored),
        repo=repo.read_repo(str(stored)),
        project_env="",
        budget=2000,
    )
    text = json.loads(document)["hookSpecificOutput"]["additionalContext"]
    assert here.parts_of(str(stored), {})[2] == "calc"
    found = support.run_json("context", cwd=stored)
    assert found["text"] == text
    assert ok("context", cwd=stored) == text + "\n"
    assert found["project"] == "calc" and found["omitted"] == 0 and found["tokens"] > 100
    assert found["items"] == [
        {"id": "S1", "why": "last session"},
        {"id": "O2", "why": "recent, decision"},
        {"id": "O1", "why": "recent"},
    ]
    assert ok("context", "--explain", cwd=stored).endswith(
        "O2: recent x1.00, decision x1.60 = 1.60\nO1: recent x0.9885, bugfix x1.30 = 1.29\n"
    )
    assert support.run_json("context", "--source", "resume", cwd=stored)["text"] == ""
    assert support.run_json("context", "--project", "calc", cwd="/")["text"] == text


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_context_of_what_goes_on_leaves_out_what_was_told(
    stored: Path, home: Path, source: str
) -> None:
    conn = connection.open_writer(str(home), now=samples.NOON)
    turn = samples.turn(conn, samples.session(conn, 1, "other"), 1)
    for title in ("First", "Second"):
        samples.observation(conn, 1, 2, turn, title=title, created_at=samples.NOON + samples.DAY)
    conn.close()
    resumed = ("context", "--source", source, "--session", "N1")
    found = support.run_json(*resumed, cwd=stored)["items"]
    assert [one["id"] for one in found] == ["O4", "O3"]
    assert [one["why"] for one in found] == ["recent", "recent"]
    assert ok(*resumed, "--explain", cwd=stored).endswith(
        "O3: recent x0.9885, bugfix x1.30 = 1.29\n"
    )
    heading = "forked" if source == "fork" else "this"
    assert f"New since {heading} session, of " in ok(*resumed, cwd=stored).replace("the ", "")
    shown.claim(str(home), "5f7d2c1a-0000-4000-8000-000000000001", ["O3"])
    found = support.run_json(*resumed, cwd=stored)["items"]
    assert [one["id"] for one in found] == ["O4"]
    shown.claim(str(home), "5f7d2c1a-0000-4000-8000-000000000001", ["O4"])
    holds = f"a session that begins with {source} already holds its block\n"
    assert ok(*resumed, cwd=stored) == ok(*resumed[:3], cwd=stored) == holds


@pytest.mark.usefixtures("plugged")
def test_status_has_the_contracts_keys(stored: Path, home: Path) -> None:
    assert support.run_json("status", cwd=stored) == {
        "home": str(home),
        "provider": "extract",
        "spool": {"pending": 0, "spilled": 0, "dropped": 0},
        "work": {"pending": 0, "parked": 0, "oldest_at": None},
        "counts": {
            "sessions": 1,
            "prompts": 1,
            "tool_uses": 2,
            "observations": 2,
            "summaries": 1,
        },
        "waiting_since": None,
        "last_captured_at": samples.NOON + samples.HOUR,
        "last_observed_at": None,
        "paused": None,
        "spend_today": {"tokens": 0, "usd": 0.0},
        "mended_today": 0,
        "daily_budget": {"tokens": 2_000_000, "usd": 1.0},
        "off": None,
        "filters": {"active": {}, "unreadable": [], "filtered": []},
        "off_sessions": [],
        "sync": None,
        "hint": None,
        "dropped_why": None,
        "uncaptured": None,
        "health": "ok",
    }
    lines = ok("status", cwd=stored).split("\n")
    assert lines[0] == "health:        ok"
    assert lines[5] == (
        "stored:        1 session, 1 prompt, 2 tool uses, 2 observations, 1 summary"
    )


def test_status_fails_when_observation_has_stopped(stored: Path, home: Path) -> None:
    conn = samples.open_store(home)
    samples.insert(
        conn, "work_units", kind="turn", session_id=1, turn_id=1, created_at=samples.NOON
    )
    conn.close()
    code, out, err = failing("status", "--json", cwd=stored)
    assert (code, err) == (1, "")
    assert json.loads(out)["health"].startswith("nothing was observed for ")
    assert json.loads(out)["work"] == {"pending": 1, "parked": 0, "oldest_at": samples.NOON}


def test_without_a_store_nothing_is_made(home: Path, root: Path) -> None:
    assert support.run_json("search", "a", cwd=root) == {"query": "a", "steps": [], "hits": []}
    done = support.run_cmem("search", "a", cwd=root)
    assert (done.stdout, done.stderr) == (b"", b"cmem: no memories yet\n")
    assert support.run_json("timeline", cwd=root) == {"anchor": None, "items": []}
    assert support.run_json("context", cwd=root) == {
        "project": "calc",
        "text": "",
        "tokens": 0,
        "items": [],
        "omitted": 0,
    }
    assert ok("context", cwd=root) == (
        "nothing remembered for calc yet: go on working, or begin with `cmem note` or `cmem import`\n"
    )
    assert support.run_json("status", cwd=root)["health"] == (
        "nothing is captured: no hook of cmem is registered; run `cmem install`"
    )
    assert failing("get", "O1", "--json", cwd=root) == (1, "", "cmem: no memories yet, so no O1\n")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("argv", [["status"], ["search", "a"], ["get", "1"], ["context"]])
def test_a_file_that_is_no_store_is_one_line(home: Path, root: Path, argv: list[str]) -> None:
    (home / "memory.db").write_bytes(b"not a database, whatever its name says" * 40)
    code, out, err = failing(*argv, "--json", cwd=root)
    assert code in (1, 78) and out == ""
    assert err.startswith("cmem: ") and err.count("\n") == 1


HOSTILE = "\x1b]52;c;QUJD\x07[bold]x[/bold] [/x] :smile: \x9b2J\u202eevil\x00\u200b <b> \\[ %s {0}"


@pytest.fixture
def hostile(stored: Path, home: Path) -> Path:
    conn = samples.open_store(home)
    samples.observation(
        conn,
        1,
        1,
        1,
        title="hostile " + HOSTILE.replace("\x00", ""),
        subtitle=HOSTILE.replace("\x00", ""),
        narrative=HOSTILE.replace("\x00", "") + "\nsecond line",
        facts=[HOSTILE],
        files_modified=[HOSTILE.replace("\x00", "")],
        created_at=samples.NOON + 9000,
    )
    conn.close()
    return stored


COMMANDS = [["search", "hostile"], ["timeline"], ["get", "O3"], ["context"]]


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda argv: argv[0])
def test_stored_text_does_nothing_to_a_terminal(hostile: Path, argv: list[str]) -> None:
    for more in ([], ["--json"]):
        out = ok(*argv, *more, cwd=hostile)
        assert "hostile" in out and "[bold]x[/bold]" in out
        assert not set(out) & set("\x1b\x07\x9b\u202e\u200b\x00")
    assert json.loads(out)


def test_a_branch_does_nothing_to_a_terminal(stored: Path) -> None:
    """A repository names its branch as it likes, and --explain says it."""
    branch = "x\x1b]52;c;QUJD\x07\x1b[2J\u202eevil"
    (stored / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    conn = samples.open_store(Path(os.environ["CMEM_HOME"]))
    conn.execute("UPDATE observations SET branch = ?", (branch,))
    conn.close()
    out = ok("context", "--explain", cwd=stored)
    assert "branch xevil" in out
    assert not set(out) & set("\x1b\x07\u202e")
    out = ok("context", "--explain", "--json", cwd=stored)
    assert any(f"branch {branch}" in one["why"] for one in json.loads(out)["items"])
    assert not set(out) & set("\x1b\x07\u202e")
    _, shown = on_a_terminal(["context", "--explain"], stored, NO_COLOR="1")
    assert "\x1b]" not in shown and "\u202e" not in shown


def test_every_piece_is_cleaned_at_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    output.write_lines([[("  a\x1b[2Jb", "dim"), ("\u202ec", "")]])
    output.write_json({"\u3164": "\x1b\u202e\uffa0"})
    assert capsysbinary.readouterr().out == (
        b"  abc\n" + rb'{"\u3164": "\u001b\u202e\uffa0"}' + b"\n"
    )


def on_a_terminal(argv: list[str], cwd: Path, **env: str) -> tuple[int, str]:
    """Run with stdout on a pseudo-terminal; exit code and what it showed."""
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "cmem", *argv],
        cwd=cwd,
        env=support.clean_env(PYTHONPATH=str(support.ROOT), TERM="xterm-256color", **env),
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.PIPE,
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(master)
    code = child.wait(30)
    assert child.stderr is not None and child.stderr.read() == b""
    return code, shown.decode()


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda argv: argv[0])
def test_a_terminal_gets_colour_and_literal_text(hostile: Path, argv: list[str]) -> None:
    code, shown = on_a_terminal(argv, hostile)
    assert code == 0
    assert "[bold]x[/bold]" in shown and ":smile:" in shown and "\x1b]52" not in shown
    if argv[0] != "context":
        assert "\x1b[" in shown
    code, plain = on_a_terminal(argv, hostile, NO_COLOR="1")
    assert code == 0 and "\x1b[3" not in plain


def test_on_a_terminal_the_block_has_colours_and_the_same_words(stored: Path) -> None:
    code, shown = on_a_terminal(["context"], stored, COLUMNS="200")
    assert code == 0
    (line,) = [one for one in shown.splitlines() if "O1" in one and "bugfix" in one]
    assert line.startswith("- \x1b[32mO1\x1b[0m bugfix: ")
    assert line.endswith(" tokens)\x1b[0m") and "\x1b[2m (~" in line
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r\n", "\n")
    assert plain.encode() == support.run_cmem("context", cwd=stored).stdout


LOOKING = (["list"], ["file", "calc.py"], ["session", "list"], ["session", "show", "N1"])


@pytest.mark.parametrize(
    "argv", [*COMMANDS, ["raw", "T1"], ["status"], *LOOKING], ids=lambda a: " ".join(a[:2])
)
def test_hot_commands_import_no_heavy_module(stored: Path, home: Path, argv: list[str]) -> None:
    """An agent calls these often; typer alone costs five bare interpreters."""
    code = (
        "import sys; from cmem import _entry; code = _entry.main();"
        "heavy = {'typer', 'rich', 'anthropic', 'dataclasses', 'orjson', 'platformdirs'};"
        "print(code, sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    for more in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *argv[:1], *(argv[1:] or []), *more],
            cwd=stored,
            env=support.clean_env(PYTHONPATH=str(support.ROOT)),
            capture_output=True,
            check=False,
        )
        last = done.stderr.decode().strip().split("\n")[-1]
        assert last in ("0 []", "1 []"), done


def test_the_dispatch_table_is_the_spec() -> None:
    from cmem import _entry

    assert sorted(_entry.HOT) == sorted(HOT)


def test_a_reader_that_stops_is_no_failure(stored: Path) -> None:
    conn = connection.open_writer(os.environ["CMEM_HOME"], now=samples.NOON)
    with connection.transaction(conn):
        for number in range(150):
            samples.observation(
                conn, 1, 1, 1, title=f"wide {number}", narrative="wide words " * 400
            )
    conn.close()
    command = f"'{sys.executable}' -m cmem get $(seq 1 150) | head -c 10 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=stored,
        env=support.clean_env(PYTHONPATH=str(support.ROOT)),
        capture_output=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"0\n", b"")


def test_version(root: Path) -> None:
    from cmem import __version__

    assert ok("--version", cwd=root) == f"cmem {__version__}\n"


def test_hook_by_hand_never_fails(root: Path) -> None:
    lines: tuple[list[str], ...] = (
        [],
        ["claude-code"],
        ["claude-code", "Nonsense"],
        ["nobody", "Stop", "/dev/null/x"],
    )
    for argv in (["hook", *words] for words in lines):
        done = support.run_cmem(*argv, cwd=root, stdin=b"{not json")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_docs_are_generated_from_the_table() -> None:
    script = support.ROOT / "scripts" / "gen_docs.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["search", "get", "timeline", "forget"])
def test_arguments_that_are_no_text(stored: Path, command: str) -> None:
    odd = os.fsdecode(b"\xff\xfe;DROP TABLE observations;--'\"")
    code, out, err = failing(command, odd, "--json", cwd=stored)
    assert code in (0, 1) and "bug" not in err
    assert code == 1 or json.loads(out)
    assert failing("search", "a", "--project", odd, "--json", cwd=stored)[0] == 1
    assert support.run_json("status", cwd=stored)["counts"]["observations"] == 2


def test_a_directory_that_is_no_text(stored: Path, home: Path) -> None:
    odd = os.fsencode(home.parent) + b"/\xff\xfe"
    os.mkdir(odd)
    assert support.run_json("context", cwd=os.fsdecode(odd))["items"] == []
    assert support.run_json("search", "a", cwd=os.fsdecode(odd))["hits"] == []


def test_a_budget_is_a_number_above_zero_and_too_small_a_one_is_said(stored: Path) -> None:
    done = support.run_cmem("context", "--project", "calc", "--budget", "0")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"cmem: --budget must be at least 1\n"
    shown = support.run_cmem("context", "--project", "calc", "--budget", "1").stdout.decode()
    assert shown.startswith("a budget of 1 token has no room for any of the ")
