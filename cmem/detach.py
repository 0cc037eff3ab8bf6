"""Start ``cmem compress`` in the background and go: nobody waits for it, nothing is inherited
but the lock that says it runs."""

import os

from cmem import lock, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# One is in every name of a secret (privacy.secret_names).
_TELLING = ("PASS", "PW", "PSW", "SECRET", "TOKEN", "KEY", "AUTH", "CRED", "SALT", "PEPPER")
_KEPT = frozenset(("PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME"))


def start_compress(home: str) -> bool:
    """Whether a drain was started: not while one runs."""
    launcher, python = paths.launcher(home), paths.interpreter()
    if not python or not os.path.exists(launcher):
        return False
    fd = lock.acquire(paths.lock_file(home))
    if fd is None:
        return False
    try:
        os.utime(fd)
        os.set_inheritable(fd, True)
        _spawn([python, "-I", "-S", launcher, "--compress", home, str(fd)])
    finally:
        lock.release(fd)
    return True


def clean_env(env: "Mapping[str, str]") -> dict[str, str]:
    """What a drain may know of the host's environment: a project can set the rest."""
    kept = {k: v for k, v in env.items() if k in _KEPT or k.startswith(("LC_", "XDG_"))}
    known = _known(env)
    return kept | ({"CMEM_KNOWN": known} if known else {}) | {"CMEM_STARTED_BY": "hook"}


def _known(env: "Mapping[str, str]") -> str:
    """What may be a secret of the host's environment, in one variable that means nothing to
    anybody else: a drain cuts it from what it stores (``privacy.environment``)."""
    names = "\n".join(env).upper()
    telling = [word for word in _TELLING if word in names]  # few of them or none, mostly
    found = [
        f"{name}={value}"
        for name, value in env.items()
        if 8 <= len(value) <= 512
        and ("://" in value or (telling and any(word in name.upper() for word in telling)))
    ]
    return "\x1f".join(found[:100])


def _spawn(argv: list[str]) -> None:
    env = clean_env(os.environ)
    # An open stdout would make the host wait for the drain's end.
    silence = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    try:
        os.posix_spawn(argv[0], argv, env, file_actions=silence, setsid=True)
    except NotImplementedError:  # old macOS
        _fork(argv, env)


def _fork(argv: list[str], env: dict[str, str]) -> None:
    if os.fork():
        return
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.execve(argv[0], argv, env)  # noqa: S606 - our own interpreter, no shell
    finally:
        os._exit(0)
