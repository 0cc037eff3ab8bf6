"""What a provider may know of the settings."""

from __future__ import annotations

from typing import Protocol


class ProviderSettings(Protocol):
    """Any object with these attributes; empty texts mean the provider's own default."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def base_url(self) -> str: ...

    @property
    def api_key(self) -> str: ...

    @property
    def headers(self) -> str: ...

    @property
    def proxy(self) -> str: ...

    @property
    def ca_file(self) -> str: ...

    @property
    def claude_path(self) -> str: ...

    @property
    def claude_config_dir(self) -> str: ...

    @property
    def command(self) -> str: ...

    @property
    def timeout_s(self) -> float: ...
