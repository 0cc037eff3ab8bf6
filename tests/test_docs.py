"""What the pages say is what the program does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support import ROOT

from cmem.setting_table import SETTINGS

WRITE = os.environ.get("CMEM_GOLDEN") == "write"
BLOCK = re.compile(r"(<!-- transcript: .* -->\n```console\n)(.*?)(```\n<!-- end)", re.DOTALL)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "hooks").glob("*.md")])


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_readme_shows_what_the_demo_prints() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/demo.py", "--transcript"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    readme = _read("README.md")
    if WRITE:
        readme = BLOCK.sub(lambda found: found[1] + done.stdout + found[3], readme)
        (ROOT / "README.md").write_text(readme, encoding="utf-8")
    shown = BLOCK.search(readme)
    assert shown is not None
    assert shown[2] == done.stdout


def test_the_settings_page_is_the_generated_one() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/gen_settings_docs.py", "--check"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_setting_says_what_it_does() -> None:
    assert [one.name for one in SETTINGS if not one.doc.endswith(".")] == []


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_makefile_tells_of_every_target() -> None:
    makefile = _read("Makefile")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    told = re.findall(r"^([a-z0-9-]+):.*## ", makefile, re.MULTILINE)
    assert phony is not None
    assert phony[1].split() == told


def test_the_pinned_packages_are_pinned_with_hashes_and_without_addresses() -> None:
    lines = _read("requirements/ci.txt").splitlines()
    pinned = [line for line in lines if line and line[0] not in " #"]
    assert [line for line in pinned if not re.match(r"[a-z0-9-]+==\S+ (; .* )?\\$", line)] == []
    assert [line for line in lines if "://" in line or "index" in line.split("#")[0]] == []
    names = {line.split("==")[0] for line in pinned}
    project = tomllib.loads(_read("pyproject.toml"))["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    assert {re.split(r"[<>=]", one)[0] for one in wanted} <= names
