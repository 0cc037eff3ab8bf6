"""Whether a payload may hold anything that has to be cut before it reaches the disk.

The payload is looked at as bytes, so that the many that hold nothing pay microseconds and
load neither ``json`` nor ``re``. A hit only costs time; a miss would cost a secret: a gate
must fire wherever its rule (``rules.py``, ``scrub.py``) could match, in every spelling JSON
has for it. What hides a word from a search for it is taken away first (``seen.py``, which is
loaded only where there may be something of the kind).
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Looked for in the payload as it is: token formats are case-sensitive.
EXACT = (
    b"ACCA", b"xox", b"xapp-", b"AIza", b"GOCSPX-", b"ya29.", b"k_live_", b"k_test_", b"_v1_", b"lin_api_",
    b"tskey-", b"rubygems_", b"PRIVATE KEY", b"PuTTY-User-Key", b'"image', b"iVBORw0KGgo", b"9j/4AA",
    b"R0lGOD", b":\\/\\/",
)  # fmt: skip

# Of those that are words of their own, a payload's words tell (_COUNTING).
WORDED = (b"hooks.slack.com", b";base64,", b"AGE-SECRET-KEY-")

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

# Looked for in the lower-cased payload: words may be joined to these.
FOLDED = (b"authorization", b"bearer ", b"api-key", b"credentials")
PAIRS = (
    (b"-token", (b"auth-t", b"private-t", b"job-t", b"access-t", b"identity-t")),
    (b"service", (b"service-account", b"service_account")),
    (b"id_", (b"id_rsa", b"id_dsa", b"id_ecdsa", b"id_ed25519")),
)

# Words that count where they stand alone, each with what else must be in the payload then; with
# nothing, where what stands around the word is looked at (_around). One text, because a hook
# pays for every object that it makes of it.
_COUNTING = (
    b"\n_netrc:netrc\naccess_tokens:access_tokens.\naccesstokens:accesstokens."
    b"\nauth:auth.json"
    b"\naws:configure|get-secret-value|get-parameter|assume-role|get-session-token|get-login-password|create-access-key"
    b"\naz:get-access-token|keys list|list-keys|connection-string|credential show"
    b'\nbase64:;base64,|"base64\nbun:\nbw:bw get|bw list|bw export|bw unlock'
    b"\nchamber: read| export| env\ncmem:cmem-memory\ncnf:.my.cnf|.mylogin.cnf"
    b"\ncompgen:compgen -\nconfig:config view\ncopilot:hosts.json|apps.json"
    b"\ndeclare:declare -x|declare -p\ndeno:\ndirenv: export| dump"
    b"\ndocker:docker inspect| config|.docker\ndotenv: list| get\ndotenvx: list| get\necho:"
    b"\nelixir:"
    b"\nenv:item env:|content env:|gci env:|gi env:|gc env:|dir env:|ls env:|cat env:|type env:|path env:"
    b"\nenviron:/environ\nexport:export -p\ngh: auth token| auth status\ngit:credential fill"
    b"\nglab: auth token|glab-cli\ngopass:gopass show|gopass cat"
    b"\ngpg2: -d|--decrypt|--export-secret\ngpg: -d|--decrypt|--export-secret"
    b"\ngshadow:/gshadow\nheroku:heroku config\nhosts:hosts.y\ninfisical: export"
    b"\nkeepassxc:-cli show|-cli clip\nkeychain:.keychain\nkeyring:keyring get"
    b"\nkeys:private-keys-v1\nkeystore:.keystore\nkubeconfig:kubeconfig\nlpass:lpass show"
    b"\nmsal_token_cache:msal_token_cache\nnetlify:netlify env:\nnetrc:netrc\nnode:\nnodejs:"
    b"\noauth_creds:oauth_creds.json\noc:secret\nop:op read|op item get|op inject\npass:pass show\nperl:"
    b"\npersisted:persisted-output\nphp:\npowershell:\nprint:\nprintenv:printenv\nprintf:"
    b"\npwsh:\npy:\npython2:\npython3:\npython:\nrailway:railway variables\nrbw:rbw get"
    b"\nrclone:rclone.conf\nreadonly:readonly -p\nrscript:\nruby:"
    b"\nsecret:secret.|age-secret-key-|kubectl|keyvault secret|secret-tool"
    b"\nsecrets:secrets.|secrets/|secrets\\|kubectl|secrets versions|doppler secrets|infisical secrets"
    b"\nsecring:secring.gpg\nsecurity:-password|dump-keychain\nset:\nshadow:/shadow"
    b"\nshow:show-environment|show-secrets\nslack:hooks.slack.com"
    b"\nsops:sops -d|decrypt|exec-env\nsystem:system-reminder\nterraform: output| state| show"
    b"\ntofu: output| state| show\ntypeset:typeset -x|typeset -p"
    b"\nvault:vault read|vault kv|vault view|vault decrypt\nvercel:vercel env\nwhoami:whoami -"
    b"\nwp:wp-config.php\nwrite:\n"
)
_NAMES = [row.partition(b":")[0] for row in _COUNTING.split(b"\n") if row]
# The letter of an escape (\\n, \\t) sticks to the word after it.
_WATCHED = frozenset(_NAMES + [b"n" + name for name in _NAMES] + [b"t" + name for name in _NAMES])

# Names that begin with a dot, looked for only where some word after a dot begins as they do.
DOTTED = (
    b".pem", b".p12", b".pfx", b".jks", b".npmrc", b".pypirc", b".aws", b".ssh", b".kube",
    b".tfvars", b".tfstate", b".pgpass", b".htpasswd", b".vault-token", b".kdbx", b".ppk", b".s3cfg",
    b".boto", b".dockercfg", b".terraformrc", b".databrickscfg", b".mylogin.cnf",
)  # fmt: skip
_HEADS = frozenset([name[1:4] for name in DOTTED])

# An ASCII letter written as an escape hides every literal above, and a line break the word
# behind it; no host writes one so. So does the first half of a letter of mathematics.
ESCAPED = (
    b"\\u0009", b"\\u000a", b"\\u000A", b"\\u000d", b"\\u000D", b"\\u002", b"\\u003", b"\\u004",
    b"\\u005", b"\\u006", b"\\u007", b"\\ud835", b"\\uD835",
)  # fmt: skip

# How those entities begin that are taken away, and the one that may hide another (seen.NAMES).
ENTITIES = frozenset(b"sh zw lr rl Ze No Ne In Ap it ic af am".split())

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
# A command as a list of its words.
LISTED = (b'command":["', b'command": ["', b'cmd":["', b'cmd": ["')
_WORD_OF_ENV = _WORD | frozenset(b"-")
_TELLING = (b"token", b"secret", b"passw", b"passphrase", b"key", b"_pass", b"_pwd", b"credential", b"_auth")  # fmt: skip
_FLAGS = (b" -c", b" -e", b" -p", b" -r", b" -ne", b" -le", b" eval", b"--eval", b"--print", b"<<", b"\\t-", b"\\teval")  # fmt: skip
# Word for word, in lower case.
_SEPARATED = b" " * 48 + b"0123456789" + b" " * 37 + b"_ abcdefghijklmnopqrstuvwxyz" + b" " * 133
_IN_STORE = bytes(_WORD) + b"./@-"


def hit(payload: bytes) -> bool:
    """Whether the payload has to be scrubbed."""
    # Whatever matches in the payload does so in what is seen of it, but for the start of a word.
    seen = _shown(payload)
    return _hit(seen, payload) or _listed(seen)


def form(text: bytes) -> bool:
    """Whether the text may hold a secret that shows by its form alone."""
    seen = _shown(text)
    return _formed(seen, text) or any(literal in seen for literal in WORDED)


def _shown(payload: bytes) -> bytes:
    if _is_plain(payload):
        return payload
    from cmem.privacy.seen import shown

    return shown(payload)


def _is_plain(payload: bytes) -> bool:
    """Whether it is certain that the payload looks as it is written."""
    if not payload.isascii() or b"\x7f" in payload:
        return False
    if b"\\" in payload and (b"\\u" in payload or b"\\b" in payload or b"\\f" in payload):
        return False
    if b"<" in payload and (b"<w" in payload or b"<W" in payload):
        return False
    if b"&" not in payload:
        return True
    return b"&#" not in payload and ENTITIES.isdisjoint([r[:2] for r in payload.split(b"&")[1:]])


def _hit(payload: bytes, given: bytes) -> bool:
    if _formed(payload, given):
        return True
    if b"\\u" in given:
        for literal in ESCAPED:
            if literal in given:
                return True
    read = folded = payload.lower()
    if b"\\u" in folded or not folded.isascii():
        from cmem.privacy.seen import spelled

        read = spelled(folded)
    for literal in FOLDED:
        if literal in folded:
            return True
    for first, literals in PAIRS:
        if first in folded:
            for literal in literals:
                if literal in folded:
                    return True
    return (
        _commanded(folded)
        or _dotted(folded)
        or _private(read)
        or (b".env" in folded and _dotenv(folded))
        or (b"://" in payload and _userinfo(payload))
        or _key_file(folded)
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


def _places(text: bytes, literal: bytes) -> "Iterator[int]":
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + 1)


def _commanded(folded: bytes) -> bool:
    """Whether a word that counts stands there, and what makes it count."""
    words = folded.translate(_SEPARATED).split()
    if b"\\r" in folded:
        words += folded.replace(b"\\r", b" ").translate(_SEPARATED).split()
    for found in _WATCHED.intersection(words):
        word = found[1:] if found[:1] in (b"n", b"t") and found[1:] in _WATCHED else found
        _, _, row = _COUNTING.partition(b"\n" + word + b":")
        literals = row[: row.find(b"\n")].split(b"|") if row[:1] != b"\n" else []
        for literal in literals:
            if literal in folded:
                return True
        if _around(folded, word, words, literals=literals):
            return True
    return False


def _around(folded: bytes, word: bytes, words: "list[bytes]", *, literals: "list[bytes]") -> bool:
    if word in (b"env", b"set", b"export", b"declare", b"typeset"):
        return _listing(folded, word)
    if word in (b"echo", b"printf", b"print"):
        return _echoed(folded, word + b" ")
    if word == b"write":
        return _echoed(folded, b"write-output ") or _echoed(folded, b"write-host ")
    if word == b"pass":
        return _password_store(folded)
    return not literals and not _dumps().isdisjoint(words) and _inline(folded, word)


def _dumps() -> "frozenset[bytes]":
    """What a program has in it that may tell of the environment."""
    words = b"environ env _env _server getenv get_env phpinfo getenvironmentvariables".split()
    return frozenset([letter + word for word in words for letter in (b"", b"n", b"t")])


def _dotted(folded: bytes) -> bool:
    begins = [word[:3] for word in folded.split(b".")]
    return not _HEADS.isdisjoint(begins) and any(name in folded for name in DOTTED)


def _token(payload: bytes, literal: bytes) -> bool:
    for at in _places(payload, literal):
        after = payload[at + len(literal) : at + len(literal) + 8]
        if (
            len(after) == 8
            and _TOKEN.issuperset(after)
            and (payload[at - 1 : at] == b"_" or _starts(payload, at))
        ):
            return True
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
    for at in _places(folded, b"private"):
        before = folded[max(0, at - 160) : at]
        for opener in _OPENERS:
            if opener in before:
                return True
    return False


def _dotenv(folded: bytes) -> bool:
    """A file named .env, .envrc or .env.local; not process.env, os.environ."""
    for at in _places(folded, b".env"):
        if _starts(folded, at) or (
            folded[at + 4 : at + 5] in _AFTER_NAME and not _is_object(folded, at)
        ):
            return True
    return False


def _is_object(folded: bytes, end: int) -> bool:
    """Whether the environment of a program's language ends there: ``process``, ``import.meta``."""
    if folded.endswith(b"meta", 0, end):
        return True
    before = folded[end - 8 : end - 7]
    return folded.endswith(b"process", 0, end) and (not before or before[0] not in _TOKEN)


