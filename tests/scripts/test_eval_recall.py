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
        "eval_recall", ROOT / "scripts" / "eval_recall.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["eval_recall"] = module
    spec.loader.exec_module(module)
    return module


def test_recall_speaks_where_it_should_and_only_there(script: Any, tmp_path: Path) -> None:
    conn, keys = script.store(tmp_path)
    for part in script.PARTS:
        for found in (script.shares(conn, keys, part), script.failing(conn, part)):
            assert found.carried >= script.LEAST_CARRIED
            assert found.silent >= script.LEAST_SILENT
    conn.close()
