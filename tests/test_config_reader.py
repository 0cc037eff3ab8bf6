"""The fast reader agrees with tomllib wherever it answers, and never raises."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, clean_env

from cmem import config

LINES = st.sampled_from(
    [
        "",
        "  ",
        "# note",
        'provider = "extract"',
        'provider="anthropic"  # why',
        'model = ""',
        'model = """x"""',
        'model = "a#b"',
        "model = 'single'",
        "model = 'b\\s \"q\" # x' # why",
        "model = ''",
        "model = '''x'''",
        "model = 'open",
        'model = "back\\\\slash"',
        "auto_compress = false",
        "\tauto_compress=true\t# x",
        "auto_compress = yes",
        "context_budget = 1500",
        "context_budget = 01",
        "context_budget = -0",
        "timeout_s = 1_000",
        "timeout_s = 2.5",
        "timeout_s =",
        "[table]",
        "a.b = 1",
        '"quoted" = 1',
        "broken",
        "= 1",
    ]
)


def _tomllib(text: str) -> dict[str, object]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    return {k: v for k, v in document.items() if isinstance(v, (str, int, float))}


@given(st.lists(LINES, max_size=4), st.sampled_from(["\n", "\r\n"]))
def test_the_answer_is_that_of_tomllib(lines: list[str], eol: str) -> None:
    text = eol.join(lines)
    assert config.parse(text.encode()) == _tomllib(text)


@given(st.text(alphabet="ab=\"'#\\ \t\r\n01-.[]\x00é\u2028", max_size=30))
def test_any_text_gets_the_answer_of_tomllib(text: str) -> None:
    assert config.parse(text.encode()) == _tomllib(text)


@pytest.mark.parametrize(
    "raw",
    [b"\xff = 1", b"\xef\xbb\xbfa = 1", b"[" * 70_000, b"[" * 5_000, b"a = " + b"[" * 5_000],
    ids=["not utf-8", "bom", "large", "deep", "deep value"],
)
def test_what_is_no_toml_gives_nothing(raw: bytes) -> None:
    assert config.parse(raw) == {}


def test_no_file_and_no_directory_give_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    assert config.read(str(tmp_path)) == {}
    assert config.read(str(tmp_path / "missing")) == {}
    assert config.read("nul\x00") == {}


def test_a_plain_file_is_read_without_any_import(home: Path) -> None:
    (home / "config.toml").write_text('auto_compress = false  # for now\nprovider = "extract"\n')
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules);"
        "from cmem import config; print(config.read(sys.argv[2]));"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(ROOT), str(home)],
        env=clean_env(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (
        "{'auto_compress': False, 'provider': 'extract'}\n['cmem', 'cmem.config']\n"
    )
