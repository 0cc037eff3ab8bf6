"""Whether a payload may hold anything that has to be cut before it reaches the disk.

The payload is looked at as bytes, so that the many that hold nothing pay microseconds and
load neither ``json`` nor ``re``. A hit only costs time; a miss would cost a secret: a gate
must fire wherever its rule (``rules.py``, ``scrub.py``) could match, in every spelling JSON
has for it.
"""

# Looked for in the payload as it is: token formats are case-sensitive.
EXACT = (
    b"AKIA", b"ASIA", b"ABIA", b"ACCA", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_",
    b"github_pat_", b"glpat-", b"gldt-", b"glrt-", b"glcbt-", b"glptt-", b"xox", b"xapp-",
    b"hooks.slack.com", b"AIza", b"GOCSPX-", b"ya29.", b"k_live_", b"k_test_", b"whsec_",
    b"_v1_", b"shpat_", b"shpss_", b"hvs.", b"hvb.", b"dckr_pat_", b"glsa_", b"lin_api_",
    b"tskey-", b"sbp_", b"rubygems_", b"AGE-SECRET-KEY-", b"PRIVATE KEY", b"PuTTY-User-Key",
    b'"image', b";base64,", b'"base64"', b"iVBORw0KGgo", b"9j/4AA", b"R0lGOD", b":\\/\\/",
)  # fmt: skip

# Looked for in the lower-cased payload.
FOLDED = (
    b"cmem-memory", b"system-reminder", b"persisted-output", b"authorization", b"bearer ",
    b"api-key", b"auth-token", b"private-token", b"job-token", b"printenv", b"export -p",
    b"declare -x", b"id_rsa", b"id_dsa", b"id_ecdsa", b"id_ed25519", b".pem", b".p12", b".pfx",
    b".jks", b".npmrc", b".pypirc", b".netrc", b".aws", b".ssh", b".kube", b"kubeconfig", b".tfvars",
    b".tfstate", b"secret.", b"secrets.", b"credentials", b".docker", b".pgpass", b".htpasswd", b".vault-token",
    b"docker inspect", b"get secret", b"aws configure", b"auth token", b"print-access-token",
    b"print-identity-token", b"op read",
    b"pass show", b"vault read", b"vault kv", b"-password", b"terraform output", b"heroku config",
)  # fmt: skip

# An ASCII letter written as an escape hides every literal above; no host writes one so.
ESCAPED = (b"\\u002", b"\\u003", b"\\u004", b"\\u005", b"\\u006", b"\\u007")

# Common inside words ("task-", "msg."): only a start of a word followed by a long token counts.
TOKENS = (b"sk-", b"hf_", b"npm_", b"pypi-", b"SG.", b"eyJ", b"gsk_", b"r8_", b"xai-", b"pplx-")

_WORD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_TOKEN = _WORD | frozenset(b"-.")
_OPENERS = (b"<", b"lt;", b"60;", b"3c;", b"\xef\xbc\x9c", b"\\uff1c")
_NAME = _TOKEN | frozenset(b"@")
_ENDS = frozenset(b"\"'\\|;&>)}`")
_AFTER_NAME = (b'"', b" ", b"\\", b"'", b"|", b";", b"&", b">", b"<", b",", b"`", b"=")
_OBJECTS = (b"process", b"meta")


def hit(payload: bytes) -> bool:
    """Whether the payload has to be scrubbed."""
    for literal in EXACT:
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
    return (
        (b"private" in folded and _private(folded))
        or (b".env" in folded and _dotenv(folded))
        or (b"://" in payload and _userinfo(payload))
        or _key_file(folded)
        or _listing(folded, b"env")
        or _listing(folded, b"set")
    )


def _token(payload: bytes, literal: bytes) -> bool:
    at = payload.find(literal)
    while at >= 0:
        after = payload[at + len(literal) : at + len(literal) + 8]
        if len(after) == 8 and _TOKEN.issuperset(after) and _starts(payload, at):
            return True
        at = payload.find(literal, at + 1)
    return False


def _starts(payload: bytes, at: int) -> bool:
    """Whether a word can start at ``at``: the letter before it may belong to a JSON escape
    (``\\n``, ``\\u000a``) or to a colour sequence (``[31m``)."""
    if not at or payload[at - 1] not in _WORD:
        return True
    before = payload[max(0, at - 6) : at]
    return before[-2:-1] == b"\\" or before[:2] == b"\\u" or before[-1] in b"mK"


def _private(folded: bytes) -> bool:
    at = folded.find(b"private")
    while at >= 0:
        before = folded[max(0, at - 64) : at]
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
        if _starts(folded, at):
            after = folded[at + len(word) : at + len(word) + 24].lstrip(b" ")
            if not after or after[0] in _ENDS or after.startswith((b"-0", b"--null", b"2>")):
                return True
        at = folded.find(word, at + 1)
    return False
