"""Whether a payload may hold anything that has to be cut before it reaches the disk.

The payload is looked at as bytes, so that the many that hold nothing pay microseconds and
load neither ``json`` nor ``re``. A hit only costs time; a miss would cost a secret: a gate
must fire wherever its rule (``rules.py``, ``scrub.py``) could match, in every spelling JSON
has for it.
"""

# Looked for in the payload as it is: token formats are case-sensitive.
EXACT = (
    b"ACCA", b"xox", b"xapp-", b"hooks.slack.com", b"AIza", b"GOCSPX-", b"ya29.", b"k_live_",
    b"k_test_", b"_v1_", b"lin_api_", b"tskey-", b"rubygems_", b"AGE-SECRET-KEY-",
    b"PRIVATE KEY", b"PuTTY-User-Key", b'"image', b";base64,", b'"base64"', b"iVBORw0KGgo",
    b"9j/4AA", b"R0lGOD", b":\\/\\/",
)  # fmt: skip

# As EXACT, but looked for only where some word before an underscore ends as they do.
UNDERSCORED = (
    b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"shpat_", b"shpss_",
    b"dckr_pat_", b"glsa_", b"sbp_", b"whsec_",
)  # fmt: skip
_TAILS = frozenset([name[-4:-1] for name in UNDERSCORED])

# Those that share a pair of letters, and what stands beside it.
LETTERED = (
    (b"gl", slice(0, 3), frozenset((b"pat", b"dt-", b"rt-", b"cbt", b"ptt"))),
    (b"hv", slice(0, 2), frozenset((b"s.", b"b."))),
    (b"IA", slice(-2, None), frozenset((b"AK", b"AS", b"AB"))),
)

# Looked for in the lower-cased payload.
FOLDED = (
    b"cmem-memory", b"system-reminder", b"persisted-output", b"authorization", b"bearer ",
    b"api-key", b"printenv", b"export -p",
    b"netrc", b"kubeconfig", b"credentials",
    b"op read", b"op item get", b"pass show",
    b"/environ", b".my.cnf", b"-password",
)  # fmt: skip

# Looked for only where their first word is: most payloads hold none of those.
PAIRS = (
    (b"-token", (b"auth-t", b"private-t", b"job-t", b"access-t", b"identity-t")),
    (b"id_", (b"id_rsa", b"id_dsa", b"id_ecdsa", b"id_ed25519")),
    (b"secret", (b"secret.", b"secrets.", b"secrets/", b"secrets\\", b"kubectl")),
    (b"docker", (b"docker inspect", b" config", b".docker")),
    (b"aws ", (b"configure", b"get-secret-value", b"get-parameter")),
    (b" auth ", (b" auth token", b" auth status")),
    (b"declare -", (b"declare -x", b"declare -p")),
    (b"service", (b"service-account", b"service_account")),
    (b"shadow", (b"/shadow", b"/gshadow")),
    (b"vault ", (b"vault read", b"vault kv")),
    (b"hosts.y", (b"gh",)),
    (b"terraform ", (b"terraform output",)),
    (b"heroku ", (b"heroku config",)),
)

# Names that begin with a dot, looked for only where some word after a dot begins as they do.
DOTTED = (
    b".pem", b".p12", b".pfx", b".jks", b".npmrc", b".pypirc", b".aws", b".ssh", b".kube",
    b".tfvars", b".tfstate", b".pgpass", b".htpasswd", b".vault-token",
)  # fmt: skip
_HEADS = frozenset([name[1:4] for name in DOTTED])

