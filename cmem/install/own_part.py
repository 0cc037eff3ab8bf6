"""Our part in a host's file of hooks, for the module of that host. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cmem.install.hooks_json import Ours

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class Form(Protocol):
    """How hooks stand in the file: the module ``hooks_json`` or ``hook_list``."""

    def add(self, text: str, wanted: Mapping[str, dict[str, object]], ours: Ours) -> str: ...

    def take_out(self, text: str, ours: Ours, *, created: Collection[str] | None) -> str: ...

    def created_by(self, before: str, ours: Ours) -> list[str]: ...

    def other_homes(self, text: str, ours: Ours) -> list[str]: ...


class OwnPart:
    """What ``host.Host`` asks of a module that is told by its file's form alone. ``events``: all
    that a hook of ours can stand under."""

    def __init__(
        self, form: Form, host: str, events: tuple[str, ...], *, matchers: Mapping[str, str] = {}
    ) -> None:
        self._form, self._host, self._events, self._matchers = form, host, events, matchers

    def add(self, text: str, wanted: Mapping[str, dict[str, object]], *, launcher: str) -> str:
        """The file with each wanted hook registered exactly once, and no older one of ours."""
        return self._form.add(text, wanted, self._ours(launcher))

    def take_out(self, text: str, *, launcher: str, created: Collection[str] | None) -> str:
        """The file without our hooks, nor the emptied containers among ``created`` (names as
        ``created_by`` gives them; None: there is no record, so every container we emptied)."""
        return self._form.take_out(text, self._ours(launcher), created=created)

    def created_by(self, before: str) -> list[str]:
        """Which containers a registration in ``before`` has to make: "hooks", "hooks.EVENT"."""
        return self._form.created_by(before, self._ours(""))

    def warnings(self, text: str, *, launcher: str) -> list[str]:
        """What in the file makes our hooks run twice."""
        return self._form.other_homes(text, self._ours(launcher))

    def _ours(self, launcher: str) -> Ours:
        return Ours(self._host, self._events, launcher, self._matchers)
