"""What a setting's value must look like, beyond its type: "" or what is wrong with it. Pure."""

from __future__ import annotations

import os
from collections.abc import Callable


def complaint(name: str, value: object) -> str:
    """Why the setting of that name cannot have this value; "" when it can."""
    check = _CHECKS.get(name)
    return check(value) if check is not None else ""


def header_list(text: str) -> list[tuple[str, str]]:
    """The names and values in the setting ``headers``; ValueError where it holds none."""
    found = []
    for one in filter(None, (part.strip() for part in text.split("|"))):
        name, colon, value = one.partition(":")
        if not colon or not name.strip().replace("-", "").replace("_", "").isalnum():
            raise ValueError(name)
        found.append((name.strip(), value.strip()))
    return found


def _check_endpoint(value: object) -> str:
    """Why an address cannot be the API's; "" when it can. A key must not cross the open net."""
    from urllib.parse import urlsplit

    if not value:
        return ""
    try:
        scheme, host = urlsplit(str(value)).scheme, urlsplit(str(value)).hostname
    except ValueError:
        scheme, host = "", None
    if not host or scheme not in ("http", "https"):
        return "must be an https:// address, or http:// on this machine or a private network"
    near = scheme == "https" or _is_near(host)
    return "" if near else "must be https://, because that host is not on a private network"


def _is_near(host: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".localhost"))


def _check_provider(value: object) -> str:
    return "" if value else "must not be empty; the default is extract"


def _check_mode(value: object) -> str:
    name = str(value)
    plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return "" if plain else "must be the name of a mode: see `cmem mode list`"


def _check_proxy(value: object) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(str(value))
        good = not value or (parts.scheme in ("http", "https") and bool(parts.hostname))
    except ValueError:
        good = False
    return "" if good else "must be an address such as http://proxy.example:3128"


def _check_path(value: object) -> str:
    path = os.path.expanduser(str(value))
    return "" if not value or os.path.isabs(path) else "must be a full path"


def _check_command(value: object) -> str:
    import shlex

    try:
        words = shlex.split(str(value))
    except ValueError as error:
        return f"cannot be split into words: {str(error).lower()}"
    return "" if words or not value else "must name a program"


def _check_headers(value: object) -> str:
    try:
        good = str(value).isascii() and header_list(str(value)) is not None
    except ValueError:
        good = False
    return "" if good else "must be `Name: value`, several with ` | ` between them"


_CHECKS: dict[str, Callable[[object], str]] = {
    "base_url": _check_endpoint,
    "ca_file": _check_path,
    "claude_config_dir": _check_path,
    "claude_path": _check_path,
    "command": _check_command,
    "headers": _check_headers,
    "mode": _check_mode,
    "provider": _check_provider,
    "proxy": _check_proxy,
    "sync_dir": _check_path,
}
