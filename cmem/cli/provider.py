"""``cmem provider list|show|test|use``: who observes, at what price, and whether it answers."""

from __future__ import annotations

import contextlib
import difflib
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cmem import booking, breaker, lock, paths, settings
from cmem.cli import output, place
from cmem.errors import BusyError, CmemError, UsageError
from cmem.install import provider as core
from cmem.observer import trial
from cmem.observer.providers import about, claude_cli, command
from cmem.store import connection, pause

if TYPE_CHECKING:
    from cmem.cli.output import Line
    from cmem.settings import Settings

FIELDS = ("model", "base_url", "command")
WIDTH = 12
PROGRAMS = (claude_cli.NAME, command.NAME)
WAIT_MS = 5_000
MOST_AFTER_KEY = 4_096


class Now(NamedTuple):
    """The settings of a run that a person starts, and those of one in the background."""

    home: str
    mine: Settings
    background: Settings


def run_list(values: Mapping[str, Any]) -> int:
    """Print every provider with its price and where text goes."""
    now = _now()
    rows = [_row(name, now) for name in about.NAMES]
    if values["json"]:
        output.write_json({"provider": now.background.provider, "providers": rows})
        return 0
    for row in rows:
        output.write_lines(_lines(row))
    output.write_lines(
        [output.plain("`cmem provider use NAME` chooses one, `cmem provider test NAME` tries it.")]
    )
    return 0


def run_show(values: Mapping[str, Any]) -> int:
    """Print what the chosen provider is, needs, and last said."""
    now = _now()
    name = values["name"] or now.background.provider
    row = _row(_known(name), now)
    row["model"] = now.background.model or None
    row["paused"] = _paused(now) if row["chosen"] else None
    row["config"] = paths.config_file(now.home)
    if values["json"]:
        output.write_json(row)
        return 0
    lines = [*_lines(row), _pair("settings", row["config"])]
    if row["paused"]:
        until = output.when(row["paused"]["until"])
        lines.append(_pair("paused", f"{row['paused']['reason']} (until {until})"))
    if now.mine.provider != now.background.provider:
        told = f"{now.mine.provider}, for commands typed in this shell only"
        lines.append(_pair("CMEM_PROVIDER", told))
    output.write_lines(lines)
    return 0


def run_test(values: Mapping[str, Any]) -> int:
    """Ask the provider one small question; 1 when it does not answer."""
    env = settings.environment()
    if settings.inside_observer(env):
        raise CmemError("this runs inside cmem's own observer (CMEM_OBSERVER): nothing was done")
    now = _now()
    name = _known(values["name"] or now.mine.provider)
    chosen = now.mine._replace(provider=name)
    told = about.about(name, chosen)
    if told.paid:
        sys.stderr.write(f"cmem: asking {name} once, a small question; price: {told.price}\n")
        sys.stderr.flush()
    with (
        _alone(now.home, chosen),
        booking.booked(now.home, chosen, env=env, now=place.now_ms()) as book,
    ):
        found = trial.ask(chosen, clock=time.monotonic)
        book(found)
    if found.ok:
        _lift(now.home, chosen)
    if values["json"]:
        output.write_json({"provider": name, **found._asdict()})
    else:
        output.write_lines([output.plain(line) for line in _result(name, found)])
    return 0 if found.ok else 1


@contextlib.contextmanager
def _alone(home: str, chosen: Settings) -> Iterator[None]:
    """A program is asked as a run asks it: under the run's lock. So one that itself runs cmem,
    whatever it has done to its environment and folder, starts no second round of questions."""
    if chosen.provider not in PROGRAMS:
        yield
        return
    paths.ensure_home(home)
    fd = lock.acquire(paths.lock_file(home), wait_ms=WAIT_MS)
    if fd is None:
        raise BusyError("a run is asking a provider already; try again when it is done")
    try:
        yield
    finally:
        lock.release(fd)


def run_use(values: Mapping[str, Any]) -> int:
    """Write the choice into config.toml, or show what would be written."""
    home = place.home()
    name = _known(values["name"])
    before = core.resolve(home, None)
    given = {key: values[key] for key in FIELDS if values[key] is not None}
    changes = [
        one for one in core.with_place(name, settings.environment(), home) if one[0] not in given
    ]
    changes += list(given.items())
    taken_out = [key for key, value in changes if value is None]
    flags = {key: value or "" for key, value in changes}
    chosen = settings.load(home, env={}, flags=flags, trusted_env=False)
    key = _key_from_stdin() if values["key_from_stdin"] else ""
    plan = core.plan(home, [*changes, *([("api_key", key)] if key else [])])
    chosen = chosen._replace(api_key=key or chosen.api_key)
    if not values["dry_run"]:
        paths.ensure_home(home)
        core.carry_out(plan)
    changed = plan.after != plan.before
    document = {
        "provider": name,
        "before": before.provider,
        "changed": changed,
        "config": plan.path,
        "dry_run": bool(values["dry_run"]),
        "lacks": about.lacks(chosen, settings.environment()) or None,
        "taken_out": {key: getattr(before, key) for key in taken_out},
    }
    if values["json"]:
        output.write_json(document)
        return 0
    if values["dry_run"]:
        output.write_lines(output.plain(line) for line in _difference(plan, key))
        return 0
    first = f"Wrote {plan.path}." if changed else f"{plan.path} says so already."
    lines = [first, *core.explain(home, chosen)]
    if before.provider not in ("extract", name):
        lines.insert(1, f"It was {before.provider} before.")
    if taken_out:
        lines.insert(1, core.taken_out(before.model, name))
    if about.about(name, chosen).paid:
        lines.append("`cmem provider test` asks it once, to see that it answers.")
    output.write_lines(output.plain(line) for line in lines)
    return 0


