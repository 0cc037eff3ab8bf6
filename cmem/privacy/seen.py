"""What a reader sees of a payload, as bytes: without the characters nobody sees, which may stand
inside a word that counts, and with letters for what only looks like one.

The texts' side of the same is ``reading.py``. Here more may go than there, never less: it is
the gates that look at what is left, and no byte of it is stored.
"""

# Characters that show nothing (rules.INVISIBLE) by their first byte, by all but the last byte,
# and their last bytes; as they stand in a payload, then as escapes. Those of plane 14, which are
# all of this sort, and halves of a pair are known by how they begin.
UNSEEN = (
    (b"\xc2", ((b"\xc2", b"\x80\x81\x82\x83\x84\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98\x99\x9a\x9b\x9c\x9d\x9e\x9f\xad"),)),
    (b"\xcd", ((b"\xcd", b"\x8f"),)),
    (b"\xd8", ((b"\xd8", b"\x80\x81\x82\x83\x84\x85\x9c"),)),
    (b"\xdb", ((b"\xdb", b"\x9d"),)),
    (b"\xdc", ((b"\xdc", b"\x8f"),)),
    (b"\xe0", ((b"\xe0\xa2", b"\x90\x91"), (b"\xe0\xa3", b"\xa2"))),
    (b"\xe1", ((b"\xe1\x85", b"\x9f\xa0"), (b"\xe1\x9e", b"\xb4\xb5"), (b"\xe1\xa0", b"\x8b\x8c\x8d\x8e\x8f"))),
    (b"\xe2", ((b"\xe2\x80", b"\x8b\x8c\x8d\x8e\x8f\xaa\xab\xac\xad\xae"), (b"\xe2\x81", b"\xa0\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xab\xac\xad\xae\xaf"), (b"\xe2\xa0", b"\x80"))),
    (b"\xe3", ((b"\xe3\x85", b"\xa4"),)),
    (b"\xef", ((b"\xef\xb8", b"\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f"), (b"\xef\xbb", b"\xbf"), (b"\xef\xbe", b"\xa0"), (b"\xef\xbf", b"\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba\xbb"))),
    (b"\xf0", ((b"\xf0\x91\x82", b"\xbd"), (b"\xf0\x91\x83", b"\x8d"), (b"\xf0\x93\x90", b"\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba\xbb\xbc\xbd\xbe\xbf"), (b"\xf0\x9b\xb2", b"\xa0\xa1\xa2\xa3"), (b"\xf0\x9d\x85", b"\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba"))),
)  # fmt: skip
PLANE_14 = b"\xf3\xa0"
_PAIRED = (b"d8", b"d9", b"da", b"db", b"dc", b"dd", b"de", b"df")
UNSEEN_CODES = (
    b"0000 0001 0002 0003 0004 0005 0006 0007 0008 000b 000c 000e 000f 0010 0011 0012 0013 "
    b"0014 0015 0016 0017 0018 0019 001a 001b 001c 001d 001e 001f 007f 0080 0081 0082 0083 "
    b"0084 0086 0087 0088 0089 008a 008b 008c 008d 008e 008f 0090 0091 0092 0093 0094 0095 "
    b"0096 0097 0098 0099 009a 009b 009c 009d 009e 009f 00ad 034f 0600 0601 0602 0603 0604 "
    b"0605 061c 06dd 070f 0890 0891 08e2 115f 1160 17b4 17b5 180b 180c 180d 180e 180f 200b "
    b"200c 200d 200e 200f 202a 202b 202c 202d 202e 2060 2061 2062 2063 2064 2065 2066 2067 "
    b"2068 2069 206a 206b 206c 206d 206e 206f 2800 3164 fe00 fe01 fe02 fe03 fe04 fe05 fe06 "
    b"fe07 fe08 fe09 fe0a fe0b fe0c fe0d fe0e fe0f feff ffa0 fff0 fff1 fff2 fff3 fff4 fff5 "
    b"fff6 fff7 fff8 fff9 fffa fffb "
)
# Letters that look like those of "private" (rules.ALIKE): what comes before the last byte, the last
# bytes, and which letters they look like. Those of mathematics are known by how they begin.
ALIKE = (
    (b"\xce", b"\x91\x95\x99\xa1\xa4\xb1\xb5\xb9\xbd", b"aeiptaeiv"),
    (b"\xcf", b"\x81\x84", b"pt"),
    (b"\xd0", b"\x86\x90\x93\x95\xa0\xa2\xb0\xb3\xb5", b"iareptare"),
    (b"\xd1", b"\x80\x82\x96\xb4\xb5", b"ptivv"),
    (b"\xd2", b"\x90\x91", b"rr"),
    (b"\xef\xbc", b"\xb0\xb2\xa9\xb6\xa1\xb4\xa5", b"private"),
    (b"\xef\xbd", b"\x90\x92\x89\x96\x81\x94\x85", b"private"),
)
_ALIKE_HEADS = (b"03", b"04", b"ff", b"FF", b"fF", b"Ff")
MATHEMATICS = b"\xf0\x9d"
# Entities for such characters that have a name.
NAMES = (
    b"shy", b"zwj", b"zwnj", b"lrm", b"rlm", b"ZeroWidthSpace", b"NoBreak", b"Negative", b"Invisible",
    b"ApplyFunction", b"it;", b"ic;", b"af;",
)  # fmt: skip
_NAME_HEADS = frozenset([name[:2] for name in NAMES])

