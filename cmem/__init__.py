"""Memory for coding agents that survives sessions, without a daemon."""

__version__ = "0.1.0"
