"""Three machines that do whatever comes to them, with clocks that are wrong, end alike."""

from __future__ import annotations

import os
import random
import re
import secrets
from pathlib import Path

import exported
import pytest
import store_rows
from machines import DAY, T0, Machine, assert_alike, texts

from cmem import projects_admin
from cmem.errors import CmemError
from cmem.store import connection, dedup, edits, forget, project_rows, state

SEED = int(os.environ.get("CMEM_SEED", "20"))
ROUNDS = int(os.environ.get("CMEM_SYNC_ROUNDS", "0"))
HOUR = 3_600_000


class World:
    """``gone``: texts that were forgotten for good and must be nowhere in the end."""

    def __init__(self, root: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.random = random.Random(seed)
        skews = (0, 3 * DAY, -400 * DAY)
        self.machines = [Machine(root, n, skew=s) for n, s in zip("abc", skews, strict=True)]
        self.now, self.count = T0 + 500 * DAY, 0
        # Names of rows and machines too, so that a seed is the same life every time.
        monkeypatch.setattr(os, "urandom", self.random.randbytes)
        monkeypatch.setattr(secrets, "token_hex", lambda n: self.random.randbytes(n).hex())
        self.gone: set[str] = set()

    def word(self) -> str:
        self.count += 1
        return f"word{self.count}x{self.random.getrandbits(40):x}"

    def step(self) -> None:
        self.now += self.random.randint(1, HOUR)
        one = self.random.choice(self.machines).at(self.now)
        doing = self.random.choice((*_MANY * 3, *_FEW))
        doing(self, one)

    def observation(self, one: Machine, where: str = "hidden_at IS NULL") -> int | None:
        query = f"SELECT id FROM observations WHERE {where} ORDER BY uid"
        found = [ref for (ref,) in one.conn.execute(query)]
        return self.random.choice(found) if found else None


def note(world: World, one: Machine) -> None:
    one.note(f"{world.word()} {world.word()}", pinned=world.random.random() < 0.2)


def session(world: World, one: Machine) -> None:
    """A session as hooks bring it: a prompt, two tool calls, an observation, a summary."""
    word = world.word()
    project = one.value("SELECT id FROM projects WHERE key = ?", f"path:{one.name}")
    if project is None:
        project = store_rows.project(one.conn, one.name, created_at=one.now)
    started = {"started_at": one.now, "last_event_at": one.now, "title": word, "cwd": "/p"}
    with connection.transaction(one.conn):
        ref = store_rows.session(one.conn, project, word, **started)
        turn = store_rows.turn(one.conn, ref, assistant_message=world.word(), opened_at=one.now)
        uid = {"created_at": one.now}
        said = store_rows.prompt(one.conn, turn, world.word(), uid=word + "p", **uid)
        used = store_rows.tool(
            one.conn,
            turn,
            "Bash",
            given={"c": world.word()},
            answer={"o": 1},
            uid=word + "t",
            **uid,
        )
        store_rows.observation(
            one.conn,
            turn,
            world.word(),
            world.word(),
            sources=(("P", said), ("T", used)),
            uid=word + "o",
            content_hash=word,
            **uid,
        )
        store_rows.summary(one.conn, turn, world.word(), uid=word + "s", **uid)


def edit(world: World, one: Machine) -> None:
    if (ref := world.observation(one)) is not None:
        one.edit(ref, world.word())


def pin(world: World, one: Machine) -> None:
    if (ref := world.observation(one)) is not None:
        one.pin(ref, pinned=world.random.random() < 0.6)


def hide(world: World, one: Machine) -> None:
    if (ref := world.observation(one)) is not None:
        one.hide(("O", ref))


def hide_prompt(world: World, one: Machine) -> None:
    found = one.conn.execute("SELECT id FROM user_prompts WHERE hidden_at IS NULL").fetchall()
    if found:
        one.hide(("P", world.random.choice(found)[0]))


def undo(world: World, one: Machine) -> None:
    if (ref := world.observation(one, "hidden_at IS NOT NULL")) is not None:
        forget.unhide(one.conn, [("O", ref)])


def erase(world: World, one: Machine) -> None:
    if (ref := world.observation(one)) is not None:
        title = one.value("SELECT title || ' ' || narrative FROM observations WHERE id = ?", ref)
        world.gone |= set(re.findall(r"word\w+", title))
        one.erase(("O", ref))


def forget_session(world: World, one: Machine) -> None:
    query = "SELECT id FROM sessions WHERE host <> 'user' AND title <> ''"
    found = one.conn.execute(query).fetchall()
    if found:
        one.hide(("N", world.random.choice(found)[0]))


def supersede(world: World, one: Machine) -> None:
    old, new = (world.observation(one, "hidden_at IS NULL AND superseded_by IS NULL") for _ in "ab")
    if old is not None and new is not None:
        try:
            edits.supersede(one.conn, old, new)
        except CmemError:
            return


def alike(world: World, one: Machine) -> None:
    """Two are one, or not; or one that was joined is parted."""
    where = "hidden_at IS NULL AND superseded_by IS NULL"
    found = {world.observation(one, where) for _ in "ab"} - {None}
    doing = world.random.randint(0, 2)
    if doing == 0 and (ref := world.observation(one)) is not None:
        dedup.part(one.conn, ref, now=one.now)
    elif len(found) == 2:
        older, newer = sorted(found)
        if doing == 1:
            dedup.keep(one.conn, older, newer, score=0.5, now=one.now)
        else:
            dedup.join(one.conn, older, newer, level=1, score=0.75, now=one.now)


def restore(world: World, one: Machine) -> None:
    where = "superseded_by IS NOT NULL AND hidden_at IS NULL"
    if (ref := world.observation(one, where)) is not None:
        edits.restore(one.conn, ref)


def work(world: World, one: Machine) -> None:
    found = one.conn.execute(
        "SELECT id FROM work_state_entries WHERE id = item AND hidden_at IS NULL"
    ).fetchall()
    if one.value("SELECT 1 FROM projects WHERE key = 'global'") is None:
        return
    if not found or world.random.random() < 0.5:
        one.open_work(world.word())
        return
    to = world.random.choice((state.OPEN, state.DONE))
    with connection.transaction(one.conn):
        item = world.random.choice(found)[0]
        state.move(one.conn, item, state=to, uid=world.word(), now=one.now)


def project(world: World, one: Machine) -> None:
    """Rename, merge or take a merge back."""
    found = [p for p in project_rows.every(one.conn) if p.root]
    if len(found) < 2:
        return
    source, into = world.random.sample(found, 2)
    try:
        doing = world.random.randint(0, 2)
        if doing == 0:
            projects_admin.rename(one.conn, source, world.word())
        elif doing == 1:
            projects_admin.merge(one.conn, source, into)
        else:
            projects_admin.unmerge(one.conn, source)
    except CmemError:
        return


def bring(world: World, one: Machine) -> None:
    """The export of one machine is imported by another."""
    other = world.random.choice(world.machines)
    exported.bring_in(one.conn, exported.export(other.conn), now=one.now)


def purge(_world: World, one: Machine) -> None:
    one.erase_due()


def sync(_world: World, one: Machine) -> None:
    one.sync()


_MANY = (note, session, edit, pin, hide, undo, supersede, work, sync)
_FEW = (hide_prompt, erase, forget_session, restore, project, bring, purge, alike, sync, sync)


def live(root: Path, seed: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(root, seed, monkeypatch)
    for _ in range(steps):
        world.step()
    for _ in range(3):  # everybody hears everything, and what was forgotten goes for good
        for _ in range(3):
            for one in world.machines:
                one.at(world.now).sync()
        world.now += 2 * DAY
        for one in world.machines:
            one.at(world.now).erase_due()
    return world


def check(world: World) -> None:
    assert_alike(*world.machines)
    states = [sorted(one.work()) for one in world.machines]
    assert states[0] == states[1] == states[2]
    quiet = [one.at(world.now).sync() for one in world.machines]
    assert [(one.changed, one.told, one.taken, one.bad) for one in quiet] == [(0, 0, {}, 0)] * 3
    shown = b"".join(exported.export(one.conn) for one in world.machines)
    folder = texts(world.machines[0].folder)
    for word in world.gone:
        if word.encode() not in shown:  # or brought back by whoever did not know
            assert word.encode() not in folder
    for one in world.machines:
        assert one.conn.pragma("integrity_check") == "ok"
        one.conn.execute("INSERT INTO documents_fts(documents_fts) VALUES('integrity-check')")


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_three_machines_end_alike(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(live(tmp_path, seed, 60, monkeypatch))


@pytest.mark.slow
def test_three_machines_end_alike_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(ROUNDS or 10):
        root = tmp_path / str(number)
        root.mkdir()
        check(live(root, SEED + 100 + number, 150, monkeypatch))
