"""Tool calls that a person does not want kept: known by tool, subagent, file, command or size.

The settings ``skip_*`` of config.toml; a hook's environment can add to them. They concern tool
calls only, so a turn closes whatever they say. HOT: a hook loads this when one of them is set.
Who is judged is counted, a byte each, in a file for each rule. A setting that cannot be read
takes nothing away, ``settings`` complains of it; but files may be named for privacy, so where
``skip_paths`` cannot be read no call that names a file is kept.
"""

import os
import time

from cmem import config, globbing, off, setting_text
from cmem import eid as eids
from cmem.hosts import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    # (setting, what of it was met)
    Rule = tuple[str, str]

TOOLS, AGENTS, PATHS, COMMANDS = "skip_tools", "skip_agents", "skip_paths", "skip_commands"
SMALL = "skip_small"
GLOBS = (TOOLS, AGENTS, PATHS, COMMANDS)
UNREADABLE = 'cannot be read: write skip_paths = "~/one/*,two.txt"'
MAX_COMMAND = 4_096
_MAX_SMALL = 2**53  # as ``settings`` takes it
_MAX_HEAD = 4_096
_PATCH = "*** Begin Patch"


class Filters:
    """What is set: globs by setting, and the size below which a result is small."""

    __slots__ = ("globs", "small", "unreadable")

    def __init__(self) -> None:
        self.globs: dict[str, tuple[str, ...]] = dict.fromkeys(GLOBS, ())
        self.small = 0
        self.unreadable: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.small or any(self.globs.values()) or self.unreadable)


class Call:
    """A tool call as filters see it. ``names``: as the host and as the store spell it;
    ``agent``: the subagent's type, "" for the agent itself; ``size``: the bytes of the result
    of a tool that only reads, None for any other."""

    __slots__ = ("agent", "command", "files", "names", "size")

    names: tuple[str, ...]
    agent: str
    command: str
    files: tuple[str, ...]
    size: int | None


# --- what is set ---------------------------------------------------------------------


def load(raw: bytes, env: "Mapping[str, str]") -> Filters:
    """The filters of a config.toml, and those that an environment adds."""
    found = Filters()
    known = config.parse(raw) if off.may_name(raw, "skip_") else {}
    for name in GLOBS:
        value: object = setting_text.setting(raw, name) if name == PATHS else known.get(name)
        if value is None and name != PATHS:
            value = setting_text.line_of(raw, name)
        if not isinstance(value, str):
            found.unreadable += (name,)
            value = ""
        found.globs[name] = split(value) + split(env.get(f"CMEM_{name.upper()}", ""))
    small = known.get(SMALL, 0 if setting_text.line_of(raw, SMALL) == "" else None)
    if isinstance(small, int) and not isinstance(small, bool) and 0 <= small < _MAX_SMALL:
        found.small = small
    else:
        found.unreadable += (SMALL,)
    added = env.get(f"CMEM_{SMALL.upper()}", "").strip()
    if added.isascii() and added.isdigit() and len(added) < 20 and int(added) < _MAX_SMALL:
        found.small = max(found.small, int(added))
    return found


def split(globs: str) -> tuple[str, ...]:
    """The globs of one setting, which commas separate."""
    return tuple(glob for glob in map(str.strip, globs.split(",")) if glob)


# --- what is judged ------------------------------------------------------------------


def call_of(host: str, payload: bytes) -> Call:
    """The tool call in a host's payload; what it does not tell is empty."""
    found = _values(payload, calls.paths(host))
    name, agent_id, agent_type, command, result, cwd = found[: calls.HEAD]
    call = Call()
    call.names = tuple(dict.fromkeys((name, calls.stored_name(host, name))))
    # A main agent can have a type too, but only a subagent has an id.
    call.agent = (agent_type or "unknown") if agent_id else ""
    named = [file for text in found[calls.HEAD :] if text for file in _names(text)]
    if command.lstrip().startswith(_PATCH):
        named += _patched(command)
        command = ""
    call.command = command
    call.files = tuple(os.path.normpath(os.path.join(cwd or "/", file)) for file in named)
    reads = result and name in calls.HOSTS[host].readers
    call.size = len(result.encode("utf-8", "replace")) if reads else None
    return call


