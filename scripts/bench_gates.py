"""What the hook's look at a payload costs, in microseconds: the gates alone, and all of it.

`gates` decides whether a payload has to be scrubbed; most have nothing in them and pay only
that. Best of many runs, because a busy machine adds and never takes away. `--check` fails when
the gates take more than 0.3 ms for 4.8 kB of an ordinary payload.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from cmem.hosts.wire import HOSTS  # noqa: E402
from cmem.privacy import gates, scrub  # noqa: E402

LIMIT_US = 300.0
SIZE = 4_800
HOSTILE = "underscores and dots"  # the most that the gates can be made to do
REPEATS = 300
SHAPE = HOSTS["claude-code"].shape


def main() -> int:
    options = _options()
    rows = [(name, len(raw), best(gates.hit, raw)) for name, raw in payloads().items()]
    hits = [
        (name, len(raw), best(lambda data: scrub.scrub_payload(data, SHAPE), raw))
        for name, raw in payloads().items()
        if gates.hit(raw)
    ]
    print(f"{'payload':<24}{'bytes':>8}{'gates µs':>10}{'scrub µs':>10}")
    for (name, size, cost), scrubbed in zip(rows, _beside(rows, hits), strict=True):
        print(f"{name:<24}{size:>8}{cost:>10.0f}{scrubbed:>10}")
    over = [
        name for name, size, cost in rows if cost > LIMIT_US and size <= SIZE and name != HOSTILE
    ]
    for name in over:
        print(f"over {LIMIT_US:.0f} µs: {name}", file=sys.stderr)
    return 1 if over and options.check else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help=f"exit 1 above {LIMIT_US:.0f} µs")
    return parser.parse_args()


def _beside(rows: list[tuple[str, int, float]], hits: list[tuple[str, int, float]]) -> list[str]:
    known = {name: f"{cost:.0f}" for name, _size, cost in hits}
    return [known.get(name, "-") for name, _size, _cost in rows]


def payloads() -> dict[str, bytes]:
    """Tool results of 4.8 kB, and larger ones; the last two hold something to cut."""
    line = "tests/test_orders.py::test_total_is_rounded PASSED   [ 42%] 0 failed, 1 passed\n"
    source = Path(ROOT, "cmem", "spool.py").read_text(encoding="utf-8")
    words = random.Random(1).choices(source.split(), k=4_000)
    texts = {
        "test output": line * 100,
        "source code": source * 2,
        "words": " ".join(words),
        "other scripts": "Der Zähler läuft über. 修改了訂單的四捨五入。 " * 400,
        "escapes and quotes": '\t"a\\b"\n' * 1_000,
        HOSTILE: "a_b.c_d.e-f " * 500,
    }
    made = {name: _fitted(text) for name, text in texts.items()}
    made["test output, 100 kB"] = _payload(line * 1_235)
    made["with a token"] = _fitted("ghp" + "_" + "x9" * 18 + " " + line * 100)
    made["with a private span"] = _fitted("<private>x</private> " + line * 100)
    return made


def _fitted(text: str) -> bytes:
    """As much of the text as a payload of 4.8 kB has room for."""
    raw = _payload(text)
    while (over := len(raw) - SIZE) > 0:
        text = text[: -max(1, over // 4)]
        raw = _payload(text)
    return raw


def _payload(text: str) -> bytes:
    document = {
        "session_id": "f57d53fd-a814-42c0-ae4a-ff10dd56ff67",
        "cwd": "/home/dev/project",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "python -m pytest -q"},
        "tool_response": {"stdout": text, "stderr": "", "interrupted": False},
        "tool_use_id": "toolu_1",
    }
    return json.dumps(document, ensure_ascii=False).encode()


def best(work: Callable[[bytes], object], raw: bytes) -> float:
    """The quickest of many runs, in microseconds."""
    found = float("inf")
    for _ in range(REPEATS):
        began = time.perf_counter()
        work(raw)
        found = min(found, time.perf_counter() - began)
    return found * 1e6


if __name__ == "__main__":
    sys.exit(main())
