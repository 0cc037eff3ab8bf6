"""Lines as they should not be, formats of older versions, forks."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest
from support import run_cmem
from transcribed import LATER, held, imported
from transcript_script import SESSION, Script, written

from cmem.errors import CmemError
from cmem.importers import run as core
from cmem.importers import told
from cmem.importers.told import Problem
from cmem.importers.wanted import Limits

OTHER = "bbbbbbbb-2222-4222-8222-222222222222"


def prompts(home: Path) -> list[tuple[str, str]]:
    conn = apsw.Connection(str(home / "memory.db"))
    found = conn.execute(
        """SELECT s.content_session_id, prompt_text FROM user_prompts p
        JOIN sessions s ON s.id = p.session_id WHERE kind = 'user' ORDER BY p.created_at, p.id"""
    ).fetchall()
    conn.close()
    return [(str(session)[:4], str(text)) for session, text in found]


def told_of(home: Path, kind: str) -> list[tuple[object, ...]]:
    return [row[1:] for row in held(home) if row[0] == kind]


def test_bad_lines_are_named_and_the_rest_comes_in(home: Path, tmp_path: Path) -> None:
    good = (
        Script().prompt("First", "p1").says("One.").prompt("Second \u2028 here", "p2").says("Two.")
    )
    one, two, three, four = good.text().splitlines(keepends=True)
    latin = four.replace(b"Two.", b"Tw\xf6.")
    parts = [one, b"no json\n", two, b"[1]\n", b'{"type":"new-kind","x":1}\n', three, latin]
    path = written(tmp_path / "t" / "p" / f"{SESSION}.jsonl", b"".join([*parts, four[:60]]))
    report = imported(home, tmp_path / "t")
    assert report.problems == (
        Problem(str(path), 2, "is no JSON object"),
        Problem(str(path), 4, "is no JSON object"),
        Problem(str(path), 7, "is not UTF-8; what cannot be read is replaced"),
        Problem(str(path), 8, "is cut off"),
    )
    assert prompts(home) == [("aaaa", "First"), ("aaaa", "Second \n here")]
    assert [row[5] for row in told_of(home, "turn")] == ["One.", "Tw\ufffd."]


def test_line_that_is_too_long_is_passed_over(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(told, "MAX_LINE", 1_000)
    script = Script().prompt("First", "p1").prompt("x" * 5_000, "p2").prompt("Third", "p3")
    path = script.write(tmp_path / "t")
    report = imported(home, tmp_path / "t")
    assert report.problems == (Problem(str(path), 2, "is longer than can be read"),)
    assert prompts(home) == [("aaaa", "First"), ("aaaa", "Third")]


def test_megabyte_line_comes_in_cut(home: Path, tmp_path: Path) -> None:
    script = Script().prompt("Read it", "p1").calls("Bash", {"command": "cat big"}, "t1")
    script.result("t1", "y" * 3_000_000, promptId="p1").says("Read.")
    script.write(tmp_path / "t")
    report = imported(home, tmp_path / "t")
    assert (report.prompts, report.tool_uses, report.problems) == (1, 1, ())
    assert len(str(told_of(home, "tool")[0][-1])) < 70_000


def test_lines_of_the_wrong_shape_are_named(home: Path, tmp_path: Path) -> None:
    script = Script().add("user", message="odd").prompt("Fine", "p1").add("assistant", message=7)
    script.add("attachment", attachment=None).add("system", subtype="compact_boundary")
    path = script.write(tmp_path / "t")
    report = imported(home, tmp_path / "t")
    wrong = "is not as this host writes lines"
    assert report.problems == tuple(Problem(str(path), line, wrong) for line in (1, 3, 4))
    assert prompts(home) == [("aaaa", "Fine")]


def test_file_in_another_encoding_is_named_and_the_others_come_in(
    home: Path, tmp_path: Path
) -> None:
    script = Script().prompt("Fine", "p1")
    script.write(tmp_path / "t")
    odd = written(tmp_path / "t" / "p" / "odd.jsonl", script.text().decode().encode("utf-16"))
    report = imported(home, tmp_path / "t")
    assert report.problems == (Problem(str(odd), 0, "is not UTF-8"),)
    assert prompts(home) == [("aaaa", "Fine")]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_folder_that_may_not_be_read_is_named(home: Path, tmp_path: Path) -> None:
    Script().prompt("Fine", "p1").write(tmp_path / "t")
    shut = tmp_path / "t" / "shut"
    shut.mkdir(mode=0)
    report = imported(home, tmp_path / "t")
    shut.chmod(0o700)
    assert report.problems == (Problem(str(shut), 0, "Permission denied"),)
    assert report.prompts == 1


def test_nothing_readable_is_a_failure(home: Path, tmp_path: Path) -> None:
    odd = written(tmp_path / "t" / "odd.jsonl", "{}".encode("utf-16"))
    with pytest.raises(CmemError, match=f"nothing could be read: {odd}: is not UTF-8"):
        imported(home, tmp_path / "t")


def test_file_without_a_line_that_can_be_read_is_a_failure(home: Path, tmp_path: Path) -> None:
    bad = written(tmp_path / "t" / "a.jsonl", b"x\n{bad\n")
    done = run_cmem("import", "claude-code", str(tmp_path / "t"), CMEM_HOME=str(home))
    said = (
        f"cmem: nothing could be read: {bad}: no line of it can be read: line 1 is no JSON object"
    )
    assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", said + "\n")
    Script().prompt("Fine", "p1").write(tmp_path / "t")
    report = imported(home, tmp_path / "t")
    assert [one.line for one in report.problems if one.path == str(bad)] == [1, 2, 0]
    assert prompts(home) == [("aaaa", "Fine")]


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini-cli"])
def test_file_of_an_unknown_form_is_named(home: Path, tmp_path: Path, host: str) -> None:
    path = written(tmp_path / "t" / "session-1.jsonl", b'{"kind":"a"}\n{"kind":"b","type":"c"}\n')
    written(tmp_path / "t" / "session-2.jsonl", b"")
    if host == "claude-code":
        written(tmp_path / "t" / "session-2" / "subagents" / "x" / "log.jsonl", b'{"a":1}\n')
    report = imported(home, tmp_path / "t", host=host)
    assert report.problems == (Problem(str(path), 0, "is of a form that is not known"),)


def test_session_is_called_as_its_file_where_no_line_names_it(home: Path, tmp_path: Path) -> None:
    script = Script().prompt("First", "p1").says("One.")
    script.calls("Bash", {"command": "ls"}, "t1", isSidechain=True, agentId="a")
    for line in script.lines:
        del line["sessionId"]
    script.write(tmp_path / "t")
    report = imported(home, tmp_path / "t")
    assert (prompts(home), report.problems) == ([("aaaa", "First")], ())


def test_folder_without_transcripts_is_nothing_to_do(home: Path, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    assert imported(home, tmp_path / "t").files == 0


def test_pipe_among_transcripts_stops_nothing(home: Path, tmp_path: Path) -> None:
    Script().prompt("Fine", "p1").write(tmp_path / "t")
    os.mkfifo(tmp_path / "t" / "pipe.jsonl")
    assert imported(home, tmp_path / "t").prompts == 1


def test_fork_brings_only_what_is_new(home: Path, tmp_path: Path) -> None:
    original = Script().prompt("First", "p1").calls("Bash", {"command": "ls"}, "t1")
    original.result("t1", "a.txt", promptId="p1").says("One.")
    original.write(tmp_path / "t")
    fork = Script(OTHER)
    fork.lines = [{**line, "sessionId": OTHER} for line in original.lines]
    fork.prompt("Another way", "p2").says("Two.")
    later = fork.write(tmp_path / "t", OTHER)
    os.utime(later, (1_780_000_100, 1_780_000_100))
    report = imported(home, tmp_path / "t")
    assert (report.sessions, report.prompts, report.tool_uses) == (2, 2, 1)
    assert prompts(home) == [("aaaa", "First"), ("bbbb", "Another way")]
    assert [row[5] for row in told_of(home, "turn")] == ["One.", "Two."]


def test_fork_of_a_version_without_prompt_ids_brings_only_what_is_new(
    home: Path, tmp_path: Path
) -> None:
    original = Script().prompt("First").says("One.")
    original.write(tmp_path / "t")
    imported(home, tmp_path / "t")
    fork = Script(OTHER)
    fork.lines = [{**line, "sessionId": OTHER} for line in original.lines]
    fork.prompt("Another way").says("Two.")
    fork.write(tmp_path / "t", OTHER)
    assert imported(home, tmp_path / "t").prompts == 1
    assert prompts(home) == [("aaaa", "First"), ("bbbb", "Another way")]


def test_fork_that_names_its_origin_restores_a_deleted_original(home: Path, tmp_path: Path) -> None:
    came = {"sessionId": SESSION, "messageUuid": "u0"}
    fork = Script(OTHER).prompt("First", "p1", forkedFrom=came).says("One.", forkedFrom=came)
    fork.prompt("Another way", "p2").says("Two.").write(tmp_path / "t", OTHER)
    imported(home, tmp_path / "t")
    assert prompts(home) == [("aaaa", "First"), ("bbbb", "Another way")]


def test_old_format_with_sidechains_and_no_stop_reason(home: Path, tmp_path: Path) -> None:
    script = Script().prompt("Look around").calls("Task", {"prompt": "Search"}, "t1")
    script.prompt("Search", isSidechain=True)
    script.calls("Bash", {"command": "grep x"}, "t2", isSidechain=True)
    script.result("t2", "x.py:1:x", isSidechain=True).says("In x.py.", None, isSidechain=True)
    script.result("t1", [{"type": "text", "text": "In x.py."}]).says("It is in x.py.", None)
    script.prompt("Thanks").says("Welcome.", None)
    script.write(tmp_path / "t")
    imported(home, tmp_path / "t")
    turns = [(row[2], row[3], row[5]) for row in told_of(home, "turn")]
    assert turns == [("stop", "stop", "It is in x.py."), ("stop", "stop", "Welcome.")]
    tools = [(row[0], row[4]) for row in told_of(home, "tool")]
    assert tools == [("Task", ""), ("Bash", "sidechain")]


def test_what_is_no_prompt_of_the_users_is_left_out(home: Path, tmp_path: Path) -> None:
    script = Script().prompt("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True)
    script.prompt("<command-name>/clear</command-name><command-args></command-args>")
    script.add("system", subtype="local_command", content="")
    script.prompt("<command-name>/release</command-name>\n<command-args>1.2</command-args>", "p1")
    script.prompt("Steps to release", "p1", isMeta=True).says("Released.")
    script.prompt("This session is being continued", "p2", isCompactSummary=True)
    script.prompt("<bash-input>ls</bash-input>", "p3").prompt("<bash-stdout>a</bash-stdout>", "p3")
    script.says("Noted.")
    script.write(tmp_path / "t")
    imported(home, tmp_path / "t")
    assert prompts(home) == [("aaaa", "/release 1.2")]
    assert [(row[0], row[5]) for row in told_of(home, "turn")] == [
        ("user", "Released."),
        ("message", "Noted."),
    ]


def test_interrupted_turn_has_no_last_words(home: Path, tmp_path: Path) -> None:
    script = Script().prompt("Go", "p1").calls("Bash", {"command": "sleep 9"}, "t1")
    script.result("t1", "The user doesn't want to proceed with this tool use.", promptId="p1")
    script.prompt([{"type": "text", "text": "[Request interrupted by user for tool use]"}], "p1")
    script.prompt("Stop that", "p2").says("Stopped.").write(tmp_path / "t")
    report = imported(home, tmp_path / "t")
    assert (report.prompts, report.tool_uses) == (2, 0)
    assert [(row[2], row[5]) for row in told_of(home, "turn")] == [
        ("interrupted", ""),
        ("stop", "Stopped."),
    ]


def test_session_that_still_runs_keeps_its_turn_open(home: Path, tmp_path: Path) -> None:
    script = Script().prompt("Go", "p1").says("On it.", None)
    path = script.write(tmp_path / "t")
    os.utime(path, (LATER / 1000, LATER / 1000))
    assert imported(home, tmp_path / "t").prompts == 1
    script.says("Done.").write(tmp_path / "t")
    imported(home, tmp_path / "t")
    assert [(row[2], row[5]) for row in told_of(home, "turn")] == [("stop", "Done.")]


def test_since_and_project_choose(home: Path, tmp_path: Path) -> None:
    Script().prompt("Old", "p1").says("One.").prompt("New", "p2").says("Two.").write(tmp_path / "t")
    Script(OTHER, cwd="/home/dev/other").prompt("Other", "p3").write(tmp_path / "t", OTHER)
    at = 1_777_629_602_000
    assert imported(home, tmp_path / "t", limits=Limits(at, "/home/dev/project")).prompts == 1
    assert prompts(home) == [("aaaa", "New")]
    assert imported(home, tmp_path / "t", limits=Limits(0, "OTHER")).prompts == 1
    assert imported(home, tmp_path / "t").prompts == 1
    assert prompts(home) == [("bbbb", "Other"), ("aaaa", "Old"), ("aaaa", "New")]


@pytest.mark.parametrize("dry", [True, False])
def test_a_project_that_no_session_is_of_is_a_failure(
    home: Path, tmp_path: Path, *, dry: bool
) -> None:
    Script().prompt("Words", "p1").says("One.").write(tmp_path / "t")
    importer = core.IMPORTERS["claude-code"]
    found = core.find(importer, str(tmp_path / "t"))
    with pytest.raises(CmemError, match="is of a project nosuch"):
        if dry:
            core.look(str(home), importer, found, limits=Limits(0, "nosuch"), now=LATER)
        else:
            imported(home, tmp_path / "t", limits=Limits(0, "nosuch"))


def test_a_folder_that_is_called_like_a_transcript_is_told(home: Path, tmp_path: Path) -> None:
    Script().prompt("Words", "p1").says("One.").write(tmp_path / "t")
    (tmp_path / "t" / "x.jsonl").mkdir()
    report = imported(home, tmp_path / "t")
    assert report.prompts == 1
    assert [(Path(one.path).name, one.detail) for one in report.problems] == [
        ("x.jsonl", "is a folder")
    ]
