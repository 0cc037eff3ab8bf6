"""A program that is asked: what it gets, what comes back, and that nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from cmem.observer.providers import child

ENV = {"PATH": "/usr/bin:/bin", "CMEM_OBSERVER": "1"}


def run(path: Path, request: str = "hi", *, timeout_s: float = 20) -> child.Ended:
    return child.run([str(path)], request, env=ENV, timeout_s=timeout_s)


def gone(pid: int) -> bool:
    """Whether the process ends within two seconds."""
    for _ in range(40):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_request_goes_to_stdin_and_the_reply_comes_from_stdout(program: Any) -> None:
    path = program("print(sys.stdin.read().upper()); print('aside', file=sys.stderr); sys.exit(3)")
    assert run(path, "grün > $(x) `y`") == child.Ended(3, "GRÜN > $(X) `Y`\n", "aside\n")


def test_a_request_of_megabytes_passes(program: Any) -> None:
    path = program("print(len(sys.stdin.buffer.read()))")
    assert run(path, "ü" * 3_000_000).out == "6000000\n"


def test_a_program_that_does_not_read_its_request_still_answers(program: Any) -> None:
    assert run(program("print('done')"), "x" * 1_000_000).out == "done\n"


def test_it_works_in_an_empty_folder_of_its_own_that_our_hooks_ignore(program: Any) -> None:
    body = "print(os.getcwd(), oct(os.stat('.').st_mode & 0o777), os.listdir('.'), os.getsid(0))"
    folder, mode, inside, session = run(program(body)).out.split()
    assert (mode, inside) == ("0o700", "[]")
    assert "/cmem-observer-" in folder and not Path(folder).exists()
    assert int(session) != os.getsid(0)


def test_its_folder_is_in_no_repository(
    program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "repository" / "tmp"
    inside.mkdir(parents=True)
    path = program("print(os.getcwd())")
    monkeypatch.setattr(tempfile, "tempdir", str(inside))
    assert run(path).out.startswith(f"{inside}/cmem-observer-")
    for name in ("objects", "refs"):
        (tmp_path / "repository" / ".git" / name).mkdir(parents=True)
    (tmp_path / "repository" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert run(path).out.startswith("/tmp/cmem-observer-")


def test_bytes_that_are_no_text_are_replaced(program: Any) -> None:
    assert run(program("sys.stdout.buffer.write(b'a\\xffb')")).out == "a\ufffdb"


def test_one_that_does_not_end_in_time_is_killed_with_all_it_started(
    program: Any, tmp_path: Path
) -> None:
    body = """
pid = os.fork()
if not pid:
    time.sleep(60)
    os._exit(0)
open(SEEN + '/pids', 'w').write(f'{os.getpid()} {pid}')
time.sleep(60)
"""
    begin = time.monotonic()
    with pytest.raises(child.LateError):
        run(program(body), timeout_s=1)
    assert time.monotonic() - begin < 8
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    assert [gone(pid) for pid in pids] == [True, True]


def test_what_it_leaves_running_is_ended_and_does_not_hold_us(program: Any, tmp_path: Path) -> None:
    body = """
pid = os.fork()
if not pid:
    time.sleep(60)
    os._exit(0)
open(SEEN + '/pid', 'w').write(str(pid))
print('answer', flush=True)
os._exit(0)
"""
    begin = time.monotonic()
    assert run(program(body)).out == "answer\n"
    assert time.monotonic() - begin < 10
    assert gone(int((tmp_path / "pid").read_text()))


def test_one_that_never_stops_talking_is_ended(program: Any) -> None:
    body = "while True: sys.stdout.write('x' * 65536)"
    begin = time.monotonic()
    with pytest.raises(child.LoudError):
        run(program(body))
    assert time.monotonic() - begin < 10


def test_of_its_complaints_only_the_end_is_kept(program: Any) -> None:
    ended = run(program("sys.stderr.write('x' * 9_000_000 + 'the end')"))
    assert len(ended.complaint) == child.TAIL
    assert ended.complaint.endswith("the end")


def test_a_run_that_is_told_to_end_leaves_no_program(program: Any, tmp_path: Path) -> None:
    path = program("open(SEEN + '/pid', 'w').write(str(os.getpid())); time.sleep(60)")
    code = f"""
