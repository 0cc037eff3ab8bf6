"""``cmem redact --test FILE``: what the rules would cut from a text, without storing anything."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from cmem.cli import output
from cmem.errors import CmemError, UsageError
from cmem.privacy import second
from cmem.privacy.sanitise import clean

LIMIT = 16 * 1024 * 1024


def run(values: Mapping[str, Any]) -> int:
    """Print the findings by rule and line, or with ``--text`` the text as it would be stored."""
    name = values["test"]
    if not name:
        raise UsageError("say what to test: --test FILE, or --test - for standard input")
    text, found = second.findings(clean(_read(name)))
    if values["json"]:
        document: dict[str, Any] = {
            "file": name,
            "findings": [one._asdict() for one in found],
            "counts": dict(sorted(Counter(one.rule for one in found).items())),
        }
        output.write_json(document | ({"text": text} if values["text"] else {}))
    elif values["text"]:
        output.write_lines(output.paragraphs(text.removesuffix("\n")))
    else:
        lines = [f"line {one.line}: {one.rule}" for one in found]
        lines += [f"{len(found)} would be cut." if found else "Nothing would be cut."]
        output.write_lines([output.plain(line) for line in lines])
    return 0


def _read(name: str) -> str:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(LIMIT + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise CmemError(f"could not read {name}: {reason}") from error
    if len(data) > LIMIT:
        raise CmemError(f"could not read {name}: over {LIMIT // 2**20} MiB; split it")
    return data.decode("utf-8", "replace")
