"""The commands that bring in what was before cmem: one for each source."""

from __future__ import annotations

from cmem.cli.spec.kinds import DRY_RUN, JSON, Arg, Command, Option

_OPTIONS = (
    Option(("--since",), "Only what is as new: 2026-05-01, monday, 90d.", metavar="WHEN"),
    Option(
        ("--project",),
        "Only this project: its name, or a folder and all below it. What has not come in yet has "
        "no number: a name means every folder that is called so.",
        metavar="NAME|FOLDER",
    ),
    DRY_RUN,
    JSON,
)
_HOW = (
    "No model is asked and nothing is paid: what was said and done can be searched at once, and "
    "`extract` makes observations of it. Nothing comes in twice, neither by a second run nor what "
    "hooks have captured; a run that was cut off goes on where it was. A line that cannot be read "
    "is named and the rest comes in; exits 1 only when nothing could be read. --dry-run counts "
    "and writes nothing."
)


def _from(host: str, title: str, where: str) -> Command:
    return Command(
        f"import {host}",
        f"Bring in past sessions of {title} from its transcripts.",
        f"Reads {where}, or the folder or file that is named. {_HOW}",
        (f"cmem import {host} --dry-run", f"cmem import {host} --since 90d"),
        f"cmem.cli.import_:run_{host.replace('-', '_')}",
        (Arg("path", "A folder with transcripts, or one transcript.", default=""),),
        _OPTIONS,
    )


IMPORT_CLAUDE_CODE = _from("claude-code", "Claude Code", "~/.claude/projects")
IMPORT_CODEX = _from("codex", "Codex CLI", "~/.codex/sessions")
IMPORT_GEMINI_CLI = _from("gemini-cli", "Gemini CLI", "~/.gemini/tmp")
COMMANDS: tuple[Command, ...] = (IMPORT_CLAUDE_CODE, IMPORT_CODEX, IMPORT_GEMINI_CLI)
