"""Which model has answered for which: a person asks for ``haiku``, and ``claude-haiku-4-5-20251001``
says that it was it. What stands in the ledger and beside a memory is who answered; what was asked
for is kept here, by provider, so that the same wish is known again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.store import meta

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

KEPT = 200  # pairs of a provider; the oldest go first
MOST = 200  # characters of a name


def note(conn: apsw.Connection, provider: str, *, asked: str, answered: str) -> None:
    """The model that was ``asked`` for has ``answered`` under this name. Part of the caller's
    transaction; nothing is written where that is known."""
    if not asked or not answered or asked == answered or max(len(asked), len(answered)) > MOST:
        return
    known = meta.mapping(conn, "model_names")
    pairs = _pairs(known.get(provider))
    if (asked, answered) not in pairs:
        known[provider] = [*pairs, (asked, answered)][-KEPT:]
        meta.put_json(conn, "model_names", known)


def asked_for(conn: apsw.Connection, provider: str) -> Mapping[str, frozenset[str]]:
    """The names that each model of the provider has been asked for by, besides its own."""
    found: dict[str, frozenset[str]] = {}
    for asked, answered in _pairs(meta.mapping(conn, "model_names").get(provider)):
        found[answered] = found.get(answered, frozenset()) | {asked}
    return found


def _pairs(value: object) -> list[tuple[str, str]]:
    given = value if isinstance(value, list) else []
    return [(str(one[0]), str(one[1])) for one in given if isinstance(one, list) and len(one) == 2]