# --- settings ------------------------------------------------------------------------


def _now() -> Now:
    home, env = place.home(), settings.environment()
    trusted = settings.trusts_environment(env)
    mine = settings.load(home, env=env, flags={}, trusted_env=trusted)
    return Now(home, mine, core.resolve(home, None))


def _known(name: str) -> str:
    if name not in about.NAMES:
        raise UsageError(f"no such provider: {name}; known: {', '.join(about.NAMES)}")
    return name


def _row(name: str, now: Now) -> dict[str, Any]:
    chosen = now.background._replace(provider=name)
    told = about.about(name, chosen)
    return {
        "name": name,
        "chosen": name == now.background.provider,
        "how": told.how,
        "price": told.price,
        "where": told.where,
        "paid": told.paid,
        "lacks": about.lacks(chosen, settings.environment()) or None,
    }


def _key_from_stdin() -> str:
    """A key never stands on the command line, where other users can read it."""
    if sys.stdin.isatty():
        sys.stderr.write("Paste the key, then Enter: ")
        sys.stderr.flush()
    key = sys.stdin.readline().strip()
    more = "" if sys.stdin.isatty() else sys.stdin.read(MOST_AFTER_KEY).strip()
    if more or not key or not key.isprintable() or len(key.split()) != 1:
        raise UsageError("--key-from-stdin wants one line with the key on standard input")
    return key


def _paused(now: Now) -> dict[str, Any] | None:
    conn = connection.open_reader(now.home)
    if conn is None:
        return None
    try:
        current = pause.get(conn)
    finally:
        conn.close()
    mark = breaker.fingerprint(now.background)
    if current is None or not breaker.holds(current, fingerprint=mark, now=place.now_ms()):
        return None
    return {"reason": current.reason, "until": current.until}


def _lift(home: str, chosen: Settings) -> None:
    """The provider answers again, so turns need not wait for the end of a pause."""
    if not os.path.exists(paths.memory_db(home)):
        return
    conn = connection.open_writer(home, now=place.now_ms())
    try:
        current = pause.get(conn)
        if current is not None and current.fingerprint == breaker.fingerprint(chosen):
            pause.clear(conn)
    finally:
        conn.close()


# --- output --------------------------------------------------------------------------


def _lines(row: Mapping[str, Any]) -> list[Line]:
    star = "* " if row["chosen"] else "  "
    lines: list[Line] = [[(star, "green"), (row["name"], "bold"), (f": {row['how']}", "")]]
    lines += [_pair("price", row["price"]), _pair("text", row["where"])]
    if row["lacks"]:
        lines.append(_pair("needs", row["lacks"], "red" if row["chosen"] else ""))
    return lines


def _pair(label: str, text: str, style: str = "") -> Line:
    return [(f"    {label + ':':<{WIDTH}}", "dim"), (output.plain(text)[0][0], style)]


def _result(name: str, found: trial.Answer) -> list[str]:
    if found.kind == "free":
        return [f"{name} works by rules on this machine; there is nobody to ask."]
    if not found.ok:
        return [f"{name} failed: {found.kind}: {found.detail}", f"What helps: {found.fix}"]
    price = "price not known" if found.cost_usd is None else f"${found.cost_usd:.6f}"
    return [
        f"{name} answered in {found.seconds:.1f} s: model {found.model}, "
        f"{found.input_tokens:,} tokens in, {found.output_tokens:,} out, {price}."
    ]


def _difference(plan: core.Change, key: str) -> list[str]:
    if plan.before == plan.after:
        return ["Nothing would change."]
    lines = difflib.unified_diff(
        plan.before.splitlines(),
        plan.after.splitlines(),
        fromfile=plan.path,
        tofile=plan.path,
        lineterm="",
        n=0,
    )
    secret = [line for line in plan.before.splitlines() if line.lstrip().startswith("api_key")]
    return [_masked(line, key, secret) for line in lines]


def _masked(line: str, key: str, secret: list[str]) -> str:
    if line[1:] in secret or (key and key in line):
        return line[0] + "api_key = …"
    return line
