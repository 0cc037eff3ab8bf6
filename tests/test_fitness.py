"""Where a run could damage the memory there is none: a clear line, and 78."""

from __future__ import annotations

from pathlib import Path

import capturing
import pytest

from cmem import compress, fitness, libraries, lock, paths, spooled
from cmem.cli import app

PROMPT = {"session_id": "s1", "prompt_id": "p1", "cwd": "/w", "prompt": "hello"}


def network(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    table = f"/dev/sda / ext4 rw 0 0\nserver:/x {home.parent} nfs4 rw 0 0\n"
    monkeypatch.setattr(fitness, "mounts", lambda: table)
    return (
        f"{home} lies on nfs4 ({home.parent}), where SQLite cannot lock; set CMEM_HOME to a folder "
        "on a local disk and run `cmem install`"
    )


def old(_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(fitness, "sqlite_version", lambda: "3.45.1")
    return (
        "SQLite 3.45.1 can damage the memory; 3.51.3 or newer is needed; run "
        f"{libraries.install('apsw>=3.51.3')}"
    )


@pytest.mark.parametrize("way", [network, old])
def test_compress_refuses(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], way: object
) -> None:
    capturing.put(home, "UserPromptSubmit", PROMPT, 1)
    said = way(home, monkeypatch)  # type: ignore[operator]  # one of the two above
    for words in (["compress"], ["compress", "--json"]):
        assert app.run(words) == 78
        assert capsys.readouterr() == ("", f"cmem: {said}\n")
    held = lock.acquire(paths.lock_file(str(home)))
    monkeypatch.setattr(compress, "end_on_signals", lambda: None)
    compress.main_background(str(home), held)
    assert said in (home / "compress.log").read_text()
    assert spooled.counts(str(home)) == (1, 0, 0)
    assert not (home / "memory.db").exists()
