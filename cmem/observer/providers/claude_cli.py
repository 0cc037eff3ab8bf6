"""The user's own Claude Code as the model: one request without hooks, tools, memory or trace.

The login is Claude Code's own, so a subscription pays. What isolates the call is listed in
``FLAGS``; that our own hooks would ignore it nevertheless is the job of three marks, each of
them enough: ``CMEM_OBSERVER``, the folder's name, the session's id and the prompt's beginning.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from cmem import intake, settings
from cmem.model import Usage
from cmem.observer import prompt
from cmem.observer.errors import ProviderError, UnusableReply
from cmem.observer.providers import child, claude_trouble, sentences
from cmem.observer.providers.asked import Asked, Model, count
from cmem.observer.providers.settings import ProviderSettings

NAME = "claude-cli"
MODEL = "haiku"
SINCE = "2.1.169"
FLAGS = (
    *("-p", "--output-format", "json"),
    *("--safe-mode", "--tools", "", "--strict-mcp-config"),
    *("--no-session-persistence", "--disable-slash-commands", "--max-turns", "1"),
)
# Where its installers put it, should PATH not say: a background run has the host's PATH.
PLACES = (
    *("~/.local/bin/claude", "~/.claude/local/claude"),
    *("/usr/local/bin/claude", "/opt/homebrew/bin/claude"),
)


class ClaudeCli(NamedTuple):
    """One program, one model, one login."""

    path: str
    model: str
    env: tuple[tuple[str, str], ...]
    timeout_s: float


def provider(chosen: ProviderSettings) -> Model:
    return Model(NAME, partial(ask, settle(chosen)))


def settle(chosen: ProviderSettings) -> ClaudeCli:
    """What the settings say of it."""
    env = settings.environment()
    return ClaudeCli(
        path=find(chosen.claude_path, env),
        model=chosen.model or MODEL,
        env=tuple(environment(env, chosen).items()),
        timeout_s=float(chosen.timeout_s),
    )


def find(named: str, env: Mapping[str, str]) -> str:
    """The program: the one that is named, else where an installer or PATH has it; "" for none.

    A relative entry of PATH is no place for a program."""
    return next((path for path in _candidates(named, env) if _is_program(path)), "")


def _candidates(named: str, env: Mapping[str, str]) -> Iterator[str]:
    if named:
        yield os.path.expanduser(named)
        return
    folders = [one for one in env.get("PATH", "").split(os.pathsep) if os.path.isabs(one)]
    places = [os.path.expanduser(one) for one in PLACES]
    on_path = [os.path.join(folder, "claude") for folder in folders]
    # A run that a person started goes by PATH, as the shell does.
    yield from on_path + places if settings.trusts_environment(env) else places + on_path


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def environment(env: Mapping[str, str], chosen: ProviderSettings) -> dict[str, str]:
    """What Claude Code gets to know: nothing of the session that may have started us."""
    folder = os.path.expanduser(chosen.claude_config_dir)
    if not folder and settings.trusts_environment(env):
        folder = env.get("CLAUDE_CONFIG_DIR", "")
    more = {"CLAUDE_CONFIG_DIR": folder} if folder else {}
    wait_ms = int(chosen.timeout_s * 1000)
    return {
        **child.environment(env, chosen),
        **more,
        "API_TIMEOUT_MS": str(wait_ms),
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "4096",
        "CLAUDE_CODE_DISABLE_THINKING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }


def arguments(who: ClaudeCli, request: prompt.Request) -> list[str]:
    """The command line; nothing that was recorded is on it, because others can read it."""
    words = [who.path, *FLAGS, "--session-id", new_session()]
    return [*words, "--model", who.model, "--system-prompt", request.system]


def new_session() -> str:
    """A session id of its own, and one that our hooks know as ours."""
    word = secrets.token_hex(9)
    return f"{intake.OWN_SESSION}{word[:3]}-a{word[3:6]}-{word[6:]}"


def ask(who: ClaudeCli, request: prompt.Request) -> Asked:
    """One call."""
    if not who.path:
        said = "no program `claude` found; install Claude Code, or name it by the setting"
        raise ProviderError("config", f"{said} claude_path")
    text = f"{intake.OWN_PROMPT}\n{request.user}"
    try:
        ended = child.run(arguments(who, request), text, env=dict(who.env), timeout_s=who.timeout_s)
    except child.LateError:
        said = f"claude did not answer within {who.timeout_s:g} s"
        raise ProviderError("transport", f"{said} (setting timeout_s)") from None
    except child.LoudError:
        raise UnusableReply("claude printed more than any reply has", served=True) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ProviderError("config", f"{who.path} cannot be started: {reason}") from None
    return read(ended, who, now=time.time())


def read(ended: child.Ended, who: ClaudeCli, *, now: float) -> Asked:
    """The reply in what it printed; raises what its failure is."""
    answer = _answer(ended.out)
    if answer is None:
        raise claude_trouble.of_words(ended.complaint or ended.out, ended.code, now=now)
    usage = _usage(answer)
    result = answer.get("result")
    text = result if isinstance(result, str) else ""
    if answer.get("is_error") is not False or ended.code:
        raise claude_trouble.of_answer(answer, usage=usage, model=who.model, now=now)
    limit = sentences.of_limit(text, now=now, usage=usage)
    if limit is not None:
        raise limit
    return Asked(text, str(answer.get("stop_reason") or ""), _model(answer, who), usage, ())


def _answer(out: str) -> dict[str, Any] | None:
    """The one JSON object it prints, whatever else stands before it."""
    for line in reversed(out.strip().split("\n")):
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict) and ("is_error" in found or "result" in found):
                return found
    return None


def _usage(answer: Mapping[str, Any]) -> Usage:
    given = answer.get("usage")
    given = given if isinstance(given, dict) else {}
    cost = answer.get("total_cost_usd")
    return Usage(
        input_tokens=count(given.get("input_tokens")),
        output_tokens=count(given.get("output_tokens")),
        cache_read_tokens=count(given.get("cache_read_input_tokens")),
        cache_write_tokens=count(given.get("cache_creation_input_tokens")),
        cost_usd=round(cost, 6) if isinstance(cost, (int, float)) and 0 < cost < 1e6 else 0.0,
    )


def _model(answer: Mapping[str, Any], who: ClaudeCli) -> str:
    """The model that wrote most of the answer, by its full name."""
    used = answer.get("modelUsage")
    if not isinstance(used, dict) or not used:
        return who.model
    written = {
        name: count(one.get("outputTokens")) for name, one in used.items() if isinstance(one, dict)
    }
    return max(written, key=lambda name: written[name]) if written else who.model
