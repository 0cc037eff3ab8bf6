"""The figures of search that `make eval` tells, and the store its bench is made of."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent.parent / "scripts"


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_held_out_answers_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    script = load("eval_search")
    assert script.main(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["cmem", "unicode61", "like"]
    ours, plain = found["cmem"]["test"], found["unicode61"]["test"]
    assert ours["questions"] == found["cmem"]["dev"]["questions"] == 360
    assert ours["mrr"] > plain["mrr"]
    languages = [name for name in found["cmem"] if name.startswith("test ")]
    assert languages == [f"test {one}" for one in ("en", "zh", "ja", "ko", "vi", "mixed")]


def test_losing_the_answers_ends_it_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    script = load("eval_search")
    monkeypatch.setattr(script, "ours", lambda _folder: lambda _text: [])
    assert script.main([]) == 1


def test_a_made_store_holds_its_plants_and_grows(home: Path) -> None:
    bench = load("bench_search")
    made = [bench.build(home, size, 60) for size in (600, 1100)]
    assert made == [600, 1100]
    assert bench.recall(home, 1100) == (1.0, 1.0)
    index, text, kib = bench.sizes(home, 1100)
    assert 0 < index < 3 * text and 0 < kib < 10
    bench.INSERTS = 5
    assert [len(took) for took in bench.inserts(home)] == [5, 5]
    assert list(bench.odd(home, 1100)) == []
    again = bench.build(home, 1100, 60)
    assert again >= 1100
