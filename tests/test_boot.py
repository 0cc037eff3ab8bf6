"""What the launcher does before any import: modules made from the bundle, a light ``os``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import hookrun
import pytest
import samples
from support import REGISTERED, ROOT, clean_env, payload_bytes

from cmem import bundle, launcher

# ``python -I -S HOME/hook.py HOST EVENT HOME``, and on its end what was loaded and from where.
# Nothing here may import ``os``: the hook would get the real one.
WRAPPED = """
import posix, sys
before = set(sys.modules)
def end(_code):
    names = sorted(set(sys.modules) - before)
    ours = {name: getattr(sys.modules[name], "__spec__", None) for name in names if name[:4] == "cmem"}
    source = sorted(name for name, spec in ours.items() if type(getattr(spec, "loader", None)).__name__
                    == "SourceFileLoader")
    posix.write(2, repr((names, source)).encode())
    posix.kill(posix.getpid(), 9)
posix._exit = end
del sys.argv[0]
__file__ = sys.argv[0]
exec(compile(open(__file__, encoding="utf-8").read(), __file__, "exec"))
"""
TOOL = {
    "session_id": "s1",
    "cwd": "/nowhere",
    "hook_event_name": "PostToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_response": {"stdout": "a\nb"},
    "tool_use_id": "toolu_1",
}
# Start-up is the product: a new name here has to be worth what it costs every tool call.
CAPTURE = {
    *("_stat", "apsw", "cmem", "cmem.driver", "cmem.eid", "cmem.hook", "cmem.hosts"),
    *("cmem.hosts.wire", "cmem.intake", "cmem.off", "cmem.paths", "cmem.privacy"),
    *("cmem.privacy.gates", "cmem.repo", "cmem.spool", "gc", "genericpath"),
    *("posixpath", "stat"),
}
HASH = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
START = CAPTURE | {
    *("cmem.context", "cmem.context.block", "cmem.context.fence"),
    *("cmem.context.tell", "cmem.context.watch"),
    *("cmem.context.inject", "cmem.context.price", "cmem.context.render", "cmem.context.select"),
    *("cmem.context.gather", "cmem.here", "cmem.project"),
    *("cmem.store", "cmem.store.reading"),
    *("cmem.store.families", "cmem.store.recent", "cmem.store.rows", HASH),
}


def loaded(home: Path, event: str, payload: bytes) -> tuple[set[str], list[str]]:
    """(what a hook has loaded at its end, which of our modules came from their source)."""
    argv = hookrun.argv(home, event)
    argv[3:3] = ["-c", WRAPPED]
    env = clean_env(CMEM_AUTO_COMPRESS="0")
    done = subprocess.run(argv, input=payload, capture_output=True, check=False, env=env)
    names, source = eval(done.stderr)
    return set(names), source


def test_a_tool_event_loads_these_modules_and_no_others(home: Path) -> None:
    hookrun.ready(home)
    assert loaded(home, "PostToolUse", payload_bytes(TOOL)) == (CAPTURE, [])
    assert len(hookrun.entries(home)) == 1


def test_a_session_start_loads_these_modules_and_no_others(home: Path) -> None:
    hookrun.ready(home)
    samples.calc(home).close()
    payload = payload_bytes({"session_id": "s2", "cwd": "/src/calc", "source": "startup"})
    assert loaded(home, "SessionStart", payload) == (START, [])


@pytest.mark.parametrize("source", ["compact", "resume", "fork"])
def test_a_session_that_goes_on_loads_one_group_more(home: Path, source: str) -> None:
    hookrun.ready(home)
    samples.calc(home).close()
    session = "5f7d2c1a-0000-4000-8000-000000000001"
    given = {"session_id": session, "cwd": "/src/calc", "source": source}
    payload = payload_bytes({**given, "seconds_since_last_response": 1})
    more = {"cmem.store.current", "cmem.context.rehydrate", "cmem.context.so_far", "cmem.spooled"}
    if source != "compact":
        more |= {"cmem.context.parents", "cmem.context.reach", "cmem.context.shown"}
        more |= {"cmem.store.further"}
    assert loaded(home, "SessionStart", payload) == (START | more, [])


def test_a_start_in_a_folder_that_is_no_project_loads_what_reads_folders(home: Path) -> None:
    hookrun.ready(home)
    conn = samples.open_store(home)
    samples.project(conn, "unsorted", "", "unsorted")
    conn.close()
    payload = payload_bytes({"session_id": "s2", "cwd": "/tmp/here", "source": "startup"})
    more = {"cmem.context.health", "cmem.context.reach", "cmem.store.folder", "cmem.store.further"}
    assert loaded(home, "SessionStart", payload) == (START | more, [])


@pytest.mark.parametrize("event", REGISTERED)
def test_no_event_needs_the_whole_of_os_nor_a_source(home: Path, event: str) -> None:
    hookrun.ready(home)
    fields = {"prompt": "fix it", "source": "startup", "last_assistant_message": "done"}
    payload = payload_bytes({**TOOL, **fields, "cwd": str(ROOT), "hook_event_name": event})
    names, source = loaded(home, event, payload)
    assert ({"os", "_collections_abc", "re", "json"} & names, source) == (set(), [])
    assert "cmem.hook" in names


def test_a_module_whose_package_has_changed_still_comes_from_the_bundle(
    home: Path, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "cmem", tmp_path / "lib" / "cmem")
    code = "import sys; sys.path.insert(0, sys.argv[1])\n"
    code += "from cmem import launcher; launcher.install(sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "lib"), str(home)], check=True)
    for name in ("cmem/__init__.py", "cmem/privacy/__init__.py", "cmem/off.py"):
        with (tmp_path / "lib" / name).open("a") as file:
            file.write("\nNEW = 1\n")
    payload = payload_bytes(TOOL)
    assert loaded(home, "PostToolUse", payload)[1] == ["cmem", "cmem.off", "cmem.privacy"]
    assert len(hookrun.entries(home)) == 1


@pytest.mark.parametrize("place", [20, -20], ids=["the head", "a group"])
def test_a_changed_byte_costs_time_and_no_event(home: Path, place: int) -> None:
    hookrun.ready(home)
    path = Path(bundle.path(str(home)))
    raw = bytearray(path.read_bytes())
    raw[place] ^= 1
    path.write_bytes(raw)
    assert not bundle.is_current(str(home))
    loaded(home, "PostToolUse", payload_bytes(TOOL))
    assert len(hookrun.entries(home)) == 1


def test_another_installations_groups_are_not_read(home: Path) -> None:
    hookrun.ready(home)
    path = Path(bundle.path(str(home)))
    raw = path.read_bytes()
    path.write_bytes(raw[: 16 + int(raw[:8], 16)] + b"\xff" * 100)
    assert loaded(home, "PostToolUse", payload_bytes(TOOL))[1] == ["cmem.spool"]
    assert len(hookrun.entries(home)) == 1


# --- the light os --------------------------------------------------------------------

LIGHT = """
import sys
path, boot = sys.argv[1:3]
names = {"__name__": "cmem.boot"}
exec(compile(open(boot).read(), boot, "exec"), names)
assert "os" not in sys.modules
light = names["stand_in"]()
assert "os" not in sys.modules
import posixpath
early = (light.environ, light.path is posixpath, light.sep, light.devnull, light.O_RDWR,
         light.fsdecode(b"a\\xff"), light.fsdecode("a"), light.fsencode("a\\udcff"), light.fsencode(b"a"))
