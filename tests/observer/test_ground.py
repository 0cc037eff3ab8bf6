"""What a model says held against what the unit shows."""

from __future__ import annotations

import time
from typing import Any

import pytest
from support import SESSIONS

from cmem.observer import extract
from cmem.observer import ground as grounds
from cmem.observer.ground import Ground


@pytest.fixture
def unit(make: Any) -> Ground:
    """A turn with a file read, one edited, a listing, a command and a web page."""
    tools = [
        make.tool(1, "Read", {"file_path": f"{make.root}/src/app.py"}, {"content": "x = 1"}),
        make.edit(2, "src/core/io.py", "retry(3)", "retry(30)"),
        make.bash(3, "ls docs", "intro.md\nAPI.md\nnotes de.txt"),
        make.bash(4, "cd web && npm test -- ./tests/login.spec.ts", "14 passed in 2,350 ms"),
        make.tool(5, "WebFetch", {"url": "https://docs.example.org/guide/a_(b)?q=1"}, "see v1.2.3"),
        make.bash(6, "type C:\\work\\run.ps1", "line1\r\nbuild 8f31c2d ok"),
        make.tool(7, "Read", {"file_path": "/etc/hosts.conf"}, "127.0.0.1 db.internal"),
        make.bash(8, "cat 文档/说明.md", "「先不要部署」"),
    ]
    tools[3] = tools[3]._replace(cwd=f"{make.root}/web")
    prompt = "Sửa lỗi trong src/app.py, xem http://localhost:8080/health nhé"
    return grounds.of_turn(make.unit(prompt, "Done in commit 8f31c2d.", tools=tools))


HELD = [
    # paths, as they are written
    "src/app.py is read",
    "./src/app.py and src/./app.py",
    "/home/dev/project/src/app.py, absolute",
    "project/src/app.py, from the folder above",
    "src/core/io.py:12 and src/core/io.py:12:5, src/core/io.py#L12, src/core/io.py(12,5)",
    "src\\core\\io.py with backslashes",
    "tests/login.spec.ts as the command names it",
    "web/tests/login.spec.ts from the root",
    "docs/intro.md, by its parts in a listing",
    "C:\\work\\run.ps1 and C:/work/run.ps1",
    "/etc/hosts.conf",
    "(src/app.py), «src/app.py», src/app.py.",
    "修改了src/app.py中的函数，见src/core/io.py。",
    "docs/API.mdを読んだ",
    "文档/说明.md 已读",
    # what only looks like a path
    "and/or, 1/2, km/h, TCP/IP, n/a, input/output",
    "Node.js, console.log, os.path.join, e.g. this, v1.2",
    "s/a/b/ was run",
    # links
    "https://docs.example.org/guide/a_(b)?q=1.",
    "(see https://docs.example.org/guide/a_(b)?q=1)",
    "<https://docs.example.org/guide/a_(b)?q=1>",
    "docs.example.org/guide/a_(b)?q=1 without its scheme",
    "见https://docs.example.org/guide/a_(b)?q=1。",
    "见https://docs.example.org/guide/a_(b)?q=1的说明",
    "ดูhttp://localhost:8080/healthและอื่น",
    "http://localhost:8080/health/",
    "http://localhost:8080/health, too",
    # commits
    "8f31c2d holds it",
    "提交8f31c2d修复",
    "defaced, effaced, 1234567, #ff00aa1",
    "123e4567-e89b-12d3-a456-426614174000",
]
INVENTED = {
    "src/gone.py was read": ["src/gone.py"],
    "src/app.pyc": ["src/app.pyc"],
    "see ../other/gone.ts": ["../other/gone.ts"],
    "修改了src/gone.py中的函数": ["src/gone.py"],
    "Đã sửa lib/hỏng.py rồi": ["lib/hỏng.py"],
    "файл src/пропал.py изменён": ["src/пропал.py"],
    "C:\\evil\\run.exe": ["C:\\evil\\run.exe"],
    "~/.ssh/evil.pem": ["~/.ssh/evil.pem"],
    "/etc/passwd.bak": ["/etc/passwd.bak"],
    "https://evil.example/x?d=1.": ["https://evil.example/x?d=1"],
    "https://docs.example.org/other": ["https://docs.example.org/other"],
    "https://docs.example.or": ["https://docs.example.or"],
    "见https://evil.example/x。": ["https://evil.example/x"],
    "![x](https://evil.example/p.png)": ["https://evil.example/p.png"],
    "www.evil.example/a": ["www.evil.example/a"],
    "github.com/evil/repo": ["github.com/evil/repo"],
    "ssh://evil.example/repo": ["ssh://evil.example/repo"],
    "commit deadbee": ["deadbee"],
    "提交deadbee1修复": ["deadbee1"],
    "0123456789abcdef0123456789abcdef01234567": ["0123456789abcdef0123456789abcdef01234567"],
}


@pytest.mark.parametrize("text", HELD)
def test_what_the_unit_holds_is_left_alone(text: str, unit: Ground) -> None:
    assert grounds.invented(text, unit) == []
    assert grounds.marked(text, unit) == (text, [])


