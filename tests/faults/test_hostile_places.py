"""Places and surroundings as bad as they come: exit 0, silence, nothing planted is run or
followed, and the event is kept, or counted wherever a byte can be written."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
import samples
from hookrun import argv, entries, kinds, line, ready, silent, spilled
from support import ROOT, clean_env, payload_bytes, run_cmem, run_json
from sweeping import assert_sound, kept, remember, tool

from cmem import launcher, spooled
from cmem.store import connection

Done = subprocess.CompletedProcess[bytes]
SECRET_NAME = "ghp_"  # the gate's word alone: the hook loads json and re for it


def sh(script: str, payload: bytes, env: dict[str, str], *, cwd: Path | str = "/") -> Done:
    return subprocess.run(
        ["/bin/sh", "-c", script], input=payload, capture_output=True, timeout=30, env=env, cwd=cwd
    )


def quiet(**changes: str) -> dict[str, str]:
    return clean_env(CMEM_AUTO_COMPRESS="0", **changes)


# --- environments ----------------------------------------------------------------------

ENVIRONMENTS: dict[str, dict[str, str] | None] = {
    "nothing": {},
    "no HOME": {"PATH": "/usr/bin:/bin"},
    "no PATH": {"HOME": "/root"},
    "relative HOME": {"HOME": "here", "PATH": ""},
    "HOME that is missing": {"HOME": "/no/such/place"},
    "locale C": {"LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "ascii"},
    "locale that is missing": {"LC_ALL": "xx_XX.KOI8", "LANGUAGE": "xx"},
    "Python turned around": {
        "PYTHONHOME": "/nowhere",
        "PYTHONPATH": "/nowhere",
        "PYTHONSTARTUP": "/dev/null",
        "PYTHONOPTIMIZE": "2",
        "PYTHONINSPECT": "1",
        "PYTHONVERBOSE": "2",
        "PYTHONDEBUG": "3",
        "PYTHONMALLOC": "debug",
        "PYTHONTRACEMALLOC": "5",
        "PYTHONUTF8": "x",
        "PYTHONFAULTHANDLER": "1",
    },
    "a long variable": {"LONG": "x" * 100_000},
    "odd bytes": {"ODD": "\udcff\udcfe\x01", "CMEM_PROJECT": "\udcff\n\x1b[31m"},
    "odd settings": {"CMEM_EXCLUDE": "[:::/x**:\udcff", "CMEM_AUTO_COMPRESS": "maybe\n"},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_any_environment(name: str, home: Path) -> None:
    ready(home)
    env = {"CMEM_AUTO_COMPRESS": "0", **(ENVIRONMENTS[name] or {})}
    if name == "odd settings":
        (home / "config.toml").write_text("auto_compress = false\n")
    assert silent(sh(line(home, "PostToolUse"), tool("a"), env))
    assert kinds(home) == (1, 0, 0)
    assert "~" not in os.listdir("/")


# --- descriptors -----------------------------------------------------------------------

STREAMS = {
    "stdin closed": ("<&-", 0),
    "stdin a directory": ("</", 0),
    "stdin without an end": ("</dev/zero", 1),
    "stdin write-only": ("0>/dev/null", 0),
    "stdout closed": (">&-", 1),
    "stderr closed": ("2>&-", 1),
    "stdout and stderr closed": (">&- 2>&-", 1),
    "all closed": ("<&- >&- 2>&-", 0),
    "stdout full": (">/dev/full", 1),
    "stdout read-only": ("1</dev/null", 1),
}


@pytest.mark.parametrize("event", ["PostToolUse", "SessionStart"])
@pytest.mark.parametrize("name", STREAMS)
def test_any_streams(name: str, event: str, home: Path) -> None:
    ready(home)
    redirection, rows = STREAMS[name]
    payload = tool("a", hook_event_name=event, source="startup")
    done = sh(f"{{ {line(home, event)}; }} {redirection}", payload, quiet())
    assert (done.returncode, done.stderr) == (0, b"")
    assert kinds(home) == (rows, 0, 0)
    assert_sound(home)


@pytest.mark.parametrize("reader", ["gone", "asleep"])
def test_a_session_starts_whoever_reads(reader: str, home: Path, tmp_path: Path) -> None:
    """The pipe is broken, or full for ever."""
    ready(home)
    remember(home)
    read_end, write_end = os.pipe()
    if reader == "gone":
        os.close(read_end)
    else:
        os.set_blocking(write_end, False)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(write_end, b"x" * 4096)
        os.set_blocking(write_end, True)
    began = time.monotonic()
    done = subprocess.run(
        ["/bin/sh", "-c", line(home, "SessionStart")],
        input=payload_bytes({"session_id": "n", "cwd": "/home/dev/project", "source": "startup"}),
        stdout=write_end,
        stderr=subprocess.PIPE,
        timeout=20,
        env=quiet(),
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert time.monotonic() - began < 10
    assert [entry.event for entry in entries(home)] == ["SessionStart"]
    for fd in (write_end, *([read_end] if reader == "asleep" else [])):
        os.close(fd)


@pytest.mark.parametrize("limit", [4, 5, 6, 8])
def test_few_descriptors(limit: int, home: Path) -> None:
    """With fewer there is no Python, and below eleven no shell that could redirect."""
    ready(home)
    done = subprocess.run(
        ["/bin/sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *argv(home, "PostToolUse")],
        input=tool("a"),
        capture_output=True,
        timeout=30,
        env=quiet(),
    )
    assert silent(done)
    assert kinds(home) == ((1, 0, 0) if limit > 5 else (0, 1, 0))


# --- planted modules -------------------------------------------------------------------

PLANTED = (
    *("json", "os", "sys", "time", "re", "apsw", "sqlite3", "site", "sitecustomize", "io", "abc"),
    *("usercustomize", "cmem", "codecs", "encodings", "collections", "platformdirs", "_thread"),
    *("marshal", "gc", "hashlib", "tomllib", "orjson", "anthropic", "_sha2", "_sha256", "typing"),
)


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder of modules and packages that each leave a mark when they are run."""
    folder = tmp_path / "planted"
    folder.mkdir()
    code = f"open({str(tmp_path / 'mark')!r}, 'a').write(__name__ + chr(10))\n"
    for name in PLANTED:
        (folder / f"{name}.py").write_text(code)
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(code)
    for name in ("lib/python3.11", "lib/python3.12", "lib/python3.13"):
        (folder / name).mkdir(parents=True)
        shutil.copy(folder / "os.py", folder / name / "os.py")
    return folder