def _userinfo(payload: bytes) -> bool:
    """A password inside a URL: something, a colon, something, an at sign, before any slash."""
    for at in _places(payload, b"://"):
        start = at + 3
        end = payload.find(b"@", start, start + 1300)
        if end > 0 and b":" in payload[start:end] and b"/" not in payload[start:end]:
            return True
    return False


def _key_file(folded: bytes) -> bool:
    """A file name that ends in .key; not a property named key."""
    for at in _places(folded, b".key"):
        if folded[at + 4 : at + 5] in _AFTER_NAME and at and folded[at - 1] in _NAME:
            return True
    return False


def _listing(folded: bytes, word: bytes) -> bool:
    """The word as a whole command (``env | sort``), which prints every variable."""
    for at in _places(folded, word):
        end = at + len(word)
        if folded[end : end + 1] in _AFTER_LISTING and _starts(folded, at):
            after = folded[end : end + 24].lstrip(b" ")
            if not after or after[0] in _ENDS or after.startswith(_OPTIONS):
                return True
            if word == b"env" and after[0] in _WORD_OF_ENV and _is_bare(folded[end : end + 1500]):
                return True
    return False


def _is_bare(words: bytes) -> bool:
    """Whether after ``env`` come options and assignments alone, and no command to run."""
    named = False
    for word in words.replace(b"\\t", b" ").split(None, 20):
        if not (named or word[:1] == b"-" or b"=" in word):
            return word[0] in _ENDS or word.startswith(_OPTIONS)
        if not _ENDS.isdisjoint(word):
            return True
        named = word in (b"-u", b"--unset")
    return True


def _echoed(folded: bytes, verb: bytes) -> bool:
    """Whether a shell prints a variable by whose name it may be a secret."""
    if b"$" not in folded:
        return False
    for at in _places(folded, verb):
        _, sign, name = folded[at + len(verb) : at + len(verb) + 320].partition(b"$")
        if sign and any(telling in name for telling in _TELLING):
            return True
    return False


def _inline(folded: bytes, name: bytes) -> bool:
    """Whether the program with this name may be given a text to run."""
    for at in _places(folded, name):
        end = at + len(name)
        if folded[at - 1 : at] != b"." and (folded[end : end + 1] or b" ")[0] not in _WORD:
            after = folded[end : end + 900]
            if any(flag in after for flag in _FLAGS):
                return True
    return False


def _password_store(folded: bytes) -> bool:
    """``pass`` and one name, which prints the password of that name."""
    for at in _places(folded, b"pass "):
        if _starts(folded, at):
            name = folded[at + 5 : at + 280].replace(b"\\/", b"/")
            rest = name.lstrip(_IN_STORE)
            end = rest.lstrip(b" ")
            if len(rest) < len(name) and (not end or end[0] in _ENDS or end.startswith(_OPTIONS)):
                return True
    return False
