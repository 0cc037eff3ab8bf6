"""What a person at a terminal is asked before ``cmem install`` writes: about the change, told in
short, and who is to make memories of sessions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cmem.cli import asking
from cmem.errors import CmemError
from cmem.install import provider, register
from cmem.plural import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmem.settings import Settings

SHORT, NARROW = 30, 2_000  # lines and characters of a change that is shown as it is
WHO = ", who is to make memories of your sessions (a mere Enter takes rules that cost nothing)"
QUESTIONS = (
    "You are asked whether to write this{} and, where there are past sessions, whether to bring "
    "them in. --yes asks nothing: it writes, {} and brings nothing in."
)


def there(options: Mapping[str, object]) -> bool:
    """Whether somebody is there who wants to be asked."""
    return not options.get("yes") and sys.stdin.isatty() and sys.stdout.isatty()


def to_write(
    plan: register.Plan,
    wanted: Mapping[str, Mapping[str, object]],
    *,
    title: str,
    line: str,
    choosing: bool,
) -> None:
    """Go on if the person agrees to the change; CmemError, with what to do next, if not.
    ``line``: the command that asks. ``choosing``: a provider is asked for as well."""
    if not plan.changes:
        return
    print(proposal(plan, wanted, title=title, line=line))
    print("\n" + questions(choosing=choosing))
    if not asking.agrees(f"Write this to {plan.target.named}?"):
        raise CmemError(
            f"nothing was changed: that was no y. `{line}` asks again, `{line} --yes` writes "
            f"without asking, `{line} --print` prints what to add by hand"
        )


def proposal(
    plan: register.Plan, wanted: Mapping[str, Mapping[str, object]], *, title: str, line: str
) -> str:
    """The change: itself if it is short, else what it amounts to."""
    diff = register.diff(plan)
    lines = diff.splitlines()[2:]
    if len(lines) <= SHORT and len(diff) <= NARROW:
        return diff.rstrip("\n")
    gone = sum(one.startswith("-") for one in lines)
    added = sum(one.startswith("+") for one in lines)
    hook = next(iter(wanted.values()))
    command = hook.get("command") or hook.get("bash") or ""
    return (
        f"{plan.target.named} is to have {len(wanted)} hooks by which {title} calls cmem:\n"
        f"  {', '.join(wanted)}\n"
        "Each runs a line like this one, and never keeps the host from its work:\n"
        f"  {command}\n"
        f"That adds {counted(added, 'line')} and takes out {gone}; nothing else in the file changes. "
        f"`{line} --dry-run` shows all of it."
    )


def questions(*, choosing: bool) -> str:
    """What is asked, told before the first of them."""
    who, chosen = (WHO, "takes the rules") if choosing else ("", "keeps who makes memories")
    return QUESTIONS.format(who, chosen)


def to_observe(chosen: Settings) -> str:
    """The provider the person wants; the one that costs nothing for a mere Enter."""
    print("\n" + "\n".join(provider.offer(chosen)))
    sys.stderr.write("Number or name [extract]: ")
    sys.stderr.flush()
    word = sys.stdin.readline()
    if not word.strip():
        return "extract"
    name = provider.picked(word)
    if not name:
        raise CmemError(f"no such provider: {word.strip()[:40]}; nothing was changed")
    return name
