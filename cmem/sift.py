"""What a person does not want kept and a hook kept all the same: before the setting was made,
or because the hook could not read the event. It is left out on its way into the store.
"""

from __future__ import annotations

from collections.abc import Sequence

from cmem import filters, off
from cmem.hosts.wire import HOSTS
from cmem.model import Entry


class Sieve:
    """The filters of config.toml for one run. A hook's environment is not known any more."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._filters = filters.load(off.config_text(home), {})

    def kept(self, entries: Sequence[Entry]) -> list[Entry]:
        """The entries that are wanted; the others are counted."""
        return [entry for entry in entries if self.keeps(entry)]

    def keeps(self, entry: Entry) -> bool:
        """Whether the entry is wanted; one that a filter leaves out is counted."""
        return entry.wanted and not (self._filters and self._is_filtered(entry))

    def _is_filtered(self, entry: Entry) -> bool:
        wire = HOSTS.get(entry.host)
        if wire is None or wire.kinds.get(entry.event) != "tool":
            return False
        return filters.leaves_out(self._filters, self._home, host=entry.host, payload=entry.payload)
