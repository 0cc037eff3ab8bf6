"""Texts that a list holds in pieces, given to a rule as the one text they are.

The lines of a diff, the cells of a notebook and the blocks of an answer are lists of texts, or
of objects with a text under the same key. What stands in the same place of a list's items
(the indices left out) belongs together, through all lists inside it; a block's ``text`` stands
where a bare text would.
"""

from cmem import lenient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Cut = Callable[[list[str]], list[str]]

_ROOT = 0


def across(value: object, cut: "Cut") -> object:
    """The value with ``cut`` applied to the pieces of each text that lies in pieces."""
    pieces = _Pieces()
    pieces.collect(value, _ROOT, listed=False, depth=0)
    for place, found in pieces.texts.items():
        if len(found) > 1 and (clean := cut(found)) != found:
            pieces.made[place] = iter(clean)
    return pieces.rebuilt(value, _ROOT, depth=0) if pieces.made else value


def commands(value: object, cut: "Cut", depth: int = 0) -> object:
    """The value with ``cut`` applied to the words of each command that it holds word by word: a
    list of texts, one of which begins as an option does."""
    if depth >= lenient.MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return {key: commands(item, cut, depth + 1) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    words = [item for item in value if isinstance(item, str)]
    if len(words) == len(value) and any(word.startswith("-") for word in words):
        return cut(words)
    return [commands(item, cut, depth + 1) for item in value]


class _Pieces:
    """The texts in lists, by their place; places are numbered as they are met."""

    def __init__(self) -> None:
        self.texts: dict[int, list[str]] = {}
        self.made: dict[int, Iterator[str]] = {}
        self._places: dict[tuple[int, str | None], int] = {}
        self._lists: set[int] = set()

    def _place(self, outer: int, key: "str | None") -> int:
        if key == "text" and outer in self._lists:
            return outer
        place = self._places.setdefault((outer, key), len(self._places) + 1)
        if key is None:
            self._lists.add(place)
        return place

    def collect(self, value: object, place: int, *, listed: bool, depth: int) -> None:
        if isinstance(value, str):
            if listed:
                self.texts.setdefault(place, []).append(value)
        elif depth >= lenient.MAX_DEPTH:
            return
        elif isinstance(value, dict):
            for key, item in value.items():
                self.collect(item, self._place(place, key), listed=listed, depth=depth + 1)
        elif isinstance(value, list):
            inner = self._place(place, None)
            for item in value:
                self.collect(item, inner, listed=True, depth=depth + 1)

    def rebuilt(self, value: object, place: int, *, depth: int) -> object:
        """The value with what was made of its texts in their places."""
        if isinstance(value, str):
            return next(self.made[place]) if place in self.made else value
        if depth >= lenient.MAX_DEPTH:
            return value
        if isinstance(value, dict):
            return {
                key: self.rebuilt(item, self._place(place, key), depth=depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, list):
            inner = self._place(place, None)
            return [self.rebuilt(item, inner, depth=depth + 1) for item in value]
        return value
