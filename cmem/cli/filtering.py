"""What ``status`` and ``rules list`` say of the filters: which are set, what they left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cmem import filters, off
from cmem.cli import output
from cmem.plural import counted

if TYPE_CHECKING:
    from collections.abc import Mapping


def document(home: str, env: Mapping[str, str]) -> dict[str, Any]:
    """The filters as JSON: set ones by setting, unreadable settings, counts by rule."""
    found = filters.load(off.config_text(home), env)
    active: dict[str, Any] = {name: list(globs) for name, globs in found.globs.items() if globs}
    if found.small:
        active[filters.SMALL] = found.small
    keys = ("setting", "rule", "count", "since")
    return {
        "active": active,
        "unreadable": list(found.unreadable),
        "filtered": [dict(zip(keys, one, strict=True)) for one in filters.counts(home)],
    }


def told(document: Mapping[str, Any]) -> str:
    """How many calls were left out, since when and by which rules; "" for none."""
    counts = document["filtered"]
    if not counts:
        return ""
    total = sum(one["count"] for one in counts)
    since = output.when(min(one["since"] for one in counts))
    by = ", ".join(f"{one['count']} {one['setting']} {one['rule']}" for one in counts)
    return f"{counted(total, 'tool call')} since {since} ({by})"
