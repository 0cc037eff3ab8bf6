"""Any program as the model: what it is given, and what each of its ends means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cmem.observer import providers
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply
from cmem.observer.providers import child, command

TOKEN = "sk-ant-api03-" + "Ab1" * 30


@pytest.fixture
def asking(chosen: Any) -> Any:
    def make(line: object, **settings: Any) -> Any:
        return command.provider(chosen(provider="command", command=line, **settings))

    return make


def test_program_gets_the_whole_request_on_stdin_and_its_arguments_as_they_are(
    ours: Any, program: Any, asking: Any, tmp_path: Path
) -> None:
    path = program(
        "print(json.dumps([sys.argv[1:], sys.stdin.read(), os.environ.get('CMEM_OBSERVER')]))"
    )
    reply = asking(f"'{path}' -m 'a b' '' '$HOME' '>x'").ask(ours)
    arguments, request, mark = json.loads(reply.text)
    assert arguments == ["-m", "a b", "", "$HOME", ">x"]
    assert request == f"[cmem observer request]\n{ours.system}\n\n{ours.user}\n"
    assert mark == "1"
    assert not (tmp_path / "x").exists()


def test_tokens_are_estimated_and_the_price_is_not_known(
    ours: Any, program: Any, asking: Any
) -> None:
    reply = asking(program("print('<skip_summary/>')")).ask(ours)
    assert reply.text == "<skip_summary/>"
    assert (reply.model, reply.usage.output_tokens, reply.usage.cost_usd) == ("model", 4, 0.0)
    assert reply.usage.input_tokens == 20
    assert reply.notes == ("tokens estimated, cost not known",)


def test_the_setting_model_names_it_where_it_is_given(ours: Any, program: Any, asking: Any) -> None:
    reply = asking(program("print('x')"), model="qwen3").ask(ours)
    assert reply.model == "qwen3"


ENDS: dict[str, tuple[str, str, str]] = {
    "failure": (
        "sys.exit('boom: no such model')",
        "transport",
        "ended with 1: boom: no such model",
    ),
    "told on stdout": ("print('no luck'); sys.exit(2)", "transport", "ended with 2: no luck"),
    "silent": ("sys.exit(9)", "transport", "ended with 9"),
    "temporary": ("sys.exit(75)", "overload", "ended with 75"),
    "unavailable": ("sys.exit(69)", "overload", "ended with 69"),
    "no permission": ("sys.exit(77)", "auth", "ended with 77"),
    "configuration": ("sys.exit(78)", "config", "ended with 78"),
    "not found": ("sys.exit(127)", "config", "ended with 127"),
    "signal": ("os.kill(os.getpid(), 9)", "transport", "was ended by signal 9"),
}


@pytest.mark.parametrize("case", ENDS)
def test_every_end_has_its_class(ours: Any, case: str, program: Any, asking: Any) -> None:
    body, kind, said = ENDS[case]
    path = program(body)
    with pytest.raises(ProviderError) as caught:
        asking(path).ask(ours)
    assert (caught.value.kind, str(caught.value)) == (kind, f"{path} {said}")


def test_secrets_in_its_complaint_are_not_told(ours: Any, program: Any, asking: Any) -> None:
    path = program(f"sys.exit('bad key {TOKEN[:20]}' + {TOKEN[20:]!r})")
    with pytest.raises(ProviderError) as caught:
        asking(path).ask(ours)
    assert TOKEN not in str(caught.value) and "[REDACTED:" in str(caught.value)


def test_missing_or_unusable_programs_are_a_matter_of_the_settings(
    ours: Any, asking: Any, tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("x")
    for path, reason in ((tmp_path / "none", "no such file"), (tmp_path / "text", "permission")):
        with pytest.raises(ProviderError, match=reason) as caught:
            asking(path).ask(ours)
        assert caught.value.kind == "config"
        assert str(caught.value).endswith("check the setting command")


def test_too_late_is_told_with_the_setting(ours: Any, program: Any, asking: Any) -> None:
    path = program("time.sleep(30)")
    with pytest.raises(ProviderError) as caught:
        asking(path, timeout_s=1).ask(ours)
    assert caught.value.kind == "transport"
    assert str(caught.value) == f"{path} did not answer within 1 s (setting timeout_s)"


def test_at_its_time_everything_it_started_is_ended(
    ours: Any, program: Any, asking: Any, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    path = program(
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        f"open({str(started)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(30)"
    )
    with pytest.raises(ProviderError, match="did not answer"):
        asking(path, timeout_s=1).ask(ours)
    stat = Path(f"/proc/{started.read_text()}/stat")
    # Whoever takes in orphans may not have waited for it yet.
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_endless_output_is_an_unusable_reply(
    ours: Any, program: Any, asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "MAX_OUTPUT", 1024 * 1024)
    path = program("while True: print('x' * 65536)")
    with pytest.raises(UnusableReply, match="printed more than 1 MiB"):
        asking(path).ask(ours)


def test_without_a_command_nothing_is_started(ours: Any, asking: Any) -> None:
    with pytest.raises(MissingCredential, match="no command for provider command"):
        asking("").ask(ours)


def test_it_observes(program: Any, chosen: Any, make: Any) -> None:
    text = "<observation><type>bugfix</type><title>Limit is 5</title><facts><fact>MAX is 5</fact></facts><narrative>It was 3.</narrative></observation>"
    who = providers.get(chosen(provider="command", command=program(f"print({text!r})")))
    unit = make.unit("Raise it.", "Done.", tools=[make.edit(7, "a.py", "MAX = 3", "MAX = 5")])
    seen = who.observe(unit)
    assert [one.title for one in seen.reply.observations] == ["Limit is 5"]
    assert (seen.provider, seen.calls) == ("command", 1)