import signal, sys
from cmem import compress
from cmem.observer.providers import child
compress.end_on_signals()
child.run([{str(path)!r}], 'hi', env={{'PATH': '/bin'}}, timeout_s=30)
"""
    ours = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[3])
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.05)
    ours.send_signal(signal.SIGTERM)
    assert ours.wait(10) == 143
    assert gone(int((tmp_path / "pid").read_text()))


def test_descriptors_of_ours_are_not_handed_on(program: Any, tmp_path: Path) -> None:
    fd = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(fd, True)  # as the lock of a run in the background is
    try:
        body = (
            "print([os.readlink('/proc/self/fd/' + n) for n in os.listdir('/proc/self/fd')[:-1]])"
        )
        assert "lock" not in run(program(body)).out
    finally:
        os.close(fd)


VARIABLES = {
    "PATH": "/bin",
    "HOME": "/home/dev",
    "LC_ALL": "C.UTF-8",
    "XDG_CONFIG_HOME": "/x",
    "HTTPS_PROXY": "http://proxy:1",
    "no_proxy": "a",
    "SSL_CERT_FILE": "/theirs.pem",
    "ANTHROPIC_BASE_URL": "http://evil",
    "ANTHROPIC_API_KEY": "theirs",
    "ANTHROPIC_AUTH_TOKEN": "theirs",
    "CLAUDE_CONFIG_DIR": "/repo",
    "CLAUDECODE": "1",
    "CMEM_API_KEY": "ours",
    "NODE_OPTIONS": "--require /repo/x.js",
    "LD_PRELOAD": "/repo/x.so",
    "PYTHONPATH": "/repo",
    "GIT_SSH_COMMAND": "x",
}


def test_a_run_that_a_person_started_hands_on_the_way_to_the_net(chosen: Any) -> None:
    assert child.environment(VARIABLES, chosen()) == {
        "PATH": "/bin",
        "HOME": "/home/dev",
        "LC_ALL": "C.UTF-8",
        "XDG_CONFIG_HOME": "/x",
        "HTTPS_PROXY": "http://proxy:1",
        "no_proxy": "a",
        "SSL_CERT_FILE": "/theirs.pem",
        "CMEM_OBSERVER": "1",
    }


def test_a_run_that_a_hook_started_hands_on_nothing_a_repository_could_have_set(
    chosen: Any,
) -> None:
    env = VARIABLES | {"CMEM_STARTED_BY": "hook"}
    assert child.environment(env, chosen()) == {
        "PATH": "/bin",
        "HOME": "/home/dev",
        "LC_ALL": "C.UTF-8",
        "CMEM_OBSERVER": "1",
    }


def test_proxy_and_certificates_of_the_settings_win(chosen: Any) -> None:
    own = chosen(proxy="http://mine:3128", ca_file="/mine.pem")
    kept = {"PATH": "/bin", "HOME": "/home/dev", "LC_ALL": "C.UTF-8", "CMEM_OBSERVER": "1"}
    net = {
        "HTTP_PROXY": "http://mine:3128",
        "HTTPS_PROXY": "http://mine:3128",
        "NO_PROXY": "localhost,127.0.0.1,::1",
        "SSL_CERT_FILE": "/mine.pem",
        "NODE_EXTRA_CA_CERTS": "/mine.pem",
        "REQUESTS_CA_BUNDLE": "/mine.pem",
    }
    assert child.environment(VARIABLES, own) == kept | net | {"XDG_CONFIG_HOME": "/x"}
    assert child.environment(VARIABLES | {"CMEM_STARTED_BY": "hook"}, own) == kept | net
