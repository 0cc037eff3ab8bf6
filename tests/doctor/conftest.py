"""An installation in which everything works, to break one thing of."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hookrun
import pytest

from cmem.doctor.examine import examine
from cmem.doctor.finding import Finding
from cmem.install import claude_code

Lines = Callable[[str], str]


class Installed:
    """A data home with a launcher, and the settings files of a user and of a project."""

    def __init__(self, root: Path) -> None:
        self.home = hookrun.ready(root / "home")
        self.user = root / "user"
        self.work = root / "work"
        self.work.mkdir()
        self.settings = self.user / ".claude" / "settings.json"
        self.shared = self.work / ".claude" / "settings.json"
        # What a machine sets for its network has findings of its own.
        self.env = {
            name: value
            for name, value in os.environ.items()
            if not name.upper().endswith(("_PROXY", "_CERTS", "CERT_FILE", "CERT_DIR", "_BUNDLE"))
        }
        self.write(self.settings)

    def line(self, event: str) -> str:
        return hookrun.line(self.home, event)

    def write(self, path: Path, line: Lines | None = None, **more: Any) -> None:
        """The file registers every event with ``line``, and says ``more`` besides."""
        hooks = claude_code.hooks(line or self.line)
        path.parent.mkdir(parents=True, exist_ok=True)
        groups = {event: [{"hooks": [hook]}] for event, hook in hooks.items()}
        path.write_text(json.dumps({"hooks": groups} | more), encoding="utf-8")

    def examine(self) -> list[Finding]:
        return examine(
            str(self.home),
            env=self.env,
            user_home=str(self.user),
            cwd=str(self.work),
            now=time.time_ns() // 1_000_000,
        )

    def faults(self) -> list[tuple[str, str]]:
        """(level, name) of all that is not well."""
        return [(one.level, one.name) for one in self.examine() if one.level != "ok"]

    def fault(self, name: str) -> Finding:
        """The one finding of this name that is not well."""
        (found,) = [one for one in self.examine() if one.name == name and one.level != "ok"]
        return found


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path)
