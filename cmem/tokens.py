"""How many tokens a text costs: characters / 4, CJK characters / 1.5, rounded up.

One rule for every number we show, said in the docs; no tokenizer is worth its import here.
"""

# Scripts a model reads at about a token and a half for every two characters: Han and its
# extensions, kana, Hangul, and the full-width forms between them.
_CJK_RANGES = (
    ("\u1100", "\u11ff"),
    ("\u2e80", "\u9fff"),
    ("\ua960", "\ua97f"),
    ("\uac00", "\ud7ff"),
    ("\uf900", "\ufaff"),
    ("\ufe30", "\ufe4f"),
    ("\uff00", "\uffef"),
    ("\U0001b000", "\U0001b2ff"),
    ("\U00020000", "\U0003ffff"),
)


def count(text: str) -> int:
    """Return the token cost of a text; 0 only for the empty one."""
    if text.isascii():
        return (len(text) + 3) // 4
    # Most texts have none, which their few different characters tell much sooner.
    cjk = sum(map(_is_cjk, text)) if any(map(_is_cjk, set(text))) else 0
    return (8 * cjk + 3 * (len(text) - cjk) + 11) // 12


def _is_cjk(char: str) -> bool:
    if char < "\u1100":
        return False
    return any(first <= char <= last for first, last in _CJK_RANGES)
