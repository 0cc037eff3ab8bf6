"""A provider that is an agent itself, with our hooks: none of its events is anybody's memory."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hookrun import entries, fire, kinds, line, ready, silent
from programs import head_of
from support import ROOT, clean_env, payload_bytes, run_cmem, run_json

from cmem import intake, lock
from cmem.observer.providers import claude_cli

OURS = {
    "environment": ({}, {"CMEM_OBSERVER": "1"}),
    "folder": ({"cwd": "/tmp/cmem-observer-x1"}, {}),
    "session": ({"session_id": claude_cli.new_session()}, {}),
    "prompt": ({"prompt": f"{intake.OWN_PROMPT}\nRecord this turn."}, {}),
    "quoted prompt": ({"prompt": f'"{intake.OWN_PROMPT}\nRecord this turn."'}, {}),
}


def prompt(**changes: str) -> bytes:
    base = {"session_id": "s1", "cwd": os.environ["HOME"], "prompt_id": "p1", "prompt": "Hello."}
    return payload_bytes({"hook_event_name": "UserPromptSubmit", **base, **changes})


@pytest.mark.parametrize("mark", OURS)
def test_each_mark_alone_is_enough(mark: str, home: Path) -> None:
    ready(home)
    changes, env = OURS[mark]
    done = subprocess.run(
        ["/bin/sh", "-c", line(home, "UserPromptSubmit")],
        input=prompt(**changes),
        env=clean_env(**env),
        capture_output=True,
        timeout=30,
    )
    assert silent(done)
    assert kinds(home) == (0, 0, 0)
    assert not (home / "compress.lock").exists()


def test_what_only_tells_of_the_marks_is_the_users(home: Path) -> None:
    ready(home)
    told = f"What does {intake.OWN_PROMPT} mean, and {intake.OWN_SESSION}?"
    fire(home, "UserPromptSubmit", prompt(prompt=told))
    fire(home, "UserPromptSubmit", prompt(session_id="s2", cwd="/tmp/my-cmem-observer-x"))
    assert len(entries(home)) == 2


def test_a_session_known_by_its_prompt_alone_becomes_nothing(home: Path) -> None:
    ready(home)
    base = {"session_id": "s1", "cwd": os.environ["HOME"]}
    for event, more in (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": f"{intake.OWN_PROMPT}\nx", "prompt_id": "p1"}),
        ("Stop", {"last_assistant_message": "<observation><title>x</title></observation>"}),
        ("SessionEnd", {"reason": "other"}),
    ):
        fire(home, event, payload_bytes({"hook_event_name": event, **base, **more}))
    report = run_json("compress", "--all")
    assert (report["observations"], report["summaries"], report["pending"]) == (0, 0, 0)
    assert run_json("status")["counts"]["sessions"] == 0


def test_a_request_inside_a_prompt_is_our_own_while_a_run_asks(home: Path) -> None:
    ready(home)
    told = f"Do what follows.\n\n{intake.OWN_PROMPT}\nRecord this turn."
    fire(home, "UserPromptSubmit", prompt(prompt=told))
    assert len(entries(home)) == 1  # pasted by a person
    held = lock.acquire(str(home / "compress.lock"))
    assert held is not None
    fire(home, "UserPromptSubmit", prompt(session_id="s2", prompt=told))
    stop = {"hook_event_name": "Stop", "session_id": "s2", "last_assistant_message": "Hi."}
    fire(home, "Stop", payload_bytes(stop | {"cwd": os.environ["HOME"]}))
    fire(home, "UserPromptSubmit", prompt(session_id="s3"))
    lock.release(held)
    told_of = [json.loads(one.payload)["session_id"] for one in entries(home)]
    assert told_of == ["s1", "s3"]


# A stand-in for an agent that runs our hooks for its own session, and even a run of its own. What
# it is told in ``LEAVE`` it takes away: the variable, the folder.
AGENT = """{head}import json, os, subprocess, sys
request = sys.stdin.read()
env = dict(os.environ)
cwd = os.getcwd()
with open({calls!r}, "a") as file:
    file.write(json.dumps([env.get("CMEM_OBSERVER"), cwd]) + "\\n")
if "variable" in {leave!r}:
    env.pop("CMEM_OBSERVER")
if "folder" in {leave!r}:
    cwd = {elsewhere!r}
base = {{"session_id": "agent-" + str(os.getpid()), "cwd": cwd, "prompt_id": "p1"}}
for event, more in (
    ("SessionStart", {{"source": "startup"}}),
    ("UserPromptSubmit", {{"prompt": request}}),
    ("Stop", {{"last_assistant_message": "<skip_summary/>"}}),
    ("SessionEnd", {{"reason": "other"}}),
):
    payload = json.dumps({{"hook_event_name": event, **base, **more}}).encode()
    subprocess.run(["/bin/sh", "-c", {line!r}.replace("EVENT", event)], input=payload, env=env, cwd=cwd, check=True)
ran = subprocess.run([{python!r}, "-m", "cmem", "compress", "--wait", "0"], capture_output=True, text=True,
    env=env | {{"PYTHONPATH": {root!r}, "CMEM_HOME": {home!r}}}, cwd=cwd)
with open({calls!r} + ".compress", "a") as file:
    file.write(str(ran.returncode) + " " + ran.stderr)
print('<skip_summary reason="nothing"/>')
"""


@pytest.fixture
def agent(home: Path, tmp_path: Path) -> Any:
    """The line of the setting ``command`` that runs the agent, and what it did."""

    def make(*leave: str) -> tuple[str, Path]:
        path, calls, elsewhere = tmp_path / "agent", tmp_path / "calls", tmp_path / "elsewhere"
        elsewhere.mkdir()
        text = AGENT.format(
            head=head_of("-IS"),
            python=sys.executable,
            root=str(ROOT),
            home=str(home),
            calls=str(calls),
            leave=leave,
            elsewhere=str(elsewhere),
            line=line(home, "EVENT"),
        )
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path), calls

    return make


LEFT = [(), ("variable",), ("folder",), ("variable", "folder")]


@pytest.mark.parametrize("leave", LEFT, ids=lambda leave: "-".join(leave) or "nothing")
def test_an_agent_with_our_hooks_does_not_observe_itself(
    leave: tuple[str, ...], home: Path, agent: Any
) -> None:
    ready(home)
    command, calls = agent(*leave)
    (home / "config.toml").write_text(f'provider = "command"\ncommand = "{command}"\n')
    fire(home, "UserPromptSubmit", prompt())
    stop = {"hook_event_name": "Stop", "session_id": "s1", "last_assistant_message": "Hi."}
    fire(home, "Stop", payload_bytes(stop | {"cwd": os.environ["HOME"]}))
    report = run_json("compress")
    assert (report["calls"], report["skipped"], report["pending"]) == (1, 1, 0)
    time.sleep(0.5)  # what the agent's hooks may have started
    assert (run_json("compress", "--wait", "30")["calls"], len(calls.read_text().splitlines())) == (
        0,
        1,
    )
    assert run_json("status")["counts"]["sessions"] == 1
    mark, folder = json.loads(calls.read_text())
    assert mark == "1" and "/cmem-observer-" in folder
    ran = Path(f"{calls}.compress").read_text()
    if "variable" in leave:
        assert ran.startswith("75 ")  # the run that asks holds the lock
    else:
        assert ran == (
            "1 cmem: this runs inside cmem's own observer (CMEM_OBSERVER): nothing was done\n"
        )


def test_compress_refuses_inside_the_observer(home: Path) -> None:
    done = run_cmem("compress", "--json", CMEM_OBSERVER="1")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"CMEM_OBSERVER" in done.stderr
