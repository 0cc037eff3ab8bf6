"""List items as JSON and as lines: the one shape of search hits and timeline items."""

from __future__ import annotations

import sys

from cmem.cli import marks, output
from cmem.privacy.sanitise import clean
from cmem.search import snippet
from cmem.search.run import Hit
from cmem.store import records
from cmem.store.find import Candidate
from cmem.store.read import KIND_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from cmem.cli.output import Line
    from cmem.store.read import Ref


def load(conn: apsw.Connection, refs: Sequence[Ref]) -> list[Hit]:
    """The rows as items, in the order of ``refs``; what is no item or not to be seen is left out."""
    wanted = [Candidate(0, kind, number, 0) for kind, number in refs if kind in "OSPT"]
    found = records.load(conn, wanted)
    return [_item(found[ref]) for ref in refs if ref in found]


def document(item: Hit) -> dict[str, Any]:
    """The item under the names of the interface contract."""
    return item._asdict() | {"kind": KIND_WORDS.get(item.kind, item.kind)}


def lines(item: Hit, *, mark: str = "", words: Sequence[str] = ()) -> list[Line]:
    """A line with id, time, type, title, project and cost; a second one with the text, in which
    ``words`` stand out on a terminal."""
    name = clean(item.title, one_line=True) or "(untitled)"
    more = clean(item.subtitle, one_line=True)
    kind = clean(item.type, one_line=True)
    first: Line = [
        (mark, "bold"),
        (item.id, output.STYLES.get(item.kind, "")),
        (f"  {output.when(item.created_at)}  ", "dim"),
        (marks.shown(kind) if item.kind in "OS" else KIND_WORDS[item.kind].replace("_", " "), ""),
        ("  ", ""),
        (name + (f": {more}" if more else ""), "bold"),
        (f"  ({clean(item.project, one_line=True)}, ~{item.tokens} tokens)", "dim"),
    ]
    text = clean(item.snippet, one_line=True)
    indent = " " * (len(mark) + 4)
    if not text or text == name:
        return [first]
    return [first, [(indent, ""), *_marked(text, words)]]


def _marked(text: str, words: Sequence[str]) -> Line:
    # A pipe has no styles: nothing is looked for.
    if not words or not sys.stdout.isatty():
        return [(text, "")]
    pieces = snippet.pieces(text, words)
    return [(piece, "bold yellow" if is_word else "") for piece, is_word in pieces]


def _item(record: records.Record) -> Hit:
    inside = record.root.rstrip("/") + "/" if record.root else ""
    return Hit(
        id=f"{record.kind}{record.ref}",
        kind=record.kind,
        project=record.project,
        session=f"N{record.session}",
        host_session=record.host_session,
        type=record.type,
        title=snippet.line(record.title),
        subtitle=snippet.line(record.subtitle),
        snippet=snippet.around(record, []),
        created_at=record.created_at,
        files=[path.removeprefix(inside) if inside else path for path in record.files],
        tokens=record.tokens,
        score=0.0,
    )
