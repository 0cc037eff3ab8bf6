"""Check what holds the tree together: layers, sole importers, hot imports, sizes.

Prints ``path:line: rule: what to do`` for each breach and exits 1 if there is one. To allow an
exception, add it to ``ALLOWED`` or ``LIMITS`` below, with its reason beside it.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Lowest first. A module may import its own layer and those below; the longest name counts.
LAYERS: tuple[tuple[str, ...], ...] = (
    # boot runs before any import and knows nothing of us.
    (
        "boot",
        "downloads",
        "errors",
        "failpoint",
        "lazy",
        "lenient",
        "libraries",
        "likeness",
        "model",
        "named",
        "globbing",
        "plain_json",
        "plural",
        "shell",
        "shrink",
        "taint",
        "tokens",
        "turn_rules",
    ),
    (
        "config",
        "data_home",
        "driver",
        "fsutil",
        "here",
        "hooklog",
        "hosts.calls",
        "hosts.wire",
        "lock",
        "off",
        "packed",
        "paths",
        "privacy",
        "project",
    )
    + ("regular", "repo", "setting_text"),
    ("setting_checks", "setting_table", "settings"),
    (
        "eid",
        "filters",
        "hosts",
        "intake",
        "malformed",
        "observer",
        "spill",
        "spool",
        "spool_check",
        "spool_repair",
        "spooled",
        "store",
    ),
    (
        "anew",
        "answer",
        "backup",
        "batch",
        "batch_collect",
        "batch_send",
        "blame",
        "booking",
        "breaker",
        "budget",
        "bundle",
        "compress",
        "configured",
        "context",
        "cost",
        "dedup",
        "detach",
        "doctor",
        "driver",
        "estimate",
        "explain",
        "export",
        "fitness",
        "forget",
        "held",
        "hook",
        "importers",
        "ingest",
        "install",
        "launcher",
        "made",
    )
    + (
        "observe",
        "own",
        "pieces",
        "projects_admin",
        "recompress",
        "repair",
        "replan",
        "residue",
        "restore",
        "runlog",
        "schedule",
        "scan",
        "search",
        "sift",
        "switch",
        "sync",
        "take",
        "trace",
        "unread",
    ),
    ("cli", "_entry", "__main__"),
)
STRANGERS = ("hosts", "observer", "spool", "store")
OWNERS: dict[str, tuple[str, ...]] = {
    # The second makes the HTTP client that the first one's calls go through.
    "anthropic": ("observer.providers.anthropic_client", "observer.providers.anthropic_net"),
    # The hook catches the driver's own error: an event that does not go in becomes a file.
    # The importer of claude-mem reads a copy of another program's database.
    "apsw": ("driver", "hook", "importers.claude_mem_db", "spool", "spool_check")
    + ("spool_repair", "spooled", "store"),
    "platformdirs": ("data_home",),
    "rich": ("cli",),
    "typer": ("cli",),
    # detach hands a cleaned copy of the environment to the child it starts.
    "os.environ": ("data_home", "detach", "failpoint", "hook", "paths", "settings"),
}
# Statements that stand in one place, and where else they may.
SQL: dict[str, tuple[str, ...]] = {
    # recent: a session start has nothing to import for it. copies asks whether it is a store.
    r"(?:FROM|INTO|UPDATE|JOIN)\s+(?:\S+\.)?meta\b": ("store.meta", "store.recent")
    + ("store.copies", "store.migrations"),
    # mend makes the rows of all observations by one statement.
    r"INTO\s+observation_files\b": ("store.observation_files", "store.mend"),
}
HOT = (
    *("", "answer", "config", "context", "context.block", "context.fence", "context.health"),
    *(
        "context.activation",
        "context.failures",
        "context.gather",
        "context.inject",
        "context.watch",
        "context.links",
        "context.parents",
        "context.rehydrate",
        "context.price",
        "context.recall",
        "context.render",
        "context.select",
        "context.shown",
        "context.tell",
        "context.terms",
        "context.unasked",
        "data_home",
        "detach",
        "eid",
        "errors",
        "filters",
        "globbing",
        "here",
    ),
    *(
        "driver",
        "hook",
        "hooklog",
        "hosts",
        "hosts.calls",
        "hosts.wire",
        "intake",
        "launcher",
        "lock",
        "malformed",
        "off",
        "paths",
        "privacy",
    ),
    *(
        "privacy.gates",
        "privacy.seen",
        "project",
        "repo",
        "setting_text",
        "spill",
        "spool",
        "store",
        "store.reading",
    ),
    *(
        "store.current",
        "store.functions",
        "store.families",
        "store.folder",
        "store.further",
        "store.matching",
        "store.recent",
        "context.reach",
        "context.unseen",
    ),
    *("store.rows", "tokens"),
)
HOT_IMPORTS = frozenset(("__future__", "_codecs", "apsw", "os", "sys", "time"))
HOST_FIELDS = frozenset(
    ("agent_transcript_path", "hook_event_name", "is_interrupt", "last_assistant_message")
    + ("stop_hook_active", "transcript_path")
)
MODULE_LINES = 400
FUNCTION_LINES = 50
POSITIONAL = 3
UNCOUNTED = frozenset(("self", "cls", "conn"))  # what a function works on, not what it is told
BANNED_NAMES = frozenset(("utils", "util", "helpers", "misc", "common"))

# (path, rule) → why this one may.
ALLOWED: dict[tuple[str, str], str] = {}
# (path, function or "") → (lines, why it may be longer).
LIMITS: dict[tuple[str, str], tuple[int, str]] = {}


class Breach(NamedTuple):
    """One broken rule."""

    path: str
    line: int
    rule: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.advice}"


class Import(NamedTuple):
    """One imported module, absolute. ``at_start``: executed when the module is imported."""

    name: str
    line: int
    at_start: bool
    for_types: bool


class Module(NamedTuple):
    """One file of the package; ``name`` is dotted and without ``cmem.``. ``packages`` are the
    dotted names, with ``cmem``, of all folders that hold modules."""

    path: str
    name: str
    tree: ast.Module
    lines: int
    packages: frozenset[str]


def main(argv: Sequence[str]) -> int:
    root = Path(argv[0]) if argv else Path(__file__).resolve().parent.parent
    breaches = check(root)
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


def check(
    root: Path,
    *,
    allowed: Mapping[tuple[str, str], str] = ALLOWED,
    limits: Mapping[tuple[str, str], tuple[int, str]] = LIMITS,
) -> list[Breach]:
    """Every breach in the tree at ``root``, in file order; exceptions no longer needed too."""
    found: list[Breach] = []
    for module in _modules(root):
        found += _layers(module)
        found += _owners(module)
        found += _hot(module)
        found += _host_fields(module)
        found += _statements(module)
        found += _sizes(module, limits)
    found += _names(root)
    unused = sorted(set(allowed) - {(one.path, one.rule) for one in found})
    stale = [
        Breach(path, 1, rule, "the exception is not needed: delete it") for path, rule in unused
    ]
    return [one for one in found if (one.path, one.rule) not in allowed] + stale


def _modules(root: Path) -> Iterator[Module]:
    paths = sorted((root / "cmem").rglob("*.py"))
    folders = {path.parent.relative_to(root).parts for path in paths}
    packages = frozenset(".".join(parts) for parts in folders)
    for path in paths:
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(root / "cmem").with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        where = path.relative_to(root).as_posix()
        yield Module(where, name, ast.parse(text), len(text.splitlines()), packages)


def _layers(module: Module) -> Iterator[Breach]:
    if not module.name:
        return
    own = _layer(module.name)
    if own is None:
        yield _breach(module, 1, "layer", "add it to LAYERS in scripts/check_layout.py")
        return
    for one in _imports(module):
        target = one.name.removeprefix("cmem.")
        if not one.name.startswith("cmem.") or target.split(".")[0] == module.name.split(".")[0]:
            continue
        layer = _layer(target)
        if layer is not None and layer > own:
            yield _breach(module, one.line, "layer", f"must not import {target}: it stands above")
        if _is_stranger(module.name, target):
            advice = f"must not import {target}: join them in a layer above"
            yield _breach(module, one.line, "stranger", advice)


def _is_stranger(name: str, target: str) -> bool:
    pair = name.split(".", maxsplit=1)[0], target.split(".", maxsplit=1)[0]
    return pair[0] != pair[1] and set(pair) <= set(STRANGERS) and target != "hosts.wire"


def _owners(module: Module) -> Iterator[Breach]:
    for name, line in _outside(module):
        owners = OWNERS.get(name)
        if owners is not None and not any(_within(module.name, owner) for owner in owners):
            advice = f"only {', '.join(owners)} may use {name}"
            yield _breach(module, line, "owner", advice)


def _outside(module: Module) -> Iterator[tuple[str, int]]:
    """Packages imported, types apart, and each look at the environment."""
    for one in _imports(module):
        if not one.for_types:
            package = one.name.split(".")[0]
            yield (one.name if one.name in _ENVIRONMENT else package), one.line
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and _dotted(node) in _ENVIRONMENT:
            yield "os.environ", node.lineno


_ENVIRONMENT = frozenset(("os.environ", "os.environb", "os.getenv", "os.putenv", "os.unsetenv"))


def _hot(module: Module) -> Iterator[Breach]:
    if module.name not in HOT:
        return
    for one in _imports(module):
        ours = one.name == "cmem" or one.name.startswith("cmem.")
        hot = one.name.removeprefix("cmem").removeprefix(".") in HOT if ours else False
        if (
            one.at_start
            and not one.for_types
            and not hot
            and one.name.split(".")[0] not in HOT_IMPORTS
        ):
            advice = f"import {one.name} inside the function that needs it"
            yield _breach(module, one.line, "hot", advice)


def _host_fields(module: Module) -> Iterator[Breach]:
    # An importer tells the past in the words of the host's hooks.
    if _within(module.name, "hosts") or _within(module.name, "importers"):
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and node.value in HOST_FIELDS:
            advice = f"a host's field {node.value!r} is named in hosts/ only"
            yield _breach(module, node.lineno, "host field", advice)


def _statements(module: Module) -> Iterator[Breach]:
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        for pattern, owners in SQL.items():
            if re.search(pattern, node.value) and module.name not in owners:
                advice = f"{owners[0]} has this statement: call it"
                yield _breach(module, node.lineno, "statement", advice)


def _sizes(module: Module, limits: Mapping[tuple[str, str], tuple[int, str]]) -> Iterator[Breach]:
    most = limits.get((module.path, ""), (MODULE_LINES, ""))[0]
    if module.lines > most:
        yield _breach(module, 1, "size", f"{module.lines} lines, {most} are allowed: split it")
    for node in ast.walk(module.tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        most = limits.get((module.path, node.name), (FUNCTION_LINES, ""))[0]
        if lines > most:
            advice = f"{node.name} has {lines} lines, {most} are allowed: split it"
            yield _breach(module, node.lineno, "size", advice)
        given = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
        if len([one for one in given if one not in UNCOUNTED]) > POSITIONAL:
            advice = f"{node.name} takes more than {POSITIONAL} by position: put * before the rest"
            yield _breach(module, node.lineno, "arguments", advice)


def _names(root: Path) -> Iterator[Breach]:
    for folder in ("cmem", "scripts", "tests"):
        for path in sorted((root / folder).rglob("*.py")):
            if path.stem in BANNED_NAMES:
                where = path.relative_to(root).as_posix()
                yield Breach(where, 1, "name", "name it for what is in it")


def _imports(module: Module) -> Iterator[Import]:
    yield from _imports_in(module, module.tree.body, at_start=True, for_types=False)


def _imports_in(
    module: Module, body: Sequence[ast.AST], *, at_start: bool, for_types: bool
) -> Iterator[Import]:
    for node in body:
        names = _imported(module, node)
        yield from (Import(name, _line(node), at_start, for_types) for name in names)
        typed = isinstance(node, ast.If) and _dotted(node.test) in _TYPE_CHECKING
        later = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from _imports_in(
            module,
            list(ast.iter_child_nodes(node)),
            at_start=at_start and not later,
            for_types=for_types or typed,
        )


_TYPE_CHECKING = frozenset(("TYPE_CHECKING", "typing.TYPE_CHECKING"))


def _imported(module: Module, node: ast.AST) -> list[str]:
    """The modules one statement imports: from a package its modules, from a module itself."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        package = ["cmem", *filter(None, module.name.split("."))]
        keep = len(package) - node.level + module.path.endswith("__init__.py")
        base = ".".join([*package[:keep], *filter(None, [base])])
    if base == "os" and any("os." + alias.name in _ENVIRONMENT for alias in node.names):
        return ["os", "os.environ"]
    if base not in module.packages:
        return [base]
    return [f"{base}.{alias.name}" for alias in node.names]


def _layer(name: str) -> int | None:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        wanted = ".".join(parts[:length])
        for number, names in enumerate(LAYERS):
            if wanted in names:
                return number
    return None


def _within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 1)


def _breach(module: Module, line: int, rule: str, advice: str) -> Breach:
    return Breach(module.path, line, rule, advice)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
