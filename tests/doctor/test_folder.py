"""A project's files that try to say how memory is made are told, and only by names of the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmem.doctor import folder
from cmem.doctor.finding import Finding

FIX = "nothing to do if you trust the project; your own settings are in config.toml"


def write(root: Path, name: str, text: str) -> None:
    (root / name).write_text(text, encoding="utf-8")


def told(level: str, path: Path, names: str) -> Finding:
    detail = f"{path} names {names}: ignored, a project's file sets none of it"
    return Finding(level, "project file", detail, FIX if level == "warn" else "")


@pytest.mark.parametrize(
    ("name", "text", "level", "names"),
    [
        (
            ".env",
            "A=1\nCMEM_BASE_URL=http://evil\nexport CMEM_API_KEY = x\n  ANTHROPIC_BASE_URL=y\n",
            "warn",
            "CMEM_BASE_URL, CMEM_API_KEY, ANTHROPIC_BASE_URL",
        ),
        (".env", "ANTHROPIC_BASE_URL=http://evil", "warn", "ANTHROPIC_BASE_URL"),
        (".env", "ANTHROPIC_API_KEY=mine", "ok", "ANTHROPIC_API_KEY"),
        (
            ".cmem.toml",
            'project = "sub"\nbase_url = "x"\nprovider="command"\nmodel="m"\ndaily_usd=0\n',
            "warn",
            "base_url, provider, model, daily_usd",
        ),
        (".cmem.toml", '[observer]\napi-key = "x"\n', "warn", "api_key"),
        (".cmem.toml", 'command = "touch x\nnot toml', "warn", "command"),
    ],
)
def test_a_file_that_names_settings(
    name: str, text: str, level: str, names: str, tmp_path: Path
) -> None:
    write(tmp_path, name, text)
    assert folder.check(str(tmp_path)) == [told(level, tmp_path.resolve() / name, names)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".env", "DATABASE_URL=x\n# CMEM_BASE_URL=x\nMY_CMEM_MODEL=1\n"),
        (".cmem.toml", 'project = "sub"\n'),
        (".env", ""),
    ],
)
def test_other_files_are_no_finding(name: str, text: str, tmp_path: Path) -> None:
    write(tmp_path, name, text)
    (tmp_path / "sub").mkdir()
    assert folder.check(str(tmp_path / "sub")) == folder.check(str(tmp_path)) == []


def test_every_folder_up_to_the_root_of_the_repository_is_looked_at(tmp_path: Path) -> None:
    root = (tmp_path / "repo").resolve()
    (root / "a/b").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    for place in (tmp_path, root, root / "a/b"):
        write(place, ".env", "CMEM_MODEL=x")
    found = folder.check(str(root / "a/b"))
    assert found == [told("warn", one / ".env", "CMEM_MODEL") for one in (root / "a/b", root)]


def test_what_is_no_text_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    (tmp_path / ".cmem.toml").write_bytes(b"\xff\xfe\x00model = 1\n")
    assert folder.check(str(tmp_path)) == []
