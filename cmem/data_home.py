"""Which directory is the data home of an environment.

The registered hook command carries it, so no hook has to ask.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def find(env: "Mapping[str, str]") -> str:
    """The absolute data directory for this environment. Never raises, creates nothing."""
    named = env.get("CMEM_HOME", "")
    if named:
        return _absolute(_expand(named, env))
    found = _on_linux(env) if env is os.environ else ""
    try:
        if not found:
            import platformdirs

            found = platformdirs.user_data_dir("cmem", appauthor=False)
    except Exception:  # noqa: BLE001 - it raises whatever pwd and the platform raise
        found = ""
    if os.path.isabs(found):
        return found
    home = _user_home(env)
    if home:
        return os.path.join(home, ".local", "share", "cmem")
    # A process without HOME and without a passwd entry still gets a place of its own; a
    # literal "~" in the working directory would be everybody's.
    return os.path.join("/tmp", f"cmem-{os.getuid()}")  # noqa: S108 - ensure_home checks it


def _on_linux(env: "Mapping[str, str]") -> str:
    """What ``platformdirs`` says there of this process, "" where that needs more: its import
    costs more than a search."""
    if sys.platform != "linux" or "ANDROID_DATA" in env:
        return ""
    for name, below in (("XDG_DATA_HOME", "cmem"), ("HOME", ".local/share/cmem")):
        if os.path.isabs(env.get(name, "")):
            return os.path.join(env[name], below)
    return ""


def _user_home(env: "Mapping[str, str]") -> str:
    home = env.get("HOME", "")
    if not os.path.isabs(home):
        home = os.path.expanduser("~")
    return home if os.path.isabs(home) else ""


def _expand(path: str, env: "Mapping[str, str]") -> str:
    if path == "~" or path.startswith("~/"):
        home = _user_home(env)
        return home + path[1:] if home else path
    return os.path.expanduser(path)


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError:  # the working directory is gone
        return os.path.normpath(os.path.join(os.sep, path))
