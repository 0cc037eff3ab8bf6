"""The secrets that show by their form alone, as data: a literal to look for, a pattern.

Every pattern has bounded quantifiers only, and starts where no character of its own token
class stands before it: two matches never try the same text, so the time is linear in it.
"""

import re

# name, literals one of which is in every match, pattern. The group "keep", where a pattern
# has one, is what stays in front of the replacement; "end" stays behind it.
Rule = tuple[str, tuple[str, ...], str]

# A colour sequence ends in a letter and is no part of the word after it; nor is an escape that
# stands in the text as it is written (of JSON in a string, of a log).
_START = (
    r"(?:(?<![A-Za-z0-9-])|(?<=[;\[]\dm)|(?<=[;\[]\d\dm)|(?<=[;\[]\d\d\dm)|(?<=\[[mK])"
    r"|(?<=\\[abefnrtv0])|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
)

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
        # An underscore is of its own class, and what it looks for may be far.
        r"(?<!_)" + _START + r"eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,8192}(?:\.[A-Za-z0-9_-]{0,2048})?",
    ),
)  # fmt: skip

# The literals of these are looked for in the lower-cased text.
LABELLED: tuple[Rule, ...] = (
    (
        "authorization",
        ("authorization",),
        r"(?P<keep>(?i:authorization)[\\\"']{0,4}\s{0,4}[:=]\s{0,4}[\\\"']{0,4}"
        r"(?:(?i:bearer|basic|token|apikey|bot)\s{1,4})?)(?![Bb]earer|[Bb]asic|AWS4-)"
        r"(?=[A-Za-z0-9._~+/=:@!%*-]{0,64}[0-9=])[A-Za-z0-9._~+/=:@!%*-]{8,4096}+(?!\()",
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
    r"\.env(?:rc|\.(?!example|sample|template|dist)[\w.-]{1,64})?[*~]?"
    r"|(?!process\.|[\w.]{0,32}meta\.)[\w.-]{1,64}\.env~?"
    r"|[\w.@-]{1,128}\.(?:pem|key|p12|pfx|jks|kdbx|ppk|keystore|keychain(?:-db)?|tfvars|tfvars\.json|tfstate|tfstate\.backup)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)[\w.-]{0,32}|\.npmrc|\.pypirc|[._]netrc|\.git-credentials"
    r"|\.?[\w-]{0,64}credentials(?:\.(?:json|ya?ml|toml|ini|csv|db|tfrc\.json))?|kubeconfig(?:\.ya?ml)?"
    r"|secrets?\.(?:json|ya?ml|toml|ini|env|txt)|\.pgpass|\.htpasswd|\.vault-token"
    r"|secrets[/\\](?:[\w.-]{1,64}[/\\]){0,4}[\w.*-]{1,64}\.(?:json|ya?ml)"
    r"|[\w.-]{0,64}service[-_]account[\w.-]{0,64}\.json|gh[/\\]hosts\.ya?ml|\.my\.cnf"
    r"|\.(?:s3cfg|boto|dockercfg|terraformrc|databrickscfg|mylogin\.cnf)|rclone\.conf|wp-config\.php"
    r"|oauth_creds\.json|msal_token_cache(?:\.\w{1,8}){0,2}|access_?tokens\.(?:db|json)|secring\.gpg"
    r"|private-keys-v1\.d[/\\][\w.*-]{1,64}|github-copilot[/\\](?:hosts|apps)\.json"
    r"|glab-cli[/\\]config\.ya?ml|(?:\.codex|\.?composer|opencode)[/\\]auth\.json"
    r"|run[/\\]secrets[/\\][\w./\\*-]{1,128}"
    r"|etc/g?shadow-?|(?<=/)environ"
    r"|\.aws[/\\][\w.-]{1,64}|\.kube[/\\]config|\.docker[/\\]config\.json"
    r"|\.ssh[/\\](?!config$|known_hosts|authorized_keys)[\w.*-]{1,64})"
)

# Where a command may begin: after what separates commands, after a program that runs another
# one (with its options), after assignments, and inside another shell or machine.
_COMMAND = (
    r"(?:^|[\n;&|(`{]|\b\w{1,64}=[^\s;&|]{0,128}[ \t]|[ \t]-[a-z]{0,4}c[ \t]{1,4}['\"]?"
    r"|\b(?:sudo|doas|then|do|else|time|timeout|nice|nohup|command|exec|eval|npx|bunx)\b"
    r"(?:[ \t]{1,4}(?:-u[ \t]{1,4}[\w.-]{1,32}|-[\w=.-]{1,32}|\d{1,6}[smh]?)(?=[ \t])){0,4})"
    r"[ \t]{0,8}"
)
_ELSEWHERE = r"\b(?:exec|run|ssh)\b[^\n;&|]{1,200}?[ \t'\"]"
_LAST = r"(?=[ \t]{0,8}(?:$|[\n\r;&|>)`'\"}])|[ \t]{1,8}[12]>)"
_ENV_WORD = (
    r"(?:-[0iv]{1,3}|--null|--ignore-environment|-u[ \t]{0,4}\w{1,64}|--unset[= ]\w{1,64}"
    r"|\w{1,64}=(?:'[^'\n]{0,128}'|\"[^\"\n]{0,128}\"|[^\s;&|'\"]{0,128}))"
)
_ENV = rf"(?:/usr/bin/|/bin/)?(?:env(?:[ \t]{{1,4}}{_ENV_WORD}){{0,8}}{_LAST}|printenv\b)"

# A command that prints secrets, whatever it reads. One blank each: the gates look for that.
SENSITIVE_COMMAND = (
    rf"{_ELSEWHERE}{_ENV}|{_COMMAND}(?:{_ENV}|(?:set|export|declare|typeset){_LAST}|pass [A-Za-z0-9_./@-]{{1,128}}{_LAST}"
    r"|export -p\b|(?:declare|typeset) -x\b(?! \w)|(?:declare|typeset|readonly) -p\b|docker inspect\b"
    r"|compgen -(?:v|e|A (?:variable|export))\b|op (?:read|inject|item get)\b"
    r"|bw (?:get|list|export|unlock)\b|rbw get\b|lpass show\b|gopass (?:show|cat)\b|keyring get\b"
    r"|keepassxc-cli (?:show|clip)\b|secret-tool (?:lookup|search)\b|chamber (?:read|export|env)\b"
    r"|sops (?:-d|--decrypt|decrypt|exec-env)\b|ansible-vault (?:view|decrypt)\b"
    r"|doppler secrets\b|infisical (?:secrets|export)\b|vercel env (?:pull|ls)\b"
    r"|netlify env:(?:list|get)\b|railway variables\b|rails credentials:show\b|git credential fill\b"
    r"|dotenvx? (?:list|get)\b|direnv (?:export|dump)\b|systemctl show-environment\b"
    r"|az keyvault secret\b|az [^\n;&|]{0,200}?\b(?:get-access-token|keys list|list-keys"
    r"|show-connection-string|credential show)\b"
    r"|gpg2?\b[^\n;&|]{0,100} (?:-d|--decrypt|--export-secret)"
    r"|pulumi\b[^\n;&|]{0,200} --show-secrets\b|security dump-keychain\b"
    r"|docker[ -]compose\b[^\n;&|]{0,200} config\b|pass show\b"
    r"|aws [^\n;&|]{0,200}?(?:\bconfigure\b|\bget-secret-value\b|\bget-parameter"
    r"|\bassume-role|\bget-session-token\b|\bget-login-password\b|\bcreate-access-key\b)"
    r"|(?:kubectl|oc)\b[^\n;&|]{0,200}\bsecrets?\b|(?:gh|glab) auth token\b"
    r"|kubectl config view\b[^\n;&|]{0,100} --raw\b|oc whoami (?:-t|--show-token)\b"
    r"|gh auth status\b[^\n;&|]{0,100} (?:-t|--show-token)\b"
    r"|gcloud\b[^\n;&|]{0,100}\bprint-(?:access|identity)-token|vault (?:read|kv)\b"
    r"|gcloud\b[^\n;&|]{0,100}\bsecrets versions access\b"
    r"|security find-\w{1,16}-password\b|(?:terraform|tofu) (?:output|state pull|show -json)\b"
    r"|heroku config\b"
    r"|(?i:(?:get-childitem|get-item|get-content|gci|gi|gc|dir|ls|cat|type)(?: -path)? env:)"
    rf"|cmd(?:\.exe)? /c set{_LAST})"
)

# Names of variables that hold a secret; a bare $key or $pass is more often a count or a loop's.
_TELLING = (
    r"(?i:token|secret|passw(?:or)?d|passphrase|api_?key|_key\b|_pass\b|_pwd\b|credential|_auth\b)"
)
# A shell that prints such a variable.
ECHOED = (
    r"(?i:\b(?:echo|printf|print|write-output|write-host) )[^\n;&|]{0,120}?"
    rf"\$\{{?(?:env:)?(?=\w{{0,48}}{_TELLING})\w{{1,64}}(?!\w|:\+)"
)
# A program in a command, and what in it gives the whole environment or prints a secret of it.
INLINE = (
    r"(?i:\b(?:python(?:[23](?:\.\d{1,2})?)?|(?<![.])py|node(?:js)?|deno|bun|ruby|perl|php|pwsh|powershell|rscript|elixir)"
    r"(?:\.exe)?\b[^\n;&|]{0,200}?(?:[ \t](?:-c|-e|-p|-r|-pe|-ne|-le|-command|--eval|--print|eval)\b|<<))"
)
DUMPED = (
    r"(?<!\*\*)(?<!\*\*os\.)(?<!\.\.\.)(?<!env=dict\(os\.)(?:\benviron\b(?!\s?(?:\[|\.(?:get|setdefault|pop|update|copy)\b))"
    r"|\b(?:process|bun|Bun)\.env\b(?!\??[.\[])"
    r"|(?<![\w$%:])ENV\b(?!\[|\.(?:fetch|key|delete))|%ENV\b|\$_(?:ENV|SERVER)\b(?!\[)|phpinfo\b"
    r"|Deno\.env\.toObject|(?i:\b(?:getenv|get_env))\(\)|GetEnvironmentVariables|(?i:\benv:)(?!\w))"
    r"|(?i:\b(?:print|printf|println|log|puts|echo|say|write|dump|inspect|p)\b|-p\b)[^\n;]{0,60}?"
    rf"(?i:\b(?:environ|getenv|get_env|env))\b[\[\](){{}}.:?\"'\\]{{1,6}}(?:get\(|fetch\()?[\"'\\]{{0,4}}"
    rf"(?=\w{{0,48}}{_TELLING})\w"
)

# Written as they are, as entities, in percents, or as escapes of a language. Zeros, "amp;" and
# "25" may be any number; possessive, so that what they took is not tried again.
_AND = r"&(?:amp;?)*+"
_BACK = r"\\{1,8}"
OPENERS, CLOSERS = "<＜﹤‹⟨〈\u2329", ">＞﹥›⟩〉\u232a"
_OPEN = (
    rf"(?:[{OPENERS}]|{_AND}(?:lt|#0*+60|#x0*+3c);?|%(?:25)*+3c"
    rf"|{_BACK}(?:x3c|u003c|u\{{0{{0,8}}3c\}}|u0000003c|0?74))"
)
_CLOSE = (
    rf"(?:[{CLOSERS}]|{_AND}(?:gt|#0*+62|#x0*+3e);?|%(?:25)*+3e"
    rf"|{_BACK}(?:x3e|u003e|u\{{0{{0,8}}3e\}}|u0000003e|0?76))"
)
_SLASH = (
    rf"(?:\\{{0,8}}[/／]|{_AND}(?:sol;|#0*+47;?|#x0*+2f;?)|%(?:25)*+2f"
    rf"|{_BACK}(?:x2f|u002f|u\{{0{{0,8}}2f\}}|u0000002f|0?57))"
)
_BLANK = r"[\s\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
# A tag that is never finished opens all the same: better too much cut than too little.
PRIVATE_TAG = (
    rf"(?ai){_OPEN}{_BLANK}{{0,8}}(?P<slash>{_SLASH}?){_BLANK}{{0,8}}private"
    rf"(?=[:.,;!?*_\\-]{{0,8}}(?:{_BLANK}|{_SLASH}|{_OPEN}|{_CLOSE}|[&%]|$))"
    rf"(?:(?:(?!{_OPEN}|{_CLOSE})[\s\S]){{0,512}}{_CLOSE})?"
)
# What stands before the name of a tag: the end of the text before it.
OPENED = rf"(?ai){_OPEN}{_BLANK}{{0,8}}{_SLASH}?{_BLANK}{{0,8}}\Z"
# What a reader does not see in a word: format and control characters but tab and line breaks,
# variation selectors, fillers, tags, halves of a pair.
INVISIBLE = (
    "[\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f\\xad\\u034f\\u0600-\\u0605\\u061c\\u06dd"
    "\\u070f\\u0890\\u0891\\u08e2\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e"
    "\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ud800-\\udfff"
    "\\U000110bd\\U000110cd\\U00013430-\\U0001343f\\U0001bca0-\\U0001bca3"
    "\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]"
)
# Letters that look like those of "private", each in the place of the one it looks like; those of
# mathematics (bold, script, double-struck and so on) are counted off in both cases.
ALIKE = {
    "p": "\u0440\u0420\u03c1\u03a1\uff50\uff30", "r": "\u0433\u0413\u0491\u0490\uff52\uff32",
    "i": "\u0456\u0406\u03b9\u0399\uff49\uff29", "v": "\u0475\u0474\u03bd\uff56\uff36",
    "a": "\u0430\u0410\u03b1\u0391\uff41\uff21", "t": "\u0442\u0422\u03c4\u03a4\uff54\uff34",
    "e": "\u0435\u0415\u03b5\u0395\uff45\uff25",
}  # fmt: skip
MATHEMATICS = (0x1D400, 0x1D6A4)
ALIKE_LETTER = f"[{''.join(ALIKE.values())}\U0001d400-\U0001d6a3]"
# Of a terminal: colours and the like. No quote or backslash is part of one, so that it stands in
# JSON as it is.
_SEQUENCE = r"[0-?]*+[ !#-.]*+[@-\[\]-~]?"
TERMINAL = rf"\x1b\[{_SEQUENCE}|\x9b(?:(?=[0-?mK]){_SEQUENCE})?|\x1b[()][0-9A-Za-z]?"
ENTITY = (
    r"&(?:amp;)*+(?:#(?:[xX](?=[0-9A-Fa-f])0*+(?P<hex>[0-9A-Fa-f]{0,6})|(?=[0-9])0*+(?P<dec>[0-9]{0,7}))"
    r"|(?P<name>shy|zwj|zwnj|lrm|rlm|ZeroWidthSpace|NoBreak|Negative(?:VeryThin|Thin|Medium|Thick)Space"
    r"|InvisibleTimes|InvisibleComma|ApplyFunction|(?:it|ic|af)(?=;)));?"
)
WORD_BREAK_TAG = r"(?i)<wbr[ \t]{0,4}/?>"
# A character that stands in the text as a JSON escape.
ESCAPE = r"(?<!\\)\\{1,8}u([0-9A-Fa-f]{4})"
# Our own block and the host's wrappers: text the user did not write and memory must not eat.
WRAPPERS = ("cmem-memory", "system-reminder", "persisted-output")
WRAPPER_TAG = r"(?ai)<(?P<slash>/?){name}(?=[\s/>])[^<>]{{0,512}}>"

IMAGE_URL = r"data:(?P<type>[a-z]{1,16})/[\w.+-]{1,64}(?:;[\w=.-]{1,64}){0,4};base64,[\w+/=-]{64,}"
BASE64 = r"[A-Za-z0-9+/_\-\r\n]{1024,}={0,2}\s{0,2}"
IMAGE_HEAD = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")

# Between the words of a command line.
WORD_BREAK = r"[\s'\"`;|&<>=,:]+"


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled once; only those whose literal occurred are ever asked for."""
    found = _compiled.get(pattern)
    if found is None:
        found = _compiled[pattern] = re.compile(pattern)
    return found


_compiled: dict[str, re.Pattern[str]] = {}
