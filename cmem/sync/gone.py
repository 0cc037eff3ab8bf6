"""What is forgotten, on every machine: hidden, erased, or brought back.

A row is known by a hash of its identity, as tombstones are, so that a file tells nothing of it.
Who hides and a day later erases has decided once, so both have one revision: whoever brought the
row back meanwhile is right. A row that is brought back is told anew by who does so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cmem.store import forget, mirrored_gone, registers, tombstones
from cmem.store.registers import TOLD, UNTOLD, Register
from cmem.sync.content import GONE

if TYPE_CHECKING:
    import apsw

    from cmem.sync.clock import Clock

HIDDEN, ERASED, ALIVE = "hidden", "erased", "alive"
_RANK = {HIDDEN: 0, ERASED: 1, ALIVE: 2}
Purge = Callable[[forget.Plan, int], None]


class Verdict(NamedTuple):
    """What a register of this kind says: since when is the row what."""

    state: str
    at: int

    @property
    def told(self) -> str:
        return f"{self.state}:{self.at}"


def verdict(value: str) -> Verdict | None:
    """The value as it is read; None for one that can be none."""
    state, _, at = value.partition(":")
    good = state in _RANK and at.isascii() and at.isdigit() and len(at) < 16
    return Verdict(state, int(at)) if good else None


def key(letter: str, uid: str) -> str:
    """What the register of a row goes by."""
    return letter + tombstones.portable(letter, uid).hex()


def is_key(text: str) -> bool:
    return len(text) == 65 and text[0] in "NPTOSW" and set(text[1:]) <= set("0123456789abcdef")


class Local(NamedTuple):
    """``changed``: registers of what was forgotten here. ``back``: keys of what is known as gone;
    a row that is to be seen nevertheless was brought back here. ``late``: tombstones that say
    something else here than what was decided."""

    changed: list[Register]
    back: frozenset[str]
    late: list[tuple[str, Verdict]]


def look(conn: apsw.Connection, clock: Clock, machines: Sequence[str], *, now: int) -> Local:
    """What this store has forgotten since the last time."""
    known = {one.key: one for one in registers.named(conn, GONE, registers.CONTENT)}
    here = dict(_here(conn))
    changed: list[Register] = []
    late: list[tuple[str, Verdict]] = []
    for name, found in here.items():
        before = known.get(name)
        was = verdict(before.value) if before else None
        if before is None or was is None:
            if found.state != ALIVE:
                # Not later than what was seen: an import may have told of an old decision.
                changed.append(Register(GONE, name, "", clock.first(found.at), found.told, UNTOLD))
        else:
            decided = _decided(before, found, clock, machines=machines, now=now)
            changed += [decided] if decided != before else []
            late += _late(name, found, decided)
    gone = {n for n, one in known.items() if not one.value.startswith(ALIVE) and n[0] != "N"}
    there = {name for name, found in here.items() if found.state != ALIVE}
    return Local(changed, frozenset(gone - there), late)


def _late(name: str, found: Verdict, decided: Register) -> list[tuple[str, Verdict]]:
    """A tombstone is to say what was decided, to the moment."""
    wanted = verdict(decided.value)
    if wanted is None or found.state == HIDDEN:
        return []
    wanted = wanted._replace(state=ALIVE if wanted.state == ALIVE else ERASED)
    return [(name, wanted)] if found != wanted else []


def _decided(
    before: Register, found: Verdict, clock: Clock, *, machines: Sequence[str], now: int
) -> Register:
    """The register as this store would have it, or as it was.

    To erase what was hidden is no new decision; a session is brought back by its tombstone, which
    counts no more, and a row by being there."""
    was = verdict(before.value)
    assert was is not None
    if was.state == ALIVE:
        if found.state == ALIVE or found.at == was.at:
            return before
        return before._replace(rev=clock.tick(found.at), value=found.told, state=UNTOLD)
    if found.state == ALIVE:
        if before.key[0] != "N":
            return before
        return before._replace(rev=clock.tick(now), value=Verdict(ALIVE, was.at).told, state=UNTOLD)
    if was.state == HIDDEN and found.state == ERASED:
        state = UNTOLD if before.is_of(machines) else TOLD
        return before._replace(value=Verdict(ERASED, was.at).told, state=state)
    return before


def _here(conn: apsw.Connection) -> Iterator[tuple[str, Verdict]]:
    for one in tombstones.travelling(conn, since=0):
        yield one.kind + one.digest.hex(), Verdict(ALIVE if one.undone else ERASED, one.at)
    for letter, uid, at in mirrored_gone.hidden(conn):
        yield key(letter, uid), Verdict(HIDDEN, at)


def join(known: Register | None, told: Register) -> Register | None:
    """What holds after another machine's word is heard; None where that changes nothing."""
    if known is None or told.rev > known.rev:
        return told
    if told.rev < known.rev:
        return None
    one, other = verdict(known.value), verdict(told.value)
    assert other is not None
    if one is not None and (_RANK[one.state], one.at) >= (_RANK[other.state], other.at):
        return None
    return told


