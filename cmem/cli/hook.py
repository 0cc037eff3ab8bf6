"""``cmem hook`` by hand: the same path as the registered command, and as harmless."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any


def run(values: Mapping[str, Any]) -> int:
    """Capture one event; 0 whatever happens."""
    return run_words([values["host"], values["event"], values["home"]])


def run_words(words: Sequence[str]) -> int:
    """``HOST EVENT [HOME]``; 0 whatever happens."""
    try:
        from cmem import data_home, hook, paths

        home = words[2] if len(words) > 2 and words[2] else ""
        if not home:
            from cmem import settings

            home = data_home.find(settings.environment())
        if not os.path.exists(paths.launcher(home)):
            _make_launcher(home, words)
        hook.main([words[0], words[1], home])
    except Exception:  # noqa: BLE001, S110 - an exit code may block a person's prompt
        pass
    return 0


def _make_launcher(home: str, words: Sequence[str]) -> None:
    """What background runs start from, where no install has made it; whatever goes wrong there
    is not the event's affair."""
    try:
        from cmem import settings
        from cmem.install import ready

        if ready.is_missing(home, words[0], words[1], env=settings.environment()):
            ready.prepare_aside(home)
    except Exception:  # noqa: BLE001, S110 - the event is to be kept
        pass
