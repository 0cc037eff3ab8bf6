"""The layout check: what it lets pass, and what each breach says."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support import ROOT


def _load() -> ModuleType:
    name = "check_layout"
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


check_layout = _load()


def _check(root: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [str(one) for one in check_layout.check(root, allowed={}, limits={})]


GOOD = {
    "cmem/__init__.py": "",
    "cmem/errors.py": "class CmemError(Exception):\n    pass\n",
    "cmem/paths.py": "import os\n\ndef home(env: dict[str, str] = os.environ) -> str:\n    return ''\n",
    "cmem/spool.py": "import apsw\nfrom cmem import paths\n\ndef f():\n    import json\n",
    "cmem/store/__init__.py": "",
    "cmem/store/ledger.py": "import json\nimport apsw\nfrom cmem.errors import CmemError\n",
    "cmem/hosts/__init__.py": "",
    "cmem/hosts/claude_code.py": "FIELD = 'transcript_path'\n",
    "cmem/compress.py": (
        "from typing import TYPE_CHECKING\nfrom cmem import spool\nfrom cmem.store import ledger\n"
        "if TYPE_CHECKING:\n    import apsw\n"
        "def f(conn, a, b, c, *, d):\n    pass\n"
    ),
    "cmem/cli/__init__.py": "",
    "cmem/cli/app.py": "import typer\nfrom rich import text\nfrom cmem import compress\n",
}


def test_a_good_tree_has_no_breach(tmp_path: Path) -> None:
    assert _check(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("name", "text", "breach"),
    [
        (
            "cmem/store/ledger.py",
            "from cmem import compress\n",
            "cmem/store/ledger.py:1: layer: must not import compress: it stands above",
        ),
        (
            "cmem/errors.py",
            "def f():\n    from cmem.cli.app import x\n",
            "cmem/errors.py:2: layer: must not import cli.app: it stands above",
        ),
        (
            "cmem/store/ledger.py",
            "import cmem.spool\n",
            "cmem/store/ledger.py:1: stranger: must not import spool: join them in a layer above",
        ),
        (
            "cmem/hosts/claude_code.py",
            "from ..store import ledger\n",
            "cmem/hosts/claude_code.py:1: stranger: must not import store.ledger: "
            "join them in a layer above",
        ),
        (
            "cmem/somewhere.py",
            "",
            "cmem/somewhere.py:1: layer: add it to LAYERS in scripts/check_layout.py",
        ),
        (
            "cmem/compress.py",
            "import apsw\n",
            "cmem/compress.py:1: owner: only driver, hook, importers.claude_mem_db, "
            "spool, spool_check, spool_repair, spooled, store may use apsw",
        ),
        (
            "cmem/compress.py",
            "def f():\n    from rich.text import Text\n",
            "cmem/compress.py:2: owner: only cli may use rich",
        ),
        (
            "cmem/cli/app.py",
            "import os\nx = os.environ['A']\n",
            "cmem/cli/app.py:2: owner: only data_home, detach, failpoint, hook, paths, settings may use os.environ",
        ),
        (
            "cmem/cli/app.py",
            "from os import getenv\n",
            "cmem/cli/app.py:1: owner: only data_home, detach, failpoint, hook, paths, settings may use os.environ",
        ),
        (
            "cmem/store/ledger.py",
            'QUERY = "SELECT value FROM meta WHERE key = ?"\n',
            "cmem/store/ledger.py:1: statement: store.meta has this statement: call it",
        ),
        (
            "cmem/spool.py",
            "import os\nimport json\n",
            "cmem/spool.py:2: hot: import json inside the function that needs it",
        ),
        (
            "cmem/paths.py",
            "class C:\n    from typing import NamedTuple\n",
            "cmem/paths.py:2: hot: import typing inside the function that needs it",
        ),
        (
            "cmem/spool.py",
            "from cmem.store import ledger\n",
            "cmem/spool.py:1: stranger: must not import store.ledger: join them in a layer above\n"
            "cmem/spool.py:1: hot: import cmem.store.ledger inside the function that needs it",
        ),
        (
            "cmem/compress.py",
            "x = {'hook_event_name': 1}\n",
            "cmem/compress.py:1: host field: a host's field 'hook_event_name' is named in hosts/ only",
        ),
        (
            "cmem/compress.py",
            "\n" * 400 + "x = 1\n",
            "cmem/compress.py:1: size: 401 lines, 400 are allowed: split it",
        ),
        (
            "cmem/compress.py",
            "def f():\n" + "    pass\n" * 50,
            "cmem/compress.py:1: size: f has 51 lines, 50 are allowed: split it",
        ),
        (
            "cmem/compress.py",
            "class C:\n    def f(self, a, b, c, d):\n        pass\n",
            "cmem/compress.py:2: arguments: f takes more than 3 by position: put * before the rest",
        ),
        ("tests/utils.py", "", "tests/utils.py:1: name: name it for what is in it"),
    ],
)
def test_a_breach_names_place_rule_and_remedy(
    tmp_path: Path, name: str, text: str, breach: str
) -> None:
    assert "\n".join(_check(tmp_path, {**GOOD, name: text})) == breach


def test_exceptions_are_honoured_and_must_be_needed(tmp_path: Path) -> None:
    _check(tmp_path, {**GOOD, "cmem/compress.py": "def f():\n" + "    pass\n" * 50})
    found = check_layout.check(
        tmp_path,
        allowed={("cmem/spool.py", "hot"): "why"},
        limits={("cmem/compress.py", "f"): (51, "why")},
    )
    assert [str(one) for one in found] == [
        "cmem/spool.py:1: hot: the exception is not needed: delete it"
    ]


def test_the_program_prints_breaches_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _check(tmp_path, GOOD)
    assert check_layout.main([str(tmp_path)]) == 0
    (tmp_path / "cmem/common.py").write_text("")
    assert check_layout.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == (
        "cmem/common.py:1: layer: add it to LAYERS in scripts/check_layout.py\n"
        "cmem/common.py:1: name: name it for what is in it\n"
    )
