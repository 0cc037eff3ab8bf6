"""The commands about who observes."""

from __future__ import annotations

from cmem.cli.spec.kinds import DRY_RUN, JSON, Arg, Command, Option

NAME = "A provider: extract, claude-cli, anthropic or command."
PROVIDER_LIST = Command(
    "provider list",
    "List who can observe, with the price of each and where your text goes.",
    "A star marks the one that background runs ask.",
    ("cmem provider list", "cmem provider list --json"),
    "cmem.cli.provider:run_list",
    (),
    (JSON,),
)
PROVIDER_SHOW = Command(
    "provider show",
    "Show one provider: price, place, what it still needs, why it is paused.",
    "Without a name it is the chosen one.",
    ("cmem provider show", "cmem provider show claude-cli"),
    "cmem.cli.provider:run_show",
    (Arg("name", NAME, default=""),),
    (JSON,),
)
PROVIDER_TEST = Command(
    "provider test",
    "Ask a provider one small question, and say what helps if it does not answer.",
    "Without a name it is the chosen one. What a call costs is told before it is made; this one "
    "takes a few hundred tokens. When it answers, a pause that its failures armed ends. Exits 1 when "
    "it does not; with --json the class of the failure is `kind`.",
    ("cmem provider test", "cmem provider test claude-cli --json"),
    "cmem.cli.provider:run_test",
    (Arg("name", NAME, default=""),),
    (JSON,),
)
PROVIDER_USE = Command(
    "provider use",
    "Choose who observes from now on.",
    "Writes config.toml in the data home and leaves everything else in it as it is. No provider "
    "ever takes the place of another by itself.",
    (
        "cmem provider use claude-cli",
        "cmem provider use anthropic --key-from-stdin < key.txt",
        'cmem provider use command --command "llm -m qwen3" --dry-run',
    ),
    "cmem.cli.provider:run_use",
    (Arg("name", NAME),),
    (
        Option(("--model",), "The model to ask.", metavar="NAME"),
        Option(("--base-url",), "Where the Messages API is.", metavar="URL"),
        Option(("--command",), "The program to ask, with its arguments.", metavar="LINE"),
        Option(
            ("--key-from-stdin",),
            "Read the API key from standard input.",
            "flag",
            default=False,
        ),
        DRY_RUN,
        JSON,
    ),
)

COMMANDS: tuple[Command, ...] = (PROVIDER_LIST, PROVIDER_SHOW, PROVIDER_TEST, PROVIDER_USE)
