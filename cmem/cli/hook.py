"""``cmem hook`` by hand: the same path as the registered command, and as harmless."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def run(values: Mapping[str, Any]) -> int:
    """Capture one event; 0 whatever happens."""
    return run_words([values["host"], values["event"], values["home"]])


def run_words(words: Sequence[str]) -> int:
    """``HOST EVENT [HOME]``; 0 whatever happens."""
    try:
        from cmem import data_home, hook

        home = words[2] if len(words) > 2 and words[2] else ""
        if not home:
            from cmem import settings

            home = data_home.find(settings.environment())
        hook.main([words[0], words[1], home])
    except Exception:  # noqa: BLE001, S110 - an exit code may block a person's prompt
        pass
    return 0
