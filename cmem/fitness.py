"""Whether this SQLite, where the data home lies, keeps a database whole under many writers."""

from __future__ import annotations

import os

from cmem import libraries, paths
from cmem.errors import ConfigError
from cmem.store.check import sqlite_version

# Older ones can corrupt a log under many short writers, which is what hooks are.
OLDEST_SQLITE = (3, 51, 3)
# A shared lock or a shared memory file means nothing between two machines.
NETWORK = frozenset(
    ("nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "9p", "drvfs", "afs", "ceph")
    + ("glusterfs", "lustre", "gpfs", "beegfs", "ocfs2", "gfs2", "webdav", "davfs", "virtiofs")
    + ("vboxsf", "prl_fs", "fuse.vmhgfs-fuse")
)
NETWORK_FUSE = ("sshfs", "rclone", "s3fs", "gcsfuse", "davfs2", "glusterfs", "ceph", "curlftpfs")
LOCAL_DISK = "set CMEM_HOME to a folder on a local disk and run `cmem install`"


def demand(home: str) -> None:
    """Make the data home, if need be; raise ConfigError where a run could damage the memory."""
    paths.ensure_home(home)
    said = old_sqlite(sqlite_version())
    if said:
        raise ConfigError(f"{said}; run {upgrade()}")
    table = mounts()
    said = on_network(table, os.path.realpath(home), home=home) if table else ""
    if said:
        raise ConfigError(f"{said}; {LOCAL_DISK}")


def upgrade() -> str:
    """The command that brings an SQLite that is new enough."""
    return libraries.install(f"apsw>={'.'.join(map(str, OLDEST_SQLITE))}")


def old_sqlite(version: str) -> str:
    """What is wrong with an SQLite that is too old, "" where it is not."""
    parts = tuple(int(part) for part in version.split(".") if part.isdigit())
    if parts >= OLDEST_SQLITE:
        return ""
    wanted = ".".join(map(str, OLDEST_SQLITE))
    return f"SQLite {version} can damage the memory; {wanted} or newer is needed"


def on_network(table: str, path: str, *, home: str) -> str:
    """What is wrong with the file system of the path, by the text of /proc/mounts; "" where it is
    one of this machine."""
    point, kind = mount_of(table, path)
    return f"{home} lies on {kind} ({point}), where SQLite cannot lock" if is_network(kind) else ""


def mount_of(table: str, path: str) -> tuple[str, str]:
    """(mount point, type) of the mount that holds an absolute path; ("", "") for none."""
    best = ("", "")
    for line in table.split("\n"):
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = _unescape(fields[1])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        # Of two mounts at one place the later one is on top.
        if inside and len(point) >= len(best[0]):
            best = (point, fields[2])
    return best


def is_network(kind: str) -> bool:
    """Whether a type of file system is one that another machine serves."""
    fuse = kind.partition(".")[2] if kind.startswith("fuse.") else ""
    return kind in NETWORK or fuse in NETWORK_FUSE


def mounts() -> str:
    """The table of mounts; "" where the system has none to read."""
    try:
        with open("/proc/mounts", encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def _unescape(text: str) -> str:
    """Spaces and the like stand as octal numbers in the table of mounts."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
