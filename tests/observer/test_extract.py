"""Observations by rules: planted facts of written sessions in several languages are kept."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from cmem.observer import extract, text


class Case(NamedTuple):
    prompt: str
    message: str
    tools: tuple[tuple[Any, ...], ...]
    types: tuple[str, ...]
    title: str  # of the first observation
    planted: tuple[str, ...]


CASES = {
    "en bugfix": Case(
        "Login fails with a 500 since the last deploy. Find out why and fix it. "
        "Don't touch the session cookie format.",
        "The cause was `parse_expiry` reading the TTL as milliseconds, because Redis returns "
        "seconds. I changed it to multiply by 1000 and all 14 auth tests pass.\n\n"
        "Still open: the same mistake is in `refresh_token()`.",
        (
            (
                "bash",
                "pytest tests/auth -q",
                "E   ValueError: year 58000 is out of range\n1 failed, 13 passed in 0.4s",
                1,
            ),
            ("edit", "auth/ttl.py", "    return ttl", "    return ttl * 1000"),
            ("bash", "pytest tests/auth -q", "14 passed in 0.4s", 0),
            (
                "bash",
                "git commit -qam 'Read Redis TTL as seconds' && git log --oneline -1",
                "abc1234 Read Redis TTL as seconds",
                0,
            ),
        ),
        ("bugfix", "decision"),
        "The cause was `parse_expiry` reading the TTL as milliseconds, because Redis returns seconds",
        (
            "parse_expiry",
            "because Redis returns seconds",
            "auth/ttl.py: `return ttl` → `return ttl * 1000`",
            "ValueError: year 58000 is out of range",
            "14 passed",
            "Committed abc1234: Read Redis TTL as seconds",
            "refresh_token()",
            "Don't touch the session cookie format",
        ),
    ),
    "en feature": Case(
        "Please add CSV export to the report command",
        "Added `--format csv` to `report`. The delimiter is `;` because Excel in Europe expects it.",
        (
            (
                "write",
                "report/csv_export.py",
                "import csv\n\n\ndef export_rows(rows, out):\n" + "    pass\n" * 8,
            ),
            ("edit", "cli.py", 'FORMATS = ["json"]', 'FORMATS = ["json", "csv"]'),
            ("bash", "uv add rich", "", 0),
        ),
        ("feature", "change"),
        "Added `--format csv` to `report`",
        (
            "report/csv_export.py (12 lines) defines export_rows",
            'cli.py: `FORMATS = ["json"]` → `FORMATS = ["json", "csv"]`',
            "The delimiter is `;` because Excel in Europe expects it",
            "Ran `uv add rich`",
        ),
    ),
    "en still failing": Case(
        "Rename the module util to helpers",
        "Renamed it, but two tests still fail because fixtures import the old name.",
        (
            ("edit", "app.py", "import util", "import helpers"),
            (
                "bash",
                "npm test",
                "FAIL src/app.test.js\nCannot find module 'util'\nTests:       2 failed, 5 passed, 7 total",
                1,
            ),
        ),
        ("refactor", "discovery"),
        "Renamed it, but two tests still fail because fixtures import the old name",
        (
            "app.py: `import util` → `import helpers`",
            "`npm test`: failed",
            "Cannot find module 'util'",
        ),
    ),
    "zh bugfix": Case(
        "导出报表时中文文件名乱码，请修复。以后统一使用 UTF-8，不要再用 GBK。",
        "已修复：原因是 `export.py` 用 GBK 编码写文件名。现在改为 UTF-8，测试全部通过。",
        (
            ("edit", "export.py", 'ENCODING = "gbk"', 'ENCODING = "utf-8"'),
            ("bash", "pytest -q", "8 passed in 0.2s", 0),
        ),
        ("bugfix", "decision"),
        "已修复：原因是 `export.py` 用 GBK 编码写文件名",
        (
            'export.py: `ENCODING = "gbk"` → `ENCODING = "utf-8"`',
            "现在改为 UTF-8，测试全部通过。",
            "以后统一使用 UTF-8，不要再用 GBK",
            "8 passed",
        ),
    ),
    "ja discovery": Case(
        "予約のキャンセル処理はどこで行われていますか？",
        "キャンセル処理は `booking/cancel.py` の `refund_order()` で行われます。"
        "返金は 24 時間以内のみ可能です。なぜなら決済サービスの上限があるためです。",
        (("read", "booking/cancel.py", "def refund_order(): ..."),),
        ("discovery",),
        "キャンセル処理は `booking/cancel.py` の `refund_order()` で行われます",
        ("refund_order()", "返金は 24 時間以内のみ可能です", "決済サービスの上限があるため"),
    ),
    "vi feature": Case(
        "Hãy thêm chức năng gửi email xác nhận đơn hàng. Đừng dùng thư viện ngoài.",
        "Đã thêm hàm `send_confirmation` trong mail.py. Email được gửi qua cổng 587 vì cổng 25 bị chặn.",
        (("write", "mail.py", "def send_confirmation(order):\n" + "    pass\n" * 9),),
        ("feature", "decision"),
        "Đã thêm hàm `send_confirmation` trong mail.py",
        (
            "mail.py (10 lines) defines send_confirmation",
            "cổng 587 vì cổng 25 bị chặn",
            "Đừng dùng thư viện ngoài",
        ),
    ),
    "de refactor": Case(
        "Bitte vereinfache die Preisberechnung. Verwende Decimal statt float.",
        "Die Preisberechnung steht jetzt in `price_total()`. Gerundet wird kaufmännisch, weil die "
        "Buchhaltung das verlangt. Als Nächstes müsste `invoice.py` folgen.",
        (
            (
                "edit",
                "price.py",
                "def calc(a, b): return float(a) * b",
                "def price_total(a, b): return Decimal(a) * b",
            ),
        ),
        ("refactor", "decision"),
        "Die Preisberechnung steht jetzt in `price_total()`",
        (
            "price.py: `def calc(a, b): return float(a) * b` → `def price_total(a, b): return Decimal(a) * b`",
            "weil die Buchhaltung das verlangt",
            "Verwende Decimal statt float",
            "Als Nächstes müsste `invoice.py` folgen",
        ),
    ),
    "ko decision": Case(
        "앞으로 배포는 항상 staging 서버에 먼저 해 주세요.",
        "알겠습니다.",
        (),
        ("decision",),
        "앞으로 배포는 항상 staging 서버에 먼저 해 주세요",
        ("앞으로 배포는 항상 staging 서버에 먼저 해 주세요",),
    ),
    "ru bugfix": Case(
        "Исправь ошибку в расчёте скидки",
        "Исправлено: скидка считалась дважды из-за повторного вызова `apply_discount`.",
        (("edit", "cart.py", "apply_discount(apply_discount(x))", "apply_discount(x)"),),
        ("bugfix",),
        "Исправлено: скидка считалась дважды из-за повторного вызова `apply_discount`",
        ("cart.py: `apply_discount(apply_discount(x))` → `apply_discount(x)`",),
    ),
    "es change": Case(
        "Actualiza la configuración de Docker para usar el puerto 8081",
        "Listo. El servicio escucha en el puerto 8081 porque el 8080 lo usa Jenkins.",
        (("edit", "docker-compose.yml", 'ports: ["8080:80"]', 'ports: ["8081:80"]'),),
        ("change",),
        "El servicio escucha en el puerto 8081 porque el 8080 lo usa Jenkins",
        (
            'docker-compose.yml: `ports: ["8080:80"]` → `ports: ["8081:80"]`',
            "porque el 8080 lo usa Jenkins",
        ),
    ),
}


def evidence(make: Any, tools: tuple[tuple[Any, ...], ...]) -> list[Any]:
    found = []
    for row, (kind, first, *rest) in enumerate(tools, 1):
        if kind == "bash":
            found.append(make.bash(row, first, rest[0], fails=rest[1]))
        elif kind == "edit":
            found.append(make.edit(row, first, *rest))
        elif kind == "write":
            found.append(make.write(row, first, *rest))
        else:
            answer = {"type": "text", "file": {"content": rest[0]}}
            found.append(make.tool(row, "Read", {"file_path": f"{make.root}/{first}"}, answer))
    return found


@pytest.mark.parametrize("name", CASES)
def test_planted_facts_are_kept(name: str, make: Any) -> None:
    case = CASES[name]
    unit = make.unit(case.prompt, case.message, tools=evidence(make, case.tools))
    reply = extract.observe(unit).reply
    assert tuple(one.type for one in reply.observations) == case.types, make.render_reply(reply)
    assert reply.observations[0].title == case.title
    told = "\n".join(
        "\n".join((one.title, one.narrative, *one.facts)) for one in reply.observations
    )
    assert [one for one in case.planted if one not in told] == []
    assert extract.observe(unit).reply == reply


@pytest.mark.parametrize("name", CASES)
def test_the_summary_tells_of_the_session(name: str, make: Any) -> None:
    case = CASES[name]
    unit = make.unit(case.prompt, case.message, tools=evidence(make, case.tools))
    drafts = extract.observe(unit).reply.observations
    summary = extract.summarise(make.summary_unit([unit], [drafts])).reply.summary
    assert summary is not None
    assert text.sentences(case.prompt)[0] in summary.request, summary
    first = drafts[0]
    where = summary.learned if first.type in ("discovery", "decision") else summary.completed
    assert first.title in where
    assert summary.files_edited == first.files_modified


@pytest.mark.parametrize(
    ("message", "open_point"),
    [
        ("Done with `a.py`. Next steps: migrate `b.py` too.", "Next steps: migrate `b.py` too."),
        ("`a.py` 已完成。接下来需要迁移 `b.py`。", "接下来需要迁移 `b.py`。"),
        ("`a.py` ist fertig. Noch offen ist `b.py`.", "Noch offen ist `b.py`."),
    ],
)
def test_next_steps_come_from_the_last_answer(message: str, open_point: str, make: Any) -> None:
    unit = make.unit("Migrate everything", message, tools=[make.edit(1, "a.py", "x = 1", "x = 2")])
    drafts = extract.observe(unit).reply.observations
    summary = extract.summarise(make.summary_unit([unit], [drafts])).reply.summary
    assert summary is not None and summary.next_steps == open_point


def test_a_failure_repaired_in_a_later_turn_is_no_next_step(make: Any) -> None:
    broken = make.unit(
        "Rename util",
        "Renamed util to helpers.",
        tools=[
            make.edit(1, "a.py", "util", "helpers"),
            make.bash(2, "make test", "error: x", fails=2),
        ],
    )
    mended = make.unit(
        "Now fix the test",
        "Fixed the import in test_a.py.",
        tools=[make.edit(3, "test_a.py", "util", "helpers"), make.bash(4, "make test", "ok")],
        number=2,
    )
    drafts = [extract.observe(one).reply.observations for one in (broken, mended)]
    first = extract.summarise(make.summary_unit([broken], drafts[:1])).reply.summary
    both = extract.summarise(make.summary_unit([broken, mended], drafts)).reply.summary
    assert first is not None and both is not None
    assert first.next_steps == "`make test` still fails: error: x"
    assert both.next_steps == ""


SKIPS = {
    "thanks": ("Thanks!", "You're welcome!", "stop", "short exchange without tools"),
    "zh": ("谢谢", "不客气！", "stop", "short exchange without tools"),
    "failed": (
        "Hello there",
        "Credit balance is too low",
        "failure",
        "the turn failed before anything was done: e",
    ),
    "cut": ("Do it", "", "interrupted", "ended before anything was done"),
    "said over and over": ("Say it", "word " * 400, "stop", "short exchange without tools"),
}


@pytest.mark.parametrize("name", SKIPS)
def test_trivial_turns_are_skipped_with_a_reason(name: str, make: Any) -> None:
    prompt, message, outcome, reason = SKIPS[name]
    unit = make.unit(prompt, message, outcome=outcome, error="e")
    assert extract.observe(unit).reply == ((), None, reason, ())


def test_a_routine_look_is_skipped_and_a_look_with_an_answer_is_not(make: Any) -> None:
    tools = [make.bash(1, "ls", "a.py")]
    skipped = extract.observe(make.unit("ok go", "Done.", tools=tools)).reply
    assert skipped.skipped == "routine look without a finding"
    kept = extract.observe(
        make.unit("what is here", "Only a.py, the entry point.", tools=tools)
    ).reply
    assert [one.title for one in kept.observations] == ["Only a.py, the entry point"]


def test_nothing_private_becomes_a_title(make: Any) -> None:
    unit = make.unit(
        "Use [REDACTED:key] as the key. [private] and write config.py.",
        "I stored [REDACTED:key] in config.py.",
        tools=[make.edit(1, "config.py", "KEY = None", "KEY = load()")],
    )
    reply = extract.observe(unit).reply
    assert [one.title for one in reply.observations] == ["Edited config.py"]


def test_titles_are_short_and_never_cut_inside_a_word(make: Any) -> None:
    long = "The parser " + "considers absolutely everything " * 8 + "in parse.py."
    unit = make.unit("Explain", long, tools=[make.bash(1, "cat parse.py", "x")])
    (draft,) = extract.observe(unit).reply.observations
    assert len(draft.title) <= 100
    assert set(draft.title.rstrip("…").split()) <= set(long.split())


def test_two_edits_with_the_same_few_words_stay_two(make: Any) -> None:
    drafts = [
        extract.observe(
            make.unit("continue", "Done.", tools=[make.edit(row, "a.py", "x", new)], number=row)
        ).reply.observations[0]
        for row, new in ((1, "y"), (2, "z"))
    ]
    assert [one.title for one in drafts] == ["Edited a.py", "Edited a.py"]
    assert drafts[0].narrative != drafts[1].narrative  # what the store tells repetitions by


def test_edits_of_other_hosts_are_read(make: Any) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: calc.py\n@@\n def add(a, b):\n-    return a + b\n"
        "+    return b + a\n*** Add File: new.txt\n+hello\n*** Delete File: old.txt\n*** End Patch"
    )
    tools = [
        make.tool(1, "apply_patch", {"command": patch}, "Exit code: 0\nSuccess."),
        make.tool(
            2, "run_shell_command", {"command": "go test ./..."}, {"llmContent": "ok  \tx\t0.1s"}
        ),
        make.tool(3, "read_file", {"absolute_path": f"{make.root}/src/x.go"}, {"llmContent": "x"}),
    ]
    (draft,) = extract.observe(
        make.unit("swap", "Swapped in calc.py.", tools=tools)
    ).reply.observations
    assert draft.files_modified == ("calc.py", "new.txt", "old.txt")
    assert draft.files_read == ("src/x.go",)
    assert draft.facts[:3] == (
        "calc.py: `return a + b` → `return b + a`",
        "new.txt (written whole): `hello`",
        "Deleted old.txt",
    )


def test_commit_messages_in_every_common_form(make: Any) -> None:
    heredoc = "git add -A && git commit -m \"$(cat <<'EOF'\nAdd the parser\n\nLong text.\nEOF\n)\""
    tools = [
        make.bash(1, heredoc, "[main 1a2b3c4] Add the parser\n 1 file changed"),
        make.bash(2, "git commit -qam \"Use 'x'\"", ""),
        make.bash(3, "git commit --message=wip", ""),
    ]
    (draft,) = extract.observe(make.unit("commit it", "Committed.", tools=tools)).reply.observations
    assert [one for one in draft.facts if one.startswith("Committed")] == [
        "Committed 1a2b3c4: Add the parser",
        "Committed: Use 'x'",
        "Committed: wip",
    ]


def test_open_points_of_the_last_list_are_kept(make: Any) -> None:
    def todo(row: int, *states: str) -> Any:
        items = [{"content": f"step {n}", "status": s} for n, s in enumerate(states, 1)]
        return make.tool(row, "TodoWrite", {"todos": items})

    edits = [make.edit(1, "a.py", "x = 1", "x = 2")]
    tools = [*edits, todo(2, "pending", "pending"), todo(3, "completed", "pending")]
    (draft,) = extract.observe(make.unit("go", "Changed a.py.", tools=tools)).reply.observations
    assert [one for one in draft.facts if "Open" in one] == ["Open: step 2"]
    tools = [*tools, todo(4, "completed", "completed")]
    (draft,) = extract.observe(make.unit("go", "Changed a.py.", tools=tools)).reply.observations
    assert [one for one in draft.facts if "Open" in one] == []


@pytest.mark.parametrize(
    "value",
    [
        "",
        "null",
        "[1]",
        '"x"',
        "{",
        '{"command": 5}',
        '{"command": ["ls", "-l"]}',
        '{"edits": [null]}',
        "[" * 3000,
    ],
)
@pytest.mark.parametrize(
    "name",
    [
        "Bash",
        "Edit",
        "Write",
        "Agent",
        "TodoWrite",
        "AskUserQuestion",
        "NoSuchTool",
        "ExitPlanMode",
    ],
)
def test_odd_payloads_break_nothing(name: str, value: str, make: Any) -> None:
    odd = make.tool(1, name, {})._replace(tool_input=value, tool_response=value)
    for outcome in ("ok", "failed", "interrupted"):
        unit = make.unit("p", "m", tools=[odd._replace(outcome=outcome)])
        reply = extract.observe(unit).reply
        assert bool(reply.observations) != bool(reply.skipped)
        json.dumps(reply)


HOSTILE = [
    "git ",
    " ",
    "a.",
    "verwende ",
    "<<A\n",
    "**",
    "[a](",
    "\n",
    "/a.b ",
    "E ",
    "1 failed ",
    "ab",
    "。",
    "|",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_repetition_is_read_in_bounded_time(piece: str, make: Any) -> None:
    long = piece * (64_000 // len(piece))
    tools = [
        make.bash(1, f"pytest {long}x", f"{long}x", fails=1),
        make.edit(2, "a.py", long, f"{long}x"),
        make.write(3, "b.py", f"{long}x"),
        make.tool(4, "mcp__x__y", {"a": long}, long),
    ]
    unit = make.unit(f"{long}x", f"{long}x", tools=tools)
    assert extract.observe(unit).reply.observations
    assert extract.observe(unit._replace(prompt=f"<task-notification>{long}")).reply.observations


@pytest.mark.parametrize(
    "command",
    [
        "dotnet add src/Billing package Polly --version 8.4.1",
        "composer require monolog/monolog",
        "flutter pub add http",
        "mix deps.get",
    ],
)
def test_a_package_added_beside_an_edit_is_told_by_itself(command: str, make: Any) -> None:
    tools = [make.edit(1, "a.txt", "x = 1", "x = 2"), make.bash(2, command, "done")]
    found = extract.observe(make.unit("Set x to 2", "Set `x` to 2.", tools=tools))
    assert [(one.type, one.title) for one in found.reply.observations] == [
        ("change", "Set `x` to 2"),
        ("change", f"Ran `{command}`"),
    ]


def test_a_turn_that_a_subagent_did_alone_is_the_subagents(make: Any) -> None:
    edit = make.edit(1, "y.py", "1", "2")._replace(agent_id="a1", agent_type="Explore")
    test = make.tool(2, "Bash", {"command": "pytest -q"}, "3 passed", agent="Explore")
    own = make.bash(3, "make build", "built")

    def agents(*tools: Any) -> list[tuple[str, str]]:
        found = extract.observe(make.unit("Look around", "Ok", tools=list(tools))).reply
        return [(one.agent_id, one.agent_type) for one in found.observations]

    assert agents(edit, test) == [("a1", "Explore")]
    assert agents(edit, test, own) == [("", "")]
    assert agents(edit, test._replace(agent_id="a2")) == [("", "")]
