"""What has stopped outside the store, as far as a session that starts can see. HOT.

It costs a look into one folder and, where there is a config.toml, at that file; both are nearly
always all there is to it.
"""

import os

from cmem import paths

DAY_MS = 86_400_000


def outside(home: str, *, oldest: int | None, now: int) -> str:
    """What to tell of the data home and of what was captured; "" while all is well. ``oldest``:
    when the event that waits longest in the spool was captured."""
    if not os.access(home, os.W_OK | os.X_OK):
        from cmem.context import health  # what nearly no session start needs

        return health.unwritable(home)
    if oldest is None and paths.is_full(home):  # the spool did not take this very start
        from cmem.context import health

        return health.FULL
    return _spilled(home, oldest, now) or _config(home)


def _spilled(home: str, oldest: int | None, now: int) -> str:
    """Whether events lie in files because the spool cannot take them, or wait for a day."""
    try:
        names = [name for name in os.listdir(paths.spill_dir(home)) if name.endswith(".event")]
    except OSError:
        names = []
    told = min(names)[:15] if names else ""
    ages = [at for at in (oldest, int(told) if told.isdecimal() else None) if at is not None]
    # A spool that has just told this takes events: they lie there for being too large, or too many
    # at once. To look into it would cost as much as all the rest of a start.
    if names and oldest is None:
        from cmem import spool_check

        seen = spool_check.look(home)
        trouble = seen.trouble if seen is not None else ""
        # Neither a spool that another process holds nor one of a newer cmem is damaged.
        if trouble and "locked" not in trouble and "this cmem knows" not in trouble:
            from cmem.context import health

            return health.SPOOL_DAMAGED
    if not ages or now - min(ages) <= DAY_MS:
        return ""
    from cmem.context import health

    return health.waiting_since(min(ages), now=now)


def _config(home: str) -> str:
    """Whether a config.toml is there that no reader takes: then no model is asked."""
    if not os.path.exists(paths.config_file(home)):
        return ""
    from cmem import config

    if not config.is_broken(home):
        return ""
    from cmem.context import health

    return health.BAD_CONFIG
