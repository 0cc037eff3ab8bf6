"""What a person does not want kept and a hook kept all the same: before the setting was made,
or because the hook could not read the event. It is left out on its way into the store.
"""

from __future__ import annotations

from cmem import filters, off
from cmem.hosts.wire import HOSTS
from cmem.model import Entry


class Sieve:
    """The filters of config.toml for one run. A hook's environment is not known any more."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._filters = filters.load(off.config_text(home), {})

    @property
    def has_rules(self) -> bool:
        """Whether anything could be left out."""
        return bool(self._filters)

    def keeps(self, entry: Entry) -> bool:
        """Whether the entry is wanted; one that a filter leaves out is counted."""
        return entry.wanted and not (self._looks_at(entry) and self._leaves_out(entry))

    def would_keep(self, entry: Entry) -> bool:
        """Whether the entry is wanted; nothing is counted."""
        found = self._looks_at(entry) and filters.rule_of(self._filters, entry.host, entry.payload)
        return entry.wanted and not found

    def _looks_at(self, entry: Entry) -> bool:
        wire = HOSTS.get(entry.host) if self._filters else None
        return wire is not None and wire.kinds.get(entry.event) == "tool"

    def _leaves_out(self, entry: Entry) -> bool:
        return filters.leaves_out(self._filters, self._home, host=entry.host, payload=entry.payload)
