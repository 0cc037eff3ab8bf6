"""The secrets that show by their form alone, as data: a literal to look for, a pattern.

Every pattern has bounded quantifiers only, and starts where no character of its own token
class stands before it: two matches never try the same text, so the time is linear in it.
"""

import re

# name, literals one of which is in every match, pattern. The group "keep", where a pattern
# has one, is what stays in front of the replacement; "end" stays behind it.
Rule = tuple[str, tuple[str, ...], str]

# A colour sequence ends in a letter and is no part of the word after it.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=[;\[]\dm)|(?<=[;\[]\d\dm)|(?<=[;\[]\d\d\dm)|(?<=\[[mK]))"

# Matches begin with the literal: the text is searched for that, and the pattern tried there.
TOKENS: tuple[Rule, ...] = (
    ("aws-key", ("AKIA", "ASIA", "ABIA", "ACCA"), _START + r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}"),
    (
        "github",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        _START + r"(?:gh[pousr]|github_pat)_[A-Za-z0-9_]{16,255}",
    ),
    (
        "gitlab",
        ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-"),
        _START + r"gl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_.-]{16,255}",
    ),
    (
        "sk-key",
        ("sk-",),
        _START + r"sk-(?:(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{16,255}"
        r"|(?=[A-Za-z0-9_-]{0,64}[A-Za-z0-9]{16})[A-Za-z0-9_-]{20,255})",
    ),
    ("slack", ("xox",), _START + r"xox[abeoprs]-[A-Za-z0-9.-]{10,255}"),
    ("slack", ("xapp-",), _START + r"xapp-[A-Za-z0-9-]{16,255}"),
    (
        "slack-webhook",
        ("hooks.slack.com",),
        r"(?P<keep>hooks\.slack\.com/(?:services|workflows|triggers)/)[A-Za-z0-9_/-]{16,255}",
    ),
    ("google", ("AIza",), _START + r"AIza[A-Za-z0-9_-]{30,64}"),
    ("google", ("GOCSPX-",), _START + r"GOCSPX-[A-Za-z0-9_-]{20,64}"),
    ("google", ("ya29.",), _START + r"ya29\.[A-Za-z0-9_-]{20,1024}"),
    ("stripe", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), _START + r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}"),
    ("stripe", ("whsec_",), _START + r"whsec_[A-Za-z0-9+/=]{20,255}"),
    ("npm", ("npm_",), _START + r"npm_[A-Za-z0-9]{36,64}"),
    ("pypi", ("pypi-",), _START + r"pypi-[A-Za-z0-9_-]{32,512}"),
    ("hugging-face", ("hf_",), _START + r"hf_[A-Za-z0-9]{30,64}"),
    ("sendgrid", ("SG.",), _START + r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}"),
    ("digitalocean", ("dop_v1_", "doo_v1_", "dor_v1_"), _START + r"do[opr]_v1_[a-f0-9]{32,128}"),
    ("shopify", ("shpat_", "shpss_"), _START + r"shp(?:at|ss)_[A-Fa-f0-9]{24,64}"),
    ("vault", ("hvs.", "hvb."), _START + r"hv[sb]\.[A-Za-z0-9_-]{20,512}"),
    ("docker", ("dckr_pat_",), _START + r"dckr_pat_[A-Za-z0-9_-]{20,128}"),
    ("grafana", ("glsa_",), _START + r"glsa_[A-Za-z0-9_]{20,128}"),
    ("linear", ("lin_api_",), _START + r"lin_api_[A-Za-z0-9]{20,128}"),
    ("tailscale", ("tskey-",), _START + r"tskey-[A-Za-z0-9-]{16,128}"),
    ("supabase", ("sbp_",), _START + r"sbp_[a-f0-9]{32,64}"),
    ("rubygems", ("rubygems_",), _START + r"rubygems_[a-f0-9]{32,64}"),
    ("groq", ("gsk_",), _START + r"gsk_[A-Za-z0-9]{32,128}"),
    ("replicate", ("r8_",), _START + r"r8_[A-Za-z0-9]{32,64}"),
    ("xai", ("xai-",), _START + r"xai-[A-Za-z0-9]{32,128}"),
    ("perplexity", ("pplx-",), _START + r"pplx-[A-Za-z0-9]{32,128}"),
    ("age", ("AGE-SECRET-KEY-",), _START + r"AGE-SECRET-KEY-1[A-Z0-9]{20,128}"),
    (
        "jwt",
        ("eyJ",),
        _START + r"eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,8192}(?:\.[A-Za-z0-9_-]{0,2048})?",
    ),
)  # fmt: skip

