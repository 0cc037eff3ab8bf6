from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location(
        "eval_context", ROOT / "scripts" / "eval_context.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["eval_context"] = module
    spec.loader.exec_module(module)
    return module


def test_what_is_told_concerns_the_next_prompt(
    script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "PROJECTS", 8)
    found = script.relevance()
    assert found.chosen >= script.LEAST_SHARE
    assert found.chosen - found.newest >= script.LEAST_LEAD


def test_a_made_session_is_small_and_whole(script: Any) -> None:
    made = script.session(20)
    assert (made.kept, made.planted) == (2, 2)
    assert made.evidence / made.read > script.LEAST_RATIO


@pytest.mark.slow
def test_every_recorded_session_is_told_of(script: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main() == 0
    told = capsys.readouterr().out.split("\n")
    named = [line.partition(":")[0] for line in told if " tokens of evidence, " in line]
    assert named[len(script.CALLS) :] == list(script.RECORDED)


def test_a_recorded_session_may_hold_nothing_worth_remembering(script: Any) -> None:
    assert script._told(script.Session(2, 300, 0, 0, 0)) == "in which nothing was worth remembering"
    assert script._told(script.Session(2, 300, 60, 0, 0)) == "60 read, 5.0 : 1"
