"""``tokens.count`` at the speed a session start needs. HOT.

The block's lines are priced one by one, and most carry a dash or are Chinese: a look at every
character in Python would cost more than reading the store. The high byte of each UTF-16 unit
tells its script, so one pass of ``translate`` counts them all; the few blocks that hold both
kinds of characters, and pairs, take the careful way.
"""

from _codecs import utf_16_le_encode

_CJK = bytes((0x11, *range(0x2F, 0xA0), *range(0xAC, 0xD8), 0xF9, 0xFA))
_MIXED = bytes((0x2E, 0xA9, 0xFE, 0xFF, *range(0xD8, 0xE0)))


def count(text: str) -> int:
    """What ``tokens.count`` says of the text."""
    return measure(text)[0]


def measure(text: str) -> tuple[int, int]:
    """(tokens, UTF-16 units) of the text."""
    if text.isascii():
        return (len(text) + 3) // 4, len(text)
    # The codec by its function: asking for it by name imports ``encodings.utf_16_le``.
    high = utf_16_le_encode(text, "surrogatepass")[0][1::2]
    if len(high.translate(None, _MIXED)) != len(high):
        from cmem import tokens

        return tokens.count(text), len(high)
    cjk = len(high) - len(high.translate(None, _CJK))
    return (8 * cjk + 3 * (len(text) - cjk) + 11) // 12, len(high)