def _values(payload: bytes, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The texts at the paths: by SQLite, or by the slow reader where that cannot be had."""
    try:
        from cmem import spool

        found = spool.fields(payload.decode(), paths)
    except (ImportError, UnicodeDecodeError):
        found = None
    return found or tuple(_slow_values(payload, paths))


def _slow_values(payload: bytes, paths: tuple[str, ...]) -> "Iterable[str]":
    from cmem import lenient

    try:
        document = lenient.loads(payload)
    except (ValueError, RecursionError):
        document = None
    for path in paths:
        value = lenient.at(document, path)
        if isinstance(value, (dict, list)):
            yield lenient.dumps(value).decode("utf-8", "replace")
        else:
            yield value if isinstance(value, str) else ""


def _names(text: str) -> list[str]:
    """The file that an argument names, or the files of a list of them."""
    if text[:1] != "[":
        return [text]
    from cmem import lenient

    try:
        value = lenient.loads(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return [text]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _patched(patch: str) -> list[str]:
    """The files that a patch changes."""
    heads = [line.partition(": ") for line in patch.split("\n") if line.startswith("*** ")]
    return [name.strip() for head, mark, name in heads if mark and name.strip()]


# --- the verdict ---------------------------------------------------------------------


def verdict(filters: Filters, call: Call) -> "Rule | None":
    """The rule by which the call is not to be kept; None when it is."""
    for name in call.names:
        if glob := _first(filters.globs[TOOLS], name):
            return TOOLS, glob
    if call.agent and (glob := _first(filters.globs[AGENTS], call.agent)):
        return AGENTS, glob
    if call.files and PATHS in filters.unreadable:
        return PATHS, UNREADABLE
    if filters.globs[PATHS]:
        for file in call.files:
            if glob := globbing.first_match(filters.globs[PATHS], off.places(file)):
                return PATHS, glob
    if call.command and (glob := _skipped_command(filters.globs[COMMANDS], call.command)):
        return COMMANDS, glob
    if call.size is not None and call.size < filters.small:
        return SMALL, str(filters.small)
    return None


def _first(globs: "Iterable[str]", text: str) -> str:
    folded = text.casefold()
    return next((glob for glob in globs if globbing.matches(glob.casefold(), folded)), "")


def _skipped_command(globs: tuple[str, ...], line: str) -> str:
    """The glob that matches the last of the line's commands, if each of them has one that
    does; ``cd`` beside others does nothing by itself. A line that does more than its commands
    say is left out by ``*`` alone."""
    if not globs or len(line) > MAX_COMMAND:
        return ""
    if acts(line):
        globs = tuple(glob for glob in globs if glob == "*")
    found = ""
    commands = parts(line)
    working = [one for one in commands if one.split(None, 1)[0] != "cd"]
    for command in working or commands:
        found = _first(globs, command)
        if not found:
            return ""
    return found


def parts(line: str) -> list[str]:
    """The commands of a shell line: what stands between ``;``, ``&&``, ``||``, ``&`` and line
    ends outside quotes. A pipeline is one command."""
    found: list[str] = []
    start = 0
    for at, char, quote in _spelled(line):
        if not quote and (char in ";\n" or _joins(line, at)):
            found.append(line[start:at])
            start = at + 1
    found.append(line[start:])
    return [one for one in (part.strip().strip(" \t|").strip() for part in found) if one]


def acts(line: str) -> bool:
    """Whether a shell line does what the words of its commands do not say: it runs others by a
    substitution, or writes to a file by redirection."""
    last = ""
    for at, char, quote in _spelled(line):
        last = quote
        if quote not in ("", '"'):
            continue
        if char == "`" or line.startswith("$(", at):
            return True
        if quote:
            continue
        if line.startswith("<(", at) or (char == ">" and _writes(line, at)):
            return True
    return bool(last)  # a quote that nothing ends hides what follows


def _writes(line: str, at: int) -> bool:
    """Whether the last ``>`` of a redirection writes to a file; not to another stream, nor to
    nowhere."""
    rest = line[at + 1 :].lstrip("|&> \t")
    if rest[:1] in ("", "\n"):
        return False
    if line[at + 1 : at + 2] == "&":
        word = rest.split(maxsplit=1)[0].rstrip(";|&)")
        if word == "-" or word.rstrip("-").isdigit():
            return False
    null = "/dev/null"
    return not (rest.startswith(null) and rest[len(null) :][:1] in ("", *" \t\n;&|)"))


def _spelled(line: str) -> "Iterable[tuple[int, str, str]]":
    """(place, character, the quote it stands in or "") of what a shell reads as it stands: no
    escaped characters, no comments. ``$`` stands for the quote ``$'``, which knows escapes. The
    end of a quote is outside of it."""
    at = 0
    quote = ""
    dollar = False  # one that still means something stands before
    while at < len(line):
        char = line[at]
        if char == "\\" and quote != "'":
            at += 2
            dollar = False
            continue
        before, dollar = dollar, char == "$" and not dollar
        if quote:
            quote = "" if char == quote or (char == "'" and quote == "$") else quote
        elif char in "'\"":
            quote = "$" if char == "'" and before else char
        elif char == "#" and line[at - 1 : at] in ("", *" \t\n;&|("):
            end = line.find("\n", at)
            at = len(line) if end < 0 else end
            continue
        yield at, char, quote
        at += 1


def _joins(line: str, at: int) -> bool:
    """Whether an ``&`` or ``||`` here separates commands; ``2>&1`` and a pipe do not."""
    if line[at] == "&":
        return line[at - 1 : at] not in (">", "<") and line[at + 1 : at + 2] != ">"
    return line[at : at + 2] == "||"


def rule_of(filters: Filters, host: str, payload: bytes) -> "Rule | None":
    """The rule by which the tool call in the payload is not to be kept; None when it is."""
    return verdict(filters, call_of(host, payload)) if filters else None


def leaves_out(filters: Filters, home: str, *, host: str, payload: bytes) -> bool:
    """Whether the tool call in the payload is not to be kept; then it is counted."""
    rule = rule_of(filters, host, payload)
    if rule is not None:
        count(home, rule)
    return rule is not None


# --- counting ------------------------------------------------------------------------


def count(home: str, rule: "Rule") -> None:
    """Count a call that was not kept, by one byte; silent where that cannot be written."""
    text = f"{rule[0]} {rule[1]}"
    path = f"{folder(home)}/{eids.sha256_hex(text.encode('utf-8', 'replace'))[:16]}"
    head = f"{time.time_ns() // 1_000_000} {text[:1024]}\n.".encode("utf-8", "replace")
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            os.mkdir(folder(home), 0o700)
        except FileExistsError:
            if os.path.islink(folder(home)):
                return
        try:
            fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            fd, head = os.open(path, flags), b"."
        try:
            whole = os.write(fd, head) == len(head)
        except OSError:
            whole = False
        finally:
            os.close(fd)
        if not whole and len(head) > 1:  # a file without its head could never be read
            os.unlink(path)
    except OSError:
        pass


def folder(home: str) -> str:
    return home + "/filtered"


def counts(home: str) -> "list[tuple[str, str, int, int]]":
    """(setting, what of it was met, how many calls, since when) of each rule, in order."""
    found: list[tuple[str, str, int, int]] = []
    try:
        names = os.listdir(folder(home))
    except OSError:
        return found
    for name in names:
        try:
            fd = os.open(f"{folder(home)}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            head, mark, _ = os.read(fd, _MAX_HEAD).partition(b"\n")
            size = os.fstat(fd).st_size
        except OSError:  # a folder
            continue
        finally:
            os.close(fd)
        # A second hook may have counted before the first had written what is counted.
        told = head.lstrip(b".")
        at, _, text = told.decode("utf-8", "replace").partition(" ")
        setting, _, glob = text.partition(" ")
        if mark and at.isascii() and at.isdigit() and setting:
            found.append((setting, glob, size - len(told) - 1, int(at[:18])))
    return sorted(found)
