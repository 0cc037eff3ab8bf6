"""The schedulers' own programs: found in absolute PATH entries only, asked without a shell."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cmem.errors import CmemError

TIMEOUT_S = 30


class Said(NamedTuple):
    code: int
    out: str
    err: str


def find(name: str, env: Mapping[str, str]) -> str:
    """The program's full path, "" where there is none."""
    for folder in env.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


def ask(argv: Sequence[str], *, given: str = "") -> Said:
    """Run it to its end; what it says, bytes that are no text kept as they are."""
    try:
        done = subprocess.run(
            argv,
            input=given.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CmemError(f"{argv[0]} did not answer within {TIMEOUT_S} s") from error
    out, err = (one.decode("utf-8", "surrogateescape") for one in (done.stdout, done.stderr))
    return Said(done.returncode, out, " ".join(err.split()))


def demand(argv: Sequence[str], *, given: str = "") -> str:
    """What it prints; CmemError with its own words when it fails."""
    said = ask(argv, given=given)
    if said.code:
        reason = said.err or said.out.strip() or f"it ended with {said.code}"
        raise CmemError(f"`{' '.join(argv)}` failed: {reason}")
    return said.out
