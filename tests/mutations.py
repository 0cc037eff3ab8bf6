"""Payloads that hosts were recorded to send, and what can become of one on its way."""

from __future__ import annotations

import functools
import json
import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from support import FIXTURES, payload_bytes

from cmem.hosts.wire import HOSTS

MIB = 1 << 20


class Input(NamedTuple):
    """What one hook is started with; ``kind`` names the mutation."""

    kind: str
    host: str
    event: str
    raw: bytes


@functools.cache
def recorded() -> tuple[tuple[str, str, str], ...]:
    """(host, event, payload as JSON) of everything recorded, each payload once."""
    found = dict.fromkeys(
        (host, document["hook_event_name"], json.dumps(document))
        for host in HOSTS
        for document in _documents(host)
    )
    return tuple(found)


def _documents(host: str) -> list[dict[str, Any]]:
    folder = FIXTURES / "hosts" / host
    whole = [json.loads(path.read_bytes()) for path in sorted(folder.glob("[A-Z]*.json"))]
    lines = [
        json.loads(line)["stdin"]
        for path in sorted(folder.glob("session-*.jsonl"))
        for line in path.read_text(encoding="utf-8").split("\n")
        if line
    ]
    return [one for one in whole + lines if isinstance(one.get("hook_event_name"), str)]


def stream(rng: random.Random, count: int, *, tag: str) -> Iterator[Input]:
    """``count`` inputs, every kind of mutation among the first; the ids in them are their own.
    Now and then one of the last comes again: the host tries again, or the hook is registered
    twice."""
    kinds = list(MUTATIONS)
    last = deque[Input](maxlen=20)
    for at, kind in enumerate(kinds[:count] + rng.choices(kinds, k=max(0, count - len(kinds)))):
        # Most of the largest are left out later, or they would be all the time there is.
        rare = kind in LARGE and at >= len(kinds) and rng.random() < 0.8
        again = at >= len(kinds) and rng.random() < 0.03
        one = rng.choice(last) if again else _made(rng, "as it is" if rare else kind, f"{tag}-{at}")
        last.append(one)
        yield one


def _made(rng: random.Random, kind: str, name: str) -> Input:
    known = [one for one in recorded() if one[1] in HOSTS[one[0]].kinds]
    host, event, text = rng.choice(known if rng.random() < 0.95 else recorded())
    document = json.loads(text)
    document["session_id"] = f"s-{name}"
    if "tool_use_id" in document:
        document["tool_use_id"] = f"t-{name}"
    host, event = _addressed(rng, kind, host, event)
    return Input(kind, host, event, MUTATIONS[kind](rng, document))


def _addressed(rng: random.Random, kind: str, host: str, event: str) -> tuple[str, str]:
    if kind == "unknown event":
        return host, rng.choice(("PostTool", "posttooluse", "Setup", "", "-", "../x", "ÄÖ"))
    if kind == "unknown host":
        return rng.choice(("cursor", "", "claude_code", "--help")), event
    if kind == "another host's event":
        other = rng.choice([name for name in HOSTS if name != host])
        return other, rng.choice([event, *HOSTS[other].kinds])
    return host, event


# --- documents -----------------------------------------------------------------------

Document = dict[str, Any]
Mutation = Callable[[random.Random, Document], bytes]

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**63, 1.5e308, "", " ", "x", [], {}, [[]], [None], {"a": {}}),
    *({"": ""}, ["a", 1, None], "null", "\x00", "\u2028", "\x1b[31m", "😀", "ﷺ" * 9),
)
ODD_IDS = (
    *("../../x", "a/b", "x" * 10_000, "two\nlines", "-rf", "😀", "", " ", ".", "..", "a'b\"c"),
    *("$(id)", "%s%n", "a\x00b", "\ud800", "NUL", "~", "*"),
)
ODD_PLACES = (
    *("relative", "/no/such", "/\x00", "/" + "a" * 300, "/" + "a/" * 2_500, "/tmp", "/", "~"),
    *("/a\nb", "/proc/self/fd/0", "/dev/null", "/etc/passwd", "C:\\w", "/\udcff", "//x", "/.."),
)


def _as_it_is(_rng: random.Random, document: Document) -> bytes:
    return payload_bytes(document)


def _wrong_type(rng: random.Random, document: Document) -> bytes:
    for name in rng.sample(list(document), rng.randint(1, min(3, len(document)))):
        document[name] = rng.choice(ODD_VALUES)
    return payload_bytes(document)


