"""Settings and provider, as a run that a hook starts will see them."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from cmem import paths, setting_table, settings
from cmem.doctor.finding import ERROR, OK, WARN, Finding
from cmem.errors import CmemError
from cmem.observer import providers
from cmem.observer.errors import told
from cmem.observer.providers import about, child, claude_cli
from cmem.settings import Settings

LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Of other programs: cmem never takes a key or an endpoint from them.
THEIRS = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
    *("ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_MODEL", "CLAUDE_CODE_OAUTH_TOKEN"),
)
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE")
VERSION_S = 10


def load(home: str) -> tuple[Settings | None, str]:
    """(the settings of a background run, "") or (None, what is wrong with them)."""
    try:
        chosen = settings.load(home, env={}, flags={}, trusted_env=False)
        providers.get(chosen)
    except CmemError as error:
        return None, str(error)
    return chosen, ""


def check(home: str, env: Mapping[str, str]) -> tuple[Settings | None, list[Finding]]:
    """The settings where they can be read, and the findings about them. ``env``: the variables
    that a hook's host would have, if it were started here."""
    chosen, trouble = load(home)
    config = paths.config_file(home)
    if chosen is None:
        return None, [Finding(ERROR, "settings file", trouble, f"correct {config}")]
    in_background = {name: env[name] for name in child.KEPT if name in env}
    in_background["CMEM_STARTED_BY"] = "hook"
    found = [judge_provider(chosen, in_background, config=config), *judge_endpoint(chosen)]
    found += judge_environment(chosen, env)
    return chosen, [*found, *judge_config(chosen, config=config, mode=_mode(config))]


def judge_provider(chosen: Settings, env: Mapping[str, str], *, config: str) -> Finding:
    """The provider has what it needs in a run with these variables."""
    if chosen.provider == "extract":
        return Finding(OK, "provider", "extract: by rules, on this machine")
    if chosen.provider == "anthropic" and not chosen.api_key:
        detail = "anthropic has no key in background runs, so turns wait"
        return Finding(ERROR, "provider", detail, f'write api_key = "…" into {config}')
    lacks = about.lacks(chosen, env)
    if lacks:
        detail = f"{chosen.provider} lacks {lacks.partition(':')[0]} in background runs, so turns "
        fix = "`cmem provider use " + chosen.provider + "` sets it up"
        return Finding(ERROR, "provider", detail + "wait", fix)
    if chosen.provider == claude_cli.NAME:
        return judge_claude(claude_cli.find(chosen.claude_path, env), chosen, env)
    if chosen.provider == "command":
        return Finding(OK, "provider", f"command: {told(chosen.command, 80)}")
    where = urlsplit(chosen.base_url).hostname or "its own address"
    return Finding(OK, "provider", f"{chosen.provider} at {where}")


def judge_claude(path: str, chosen: Settings, env: Mapping[str, str]) -> Finding:
    """The program runs, and is new enough to be asked without hooks, tools and trace."""
    try:
        said = subprocess.run(
            [path, "--version"],
            env=claude_cli.environment(env, chosen),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_S,
            check=False,
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError) as error:
        detail = f"{path} does not run: {type(error).__name__}"
        return Finding(ERROR, "provider", detail, f"{path} --version")
    version = told(said, 40).partition(" ")[0]
    if _numbers(version) < _numbers(claude_cli.SINCE):
        detail = f"{path} is version {version or 'unknown'}, claude-cli needs {claude_cli.SINCE}"
        return Finding(ERROR, "provider", detail, "claude update")
    folder = chosen.claude_config_dir or "its usual folder"
    return Finding(OK, "provider", f"claude-cli: {path} ({version}), with the login in {folder}")


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


def judge_environment(chosen: Settings, env: Mapping[str, str]) -> Iterator[Finding]:
    """Variables that a person may count on and that background runs do not take."""
    if chosen.provider == "extract":
        return
    ours = [one.env for one in setting_table.SETTINGS if one.guarded and env.get(one.env)]
    if ours:
        yield _ignored(ours, "count for commands you type only", "write them into config.toml")
    proxies = _named(env, PROXIES)
    if proxies and not chosen.proxy and not _is_here(chosen):
        fix = 'write proxy = "http://…" into config.toml, if the provider is not reached without'
        yield _ignored(proxies, "background runs go without a proxy", fix)
    certificates = _named(env, CERTIFICATES)
    if certificates and not chosen.ca_file and not _is_here(chosen):
        # Some systems always set them, so that this is no fault.
        said = "not used by background runs; the setting ca_file adds certificates"
        yield Finding(OK, "environment", f"{', '.join(certificates)}: {said}")
    if chosen.provider == claude_cli.NAME and not chosen.claude_config_dir:
        named = _named(env, ("CLAUDE_CONFIG_DIR",))
        if named:
            fix = "`cmem provider use claude-cli` writes it into config.toml"
            yield _ignored(named, "background runs use the login of the usual folder", fix)
    theirs = _named(env, THEIRS)
    if theirs:
        detail = f"{', '.join(theirs)}: of other programs, not used by cmem"
        yield Finding(OK, "environment", detail)


def _ignored(names: list[str], what: str, fix: str) -> Finding:
    return Finding(WARN, "environment", f"{', '.join(names)}: {what}", fix)


def _named(env: Mapping[str, str], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if env.get(name) or env.get(name.lower())]


def _is_here(chosen: Settings) -> bool:
    return chosen.provider == "anthropic" and urlsplit(chosen.base_url).hostname in LOOPBACK


def judge_endpoint(chosen: Settings) -> Iterator[Finding]:
    """Plain http on a network can be read by whoever is on it."""
    if chosen.provider == "extract" or not chosen.base_url:
        return
    address = urlsplit(chosen.base_url)
    if address.scheme == "http" and address.hostname not in LOOPBACK:
        detail = f"turns and key go to {address.hostname} over plain http, readable on the network"
        yield Finding(
            WARN, "endpoint", detail, "write an https:// address as base_url into config.toml"
        )


def judge_config(chosen: Settings, *, config: str, mode: int | None) -> Iterator[Finding]:
    """A file with a key in it is its owner's alone. ``mode`` is None when there is no file."""
    if mode is None:
        yield Finding(OK, "settings file", "none, so the defaults hold")
    elif chosen.api_key and mode & 0o077:
        detail = f"{config} holds a key and others can read it (mode {mode:04o})"
        yield Finding(WARN, "settings file", detail, f"chmod 600 '{config}'")
    else:
        yield Finding(OK, "settings file", f"{config} can be read")


def _mode(path: str) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return None