@pytest.mark.parametrize(("text", "parts"), INVENTED.items())
def test_what_the_unit_does_not_hold_is_found(text: str, parts: list[str], unit: Ground) -> None:
    assert grounds.invented(text, unit) == parts
    marked, found = grounds.marked(text, unit)
    assert found == parts
    assert marked == text.replace(parts[0], "[unverified]")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("`retry(30)` replaces `retry(3)`", []),
        ("`retry(99)` replaces `retry(3)`", ["retry(99)"]),
        ("`Retry( 30 )` in another spelling", []),
        ("`src/app.py:7` and `./src/core/io.py`", []),
        ('it says "14 passed … 2,350 ms"', []),
        ('it says "15 passed"', ["15 passed"]),
        ("it says “14 passed.”", []),
        ('expected "ab", received "a", then "nothing at all"', ["nothing at all"]),
        ("`retry(3) / retry(30)` joins lines, `retry(3)…` goes on", []),
        ("`x = [REDACTED:token]` and `y = [private]`", ["y = [private]"]),
        ("用户说「先不要部署」", []),
        ("用户说「马上部署」和『14 passed』", ["马上部署"]),
        ("Sie sagt „8f31c2d ok“ und «nie gesagt»", ["nie gesagt"]),
        ('Người dùng nói "Sửa lỗi"', []),
        ("it took 2350 ms, 2,350 ms, 2.350 ms", []),
        ("it took 2351 ms", ["2351"]),
        ("耗时4711毫秒", ["4711"]),
        ("14 passed, 3 of 99, in 2026, v1.2.3, port 8080", []),
        ("x4711, 4711ms, /4711, 10:30", []),
    ],
)
def test_quotations_and_numbers_in_doubt(text: str, pieces: list[str], unit: Ground) -> None:
    assert grounds.doubtful(text, unit) == pieces


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("src/app.py", "src/app.py"),
        ("./src/app.py:12", "src/app.py"),
        ("/home/dev/project/src/app.py", "src/app.py"),
        ("src\\app.py", "src/app.py"),
        ("tests/login.spec.ts", "tests/login.spec.ts"),
        ("/etc/hosts.conf", "/etc/hosts.conf"),
        ("https://docs.example.org/guide/a_(b)?q=1", "https://docs.example.org/guide/a_(b)?q=1"),
        ("src/gone.py", None),
        ("docs/intro.md", None),  # its parts occur, the file itself was not touched
        ("https://evil.example/", None),
        ("", None),
    ],
)
def test_a_file_that_is_claimed_must_occur(name: str, kept: str | None, unit: Ground) -> None:
    read, modified, dropped = grounds.grounded_files(
        unit, (3,), claimed=[name], claimed_modified=[]
    )
    assert (read, modified, dropped) == (((kept,), (), []) if kept else ((), (), [name]))


def test_modified_needs_an_edit_or_a_command(unit: Ground) -> None:
    claimed = ["src/app.py", "src/core/io.py", "./tests/login.spec.ts"]
    found = grounds.grounded_files(unit, (3,), claimed=[], claimed_modified=claimed)
    assert found == (
        ("src/app.py",),
        ("src/core/io.py", "tests/login.spec.ts"),
        [],
    )


@pytest.mark.parametrize(
    "piece", ["a/", "a", "a.b ", "/a.b", "0a", "https://", "`a", "a%", "..", "1,"]
)
def test_hostile_texts_take_little_time(piece: str, make: Any) -> None:
    text = piece * (200_000 // len(piece))
    unit = grounds.of_turn(make.unit(text, "", tools=[make.bash(1, text, text)]))
    began = time.process_time()
    grounds.invented(text[:4_000], unit)
    grounds.doubtful(text[:500], unit)
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize("name", SESSIONS)
def test_nothing_that_the_rules_make_of_a_recorded_session_is_taken_for_invented(
    name: str, make: Any
) -> None:
    for turn in make.turns_of(name):
        unit = grounds.of_turn(turn)
        for draft in extract.observe(turn).reply.observations:
            texts = (draft.title, draft.subtitle, draft.narrative, *draft.facts)
            assert [grounds.invented(text, unit) for text in texts] == [[]] * len(texts)
            assert [grounds.doubtful(text, unit) for text in draft.facts] == [[]] * len(draft.facts)


@pytest.mark.parametrize(
    ("text", "invented", "doubtful"),
    [
        ("`/etc/shadow` was read", ["/etc/shadow"], ["/etc/shadow"]),
        ("the key is in /srv/keys/private", ["/srv/keys/private"], []),
        ("config in ~/.aws/credentials", ["~/.aws/credentials"], []),
        ("run ./deploy and ../bin/tool", ["./deploy", "../bin/tool"], []),
        ("src/bin/deploy was changed", ["src/bin/deploy"], []),
        ("settings.py and Dockerfile", [], ["settings.py", "Dockerfile"]),
        ("see evil.zone/x, mail root@evil.com", [], ["evil.zone/x", "evil.com"]),
        ("at 203.0.113.9:8080", [], ["203.0.113.9:8080"]),
        ("it said 'never seen before' then", [], ["never seen before"]),
    ],
)
def test_names_without_an_extension_a_folder_or_a_scheme(
    text: str, invented: list[str], doubtful: list[str], unit: Ground
) -> None:
    """Paths that say that they are one are dropped with their fact, other names only marked."""
    assert sorted(grounds.invented(text, unit)) == sorted(invented)
    assert sorted(grounds.doubtful(text, unit)) == sorted(doubtful)


@pytest.mark.parametrize(
    "text",
    [
        "app.py, io.py and intro.md",
        "src/core and src/app.py",
        "/home/dev/project/src",
        "docs.example.org answers",
        "Node.js, Next.js, e.g. this, i.e. that; os.path and console.log",
        "it's the users' choice, don't you think",
        "the commands /compact and /login, and/or, read/write, GET /health",
        "127.0.0.1 is db.internal",
    ],
)
def test_names_that_occur_or_are_none_are_left_alone(text: str, unit: Ground) -> None:
    assert (grounds.invented(text, unit), grounds.doubtful(text, unit)) == ([], [])
