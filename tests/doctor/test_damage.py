"""Whatever is damaged, ``doctor`` gives every finding and one document."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import samples

from cmem.cli import doctor, output
from cmem.doctor import memory, trial


def _zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size if path.exists() else 4096))


def _folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


DAMAGES: dict[str, Callable[[Any], Any]] = {
    "memory.db zeroed": lambda at: _zero(at.home / "memory.db"),
    "memory.db empty": lambda at: (at.home / "memory.db").write_bytes(b""),
    "memory.db cut": lambda at: (at.home / "memory.db").write_bytes(
        (at.home / "memory.db").read_bytes()[:10_000]
    ),
    "memory.db a folder": lambda at: _folder(at.home / "memory.db"),
    "memory.db of no tables": lambda at: (at.home / "memory.db").unlink(),
    "spool.db zeroed": lambda at: _zero(at.home / "spool.db"),
    "spool.db no database": lambda at: (at.home / "spool.db").write_bytes(b"x" * 5000),
    "spool.db a folder": lambda at: _folder(at.home / "spool.db"),
    "config.toml a folder": lambda at: _folder(at.home / "config.toml"),
    "config.toml no text": lambda at: (at.home / "config.toml").write_bytes(b"\xff\0\xfe"),
    "config.toml large": lambda at: (at.home / "config.toml").write_bytes(b"#" * 100_000),
    "hook.py gone": lambda at: (at.home / "hook.py").unlink(),
    "hook.py a folder": lambda at: _folder(at.home / "hook.py"),
    "hook.py no text": lambda at: (at.home / "hook.py").write_bytes(b"\xff\0"),
    "install.json a folder": lambda at: _folder(at.home / "install.json"),
    "install.json odd": lambda at: (at.home / "install.json").write_text('[{"host": 7}, 1]'),
    "spill a file": lambda at: (at.home / "spill").write_text("x"),
    "spill/bad a file": lambda at: [
        (at.home / "spill").mkdir(),
        (at.home / "spill" / "bad").write_text("x"),
    ],
    "dropped a folder": lambda at: _folder(at.home / "dropped"),
    "filtered a file": lambda at: (at.home / "filtered").write_text("x"),
    "a lock that is a folder": lambda at: _folder(at.home / "compress.lock"),
    "logs of no text": lambda at: [
        (at.home / name).write_bytes(b"\xff\0 \n" * 50) for name in ("hook.log", "compress.log")
    ],
    "logs as folders": lambda at: [_folder(at.home / n) for n in ("hook.log", "compress.log")],
    "a count that is a folder": lambda at: (at.home / "filtered" / "x").mkdir(parents=True),
    "settings a folder": lambda at: _folder(at.settings),
    "settings of no text": lambda at: at.settings.write_bytes(b"\xff\0"),
    "settings of odd types": lambda at: at.settings.write_text('{"hooks": {"Stop": [7, {}]}}'),
    "off-sessions a folder": lambda at: _folder(at.home / "off-sessions"),
    "backups a file": lambda at: (at.home / "backups").write_text("x"),
    "prices.toml odd": lambda at: (at.home / "prices.toml").write_text("= ="),
    "modes a file": lambda at: (at.home / "modes").write_text("x"),
    "no home": lambda at: __import__("shutil").rmtree(at.home),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_check_has_its_say(
    installed: Any, damage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    samples.calc(installed.home).close()
    DAMAGES[damage](installed)
    if damage not in ("spool.db a folder", "memory.db zeroed"):  # it is a second a time
        monkeypatch.setattr(trial, "fire", lambda *_a, **_k: trial.Fired(0, b"", b""))
    found = installed.examine()
    output.write_json({"findings": [one._asdict() for one in found]})
    assert json.loads(capsys.readouterr().out)["findings"]
    assert {"data home", "sqlite", "settings file", "filters"} <= {one.name for one in found}
    assert [one for one in found if "could not be checked" in one.detail] == []


def test_a_check_that_fails_is_a_finding(installed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_named: object) -> None:
        raise RuntimeError("no\nluck")

    monkeypatch.setattr(memory, "look", fail)
    (failed,) = [one for one in installed.examine() if one.name == "store" and one.level == "error"]
    assert failed.detail == "could not be checked: RuntimeError: no luck"
    assert "background runs" in [one.name for one in installed.examine()]


@pytest.mark.parametrize("name", ["memory.db", "spool.db", "compress.lock", "quarantine"])
def test_a_repair_that_cannot_be_done_is_a_finding_too(
    installed: Any, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CMEM_HOME", str(installed.home))
    monkeypatch.setattr(trial, "check", lambda *_a, **_k: [])
    samples.calc(installed.home).close()
    _zero(installed.home / "memory.db")
    if name == "quarantine":
        (installed.home / name).write_text("x")
    else:
        _folder(installed.home / name)
    doctor.run({"json": True, "repair": True})
    assert json.loads(capsys.readouterr().out)["findings"]
