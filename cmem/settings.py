"""The settings: the one place where flag, environment and file are weighed.

Precedence: flag > ``CMEM_*`` variable > ``config.toml`` > default. A variable that is set to
nothing counts as not set. The environment of a run that a hook or a schedule started may come
from a repository the user merely opened, so such a run takes no endpoint and no key from it.
"""

from __future__ import annotations

import os

from cmem import off, setting_text
from cmem.errors import ConfigError
from cmem.named import NamedTuple
from cmem.setting_table import SETTINGS, Setting, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Settings(NamedTuple):
    """Every setting, typed and checked."""

    provider: str
    model: str
    base_url: str
    api_key: str
    headers: str
    proxy: str
    ca_file: str
    claude_path: str
    claude_config_dir: str
    command: str
    mode: str
    language: str
    context_budget: int
    activation: bool
    recall_prompts: bool
    recall_files: bool
    recall_failures: bool
    auto_compress: bool
    exclude: str
    skip_tools: str
    skip_agents: str
    skip_paths: str
    skip_commands: str
    skip_small: int
    timeout_s: int
    max_calls: int
    daily_usd: float
    daily_tokens: int
    keep_raw_days: int
    dedup: bool
    backups: int
    sync_dir: str
    sync_auto: bool


def defaults() -> Settings:
    """Every setting as it is where nobody has said anything."""
    return Settings(**{one.name: one.default for one in SETTINGS})  # type: ignore[arg-type]  # each row's own type


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
    document: Mapping[str, Value] | None = None,
) -> Settings:
    """All settings of one run. A flag that is None or missing was not given. ``document`` stands
    in place of the config file."""
    resolved = resolve(home, env=env, flags=flags, trusted_env=trusted_env, document=document)
    values = {name: one.value for name, one in resolved.items()}
    return Settings(**values)  # type: ignore[arg-type]  # each value was checked against its row


def resolve(
    home: str,
    *,
    env: Mapping[str, str],
    flags: Mapping[str, object],
    trusted_env: bool,
    document: Mapping[str, Value] | None = None,
) -> dict[str, Resolved]:
    """Every setting by name, with its origin; raises ConfigError that names what is wrong."""
    document = read_document(home) if document is None else document
    return {
        setting.name: _resolve_one(
            setting, document=document, env=env, flags=flags, trusted_env=trusted_env
        )
        for setting in SETTINGS
    }


def trusts_environment(env: Mapping[str, str]) -> bool:
    """False for a run that a hook or a schedule started."""
    return not env.get("CMEM_STARTED_BY")


def inside_observer(env: Mapping[str, str]) -> bool:
    """Whether a provider of ours started this process: what it does must start nothing again."""
    return env.get("CMEM_OBSERVER", "0") not in ("", "0")


def read_document(home: str) -> dict[str, Value]:
    """The config file's settings, checked; {} when there is no file."""
    return {key: _from_config(key, value) for key, value in _read(home).items()}


def salvage(home: str) -> tuple[dict[str, Value], str]:
    """What of the config file can be read, and the first thing that is wrong with it."""
    fault = ""
    found: dict[str, Value] = {}
    try:
        document = _read(home)
    except ConfigError as error:
        provider = setting_text.setting(off.config_text(home), "provider")
        if provider is None:
            raise
        return ({"provider": provider} if provider else {}), str(error)
    for key, value in document.items():
        try:
            found[key] = _from_config(key, value)
        except ConfigError as error:
            if key == "provider":
                raise
            fault = fault or str(error)
    return found, fault


def _read(home: str) -> dict[str, object]:
    import tomllib  # here, because a command without a config file does without it

    path = os.path.join(home, "config.toml")
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise _trouble("config.toml", _reason(error)) from error


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
    if key == "command" and isinstance(value, list) and all(isinstance(one, str) for one in value):
        import shlex

        value = shlex.join(value)
    if setting.kind == "number" and type(value) is int and abs(value) < 2**53:
        value = float(value)
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
    elif setting.kind == "number" and _is_number(text):
        return _check(setting, float(text), where=where)
    raise _trouble(where, f"must be {_article(setting)}, not {text[:40]!r}")


def _check(setting: Setting, value: Value, *, where: str) -> Value:
    if isinstance(value, str) and not value.isprintable():
        raise _trouble(where, "must be one line of text")
    if isinstance(value, (int, float)) and not setting.minimum <= value < 2**53:
        limit = f"at least {setting.minimum}" if value < setting.minimum else "a smaller number"
        raise _trouble(where, f"must be {limit}")
    from cmem import setting_checks  # here, because most runs have nothing to check

    complaint = setting_checks.complaint(setting.name, value)
    if complaint:
        raise _trouble(where, complaint)
    return value


def _is_number(text: str) -> bool:
    """Digits with at most one point among them: no sign, no exponent, no infinity."""
    whole, _, rest = text.partition(".")
    return text.isascii() and (whole + rest).isdigit() and len(text) < 20


def _article(setting: Setting) -> str:
    return f"a {setting.kind}" if setting.kind.endswith("number") else setting.kind


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or "cannot be read").lower()
    text = str(error)
    return text[:1].lower() + text[1:]


def _trouble(where: str, what: str) -> ConfigError:
    return ConfigError(f"could not read settings: {where}: {what}")
