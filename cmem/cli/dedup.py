"""``cmem dedup``: pairs of memories that may be one, and what a person decides about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cmem import dedup
from cmem.cli import boundary, observations, output, place
from cmem.cli.writing import beside
from cmem.errors import CmemError, UsageError
from cmem.privacy.sanitise import clean
from cmem.store import dedup as store
from cmem.store import projects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import apsw

    from cmem.likeness import Pair

ALL = "all"


def run(values: Mapping[str, Any]) -> int:
    """Show the pairs, or join, keep or part those that are named by their newer one."""
    asked = [name for name in ("apply", "keep", "undo") if values[name]]
    if len(asked) > 1:
        raise UsageError("choose one of --apply, --keep and --undo")
    if asked == ["undo"]:
        return _undo(values)
    if asked:
        return _decide(values, asked[0])
    conn = place.store()
    found: list[tuple[Pair, store.Side, store.Side]] = []
    if conn is not None:
        try:
            found = [
                (one, store.side(conn, one.older), store.side(conn, one.newer))
                for one in _pairs(conn, values)
            ]
        finally:
            conn.close()
    if values["json"]:
        output.write_json({"pairs": [_document(*one) for one in found]})
        return 0
    if not found:
        boundary.complain("no two memories look like one")
    output.write_lines([line for one in found for line in _lines(*one)])
    return 0


def _pairs(conn: apsw.Connection, values: Mapping[str, Any]) -> Iterator[Pair]:
    scope = place.scope(conn, values)
    if scope.projects is not None:
        yield from dedup.find(conn, scope.projects)
        return
    for ref, _name in projects.names(conn):
        yield from dedup.find(conn, projects.family(conn, ref))


def _decide(values: Mapping[str, Any], how: str) -> int:
    done: list[str] = []
    with beside() as conn:
        pairs = {pair.newer: pair for pair in _pairs(conn, values)}
        chosen, unknown = _chosen(pairs, values[how])
        if not chosen:
            raise CmemError(_no_pair(unknown))
        for pair in chosen:
            if how == "keep":
                store.keep(conn, pair.older, pair.newer, score=pair.score, now=place.now_ms())
            else:
                store.join(
                    conn,
                    _root(conn, pair.older),
                    pair.newer,
                    level=pair.level,
                    score=pair.score,
                    now=place.now_ms(),
                )
            done.append(f"O{pair.newer}")
    word = {"apply": "Joined", "keep": "Kept as they are"}[how]
    return _tell(values, word, done=done, unknown=unknown)


def _root(conn: apsw.Connection, ref: int) -> int:
    """What stands for an observation by now: a pair before this one may have been joined."""
    for _ in range(store.LIMIT):
        found = conn.execute(
            "SELECT superseded_by FROM observations WHERE id = ?", (ref,)
        ).fetchall()
        following = found[0][0] if found else None
        if not isinstance(following, int) or following == ref:
            break
        ref = following
    return ref


def _chosen(pairs: Mapping[int, Pair], ids: list[str]) -> tuple[list[Pair], list[str]]:
    """The pairs that are named; ``all`` is those that are surely the same."""
    if ids == [ALL]:
        return [pair for pair in pairs.values() if pair.level == 0], []
    found, unknown = [], []
    for text in ids:
        ref = place.parse_id(text)
        if ref is None or ref[0] != "O" or ref[1] not in pairs:
            unknown.append(text)
        else:
            found.append(pairs[ref[1]])
    return list(dict.fromkeys(found)), unknown


def _undo(values: Mapping[str, Any]) -> int:
    done: list[str] = []
    unknown: list[str] = []
    with beside() as conn:
        for text in values["undo"]:
            refs, _ = observations.resolve(conn, [text])
            if refs and store.part(conn, refs[0], now=place.now_ms()) is not None:
                done.append(f"O{refs[0]}")
            else:
                unknown.append(text)
    if not done:
        raise CmemError(f"nothing was joined there: {', '.join(unknown)}")
    return _tell(values, "Two again", done=done, unknown=unknown)


def _tell(values: Mapping[str, Any], word: str, *, done: list[str], unknown: list[str]) -> int:
    if values["json"]:
        output.write_json({"done": done, "unknown": unknown})
    else:
        output.write_lines([output.plain(f"{word}: {' '.join(done)}.")])
    if unknown:
        boundary.complain(_no_pair(unknown))
        return 1
    return 0


def _no_pair(unknown: list[str]) -> str:
    if not unknown:
        return "no two memories are surely the same; name those that you want joined"
    return f"not the newer one of a pair: {', '.join(unknown)}; `cmem dedup` shows them"


def _document(pair: Pair, older: store.Side, newer: store.Side) -> dict[str, Any]:
    return {
        "older": {"id": f"O{pair.older}"} | older._asdict(),
        "newer": {"id": f"O{pair.newer}"} | newer._asdict(),
        "same": pair.level == 0,
        "score": pair.score,
    }


def _lines(pair: Pair, older: store.Side, newer: store.Side) -> Iterator[output.Line]:
    verdict = "the same" if pair.level == 0 else f"alike, {pair.score:.2f}"
    yield [
        (f"O{pair.older} and O{pair.newer}", "green"),
        (f"  {verdict}  ({clean(newer.project)})", "dim"),
    ]
    for ref, one in ((pair.older, older), (pair.newer, newer)):
        seen = f", seen {one.occurrence_count} times" if one.occurrence_count > 1 else ""
        yield [
            (f"  O{ref}  {output.when(one.created_at)}{seen}  ", "dim"),
            (clean(one.title, one_line=True), "bold"),
        ]
        text = clean(one.told, one_line=True)
        yield from [[(f"    {text}", "")]] if text.strip() else []
    yield [
        ("  ", ""),
        (f"cmem dedup --apply O{pair.newer}", "dim"),
        ("  or  ", "dim"),
        (f"--keep O{pair.newer}", "dim"),
    ]
