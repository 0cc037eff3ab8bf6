"""The signs of format of Unicode, for text that has an odd one: nearly none. HOT there; pure."""

# ``Cf`` of Unicode 16.0 (extracted/DerivedGeneralCategory.txt), first and last; Python's own
# tables are older. Joiners are not among them: emoji, Persian and Indic text need those.
FORMATS = (
    *((0xAD, 0xAD), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD), (0x70F, 0x70F)),
    *((0x890, 0x891), (0x8E2, 0x8E2), (0x180E, 0x180E), (0x200B, 0x200B), (0x200E, 0x200F)),
    *((0x202A, 0x202E), (0x2060, 0x2064), (0x2066, 0x206F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB)),
    *((0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3)),
    *((0x1D173, 0x1D17A), (0xE0001, 0xE0001), (0xE0020, 0xE007F)),
)
_DROPPED = {code: None for first, last in FORMATS for code in range(first, last + 1)}


def without_formats(text: str) -> str:
    """The text without signs of format but the joiners."""
    return text.translate(_DROPPED)
