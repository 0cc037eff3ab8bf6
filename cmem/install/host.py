"""What install has to know of a host: its file, and our part in it. One module each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, Protocol

from cmem.errors import CmemError

# Event → the hook to register, as the host's configuration spells one.
Hooks = dict[str, dict[str, object]]


class RefusedError(CmemError):
    """The file is not one we can edit without risk; ``reason`` says what is wrong with it."""


class Registration(NamedTuple):
    """A hook command of ours, taken apart."""

    launcher: str
    event: str
    home: str


class Host(Protocol):
    """A module that knows one host's configuration. All functions are pure, text in and out."""

    HOST: str  # the name in commands and records
    TITLE: str  # the name for people
    EVENTS: tuple[str, ...]  # all that we always have hooks for
    NOTICE: str  # what the user still has to do after a registration, "" for nothing
    OWN_SCOPE: str  # how to keep a project's hooks to oneself, "" where the host has no way

    def settings_path(self, *, env: Mapping[str, str], user_home: str, scope: str, cwd: str) -> str:
        """The file that the host reads for ``scope`` (user | project)."""

    def hooks(self, command: Callable[[str], str]) -> Hooks:
        """The hooks to register; ``command`` gives the shell line for an event."""

    def snippet(self, wanted: Mapping[str, Mapping[str, object]]) -> str:
        """What a person adds by hand to a file that we do not edit."""

    def add(self, text: str, wanted: Mapping[str, dict[str, object]], *, launcher: str) -> str:
        """The file's text with the hooks in it, once each, and no older one of ours."""

    def take_out(self, text: str, *, launcher: str, created: Collection[str] | None) -> str | None:
        """The text without our hooks; None when nothing but ours was in the file."""

    def created_by(self, before: str) -> list[str]:
        """Which containers a registration in ``before`` has to make."""

    def warnings(self, text: str, *, launcher: str) -> list[str]:
        """What in the file keeps our hooks from running, or makes them run twice."""
