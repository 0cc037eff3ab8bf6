"""A data home that hooks can use: the launcher of this installation, the spool, and nothing left
waiting from the time before.

Background runs start from the launcher. Where the plugin alone calls ``cmem hook``, nobody has
made one: it is made beside the first event after a spool was begun, by a process of its own. An
event is appended before its hook looks for the launcher, and the launcher is made before what
waits is looked for, so one of the two starts the run.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cmem import detach, launcher, paths, settings, spooled
from cmem.errors import CmemError, ConfigError
from cmem.hosts.wire import HOSTS
from cmem.install import register

if TYPE_CHECKING:
    from collections.abc import Mapping


def prepare(home: str) -> str:
    """The data home is there with a launcher of this installation; the launcher's path."""
    make_home(home)
    with register.locked(home):
        path = launcher.install(home)
        spooled.prepare(home)
        return path


def make_home(home: str) -> None:
    """The data home is there, and is fit to be one."""
    try:
        paths.ensure_home(home)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(
            f"could not use {home}: {reason}; set CMEM_HOME to a place of your own"
        ) from error


def take_in(home: str) -> None:
    """Start a run in the background if events wait, as their hooks would have done."""
    env = settings.environment()
    try:
        chosen = settings.load(
            home, env=env, flags={}, trusted_env=settings.trusts_environment(env)
        )
        if not chosen.auto_compress:
            return
    except ConfigError:
        pass  # the run says so in its log, and stores the events all the same
    try:
        waiting = any(spooled.counts(home)[:2])
    except Exception:  # noqa: BLE001 - the run mends a spool that cannot be read
        waiting = True
    if waiting:
        detach.start_compress(home)


def is_missing(home: str, host: str, event: str, *, env: Mapping[str, str]) -> bool:
    """Whether an event like this shows that memory is wanted here and no launcher is there."""
    wire = HOSTS.get(host)
    if wire is None or (event not in wire.always_drain and wire.kinds.get(event) != "prompt"):
        return False
    if any(env.get(name, "0") not in ("", "0") for name in ("CMEM_DISABLE", "CMEM_OBSERVER")):
        return False
    # A project can set the host's environment, and with it what the launcher would start for ever.
    if not paths.interpreter():
        return False
    there = os.path.exists(paths.spool_db(home))
    return os.path.isabs(home) and there and not os.path.exists(paths.launcher(home))


def prepare_aside(home: str) -> None:
    """``prepare`` in a process that nobody waits for; this one goes on at once."""
    if os.fork():
        return
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):  # an open stdout would make the host wait
            os.dup2(null, fd)
        prepare(home)
        take_in(home)
    except CmemError:
        pass  # another one is at it
    finally:
        os._exit(0)
