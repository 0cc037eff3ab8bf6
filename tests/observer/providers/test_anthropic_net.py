"""The way to the Messages API: proxies, certificates, headers, and answers without an end."""

from __future__ import annotations

import gzip
import http.server
import json
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from cmem.observer.errors import ProviderError, UnusableReply
from cmem.observer.providers import anthropic

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-haiku-4-5",
    "content": [{"type": "text", "text": "<skip_summary/>"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
PLAIN = json.dumps(MESSAGE).encode()
Body = Callable[[http.server.BaseHTTPRequestHandler], None]


def send(handler: Any, status: int = 200, body: bytes = PLAIN, **headers: str) -> None:
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(body)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def serving(
    answer: Body = send, context: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """The address of a server that answers every request so, and what it was asked: paths and
    headers. Asked as a proxy, it answers in the place of the other one."""
    seen: list[tuple[str, dict[str, str]]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
            try:
                answer(self)
            except OSError:
                self.close_connection = True

        def log_message(self, *words: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    scheme = "https" if context else "http"
    try:
        yield f"{scheme}://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def ask(chosen: Any, ours: Any) -> Any:
    def make(**settings: Any) -> Any:
        own = {"provider": "anthropic", "api_key": "dummy", "timeout_s": 5} | settings
        return anthropic.provider(chosen(**own)).ask(ours)

    return make


def test_headers_of_the_settings_are_sent_and_no_others(
    ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-spy: 1")
    with serving() as (url, seen):
        ask(base_url=url, headers="X-Team: core | cf-aig-authorization: Bearer a:b")
    sent = seen[0][1]
    assert (sent["x-team"], sent["cf-aig-authorization"]) == ("core", "Bearer a:b")
    assert "x-spy" not in sent


def test_the_proxy_of_the_settings_is_used(ask: Any) -> None:
    with serving() as (url, seen):
        assert ask(base_url="http://model.internal:8080", proxy=url).text == "<skip_summary/>"
    assert [path for path, _ in seen] == ["http://model.internal:8080/v1/messages"]


def test_this_machine_is_never_reached_through_a_proxy(
    ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving() as (url, seen):
        ask(base_url=url, proxy="http://127.0.0.1:9")
    assert [path for path, _ in seen] == ["/v1/messages"]


def test_a_proxy_of_the_environment_counts_only_for_a_person(
    ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as (url, seen):
        monkeypatch.setenv("HTTP_PROXY", url)
        ask(base_url="http://model.internal")
        assert len(seen) == 1
        monkeypatch.setenv("CMEM_STARTED_BY", "hook")
        with pytest.raises(ProviderError) as caught:
            ask(base_url="http://model.internal")
        assert (caught.value.kind, len(seen)) == ("transport", 1)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody has signed, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not here")
    folder = tmp_path_factory.mktemp("tls")
    own, key = folder / "own.pem", folder / "own.key"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    words += " -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(
        ["openssl", *words.split(), "-keyout", str(key), "-out", str(own)],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return own, key


def test_a_certificate_of_ones_own_is_trusted_when_the_settings_name_it(
    ask: Any, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with serving(context=context) as (url, seen):
        with pytest.raises(ProviderError) as caught:
            ask(base_url=url)
        assert (caught.value.kind, caught.value.served, seen) == ("config", False, [])
        assert str(caught.value).startswith(f"the certificate of {url} is not trusted (self-signed")
        assert str(caught.value).endswith("in the setting ca_file")
        assert ask(base_url=url, ca_file=certificate[0]).text == "<skip_summary/>"
    (tmp_path / "bad.pem").write_text("no certificate")
    for name in ("none.pem", "bad.pem"):
        with pytest.raises(ProviderError) as caught:
            ask(base_url=url, ca_file=tmp_path / name)
        assert caught.value.kind == "config"
        assert str(caught.value).endswith("check the setting ca_file")


def drip(handler: Any) -> None:
    """A byte now and then, each of them in time."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "1000")
    handler.end_headers()
    for _ in range(60):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.2)


def flood(handler: Any) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    for _ in range(1600):
        handler.wfile.write(b" " * 65536)


def bomb(handler: Any) -> None:
    send(handler, body=gzip.compress(b" " * 100_000_000, 9), content_encoding="gzip")


def flood_of_errors(handler: Any) -> None:
    handler.send_response(529)
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    for _ in range(1600):
        handler.wfile.write(b" " * 65536)


ENDLESS: list[tuple[Body, str]] = [
    (drip, "it was not complete after 2 s"),
    (flood, "it has more than 8 MiB"),
    (bomb, "it has more than 8 MiB"),
    (flood_of_errors, "it has more than 8 MiB"),
]


@pytest.mark.parametrize(("answer", "why"), ENDLESS)
def test_an_answer_without_an_end_is_left_in_time_and_in_bounds(
    answer: Body, why: str, ask: Any
) -> None:
    begin = time.monotonic()
    with serving(answer) as (url, _), pytest.raises(ProviderError) as caught:
        ask(base_url=url, timeout_s=2 if answer is drip else 20)
    assert caught.value.kind == "transport"
    assert str(caught.value) == f"the answer could not be read: {why}"
    assert time.monotonic() - begin < (8 if answer is drip else 25)


def test_retry_after_may_be_a_date(ask: Any) -> None:
    now = time.time()
    headers = {"retry_after": formatdate(now + 90, usegmt=True)}
    answering = serving(lambda handler: send(handler, 429, b"{}", **headers))
    with answering as (url, _), pytest.raises(ProviderError) as caught:
        ask(base_url=url)
    assert caught.value.kind == "overload"
    assert caught.value.retry_after_s is not None
    assert 80 < caught.value.retry_after_s <= 91


LONG = [
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and max_tokens exceed context limit of the model",
    "This model's maximum context length is 8192 tokens",
]


@pytest.mark.parametrize("said", LONG)
def test_a_request_that_is_too_long_is_the_units_trouble_and_not_the_models(
    said: str, ask: Any
) -> None:
    body = json.dumps({"type": "error", "error": {"type": "x", "message": said}}).encode()
    answering = serving(lambda handler: send(handler, 400, body))
    with answering as (url, _), pytest.raises(UnusableReply) as caught:
        ask(base_url=url)
    assert caught.value.reason == f"the request was refused (400): {said}"