_CONTROLS = frozenset(bytes((char,)) for char in b"0123456789:;<=>?mK")
_PARAMETERS = b"0123456789:;<=>?"
ASCII = bytes(range(128))
_BETWEEN = b" !#$%&'()*+,-."
_IN_WORD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_BRACKETS = (b"60", b"62", b"3c", b"3e", b"3C", b"3E")
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def shown(payload: bytes) -> bytes:
    """The payload as it looks; itself where it is written so."""
    if b"\\u" in payload:
        payload = _without_codes(payload)
    if b"\\b" in payload or b"\\f" in payload:
        payload = _without_short(payload)
    if b"\x7f" in payload:
        payload = payload.replace(b"\x7f", b"")
    if not payload.isascii():
        payload = _without_unseen(payload)
    if b"&" in payload:
        payload = _without_entities(payload)
    if b"<w" in payload or b"<W" in payload:
        payload = _without_breaks(payload)
    return payload


def spelled(payload: bytes) -> bytes:
    """The payload with letters for characters that look like those of "private"; itself where
    there are none. Only a tag's name is read so: beside a token they are what they are."""
    if b"\\u" in payload:
        _, *others = payload.split(b"\\u")
        for code in {rest[:4] for rest in others}:
            if code[:2] in _ALIKE_HEADS and (letter := _alike(code.lower())):
                payload = payload.replace(b"\\u" + code, letter)
    if payload.isascii():
        return payload
    small = payload.translate(None, ASCII)
    for before, last, letters in ALIKE:
        if before in small:
            payload = _replaced(payload, small, before, last=last, letters=letters)
    if MATHEMATICS in small:
        first, *others = payload.split(MATHEMATICS)
        payload = first + b"".join([_letter(rest) for rest in others])
    return payload


def _alike(code: bytes) -> bytes:
    """The letter that the character looks like, b"" for none of those."""
    char = chr(int(code, 16)).encode() if _is_hex(code) else b"-"
    for before, last, letters in ALIKE:
        if char[:-1] == before and (at := last.find(char[-1:])) >= 0:
            return letters[at : at + 1]
    return b""


def _is_hex(code: bytes) -> bool:
    return len(code) == 4 and not code.strip(b"0123456789abcdef")


def _letter(rest: bytes) -> bytes:
    """What follows the beginning of a character of mathematics, a letter for that among it."""
    if len(rest) < 2 or rest[0] < 0x80 or rest[1] < 0x80:
        return MATHEMATICS + rest
    code = (rest[0] & 0x3F) << 6 | rest[1] & 0x3F
    if 0x400 <= code < 0x6A4:
        return b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"[code % 26 - 1024 % 26 :][:1].lower() + rest[2:]
    return MATHEMATICS + rest


def _without_codes(payload: bytes) -> bytes:
    unseen = frozenset(UNSEEN_CODES.split())
    _, *others = payload.split(b"\\u")
    for code in sorted({rest[:4] for rest in others}):
        low = code.lower()
        if low in unseen or low[:2] in _PAIRED:
            payload = _without_code(payload, b"\\u" + code, low)
    return payload


def _without_code(payload: bytes, code: bytes, low: bytes) -> bytes:
    first, *others = payload.split(code)
    if low == b"001b":
        others = [_after_escape(rest) for rest in others]
    elif low == b"009b":
        others = [_after_control(rest) for rest in others]
    parts = [first, *others]
    if b"\\" + code in payload:  # of JSON in a string
        parts = [*(part.rstrip(b"\\") for part in parts[:-1]), parts[-1]]
    return b"".join(parts)


def _after_escape(rest: bytes) -> bytes:
    """What follows an escape and what it begins (rules.TERMINAL)."""
    if rest[:1] == b"[":
        rest = rest[1:].lstrip(_PARAMETERS)
        return rest[1:] if rest[:1] == b"m" else _sequence(rest)
    if rest[:1] in (b"(", b")"):
        return rest[2:] if rest[1:2].isalnum() else rest[1:]
    return rest


def _after_control(rest: bytes) -> bytes:
    """The same for the one character that stands for an escape and a bracket."""
    return _sequence(rest) if rest[:1] in _CONTROLS else rest


