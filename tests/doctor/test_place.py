"""The data home as a place: whose, how open, on what."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from cmem import fitness
from cmem.doctor import place
from cmem.doctor.finding import Finding

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
tmpfs /tmp tmpfs rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/dev/local xfs rw 0 0
//nas/share /mnt/my\\040share cifs rw 0 0
me@far: /mnt/far fuse.sshfs rw 0 0
portal /run/portal fuse.portal rw 0 0
C:\\ /mnt/c 9p rw 0 0
auto /srv autofs rw 0 0
far:/srv /srv nfs rw 0 0
odd line
"""


@pytest.mark.parametrize(
    ("path", "found", "network"),
    [
        ("/var/x", ("/", "ext4"), False),
        ("/home/dev/.local/share/cmem", ("/home", "nfs4"), True),
        ("/home", ("/home", "nfs4"), True),
        ("/homestead/cmem", ("/", "ext4"), False),
        ("/home/dev/local/cmem", ("/home/dev/local", "xfs"), False),
        ("/mnt/my share/cmem", ("/mnt/my share", "cifs"), True),
        ("/mnt/far/cmem", ("/mnt/far", "fuse.sshfs"), True),
        ("/run/portal/cmem", ("/run/portal", "fuse.portal"), False),
        ("/mnt/c/cmem", ("/mnt/c", "9p"), True),
        ("/srv/cmem", ("/srv", "nfs"), True),
    ],
)
def test_the_mount_that_holds_a_path(path: str, found: tuple[str, str], network: bool) -> None:
    assert fitness.mount_of(MOUNTS, path) == found
    assert fitness.is_network(found[1]) is network
    level = "error" if network else "ok"
    assert place.judge_mount(MOUNTS, path, home=path).level == level


def test_this_machine_has_a_mount_for_every_path(tmp_path: Path) -> None:
    if os.path.exists("/proc/mounts"):
        assert fitness.mount_of(fitness.mounts(), str(tmp_path)) != ("", "")


@pytest.mark.parametrize(
    ("free", "level"),
    [(0, "error"), (63, "error"), (64, "warn"), (511, "warn"), (512, "ok"), (9_999, "ok")],
)
def test_room_on_the_disk(free: int, level: str) -> None:
    assert place.judge_space(free * place.MIB, home="/h").level == level


@pytest.mark.parametrize(
    ("seen", "level", "told"),
    [
        ({"kind": "missing"}, "warn", f"/h does not exist yet{place.MADE}"),
        (
            {"kind": "missing", "link": "/gone"},
            "error",
            "/h is a link to /gone, which is not there",
        ),
        ({"kind": "other"}, "error", "/h is not a folder"),
        (
            {"owner": 12},
            "error",
            "/h belongs to another user (uid 12), so hooks do not write there",
        ),
        ({"writable": False}, "error", "/h cannot be written to"),
        ({}, "ok", "/h is yours alone"),
    ],
)
def test_homes_that_a_test_cannot_make(seen: dict[str, Any], level: str, told: str) -> None:
    look = place.Look("/h", **{"kind": "folder", **seen})
    found = place.judge_home(look)
    assert (found.level, found.detail) == (level, told)


@pytest.mark.parametrize("mode", [0o720, 0o777])
def test_others_can_write_to_the_home(installed: Any, mode: int) -> None:
    installed.home.chmod(mode)
    assert installed.faults() == [("error", "data home")]
    assert installed.fault("data home").fix == f"chmod 700 '{installed.home}'"
    # Nothing was tried in a place that hooks refuse.
    assert not (installed.home / "spool.db").exists()


def test_others_can_read_the_home_or_a_file_in_it(installed: Any) -> None:
    installed.home.chmod(0o750)
    assert place.judge_home(place.look(str(installed.home))).level == "warn"
    installed.home.chmod(0o700)
    (installed.home / "spool.db").touch(0o644)
    assert place.judge_home(place.look(str(installed.home))) == Finding(
        "warn",
        "data home",
        "others can read spool.db",
        f"chmod 600 '{installed.home}/spool.db'",
    )


def test_the_home_is_a_link(installed: Any, tmp_path: Path) -> None:
    real = tmp_path / "real"
    installed.home.rename(real)
    installed.home.symlink_to(real)
    assert installed.faults() == [("warn", "data home")]
    assert str(real) in installed.fault("data home").fix


def test_a_link_in_the_place_of_a_file(installed: Any, tmp_path: Path) -> None:
    (installed.home / "memory.db").symlink_to(tmp_path / "elsewhere.db")
    assert installed.faults() == [("error", "data home")]
    assert not (tmp_path / "elsewhere.db").exists()


def test_a_file_in_the_place_of_the_home(tmp_path: Path) -> None:
    (tmp_path / "h").write_text("x")
    assert place.look(str(tmp_path / "h")).kind == "other"
    assert place.look(str(tmp_path / "none")).kind == "missing"
    (tmp_path / "l").symlink_to("nowhere")
    assert place.look(str(tmp_path / "l")) == place.Look(
        str(tmp_path / "l"), "missing", link="nowhere"
    )
