"""What we wrote into which file, kept in the data home so that uninstall is the exact inverse."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from typing import NamedTuple

from cmem.errors import CmemError
from cmem.install import files

NAME = "install.json"
KEPT_WRITES = 2  # this write and the one before: a kill between record and rename leaves either


class Record(NamedTuple):
    """One edited file: its bytes without us (None: there was no file), the hashes of what we
    wrote, the containers and the topmost folder we had to make."""

    host: str
    path: str
    original: bytes | None
    written: tuple[str, ...]
    created: tuple[str, ...]
    folder: str


def digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def load(home: str) -> dict[str, Record]:
    """All records by path; {} when nothing was installed."""
    try:
        with open(os.path.join(home, NAME), encoding="utf-8") as file:
            document = json.load(file)
        return {str(row["path"]): _decode(row) for row in document["files"]}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CmemError(
            f"could not read {NAME} in the data home: {error}; move it away to go on without it"
        ) from error


def save(home: str, records: dict[str, Record]) -> None:
    """The records hold from now on; none left means no file."""
    path = os.path.join(home, NAME)
    if not records and not os.path.exists(path):
        return
    document = {"version": 1, "files": [_encode(one) for one in records.values()]}
    files.save_private(path, (json.dumps(document, indent=2) + "\n").encode())


def _encode(one: Record) -> dict[str, object]:
    original = None if one.original is None else base64.b64encode(one.original).decode()
    return one._asdict() | {"original": original}


def _decode(row: dict[str, object]) -> Record:
    original = row["original"]
    return Record(
        host=str(row["host"]),
        path=str(row["path"]),
        original=None if original is None else base64.b64decode(str(original)),
        written=tuple(str(one) for one in _list(row["written"])),
        created=tuple(str(one) for one in _list(row["created"])),
        folder=str(row["folder"]),
    )


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("a list was expected")
    return value
