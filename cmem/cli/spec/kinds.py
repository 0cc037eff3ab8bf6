"""What a command, an argument and an option are, and the options that many commands share."""

from __future__ import annotations

from cmem.named import NamedTuple


class Arg(NamedTuple):
    """A positional argument. ``many``: takes all that follow; ``default`` None: required."""

    name: str
    help: str
    many: bool = False
    default: str | None = None


class Option(NamedTuple):
    """A named option. ``names``: long first, then aliases. ``kind``: flag | text | int."""

    names: tuple[str, ...]
    help: str
    kind: str = "text"
    default: str | int | bool | None = None
    repeatable: bool = False
    metavar: str = ""

    @property
    def key(self) -> str:
        """The name its value goes by: ``--dry-run`` is ``dry_run``."""
        return self.names[0].lstrip("-").replace("-", "_")


class Command(NamedTuple):
    """One command. ``target``: "module:function", imported when it runs. A ``name`` of two
    words is a sub-command of the group of ``GROUPS`` that the first one names."""

    name: str
    summary: str
    detail: str
    examples: tuple[str, ...]
    target: str
    args: tuple[Arg, ...] = ()
    options: tuple[Option, ...] = ()
    hot: bool = False


def metavar(option: Option) -> str:
    """What stands for the option's value in help and docs."""
    return option.metavar or ("N" if option.kind == "int" else option.key.upper())


JSON = Option(("--json",), "Print one JSON document.", "flag", default=False)
YES = Option(("--yes", "-y"), "Do not ask.", "flag", default=False)
DRY_RUN = Option(("--dry-run",), "Show what would happen, change nothing.", "flag", default=False)
KIND = Option(
    ("--kind",),
    "Only this kind: observation, summary, prompt, tool (or O, S, P, T). Repeatable.",
    repeatable=True,
    metavar="KIND",
)
PROJECT = Option(
    ("--project",),
    "A project by name, number or key instead of the current one.",
    metavar="NAME",
)
ALL_PROJECTS = Option(("--all-projects", "--all"), "Search every project.", "flag", default=False)
SESSION = Option(("--session",), "Only this session: N4 or the host's id.", metavar="ID")