def apply(conn: apsw.Connection, news: Sequence[Register], *, now: int, purge: Purge) -> None:
    """Make it so here: hide and erase with all that goes along, or show again."""
    told = {one.key: found for one in news if (found := verdict(one.value)) is not None}
    gone: dict[int, list[forget.Ref]] = {}
    erased: list[forget.Ref] = []
    back: list[forget.Ref] = []
    for letter in sorted({name[0] for name in told}):
        mine = {name[1:]: one for name, one in told.items() if name[0] == letter}
        for digest, (ref, shown) in mirrored_gone.found(conn, letter, mine).items():
            one = mine[digest]
            if letter == "N":
                gone.setdefault(one.at, []).extend(_of_session(conn, ref, one))
            elif one.state == ALIVE:
                back.append((letter, ref))
            elif one.state == ERASED:
                erased.append((letter, ref))
            elif shown:
                gone.setdefault(one.at, []).append((letter, ref))
    # One moment for each command that has hidden something, so that each can be undone.
    for number, at in enumerate(sorted(gone)):
        mirrored_gone.hide(conn, gone[at], now=now - number)
    if back:
        mirrored_gone.show(conn, back)
    if erased:
        purge(forget.plan(conn, erased), now)
    _bury(conn, told)


def _of_session(conn: apsw.Connection, ref: int, told: Verdict) -> Iterator[forget.Ref]:
    """What happened in a session up to when it was forgotten, but for what was brought back."""
    for letter, found, uid in (
        mirrored_gone.up_to(conn, ref, told.at) if told.state != ALIVE else ()
    ):
        known = registers.get(conn, GONE, key(letter, uid))
        if known is None or not known.value.startswith(ALIVE):
            yield letter, found


def settle_sessions(conn: apsw.Connection) -> None:
    """A session that was forgotten up to a moment has its tombstone here too, once nothing of
    that time is to be seen any more."""
    buried = {one.kind + one.digest.hex() for one in tombstones.travelling(conn, since=0)}
    left = {
        one.key: found
        for one in registers.named(conn, GONE, registers.CONTENT)
        if one.key[0] == "N"
        and one.key not in buried
        and (found := verdict(one.value)) is not None
        and found.state != ALIVE
    }
    if left:
        _bury(conn, left)


def _bury(conn: apsw.Connection, told: dict[str, Verdict]) -> None:
    """What is not here stays away; what is brought back does not."""
    for letter in sorted({name[0] for name in told}):
        mine = {name[1:]: one for name, one in told.items() if name[0] == letter}
        there = mirrored_gone.found(conn, letter, mine)
        for digest, one in mine.items():
            if one.state == ALIVE:
                mirrored_gone.bury(conn, letter, digest, one.at, undone=True)
            elif digest not in there or (
                letter == "N" and not mirrored_gone.up_to(conn, there[digest][0], one.at)
            ):
                mirrored_gone.bury(conn, letter, digest, one.at)