# An ASCII letter written as an escape hides every literal above; no host writes one so.
ESCAPED = (b"\\u002", b"\\u003", b"\\u004", b"\\u005", b"\\u006", b"\\u007")

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
_PLANE_14 = b"\xf3\xa0"
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
# The wide letters of "private": what comes before them, which they are, how far they are from
# those they stand for.
WIDE = (
    (b"\xef\xbc", b"\xb0\xb2\xa9\xb6\xa1\xb4\xa5", 0x60),
    (b"\xef\xbd", b"\x90\x92\x89\x96\x81\x94\x85", 0x20),
)
_WIDE_CODES = {
    b"ff%02x" % (0x21 + at): b"abcdefghijklmnopqrstuvwxyz"[at % 32 : at % 32 + 1]
    for at in (0, 4, 8, 15, 17, 19, 21, 32, 36, 40, 47, 49, 51, 53)
}
# Entities for such characters that have a name.
NAMES = (
    b"shy", b"zwj", b"zwnj", b"lrm", b"rlm", b"ZeroWidthSpace", b"NoBreak", b"Negative", b"Invisible",
    b"ApplyFunction", b"it;", b"ic;", b"af;",
)  # fmt: skip
_NAME_HEADS = frozenset([name[:2] for name in NAMES])

# Common inside words ("task-", "msg."): only a start of a word followed by a long token counts.
TOKENS = (b"sk-", b"hf_", b"npm_", b"pypi-", b"SG.", b"eyJ", b"gsk_", b"r8_", b"xai-", b"pplx-")

_WORD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_TOKEN = _WORD | frozenset(b"-.")
_OPENERS = (
    *(b"<", b"&lt", b";lt", b"lt;", b"&#", b";#", b"3c", b"60", b"74", b"\xef\xbc\x9c", b"\\uff1c"),
    *(b"\xef\xb9\xa4", b"\xe2\x80\xb9", b"\xe2\x9f\xa8", b"\xe3\x80\x88", b"\xe2\x8c\xa9"),
    *(b"\\ufe64", b"\\u2039", b"\\u27e8", b"\\u3008", b"\\u2329"),
)
_NAME = _TOKEN | frozenset(b"@")
_ENDS = frozenset(b"\"'\\|;&>)}`\t\r\n")
_AFTER_NAME = frozenset(bytes([end]) for end in b"\" \\'|;&><,`=:~)($}{@")
_OPTIONS = (b"-0", b"--null", b"2>", b"1>")
_AFTER_LISTING = frozenset([b"", b" ", *(bytes([end]) for end in _ENDS)])
_CONTROLS = frozenset(bytes((char,)) for char in b"0123456789:;<=>?mK")
_PARAMETERS = b"0123456789:;<=>?"
_ASCII = bytes(range(128))
_BETWEEN = b" !#$%&'()*+,-."
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# A command as a list of its words.
LISTED = (b'command":["', b'command": ["', b'cmd":["', b'cmd": ["')
_IN_STORE = bytes(_WORD) + b"./@-"
_OBJECTS = (b"process", b"meta")


def hit(payload: bytes) -> bool:
    """Whether the payload has to be scrubbed."""
    # Whatever matches in the payload does so in what is seen of it, but for the start of a word.
    seen = _seen(payload)
    return _hit(seen, payload) or _listed(seen)


def form(text: bytes) -> bool:
    """Whether the text may hold a secret that shows by its form alone."""
    return _formed(_seen(text), text)


def _hit(payload: bytes, given: bytes) -> bool:
    if _formed(payload, given):
        return True
    if b"\\u00" in payload:
        for literal in ESCAPED:
            if literal in payload:
                return True
    folded = payload.lower()
    for literal in FOLDED:
        if literal in folded:
            return True
    for first, literals in PAIRS:
        if first in folded:
            for literal in literals:
                if literal in folded:
                    return True
    return (
        _dotted(folded)
        or (b"private" in folded and _private(folded))
        or (b".env" in folded and _dotenv(folded))
        or (b"://" in payload and _userinfo(payload))
        or _key_file(folded)
        or _listing(folded, b"env")
        or _listing(folded, b"set")
        or _listing(folded, b"export")
        or _password_store(folded)
    )


