"""The hook as a process: exit 0, silence, and the event kept, whatever comes in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from hookrun import BOM, argv, entries, everything, fire, kinds, line, ready, silent, spilled
from support import CLAUDE_CODE, ROOT, clean_env, payload_bytes

from cmem import launcher, lenient, paths, spill, spooled
from cmem.model import Repo

# Everything the hook loads beyond a bare `python -I -S`. Start-up is the product: json costs 8 ms,
# re 6, typing 10, dataclasses 17. A new name here has to be worth what it costs every tool call.
LOADED = [
    "_collections_abc",
    "_stat",
    "apsw",
    "cmem",
    "cmem.driver",
    "cmem.eid",
    "cmem.hook",
    "cmem.hosts",
    "cmem.hosts.wire",
    "cmem.intake",
    "cmem.off",
    "cmem.paths",
    "cmem.privacy",
    "cmem.privacy.gates",
    "cmem.repo",
    "cmem.spool",
    "genericpath",
    "os",
    "os.path",
    "posixpath",
    "stat",
]

# What an installation leaves in a home.
OURS = {"hook.py", f"hook.{sys.implementation.cache_tag}.bin"}

TOOL = {
    "session_id": "s1",
    "cwd": "/nowhere",
    "hook_event_name": "PostToolUse",
    "prompt_id": "p1",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_response": {"stdout": "a\nb"},
    "tool_use_id": "toolu_1",
}


def tool(**changes: object) -> bytes:
    return payload_bytes({**TOOL, **changes})


def recorded(name: str) -> bytes:
    return payload_bytes(json.loads((CLAUDE_CODE / name).read_bytes()))


def test_modules_the_hook_loads_are_these_and_no_others(home: Path) -> None:
    code = f"""
