"""What stands beside the payload, and what is left where there is no payload, holds no secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import secret_forms
from hookrun import entries, everything, fire, ready, silent

from cmem import bundle, here, ingest, malformed
from cmem.hosts.wire import HOSTS
from cmem.model import Entry, Repo
from cmem.privacy import beside

TOKEN = secret_forms.FIRST["github"](secret_forms.drawing(41))
WIRE = HOSTS["claude-code"]


def use(cwd: Path, **more: object) -> bytes:
    payload = {"session_id": "s1", "cwd": str(cwd), "tool_name": "Read", "tool_use_id": "t1"}
    return json.dumps(payload | more).encode()


def test_branch_and_project_of_a_secret_s_name(home: Path, tmp_path: Path) -> None:
    git = tmp_path / "w" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text(f"ref: refs/heads/fix/{TOKEN}\n", encoding="utf-8")
    project = "x" * 230 + " " + TOKEN
    assert silent(fire(ready(home), "PostToolUse", use(git.parent), CMEM_PROJECT=project))
    (entry,) = entries(home)
    assert (entry.repo.branch, entry.project_env) == (
        "fix/[REDACTED:github]",
        ("x" * 230 + " [REDACTED:github]")[:256],
    )
    assert TOKEN[-12:].encode() not in everything(home)
    asked = here.identity_of(str(git.parent), {"CMEM_PROJECT": project})
    stored = here.identity_of(str(git.parent), {"CMEM_PROJECT": entry.project_env})
    assert asked == stored
    assert TOKEN not in repr(asked)


def test_branch_that_says_what_a_secret_is() -> None:
    repo = Repo("/w", "/w/.git", "fix/DB_PASSWORD=a1B2c3D4e5\x1b[0m", "")
    raw = use(Path("/w"), tool_input={"file_path": "a"}, hook_event_name="PostToolUse")
    entry = Entry(0, "e1", "claude-code", "PostToolUse", 1, "/w", repo, "", raw)
    assert ingest.decode(entry).origin.repo.branch == "fix/DB_PASSWORD=[REDACTED:password]"


def test_folder_that_a_link_leads_to(home: Path, tmp_path: Path) -> None:
    (tmp_path / TOKEN / ".git").mkdir(parents=True)
    (tmp_path / TOKEN / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(TOKEN)
    assert silent(fire(ready(home), "PostToolUse", use(tmp_path / "link")))
    (entry,) = entries(home)
    assert entry.repo.root == f"{tmp_path}/[REDACTED:github]"
    assert TOKEN[-12:].encode() not in everything(home)


@pytest.mark.parametrize("name", ["main", "feature/env", "fix-sk-ip", "task-list", "x/.ssh", "é"])
def test_other_names_stay(name: str) -> None:
    assert beside(name) == name


def test_session_of_a_payload_that_is_no_json(home: Path) -> None:
    raw = b'{"tool_response":{"session_id":"%s"}, BROKEN' % TOKEN.encode()
    stub = json.loads(malformed.stub("malformed", raw, wire=WIRE, event="PostToolUse"))
    assert stub["session_id"].startswith("x")
    assert silent(fire(ready(home), "PostToolUse", raw))
    assert len(entries(home)) == 1
    assert TOKEN[-12:].encode() not in everything(home)
    plain = b'{"session_id":"s-1", BROKEN'
    stub = json.loads(malformed.stub("malformed", plain, wire=WIRE, event="PostToolUse"))
    assert stub["session_id"] == "s-1"


def test_session_where_the_package_is_gone(home: Path) -> None:
    ready(home)
    Path(bundle.path(str(home))).unlink()
    script = home / "hook.py"
    text = script.read_text(encoding="utf-8")
    start = text.index("PATHS = ")
    script.write_text(
        text[:start] + "PATHS = ()" + text[text.index("\n", start) :], encoding="utf-8"
    )
    cases: list[tuple[str, str, object]] = [
        (TOKEN, "", "<private>y"),
        ("s-1", "s-1", {"structuredPatch": [{"lines": ["+<private>", "+y", "+</private>"]}]}),
        (
            "s-1",
            "s-1",
            [{"type": "text", "text": "<priv\u200bate>"}, {"type": "text", "text": "y"}],
        ),
        ("s-1", "s-1", {"command": ["bash", "-lc", "env"], "y": "y"}),
        ("s-1", "s-1", "<\u0440rivate>y"),
    ]
    for session, kept, found in cases:
        document = {"tool_response": {"session_id": session}, "x": found}
        assert silent(fire(home, "PostToolUse", json.dumps(document).encode()))
        (file,) = (home / "spill").glob("*.event")
        stub = json.loads(file.read_bytes().partition(b"\n")[2])
        assert (stub["cmem_stub"], stub["session_id"]) == ("unscrubbed", kept)
        file.unlink()
