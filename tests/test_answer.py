from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest
import recorded
from hookrun import entries, line, ready, silent
from support import clean_env, payload_bytes

from cmem import answer
from cmem.hosts.wire import HOSTS
from cmem.model import TurnEnded

HOW = HOSTS["copilot-cli"].transcripts["Stop"]
ANSWER = '{"type":"assistant.message","data":{"content":"%s"}}\n'
PROMPT = '{"type":"user.message","data":{"content":"do"}}\n'


def attached(path: object, payload: bytes = b"") -> object:
    """What is added to a payload that names ``path``; None for nothing."""
    given = payload or payload_bytes({"session_id": "s", "transcript_path": path})
    done = answer.attach(given, HOW)
    if done == given:
        return None
    document = json.loads(done)
    found = document.pop("cmem_answer")
    assert document == json.loads(given)
    return found


def test_the_last_answer_since_the_prompt_is_added(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(ANSWER % "old" + PROMPT + ANSWER % "first" + ANSWER % "last" + '{"type":"x"}\n')
    assert attached(str(file)) == {"type": "assistant.message", "data": {"content": "last"}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        ANSWER % "of the turn before" + PROMPT,
        PROMPT + '{"type":"assistant.message",cut off',
        PROMPT + "x" + ANSWER % "inside another line",
        PROMPT + ANSWER.replace("}}", ',"toolRequests":[{"name":"bash"}]}}') % "I will look",
    ],
    ids=["empty", "older", "broken", "inside", "goes on"],
)
def test_a_file_without_an_answer_changes_nothing(text: str, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(text)
    assert attached(str(file)) is None


def test_an_answer_that_is_written_a_moment_later_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(PROMPT)
    later = threading.Timer(answer.PAUSE_S * 1.5, file.write_text, [PROMPT + ANSWER % "late"])
    later.start()
    try:
        assert attached(str(file)) == {"type": "assistant.message", "data": {"content": "late"}}
    finally:
        later.join()


def test_only_the_end_of_a_long_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    filler = '{"type":"x","data":"' + "y" * answer.TAIL + '"}\n'
    file.write_text(PROMPT + ANSWER % "far" + filler)
    assert attached(str(file)) is None
    file.write_text(filler + ANSWER % "near")
    assert attached(str(file)) == {"type": "assistant.message", "data": {"content": "near"}}


@pytest.mark.parametrize("path", ["/nowhere/events.jsonl", "", None, 5, "nul\0byte", "/"])
def test_no_file_is_no_answer(path: object) -> None:
    assert attached(path) is None


def test_a_pipe_does_not_keep_the_hook_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert attached(str(tmp_path / "pipe")) is None


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"\xff", b"{}"])
def test_a_payload_that_names_no_file_stays_as_it_is(payload: bytes) -> None:
    assert answer.attach(payload, HOW) == payload


def test_the_hook_keeps_the_answer_and_none_of_its_secrets(home: Path, tmp_path: Path) -> None:
    secret = "gh" + "p_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    file = tmp_path / "events.jsonl"
    file.write_text(PROMPT + ANSWER % f"The token is {secret}; done.")
    stop = {"session_id": "s", "cwd": str(tmp_path), "transcript_path": str(file)}
    done = subprocess.run(
        ["/bin/sh", "-c", line(ready(home), "Stop", host="copilot-cli")],
        input=payload_bytes(stop),
        capture_output=True,
        timeout=30,
        check=False,
        env=clean_env(CMEM_AUTO_COMPRESS="0"),
    )
    assert silent(done)
    (entry,) = entries(home)
    told = json.loads(entry.payload)["cmem_answer"]["data"]["content"]
    assert told == "The token is [REDACTED:github]; done."
    event = recorded.decode("copilot-cli", "Stop", entry.payload)
    assert isinstance(event, TurnEnded)
    assert event.message == told
