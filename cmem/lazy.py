"""Regular expressions that are compiled when they are first used.

A module may have ten of which a run needs one; each costs up to 5 ms to compile, and the first of
a process 6 more for ``re`` itself, which a search for ordinary words does without.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re


class _Pattern:
    """Stands for the compiled expression; what is asked of it is kept."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> object:
        import re

        found: object = getattr(re.compile(self._text), name)
        setattr(self, name, found)
        return found


def pattern(text: str) -> "re.Pattern[str]":
    """The expression, not compiled yet."""
    return _Pattern(text)  # type: ignore[return-value]  # it has all that one has
