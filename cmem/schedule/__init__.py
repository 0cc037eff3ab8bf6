"""Running ``compress`` by the clock: by systemd's user timers, cron or launchd.

Hooks start it by themselves, so a schedule is for who wants it to run also while no agent does:
to close idle sessions, or to go on when a provider is back. Each module here turns one
``Job`` into the text of its scheduler, exactly, and back out again.
"""

from __future__ import annotations