def _formed(payload: bytes, given: bytes) -> bool:
    for literal in EXACT:
        if literal in payload:
            return True
    if not _TAILS.isdisjoint([word[-3:] for word in payload.split(b"_")]):
        for literal in UNDERSCORED:
            if literal in payload:
                return True
    for letters, beside, words in LETTERED:
        if letters in payload and not words.isdisjoint(
            [word[beside] for word in payload.split(letters)]
        ):
            return True
    for literal in TOKENS:
        if literal in payload and (
            _token(payload, literal) or (given is not payload and _token(given, literal))
        ):
            return True
    return False


def _listed(payload: bytes) -> bool:
    """Whether a command given word by word prints a secret: the words as one line are looked at."""
    if b'":["' not in payload and b'": ["' not in payload:
        return False
    for name in LISTED:
        if name in payload:
            line = payload.replace(b'", "', b" ").replace(b'","', b" ")
            return _hit(line, line)
    return False


# --- what is seen of a payload --------------------------------------------------------


def _seen(payload: bytes) -> bytes:
    """The payload without characters nobody sees: they may stand inside a word that counts.
    Itself where there are none."""
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


def _without_codes(payload: bytes) -> bytes:
    unseen = frozenset(UNSEEN_CODES.split())
    _, *others = payload.split(b"\\u")
    for code in sorted({rest[:4] for rest in others}):
        low = code.lower()
        if low in unseen or low[:2] in _PAIRED or low in _WIDE_CODES:
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
    return _WIDE_CODES.get(low, b"").join(parts)


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
    small = payload.translate(None, _ASCII)
    for lead, groups in UNSEEN:
        if lead in small:
            for before, last in groups:
                if before in small:
                    payload = _replaced(payload, small, chars=(before, last), far=None)
    if _PLANE_14 in small:
        first, *others = payload.split(_PLANE_14)
        payload = first + b"".join([rest[2:] for rest in others])
    for before, last, far in WIDE:
        if before in small:
            payload = _replaced(payload, small, chars=(before, last), far=far)
    return payload


def _replaced(
    payload: bytes, small: bytes, *, chars: tuple[bytes, bytes], far: "int | None"
) -> bytes:
    """Without the characters that begin and end so; with the letters that are ``far`` off."""
    before, last = chars
    for end in last:
        char = before + bytes((end,))
        if char in small:
            payload = payload.replace(char, b"" if far is None else bytes((end - far,)))
    return payload


def _without_entities(payload: bytes) -> bytes:
    plain = payload.replace(b"&amp;", b"&")
    if b"&amp;" in plain:  # how often it was done is nothing to count
        plain = plain.replace(b"amp;", b"")
    first, *others = plain.split(b"&")
    heads = {rest[:2] for rest in others}
    if heads.isdisjoint(_NAME_HEADS) and not any(head[:1] == b"#" for head in heads):
        return payload
    numbers = {rest[1:5] for rest in others if rest[:1] == b"#"}
    if heads.isdisjoint(_NAME_HEADS) and all(map(_is_sign, numbers)):
        return payload
    made = [first]
    for rest in others:
        after = None
        if rest[:1] == b"#":
            after = None if _is_sign(rest[1:5]) else _after_number(rest)
        elif rest.startswith(NAMES):
            name = next(name for name in NAMES if rest.startswith(name))
            after = rest[len(name) :].lstrip(_LETTERS if name[:1].isupper() else b"")
            after = after.removeprefix(b";")
        made.append(b"&" + rest if after is None else after)
    return b"".join(made)


def _is_sign(number: bytes) -> bool:
    """Whether the number with two digits, as nearly all have, is of a letter or a sign."""
    if number[:1] in (b"x", b"X"):
        return number[3:] == b";" and b"2" <= number[1:2] <= b"6"
    return number[2:3] == b";" and b"33" <= number[:2] <= b"99"


def _after_number(name: bytes) -> "bytes | None":
    """What follows ``#8203;`` or ``#x200b;``, None where that is a character that is seen."""
    base = 16 if name[1:2] in (b"x", b"X") else 10
    digits = name[2 if base == 16 else 1 :]
    rest = digits.lstrip(b"0123456789abcdefABCDEF" if base == 16 else b"0123456789")
    number = digits[: len(digits) - len(rest)].lstrip(b"0")
    if len(number) > 7:
        return None
    code = int(number or b"0", base)
    seen = (
        b"%04x" % code not in UNSEEN_CODES
        if code < 0xD800 or 0xE000 <= code < 0x10000
        else not (code < 0xE000 or 0xE0000 <= code < 0xE1000 or _is_rare(code))
    )
    return None if seen else rest.removeprefix(b";")


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


