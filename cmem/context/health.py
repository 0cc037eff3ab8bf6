"""When to say that memory has stopped although there is something to remember. HOT; pure."""

from cmem.context.watch import DAY_MS

# What SQLite says when the file is at fault and not the program, by the driver's own names.
DAMAGED = ("CorruptError", "NotADBError")
MEMORY_DAMAGED = "memory.db is damaged; run `cmem doctor --repair`"
SPOOL_DAMAGED = (
    "captured events wait in spill files because spool.db is damaged; run `cmem compress`"
)

FULL = "nothing is kept, because the disk is full: free some space"
BEGIN = ": go on working, or begin with `cmem note` or `cmem import`"
BAD_CONFIG = "config.toml cannot be read; `cmem status` says what is wrong with it"


def is_damage(error: BaseException) -> bool:
    """Whether an error in reading a database, or one made of it, says that the file is damaged.
    Text in it that is no UTF-8 was never written by us."""
    if isinstance(error, UnicodeDecodeError):
        return True
    made_of = [error] if error.__cause__ is None else [error, error.__cause__]
    return any(kind.__name__ in DAMAGED for one in made_of for kind in type(one).__mro__)


def stalled(*, oldest_pending: int | None, last_success: int | None, now: int) -> str:
    """What to tell the user when turns have waited for a day and no observer finished one in
    that time; "" while all is well."""
    if oldest_pending is None or now - oldest_pending <= DAY_MS:
        return ""
    if last_success is not None and now - last_success <= DAY_MS:
        return ""
    days = (now - oldest_pending) // DAY_MS
    return f"nothing was observed for {_days(days)} although turns are waiting: run `cmem compress`"


def untold(place: str, known: int, outside: int, *, counted: int | None = None) -> str:
    """Why a session is told nothing of a project that has so many memories, and so many of them
    from outside sources; none was counted beyond ``counted``. Where there are none, how to begin."""
    if not known:
        return f"nothing remembered for {place} yet{BEGIN}"
    least = counted is not None and known > counted
    number = f"at least {counted:,}" if least else f"{known:,}"
    if outside >= known:
        noun = "memory" if known == 1 else "memories"
        return f"{number} {noun} of {place}, all from outside sources: see `cmem search`"
    which = number if least else f"the {number}"
    return f"context_budget has room for none of {which} memories of {place}"


def uncollected(*, waiting: int, oldest_waiting: int | None, now: int) -> str:
    """What to tell the user when captured events have lain for a day outside the store."""
    if not waiting or oldest_waiting is None or now - oldest_waiting <= DAY_MS:
        return ""
    noun = "event has" if waiting == 1 else "events have"
    days = _days((now - oldest_waiting) // DAY_MS)
    return f"{waiting} captured {noun} not been stored for {days}: run `cmem compress`"


def waiting_since(oldest: int, *, now: int) -> str:
    """As ``uncollected``, of what is known to have lain for longer than a day."""
    days = _days((now - oldest) // DAY_MS)
    return f"captured events have not been stored for {days}: run `cmem compress`"


def unwritable(home: str) -> str:
    """What to tell the user of a data home that takes nothing."""
    return f"nothing is kept, because {home} cannot be written to: run `cmem doctor`"


def _days(count: int) -> str:
    return "1 day" if count == 1 else f"{count} days"