@pytest.mark.parametrize("text", ["plain", SECRET_NAME, "<private>x</private>"])
def test_planted_modules_are_not_run(text: str, home: Path, planted: Path, tmp_path: Path) -> None:
    ready(home)
    assert run_json("status", CMEM_HOME=str(home))["spool"]["pending"] == 0
    steered = {
        **{name: str(planted) for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE")},
        "PYTHONSTARTUP": str(planted / "site.py"),
        "PYTHONPYCACHEPREFIX": str(planted),
        "PYTHONBREAKPOINT": "json.x",
        "PYTHONWARNINGS": "error",
        "PATH": f"{planted}:.:",
        "HOME": str(planted),
        "XDG_CONFIG_HOME": str(planted),
    }
    payload = tool("a", cwd=str(planted), tool_response={"stdout": text})
    done = sh(line(home, "PostToolUse"), payload, steered, cwd=planted)
    assert silent(done)
    await_drain(home)  # it was started in the same surroundings
    assert not (tmp_path / "mark").exists()
    assert run_json("status", CMEM_HOME=str(home))["counts"]["tool_uses"] == 1


def await_drain(home: Path) -> None:
    """Until the background run that a hook started has taken everything in."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if (home / "memory.db").exists() and kinds(home) == (0, 0, 0):
            return
        time.sleep(0.05)
    pytest.fail("no drain has come")


# --- links and odd homes ---------------------------------------------------------------

LINKED = (
    *("spool.db", "spool.db-wal", "spool.db-shm", "hook.log", "dropped", "compress.lock"),
    *("off", "off-sessions", "config.toml", "memory.db"),
)


@pytest.mark.parametrize("kind", ["file", "dangling"])
@pytest.mark.parametrize("name", LINKED)
def test_a_planted_link_is_not_written_through(
    name: str, kind: str, home: Path, tmp_path: Path
) -> None:
    ready(home)
    victim = tmp_path / "victim"
    if kind == "file":
        victim.write_bytes(b"mine\n")
    (home / name).symlink_to(victim)
    for event in ("PostToolUse", "SessionStart"):
        done = sh(line(home, event), tool("a", source="startup"), quiet())
        assert (done.returncode, done.stderr) == (0, b"")
    assert (victim.read_bytes() == b"mine\n") if kind == "file" else not victim.exists()
    if name.startswith("spool.db") and (home / name).is_symlink():
        assert len(spilled(home)) == 2  # SQLite takes a log it has no use for away
    elif name != "off":  # that file switches memory off, by a link as well
        assert len(kept(home)) == 2


@pytest.mark.parametrize("kind", ["file", "dangling", "folder"])
def test_a_planted_spill_folder_is_not_written_into(kind: str, home: Path, tmp_path: Path) -> None:
    ready(home)
    (home / "spool.db").mkdir()
    victim = tmp_path / "victim"
    if kind == "folder":
        victim.mkdir()
    elif kind == "file":
        victim.write_bytes(b"mine\n")
    (home / "spill").symlink_to(victim)
    assert silent(sh(line(home, "PostToolUse"), tool("a"), quiet()))
    assert (home / "dropped").read_bytes() == b"."
    if kind == "folder":
        assert list(victim.iterdir()) == []
    else:
        assert not victim.exists() or victim.read_bytes() == b"mine\n"


def launched(tmp_path: Path, home: Path) -> str:
    """The registered line with its launcher beside the home and not in it."""
    other = ready(tmp_path / "launcher")
    command = [*argv(other, "PostToolUse")[:-1], str(home)]
    words = " ".join(launcher._quoted(word) for word in command)
    return words + " 2>/dev/null || exit 0"


def test_a_home_that_is_gone_is_made_anew(home: Path, tmp_path: Path) -> None:
    script = launched(tmp_path, home)
    shutil.rmtree(home)
    assert silent(sh(script, tool("a"), quiet()))
    assert kinds(home) == (1, 0, 0)
    assert home.stat().st_mode & 0o777 == 0o700


def test_a_home_that_went_with_its_launcher_is_silence(home: Path) -> None:
    """Nothing of cmem is left that could count."""
    ready(home)
    script = line(home, "PostToolUse")
    shutil.rmtree(home)
    assert silent(sh(script, tool("a"), quiet()))
    assert not home.exists()


def test_a_file_in_the_place_of_the_home_is_left_alone(home: Path, tmp_path: Path) -> None:
    home.rmdir()
    home.write_bytes(b"mine\n")
    assert silent(sh(launched(tmp_path, home), tool("a"), quiet()))
    assert home.read_bytes() == b"mine\n"


def test_a_home_that_is_our_own_link_is_used(home: Path, tmp_path: Path) -> None:
    home.rmdir()
    (tmp_path / "real").mkdir(mode=0o700)
    home.symlink_to(tmp_path / "real")
    ready(tmp_path / "real")
    assert silent(sh(line(home, "PostToolUse"), tool("a"), quiet()))
    assert kinds(tmp_path / "real") == (1, 0, 0)


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "it's",
        'say "x"',
        "$HOME `id` $(id)",
        "two\nlines",
        "tab\t",
        "ü 記憶 😀",
        "-rf",
        "%s",
        "a?b#c&d",
    ],
)
def test_any_name_of_a_path(name: str, tmp_path: Path) -> None:
    """The home, the folder of the session and its repository are all of this name."""
    base = tmp_path / name
    base.mkdir()
    work = base / name
    subprocess.run(["git", "init", "-q", "-b", "main", str(work)], check=True, timeout=20)
    home = ready(base / "home")
    payload = tool("a", cwd=str(work))
    assert silent(sh(line(home, "PostToolUse"), payload, quiet(), cwd=work))
    (entry,) = entries(home)
    assert (entry.cwd, entry.repo.root, entry.repo.branch) == (str(work), str(work), "main")
    assert spooled.counts(str(home)) == (1, 0, 0)
    big = tool("b", cwd=str(work), tool_response={f"p{n}": f"{n}" * 65_000 for n in range(5)})
    assert silent(sh(line(home, "PostToolUse"), big, quiet(), cwd=work))
    assert spooled.counts(str(home)) == (1, 1, 0)


def test_a_deleted_folder_is_no_trouble_for_a_start_either(home: Path, tmp_path: Path) -> None:
    ready(home)
    gone = tmp_path / "gone"
    script = f"mkdir '{gone}'; cd '{gone}'; rmdir '{gone}'; {line(home, 'SessionStart')}"
    done = sh(script, payload_bytes({"session_id": "n", "cwd": str(gone)}), quiet())
    assert (done.returncode, done.stderr) == (0, b"")
    assert kinds(home) == (1, 0, 0)


RECALLS = b"recall_prompts = true"


# --- file systems ----------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A home of its own file system, 200 kB large."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k,mode=700", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_loses_nothing_uncounted(small: Path, tmp_path: Path) -> None:
    script = launched(tmp_path, small)
    for number in range(40):
        payload = tool(f"t{number}", tool_response="x" * 9_000)
        assert silent(sh(script, payload, quiet()))
    rows, files, dropped = kinds(small)
    assert rows + files + dropped == 40
    assert rows > 3
    assert dropped > 3
    assert_sound(small)
    assert not list(small.rglob("*.tmp"))
    # Space is back: capture goes on without repair.
    subprocess.run(["mount", "-o", "remount,size=2m", str(small)], check=True)
    assert silent(sh(script, tool("after"), quiet()))
    assert kinds(small) == (rows + 1, files, dropped)


@pytest.fixture
def small_blocks(tmp_path: Path) -> Iterator[Path]:
    """A home of its own file system with blocks of 1 KiB, smaller than a page of memory: SQLite
    makes sure of one block in four of what is shared, and the others are a SIGBUS."""
    place, image = tmp_path / "blocks", tmp_path / "image"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(12 * 2**20)
    for command in (
        ["mkfs.ext4", "-q", "-b", "1024", "-m", "0", str(image)],
        ["mount", "-o", "loop", str(image), str(place)],
    ):
        if not shutil.which(command[0]) or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("needs ext4 and the right to mount it from a file")
    (place / "home").mkdir(mode=0o700)
    yield place / "home"
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("system", ["small", "small_blocks"])
def test_on_a_full_disk_what_is_remembered_is_told_and_what_comes_is_counted(
    system: str, request: pytest.FixtureRequest
) -> None:
    home: Path = request.getfixturevalue(system)
    if system == "small":
        subprocess.run(["mount", "-o", "remount,size=4m", str(home)], check=True)
    samples.calc(home).close()
    ready(home)
    config = home / "config.toml"
    config.write_bytes(b"#" * len(RECALLS))
    assert silent(sh(line(home, "PostToolUse"), tool("a"), quiet()))
    with (home / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1024)):
            pass
    done = run_cmem("search", "subtract", "--all", "--json", CMEM_HOME=str(home))
    assert (done.returncode, b"Fixed subtract" in done.stdout) == (0, True)
    start = {"session_id": "new", "cwd": "/src/calc", "source": "startup"}
    done = sh(line(home, "SessionStart"), json.dumps(start).encode(), quiet())
    assert (done.returncode, b"Fixed subtract" in done.stdout, done.stderr) == (0, True, b"")
    full = "cmem: nothing is kept, because the disk is full: free some space"
    assert json.loads(done.stdout)["systemMessage"] == full
    # Nor can it be written down what it was told.
    with config.open("r+b") as file:  # in the block that it has
        file.write(RECALLS)
    again = sh(line(home, "SessionStart"), json.dumps(start).encode(), quiet())
    assert json.loads(again.stdout) == json.loads(done.stdout)
    assert silent(sh(line(home, "PostToolUse"), tool("b"), quiet()))
    assert spooled.counts(str(home)) == (1, 0, 3)
    done = run_cmem("note", "one more", CMEM_HOME=str(home))
    assert (done.returncode, done.stderr.decode()) == (
        1,
        "cmem: could not use memory.db: the disk is full; free some space\n",
    )
    (home / "filler").unlink()
    assert silent(sh(line(home, "PostToolUse"), tool("c"), quiet()))
    assert spooled.counts(str(home)) == (2, 0, 3)
    assert_sound(home)


def test_a_read_only_home_is_silence(small: Path, tmp_path: Path) -> None:
    """Nothing can be written there, not even a count."""
    script = launched(tmp_path, small)
    assert silent(sh(script, tool("a"), quiet()))
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    assert silent(sh(script, tool("b"), quiet()))
    assert kinds(small) == (1, 0, 0)


def test_of_a_read_only_home_a_copy_can_be_made_elsewhere(small: Path, tmp_path: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=4m", str(small)], check=True)
    samples.calc(small).close()
    conn = connection.open_writer(str(small), now=samples.NOON)
    conn.execute("UPDATE observations SET title = 'newest' WHERE id = 1").fetchall()
    for part in ("memory.db", "memory.db-wal"):  # as a run that was killed leaves them
        shutil.copy(small / part, tmp_path / part)
    conn.close()
    for logged in (False, True):
        if logged:
            for part in ("memory.db", "memory.db-wal"):
                shutil.copy(tmp_path / part, small / part)
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        target = tmp_path / f"copy-{logged}.db"
        done = run_cmem("backup", str(target), CMEM_HOME=str(small))
        assert (done.returncode, done.stderr.decode()) == (
            0,
            "cmem: the data home cannot be written to, so what waits to be taken in is not in the "
            "copy\n",
        )
        assert done.stdout.startswith(b"Copied 2 observations (")
        copy = apsw.Connection(str(target))
        query = "SELECT title FROM observations WHERE id = 1"
        assert copy.execute(query).fetchall() == [("newest",)]
        copy.close()
        subprocess.run(["mount", "-o", "remount,rw", str(small)], check=True)


@pytest.mark.parametrize("blocks", [1, 8, 64])
def test_a_limit_on_the_size_of_files(blocks: int, home: Path) -> None:
    ready(home)
    for number in range(6):
        script = f"ulimit -f {blocks}; {line(home, 'PostToolUse')}"
        assert silent(sh(script, tool(f"t{number}", tool_response="x" * 9_000), quiet()))
    rows, files, dropped = kinds(home)
    assert rows + files + dropped == 6, (rows, files, dropped)
    assert_sound(home)


# --- the package -----------------------------------------------------------------------


@pytest.mark.parametrize("module", ["spool", "spill", "hooklog"])
def test_a_module_that_is_gone_in_between_costs_no_count(module: str, home: Path) -> None:
    """As while an upgrade replaces the package: what runs cannot load the rest of itself."""
    (home / "spool.db").mkdir()
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from cmem import hook, intake; "
        f"intake._fields = lambda payload, wire: ('s', '', 'a', '', '', '/nowhere'); "
        f"sys.modules['cmem.{module}'] = None; "
        f"hook.main(['claude-code', 'PostToolUse', {str(home)!r}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=tool("a"), capture_output=True, env=quiet(), timeout=30
    )
    assert silent(done)
    files = len(spilled(home))
    assert files == (1 if module == "spool" else 0)
    assert (home / "dropped").exists() == (not files)
