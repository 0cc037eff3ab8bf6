"""The settings: one table, and the one place where flag, environment and file are weighed.

Precedence: flag > ``CMEM_*`` variable > ``config.toml`` > default. A variable that is set to
nothing counts as not set. The environment of a run that a hook or a schedule started may come
from a repository the user merely opened, so such a run takes no endpoint and no key from it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from cmem.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Value = str | int | bool


class Setting(NamedTuple):
    """One row of the table. ``env`` and the config key carry the same name as ``flag``."""

    name: str
    default: Value
    doc: str
    minimum: int = 0
    private: bool = False  # never shown, and never taken from an untrusted environment
    guarded: bool = False  # never taken from an untrusted environment

    @property
    def env(self) -> str:
        return "CMEM_" + self.name.upper()

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def kind(self) -> str:
        return {str: "text", int: "whole number", bool: "true or false"}[type(self.default)]


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "provider",
        "extract",
        "Who turns captured turns into observations. `extract` works by rules on this machine, "
        "at no cost; `anthropic` asks a model through the Messages API.",
    ),
    Setting("model", "", "The model to ask. Empty: the provider's own default."),
    Setting(
        "base_url",
        "",
        "Where the Messages API is, with or without `/v1`, for example a local server. "
        "Empty: the provider's own address. Plain `http://` is accepted for this machine "
        "and private networks only.",
        guarded=True,
    ),
    Setting("api_key", "", "The key for that API.", private=True, guarded=True),
    Setting(
        "language",
        "auto",
        "The language memories are written in. `auto`: the language of the user's prompts.",
    ),
    Setting("context_budget", 2000, "The size limit in tokens of the block a session starts with."),
    Setting(
        "auto_compress",
        True,
        "Whether hooks start `cmem compress` in the background by themselves.",
    ),
    Setting(
        "exclude",
        "",
        "Folders of which nothing is stored or shown: globs separated by `:`, such as "
        '`"~/private:/mnt/*/clients:secret-*"`. `*` stays within a name, `**` is any number of '
        "folders, a glob that begins with neither `/` nor `~` counts anywhere in a path; what "
        "lies below such a folder is excluded too. For hooks the variable adds to config.toml.",
    ),
    Setting("timeout_s", 60, "How many seconds to wait for one answer of the model.", minimum=1),
    Setting("max_calls", 0, "The most model calls one `cmem compress` makes. 0: no limit."),
)


class Settings(NamedTuple):
    """Every setting, typed and checked."""

    provider: str
    model: str
    base_url: str
    api_key: str
    language: str
    context_budget: int
    auto_compress: bool
    exclude: str
    timeout_s: int
    max_calls: int


class Resolved(NamedTuple):
    """One setting's value and where it came from: flag | environment | config | default."""

    value: Value
    origin: str


def environment() -> Mapping[str, str]:
    """The process's variables, for callers that may not look at them by themselves."""
    return os.environ


def load(
    home: str,
    *,
    env: Mapping[str, str],
    flags: Mapping[str, object],
    trusted_env: bool,
) -> Settings:
    """All settings of one run. A flag that is None or missing was not given."""
    resolved = resolve(home, env=env, flags=flags, trusted_env=trusted_env)
    values = {name: one.value for name, one in resolved.items()}
    return Settings(**values)  # type: ignore[arg-type]  # each value was checked against its row


def resolve(
    home: str,
    *,
    env: Mapping[str, str],
    flags: Mapping[str, object],
    trusted_env: bool,
) -> dict[str, Resolved]:
    """Every setting by name, with its origin; raises ConfigError that names what is wrong."""
    document = read_document(home)
    return {
        setting.name: _resolve_one(
            setting, document=document, env=env, flags=flags, trusted_env=trusted_env
        )
        for setting in SETTINGS
    }


def trusts_environment(env: Mapping[str, str]) -> bool:
    """False for a run that a hook or a schedule started."""
    return not env.get("CMEM_STARTED_BY")


def read_document(home: str) -> dict[str, Value]:
    """The config file's settings, checked; {} when there is no file."""
    import tomllib  # here, because a command without a config file does without it

    path = os.path.join(home, "config.toml")
    try:
        with open(path, "rb") as file:
            document = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise _trouble("config.toml", _reason(error)) from error
    return {key: _from_config(key, value) for key, value in document.items()}


def _resolve_one(
    setting: Setting,
    *,
    document: Mapping[str, Value],
    env: Mapping[str, str],
    flags: Mapping[str, object],
    trusted_env: bool,
) -> Resolved:
    flag = flags.get(setting.name)
    if flag is not None:
        return Resolved(_parse(setting, flag, where=setting.flag), "flag")
    variable = env.get(setting.env, "")
    if variable and (trusted_env or not setting.guarded):
        return Resolved(_parse(setting, variable, where=setting.env), "environment")
    if setting.name in document:
        return Resolved(document[setting.name], "config")
    return Resolved(setting.default, "default")


def _from_config(key: str, value: object) -> Value:
    where = f"config.toml: {key}"
    setting = next((one for one in SETTINGS if one.name == key), None)
    if setting is None:
        known = ", ".join(one.name for one in SETTINGS)
        raise _trouble(where, f"no such setting; known: {known}")
    if type(value) is not type(setting.default):
        raise _trouble(where, f"must be {_article(setting)}")
    return _check(setting, value, where=where)


def _parse(setting: Setting, given: object, *, where: str) -> Value:
    """A flag or variable as a value of the setting's type."""
    if type(given) is type(setting.default):
        return _check(setting, given, where=where)
    text = str(given).strip()
    if isinstance(setting.default, bool):
        word = text.lower()
        if word in ("1", "true", "yes", "on"):
            return True
        if word in ("0", "false", "no", "off"):
            return False
    elif isinstance(setting.default, int) and text.isascii() and text.isdigit():
        return _check(setting, int(text[:19]), where=where)
    raise _trouble(where, f"must be {_article(setting)}, not {text[:40]!r}")


def _check(setting: Setting, value: Value, *, where: str) -> Value:
    if isinstance(value, str) and not value.isprintable():
        raise _trouble(where, "must be one line of text")
    if isinstance(value, int) and not setting.minimum <= value < 2**53:
        limit = f"at least {setting.minimum}" if value < setting.minimum else "a smaller number"
        raise _trouble(where, f"must be {limit}")
    check = _CHECKS.get(setting.name)
    complaint = check(value) if check is not None else ""
    if complaint:
        raise _trouble(where, complaint)
    return value


def _check_endpoint(value: Value) -> str:
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


def _check_provider(value: Value) -> str:
    return "" if value else "must not be empty; the default is extract"


_CHECKS: dict[str, Callable[[Value], str]] = {
    "base_url": _check_endpoint,
    "provider": _check_provider,
}


def _article(setting: Setting) -> str:
    return "a whole number" if setting.kind == "whole number" else setting.kind


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or "cannot be read").lower()
    text = str(error)
    return text[:1].lower() + text[1:]


def _trouble(where: str, what: str) -> ConfigError:
    return ConfigError(f"could not read settings: {where}: {what}")
