"""The byte code of the hook's modules in one file beside the launcher.

Finding, checking and reading two dozen ``.pyc`` files costs a session start 3 ms of its 20.
The launcher asks this file first; a module whose source has changed since is imported as
ever, and so is everything when the file is missing, torn or of another Python.
"""

import importlib.util
import marshal
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES

from cmem import paths

# What the hook imports on its ordinary ways, a session start included.
HOT = (
    *("cmem", "cmem.config", "cmem.context", "cmem.context.block", "cmem.context.fence"),
    *("cmem.context.health", "cmem.context.inject", "cmem.context.links"),
    *("cmem.context.price", "cmem.context.render"),
    *(
        "cmem.context.select",
        "cmem.detach",
        "cmem.driver",
        "cmem.eid",
        "cmem.errors",
        "cmem.here",
        "cmem.hook",
        "cmem.hosts",
    ),
    *("cmem.hosts.wire", "cmem.intake", "cmem.lock", "cmem.off", "cmem.paths", "cmem.privacy"),
    *("cmem.privacy.gates", "cmem.privacy.sanitise", "cmem.project", "cmem.repo", "cmem.spool"),
    *("cmem.store", "cmem.store.connection", "cmem.store.projects", "cmem.store.recent"),
    *("cmem.store.rows", "cmem.tokens", "cmem.lenient", "cmem.privacy.rules"),
    *("cmem.privacy.scrub", "cmem.privacy.sources"),
)

# What else a session start imports: found here, the hook searches and lists no directory at all.
LIBRARIES = ("apsw", "_blake2", "_json", "_sha2", "_sha256", "__future__")

# Runs in the launcher with ``table`` set: name → (file, is a package, mtime, size, code).
_FINDER = """
import os, sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader
from marshal import loads

class Bundle:
    @staticmethod
    def find_spec(name, path=None, target=None):
        found = table.get(name)
        if found is None:
            return None
        file, package, mtime, size, code = found
        now = os.stat(file)
        if now.st_mtime_ns != mtime or now.st_size != size:
            return None
        loader = Bundle if code else ExtensionFileLoader(name, file)
        spec = ModuleSpec(name, loader, origin=file, is_package=package)
        if not code:
            spec.has_location = True
        if package:
            spec.submodule_search_locations.append(os.path.dirname(file))
        return spec

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        found = table[module.__name__]
        module.__file__ = found[0]
        exec(loads(found[4]), module.__dict__)

sys.meta_path.insert(0, Bundle)
"""

# name → (file, is a package, mtime in ns, size, byte code; b"" for an extension)
Table = dict[str, tuple[str, bool, int, int, bytes]]


def path(home: str) -> str:
    """Where the bundle for this Python lies."""
    return f"{paths.launcher(home)[:-3]}.{sys.implementation.cache_tag}.bin"


def build() -> bytes:
    """The bundle's content: the finder's code under "", then the modules."""
    table: dict[str, object] = {"": compile(_FINDER, "<cmem bundle>", "exec", dont_inherit=True)}
    for name in HOT + LIBRARIES:
        found = _module(name)
        if found is not None:
            table[name] = found
    return marshal.dumps(table)


def is_current(home: str) -> bool:
    """Whether the bundle there holds every hot module as its source is now."""
    try:
        with open(path(home), "rb") as file:
            table = marshal.loads(file.read())  # noqa: S302 - our own file, in our own directory
        return all(_unchanged(table[name]) for name in HOT + LIBRARIES if _source(name))
    except (OSError, ValueError, EOFError, TypeError, KeyError):
        return False


def _unchanged(found: tuple[str, bool, int, int, bytes]) -> bool:
    now = os.stat(found[0])
    return (now.st_mtime_ns, now.st_size) == found[2:4]


def _source(name: str) -> str:
    """The file a module comes from; "" for one that has none or is no plain file."""
    spec = importlib.util.find_spec(name)
    found = (spec.origin or "") if spec is not None else ""
    return found if found.endswith((".py", *EXTENSION_SUFFIXES)) else ""


def _module(name: str) -> tuple[str, bool, int, int, bytes] | None:
    file = _source(name)
    if not file:
        return None
    state = os.stat(file)
    code = b""
    if file.endswith(".py"):
        with open(file, "rb") as handle:
            compiled = compile(handle.read(), file, "exec", dont_inherit=True)
        code = marshal.dumps(compiled)
    package = os.path.basename(file).startswith("__init__.")
    return file, package, state.st_mtime_ns, state.st_size, code
