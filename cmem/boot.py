"""Start the hook's modules from the byte code beside the launcher, past the import machinery. HOT.

Finding, checking and reading two dozen ``.pyc`` files one by one would cost a session start 4 ms
of its 18. The launcher runs this file's code before any import; it knows nothing of the package.

Two things are saved. Modules are made in the order of their imports, a group at a time, so that
an import inside them finds its module there; the price of a module is its own code and one
``stat``, because one whose source has changed since is left to the ordinary import. And ``os``,
with the abstract classes that it alone needs, is 1.3 ms of the hook's 14 of which the hook uses
a tenth: the groups get a stand-in that has the C functions and becomes the real one for the rest.
"""

import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader
from _imp import source_hash
from marshal import loads
from posix import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType

    # name, file, is a package, mtime in ns, size, code
    Made = tuple[str, str, bool, int, int, CodeType]
    Group = list[Made]
    # where a group lies in the bundle, its size and hash, or an extension's file, mtime in ns and
    # size
    Entry = tuple[int, int, bytes] | tuple[str, int, int]
else:
    ModuleType = type(sys)


class Os(ModuleType):
    """``os`` in the groups' eyes. What it does not have it asks the real one for."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        withdraw(self)
        import os

        value: object = getattr(os, name)
        setattr(self, name, value)
        return value


class Finder:
    """What ``sys.meta_path`` asks first. Holds: a group is read once."""

    def __init__(self, path: str, index: "dict[str, Entry]", stand_in: "ModuleType | None") -> None:
        self.path = path
        self.index = index
        self.stand_in = stand_in

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> object:
        """The spec of an extension, or of a module that its group has just made."""
        found = self.index.pop(name, None)
        if found is None:
            return None
        if isinstance(found[0], str):
            return extension(name, found)
        try:
            group = read(self.path, found)
        except (OSError, EOFError, TypeError, ValueError):  # another installation's by now
            return None
        make(group, self)
        module = sys.modules.get(name)
        if module is None:
            return None
        package = hasattr(module, "__path__")
        return ModuleSpec(name, self, origin=module.__file__, is_package=package)  # type: ignore[arg-type]  # as above

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module as it has been made."""
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to be done."""


def start(path: str, index: "dict[str, Entry]", first: "Group") -> None:
    """Make the first group, and have the others made when they are asked for. ``path``: the
    file they are in."""
    finder = Finder(path, index, None if "os" in sys.modules else stand_in())
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]  # as the machinery uses it
    make(first, finder)


def make(group: "Group", finder: Finder) -> None:
    """Put the group's modules, as far as their sources are unchanged, where imports look."""
    modules = sys.modules
    offered = offer(finder.stand_in)
    try:
        for name, file, package, mtime, size, code in group:
            finder.index.pop(name, None)
            if name in modules or not unchanged(file, mtime, size):
                continue
            parent, _, last = name.rpartition(".")
            if parent and parent not in modules:
                __import__(parent)  # its own source has changed
            module = ModuleType(name)
            module.__file__ = file
            module.__package__ = name if package else parent
            if package:
                module.__path__ = [file.rpartition("/")[0]]
            modules[name] = module
            try:
                exec(code, module.__dict__)  # noqa: S102 - what an import does
            except BaseException:
                del modules[name]
                raise
            if parent:
                setattr(modules[parent], last, module)
    finally:
        if offered:
            withdraw(finder.stand_in)


def read(path: str, place: "tuple[int, int, bytes]") -> "Group":
    at, size, mark = place
    with open(path, "rb", 0) as file:
        file.seek(at)
        data = file.read(size)
    if source_hash(0, data) != mark:
        raise ValueError
    group: Group = loads(data)  # noqa: S302 - our own file, in our own directory
    return group


def extension(name: str, found: "tuple[str, int, int]") -> "ModuleSpec | None":
    file, mtime, size = found
    if not unchanged(file, mtime, size):
        return None
    spec = ModuleSpec(name, ExtensionFileLoader(name, file), origin=file)
    spec.has_location = True
    folder, _, last = file.rpartition("/")
    if last.startswith("__init__."):
        spec.submodule_search_locations = [folder]
    return spec


def unchanged(file: str, mtime: int, size: int) -> bool:
    try:
        now = stat(file)
    except OSError:
        return False
    return now.st_mtime_ns == mtime and now.st_size == size


def stand_in() -> ModuleType:
    """The stand-in for ``os``: what ``posix`` has, the paths, and the environment to be read."""
    import posix

    made = Os("os")
    vars(made).update({k: v for k, v in vars(posix).items() if not k.startswith("__")})
    env = {fsdecode(name): fsdecode(value) for name, value in posix.environ.items()}
    vars(made).update({"environ": env, "sep": "/", "devnull": "/dev/null"})
    vars(made).update({"fsdecode": fsdecode, "fsencode": fsencode})
    offer(made)
    try:
        import posixpath
    finally:
        withdraw(made)
    vars(made)["path"] = posixpath
    return made


def fsdecode(data: str | bytes) -> str:
    """As ``os.fsdecode`` of these types."""
    if isinstance(data, str):
        return data
    return data.decode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())


def fsencode(text: str | bytes) -> bytes:
    """As ``os.fsencode`` of these types."""
    if isinstance(text, bytes):
        return text
    return text.encode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())


def offer(module: "ModuleType | None") -> bool:
    """Let ``import os`` find the stand-in, until it is withdrawn; whether it was not there yet
    (a group within a group), nor the real one."""
    if module is None or "os" in sys.modules:
        return False
    sys.modules["os"] = module
    return True


def withdraw(module: "ModuleType | None") -> None:
    """Whoever imports ``os`` from now on gets the real one."""
    if module is not None and sys.modules.get("os") is module:
        del sys.modules["os"]