def _sequence(rest: bytes) -> bytes:
    """What follows a colour of the terminal or the like (rules.TERMINAL)."""
    rest = rest.lstrip(_PARAMETERS).lstrip(_BETWEEN)
    return rest[1:] if b"@" <= rest[:1] <= b"~" and rest[:1] != b"\\" else rest


def _without_short(payload: bytes) -> bytes:
    """Without what JSON writes as a backslash and one letter."""
    bare = payload.replace(b"\\\\", b"")
    if b"\\b" not in bare and b"\\f" not in bare:
        return payload
    parts = payload.split(b"\\\\")
    return b"\\\\".join([part.replace(b"\\b", b"").replace(b"\\f", b"") for part in parts])


def _without_unseen(payload: bytes) -> bytes:
    if b"\xc2\x9b" in payload:
        first, *others = payload.split(b"\xc2\x9b")
        payload = first + b"".join([_after_control(rest) for rest in others])
    # What is left of it keeps each character whole, and is quicker to search.
    small = payload.translate(None, ASCII)
    for lead, groups in UNSEEN:
        if lead in small:
            for before, last in groups:
                if before in small:
                    payload = _replaced(payload, small, before, last=last)
    if PLANE_14 in small:
        first, *others = payload.split(PLANE_14)
        payload = first + b"".join([rest[2:] for rest in others])
    return payload


def _replaced(
    payload: bytes, small: bytes, before: bytes, *, last: bytes, letters: bytes = b""
) -> bytes:
    """Without the characters that begin and end so, or with a letter for each of them."""
    for at, end in enumerate(last):
        char = before + bytes((end,))
        if char in small:
            payload = payload.replace(char, letters[at : at + 1])
    return payload


def _without_entities(payload: bytes) -> bytes:
    plain = payload.replace(b"&amp;", b"&")
    if b"&amp;" in plain:  # how often it was done is nothing to count
        plain = plain.replace(b"amp;", b"")
    first, *others = plain.split(b"&")
    heads = {rest[:2] for rest in others}
    if heads.isdisjoint(_NAME_HEADS):
        numbers = {rest[1:5] for rest in others if rest[:1] == b"#"}
        if all(map(_is_sign, numbers)):
            return payload
    return b"".join([first, *map(_after_and, others)])


def _after_and(rest: bytes) -> bytes:
    """What follows the sign that may begin an entity, read."""
    if rest[:1] == b"#":
        return b"&" + rest if _is_sign(rest[1:5]) else _after_number(rest)
    for name in NAMES:
        if rest.startswith(name):
            after = rest[len(name) :].lstrip(_LETTERS if name[:1].isupper() else b"")
            return after.removeprefix(b";")
    return b"&" + rest


def _is_sign(number: bytes) -> bool:
    """Whether the number with two digits, as nearly all have, is of a quote or a bracket."""
    if number[:1] in (b"x", b"X"):
        return number[3:] == b";" and (number[1:2] == b"2" or number[1:3].lower() in _BRACKETS)
    return number[2:3] == b";" and (b"33" <= number[:2] <= b"47" or number[:2] in _BRACKETS)


def _after_number(name: bytes) -> bytes:
    """What follows ``#8203;`` or ``#x200b;``; the entity too, where it is of a character that
    is seen and no letter."""
    base = 16 if name[1:2] in (b"x", b"X") else 10
    digits = name[2 if base == 16 else 1 :]
    rest = digits.lstrip(b"0123456789abcdefABCDEF" if base == 16 else b"0123456789")
    number = digits[: len(digits) - len(rest)].lstrip(b"0")
    if len(number) > 7:
        return b"&" + name
    code = int(number or b"0", base)
    after = rest.removeprefix(b";")
    if code < 0x7F and code in _IN_WORD:
        return bytes((code,)) + after
    seen = (
        b"%04x" % code not in UNSEEN_CODES
        if code < 0xD800 or 0xE000 <= code < 0x10000
        else not (code < 0xE000 or 0xE0000 <= code < 0xE1000 or _is_rare(code))
    )
    return b"&" + name if seen else after


def _is_rare(code: int) -> bool:
    if code > 0x10FFFF:
        return False
    raw = chr(code).encode()
    return any(
        raw[:-1] == before and raw[-1:] in last for _, all_ in UNSEEN for before, last in all_
    )


def _without_breaks(payload: bytes) -> bytes:
    """Without ``<wbr>``."""
    folded = payload.lower()
    at = folded.find(b"<wbr")
    kept: list[bytes] = []
    done = 0
    while at >= 0:
        after = folded[at + 4 : at + 16].replace(b"\\t", b" ").replace(b"\\/", b"/")
        if after.lstrip(b" \t").removeprefix(b"/").startswith(b">"):
            kept.append(payload[done:at])
            done = folded.find(b">", at) + 1
        at = folded.find(b"<wbr", at + 4)
    return b"".join(kept) + payload[done:] if kept else payload