import os, sys
sys.path.extend({launcher._site_dirs() + [str(ROOT)]!r})
os._exit = lambda _code: os.write(1, " ".join(sorted(sys.modules)).encode())
from cmem.hook import main
main(["claude-code", "PostToolUse", {str(home)!r}])
"""
    env = clean_env(CMEM_AUTO_COMPRESS="0")
    base = [launcher.interpreter(), "-I", "-S", "-c"]
    bare = subprocess.run(
        [*base, "import sys; print(*sys.modules)"], capture_output=True, check=True, env=env
    ).stdout.split()
    full = subprocess.run([*base, code], input=tool(), capture_output=True, check=True, env=env)
    assert sorted(set(full.stdout.decode().split()) - set(map(bytes.decode, bare))) == [*LOADED], (
        full.stderr
    )
    assert len(entries(home)) == 1


def test_tool_event_lies_in_the_spool_as_it_came(home: Path) -> None:
    ready(home)
    raw = tool()
    assert silent(fire(home, "PostToolUse", raw, CMEM_PROJECT="mine"))
    (entry,) = entries(home)
    assert entry._replace(captured_at=0) == (
        1,
        "claude-code:s1:t:toolu_1",
        "claude-code",
        "PostToolUse",
        0,
        "/nowhere",
        Repo("", "", "", ""),
        "mine",
        raw.strip(),
        True,
    )
    assert kinds(home) == (1, 0, 0)


@pytest.mark.parametrize(
    ("event", "fixture", "kind"),
    [
        ("SessionStart", "SessionStart-startup.json", "h"),
        ("UserPromptSubmit", "UserPromptSubmit.json", "p"),
        ("PostToolUse", "PostToolUse-Bash.json", "t"),
        ("PostToolUseFailure", "PostToolUseFailure-Read.json", "t"),
        ("Stop", "Stop.json", "h"),
        ("StopFailure", "StopFailure.json", "h"),
        ("SubagentStop", "SubagentStop.json", "h"),
        ("PreCompact", "PreCompact-manual.json", "h"),
        ("SessionEnd", "SessionEnd-other.json", "h"),
    ],
)
def test_registered_twice_is_stored_once(home: Path, event: str, fixture: str, kind: str) -> None:
    ready(home)
    raw = recorded(fixture)
    for _ in range(2):
        assert fire(home, event, raw).returncode == 0
    (entry,) = entries(home)
    session = json.loads(raw)["session_id"]
    assert entry.eid.startswith(f"claude-code:{session}:{kind}:")
    assert ("~" in entry.eid) == (event in ("PreCompact", "SessionEnd"))


@pytest.mark.parametrize("event", ["PreToolUse", "Nonsense", "", "../x", "-h", "--help"])
def test_other_events_store_nothing(home: Path, event: str) -> None:
    ready(home)
    assert silent(subprocess.run(argv(home, event), input=tool(), capture_output=True, check=False))
    assert {path.name for path in home.iterdir()} == OURS


@pytest.mark.parametrize("name", ["CMEM_DISABLE", "CMEM_OBSERVER"])
def test_switched_off_leaves_no_trace(home: Path, name: str) -> None:
    ready(home)
    assert silent(fire(home, "PostToolUse", tool(), **{name: "1"}))
    assert {path.name for path in home.iterdir()} == OURS


def test_event_of_our_own_observer_is_not_stored(home: Path) -> None:
    ready(home)
    assert silent(fire(home, "PostToolUse", tool(cwd="/tmp/cmem-observer-x1/w")))
    assert kinds(home) == (0, 0, 0)


# (payload, rows, stub reason or None for an ordinary row)
BAD: dict[str, tuple[bytes, int, str | None]] = {
    "empty": (b"", 0, None),
    "whitespace": (b" \n\t ", 0, None),
    "null": (b"null", 1, "malformed"),
    "list": (b"[]", 1, "malformed"),
    "string": (b'"x"', 1, "malformed"),
    "number": (b"123", 1, "malformed"),
    "text": (b"hello", 1, "malformed"),
    "cut short": (tool()[:60], 1, "malformed"),
    "binary": (bytes(range(256)) * 4, 1, "malformed"),
    "utf-16": ('{"a":1}'.encode("utf-16"), 1, "malformed"),
    "two documents": (tool() + tool(), 1, "malformed"),
    "invalid utf-8": (b'{"session_id":"s1","x":"\xff\xfe"}', 1, None),
    "bom": (BOM + tool(), 1, None),
    "nan": (b'{"session_id":"s1","x":NaN,"y":-Infinity,"z":1e400}', 1, None),
    "endless integer": (b'{"session_id":"s1","x":' + b"9" * 5000 + b"}", 1, None),
    "nesting 100": (b'{"a":' + b"[" * 100 + b"]" * 100 + b"}", 1, None),
    "nesting 1025": (b'{"a":' + b"[" * 1025 + b"]" * 1025 + b"}", 1, "malformed"),
    "nesting 100000": (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 1, "malformed"),
    "branches": (b'{"session_id":"s1","a":[' + b"[]," * 150_000 + b"1]}", 1, "oversize"),
    "nul": (b'{"session_id":"s\\u0000 1","prompt":"a\\u0000b"}', 1, None),
    "duplicate keys": (b'{"session_id":"s1","session_id":"s2"}', 1, None),
    "lone surrogate": (b'{"session_id":"s1","cwd":"\\ud800","prompt":"\\udfff"}', 1, None),
    "wrong types": (b'{"session_id":7,"cwd":[],"tool_use_id":{},"prompt":false}', 1, None),
    "odd session": (b'{"session_id":"../../x\\n' + b"y" * 10_000 + b'"}', 1, None),
    "odd cwd": (b'{"session_id":"s1","cwd":"/a\\u0000b"}', 1, None),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_ends_in_silence(home: Path, name: str) -> None:
    raw, rows, reason = BAD[name]
    ready(home)
    event = "UserPromptSubmit"
    assert silent(fire(home, event, raw))
    assert kinds(home) == (rows, 0, 0)
    for entry in entries(home):
        document = lenient.loads(entry.payload)
        assert isinstance(document, dict)
        assert document.get("cmem_stub") == reason
        assert len(entry.eid) < 200
        assert set(entry.eid) <= set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-~"
        )
    assert {path.name for path in home.iterdir()} <= OURS | {
        "spool.db",
        "spool.db-wal",
        "spool.db-shm",
    }


def test_malformed_stub_holds_no_text(home: Path) -> None:
    ready(home)
    fire(home, "Stop", b'{"session_id":"s1","x":"unrepeatable words"')
    (entry,) = entries(home)
    document = json.loads(entry.payload)
    assert document.pop("sha256")
    assert document == {
        "cmem_stub": "malformed",
        "bytes": 43,
        "hook_event_name": "Stop",
        "session_id": "s1",
    }
    assert b"unrepeatable" not in everything(home)


def test_more_than_eight_mebibytes_becomes_a_stub(home: Path) -> None:
    ready(home)
    raw = b'{"session_id":"s1","x":"' + b"y" * (9 << 20) + b'"}'
    assert silent(fire(home, "PostToolUse", raw))
    ((entry, *rest), document) = entries(home), {}
    document = json.loads(entry.payload)
    assert (rest, document["cmem_stub"], document["bytes"]) == ([], "oversize", len(raw))
    assert document["session_id"] == "s1"


def test_large_fields_keep_head_and_tail(home: Path) -> None:
    ready(home)
    text = "head " + "é" * 400_000 + " tail"
    assert silent(fire(home, "PostToolUse", tool(tool_response={"stdout": text})))
    (entry,) = entries(home)
    kept = json.loads(entry.payload)["tool_response"]["stdout"]
    assert len(kept.encode()) <= 64 * 1024
    head, note, tail = kept.partition("[… ")[0], "cut by cmem …]", kept[-5:]
    missing = int(kept.partition("[… ")[2].partition(" ")[0])
    assert (head[:5], note in kept, tail) == ("head ", True, " tail")
    assert missing + len(kept) - len(f"[… {missing} characters cut by cmem …]") == len(text)


def test_what_stays_large_is_spilled_and_named_like_a_row(home: Path) -> None:
    ready(home)
    raw = tool(tool_response={str(n): "x" * 60_000 for n in range(8)})
    for _ in range(2):
        assert silent(fire(home, "PostToolUse", raw))
    assert kinds(home) == (0, 2, 0)
    found = spill.read(str(home), spill.waiting(str(home)))
    assert [entry.eid for _, entry in found] == ["claude-code:s1:t:toolu_1"] * 2
    assert spilled(home) == [found[0][1].payload, found[1][1].payload]
    spill.remove([path for path, _ in found])
    assert kinds(home) == (0, 0, 0)


def test_spilled_hashed_event_has_the_name_the_row_has(home: Path) -> None:
    ready(home)
    raw = recorded("Stop.json")
    fire(home, "Stop", raw)
    (row,) = entries(home)
    spill.write(str(home), host="claude-code", event="Stop", captured_at=5, payload=row.payload)
    ((_, entry),) = spill.read(str(home), spill.waiting(str(home))[:1])
    assert entry.eid == row.eid


# --- places that cannot take it ------------------------------------------------------


def test_missing_home_is_made_private(tmp_path: Path, home: Path) -> None:
    ready(home)
    other = tmp_path / "a" / "b"
    command = line(home, "PostToolUse").replace(f"'{home}' 2>", f"'{other}' 2>")
    done = subprocess.run(
        ["/bin/sh", "-c", f"umask 0; {command}"],
        input=tool(),
        capture_output=True,
        check=False,
        env=clean_env(CMEM_AUTO_COMPRESS="0"),
    )
    assert silent(done)
    assert len(entries(other)) == 1
    modes = {path.name: path.stat().st_mode & 0o777 for path in [other, *other.iterdir()]}
    assert {modes.pop("b")} == {0o700}
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("kind", ["file", "below a file", "dangling link", "open to all"])
def test_unfit_home_is_refused(tmp_path: Path, home: Path, kind: str) -> None:
    ready(home)
    other = tmp_path / "other"
    target = tmp_path / "elsewhere"
    if kind == "file":
        other.write_bytes(b"mine")
    elif kind == "below a file":
        other.write_bytes(b"mine")
        other = other / "home"
    elif kind == "dangling link":
        other.symlink_to(target)
    else:
        other.mkdir()
        other.chmod(0o777)
    command = [*argv(home, "PostToolUse")[:-1], str(other)]
    done = subprocess.run(command, input=tool(), capture_output=True, check=False, env=clean_env())
    assert silent(done)
    assert not target.exists()
    if kind == "file":
        assert other.read_bytes() == b"mine"
    if kind == "open to all":
        assert sorted(path.name for path in other.iterdir()) == ["dropped", "hook.log"]
        assert kinds(other) == (0, 0, 1)


def test_locked_spool_spills(home: Path) -> None:
    ready(home)
    fire(home, "PostToolUse", tool())
    holder = apsw.Connection(paths.spool_db(str(home)))
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert silent(fire(home, "PostToolUse", tool(tool_use_id="toolu_2")))
    finally:
        holder.close()
    assert kinds(home) == (1, 1, 0)
    assert "toolu_2" in spilled(home)[0].decode()
    assert (home / "hook.log").read_text().split()[1:] == [
        "PostToolUse",
        "BusyError",
        str(len(tool(tool_use_id="toolu_2").strip())),
        "spilled",
    ]


@pytest.mark.parametrize("damage", ["text", "directory", "zeroed header", "newer"])
def test_damaged_spool_is_left_alone(home: Path, damage: str) -> None:
    ready(home)
    file = home / "spool.db"
    if damage == "text":
        file.write_bytes(b"this is no database " * 100)
    elif damage == "directory":
        file.mkdir()
    elif damage == "newer":
        conn = apsw.Connection(str(file))
        conn.execute("PRAGMA user_version = 9")
        conn.close()
    else:
        fire(home, "Stop", tool())
        drained = spooled.open_drain(str(home))
        assert drained is not None
        spooled.finish(drained)
        (home / "spool.db-wal").unlink()  # it holds the first page
        with file.open("r+b") as handle:
            handle.write(bytes(4096))
    before = file.read_bytes() if file.is_file() else b""
    assert silent(fire(home, "PostToolUse", tool()))
    assert (file.read_bytes() if file.is_file() else b"") == before
    assert len(spilled(home)) == 1


def test_empty_spool_file_is_initialised(home: Path) -> None:
    ready(home)
    (home / "spool.db").write_bytes(b"")
    assert silent(fire(home, "PostToolUse", tool()))
    assert kinds(home) == (1, 0, 0)


def test_neither_place_takes_it_so_it_is_counted(home: Path) -> None:
    ready(home)
    (home / "spool.db").mkdir()
    (home / "spill").write_bytes(b"in the way")
    for _ in range(2):
        assert silent(fire(home, "PostToolUse", tool()))
    assert (home / "dropped").read_bytes() == b".."
    assert b"toolu_1" not in everything(home)


def test_planted_links_are_not_followed(tmp_path: Path, home: Path) -> None:
    ready(home)
    target = tmp_path / "target"
    target.mkdir()
    (home / "spool.db").mkdir()
    (home / "spill").symlink_to(target)
    (home / "hook.log").symlink_to(target / "log")
    assert silent(fire(home, "PostToolUse", tool()))
    assert list(target.iterdir()) == []
    assert (home / "dropped").read_bytes() == b"."


def test_file_size_limit_is_no_death(home: Path) -> None:
    ready(home)
    done = subprocess.run(
        ["/bin/sh", "-c", f"ulimit -f 2; {line(home, 'PostToolUse')}"],
        input=tool(),
        capture_output=True,
        check=False,
        env=clean_env(CMEM_AUTO_COMPRESS="0"),
    )
    assert silent(done)
    assert len(entries(home)) + len(spilled(home)) == 1


def test_full_log_is_rotated(home: Path) -> None:
    ready(home)
    (home / "spool.db").mkdir()
    (home / "hook.log").write_bytes(b"x" * 300_000)
    fire(home, "PostToolUse", tool())
    assert (home / "hook.log.1").stat().st_size == 300_000
    assert (home / "hook.log").stat().st_size < 100


# --- descriptors and streams ---------------------------------------------------------


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "</dev/null", "</"])
def test_closed_descriptors_never_become_the_database(home: Path, closed: str) -> None:
    ready(home)
    command = line(home, "PostToolUse").replace("2>/dev/null", f"2>/dev/null {closed}")
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=tool(),
        capture_output=True,
        check=False,
        env=clean_env(CMEM_AUTO_COMPRESS="0"),
    )
    assert silent(done)
    assert len(entries(home)) == (0 if "<" in closed else 1)


def test_session_start_with_closed_stdout_stores_and_ends(home: Path) -> None:
    ready(home)
    command = line(home, "SessionStart").replace("2>", ">&- 2>")
    raw = recorded("SessionStart-startup.json")
    done = subprocess.run(
        ["/bin/sh", "-c", command], input=raw, capture_output=True, check=False, env=clean_env()
    )
    assert done.returncode == 0
    assert len(entries(home)) == 1


@pytest.mark.parametrize(("sent", "rows"), [(b"", 0), (tool(), 1), (tool()[:50], 1)])
def test_stdin_that_never_ends_is_not_waited_for(home: Path, sent: bytes, rows: int) -> None:
    ready(home)
    process = subprocess.Popen(
        argv(home, "PostToolUse"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_env(CMEM_AUTO_COMPRESS="0"),
    )
    assert process.stdin is not None
    process.stdin.write(sent)
    process.stdin.flush()
    assert process.wait(timeout=20) == 0
    process.stdin.close()
    assert len(entries(home)) == rows


def test_environment_of_the_project_changes_nothing(tmp_path: Path, home: Path) -> None:
    ready(home)
    for name in ("cmem", "json", "apsw"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(2)")
    done = subprocess.run(
        ["/bin/sh", "-c", line(home, "PostToolUse")],
        input=tool(),
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PYTHONHOME": "/x", "CMEM_AUTO_COMPRESS": "0"},
    )
    assert silent(done)
    assert len(entries(home)) == 1


def test_deleted_working_directory_is_no_trouble(tmp_path: Path, home: Path) -> None:
    ready(home)
    gone = tmp_path / "gone"
    command = f"mkdir '{gone}'; cd '{gone}'; rmdir '{gone}'; {line(home, 'PostToolUse')}"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=tool(cwd=str(gone)),
        capture_output=True,
        check=False,
        env=clean_env(CMEM_AUTO_COMPRESS="0"),
    )
    assert silent(done)
    assert len(entries(home)) == 1


def syncs(home: Path, trace: Path, payload: bytes) -> int:
    """How often a hook synced; connecting and unlinking it must never do."""
    if subprocess.run(["/bin/sh", "-c", "command -v strace"], capture_output=True).returncode:
        pytest.skip("strace is not installed")
    strace = ["strace", "-f", "-e", "trace=fsync,fdatasync,connect,unlink", "-o", str(trace)]
    done = subprocess.run(
        [*strace, *argv(home, "PostToolUse")],
        input=payload,
        capture_output=True,
        check=False,
        env=clean_env(CMEM_AUTO_COMPRESS="0"),
    )
    assert done.returncode == 0
    calls = [row for row in trace.read_text().splitlines() if "exited" not in row]
    assert not [row for row in calls if "sync(" not in row]
    return len(calls)


def test_no_sync_in_a_hook_but_the_one_that_finds_the_log_full(tmp_path: Path, home: Path) -> None:
    ready(home)
    spooled.prepare(str(home))
    counted = [
        syncs(home, tmp_path / "trace", tool(tool_use_id=f"t{n}", tool_response="x" * 60_000))
        for n in range(14)
    ]
    assert [count > 0 for count in counted].count(True) == 1
    assert counted[0] == counted[-1] == 0
    assert kinds(home) == (14, 0, 0)


def test_no_sync_in_the_hook_after_a_drain(tmp_path: Path, home: Path) -> None:
    ready(home)
    fire(home, "PostToolUse", tool())
    drain = spooled.open_drain(str(home))
    assert drain is not None
    spooled.delete(drain, [1])
    spooled.finish(drain)
    assert syncs(home, tmp_path / "trace", tool(tool_use_id="toolu_2")) == 0


def test_log_that_grew_is_rewound_by_the_hook_that_finds_it(home: Path) -> None:
    ready(home)
    body = {str(n): "x" * 60_000 for n in range(4)}
    for n in range(5):
        fire(home, "PostToolUse", tool(tool_use_id=f"t{n}", tool_response=body))
    wal = home / "spool.db-wal"
    assert wal.stat().st_size <= 512 * 1024 + 300_000
    assert kinds(home) == (5, 0, 0)


def test_twenty_hooks_at_once_lose_nothing(home: Path) -> None:
    ready(home)
    processes = []
    for n in range(20):
        process = subprocess.Popen(
            argv(home, "PostToolUse"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=clean_env(CMEM_AUTO_COMPRESS="0"),
        )
        assert process.stdin is not None
        process.stdin.write(tool(tool_use_id=f"t{n}"))
        process.stdin.close()
        processes.append(process)
    assert [process.wait(timeout=60) for process in processes] == [0] * 20
    found = {entry.eid for entry in entries(home)}
    found |= {entry.eid for _, entry in spill.read(str(home), spill.waiting(str(home)))}
    assert found == {f"claude-code:s1:t:t{n}" for n in range(20)}
    assert kinds(home)[2] == 0


# --- broken installations ------------------------------------------------------------


def broken(home: Path, *, without: str) -> None:
    """A launcher that cannot find cmem (or apsw)."""
    places = [] if without == "cmem" else [str(ROOT)]
    text = launcher.render(package_dir=str(ROOT), site_dirs=places, version="0")
    if without == "cmem":
        text = text.replace(repr((str(ROOT),)), "()")
    (home / "hook.py").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("without", ["cmem", "apsw"])
def test_missing_package_spills(home: Path, without: str) -> None:
    broken(home, without=without)
    assert silent(fire(home, "PostToolUse", tool()))
    ((_, entry),) = spill.read(str(home), spill.waiting(str(home)))
    assert (entry.eid, entry.payload) == ("claude-code:s1:t:toolu_1", tool().strip())
    assert entries(home) == []


@pytest.mark.parametrize("without", ["cmem", "apsw"])
def test_missing_package_keeps_secrets_off_the_disk(home: Path, without: str) -> None:
    broken(home, without=without)
    key = "ghp_" + "a1B2" * 9
    assert silent(fire(home, "PostToolUse", tool(tool_response={"stdout": f"token {key}"})))
    assert key.encode() not in everything(home)
    document = json.loads(spilled(home)[0])
    if without == "cmem":
        assert document["cmem_stub"] == "unscrubbed"
    else:
        assert document["tool_response"]["stdout"] == "token [REDACTED:github]"


def test_missing_interpreter_or_launcher_still_ends_with_zero(home: Path) -> None:
    command = line(home, "UserPromptSubmit")
    for text in (command, command.replace(launcher.interpreter(), "/no/such/python")):
        done = subprocess.run(["/bin/sh", "-c", text], input=tool(), capture_output=True)
        assert silent(done)


def test_drain_is_started_with_a_clean_environment(tmp_path: Path, home: Path) -> None:
    out = tmp_path / "out"
    (home / "hook.py").write_text(
        "import os, sys, time\n"
        "sys.path.extend(" + repr([str(ROOT), *launcher._site_dirs()]) + ")\n"
        "if sys.argv[1] == '--compress':\n"
        f"    open({str(out) + '.tmp'!r}, 'w').write(repr((dict(os.environ), sys.argv[1:],"
        " os.getsid(0) == os.getpid(), [os.readlink(f'/proc/self/fd/{n}') for n in range(3)])))\n"
        f"    os.rename({str(out) + '.tmp'!r}, {str(out)!r})\n"
        "else:\n"
        "    from cmem.hook import main\n"
        "    main(sys.argv[1:])\n"
    )
    env = clean_env(LC_ALL="C", ANTHROPIC_BASE_URL="http://evil", CMEM_PROVIDER="x")
    subprocess.run(argv(home, "Stop"), input=recorded("Stop.json"), check=True, env=env)
    for _ in range(500):
        if out.exists():
            break
        subprocess.run([sys.executable, "-c", "import time; time.sleep(0.02)"], check=True)
    environment, arguments, leads, streams = eval(out.read_text())
    assert arguments[:2] == ["--compress", str(home)]
    assert (leads, streams) == (True, [os.devnull] * 3)
    assert {"LC_ALL", "HOME", "CMEM_STARTED_BY"} <= set(environment)
    assert not {"ANTHROPIC_BASE_URL", "CMEM_PROVIDER", "CMEM_HOME"} & set(environment)
