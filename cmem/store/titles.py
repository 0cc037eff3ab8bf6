"""What of a title counts when two are compared.

Case, spacing and punctuation do not; whatever may be the whole difference does: version
numbers (v1.1, v11), names ending in signs (C, C++, C#), signs and symbols. Where it is in
doubt whether two titles say the same, they stay apart.
"""

from __future__ import annotations

import unicodedata


def norm_key(title: str) -> str:
    """Return the comparable form of a title: words and signs with single spaces between."""
    text = unicodedata.normalize("NFKC", title).casefold()
    kept = (char if _counts(text, place) else " " for place, char in enumerate(text))
    return " ".join("".join(kept).split())


def _counts(text: str, place: int) -> bool:
    char = text[place]
    if char.isalnum() or unicodedata.category(char)[0] in "MS":
        return True
    before = text[place - 1] if place else " "
    after = text[place + 1] if place + 1 < len(text) else " "
    if char == "#":
        return before.isalnum() or after.isdigit()
    if char == ".":
        return before.isdigit() and after.isdigit()
    return char == "-" and not before.isalnum() and after.isdigit()
