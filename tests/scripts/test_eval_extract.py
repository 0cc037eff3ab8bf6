"""The share of planted facts that is kept, as `make eval` tells it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "eval_extract.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("eval_extract", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_enough_is_kept_of_both_parts(script: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main([]) == 0
    told = capsys.readouterr().out
    heads = [line.partition(":")[0] for line in told.splitlines() if line and line[0] != " "]
    assert heads == ["written", "held out"]
    assert len(script.PARTS["written"]) >= 20
    assert len(script.PARTS["held out"]) == 8


def test_what_is_lost_counts_and_ends_it_with_1(
    script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session = script.heldout.SESSIONS["tr ansible proxy"]
    lost = ("never said",) * len(session.planted)
    monkeypatch.setitem(script.PARTS, "held out", {"tr x": session._replace(planted=lost)})
    assert script.main([]) == 1
    assert "  lost  tr x: never said" in capsys.readouterr().out.splitlines()


def test_a_fact_is_counted_where_it_stood(script: Any) -> None:
    units = script.making.units(script.heldout.SESSIONS["tr ansible proxy"])
    kinds = {
        "Sertifika ayarlarına dokunma": "the user's words",
        "host not found in upstream": "a failure",
        "client_max_body_size 8m & client_max_body_size 50m": "an edit",
        "ok=6 & failed=0": "a result",
        "playbook henüz çalıştırılmadı": "the answer",
        "Sertifika & playbook henüz": script.JOINED,
    }
    assert {fact: script.kind_of(units, fact) for fact in kinds} == kinds
