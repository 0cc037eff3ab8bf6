"""Editing the real file: exact inverse, symlinks, refusals, kills and other writers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, clean_env

from cmem.errors import BusyError, CmemError
from cmem.install import claude_code, files, record, register

NOW = 1_795_988_496_981


def _wanted(home: Path, python: str = "/usr/bin/python3") -> dict[str, dict[str, object]]:
    return claude_code.hooks(
        lambda event: f"'{python}' -I -S '{home}/hook.py' claude-code {event} '{home}' || exit 0"
    )


def _install(home: Path, path: Path, python: str = "/usr/bin/python3") -> register.Done:
    return register.install(str(home), str(path), _wanted(home, python), now=NOW)


def _uninstall(home: Path, path: Path) -> register.Done:
    return register.uninstall(str(home), str(path), now=NOW + 1)


def _events(path: Path) -> list[str]:
    document = json.loads(path.read_bytes().decode("utf-8-sig"))
    return [
        event
        for event, groups in document["hooks"].items()
        for group in groups
        for hook in group["hooks"]
        if "hook.py" in hook["command"]
    ]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"\xef\xbb\xbf",
        b'\xef\xbb\xbf{\r\n\t"a": 1\r\n}',
        b'{"hooks": {}, "permissions": {"deny": ["Bash"]}}\n',
        b'{\n    "hooks": {"Stop": [ ]},\n    "x": "\xc3\xbc"\n}',
        json.dumps({"big": ["x" * 50] * 20_000}, indent=4).encode(),
    ],
    ids=["zero", "empty", "bom", "bom crlf tabs", "inline", "odd", "a megabyte"],
)
def test_uninstall_gives_back_the_very_bytes_and_the_mode(
    home: Path, tmp_path: Path, raw: bytes
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(raw)
    path.chmod(0o640)
    done = _install(home, path)
    assert Path(done.backup).read_bytes() == raw
    assert _events(path) == list(dict.fromkeys(_events(path)))
    assert sorted(_events(path)) == sorted(claude_code.EVENTS)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf") == raw.startswith(b"\xef\xbb\xbf")
    assert not _install(home, path).plan.changes
    assert _install(home, path, "/opt/python").plan.changes
    assert sorted(_events(path)) == sorted(claude_code.EVENTS)
    assert _uninstall(home, path).plan.changes
    assert path.read_bytes() == raw
    assert path.stat().st_mode & 0o777 == 0o640
    assert not _uninstall(home, path).plan.changes
    assert not (home / "install.json").exists() or record.load(str(home)) == {}


def test_a_file_and_folders_that_we_made_go_again(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "conf" / "deep" / "settings.json"
    assert _install(home, path).backup == ""
    assert path.stat().st_mode & 0o777 == 0o600
    _uninstall(home, path)
    assert not (tmp_path / "conf").exists()


def test_what_the_user_changed_since_stays(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{\n  "model": "opus"\n}\n')
    _install(home, path)
    path.write_text(path.read_text().replace("opus", "haiku"))
    _install(home, path, "/opt/python")
    _uninstall(home, path)
    assert path.read_text() == '{\n  "model": "haiku"\n}\n'


def test_without_its_record_uninstall_takes_out_just_ours(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"model": "opus"}')
    _install(home, path)
    (home / "install.json").unlink()
    _uninstall(home, path)
    assert path.read_text() == '{"model": "opus"}'


def test_a_symlink_stays_and_its_target_is_edited(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    target.write_text("{}")
    path = tmp_path / "settings.json"
    path.symlink_to("dotfiles.json")
    _install(home, path)
    assert os.readlink(path) == "dotfiles.json"
    assert len(_events(target)) == 9
    _uninstall(home, target)
    assert (os.readlink(path), target.read_text()) == ("dotfiles.json", "{}")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"a": 1,}', "not strict JSON: line 1: "),
        (b"{} // note", "not strict JSON: line 1: extra data"),
        (
            b'{"hooks": {}, "hooks": {}}',
            "not strict JSON: the key 'hooks' stands twice in one object",
        ),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b"[]", "not a JSON object"),
    ],
    ids=["comma", "comment", "twice", "utf-16", "array"],
)
def test_a_refused_file_is_not_even_touched(
    home: Path, tmp_path: Path, raw: bytes, reason: str
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(raw)
    before = path.stat()
    for work in (_install, _uninstall):
        with pytest.raises(claude_code.RefusedError) as caught:
            work(home, path)
        assert str(caught.value).startswith(reason)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (raw, before.st_mtime_ns)
    assert sorted(os.listdir(tmp_path)) == ["home", "settings.json", "user"]
    assert os.listdir(home) == []


def test_a_read_only_file_a_directory_and_a_loop_are_refused(home: Path, tmp_path: Path) -> None:
    sealed = tmp_path / "sealed.json"
    sealed.write_text("{}")
    sealed.chmod(0o400)
    loop = tmp_path / "loop.json"
    loop.symlink_to("loop.json")
    for path in (sealed, tmp_path, loop, sealed / "settings.json"):
        with pytest.raises(CmemError):
            _install(home, path)
    assert sealed.read_text() == "{}"


def test_a_change_in_between_is_kept(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    writes = ['{"one": 1}', '{"two": 2}']

    def _interfere(name: str) -> None:
        if name == "install.written" and writes:
            path.write_text(writes.pop(0))

    monkeypatch.setattr(files, "hit", _interfere)
    with pytest.raises(files.ChangedError):
        _install(home, path)
    assert path.read_text() == '{"two": 2}'
    _install(home, path)
    assert json.loads(path.read_text())["two"] == 2
    assert len(_events(path)) == 9
    assert [one for one in os.listdir(tmp_path) if one.endswith("tmp")] == []


@pytest.mark.parametrize("point", ["install.read", "install.written", "install.renamed"])
def test_a_kill_leaves_the_old_file_or_the_new_one(home: Path, tmp_path: Path, point: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"model": "opus"}')
    code = (
        "import sys, pathlib; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/tests'];"
        "from install import test_register as t;"
        "t._install(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(home), str(path)],
        env=clean_env(CMEM_TEST="1", CMEM_FAILPOINT=f"{point}=kill"),
        check=False,
        timeout=60,
    )
    assert done.returncode == -9
    if point == "install.renamed":
        assert len(_events(path)) == 9
    else:
        assert path.read_text() == '{"model": "opus"}'
    _install(home, path)
    assert len(_events(path)) == 9
    _uninstall(home, path)
    assert path.read_text() == '{"model": "opus"}'
    assert sorted(os.listdir(tmp_path)) == ["home", "settings.json", "user"]


def test_only_the_newest_backups_are_kept(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    for number in range(8):
        path.write_text(f'{{"n": {number}}}')
        register.install(str(home), str(path), _wanted(home), now=NOW + number)
    kept = sorted((home / "backups").iterdir())
    assert [json.loads(one.read_text())["n"] for one in kept] == [3, 4, 5, 6, 7]
    assert {one.stat().st_mode & 0o777 for one in kept} == {0o600}


def test_the_diff_shows_the_change(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{\n  "hooks": {}\n}')
    plan = register.plan_install(str(home), str(path), {"Stop": {"type": "command"}})
    assert (
        register.diff(plan)
        == f"""--- {path}
+++ {path}
@@ -1,3 +1,13 @@
 {{
-  "hooks": {{}}
+  "hooks": {{
+    "Stop": [
+      {{
+        "hooks": [
+          {{
+            "type": "command"
+          }}
+        ]
+      }}
+    ]
+  }}
 }}
"""
    )
    assert os.listdir(home) == []


def test_two_installs_do_not_run_at_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register, "WAIT_MS", 0)
    with register.locked(str(home)), pytest.raises(BusyError), register.locked(str(home)):
        pass
    with register.locked(str(home)):
        pass
