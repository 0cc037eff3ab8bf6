"""The filters of tool calls: whether they can be read, and what they left out."""

from __future__ import annotations

from cmem import filters, off, paths
from cmem.doctor.finding import ERROR, OK, Finding
from cmem.plural import counted


def check(home: str) -> list[Finding]:
    """What is set in config.toml, which is all that hooks have in common."""
    found = filters.load(off.config_text(home), {})
    left_out = sum(one[2] for one in filters.counts(home))
    return [judge(found, left_out, config=paths.config_file(home))]


def judge(found: filters.Filters, left_out: int, *, config: str) -> Finding:
    """A filter that cannot be read takes nothing away, one for files all that name some."""
    if found.unreadable:
        names = ", ".join(found.unreadable)
        kept = "no tool call that names a file is kept"
        effect = kept if filters.PATHS in found.unreadable else "nothing is left out by them"
        first = found.unreadable[0]
        value = "2000" if first == filters.SMALL else '"one,two"'
        fix = f"write {first} = {value} into {config}"
        return Finding(ERROR, "filters", f"cannot be read: {names}; meanwhile {effect}", fix)
    active = [name for name, globs in found.globs.items() if globs]
    active += [filters.SMALL] if found.small else []
    detail = ", ".join(active) if active else "none set, so every tool call is kept"
    if left_out:
        detail += f"; {counted(left_out, 'tool call')} left out (cmem status tells by which)"
    return Finding(OK, "filters", detail)
