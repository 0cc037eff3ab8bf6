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
    from collections.abc import Mapping

Value = str | int | bool | float


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
        kinds = {str: "text", int: "whole number", bool: "true or false", float: "number"}
        return kinds[type(self.default)]


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "provider",
        "extract",
        "Who turns captured turns into observations. `extract` works by rules on this machine, "
        "at no cost; `anthropic` asks a model through the Messages API; `claude-cli` asks your "
        "own Claude Code; `command` asks any program. See [providers](providers.md).",
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
        "headers",
        "",
        "More headers for that API, as some gateways want them: `Name: value`, several with "
        "` | ` between them.",
        private=True,
        guarded=True,
    ),
    Setting(
        "proxy",
        "",
        "The proxy that provider and programs reach the net through. This machine is never "
        "reached through it. Empty: none in background runs, the usual variables in others.",
        private=True,
        guarded=True,
    ),
    Setting(
        "ca_file",
        "",
        "A file of certificates (PEM) to trust besides the usual ones.",
        guarded=True,
    ),
    Setting(
        "claude_path",
        "",
        "The program of the provider `claude-cli`. Empty: `claude` where its installers put it, "
        "or on PATH.",
        guarded=True,
    ),
    Setting(
        "claude_config_dir",
        "",
        "The configuration folder whose login `claude-cli` uses. Empty: Claude Code's own.",
        guarded=True,
    ),
    Setting(
        "command",
        "",
        'The program of the provider `command`, with its arguments: `"llm -m x"`, or a list '
        "in config.toml. No shell reads it. It gets the request on stdin and prints the reply.",
        guarded=True,
    ),
    Setting(
        "mode",
        "code",
        "What is worth remembering, and under which types: `code`, `research`, `writing`, or a "
        "mode of your own. See [modes](modes.md).",
        guarded=True,
    ),
    Setting(
        "language",
        "auto",
        "The language a model writes memories in, such as `en`, `vi` or `zh-hant`. `auto`: the "
        "language of the user's prompts.",
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
    Setting(
        "skip_tools",
        "",
        "Tools whose calls are not kept: globs separated by commas, such as "
        '`"TodoWrite,mcp__browser__*"`. In this and the next three `*` is any text, case does '
        "not count, and for hooks the variable adds to config.toml.",
    ),
    Setting(
        "skip_agents",
        "",
        "Subagents whose tool calls are not kept, by type, such as `Explore`; `*` is all of them. "
        "What a subagent answers is kept.",
    ),
    Setting(
        "skip_paths",
        "",
        "Files of which no tool call is kept: globs as in `exclude`, but separated by commas, "
        'such as `"~/diary/**,*.lock,node_modules"`. It is about the files that a tool is given; '
        "a shell command that names one is a matter of `skip_commands`.",
    ),
    Setting(
        "skip_commands",
        "",
        'Shell commands that are not kept, such as `"ls,ls *,git status*"`. A line of several '
        "is left out if each of them is (`cd` beside others does not count); a pipeline is one "
        "command.",
    ),
    Setting(
        "skip_small",
        0,
        "Results of tools that only read (files, searches, web pages) are not kept below this "
        "many bytes. Commands, edits and failures always are. 0: keep all.",
    ),
    Setting("timeout_s", 60, "How many seconds to wait for one answer of the model.", minimum=1),
    Setting("max_calls", 0, "The most model calls one `cmem compress` makes. 0: no limit."),
    Setting(
        "daily_usd",
        1.0,
        "What calls of a model may cost on one day, in US dollars. When it is reached, turns wait "
        "for the next day; nothing is dropped. 0: no limit.",
        guarded=True,
    ),
    Setting(
        "daily_tokens",
        2_000_000,
        "How many tokens, in and out, calls of a model may take on one day. 0: no limit.",
        guarded=True,
    ),
    Setting(
        "keep_raw_days",
        30,
        "How many days input and output of observed tool calls are kept. What an observation "
        "rests on is kept three times as long, what a pinned one rests on always. 0: keep all.",
        guarded=True,
    ),
    Setting(
        "dedup",
        False,
        "Join new observations with older ones of the project, host and agent that have the same "
        "title and a text that agrees. `cmem dedup` shows what else looks alike.",
    ),
    Setting(
        "backups",
        3,
        "How many daily copies of the memory are kept in the folder `backups`; `cmem compress` "
        "makes one a day. 0: none. See [backup](backup.md).",
        guarded=True,
    ),
)


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


def inside_observer(env: Mapping[str, str]) -> bool:
    """Whether a provider of ours started this process: what it does must start nothing again."""
    return env.get("CMEM_OBSERVER", "0") not in ("", "0")


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
