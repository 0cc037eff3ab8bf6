"""The byte code of the hook's modules in one file beside the launcher.

    8 hexadecimal digits   how long the head is
    8 bytes                the head's hash
    head                   (code of ``launcher.MAIN``, of ``boot``, index, first group)
    groups                 each a list of modules in the order of their imports

``boot`` says what this saves and runs it. A module whose source has changed since is imported as
ever, and so is everything when the file is missing, torn or of another Python.
"""

import ast
import importlib.util
import marshal
import os
import sys
from _imp import source_hash
from importlib.machinery import EXTENSION_SUFFIXES

from cmem import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

    from cmem.boot import Entry, Group

# Every event needs these, in the order in which they import each other.
FIRST = (
    *("cmem", "cmem.driver", "cmem.eid", "cmem.repo", "cmem.hosts", "cmem.hosts.wire"),
    *("cmem.privacy", "cmem.privacy.gates", "cmem.intake", "cmem.off", "cmem.paths", "cmem.hook"),
)
# Each is read when one of its modules is asked for; one that is in two, with the first of them.
GROUPS = (
    ("cmem.spool",),
    ("cmem.data_home",),
    ("cmem.malformed",),
    ("cmem.project",),
    ("cmem.config",),
    ("cmem.lock", "cmem.detach"),
    (
        *("cmem.project", "cmem.here", "cmem.context"),
        *("cmem.context.fence", "cmem.context.price", "cmem.context.render"),
        *("cmem.context.select", "cmem.store", "cmem.store.families", "cmem.store.rows"),
        *("cmem.store.recent", "cmem.context.gather", "cmem.context.block"),
        *("cmem.context.watch", "cmem.store.reading", "cmem.context.inject", "cmem.context.tell"),
    ),
    ("cmem.tokens",),
    ("cmem.context.health",),
    ("cmem.errors",),
    ("cmem.context.shown",),
    ("cmem.store.further", "cmem.context.reach"),
    ("cmem.store.folder",),
    ("cmem.context.parents",),
    ("cmem.spooled",),
    (
        *(
            "cmem.context.unasked",
            "cmem.store.functions",
            "cmem.store.matching",
            "cmem.context.terms",
        ),
        *("cmem.context.recall", "cmem.context.failures"),
    ),
    ("cmem.context.links",),
    ("cmem.store.current", "cmem.spooled", "cmem.context.so_far", "cmem.context.rehydrate"),
    ("cmem.globbing", "cmem.setting_text"),
    ("cmem.globbing", "cmem.setting_text", "cmem.config", "cmem.hosts.calls", "cmem.filters"),
    ("cmem.hooklog", "cmem.spill"),
    ("cmem.privacy.seen",),
    (
        *("cmem.lenient", "cmem.privacy.rules", "cmem.privacy.seen", "cmem.privacy.reading"),
        *("cmem.privacy.spans", "cmem.privacy.lists", "cmem.privacy.sources"),
        "cmem.privacy.scrub",
    ),
    ("cmem.lazy", "cmem.privacy.sanitise"),
    ("cmem.shrink",),
)
HOT = tuple(dict.fromkeys(FIRST + tuple(name for group in GROUPS for name in group)))
# Extensions: found here, the hook searches and lists no directory at all.
LIBRARIES = ("apsw", "_json", "_sha2", "_sha256", "fcntl")


def path(home: str) -> str:
    """Where the bundle for this Python lies."""
    return f"{paths.launcher(home)[:-3]}.{sys.implementation.cache_tag}.bin"


def build() -> bytes:
    """The bundle's content."""
    blobs = [marshal.dumps(_group(names)) for names in GROUPS]
    # The head's length moves the groups, and where they lie is in the head.
    length = 0
    while True:
        head = _head(blobs, 16 + length)
        if len(head) == length:
            return b"%08x" % length + source_hash(0, head) + head + b"".join(blobs)
        length = len(head)


def _head(blobs: list[bytes], at: int) -> bytes:
    index: dict[str, Entry] = {}
    for names, blob in zip(GROUPS, blobs, strict=True):
        for name in names:
            index.setdefault(name, (at, len(blob), source_hash(0, blob)))
        at += len(blob)
    index |= _libraries()
    boot = _source("cmem.boot")
    return marshal.dumps((_main(), _code(boot), index, _group(FIRST), _state(boot)))


def is_current(home: str) -> bool:
    """Whether the bundle there holds every hot module as its source is now."""
    try:
        with open(path(home), "rb") as file:
            raw = file.read()
        length = int(raw[:8], 16)
        main, _, index, first, state = _checked(raw[16 : 16 + length], raw[8:16])
        found = {made[0]: made[1:5] for made in first}
        for at, size, mark in {entry for entry in index.values() if isinstance(entry[0], int)}:
            found |= {made[0]: made[1:5] for made in _checked(raw[at : at + size], mark)}
    except (OSError, ValueError, EOFError, TypeError):
        return False
    files = {name: entry for name, entry in index.items() if isinstance(entry[0], str)}
    return (
        main == _main()
        and state == _state(_source("cmem.boot"))
        and found == {name: _made(name) for name in HOT}
        and files == _libraries()
    )


def _checked(data: bytes, mark: bytes) -> "Any":
    """What the bytes hold; ValueError where they are damaged."""
    if source_hash(0, data) != mark:
        raise ValueError
    return marshal.loads(data)  # noqa: S302 - our own file and directory


def _libraries() -> "dict[str, Entry]":
    """Those that are files of this Python; the others are built into it, or into another."""
    files = {name: _source(name) for name in LIBRARIES}
    return {name: (file, *_state(file)) for name, file in files.items() if file}


def _group(names: tuple[str, ...]) -> "Group":
    return [(name, *_made(name), _code(_source(name))) for name in names]


def _made(name: str) -> tuple[str, bool, int, int]:
    """(file, is a package, mtime in ns, size) of a module."""
    file = _source(name)
    return file, os.path.basename(file).startswith("__init__."), *_state(file)


def _code(file: str) -> "CodeType":
    """Without what no hook asks for: docstrings, annotations, imports for types, numbers of lines.
    Two fifths less to read and to make."""
    with open(file, "rb") as handle:
        return _compiled(handle.read(), file)


def _main() -> "CodeType":
    from cmem import launcher

    return _compiled(launcher.MAIN.encode(), "hook.py")


def _compiled(source: bytes, file: str) -> "CodeType":
    tree = Bare().visit(ast.parse(source, file))
    made = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True, optimize=2)
    return _placeless(made)


def _placeless(code: "CodeType") -> "CodeType":
    """The code without its places in the source: for each eight instructions one byte that says
    there are none (CPython's ``Objects/locations.md``, "no location")."""
    units = len(code.co_code) // 2
    rest = bytes([0xF8 | (units % 8 - 1)]) if units % 8 else b""
    consts = [_placeless(one) if isinstance(one, type(code)) else one for one in code.co_consts]
    return code.replace(co_linetable=b"\xff" * (units // 8) + rest, co_consts=tuple(consts))


class Bare(ast.NodeTransformer):
    """The same program without annotations and without what only a type checker runs."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.Pass()
        return ast.Assign([node.target], node.value)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return (node.orelse or ast.Pass()) if for_types else node


def _source(name: str) -> str:
    """The file a module comes from; "" for one that has none or is no plain file."""
    spec = importlib.util.find_spec(name)
    found = (spec.origin or "") if spec is not None else ""
    return found if found.endswith((".py", *EXTENSION_SUFFIXES)) else ""


def _state(file: str) -> tuple[int, int]:
    state = os.stat(file)
    return state.st_mtime_ns, state.st_size