# --- what counts beside literals ------------------------------------------------------


def _dotted(folded: bytes) -> bool:
    if _HEADS.isdisjoint([word[:3] for word in folded.split(b".")]):
        return False
    return any(name in folded for name in DOTTED)


def _token(payload: bytes, literal: bytes) -> bool:
    at = payload.find(literal)
    while at >= 0:
        after = payload[at + len(literal) : at + len(literal) + 8]
        if (
            len(after) == 8
            and _TOKEN.issuperset(after)
            and (payload[at - 1 : at] == b"_" or _starts(payload, at))
        ):
            return True
        at = payload.find(literal, at + 1)
    return False


def _starts(payload: bytes, at: int) -> bool:
    """Whether a word can start at ``at``: the letter before it may belong to a JSON escape
    (``\\n``, ``\\u000a``), to one in the text (``\\x1b``), or to a colour sequence (``[31m``)."""
    if not at or payload[at - 1] not in _WORD:
        return True
    before = payload[max(0, at - 6) : at]
    return (
        before[-2:-1] == b"\\"
        or before[:2] == b"\\u"
        or before[-4:-2] == b"\\x"
        or before[-1] in b"mK"
    )


def _private(folded: bytes) -> bool:
    at = folded.find(b"private")
    while at >= 0:
        before = folded[max(0, at - 160) : at]
        for opener in _OPENERS:
            if opener in before:
                return True
        at = folded.find(b"private", at + 1)
    return False


def _dotenv(folded: bytes) -> bool:
    """A file named .env, .envrc or .env.local; not process.env, os.environ."""
    at = folded.find(b".env")
    while at >= 0:
        if _starts(folded, at) or (
            folded[at + 4 : at + 5] in _AFTER_NAME and not folded.endswith(_OBJECTS, 0, at)
        ):
            return True
        at = folded.find(b".env", at + 1)
    return False


def _userinfo(payload: bytes) -> bool:
    """A password inside a URL: something, a colon, something, an at sign, before any slash."""
    at = payload.find(b"://")
    while at >= 0:
        start = at + 3
        end = payload.find(b"@", start, start + 1300)
        if end > 0 and b":" in payload[start:end] and b"/" not in payload[start:end]:
            return True
        at = payload.find(b"://", start)
    return False


def _key_file(folded: bytes) -> bool:
    """A file name that ends in .key; not a property named key."""
    at = folded.find(b".key")
    while at >= 0:
        if folded[at + 4 : at + 5] in _AFTER_NAME and at and folded[at - 1] in _NAME:
            return True
        at = folded.find(b".key", at + 1)
    return False


def _listing(folded: bytes, word: bytes) -> bool:
    """The word as a whole command (``env | sort``), which prints every variable."""
    at = folded.find(word)
    while at >= 0:
        end = at + len(word)
        if folded[end : end + 1] in _AFTER_LISTING and _starts(folded, at):
            after = folded[end : end + 24].lstrip(b" ")
            if not after or after[0] in _ENDS or after.startswith(_OPTIONS):
                return True
        at = folded.find(word, end)
    return False


def _password_store(folded: bytes) -> bool:
    """``pass`` and one name, which prints the password of that name."""
    at = folded.find(b"pass ")
    while at >= 0:
        if _starts(folded, at):
            name = folded[at + 5 : at + 280].replace(b"\\/", b"/")
            rest = name.lstrip(_IN_STORE)
            end = rest.lstrip(b" ")
            if len(rest) < len(name) and (not end or end[0] in _ENDS or end.startswith(_OPTIONS)):
                return True
        at = folded.find(b"pass ", at + 5)
    return False
