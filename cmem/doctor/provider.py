"""Settings and provider, as a run that a hook starts will see them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from urllib.parse import urlsplit

from cmem import paths, settings
from cmem.doctor.finding import ERROR, OK, WARN, Finding
from cmem.errors import CmemError
from cmem.observer import providers
from cmem.settings import Settings

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def load(home: str) -> tuple[Settings | None, str]:
    """(the settings of a background run, "") or (None, what is wrong with them)."""
    try:
        chosen = settings.load(home, env={}, flags={}, trusted_env=False)
        providers.get(chosen)
    except CmemError as error:
        return None, str(error)
    return chosen, ""


def check(home: str) -> tuple[Settings | None, list[Finding]]:
    """The settings where they can be read, and the findings about them."""
    chosen, trouble = load(home)
    config = paths.config_file(home)
    if chosen is None:
        return None, [Finding(ERROR, "settings file", trouble, f"correct {config}")]
    found = [judge_provider(chosen, config=config), *judge_endpoint(chosen)]
    return chosen, [*found, *judge_config(chosen, config=config, mode=_mode(config))]


def judge_provider(chosen: Settings, *, config: str) -> Finding:
    """The provider has what it needs without anybody's environment."""
    if chosen.provider == "extract":
        return Finding(OK, "provider", "extract: by rules, on this machine")
    if chosen.provider == "anthropic" and not chosen.api_key:
        detail = "anthropic has no key in background runs, so turns wait"
        return Finding(ERROR, "provider", detail, f'write api_key = "…" into {config}')
    where = urlsplit(chosen.base_url).hostname or "its own address"
    return Finding(OK, "provider", f"{chosen.provider} at {where}")


def judge_endpoint(chosen: Settings) -> Iterator[Finding]:
    """Plain http on a network can be read by whoever is on it."""
    if chosen.provider == "extract" or not chosen.base_url:
        return
    address = urlsplit(chosen.base_url)
    if address.scheme == "http" and address.hostname not in LOOPBACK:
        detail = f"turns and key go to {address.hostname} over plain http, readable on the network"
        yield Finding(
            WARN, "endpoint", detail, "write an https:// address as base_url into config.toml"
        )


def judge_config(chosen: Settings, *, config: str, mode: int | None) -> Iterator[Finding]:
    """A file with a key in it is its owner's alone. ``mode`` is None when there is no file."""
    if mode is None:
        yield Finding(OK, "settings file", "none, so the defaults hold")
    elif chosen.api_key and mode & 0o077:
        detail = f"{config} holds a key and others can read it (mode {mode:04o})"
        yield Finding(WARN, "settings file", detail, f"chmod 600 '{config}'")
    else:
        yield Finding(OK, "settings file", f"{config} can be read")


def _mode(path: str) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return None