assert "os" not in sys.modules
made = light.makedirs
import os
same = (made is os.makedirs, light.makedirs is os.makedirs, os is not light,
        posixpath.realpath("/") == os.path.realpath("/"), os.path is posixpath)
late = (dict(os.environ), True, os.sep, os.devnull, os.O_RDWR,
        os.fsdecode(b"a\\xff"), os.fsdecode("a"), os.fsencode("a\\udcff"), os.fsencode(b"a"))
try:
    light.nothing
except AttributeError as error:
    print(early == late, same, error)
"""


def test_the_light_os_is_the_real_one_where_it_is_asked_for_more() -> None:
    argv = [launcher.interpreter(), "-I", "-S", "-c", LIGHT, "", str(ROOT / "cmem" / "boot.py")]
    env = os.environb | {b"ODD": b"\xff\xfe"}
    done = subprocess.run(argv, capture_output=True, check=False, env=env)
    assert (done.stdout.decode(), done.stderr.decode()) == (
        "True (True, True, True, True, True) module 'os' has no attribute 'nothing'\n",
        "",
    )


# --- byte code -----------------------------------------------------------------------

SOURCE = '''"""Doc."""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from nowhere import Nothing
LIMIT: int = 3
class A:
    """Doc."""
    __slots__ = ("x",)
    x: int
    def twice(self, y: "Nothing", *rest: str, **more: int) -> "Nothing":
        """Doc."""
        value: int = y
        return value * 2
'''


def test_what_no_hook_asks_for_is_left_out_of_the_byte_code(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text(SOURCE)
    names: dict[str, Any] = {}
    exec(bundle._code(str(file)), names)
    a = names["A"]
    assert (names["LIMIT"], a().twice(4), a.__doc__, a.twice.__annotations__) == (3, 8, None, {})
    assert "__annotations__" not in names
    assert b"Nothing" not in repr(bundle._code(str(file)).co_consts).encode()


DRIVEN = """
import sys
sys.path.extend(sys.argv[1:])
from cmem import driver
driver.load()
first = "collections" in sys.modules, "collections.abc" in sys.modules
import apsw, collections.abc
conn = apsw.Connection(":memory:")
rows = [
    conn.execute("SELECT :a", {"a": 1}).get, conn.execute("SELECT ?", (2,)).get]
print(first, rows, issubclass(dict, collections.abc.Mapping), collections.Counter("aab")["a"])
"""


def test_the_driver_works_without_collections_and_leaves_the_real_one_to_others() -> None:
    paths = [str(ROOT), *launcher._site_dirs()]
    argv = [launcher.interpreter(), "-I", "-S", "-c", DRIVEN, *paths]
    done = subprocess.run(argv, capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"(False, False) [1, 2] True 2\n", b"")
