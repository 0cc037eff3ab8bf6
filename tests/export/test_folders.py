"""What somebody else gets to know of the folders of a machine: nothing but projects' own."""

from __future__ import annotations

from pathlib import Path

import exported
import pytest
import samples

from cmem.export import folders

TEXTS = {
    "/data/clients/acme/calc/src/x.py failed": "calc/src/x.py failed",
    "in `/data/clients/acme/calc`, and": "in `calc`, and",
    "/data/clients/acme/calc-old/x.py": "…/x.py",
    "/data/clients/other/plan.md:12": "…/plan.md:12",
    "cd '/mnt/share/acme/new'": "cd '…/new'",
    "/home/ana": "~",
    "/home/ana/x.py and /Users/ben/acme/y.py": "~/x.py and ~/…/y.py",
    "~/clients/acme/z.py": "~/…/z.py",
    "C:\\Users\\ana\\acme\\z.py": "~/…/z.py",
    "file:///tmp/acme/z": "file://…/z",
    "~ana/clients/z.py, ~ana/x.py": "~/…/z.py, ~/x.py",
    "/var/home/ana/x.py and /usr/home/ana": "~/x.py and ~",
    "cd /home/ana; ls /home/ana:/home/ben/y": "cd ~; ls ~:~/y",
    "cc -I/home/ana/acme/include -L/home/ana x.c": "cc -I~/…/include -L~ x.c",
    "/mnt/c/Users/ana/acme/z.py, /c/Users/ana/z.py, C:/Users/ana/z.py": "~/…/z.py, ~/z.py, ~/z.py",
    '"C:\\\\Users\\\\ana\\\\z.py"': '"~/z.py"',
    "D:\\clients\\acme\\z.py": "…/z.py",
    "\\\\server\\share\\acme\\z.py": "…/z.py",
    "\\\\wsl$\\Ubuntu\\home\\ana\\z.py": "~/z.py",
    "\\\\server\\Users\\ana": "~",
    # Nobody's folders.
    "/usr/bin/python3 -m x, /tmp, /api/v1/users": "/usr/bin/python3 -m x, /tmp, /api/v1/users",
    "https://x.invalid/data/clients/acme": "https://x.invalid/data/clients/acme",
    "src/data/clients/acme": "src/data/clients/acme",
    "and/or ~5 minutes": "and/or ~5 minutes",
    "C:\\Windows\\System32\\cmd.exe": "C:\\Windows\\System32\\cmd.exe",
    r"re.compile(r'\d+\\w\s*')": r"re.compile(r'\d+\\w\s*')",
    "a: b, x:\\n": "a: b, x:\\n",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_without_folders(text: str) -> None:
    known = folders.Folders()
    known.learn("/data/clients/acme/calc", "calc")
    known.learn("/", "unsorted")
    assert known.without({"a": [text]}) == {"a": [TEXTS[text]]}
    assert known.without(TEXTS[text]) == TEXTS[text]


def test_a_redacted_export_names_no_folder_and_comes_in_again(tmp_path: Path) -> None:
    root = "/data/clients/acme/calc"
    (tmp_path / "a").mkdir(mode=0o700)
    source = samples.calc(tmp_path / "a", root)
    source.execute("UPDATE observations SET files_read = ?", (f'["{root}/calc.py"]',))
    data = exported.export(source, redacted=True)
    assert b"clients" not in data and b"acme" not in data
    (project,) = exported.told(data, "project")
    assert (project["name"], project["key"]) == ("calc", folders.key(root))
    assert exported.told(data, "session")[0]["project"] == project["key"]
    assert exported.told(data, "observation")[0]["files_read"] == ["calc/calc.py"]
    target = exported.store(tmp_path / "b")
    assert exported.bring_in(target, data).bad == 0
    assert exported.export(target, redacted=True) == data
