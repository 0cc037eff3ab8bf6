"""The test event: through the registered line into the mailbox, the store and the search.

The line runs as the host runs it, but in a bare environment, so that nothing of this shell
helps it. The lock of ``compress`` is held meanwhile: no drain starts, and none takes the event
for the user's. In the store it is taken in, searched for and undone in one transaction, so
that not even a kill leaves a trace; that the store commits is tried apart.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from cmem import ingest, lock, off, paths, spill, spool, spool_check
from cmem.doctor import registered
from cmem.doctor.finding import ERROR, OK, WARN, Finding
from cmem.doctor.registered import Hook, Settings
from cmem.errors import CmemError
from cmem.hosts.wire import HOSTS
from cmem.model import Entry
from cmem.plural import counted
from cmem.privacy.sanitise import clean
from cmem.search import run as searching
from cmem.store import check as store
from cmem.store import connection

if TYPE_CHECKING:
    import apsw

SESSION = "cmem-doctor-"
BARE = {"PATH": "/usr/bin:/bin"}
WAIT_MS = 5_000
LIMIT_S = 15.0
LATEST_SPILLS = 50
INSTALL = "cmem install"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Probe(NamedTuple):
    """One test event: the session it claims, the one word it can be found by, its bytes."""

    session: str
    word: str
    payload: bytes


class Fired(NamedTuple):
    """What a command did; ``code`` is None when it did not end in time."""

    code: int | None
    out: bytes
    err: bytes


class Arrived(NamedTuple):
    """The test event as it lay in the data home. ``way``: spool | spill."""

    way: str
    entry: Entry | None
    file: bytes


def check(home: str, files: tuple[Settings, ...], *, use_store: bool, now: int) -> list[Finding]:
    """Run every distinct registered line of one event, and follow it."""
    hooks = [one for file in files for one in file.hooks if registered.is_ours(one, home)]
    lines = list({one.command: one for one in hooks if _is_prompt(one)}.values())
    if not lines:
        return []
    try:
        held = lock.acquire(paths.lock_file(home), wait_ms=WAIT_MS)
    except OSError as error:
        detail = f"not tried: {home} cannot be used ({(error.strerror or 'error').lower()})"
        return [Finding(ERROR, "capture", detail, INSTALL)]
    if held is None:
        detail = "not tried: `cmem compress` is running and would take the test event in"
        return [Finding(WARN, "capture", detail, "cmem doctor, when it is done")]
    try:
        found = [
            finding
            for hook in lines
            for finding in _check_line(home, hook, files, use_store=use_store, now=now)
        ]
        return list(dict.fromkeys(found))
    finally:
        lock.release(held)


def _is_prompt(hook: Hook) -> bool:
    return hook.event == hook.under and HOSTS[hook.host].kinds.get(hook.event) == "prompt"


def _check_line(
    home: str, hook: Hook, files: tuple[Settings, ...], *, use_store: bool, now: int
) -> Iterator[Finding]:
    if not registered.may_run(hook, files):
        detail = f"not tried: the command in {hook.path} is none that `cmem install` writes here"
        yield Finding(WARN, "capture", detail, registered.install(hook.host))
        return
    with tempfile.TemporaryDirectory(prefix=SESSION) as scratch:
        probe = make_probe(hook.host, cwd=scratch)
        why = off.reason(home, cwd=scratch, session=probe.session)
        if why:
            yield Finding(WARN, "capture", f"not tried: memory is {why}")
            return
        fired = fire(hook.command, probe.payload, event=hook.event, cwd=scratch)
        arrived = collect(home, probe)
        yield judge_capture(fired, arrived, hook=hook)
        if arrived is not None:
            yield _deliver(home, arrived, probe, scratch=scratch, use_store=use_store, now=now)


def make_probe(host: str, *, cwd: str) -> Probe:
    """A harmless prompt with one word that nothing else holds."""
    session = SESSION + secrets.token_hex(8)
    word = "".join(secrets.choice(_LETTERS) for _ in range(14))
    text = f"A test event of cmem doctor, marked {word}"
    # The host's own names, in the order in which the wire gives them.
    values = zip(HOSTS[host].paths, (session, "", "", text, "", cwd), strict=True)
    document: dict[str, object] = {}
    for path, value in values:
        name, listed, _ = path.removeprefix("$.").partition("[0]")
        if value:
            document[name] = [value] if listed else value
    return Probe(session, word, json.dumps(document).encode() + b"\n")


def fire(command: str, payload: bytes, *, event: str = "", cwd: str) -> Fired:
    """Run a registered line as a host does, with nothing in its environment. ``event`` is the
    word that OpenCode's line is given."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", command, "sh", event],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=BARE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(payload, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        # The shell's children too, or they would hold the pipes open.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Fired(None, b"", b"")
    return Fired(process.returncode, out, err)


