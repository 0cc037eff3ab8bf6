"""The file a host starts, and the line that starts it."""

from __future__ import annotations

import ast
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import hookrun
import pytest
from support import ROOT, clean_env

from cmem import bundle, detach, hook, launcher, lock, paths, spooled


def test_line_of_the_contract() -> None:
    assert launcher.command("/p y/python", "/h", host="claude-code", event="Stop") == (
        "'/p y/python' -I -S '/h/hook.py' claude-code Stop '/h' 2>/dev/null || exit 0"
    )


@pytest.mark.parametrize("home", ["/it's", '/$HOME `x` "y"', "/line\nbreak", "/é [b]"])
def test_line_survives_the_shell(home: str) -> None:
    command = launcher.command("/bin/echo", home, host="claude-code", event="Stop")
    words = ["/bin/echo", "-I", "-S", f"{home}/hook.py", "claude-code", "Stop", home]
    assert shlex.split(command.removesuffix(" 2>/dev/null || exit 0")) == words


def test_install_is_private_current_and_repeatable(home: Path) -> None:
    assert not launcher.is_current(str(home))
    path = Path(launcher.install(str(home)))
    assert (path, path.stat().st_mode & 0o777) == (home / "hook.py", 0o600)
    assert launcher.is_current(str(home))
    path.write_text("old")
    assert not launcher.is_current(str(home))
    launcher.install(str(home))
    assert launcher.is_current(str(home))
    name = f"hook.{sys.implementation.cache_tag}.bin"
    assert {entry.name: entry.stat().st_mode & 0o777 for entry in home.iterdir()} == {
        "hook.py": 0o600,
        name: 0o600,
    }
    (home / name).write_bytes(b"torn")
    assert not launcher.is_current(str(home))


def test_package_and_libraries_are_appended_to_the_path(tmp_path: Path) -> None:
    text = launcher.render(
        package_dir=launcher._package_dir(), site_dirs=["/b'x", "/a", "/b'x"], version="1"
    )
    assert f"PATHS = {(launcher._package_dir(), '/b' + chr(39) + 'x', '/a')!r}" in text
    compile(text, "hook.py", "exec")
    compile(launcher._FALLBACK, "fallback", "exec")
    assert "insert(" not in text


def test_launcher_alone_ends_with_zero_on_any_arguments(home: Path) -> None:
    (home / "hook.py").write_text(launcher._current())
    for arguments in ([], ["x"], ["claude-code"], ["--compress"], ["--compress", "x", "y"]):
        done = subprocess.run(
            [launcher.interpreter(), "-I", "-S", str(home / "hook.py"), *arguments],
            input=b"{}",
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("variable", ["PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__"])
def test_nothing_that_the_environment_names_is_run(
    home: Path, tmp_path: Path, variable: str
) -> None:
    """Neither by the launcher's second start under another locale, nor by the start of a drain."""
    planted, trace = tmp_path / "python", tmp_path / "ran"
    planted.write_text(f"#!/bin/sh\necho $0 >> {trace}\n")
    planted.chmod(0o755)
    launcher.install(str(home))
    env = {variable: str(planted), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    latin = {**env, "LC_ALL": "en_US.ISO-8859-1"}
    for event, document in (
        ("Stop", b'{"session_id":"s1"}'),
        ("SessionEnd", b'{"session_id":"s1"}'),
    ):
        for setting in (env, latin):
            subprocess.run(
                hookrun.argv(home, event), input=document, env=clean_env(**setting), check=True
            )
    code = "import sys; sys.path.insert(0, sys.argv[1]); from cmem import paths; print(paths.interpreter())"
    argv = [launcher.interpreter(), "-I", "-S", "-c", code, str(ROOT)]
    done = subprocess.run(argv, env=clean_env(**env), capture_output=True, check=True, text=True)
    assert done.stdout.strip() == launcher.interpreter()
    text = (home / "hook.py").read_text()
    assert f"PYTHON = {launcher.interpreter()!r}" in text
    assert "sys.executable" not in text.partition("#= COMPRESS")[0].replace(
        "# Not sys.executable", ""
    )
    deadline = time.monotonic() + 20
    while spooled.counts(str(home))[0] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not trace.exists()
    assert spooled.counts(str(home)) == (0, 0, 0)  # a drain was started, by the right one


def test_sources_in_the_launcher_come_out_as_they_went_in(home: Path) -> None:
    path = Path(launcher.install(str(home)))
    text = path.read_text()
    names: dict[str, Any] = {"__file__": str(path)}
    exec(text[text.index("def part(") : text.index('\n"""\n\n\ndef part(name):\n    exec')], names)
    sources = {
        "MAIN": launcher.MAIN,
        "AGAIN": launcher._AGAIN,
        "COMPRESS": launcher._COMPRESS,
        "KEEP": launcher._KEEP,
        "FALLBACK": launcher._FALLBACK,
        "SEEN": (ROOT / "cmem" / "privacy" / "seen.py").read_text(),
        "GATES": (ROOT / "cmem" / "privacy" / "gates.py").read_text(),
        "OFF": (ROOT / "cmem" / "off.py").read_text(),
        "SETTING": (ROOT / "cmem" / "setting_text.py").read_text(),
        "GLOBBING": (ROOT / "cmem" / "globbing.py").read_text(),
    }
    for name, source in sources.items():
        packed = names["part"](name)
        assert packed == launcher._bare(source)
        assert launcher._bare(packed) == packed
        assert _functions(packed) == _functions(source)


def _functions(source: str) -> list[str]:
    return [one.name for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef)]


# --- byte code -----------------------------------------------------------------------

LOADERS = """
import os, sys
sys.argv = [sys.argv[1], "none"]
os._exit = lambda _code: None
exec(compile(open(sys.argv[0]).read().replace("__file__", repr(sys.argv[0])), "hook", "exec"))
import cmem.eid
print(*("source" if module.__spec__ else "bundle" for module in (cmem.hook, cmem.eid)),
      getattr(cmem.eid, "MARK", ""), cmem.eid.__file__)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package whose files a test may change."""
    shutil.copytree(ROOT / "cmem", tmp_path / "lib" / "cmem")
    return tmp_path / "lib"


def loaders(home: Path) -> list[str]:
    argv = [launcher.interpreter(), "-I", "-S", "-c", LOADERS, str(home / "hook.py")]
    done = subprocess.run(argv, capture_output=True, check=True, text=True)
    return done.stdout.split()


def install_from(package: Path, home: Path) -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1])\n"
    code += "from cmem import launcher; launcher.install(sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, str(package), str(home)], check=True)


