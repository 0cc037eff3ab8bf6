"""The small words of questions, which say nothing about what is asked for.

They are left out only where any of the words counts, and only while others are left: in notes
about programs *did* and *again* are as rare as the word that is meant. Folded as the index folds
(``segment``), so Vietnamese stands without its signs; Chinese, Japanese and Korean as grams.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXT = (
    "a about again all also am an and any are as at be been but by can could did do does for "
    "from had has have how i if in is it its just me my of on or our please should so some "
    "that the their them then there these they this those to us was we were what when where "
    "which who why will with would you your "
    "vi sao tai co la va khi bi da nao the gi duoc cua cho khong "
    "为什 什么 怎么 么样 请问 我们 你们 如何 因为 "
    "です でし した ます まし どう なぜ から すか "
    "왜 어떻 떻게 무엇 있나 나요 었나 "
    "pourquoi est les des une warum wie das der und ist el los las por que "
    "почему как что это была было"
)
WORDS = frozenset(_TEXT.split())


def is_small(match: str) -> bool:
    """Whether this expression of one term is for a small word."""
    return match.strip('" *') in WORDS


def without(pieces: Mapping[str, float]) -> dict[str, float]:
    """The pieces of a query, quoted terms, without small words; all when there are no others."""
    kept = {piece: share for piece, share in pieces.items() if not is_small(piece)}
    return kept or dict(pieces)
