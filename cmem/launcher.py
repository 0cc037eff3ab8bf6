"""The file a host's hook command starts: ``HOME/hook.py``, one copy for each data home.

It knows where this package and its libraries lie, so the command needs no PATH, no site and
no working directory; and it keeps an event as a spill file when the package is gone. The
gates and the off switches travel inside it as packed source, in comments, so that what it keeps
is free of secrets and wanted even then.
"""

import os
import sys

from cmem import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Every event pays for each word that is read here as a program; a text costs nothing.
_TEMPLATE = '''"""Starts cmem's hook. Written by `cmem install`, which overwrites changes."""

import gc
import sys

gc.disable()  # nothing here lives long enough to be garbage
VERSION = {version!r}
# Not sys.executable: the host's environment can put another program there.
PYTHON = {python!r}
PATHS = {paths!r}
PART = r"""
def part(name):
    from base64 import b85decode
    from zlib import decompress

    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    packed = text.partition("\\n#= " + name + " ")[2].partition("\\n")[0]
    return decompress(b85decode(packed)).decode()
"""


def part(name):
    exec(PART, globals())
    return part(name)


try:
    try:
        from _imp import source_hash
        from marshal import loads

        path = __file__[:-2] + sys.implementation.cache_tag + ".bin"
        with open(path, "rb", 0) as file:
            size, mark = int(file.read(8), 16), file.read(8)
            head = file.read(size)
        # Damaged byte code can end the interpreter, or do something else than it says.
        if source_hash(0, head) != mark:
            raise ValueError
        main, boot, index, first, _ = loads(head)
        del head  # its memory serves what follows
    except Exception:
        main = part("MAIN")  # slower, not less
    exec(main)
finally:
    import os

    os._exit(0)

{parts}
'''

# What follows is byte code beside the launcher (``bundle``) too: to parse it for every hook would
# be a thirtieth of one. As text it is packed, because Python reads all of the file every time.
MAIN = """
argv = sys.argv[1:]
if sys.getfilesystemencoding() != "utf-8":
    exec(part("AGAIN"))
sys.path.extend(PATHS)
if argv[:1] == ["--compress"]:
    exec(part("COMPRESS"), {"argv": argv})
try:
    names = {"__name__": "cmem.boot"}
    exec(boot, names)
    names["start"](path, index, first)
except Exception:
    pass  # there is no byte code, or none that can be used
try:
    from cmem.hook import main as hook
except BaseException:
    exec(part("KEEP"))
else:
    hook(argv)
"""

# The paths that hosts tell are UTF-8, whatever the locale says.
_AGAIN = """
from posix import execv

try:
    execv(PYTHON, [PYTHON, "-X", "utf8", "-I", "-S", __file__, *argv])
except OSError:
    pass  # memory without such paths is more than none
"""

# Without the package; where even that fails the event is counted.
_KEEP = """
try:
    names = {name: part(name) for name in ("SEEN", "GATES", "OFF", "SETTING", "GLOBBING")}
    exec(part("FALLBACK"), names | {"argv": argv})
except BaseException:
    from posix import O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY, geteuid, lstat, open, write

    home = argv[2]
    if lstat(home).st_uid == geteuid():
        write(open(home + "/dropped", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600), b".")
"""

_COMPRESS = """
import gc, os

home = argv[1]
gc.enable()
if len(argv) > 2:
    # What the host left open is not ours to hold; the lock is.
    lock_fd = int(argv[2])
    os.closerange(3, lock_fd)
    os.closerange(lock_fd + 1, 256)
else:  # started by the clock
    from cmem import lock, paths

    os.environ.setdefault("CMEM_STARTED_BY", "schedule")
    lock_fd = lock.acquire(paths.lock_file(home))
os.chdir("/")
os.nice(10)
from cmem.compress import main_background

main_background(home, lock_fd)
os._exit(0)
"""

_FALLBACK = """
import os, sys, time

class Late(Exception):
    pass

def ring(*_):
    raise Late

def read():
    signal = sys.modules["_signal"]
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.8)
    data = b""
    try:
        while len(data) <= 8388608:
            chunk = os.read(0, 262144)
            if not chunk:
                break
            data += chunk
    except (Late, OSError):
        pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    return data

def ours(home):
    # A link of ours to a folder of ours will do, as it does for the package.
    place = os.stat(home)
    owners = {os.lstat(home).st_uid, place.st_uid}
    return owners == {os.geteuid()} and place.st_mode & 0o170022 == 0o040000

def session(data, form):
    # As told by the first 64 kB, and only if it is a harmless name and no secret.
    told = data[:65536].partition(b'"session_id"')[2][:200].partition(b'"')[2]
    name = told.partition(b'"')[0].decode("ascii", "replace")
    plain = len(name) <= 128 and name.replace("-", "").replace("_", "").isalnum()
    return name if plain and not form(name.encode()) else ""

def folders(data):
    # Beside the process's own: those that the payload names, where it can be read.
    import json
    try:
        told = json.loads(data[:8388608])
        found = [told.get("cwd"), *(told.get("workspace_roots") or ())]
    except Exception:
        return []
    return [one for one in found if isinstance(one, str)]

def module(name, source):
    # In the place of the one that is gone, so that others find it.
    made = sys.modules[name] = type(sys)(name)
    exec(source, made.__dict__)
    return made.__dict__

def switched_off():
    return any(os.environ.get(n, "0") not in ("", "0") for n in ("CMEM_DISABLE", "CMEM_OBSERVER"))

def keep(host, event, home):
    data = read().strip()
    if not data:
        return
    off = module("cmem.off", OFF)
    module("cmem.setting_text", SETTING)
    module("cmem.globbing", GLOBBING)
    globs = os.environ.get("CMEM_EXCLUDE", "")
    why = off["reason"](home, cwd="", exclude=globs, beside=folders(data))
    if why:
        if off["is_doubt"](why):
            raise ValueError
        return
    if any(name.encode() in data for name in off["sessions"](home)):
        return
    if not ours(home):
        raise OSError
    now = time.time_ns() // 1000000
    module("cmem.privacy.seen", SEEN)
    gates = module("cmem.privacy.gates", GATES)
    if len(data) > 8388608 or gates["hit"](data):
        data = ('{"cmem_stub":"unscrubbed","bytes":%d,"hook_event_name":"%s","at":%d,"session_id":"%s"}'
                % (len(data), event, now, session(data, gates["form"]))).encode()
    os.umask(0o077)
    folder = home + "/spill"
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if os.path.islink(folder):
            raise
    name = "%s/%015d-%09d-%d" % (folder, now, time.time_ns() % 10**9, os.getpid())
    fd = os.open(name + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    rest = memoryview(("cmem-spill 1 %s %s %d\\n" % (host, event, now)).encode() + data)
    while rest:
        rest = rest[os.write(fd, rest):]
    os.close(fd)
    # Whether it is wanted is asked again, by who can read a repository.
    os.rename(name + ".tmp", name + "-alone.event")

if not switched_off() and len(argv) == 3 and argv[0].replace("-", "").isalnum() and argv[1].isalnum():
    keep(*argv)
"""


