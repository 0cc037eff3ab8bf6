"""Who makes memory of a unit. A provider is a value with two functions, listed here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from cmem.errors import ConfigError
from cmem.model import Observed, SummaryUnit, TurnUnit
from cmem.observer.providers import anthropic, claude_cli, command, extract
from cmem.observer.providers.asked import Model
from cmem.observer.providers.settings import ProviderSettings


class Provider(Protocol):
    """Turns a unit into drafts. Raises ProviderError, UnusableReply or MissingCredential."""

    def observe(self, unit: TurnUnit) -> Observed: ...

    def summarise(self, unit: SummaryUnit) -> Observed: ...


MODELS: dict[str, Callable[[ProviderSettings], Model]] = {
    "anthropic": anthropic.provider,
    "claude-cli": claude_cli.provider,
    "command": command.provider,
}
PROVIDERS: dict[str, Callable[[ProviderSettings], Provider]] = {
    "extract": extract.provider,
    **MODELS,
}


def get(settings: ProviderSettings) -> Provider:
    """The provider the settings name. Raises ConfigError naming the known ones."""
    make = PROVIDERS.get(settings.provider)
    if make is None:
        known = ", ".join(PROVIDERS)
        raise ConfigError(f"unknown provider: {settings.provider}; known: {known}")
    return make(settings)
