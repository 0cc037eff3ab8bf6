"""A person is asked before something is lost, written or paid for."""

from __future__ import annotations

import sys


def person() -> bool:
    """Whether somebody is there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agrees(question: str) -> bool:
    """Whether the answer is a yes; a mere Enter is none."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