def collect(home: str, probe: Probe) -> Arrived | None:
    """Take the test event out of mailbox or spill directory; None when it is in neither."""
    # What a killed doctor has left goes along: under the lock there is no other one.
    entries = spool_check.take_out(home, prefix=SESSION)
    own = [entry for entry in entries if probe.session in entry.eid]
    if own:
        return Arrived("spool", own[0], b"")
    folder = paths.spill_dir(home)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    events = sorted(name for name in names if name.endswith(".event"))
    for name in events[-LATEST_SPILLS:]:
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            raw = file.read()
        if probe.session.encode() in raw:
            spill.remove([path])
            return Arrived("spill", None, raw)
    return None


def judge_capture(fired: Fired, arrived: Arrived | None, *, hook: Hook) -> Finding:
    """Whether the host saw nothing, and the event is there."""
    where = f"the registered {hook.event} command in {hook.path}"
    fix = registered.install(hook.host)
    if fired.code is None:
        detail = f"{where} did not end within {LIMIT_S:.0f} s"
    elif fired.code:
        detail = f"{where} exits {fired.code}; on 2 the host discards the prompt"
    elif fired.out or fired.err:
        shown = clean((fired.out or fired.err)[:80].decode("utf-8", "replace"), one_line=True)
        detail = f"{where} prints what the host would take for an answer: {shown}"
    elif arrived is None:
        detail = f"{where} ends well, but its event arrived nowhere"
    elif arrived.way == "spill":
        detail = f"the event of {where} became a file: its Python cannot load cmem or spool.db"
        return Finding(WARN, "capture", detail, fix)
    else:
        return Finding(OK, "capture", f"{where} ran in a bare environment; its event arrived")
    return Finding(ERROR, "capture", detail, fix)


def _deliver(
    home: str, arrived: Arrived, probe: Probe, *, scratch: str, use_store: bool, now: int
) -> Finding:
    """Ingest the event and search for it, in the store itself where that can be used, else in
    a new one that is thrown away."""
    mailbox, target = os.path.join(scratch, "mailbox"), os.path.join(scratch, "store")
    where = "memory.db" if use_store else "a store made for it"
    try:
        os.mkdir(mailbox, 0o700)
        put(mailbox, arrived, probe)
        conn = connection.open_writer(home if use_store else target, now=now)
        try:
            trouble = _follow(conn, mailbox, probe, now=now)
            if not trouble and use_store:
                name = f"doctor:{probe.session}"
                kept = store.commits(home, conn, name=name, now=now)
                trouble = "" if kept else "what is written is not there for a reader"
        finally:
            conn.close()
    except (*connection.ENVIRONMENT_ERRORS, CmemError) as error:
        trouble = str(error) or type(error).__name__
    if trouble:
        return Finding(ERROR, "delivery", f"in {where}: {trouble}", "cmem compress")
    detail = f"the test event went into {where}, search found it, nothing of it is left"
    return Finding(OK, "delivery", detail)


def put(mailbox: str, arrived: Arrived, probe: Probe) -> None:
    """The event alone in a mailbox of its own, the way it came."""
    entry = arrived.entry
    if entry is None:
        folder = paths.spill_dir(mailbox)
        os.mkdir(folder, 0o700)
        with open(os.path.join(folder, "0-0-0.event"), "wb") as file:
            file.write(arrived.file)
        return
    spool.append(
        mailbox,
        eid=entry.eid,
        host=entry.host,
        event=entry.event,
        session=probe.session,
        captured_at=entry.captured_at,
        cwd=entry.cwd,
        repo=entry.repo,
        project_env=entry.project_env,
        digest="",
        window=False,
        payload=entry.payload,
    )


def _follow(conn: apsw.Connection, mailbox: str, probe: Probe, *, now: int) -> str:
    """What goes wrong between mailbox and search; "" for nothing."""
    with store.trial(conn):
        taken = ingest.ingest(mailbox, conn, now=now)
        if taken.events != 1 or taken.unreadable:
            return f"ingest took in {counted(taken.events, 'event')}, {taken.unreadable} unreadable"
        filters = searching.Filters(kinds=("P",), session=probe.session)
        found = searching.search(conn, text=probe.word, filters=filters, limit=2, now=now)
    if len(found.hits) != 1 or probe.session != found.hits[0].host_session:
        return f"search gives {counted(len(found.hits), 'hit')} for the one test event"
    return ""
