"""Choosing the provider at install time, and saying plainly what the choice means."""

from __future__ import annotations

import os

from cmem import settings
from cmem.errors import CmemError
from cmem.install import files, toml_edit


def choose(home: str, name: str) -> bool:
    """config.toml names the provider from now on; False when it did already."""
    path = os.path.join(home, "config.toml")
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    except (OSError, ValueError) as error:
        raise CmemError(f"could not read {path}: {error}") from error
    new = toml_edit.set_key(text, "provider", name)
    if new != text:
        files.save_private(path, new.encode())
    return new != text


def explain(home: str, chosen: settings.Settings) -> list[str]:
    """What leaves the machine with these settings, and what it costs, one sentence a line."""
    if chosen.provider == "extract":
        return [
            "Provider: extract. Observations are made by rules on this machine; "
            "nothing leaves it, and it costs nothing."
        ]
    where = chosen.base_url or "its own address"
    lines = [
        f"Provider: {chosen.provider} at {where}. Every closed turn is sent there in one model "
        "call, secrets and <private> parts taken out first; your account pays for it."
    ]
    if not chosen.api_key:
        config = os.path.join(home, "config.toml")
        lines.append(
            f'It needs a key: write api_key = "..." into {config}. Until then turns are kept '
            "and wait. (CMEM_API_KEY works for commands you type, not for background runs.)"
        )
    return lines


def resolve(home: str, name: object) -> settings.Settings:
    """The settings a background run will have once ``name`` (or None: no change) is chosen."""
    return settings.load(home, env={}, flags={"provider": name}, trusted_env=False)
