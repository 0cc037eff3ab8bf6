"""The goals of scrubbing as figures: what is found, what is left alone, what it costs."""

from __future__ import annotations

import json
import sysconfig
import time
from pathlib import Path

import pytest
import secret_forms
from support import CLAUDE_CODE

from cmem.hosts.wire import HOSTS
from cmem.privacy import gates, rules, second, second_rules, secret_names
from cmem.privacy.scrub import scrub_payload

VALUES = 20
SHAPE = HOSTS["claude-code"].shape


def survives(secret: str, text: str) -> bool:
    """Whether the secret, or as much of it as would help to guess it, is still there."""
    size = min(8, len(secret))
    return secret[:size] in text or secret[-size:] in text or secret in text


def test_tokens_of_known_formats_go(capsys: pytest.CaptureFixture[str]) -> None:
    draw = secret_forms.drawing(101)
    builders = [one for many in secret_forms.SECOND.values() for one in many]
    builders += secret_forms.FIRST.values()
    all_of_them = missed = 0
    for build in builders:
        for context in secret_forms.CONTEXTS.values():
            for _ in range(VALUES):
                secret = build(draw)
                clean = second.scrub(context.format(secret))
                all_of_them += 1
                # What stands in front of a format is no secret, so its tail decides.
                missed += secret[-12:] in clean
    with capsys.disabled():
        print(f"\nformats: {len(builders)}, {all_of_them - missed} of {all_of_them} cut", end="")
    assert len(builders) >= 25
    assert missed <= all_of_them // 100


def test_assignments_as_people_write_them_go(capsys: pytest.CaptureFixture[str]) -> None:
    draw = secret_forms.drawing(102)
    missed: list[str] = []
    for template, build in secret_forms.ASSIGNMENTS:
        for _ in range(VALUES):
            secret = build(draw)
            if survives(secret, second.scrub(template.format(secret))):
                missed.append(template)
    tried = len(secret_forms.ASSIGNMENTS) * VALUES
    with capsys.disabled():
        print(f"\nassignments: {tried - len(missed)} of {tried} cut", end="")
    assert len(missed) <= tried // 20, sorted(set(missed))


PATHS = (
    ".env", ".env.local", "prod.env", "server.pem", "tls.key", "id_rsa", ".npmrc", ".netrc",
    ".aws/credentials", ".kube/config", "terraform.tfvars", "secrets.yml", ".ssh/work",
    ".docker/config.json", "gcp-credentials.json", ".git-credentials",
)  # fmt: skip
COMMANDS = (
    "cat {}", "head -5 {}", "sed -n 1p {}", "grep KEY {}", "git diff {}", "source {}; ls",
    "docker run --env-file {} x",
)  # fmt: skip
REVEALING = ("env", "printenv", "export -p", "env | sort", "docker inspect web", "gh auth token",
             "kubectl get secret x -o yaml", "vault kv get a", "terraform output")  # fmt: skip


def test_what_sensitive_sources_hold_goes() -> None:
    draw = secret_forms.drawing(103)
    inputs: list[dict[str, str]] = [{"file_path": f"/w/{path}"} for path in PATHS]
    inputs += [{"command": one.format(path)} for one in COMMANDS for path in PATHS]
    inputs += [{"command": command} for command in REVEALING]
    for given in inputs:
        secret = "x " + draw(6, secret_forms.LOWER)
        raw = json.dumps({"tool_input": given, "tool_response": {"stdout": secret}}).encode()
        assert gates.hit(raw), given
        assert secret.encode() not in scrub_payload(raw, SHAPE), given


def test_the_standard_library_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    found: list[str] = []
    size = 0
    began = time.process_time()
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if {"site-packages", "dist-packages"} & set(path.parts):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        size += len(text)
        clean = second.scrub(text)
        found += [f"{path.name}: {mark}" for mark in second.MARK.findall(clean)]
        assert not clean.startswith("[UNSCANNED"), path
    seconds = time.process_time() - began
    with capsys.disabled():
        print(
            f"\nstandard library: {len(found)} hits in {size / 1e6:.1f} MB, "
            f"{seconds * 16_384_000 / size:.1f} ms per 16 kB",
            end="",
        )
    assert len(found) <= 0.5 * size / 1e6, found


def test_recorded_payloads_are_left_alone() -> None:
    for path in sorted(CLAUDE_CODE.glob("*.json*")):
        text = path.read_text(encoding="utf-8")
        assert second.MARK.findall(second.scrub(text)) == second.MARK.findall(text), path.name


# --- hostile text ----------------------------------------------------------------------------

LITERALS = sorted(
    {
        *secret_names.LITERALS,
        *(text for rule in second_rules.FORMATS for text in rule[1]),
        *(text for rule in rules.TOKENS + rules.LABELLED for text in rule[1]),
        *(text for rule in second_rules.SETTINGS for text in rule[1]),
        *(text for tools, _ in second_rules.TOOLS for text in tools),
        "key_", "api_key=", "://a:", 'password="', "password: a1B2", "--password ", "token is ",
        "cookie: a=b;", "curl -u a:", "mysql -p", "-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaa.",
        'pass"value"', "<password>", "basic aaaa", "auth(", "password=(", "curl \\\n", '"', "A",
        '"key": {"', "secret_key=Aa1", "[REDACTED:", "key" + " " * 39, "password: str = ",
    }
)  # fmt: skip


def test_hostile_text_ends_soon() -> None:
    """64 KiB of any literal take 60 ms at most (measured); the bound leaves room for a busy
    machine, and a pattern of square cost takes seconds."""
    pieces = [*LITERALS, "".join(LITERALS)]
    slow = [piece for piece in pieces for tail in ("", "=", " ") if _worst(piece + tail) > 0.4]
    assert slow == []


def _worst(piece: str) -> float:
    text = (piece * (65_536 // len(piece) + 1))[:65_536]
    began = time.process_time()
    second.scrub(text)
    return time.process_time() - began


def test_a_text_of_nothing_but_names_is_not_scanned() -> None:
    text = "password: a1B2" * 8_000
    assert second.scrub(text) == f"[UNSCANNED {len(text)} bytes]"
    assert second.scrub("x" * (second.MAX_TEXT + 1)) == f"[UNSCANNED {second.MAX_TEXT + 1} bytes]"