def render(*, package_dir: str, site_dirs: "Sequence[str]", version: str) -> str:
    """The text of ``HOME/hook.py``. ``package_dir`` is the folder that holds ``cmem``."""
    seen = _source(package_dir, "privacy/seen.py")
    gates = _source(package_dir, "privacy/gates.py")
    off = _source(package_dir, "off.py")
    setting = _source(package_dir, "setting_text.py")
    globbing = _source(package_dir, "globbing.py")
    # Appended to the path, in this order: nothing there can stand in for the standard library.
    order = tuple(dict.fromkeys([package_dir, *site_dirs]))
    parts = {
        "MAIN": MAIN,
        "AGAIN": _AGAIN,
        "COMPRESS": _COMPRESS,
        "KEEP": _KEEP,
        "FALLBACK": _FALLBACK,
    }
    parts |= {"SEEN": seen, "GATES": gates}
    parts |= {"OFF": off, "SETTING": setting, "GLOBBING": globbing}
    comments = "\n".join(_part(name, source) for name, source in parts.items())
    python = interpreter()
    return _TEMPLATE.format(version=version, python=python, paths=order, parts=comments)


def _part(name: str, source: str) -> str:
    """A source as a comment of the launcher, which its ``part`` gives back."""
    from base64 import b85encode
    from zlib import compress

    return f"#= {name} {b85encode(compress(_bare(source).encode(), 9)).decode()}"


def _bare(source: str) -> str:
    """The same program without comments, docstrings and annotations: a third less to read."""
    import ast

    from cmem import bundle

    tree = bundle.Bare().visit(ast.parse(source))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(
            node
        ):
            node.body[0] = ast.Pass()
    return ast.unparse(ast.fix_missing_locations(tree))


def _source(package_dir: str, name: str) -> str:
    with open(os.path.join(package_dir, "cmem", name), encoding="utf-8") as file:
        return file.read()


def command(python: str, home: str, *, host: str, event: str) -> str:
    """The one line a host is given. It cannot end with anything but 0, whatever is missing."""
    script = paths.launcher(home)
    return (
        f"{_quoted(python)} -I -S {_quoted(script)} {host} {event} {_quoted(home)}"
        " 2>/dev/null || exit 0"
    )


def interpreter() -> str:
    """The real interpreter: a shim costs ten times as much, a venv's link can disappear. Not what
    a variable of the environment names."""
    return os.path.realpath(paths.interpreter() or sys.executable)


def install(home: str) -> str:
    """Write ``HOME/hook.py`` and its byte code for this installation; the launcher's path."""
    from cmem import bundle

    paths.ensure_home(home)
    _write(bundle.path(home), bundle.build())
    path = paths.launcher(home)
    _write(path, _current().encode())
    _compile()
    return path


def is_current(home: str) -> bool:
    """Whether launcher and byte code there are those this installation would write."""
    from cmem import bundle

    try:
        with open(paths.launcher(home), "rb") as file:
            return file.read() == _current().encode() and bundle.is_current(home)
    except OSError:
        return False


def _write(path: str, data: bytes) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def _current() -> str:
    from cmem import __version__

    return render(package_dir=_package_dir(), site_dirs=_site_dirs(), version=__version__)


def _package_dir() -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _site_dirs() -> list[str]:
    """Where the libraries are that a hook or a drain imports."""
    from importlib.util import find_spec

    found = []
    for name in ("apsw", "platformdirs", "anthropic"):
        spec = find_spec(name)
        if spec is not None and spec.origin:
            found.append(os.path.dirname(os.path.dirname(os.path.abspath(spec.origin))))
    ends = ("site-packages", "dist-packages")
    return found + [entry for entry in sys.path if os.path.basename(entry) in ends]


def _compile() -> None:
    """Byte code for the whole package, or every hook would compile it (where it may not write,
    it does)."""
    import compileall

    compileall.compile_dir(os.path.join(_package_dir(), "cmem"), quiet=2)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
