"""Every setting: its name, its default, and what it is for. A table and nothing else."""

from __future__ import annotations

from cmem.named import NamedTuple

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
        "activation",
        False,
        "Weigh a memory by ACT-R's base-level activation, which counts each day it was met again, "
        "and not by its age alone. See [context](context.md).",
    ),
    Setting(
        "recall_prompts",
        False,
        "Give a prompt up to three memories that it clearly concerns, each once in a session. "
        "This and the next two are off until you switch them on in config.toml, which alone "
        "counts for hooks; see [context](context.md).",
        guarded=True,
    ),
    Setting(
        "recall_files",
        False,
        "Give the agent what is remembered of changes to a file before it reads or edits it, once "
        "for each file in a session. Run `cmem install` afterwards: it needs a hook more.",
        guarded=True,
    ),
    Setting(
        "recall_failures",
        False,
        "Give the agent what followed when a command failed in the same way before.",
        guarded=True,
    ),
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
        "rests on is kept three times as long, what a pinned one rests on always; what was imported "
        "counts from the import. 0: keep all.",
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
    Setting(
        "sync_dir",
        "",
        "The folder that `cmem sync` uses, one that something else keeps alike on your machines. "
        "See [sync](sync.md).",
        guarded=True,
    ),
    Setting(
        "sync_auto",
        False,
        "Whether `cmem compress` syncs with that folder when it is done, every ten minutes at most.",
        guarded=True,
    ),
)
