"""What could not be kept is counted, wherever a byte can be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, clean_env, payload_bytes, run_cmem, run_hook, run_json

from cmem import bundle, hooklog, launcher, paths, spooled

TOOL = {
    "session_id": "s-1",
    "cwd": "/home/dev/project",
    "hook_event_name": "PostToolUse",
    "tool_name": "Bash",
    "tool_use_id": "t1",
    "tool_input": {"command": "printenv"},
    "tool_response": {"stdout": "A=1"},
}
ODD = [
    b"null",
    b"[]",
    b'{"session_id":7}',
    b'{"session_id":""}',
    b"\xff\xfe{\x00}\x00",
    b"nonsense",
]


@pytest.mark.usefixtures("plugged")
def test_events_without_a_session_are_counted_as_dropped(home: Path) -> None:
    for body in ODD:
        assert run_hook(home, "PostToolUse", body).returncode == 0
    assert run_json("compress")["ingested"] == len(ODD)
    status = run_json("status")
    assert status["spool"] == {"pending": 0, "spilled": 0, "dropped": len(ODD)}
    assert status["health"] == f"ok ({len(ODD)} events dropped)"


def test_a_drop_is_counted_where_no_block_is_left(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a small file system")
    try:
        hooklog.drop(str(place))
        (place / "dropped").unlink()
        fd = os.open(place / "ballast", os.O_WRONLY | os.O_CREAT)
        with pytest.raises(OSError, match="space"):
            while True:
                os.write(fd, b"x" * 4096)
        os.close(fd)
        for _ in range(3):
            hooklog.drop(str(place))
        assert spooled.counts(str(place)) == (0, 0, 3)
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_an_event_of_a_broken_installation_keeps_its_session(home: Path, tmp_path: Path) -> None:
    text = launcher.render(package_dir=str(ROOT), site_dirs=[], version="0")
    text = text.replace(str(ROOT), str(tmp_path / "gone"))
    path = Path(paths.launcher(str(home)))
    path.write_text(text, encoding="utf-8")
    line = launcher.command(
        launcher.interpreter(), str(home), host="claude-code", event="PostToolUse"
    )
    done = subprocess.run(
        ["sh", "-c", line], input=payload_bytes(TOOL), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    report = run_cmem("compress", "--json")
    assert report.returncode == 0, report.stderr
    status = run_json("status")
    assert status["counts"]["tool_uses"] == 1
    assert status["spool"]["dropped"] == 0


DAMAGES = {
    "gone": lambda file: file.unlink(),
    "empty": lambda file: file.write_bytes(b""),
    "half": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "zeros": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "raises": lambda file: file.write_text("raise SystemError\n"),
}
SHORT = ("cmem.off", "cmem.intake", "cmem.hook")


@pytest.fixture
def package(tmp_path: Path, home: Path) -> Path:
    """A copy of the package, and a launcher that starts it without byte code."""
    shutil.copytree(
        ROOT / "cmem", tmp_path / "lib" / "cmem", ignore=shutil.ignore_patterns("__py*")
    )
    sites = launcher._site_dirs()
    text = launcher.render(package_dir=str(tmp_path / "lib"), site_dirs=sites, version="0")
    Path(paths.launcher(str(home))).write_text(text, encoding="utf-8")
    return tmp_path / "lib"


@pytest.mark.parametrize("bundled", [False, True], ids=["from source", "bundled"])
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    "name",
    [
        name if name in SHORT else pytest.param(name, marks=pytest.mark.slow)
        for name in (*bundle.FIRST, "cmem.spool", "cmem.hooklog", "cmem.spill")
    ],
)
def test_no_event_is_lost_uncounted_by_a_damaged_module(
    package: Path, home: Path, name: str, damage: str, *, bundled: bool
) -> None:
    if bundled:
        code = "import sys; sys.path.insert(0, sys.argv[1])\n"
        code += "from cmem import launcher; launcher.install(sys.argv[2])"
        subprocess.run([sys.executable, "-c", code, str(package), str(home)], check=True)
    file = package / (name.replace(".", "/") + ".py")
    file = file if file.exists() else package / name.replace(".", "/") / "__init__.py"
    DAMAGES[damage](file)
    if name in ("cmem.hooklog", "cmem.spill"):
        (home / "spool.db").mkdir()  # so that they are needed
    argv = [launcher.interpreter(), "-I", "-S", paths.launcher(str(home))]
    argv += ["claude-code", "PostToolUse", str(home)]
    done = subprocess.run(argv, input=payload_bytes(TOOL), capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    dropped = home / "dropped"
    spilled = list((home / "spill").glob("*.event"))
    rows = 0 if (home / "spool.db").is_dir() else spooled.counts(str(home))[0]
    assert rows + len(spilled) + (dropped.stat().st_size if dropped.exists() else 0) == 1


# --- without the package -------------------------------------------------------------


@pytest.fixture
def alone(home: Path) -> Path:
    """A home whose launcher finds no package."""
    text = launcher.render(package_dir=str(ROOT), site_dirs=[], version="0")
    start_of_paths = text.index("PATHS = ")
    rest = text[text.index("\n", start_of_paths) :]
    Path(paths.launcher(str(home))).write_text(text[:start_of_paths] + "PATHS = ()" + rest)
    return home


def fire_alone(home: Path) -> tuple[int, int]:
    """(files, events counted) after one more event."""
    argv = [launcher.interpreter(), "-I", "-S", paths.launcher(str(home))]
    argv += ["claude-code", "PostToolUse", str(home)]
    done = subprocess.run(argv, input=payload_bytes(TOOL), capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    dropped = home / "dropped"
    files = len(list((home / "spill").glob("*.event")))
    return files, dropped.stat().st_size if dropped.exists() else 0


def test_a_link_to_the_home_will_do_without_the_package_too(alone: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(alone)
    assert fire_alone(link) == (1, 0)


def test_what_the_launcher_alone_may_not_keep_is_counted(alone: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (alone / "spill").symlink_to(tmp_path / "elsewhere")
    assert fire_alone(alone) == (0, 1)
    (alone / "spill").unlink()
    alone.chmod(0o770)
    assert fire_alone(alone) == (0, 2)
    alone.chmod(0o700)
    assert fire_alone(alone) == (1, 2)


def test_a_launcher_of_another_version_goes_on_with_this_ones_byte_code(home: Path) -> None:
    launcher.install(str(home))
    path = Path(paths.launcher(str(home)))
    text = path.read_text()
    body = text.partition('PART = r"""')[2].partition('"""')[0]
    old = text.replace(f'PART = r"""{body}"""', body).replace(
        "def part(name):\n    exec(PART, globals())\n    return part(name)\n", ""
    )
    assert old.count("def part(") == 1
    path.write_text(old)
    argv = [launcher.interpreter(), "-I", "-S", str(path)]
    payload = payload_bytes(TOOL)
    event = [*argv, "claude-code", "PostToolUse", str(home)]
    subprocess.run(event, input=payload, env=clean_env(CMEM_AUTO_COMPRESS="0"), check=True)
    assert spooled.counts(str(home)) == (1, 0, 0)
    subprocess.run([*argv, "--compress", str(home)], env=clean_env(), check=True)
    assert spooled.counts(str(home)) == (0, 0, 0)