def _wrong_type_within(rng: random.Random, document: Document) -> bytes:
    for name in ("tool_input", "tool_response"):
        if isinstance(document.get(name), dict) and document[name]:
            document[name][rng.choice(list(document[name]))] = rng.choice(ODD_VALUES)
    return payload_bytes(document)


def _missing(rng: random.Random, document: Document) -> bytes:
    for name in rng.sample(list(document), rng.randint(1, len(document))):
        del document[name]
    return payload_bytes(document)


def _more_fields(rng: random.Random, document: Document) -> bytes:
    many = rng.choice((1, 10, 2_500))
    return payload_bytes({**document, **{f"f{n}": rng.choice(ODD_VALUES) for n in range(many)}})


def _odd_id(rng: random.Random, document: Document) -> bytes:
    name = rng.choice(("session_id", "prompt_id", "tool_use_id", "turn_id", "agent_id"))
    return payload_bytes({**document, name: rng.choice(ODD_IDS)})


def _odd_place(rng: random.Random, document: Document) -> bytes:
    return payload_bytes({**document, "cwd": rng.choice(ODD_PLACES)})


def _huge_text(rng: random.Random, document: Document) -> bytes:
    text = rng.choice(("x", "é", "😀", "<private>", "\\", '"', "\n", "a b ")) * (
        rng.choice((70_000, 300_000, MIB)) // 4
    )
    name = rng.choice(("prompt", "tool_response", "tool_input", "cwd", "last_assistant_message"))
    return payload_bytes({**document, name: rng.choice((text, {"stdout": text}))})


def _many_large_texts(rng: random.Random, document: Document) -> bytes:
    """More than an event in SQLite may have, even with each text cut."""
    texts = {f"part{n}": chr(97 + n) * rng.choice((60_000, 90_000)) for n in range(6)}
    return payload_bytes({**document, "tool_response": texts})


def _nine_megabytes(rng: random.Random, document: Document) -> bytes:
    return payload_bytes({**document, "tool_response": {"stdout": "x" * (9 * MIB)}})


def _many_branches(rng: random.Random, document: Document) -> bytes:
    return payload_bytes(document)[:-2] + b',"x":[' + b"[]," * rng.choice((500, 120_000)) + b"0]}"


def _private(rng: random.Random, document: Document) -> bytes:
    opened = rng.choice(
        ("<private>", "<PRIVATE a=1>", "&lt;private&gt;", "</private>", "＜private＞")
    )
    closed = rng.choice(("</private>", "", "<private>", "&lt;/private&gt;"))
    name = rng.choice(("prompt", "last_assistant_message", "tool_response", "title"))
    return payload_bytes({**document, name: f"a {opened} b {closed} c" * rng.choice((1, 1_000))})


def _image(rng: random.Random, document: Document) -> bytes:
    data = "iVBORw0KGgo" + "A" * rng.choice((40, 400_000))
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return payload_bytes({**document, "tool_response": [{"type": "image", "source": source}]})


# --- bytes ---------------------------------------------------------------------------


def _flipped(rng: random.Random, document: Document) -> bytes:
    data = bytearray(payload_bytes(document))
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _truncated(rng: random.Random, document: Document) -> bytes:
    data = payload_bytes(document)
    return data[: rng.randrange(len(data))]


def _without_a_slice(rng: random.Random, document: Document) -> bytes:
    data = payload_bytes(document)
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randint(1, 40) :]


def _slice_twice(rng: random.Random, document: Document) -> bytes:
    data = payload_bytes(document)
    start = rng.randrange(len(data))
    end = start + rng.randint(1, 200)
    return data[:end] + data[start:]


def _random_bytes(rng: random.Random, document: Document) -> bytes:
    return rng.randbytes(rng.choice((1, 2, 3, 100, 5_000)))


def _with(rng: random.Random, document: Document, raw: bytes) -> bytes:
    """The document with ``raw`` as the value of one of its fields or of a new one."""
    name = rng.choice([*document, "new"])
    rest = {key: value for key, value in document.items() if key != name}
    return payload_bytes(rest)[:-2] + b"," + json.dumps(name).encode() + b":" + raw + b"}\n"


def _doubled_keys(rng: random.Random, document: Document) -> bytes:
    name = rng.choice(list(document))
    value = rng.choice((document[name], *ODD_VALUES[:20]))
    return payload_bytes(document)[:-2] + b"," + payload_bytes({name: value})[1:]


