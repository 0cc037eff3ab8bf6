"""Whatever comes in on stdin: exit 0, silence, and every event stored, spilled or counted.

``CMEM_FUZZ`` inputs go to forked hooks, ``CMEM_FUZZ_REAL`` to real commands; ``CMEM_SEED``
repeats a run. What a hook keeps is taken in afterwards, and nothing of it may be left.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import apsw
import pytest
from forked import Done, Server
from hookrun import line, ready
from mutations import MUTATIONS, Input, stream
from support import clean_env, run_cmem, run_json
from sweeping import drain

from cmem import intake, paths, spooled
from cmem.hosts.wire import HOSTS

FORKED = int(os.environ.get("CMEM_FUZZ", "240"))
REAL = int(os.environ.get("CMEM_FUZZ_REAL", "40"))
SEED = int(os.environ.get("CMEM_SEED", "20"))
NOW = 1_795_988_493_898
OUTCOMES = ("stored", "spilled", "dropped", "known", "nothing")

Fire = Callable[[Input], Done]


class Ledger:
    """What lies in a home after each hook, by one look."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._conn: apsw.Connection | None = None

    def look(self) -> tuple[int, int, int]:
        """(rows, spill files, dropped)."""
        files = sum(1 for name in _names(self.home / "spill") if name.endswith(".event"))
        dropped = self.home / "dropped"
        return self._rows(), files, dropped.stat().st_size if dropped.exists() else 0

    def holds(self, one: Input, now: int) -> bool:
        """Whether the spool has the event of this input already."""
        raw, wire = one.raw[: intake.MAX_STDIN + 1], HOSTS[one.host]
        payload = intake.reduce(raw, wire=wire, event=one.event, size=len(one.raw))
        taken = intake.identify(one.host, one.event, payload, captured_at=now)
        if taken is None or self._conn is None:
            return False
        found = self._conn.execute(
            "SELECT 1 FROM spool WHERE eid = ? OR (digest = ? AND digest <> '')",
            (taken.eid, taken.digest),
        )
        return found.fetchone() is not None

    def close(self) -> None:
        if self._conn is not None:
            self._conn.close()

    def _rows(self) -> int:
        if self._conn is None:
            if not (self.home / "spool.db").exists():
                return 0
            self._conn = apsw.Connection(str(self.home / "spool.db"))
            self._conn.set_busy_timeout(2_000)
        return int(self._conn.execute("SELECT count(*) FROM spool").get)


def _names(folder: Path) -> list[str]:
    return os.listdir(folder) if folder.exists() else []


@pytest.fixture
def forked(home: Path, tmp_path: Path) -> Iterator[Fire]:
    (tmp_path / "io").mkdir()
    server = Server(tmp_path / "io")
    yield lambda one: server.fire(home, one.host, one.event, raw=one.raw)
    server.close()


@pytest.fixture
def real(home: Path) -> Fire:
    ready(home)

    def fire(one: Input) -> Done:
        done = subprocess.run(
            ["/bin/sh", "-c", line(home, f"'{one.event}'", host=f"'{one.host}'")],
            input=one.raw,
            capture_output=True,
            timeout=30,
            env=clean_env(CMEM_AUTO_COMPRESS="0"),
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return fire


def is_silent(done: Done, one: Input) -> bool:
    """Exit 0, nothing on stderr, and on stdout nothing or one JSON object where it may be."""
    if (done.returncode, done.stderr) != (0, b""):
        return False
    if not done.stdout:
        return True
    wire = HOSTS.get(one.host)
    return bool(wire and one.event in wire.injects and isinstance(json.loads(done.stdout), dict))


def is_nothing(one: Input) -> bool:
    """An event nobody registered for, or no event at all."""
    wire = HOSTS.get(one.host)
    if wire is None or one.event not in wire.kinds:
        return True
    return not one.raw.removeprefix(b"\xef\xbb\xbf").strip()


def count_all(inputs: Iterable[Input], fire: Fire, ledger: Ledger) -> Counter[str]:
    """Fire them all; how many became what. Fails at the first that is not accounted for."""
    became = Counter[str]()
    before = ledger.look()
    for one in inputs:
        done = fire(one)
        assert is_silent(done, one), (one.kind, one.host, one.event, one.raw[:300], done)
        after = ledger.look()
        grown = tuple(now - then for now, then in zip(after, before, strict=True))
        before = after
        if sum(grown) == 1:
            became[OUTCOMES[grown.index(1)]] += 1
            continue
        assert sum(grown) == 0, (one.kind, grown)
        if is_nothing(one):
            became["nothing"] += 1
        else:
            assert ledger.holds(one, NOW), (one.kind, one.host, one.event, one.raw[:300])
            became["known"] += 1
    return became


def prove(inputs: Iterable[Input], fire: Fire, home: Path) -> Counter[str]:
    ledger = Ledger(home)
    became = count_all(inputs, fire, ledger)
    ledger.close()
    found = drain(home)
    assert found.events + found.duplicates == became["stored"] + became["spilled"]
    bad = len(_names(Path(paths.spill_dir(str(home)), "bad")))
    assert bad == 0
    assert spooled.counts(str(home)) == (0, 0, became["dropped"] + found.lost)
    became.update({"taken in": found.events, "unreadable": found.unreadable, "lost": found.lost})
    report = run_json("compress", "--all", CMEM_PROVIDER="extract")
    assert (report["ingested"], report["pending"], report["parked"]) == (0, 0, 0)
    status = run_cmem("status", "--json")
    assert json.loads(status.stdout)["spool"]["dropped"] == became["dropped"] + found.lost
    return became


def test_forked_hooks_on_mutated_payloads(home: Path, forked: Fire) -> None:
    inputs = stream(random.Random(SEED), FORKED, tag=f"f{SEED}")
    became = prove(inputs, forked, home)
    assert sum(became[kind] for kind in OUTCOMES) == FORKED
    print(f"fuzz, forked: seed {SEED}, {FORKED} inputs: {dict(became)}")


def test_real_commands_on_mutated_payloads(home: Path, real: Fire) -> None:
    inputs = stream(random.Random(SEED + 1), REAL, tag=f"r{SEED}")
    became = prove(inputs, real, home)
    assert sum(became[kind] for kind in OUTCOMES) == REAL
    print(f"fuzz, commands: seed {SEED}, {REAL} inputs: {dict(became)}")


def test_every_mutation_is_tried() -> None:
    kinds = {one.kind for one in stream(random.Random(SEED), 2 * len(MUTATIONS), tag="x")}
    assert kinds == set(MUTATIONS)


def test_too_large_an_event_is_one_however_it_comes(home: Path, tmp_path: Path) -> None:
    ready(home)
    raw = b'{"session_id":"s","tool_use_id":"t","x":"' + b"x" * (9 << 20) + b'"}'
    (tmp_path / "payload").write_bytes(raw)
    command = line(home, "PostToolUse")
    file = f"< {tmp_path}/payload"
    for script in (f"{{ {command}; }} {file}", f"cat {file} | {{ {command}; }}"):
        done = subprocess.run(
            ["/bin/sh", "-c", script], env=clean_env(CMEM_AUTO_COMPRESS="0"), timeout=30
        )
        assert done.returncode == 0
    assert spooled.counts(str(home)) == (1, 0, 0)
