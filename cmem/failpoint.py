"""Named places where a test may kill, stop or delay the process; nothing in ordinary runs.

``CMEM_FAILPOINT=name[@n]=kill|exit|raise|sleep:MS`` acts at the n-th hit (default 1) of
``name``, and only where ``CMEM_TEST=1`` is set as well. The one module that knows of tests.
"""

import os
import signal
import time

_hits: dict[str, int] = {}


class FailpointError(RuntimeError):
    """Raised by the action ``raise``."""


def hit(name: str) -> None:
    """Pass the point ``name``; act when the environment asks for it."""
    if os.environ.get("CMEM_TEST") != "1":
        return
    wanted, _, action = os.environ.get("CMEM_FAILPOINT", "").partition("=")
    point, _, nth = wanted.partition("@")
    if point != name:
        return
    _hits[name] = _hits.get(name, 0) + 1
    if _hits[name] == int(nth or 1):
        _act(name, action)


def _act(name: str, action: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "exit":
        os._exit(70)
    elif action == "raise":
        raise FailpointError(name)
    elif action.startswith("sleep:"):
        time.sleep(int(action.partition(":")[2]) / 1000)
