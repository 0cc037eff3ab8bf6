"""``cmem trace``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cmem import trace as core
from cmem.cli import output, place
from cmem.errors import UsageError
from cmem.explain import PROJECTS
from cmem.plural import counted

if TYPE_CHECKING:
    from cmem.cli.output import Line

STYLES = {core.WAITING: "yellow", core.SET_ASIDE: "bold red", core.FORGOTTEN: "dim"}
TITLE_MAX = 80


def run(values: Mapping[str, Any]) -> int:
    """Print the way of the event."""
    text = str(values["event"]).strip()
    ref = place.parse_id(text)
    if not text or (ref is not None and ref[0] == "N"):
        raise UsageError("a session is many events: name one, such as T9; `cmem get N4` lists them")
    conn = place.store()
    try:
        found = core.trace(place.home(), conn, text, ref)
    finally:
        if conn is not None:
            conn.close()
    if values["json"]:
        output.write_json(found)
    else:
        output.write_lines(_lines(found))
    return 0


def _lines(found: Mapping[str, Any]) -> Iterator[Line]:
    state = found["state"]
    name = found["id"] or found["eid"]
    yield [(f"{name}  ", "bold"), (state, STYLES.get(state, "green"))]
    if state == core.FORGOTTEN:
        return
    if found["eid"] and found["id"]:
        yield _pair("event", found["eid"])
    yield from _origin(found)
    if found.get("redacted"):
        rules = ", ".join(f"{count} × {rule}" for rule, count in found["redacted"].items())
        yield _pair("cut out", rules)
    if "session" in found:
        yield _pair("session", _session(found["session"]))
        yield _pair("turn", _turn(found["turn"]))
    for one in found.get("units", ()):
        yield _pair("work", _unit(one))
    for key, label in (("sources", "made of"), ("observations", "became"), ("summaries", "in")):
        for one in found.get(key, ()):
            gone = " (superseded)" if one.get("superseded") else ""
            yield _pair(label, f"{one['id']} {_short(one['title'])}{gone}")
    if not any(found.get(key) for key in ("observations", "sources")) and found["id"]:
        yield _pair("became", "no observation names it")


def _origin(found: Mapping[str, Any]) -> Iterator[Line]:
    captured = found.get("captured")
    if captured:
        yield _pair("captured", _captured(captured))
    if found["state"] == core.WAITING:
        where = found.get("file") or "spool.db"
        why = f" because of {found['reason']}" if found.get("reason") else ""
        yield _pair("waits", f"in {where}{why}; `cmem compress` takes it in")
    if found["state"] == core.SET_ASIDE:
        why = found["reason"] or "nothing of it could be read"
        yield _pair("lies", f"in {found['file']}: it could not be taken in ({why})")
    if found["state"] == core.TAKEN:
        told = "it moved its session or turn on, and has no row of its own"
        yield _pair("taken in", f"{output.when(found['ingested_at'])}; {told}")
    elif found.get("ingested_at"):
        yield _pair("taken in", output.when(found["ingested_at"]))
    if found.get("model"):
        yield _pair("made by", f"{found['model']}, about {output.when(found['created_at'])}")
    if found.get("title"):
        yield _pair("title", _short(found["title"]))


def _captured(one: Mapping[str, Any]) -> str:
    what = [str(one[key]) for key in ("event", "tool") if one.get(key)]
    what += [f"prompt ({one['prompt']})"] if one.get("prompt") else []
    told = f"{output.when(one['at'])}  {one['host']} {' '.join(what)}"
    told += f" ({one['outcome']})" if one.get("outcome") else ""
    told += f", by subagent {one['agent']}" if one.get("agent") else ""
    return told + (f", in {one['cwd']}" if one["cwd"] else "")


def _session(one: Mapping[str, Any]) -> str:
    by = PROJECTS.get(one["project_by"], one["project_by"])
    return f"{one['id']} ({one['host']} {one['host_session']}), project {one['project']} ({by})"


def _turn(one: Mapping[str, Any]) -> str:
    begun = f" of {one['prompt']}" if one["prompt"] else ""
    private = ", private" if one["private"] else ""
    if one["closed_at"] is None:
        return f"{one['number']}{begun}{private}, still open"
    by = f" by {one['closed_by']}" if one["closed_by"] else ""
    return f"{one['number']}{begun}{private}, closed{by} {output.when(one['closed_at'])}"


def _unit(one: Mapping[str, Any]) -> str:
    tries = counted(one["attempts"], "attempt")
    told = f"{one['id']} ({one['kind']}): {one['state']}, {tries}"
    if one["provider"]:
        model = f" {one['model']}" if one["model"] and one["model"] != one["provider"] else ""
        told += f", last by {one['provider']}{model} {output.when(one['ended_at'])}"
    return "; ".join(filter(None, (told, one["error"], one["reply"])))


def _pair(label: str, text: str) -> Line:
    return [(f"  {label + ':':<10} ", "bold"), *output.plain(text)]


def _short(text: str) -> str:
    line = " ".join(text.split()).removeprefix("- ")
    return line if len(line) <= TITLE_MAX else line[: TITLE_MAX - 1].rstrip() + "…"