def test_byte_code_beside_the_launcher_is_used_until_the_source_changes(
    package: Path, home: Path
) -> None:
    install_from(package, home)
    file = package / "cmem" / "eid.py"
    assert loaders(home) == ["bundle", "bundle", str(file)]
    with file.open("a") as source:
        source.write("\nMARK = 'new'\n")
    assert loaders(home) == ["bundle", "source", "new", str(file)]


@pytest.mark.parametrize("content", [b"", b"torn", None])
def test_launcher_works_without_its_byte_code(
    package: Path, home: Path, content: bytes | None
) -> None:
    install_from(package, home)
    (binary,) = home.glob("*.bin")
    binary.unlink()
    if content is not None:
        binary.write_bytes(content)
    assert loaders(home) == ["source", "source", str(package / "cmem" / "eid.py")]


def test_bundle_holds_every_module_of_a_session_start() -> None:
    code = """
import sys
import cmem.hook, cmem.spool, cmem.detach, cmem.context.inject, cmem.config
print(*(name for name in sys.modules if name.partition(".")[0] == "cmem"))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=ROOT
    )
    assert set(done.stdout.split()) - set(bundle.HOT) == set()
    # Of the libraries, some are built into one Python and a file of another.
    assert [name for name in (*bundle.HOT, "apsw") if not bundle._source(name)] == []


# --- detach --------------------------------------------------------------------------


@pytest.fixture
def starts(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    found: list[list[str]] = []
    (home / "hook.py").write_text("")
    monkeypatch.setattr(detach, "_spawn", found.append)
    return found


def test_start_only_when_free_and_not_lately(
    home: Path, starts: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(home)
    monkeypatch.setattr(hook._now, "home", place)
    monkeypatch.setattr(hook._now, "settings", {})
    monkeypatch.setenv("CMEM_AUTO_COMPRESS", "1")
    assert not hook._lately()
    hook._start_drain(always=False)
    assert hook._lately()
    hook._start_drain(always=False)
    hook._start_drain(always=True)
    for touched in (-31, 31):
        os.utime(paths.lock_file(place), times=(time.time() + touched,) * 2)
        assert not hook._lately()
    held = lock.acquire(paths.lock_file(place))
    assert held is not None
    assert not detach.start_compress(place)
    lock.release(held)
    assert [argv[1:6] for argv in starts] == [
        ["-I", "-S", paths.launcher(place), "--compress", place]
    ] * 2


def test_nothing_to_start_without_a_launcher(home: Path, starts: list[list[str]]) -> None:
    (home / "hook.py").unlink()
    assert not detach.start_compress(str(home))
    assert starts == []


def test_environment_of_a_drain_is_an_allow_list() -> None:
    kept = {"PATH": "p", "HOME": "h", "LC_ALL": "C", "XDG_DATA_HOME": "x", "TMPDIR": "t"}
    dropped = {"CMEM_PROVIDER": "x", "ANTHROPIC_API_KEY": "k", "LD_PRELOAD": "l", "PYTHONPATH": "p"}
    assert detach.clean_env(kept | dropped) == kept | {"CMEM_STARTED_BY": "hook"}
