from __future__ import annotations

import json
from typing import Any

import pytest

from cmem import lenient, spool

DOCUMENT: dict[str, Any] = {"a": {"b": "deep"}, "list": ["first", {"c": "inner"}], "n": "x"}


@pytest.mark.parametrize(
    "path",
    [
        "$.n",
        "$.a.b",
        "$.list[0]",
        "$.list[1].c",
        "$.list[9]",
        "$.n[0]",
        "$.a[0]",
        "$.none.b",
        "$.n.b",
    ],
)
def test_a_path_means_what_it_means_to_sqlite(path: str) -> None:
    found = lenient.at(DOCUMENT, path)
    assert spool.fields(json.dumps(DOCUMENT), (path,)) == (found or "",)


@pytest.mark.parametrize("document", [None, [], "text", 5])
def test_in_what_is_no_object_nothing_is_found(document: object) -> None:
    assert lenient.at(document, "$.a") is None
