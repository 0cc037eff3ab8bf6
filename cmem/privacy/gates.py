"""Whether a payload may hold anything that has to be cut before it reaches the disk.

The payload is looked at as bytes, so that the many that hold nothing pay microseconds and
load neither ``json`` nor ``re``. A hit only costs time; a miss would cost a secret: a gate
must fire wherever its rule (``rules.py``, ``scrub.py``) could match, in every spelling JSON
has for it.
"""

# Looked for in the payload as it is: token formats are case-sensitive.
EXACT = (
    b"AKIA", b"ASIA", b"ABIA", b"ACCA", b"glpat-", b"gldt-", b"glrt-", b"glcbt-", b"glptt-",
    b"xox", b"xapp-", b"hooks.slack.com", b"AIza", b"GOCSPX-", b"ya29.", b"k_live_", b"k_test_",
    b"_v1_", b"hvs.", b"hvb.", b"lin_api_", b"tskey-", b"rubygems_", b"AGE-SECRET-KEY-",
    b"PRIVATE KEY", b"PuTTY-User-Key", b'"image', b";base64,", b'"base64"', b"iVBORw0KGgo",
    b"9j/4AA", b"R0lGOD", b":\\/\\/",
)  # fmt: skip

# As EXACT, but looked for only where some word before an underscore ends as they do.
UNDERSCORED = (
    b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"shpat_", b"shpss_",
    b"dckr_pat_", b"glsa_", b"sbp_", b"whsec_",
)  # fmt: skip
_TAILS = frozenset([name[-4:-1] for name in UNDERSCORED])

# Looked for in the lower-cased payload.
FOLDED = (
    b"cmem-memory", b"system-reminder", b"persisted-output", b"authorization", b"bearer ",
    b"api-key", b"auth-token", b"private-token", b"job-token", b"printenv", b"export -p",
    b"id_rsa", b"id_dsa", b"id_ecdsa", b"id_ed25519", b"netrc", b"kubeconfig", b"credentials",
    b"print-access-token", b"print-identity-token", b"op read", b"op item get", b"pass show",
    b"/environ", b".my.cnf", b"-password",
)  # fmt: skip

# Looked for only where their first word is: most payloads hold none of those.
PAIRS = (
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

# Characters that show nothing (rules.INVISIBLE), as they are and as escapes.
UNSEEN = (
    b"\0", b"\xc2\xad", b"\xcd\x8f", b"\xe1\xa0\x8e", b"\xe2\x80\x8b", b"\xe2\x80\x8c",
    b"\xe2\x80\x8d", b"\xe2\x80\x8e", b"\xe2\x80\x8f", b"\xe2\x81\xa0", b"\xef\xbb\xbf",
)  # fmt: skip
UNSEEN_CODES = frozenset(b"0000 00ad 034f 180e 200b 200c 200d 200e 200f 2060 feff".split())

# Common inside words ("task-", "msg."): only a start of a word followed by a long token counts.
TOKENS = (b"sk-", b"hf_", b"npm_", b"pypi-", b"SG.", b"eyJ", b"gsk_", b"r8_", b"xai-", b"pplx-")

_WORD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_TOKEN = _WORD | frozenset(b"-.")
_OPENERS = (b"<", b"&lt", b";lt", b"lt;", b"&#", b";#", b"3c", b"\xef\xbc\x9c", b"\\uff1c")
_NAME = _TOKEN | frozenset(b"@")
_ENDS = frozenset(b"\"'\\|;&>)}`\t\r\n")
_AFTER_NAME = frozenset(bytes([end]) for end in b"\" \\'|;&><,`=:~)($}{@")
_OPTIONS = (b"-0", b"--null", b"2>", b"1>")
_AFTER_LISTING = frozenset([b"", b" ", *(bytes([end]) for end in _ENDS)])
_IN_STORE = bytes(_WORD) + b"./@-"
_OBJECTS = (b"process", b"meta")


def hit(payload: bytes) -> bool:
    """Whether the payload has to be scrubbed."""
    if _hit(payload):
        return True
    seen = _seen(payload)
    return len(seen) < len(payload) and _hit(seen)


def _hit(payload: bytes) -> bool:
    for literal in EXACT:
        if literal in payload:
            return True
    if not _TAILS.isdisjoint([word[-3:] for word in payload.split(b"_")]):
        for literal in UNDERSCORED:
            if literal in payload:
                return True
    for literal in TOKENS:
        if literal in payload and _token(payload, literal):
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


def _dotted(folded: bytes) -> bool:
    if _HEADS.isdisjoint([word[:3] for word in folded.split(b".")]):
        return False
    return any(name in folded for name in DOTTED)


def _seen(payload: bytes) -> bytes:
    """The payload without characters nobody sees: they may stand inside a word that counts."""
    if not payload.isascii() or b"\0" in payload:
        for literal in UNSEEN:
            payload = payload.replace(literal, b"")
    if b"\\u" in payload:
        first, *others = payload.split(b"\\u")
        payload = first + b"".join(
            [rest[4:] if rest[:4].lower() in UNSEEN_CODES else b"\\u" + rest for rest in others]
        )
    return payload


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
