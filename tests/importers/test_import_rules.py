"""What holds for captured events holds for imported ones: secrets, switches, filters, forgetting;
nobody is paid for them; a run that is cut off goes on."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from capturing import put
from support import FIXTURES, run_cmem, run_json
from transcribed import LATER, held, imported
from transcript_script import SESSION, Script

from cmem import lock, settings
from cmem.cli import import_, terminal
from cmem.errors import BusyError
from cmem.importers import run as core
from cmem.importers.past import Count
from cmem.importers.wanted import Limits
from cmem.store import connection, evidence, imports, units

OTHER = "bbbbbbbb-2222-4222-8222-222222222222"
SAMPLES = FIXTURES / "transcripts" / "claude-code"
KEY = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"


def bytes_under(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_private_words_and_secrets_reach_no_file(home: Path, tmp_path: Path) -> None:
    script = Script().prompt("Use <private>open-sesame-9</private> please", "p1")
    script.calls("Bash", {"command": "cat notes"}, "t1").result("t1", f"token {KEY}", promptId="p1")
    script.says(f"It is {KEY}.").prompt("<private>the plan is xyzzy</private>", "p2")
    script.calls("Bash", {"command": "echo plugh"}, "t2").result("t2", "plugh", promptId="p2")
    script.says("Done with plugh.").write(tmp_path / "t")
    report = imported(home, tmp_path / "t")
    assert (report.prompts, report.tool_uses) == (2, 2)
    found = bytes_under(home)
    assert [one for one in (b"sesame", KEY.encode(), b"xyzzy", b"plugh") if one in found] == []


def test_injected_blocks_are_cut(home: Path, tmp_path: Path) -> None:
    script = Script().prompt("Go <system-reminder>quux</system-reminder>on", "p1").says("Gone.")
    script.add("attachment", attachment={"type": "hook_additional_context", "content": ["quux"]})
    script.write(tmp_path / "t")
    imported(home, tmp_path / "t")
    assert b"quux" not in bytes_under(home)


def test_what_is_switched_off_stays_out_until_it_is_not(home: Path, tmp_path: Path) -> None:
    Script().prompt("Go", "p1").says("Gone.").write(tmp_path / "t")
    config = home / "config.toml"
    config.write_text('exclude = "/home/dev/*"\n')
    report = imported(home, tmp_path / "t")
    assert (report.prompts, report.withheld) == (0, 3)
    assert held(home) == []
    config.unlink()
    assert imported(home, tmp_path / "t").prompts == 1


def test_filtered_tools_stay_out(home: Path, tmp_path: Path) -> None:
    script = Script().prompt("Go", "p1").calls("Bash", {"command": "ls"}, "t1")
    script.result("t1", "a", promptId="p1").calls("Read", {"file_path": "/x"}, "t2")
    script.result("t2", "b", promptId="p1").says("Gone.").write(tmp_path / "t")
    (home / "config.toml").write_text('skip_tools = "Bash"\n')
    assert imported(home, tmp_path / "t").tool_uses == 1


def test_what_was_forgotten_does_not_come_back(home: Path, tmp_path: Path) -> None:
    script = Script().prompt("The frobnicator", "p1").calls("Bash", {"command": "frobnicate"}, "t1")
    script.result("t1", "frobnicated", promptId="p1").says("The frobnicator is done.")
    path = script.prompt("Next", "p2").says("Fine.").write(tmp_path / "t")
    imported(home, tmp_path / "t")
    run_cmem("forget", "--match", "frobnicat", "--hard", "--yes", CMEM_HOME=str(home))
    assert b"frobnicat" not in bytes_under(home)
    before = held(home)
    os.utime(path, (1_780_000_500, 1_780_000_500))
    conn = connection.open_writer(str(home), now=LATER)
    conn.execute("DELETE FROM seen_events")
    conn.close()
    imported(home, tmp_path / "t")
    assert b"frobnicat" not in bytes_under(home)
    assert held(home) == before


def test_session_that_was_forgotten_does_not_come_back(home: Path, tmp_path: Path) -> None:
    script = Script().prompt("The frobnicator", "p1").calls("Bash", {"command": "frobnicate"}, "t1")
    script.result("t1", "frobnicated", promptId="p1").says("The frobnicator is done.")
    path = script.write(tmp_path / "t")
    imported(home, tmp_path / "t")
    run_cmem("forget", "--session", SESSION, "--hard", "--yes", CMEM_HOME=str(home))
    assert b"frobnicat" not in bytes_under(home)
    os.utime(path, (1_780_000_500, 1_780_000_500))
    conn = connection.open_writer(str(home), now=LATER)
    conn.execute("DELETE FROM seen_events")
    conn.close()
    report = imported(home, tmp_path / "t")
    assert (report.prompts, report.tool_uses) == (0, 0)
    assert b"frobnicat" not in bytes_under(home)


def test_no_provider_is_asked_for_what_was_imported(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cmem.compress.observe_imported", lambda *_a, **_k: core.observe.Tally())
    imported(home, SAMPLES / "2.1.332")
    conn = connection.open_writer(str(home), now=LATER)
    assert len(imports.pending(conn)) == 4
    assert units.next_pending(conn) is None
    conn.close()
    monkeypatch.undo()
    script = home / "never.sh"
    script.write_text("#!/bin/sh\ntouch asked\n")
    script.chmod(0o700)
    report = run_json(
        "compress", "--provider", "command",
        CMEM_HOME=str(home), CMEM_COMMAND=str(script),
    )  # fmt: skip
    assert (report["pending"], report["calls"], report["reason"]) == (0, 0, "")
    conn = connection.open_writer(str(home), now=LATER)
    models = conn.execute("SELECT DISTINCT generated_by_model FROM observations").fetchall()
    assert models == [("extract",)]
    conn.close()


def test_run_that_was_cut_off_goes_on(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    Script().prompt("One", "p1").says("1.").write(tmp_path / "t")
    Script(OTHER).prompt("Two", "p2").says("2.").write(tmp_path / "t", OTHER)

    def stop(done: int, total: int, _count: object) -> None:
        if done > total * 0.6:
            raise KeyboardInterrupt

    importer = core.IMPORTERS["claude-code"]
    with pytest.raises(KeyboardInterrupt):
        core.run(
            str(home),
            importer,
            core.find(importer, str(tmp_path / "t")),
            settings=settings.load(str(home), env={}, flags={}, trusted_env=False),
            limits=Limits(),
            clock=lambda: LATER,
            progress=stop,
        )
    report = imported(home, tmp_path / "t")
    assert (report.unchanged, report.sessions) == (1, 1)
    imported(other, tmp_path / "t")
    assert held(home) == held(other)


@pytest.mark.parametrize("replaced", [False, True])
def test_who_waits_for_the_lock_gets_it_between_two_sessions(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    monkeypatch.setattr("cmem.held.HELD_S", 0.0)
    for number in range(3):
        Script(f"s{number}").prompt("Go", f"p{number}").says("Gone.").write(tmp_path, f"s{number}")
    happened: list[str] = []

    def wait() -> None:
        fd = lock.acquire(str(home / "compress.lock"), wait_ms=10_000)
        assert fd is not None
        happened.append("lock")
        if replaced:
            shutil.copy(home / "memory.db", home / "other.db")
            os.replace(home / "other.db", home / "memory.db")
        lock.release(fd)

    waiter = threading.Thread(target=wait)

    def progress(done: int, total: int, _count: object) -> None:
        happened.append(f"{done == total}")
        if len(happened) == 1:
            waiter.start()

    importer = core.IMPORTERS["claude-code"]
    found = core.find(importer, str(tmp_path))
    chosen = settings.load(str(home), env={}, flags={}, trusted_env=False)
    more = {"settings": chosen, "limits": Limits(), "clock": lambda: LATER, "progress": progress}
    if replaced:
        with pytest.raises(BusyError, match="another memory was put in its place"):
            core.run(str(home), importer, found, **more)
    else:
        assert core.run(str(home), importer, found, **more).sessions == 3
        assert "lock" in happened[: happened.index("True")]
    waiter.join()


def test_event_that_breaks_its_transaction_holds_up_no_other(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script().prompt("Go", "p1").calls("Bash", {"command": "ls"}, "t1")
    script.result("t1", "a", promptId="p1").says("Gone.").prompt("On", "p2").says("Went.")
    script.write(tmp_path / "t")
    real = evidence.insert_tool

    def fail(*_args: object, **_named: object) -> int:
        raise ArithmeticError

    monkeypatch.setattr(evidence, "insert_tool", fail)
    report = imported(home, tmp_path / "t")
    assert (report.prompts, report.tool_uses, report.faulty) == (2, 0, 1)
    monkeypatch.setattr(evidence, "insert_tool", real)
    report = imported(home, tmp_path / "t")
    assert (report.prompts, report.tool_uses, report.faulty) == (0, 1, 0)


def test_install_says_what_there_is_and_asks_no_script(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "claude"
    Script().prompt("Go", "p1").says("Gone.").write(folder / "projects")
    env = {"CMEM_HOME": str(home), "CLAUDE_CONFIG_DIR": str(folder)}
    line = (
        f"1 past session (0.0 MB) in {folder / 'projects'}: `cmem import claude-code` brings them "
        "in, in about 1 s and without a model."
    )
    assert run_cmem("install", "--yes", **env).stdout.decode().splitlines()[-1] == line
    run_cmem("import", "claude-code", **env)
    assert line not in run_cmem("install", "--yes", **env).stdout.decode()


def test_many_small_sessions_are_told_to_take_their_time(home: Path, tmp_path: Path) -> None:
    for number in range(100):
        Script(f"s{number}").prompt("Go", f"p{number}").write(tmp_path / "projects", f"s{number}")
    done = run_cmem("import", "claude-code", str(tmp_path), "--dry-run", CMEM_HOME=str(home))
    assert b"an import takes about 3 s." in done.stdout
    env = {"CMEM_HOME": str(home), "CLAUDE_CONFIG_DIR": str(tmp_path)}
    done = run_cmem("install", "claude-code", **env)
    assert b"brings them in, in about 3 s and without a model." in done.stdout


def test_words_of_the_past_are_found(home: Path) -> None:
    imported(home, SAMPLES / "2.1.332")
    hits = run_json("search", "CHANGELOG", "--all-projects", CMEM_HOME=str(home))["hits"]
    assert {hit["kind"] for hit in hits} >= {"prompt", "tool_use"}


def test_sessions_of_the_past_are_over(home: Path, tmp_path: Path) -> None:
    def status() -> list[tuple[str, int | None]]:
        conn = apsw.Connection(str(home / "memory.db"))
        found = conn.execute("SELECT status, completed_at FROM sessions").fetchall()
        conn.close()
        return [(str(one), at) for one, at in found]

    script = Script().prompt("First", "p1").says("One.")
    script.write(tmp_path / "t")
    begun = 1_777_629_600_000
    imported(home, tmp_path / "t", now=begun + 3_600_000)
    assert status() == [("active", None)]  # it may go on
    script.prompt("Second", "p2").says("Two.").write(tmp_path / "t")
    imported(home, tmp_path / "t")
    assert status() == [("completed", begun + 3_000)]
    script.prompt("Third", "p3").says("Three.").write(tmp_path / "t")
    imported(home, tmp_path / "t")
    assert status() == [("completed", begun + 5_000)]


def test_what_a_background_agent_told_is_no_prompt(home: Path, tmp_path: Path) -> None:
    told = "<task-notification><summary>zebra grazing finished</summary></task-notification>"
    Script().prompt("Graze the zebra", "p1").says("It grazes.").prompt(told, "p2").says(
        "Done."
    ).write(tmp_path / "t")
    assert imported(home, tmp_path / "t").prompts == 1
    env = {"CMEM_HOME": str(home)}
    for line in (("list",), ("search", "zebra")):
        found = run_json(*line, "--kind", "prompt", "--all-projects", **env)
        assert [one["title"] for one in found.get("items", found.get("hits"))] == [
            "Graze the zebra"
        ]
    shown = run_json("session", "show", "N1", **env)
    assert [one["title"] for one in shown["items"] if one["kind"] == "prompt"] == [
        "Graze the zebra"
    ]
    types = [one.get("type") for one in run_json("get", "P1", "P2", **env)["items"]]
    assert types == [None, "notification"]


# --- the command ----------------------------------------------------------------------


def test_command_reports_as_text_and_json(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "my transcripts"
    path = Script().prompt("Go", "p1").says("Gone.").write(root)
    with path.open("ab") as file:
        file.write(b"oops\n")
    os.utime(path, (1_780_000_000, 1_780_000_000))
    done = run_cmem("import", "claude-code", str(root), "--dry-run", CMEM_HOME=str(home))
    assert done.returncode == 0
    assert done.stdout.startswith(b"1 session, 1 prompt and 0 tool uses in 1 file (0.0 MB) of ")
    assert list(home.iterdir()) == []
    done = run_cmem("import", "claude-code", str(root), "--json", CMEM_HOME=str(home))
    problem = {"path": str(path), "line": 3, "detail": "is no JSON object"}
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert done.stderr.decode() == f"cmem: {path}: line 3: is no JSON object\n"
    assert document | {"bytes": 0} == {
        "host": "claude-code",
        "folder": str(root),
        "dry_run": False,
        "files": 1,
        "bytes": 0,
        "unchanged": 0,
        "sessions": 1,
        "prompts": 1,
        "tool_uses": 0,
        "held": 0,
        "withheld": 0,
        "faulty": 0,
        "observations": 0,
        "summaries": 0,
        "problems": [problem],
    }
    again = run_cmem("import", "claude-code", str(root), CMEM_HOME=str(home))
    assert again.stdout.splitlines()[1:] == [b"Unchanged since the last import: 1 session."]


def test_dry_run_counts_what_is_new_and_the_import_takes_just_that(
    home: Path, tmp_path: Path
) -> None:
    root = tmp_path / "t"
    first = Script().prompt("First", "p1").calls("Bash", {"command": "ls"}, "t1").result("t1", "x")
    first.says("One.")
    old = "bbbbbbbb-2222-4222-8222-222222222222"
    Script(old).prompt("Old", "o1").says("Done.").write(root, old)
    first.write(root)
    env = {"CMEM_HOME": str(home)}
    run_cmem("import", "claude-code", str(root), **env)
    nothing = run_cmem("import", "claude-code", str(root), "--dry-run", **env)
    unchanged = "Unchanged since the last import: {}.\n"
    said = f"Nothing new in {root}. Nothing was written.\n" + unchanged.format("2 sessions")
    assert (nothing.returncode, nothing.stdout.decode()) == (0, said)
    path = first.prompt("Second", "p2").calls("Bash", {"command": "pwd"}, "t2").result("t2", "y")
    path.says("Two.").write(root)
    fork = "cccccccc-3333-4333-8333-333333333333"
    copied = Script(fork).prompt("First", "p1").says("One.").prompt("Third", "p3").says("Three.")
    copied.write(root, fork)
    look = run_json("import", "claude-code", str(root), "--dry-run", **env)
    assert (look["files"], look["unchanged"]) == (2, 1)
    done = run_json("import", "claude-code", str(root), **env)
    names = ("sessions", "prompts", "tool_uses", "unchanged", "withheld")
    assert [look[name] for name in names] == [done[name] for name in names] == [1, 2, 1, 1, 0]


def test_dry_run_leaves_out_what_switches_leave_out(home: Path, tmp_path: Path) -> None:
    Script().prompt("Go", "p1").calls("Bash", {"command": "ls"}, "t1").result("t1", "x").write(
        tmp_path / "t"
    )
    (home / "config.toml").write_text('skip_commands = "ls"\n')
    before = sorted(home.iterdir())
    line = ("import", "claude-code", str(tmp_path / "t"))
    look = run_json(*line, "--dry-run", CMEM_HOME=str(home))
    assert sorted(home.iterdir()) == before
    done = run_json(*line, CMEM_HOME=str(home))
    names = ("sessions", "prompts", "tool_uses", "withheld")
    assert [look[name] for name in names] == [done[name] for name in names] == [1, 1, 0, 1]


def test_what_waits_in_the_spool_is_known(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "t"
    Script().prompt("Go", "p1").write(root)
    importer = core.IMPORTERS["claude-code"]
    found = core.find(importer, str(root))
    assert len(core.waiting(str(home), importer, found).groups) == 1
    event = {"session_id": SESSION, "cwd": "/home/dev/project", "prompt_id": "p1", "prompt": "Go"}
    put(home, "UserPromptSubmit", event, 1_777_629_600_000)
    assert core.waiting(str(home), importer, found).groups == ()
    look = core.look(str(home), importer, found, limits=Limits(), now=LATER)
    done = imported(home, root)
    assert (look.sessions, look.prompts) == (done.sessions, done.prompts) == (0, 0)


@pytest.mark.parametrize("flags", [(), ("--dry-run",)])
def test_folder_without_transcripts_is_a_failure(
    home: Path, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.md").write_text("words")
    done = run_cmem("import", "codex", str(tmp_path / "notes"), *flags, CMEM_HOME=str(home))
    assert (done.returncode, done.stdout) == (1, b"")
    said = f"cmem: no transcripts of Codex CLI in {tmp_path / 'notes'}\n"
    assert done.stderr.decode() == said


def test_the_bar_tells_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int, str]] = []

    @contextlib.contextmanager
    def work(_label: str, *, numbers: bool) -> Iterator[Callable[[int, int, str], None]]:
        assert not numbers
        yield lambda done, total, words: told.append((done, total, words))

    monkeypatch.setattr(terminal, "work", work)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with import_._progress(quiet=False) as tell:
        assert tell is not None
        tell(60_000, 60_000, Count(prompts=3))
    assert told == [(60_000, 60_000, "0.1/0.1 MB  3 prompts")]


def test_folder_that_is_not_there_is_a_failure(home: Path, tmp_path: Path) -> None:
    done = run_cmem("import", "codex", str(tmp_path / "none"), CMEM_HOME=str(home))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == f"cmem: no transcripts: {tmp_path / 'none'} does not exist\n"


def test_file_that_is_no_transcript_is_a_failure(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("words")
    done = run_cmem("import", "gemini-cli", str(path), CMEM_HOME=str(home))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == f"cmem: no transcript of Gemini CLI: {path}\n"


def test_hosts_own_folder_is_read_where_none_is_named(home: Path, tmp_path: Path) -> None:
    Script().prompt("Go", "p1").write(tmp_path / "claude" / "projects")
    found = run_json(
        "import", "claude-code",
        CMEM_HOME=str(home), CLAUDE_CONFIG_DIR=str(tmp_path / "claude"),
    )  # fmt: skip
    assert (found["sessions"], found["folder"]) == (1, str(tmp_path / "claude" / "projects"))
    assert SESSION[:4] == "aaaa"
