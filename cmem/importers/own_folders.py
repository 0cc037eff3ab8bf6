"""Which folders of a project that another machine tells of are folders of this one.

A folder here is its own project whatever another machine has at the same place. So one that is
here comes along only where it is the same repository. One that is not here does no harm: with a
project that is new it comes along, so that a memory moved to a new machine is whole; to one that
is known here it adds nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cmem import here
from cmem.store.load_projects import KNOWN

if TYPE_CHECKING:
    from cmem.store.portable import Record

FOLDERS = ("path", "git")
_GIT = "/.git"


def of(record: Record, known: str) -> Record:
    """The project's record without the folders that are none of its own here."""
    return {
        **record,
        "aliases": [one for one in record["aliases"] if _belongs(record, one, known=known)],
    }


def _belongs(record: Record, alias: list[object], *, known: str) -> bool:
    kind, path = str(alias[0]), str(alias[1])
    if kind not in FOLDERS or not path.startswith("/") or "\0" in path:
        return True
    if not os.path.lexists(path):
        return known != KNOWN
    folder = path.removesuffix(_GIT) if kind == "git" else path
    identity = here.identity_of(folder, {})
    names = {str(record["key"]).casefold()}
    names |= {str(one[1]).casefold() for one in record["aliases"] if one[0] == "remote"}
    own = {identity.key.casefold()}
    own |= {alias.casefold() for kind, alias in identity.aliases if kind == "remote"}
    return bool(names & own)
