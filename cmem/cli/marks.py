"""Types as a person sees them: with the mark of the chosen mode in front, on a terminal only.

A pipe gets the bare type, and so does a terminal where the mode has no mark for it or cannot be
read: what is stored never depends on a mode that may be gone.
"""

from __future__ import annotations

import sys

from cmem.errors import ConfigError

# Read once, when they are first shown.
_KNOWN: list[dict[str, str]] = []


def shown(kind: str) -> str:
    """The type, marked where that can be done."""
    if not sys.stdout.isatty():
        return kind
    if not _KNOWN:
        _KNOWN.append(_marks())
    mark = _KNOWN[0].get(kind, "")
    return f"{mark} {kind}" if mark else kind


def _marks() -> dict[str, str]:
    from cmem import settings  # here, because only a terminal needs them
    from cmem.cli import place
    from cmem.observer import modes

    env = settings.environment()
    home = place.home()
    try:
        chosen = settings.load(
            home, env=env, flags={}, trusted_env=settings.trusts_environment(env)
        )
        mode = modes.load(chosen.mode, home)
    except ConfigError:
        return {}
    return {one.key: one.mark for one in mode.types}