def _odd_number(rng: random.Random, document: Document) -> bytes:
    numbers = (
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e400",
        b"-0",
        b"7" * 5_000,
        b"0x1F",
        b"1.",
        b"+1",
    )
    return _with(rng, document, rng.choice(numbers))


def _odd_text(rng: random.Random, document: Document) -> bytes:
    texts = (
        *(rb'"\ud800"', rb'"\udc00\ud800"', rb'"\u0000"', rb'"a\u0000b"', b'"\x00"', b'"\xff\xfe"'),
        *(b'"\xed\xa0\x80"', b'"\xc0\x80"', b'"\xf5\x80\x80\x80"', b'"a\nb"', rb'"\x41"', b"'a'"),
        *(
            rb'"\u003cprivate\u003ex"',
            rb'"\u"',
            b'"' + rb"\u0041" * 5_000 + b'"',
            b'"\x1b]0;x\x07"',
        ),
    )
    return _with(rng, document, rng.choice(texts))


def _nested(rng: random.Random, document: Document) -> bytes:
    depth = rng.choice((10, 99, 100, 101, 999, 1_000, 1_001, 5_000, 100_000))
    opened, closed = rng.choice(((b"[", b"]"), (b'{"a":', b"}")))
    inner = b"" if opened == b"[" else b"1"
    return _with(rng, document, opened * depth + inner + closed * rng.choice((depth, depth - 1, 0)))


def _bom(rng: random.Random, document: Document) -> bytes:
    return b"\xef\xbb\xbf" * rng.choice((1, 1, 2)) + payload_bytes(document)


def _utf16(rng: random.Random, document: Document) -> bytes:
    text = payload_bytes(document).decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32")))


def _not_utf8(rng: random.Random, document: Document) -> bytes:
    return payload_bytes(document).decode("utf-8", "replace").encode("latin-1", "replace")


def _nuls(rng: random.Random, document: Document) -> bytes:
    data = payload_bytes(document)
    at = rng.randrange(len(data))
    return rng.choice(
        (data[:at] + b"\x00" + data[at:], data + b"\x00" * 5, b"\x00" + data, b"\x00")
    )


def _empty(rng: random.Random, document: Document) -> bytes:
    return rng.choice((b"", b" ", b"\n\n", b"\t\r\n", b"\xef\xbb\xbf"))


def _no_object(rng: random.Random, document: Document) -> bytes:
    some = (b"null", b"[]", b'"x"', b"123", b"true", b"{}", b"[1,2]", b"-", b"{", b"}", b'{"a"}')
    return rng.choice((*some, b"hello", b"<xml/>", b"a=b&c=d", b"// {}", b"{a:1}", b"{'a':1}"))


def _two_documents(rng: random.Random, document: Document) -> bytes:
    data = payload_bytes(document)
    other = rng.choice(
        (data, b"{}", b"garbage", b"]", b",", payload_bytes({"session_id": "other"}))
    )
    return data.rstrip(rng.choice((b"\n", b"")) or None) + rng.choice((b"", b"\n", b" ")) + other


def _json5(rng: random.Random, document: Document) -> bytes:
    data = payload_bytes(document).rstrip()
    return rng.choice(
        (b"/* c */" + data, data[:-1] + b",}", data.replace(b'"', b"'"), data + b" // c")
    )


MUTATIONS: dict[str, Mutation] = {
    "as it is": _as_it_is,
    "flipped bits": _flipped,
    "truncated": _truncated,
    "without a slice": _without_a_slice,
    "a slice twice": _slice_twice,
    "wrong type": _wrong_type,
    "wrong type within": _wrong_type_within,
    "missing fields": _missing,
    "more fields": _more_fields,
    "odd id": _odd_id,
    "odd place": _odd_place,
    "odd number": _odd_number,
    "odd text": _odd_text,
    "doubled keys": _doubled_keys,
    "nested": _nested,
    "huge text": _huge_text,
    "many large texts": _many_large_texts,
    "nine megabytes": _nine_megabytes,
    "many branches": _many_branches,
    "private": _private,
    "image": _image,
    "bom": _bom,
    "utf-16": _utf16,
    "not utf-8": _not_utf8,
    "nuls": _nuls,
    "empty": _empty,
    "no object": _no_object,
    "two documents": _two_documents,
    "json5": _json5,
    "random bytes": _random_bytes,
    "unknown event": _as_it_is,
    "unknown host": _as_it_is,
    "another host's event": _as_it_is,
}
LARGE = ("nine megabytes", "many large texts", "huge text", "many branches")
