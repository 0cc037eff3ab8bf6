"""The data home: found without raising, refused when it is not ours alone."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from cmem import data_home, paths


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"CMEM_HOME": "/x/y"}, "/x/y"),
        ({"CMEM_HOME": "/x/../y/"}, "/y"),
        ({"CMEM_HOME": "~/m", "HOME": "/h"}, "/h/m"),
        ({"CMEM_HOME": "~", "HOME": "/h"}, "/h"),
    ],
)
def test_named_home(env: dict[str, str], expected: str) -> None:
    assert data_home.find(env) == expected


def test_relative_home_becomes_absolute() -> None:
    assert data_home.find({"CMEM_HOME": "m"}) == os.path.join(os.getcwd(), "m")


def test_default_is_the_platform_directory(isolated_home: Path) -> None:
    found = data_home.find({})
    assert os.path.isabs(found)
    assert found.startswith(str(isolated_home))
    assert found.endswith("cmem")


@pytest.mark.parametrize(
    "env",
    [
        {"HOME": "/h"},
        {"HOME": "/h/"},
        {"HOME": "/"},
        {"HOME": "h"},
        {"HOME": ""},
        {"HOME": "/h", "XDG_DATA_HOME": "/x/"},
        {"HOME": "/h", "XDG_DATA_HOME": "x"},
        {"HOME": "/h", "XDG_DATA_HOME": ""},
        {"XDG_DATA_HOME": "/x y/ż"},
        {"HOME": "/h", "ANDROID_DATA": "/data"},
    ],
    ids=str,
)
def test_shortcut_gives_the_platform_directory(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CMEM_HOME", "HOME", "XDG_DATA_HOME", "ANDROID_DATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    expected = platformdirs.user_data_dir("cmem", appauthor=False)
    assert data_home.find(os.environ) == expected


def test_home_nobody_knows_still_gives_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platformdirs, "user_data_dir", lambda *_, **__: "~/.local/share/cmem")
    monkeypatch.setattr(os.path, "expanduser", lambda text: text)
    assert data_home.find({"HOME": ""}) == f"/tmp/cmem-{os.getuid()}"


def test_home_is_made_private_and_tightened(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b"
    paths.ensure_home(str(place))
    assert place.stat().st_mode & 0o777 == 0o700
    place.chmod(0o755)
    paths.ensure_home(str(place))
    assert place.stat().st_mode & 0o777 == 0o700


def test_own_link_to_own_directory_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    paths.ensure_home(str(tmp_path / "link"))


def test_unfit_homes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o770)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("file", "open", "dangling"):
        with pytest.raises(OSError, match=name):
            paths.ensure_home(str(tmp_path / name))
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a foreign directory")
def test_home_of_somebody_else_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "foreign"
    place.mkdir(mode=0o700)
    os.chown(place, 54321, 54321)
    with pytest.raises(PermissionError):
        paths.ensure_home(str(place))
    link = tmp_path / "link"
    (tmp_path / "own").mkdir(mode=0o700)
    link.symlink_to(tmp_path / "own")
    os.chown(link, 54321, 54321, follow_symlinks=False)
    with pytest.raises(PermissionError):
        paths.ensure_home(str(link))
