"""What could not be kept is counted, wherever a byte can be written."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support import ROOT, payload_bytes, run_cmem, run_hook, run_json

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


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    "name",
    [
        name if name in SHORT else pytest.param(name, marks=pytest.mark.slow)
        for name in (*bundle.FIRST, "cmem.spool", "cmem.hooklog", "cmem.spill")
    ],
)
def test_no_event_is_lost_uncounted_by_a_damaged_module(
    package: Path, home: Path, name: str, damage: str
) -> None:
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