# The literals of these are looked for in the lower-cased text.
LABELLED: tuple[Rule, ...] = (
    (
        "authorization",
        ("authorization",),
        r"(?P<keep>(?i:authorization)[\\\"']{0,4}\s{0,4}[:=]\s{0,4}[\\\"']{0,4}"
        r"(?:(?i:bearer|basic|token|digest|apikey|bot)\s{1,4})?)(?![Bb]earer|[Bb]asic)"
        r"(?=[A-Za-z0-9._~+/=:-]{0,64}[0-9=])[A-Za-z0-9._~+/=:-]{8,4096}+(?!\()",
    ),
    (
        "bearer",
        ("bearer ",),
        r"(?P<keep>(?<![A-Za-z0-9])(?i:bearer) {1,4})(?=[A-Za-z0-9._~+/=-]{0,64}[0-9])"
        r"[A-Za-z0-9._~+/=-]{16,4096}",
    ),
    (
        "key-header",
        ("api-key", "auth-token", "private-token", "job-token"),
        r"(?P<keep>(?i:api-key|auth-token|private-token|job-token)[\\\"']{0,4}\s{0,4}:"
        r"\s{0,4}[\\\"']{0,4})(?=[A-Za-z0-9._~+/=-]{0,64}[0-9])[A-Za-z0-9._~+/=-]{8,4096}",
    ),
    (
        "url-password",
        ("://",),
        r"(?P<keep>://[^\s/:@'\"<>\\]{0,64}:)(?![${<*]|\[REDACTED)[^\s/'\"<>\\]{1,128}(?P<end>@)",
    ),
)

# Blocks by their first line. Without an end the block reaches to the end of the text.
BLOCK_BEGIN = r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
BLOCK_END = r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
PUTTY_BEGIN = r"PuTTY-User-Key-File-\d"
PUTTY_END = r"Private-MAC: [0-9a-f]{16,64}"

# A file whose content is a secret, by its last part, or by its folder. Public halves,
# samples and the configuration of ssh hold nothing secret.
SENSITIVE_PATH = (
    r"(?ai)(?!.*\.pub$)(?:.*[/\\])?(?:"
    r"\.env(?:rc|\.(?!example|sample|template|dist)[\w.-]{1,64})?\*?"
    r"|(?!process\.|[\w.]{0,32}meta\.)[\w.-]{1,64}\.env"
    r"|[\w.@-]{1,128}\.(?:pem|key|p12|pfx|jks|tfvars|tfvars\.json|tfstate|tfstate\.backup)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)[\w.-]{0,32}|\.npmrc|\.pypirc|\.netrc|\.git-credentials"
    r"|[\w-]{0,64}credentials\.(?:json|ya?ml|toml|ini|csv)|kubeconfig(?:\.ya?ml)?"
    r"|secrets?\.(?:json|ya?ml|toml|ini|env|txt)|\.pgpass|\.htpasswd|\.vault-token"
    r"|\.aws[/\\][\w.-]{1,64}|\.kube[/\\]config|\.docker[/\\]config\.json"
    r"|\.ssh[/\\](?!config$|known_hosts|authorized_keys)[\w.*-]{1,64})"
)

# A command that prints secrets, whatever it reads. One blank each: the gates look for that.
SENSITIVE_COMMAND = (
    r"(?:^|[\n;&|(`]|\b(?:sudo|then|do)\b)[ \t]{0,8}(?:"
    r"(?:/usr/bin/|/bin/)?env(?: (?:-0|--null))?(?= {0,8}(?:$|[\n;&|>)`]|2>))"
    r"|(?:/usr/bin/|/bin/)?printenv\b|set(?= {0,8}(?:$|[\n;&|>)`]|2>))"
    r"|export -p\b|declare -x\b(?! \w)|docker inspect\b|aws configure\b|op read\b|pass show\b"
    r"|kubectl\b[^\n;&|]{0,200}\bget secrets?\b|(?:gh|glab) auth token\b"
    r"|gcloud\b[^\n;&|]{0,100}\bprint-(?:access|identity)-token|vault (?:read|kv)\b"
    r"|security find-\w{1,16}-password\b|terraform output\b|heroku config\b)"
)

_OPEN = r"(?:<|&lt;|&#0{0,4}60;|&#x0{0,4}3c;|＜)"
_CLOSE = r"(?:>|&gt;|&#0{0,4}62;|&#x0{0,4}3e;|＞)"
# A tag that is never finished opens all the same: better too much cut than too little.
PRIVATE_TAG = (
    rf"(?ai){_OPEN}\s{{0,4}}(?P<slash>[/／]?)\s{{0,4}}private(?=[\s/>＞&]|$)"
    rf"(?:(?:(?!{_OPEN}|{_CLOSE})[\s\S]){{0,512}}{_CLOSE})?"
)
# Our own block and the host's wrappers: text the user did not write and memory must not eat.
WRAPPERS = ("cmem-memory", "system-reminder", "persisted-output")
WRAPPER_TAG = r"(?ai)<(?P<slash>/?){name}(?=[\s/>])[^<>]{{0,512}}>"

IMAGE_URL = r"data:(?P<type>[a-z]{1,16})/[\w.+-]{1,64}(?:;[\w=.-]{1,64}){0,4};base64,[\w+/=-]{64,}"
BASE64 = r"[A-Za-z0-9+/_\-\r\n]{1024,}={0,2}\s{0,2}"
IMAGE_HEAD = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")

# Between the words of a command line.
WORD_BREAK = r"[\s'\"`;|&<>=,]+"


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled once; only those whose literal occurred are ever asked for."""
    found = _compiled.get(pattern)
    if found is None:
        found = _compiled[pattern] = re.compile(pattern)
    return found


_compiled: dict[str, re.Pattern[str]] = {}
