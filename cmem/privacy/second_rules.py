"""The second tier's rules as data: the long tail of token formats, and secrets in their setting.

Loaded at ingest and by commands, never by a hook. Formats have the shape of ``rules.py``: a
literal that every match begins with, and a bounded pattern. Settings have a literal in lower
case that opens the gate, a pattern with the secret in its group "secret", and a check of it.
"""

from __future__ import annotations

from cmem.privacy.rules import Rule

_START = r"(?<![A-Za-z0-9_])"
_END = r"(?![A-Za-z0-9])"
_HEX32, _HEX40, _HEX64 = r"[a-f0-9]{32}", r"[a-f0-9]{40}", r"[a-f0-9]{64}"


def _format(name: str, literal: str, pattern: str) -> Rule:
    return name, (literal,), _START + pattern


FORMATS: tuple[Rule, ...] = (
    _format("1password", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/=_-]{100,4096}"),
    _format("adafruit", "aio_", r"aio_[A-Za-z0-9]{28}" + _END),
    _format("airtable", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}" + _END),
    _format("alibaba", "LTAI", r"LTAI[A-Za-z0-9]{16,26}" + _END),
    _format("asana", "2/", r"2/\d{12,20}/\d{12,20}:[a-f0-9]{32}" + _END),
    _format("atlassian", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{50,400}"),
    _format("atlassian", "ATCTT3", r"ATCTT3[A-Za-z0-9_=-]{50,400}"),
    _format("bitbucket", "ATBB", r"ATBB[A-Za-z0-9_=-]{24,100}"),
    _format(
        "aws-bedrock", "ABSKQmVkcm9ja0FQSUtleS", r"ABSKQmVkcm9ja0FQSUtleS[A-Za-z0-9+/=]{60,300}"
    ),
    _format("buildkite", "bkua_", r"bkua_[a-f0-9]{40}"),
    _format("brevo", "xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _format("brevo", "xsmtpsib-", r"xsmtpsib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _format("circleci", "CCIPAT_", r"CCIPAT_[A-Za-z0-9]{16,40}_[a-f0-9]{40}"),
    _format("clojars", "CLOJARS_", r"CLOJARS_[a-z0-9]{60}"),
    _format("cloudflare", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    _format("cockroach", "CCDB1_", r"CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}"),
    _format("contentful", "CFPAT-", r"CFPAT-[A-Za-z0-9_-]{40,60}"),
    _format("crates-io", "cio", r"cio[A-Za-z0-9]{32}" + _END),
    _format("databricks", "dapi", r"dapi[a-f0-9]{32}(?:-\d{1,2})?" + _END),
    _format("deno", "ddp_", r"ddp_[A-Za-z0-9]{36}"),
    _format(
        "discord-webhook",
        "discord.com/api/webhooks/",
        r"discord\.com/api/webhooks/\d{15,20}/[A-Za-z0-9_-]{60,80}",
    ),
    _format(
        "discord-webhook",
        "discordapp.com/api/webhooks/",
        r"discordapp\.com/api/webhooks/\d{15,20}/[A-Za-z0-9_-]{60,80}",
    ),
    *(
        _format(
            "discord",
            first,
            first + r"[A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}" + _END,
        )
        for first in ("MT", "MD", "Mz", "Mj", "Nj", "NT", "ND", "Nz", "OD", "OT")
    ),
    _format("docker-org", "dckr_oat_", r"dckr_oat_[A-Za-z0-9_-]{20,64}"),
    *(
        _format("doppler", f"dp.{kind}.", rf"dp\.{kind}\.[A-Za-z0-9._-]{{40,80}}")
        for kind in ("pt", "st", "ct", "sa", "scim", "audit")
    ),
    _format("duffel", "duffel_", r"duffel_(?:test|live)_[A-Za-z0-9_=-]{43}"),
    _format("dynatrace", "dt0c01.", r"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _format("easypost", "EZAK", r"EZAK[A-Za-z0-9]{54}"),
    _format("easypost", "EZTK", r"EZTK[A-Za-z0-9]{54}"),
    _format("elevenlabs", "sk_", r"sk_[a-f0-9]{48}" + _END),
    _format("facebook", "EAA", r"(?<![/+])EAA[A-Za-z0-9]{80,300}" + _END),
    _format("figma", "figd_", r"figd_[A-Za-z0-9_-]{38,64}"),
    _format("fireworks", "fw_", r"fw_[A-Za-z0-9]{22,40}" + _END),
    _format("flutterwave", "FLWSECK", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,40}(?:-X)?"),
    _format("fly", "fm2_", r"fm2_[A-Za-z0-9+/=_-]{60,2048}"),
    _format("fly", "fo1_", r"fo1_[A-Za-z0-9_-]{40,64}"),
    _format("frameio", "fio-u-", r"fio-u-[A-Za-z0-9_=-]{60,70}"),
    _format("gitlab", "glsoat-", r"glsoat-[A-Za-z0-9_-]{20,64}"),
    _format("gitlab", "glagent-", r"glagent-[A-Za-z0-9_-]{40,64}"),
    _format("gitlab", "glimt-", r"glimt-[A-Za-z0-9_-]{20,64}"),
    _format("gitlab", "gloas-", r"gloas-[A-Za-z0-9_-]{40,80}"),
    _format("gitlab", "glft-", r"glft-[A-Za-z0-9_-]{20,64}"),
    _format("gitlab", "GR1348941", r"GR1348941[A-Za-z0-9_-]{20}"),
    _format("grafana", "glc_", r"glc_[A-Za-z0-9+/=]{40,400}"),
    _format("heroku", "HRKU-", r"HRKU-[A-Za-z0-9_-]{36,70}"),
    _format("hubspot", "pat-", r"pat-(?:na|eu)\d-[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}"),
    _format("hugging-face", "api_org_", r"api_org_[A-Za-z0-9]{34}"),
    _format("infracost", "ico-", r"ico-[A-Za-z0-9]{32}" + _END),
    _format("jfrog", "AKCp", r"AKCp[A-Za-z0-9]{60,75}"),
    _format("jfrog", "cmVmdGtu", r"cmVmdGtu[A-Za-z0-9]{50,70}"),
    _format("langsmith", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _format("mailgun", "key-", r"key-[a-f0-9]{32}" + _END),
    _format("netlify", "nfp_", r"nfp_[A-Za-z0-9]{36,40}"),
    _format("newrelic", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _format("newrelic", "NRII-", r"NRII-[A-Za-z0-9_-]{32}"),
    _format("notion", "ntn_", r"ntn_[A-Za-z0-9]{40,60}"),
    _format("notion", "secret_", r"secret_[A-Za-z0-9]{43}" + _END),
    _format("nvidia", "nvapi-", r"nvapi-[A-Za-z0-9_-]{60,72}"),
    _format("openshift", "sha256~", r"sha256~[A-Za-z0-9_-]{43}" + _END),
    _format("pinecone", "pcsk_", r"pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{50,70}"),
    _format("planetscale", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    _format(
        "plaid",
        "access-",
        r"access-(?:sandbox|development|production)-[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}",
    ),
    _format("posthog", "phx_", r"phx_[A-Za-z0-9]{40,50}"),
    _format("postman", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _format("prefect", "pnu_", r"pnu_[A-Za-z0-9]{36}"),
    _format("pulumi", "pul-", r"pul-[a-f0-9]{40}"),
    _format("readme", "rdme_", r"rdme_[a-z0-9]{70}"),
    _format("resend", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}" + _END),
    _format("sentry", "sntrys_", r"sntrys_eyJ[A-Za-z0-9+/=_-]{60,400}"),
    _format("sentry", "sntryu_", r"sntryu_[a-f0-9]{64}"),
    _format("shippo", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
    _format("shopify", "shpca_", r"shpca_[A-Fa-f0-9]{32}"),
    _format("shopify", "shppa_", r"shppa_[A-Fa-f0-9]{32}"),
    _format("sonar", "squ_", r"squ_[a-f0-9]{40}"),
    _format("sonar", "sqp_", r"sqp_[a-f0-9]{40}"),
    _format("sonar", "sqa_", r"sqa_[a-f0-9]{40}"),
    _format("sourcegraph", "sgp_", r"sgp_(?:[A-Fa-f0-9]{16}_|local_)?[a-f0-9]{40}"),
    _format("square", "sq0", r"sq0(?:csp|atp)-[A-Za-z0-9_-]{22,43}"),
    _format("square", "EAAA", r"EAAA[A-Za-z0-9_-]{60}" + _END),
    _format("stripe", "rk_", r"rk_(?:live|test)_[A-Za-z0-9]{16,255}"),
    _format("supabase", "sb_secret_", r"sb_secret_[A-Za-z0-9_-]{20,64}"),
    _format("tavily", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9_-]{32,64}"),
    _format("twilio", "SK", r"SK[a-f0-9]{32}" + _END),
    _format("typeform", "tfp_", r"tfp_[A-Za-z0-9_.=-]{59}"),
    _format("yandex", "y0_", r"y0_[A-Za-z0-9_-]{50,70}"),
    _format("yandex", "AQVN", r"AQVN[A-Za-z0-9_-]{35,38}" + _END),
)

# name, literals in lower case, pattern with the group "secret", name of the check or "".
Setting = tuple[str, tuple[str, ...], str, str]

_QUOTE = r"\\{0,3}[\"'`]"
_GIVEN = r"\\{0,3}\"[^\"\\\n]{0,512}\\{0,3}\"|[^\s,;\"'`\\]{1,1024}"
_WORD = r"[^\s\"'`\\|;&<>]{4,256}"

SETTINGS: tuple[Setting, ...] = (
    ("telegram", (":aa",), r"(?<![A-Za-z0-9])(?P<secret>\d{8,10}:AA[A-Za-z0-9_-]{32,35})" + _END, ""),
    ("mailchimp", ("-us",), r"(?<![A-Za-z0-9])(?P<secret>[a-f0-9]{32}-us\d{1,2})" + _END, ""),
    ("hashicorp", (".atlasv1.",), r"(?<![A-Za-z0-9])(?P<secret>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70})", ""),
    ("azure-client", ("q~",), r"(?<![A-Za-z0-9_~.-])(?P<secret>[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34})(?![A-Za-z0-9_~-])", ""),
    # Authorization: Basic, and what looks like it in code. The first tier wants a digit.
    ("basic-auth", ("basic ",), r"(?<![A-Za-z0-9])[Bb](?:asic|ASIC)[ ]{1,4}(?P<secret>[A-Za-z0-9+/]{6,512}={0,2})", "basic"),
    # Authorization with any other scheme, its parameters included.
    (
        "authorization",
        ("authorization",),
        r"(?i:authorization)[\\\"']{0,4}\s{0,4}[:=,]\s{0,4}[bfru]{0,2}[\\\"'`]{0,4}[A-Za-z][\w-]{1,40}[ ]{1,4}"
        r"(?P<secret>\w{1,32}=(?:" + _GIVEN + r")(?:,[ ]{0,2}\w{1,32}=(?:" + _GIVEN + r")){0,24}"
        r"|[^\s\"'`\\,;<>(){}\[\]]{8,4096}(?!\())",
        "credential",
    ),
    # Cookies: all pairs, up to where the header ends.
    (
        "cookie",
        ("cookie",),
        r"(?i:\bcookie2?)[\"'\\]{0,4}[ \t]{0,2}[:=][ \t]{0,2}(?:" + _QUOTE + r")?(?P<secret>[\w.$-]{1,64}=[^\s\"'`\\;]{1,4096}"
        r"(?:;[ ]?[\w.$-]{1,64}=[^\s\"'`\\;]{0,4096}){0,32})",
        "cookie",
    ),
    ("netrc", ("login ",), r"\blogin[ \t]{1,4}[^\s]{1,128}\s{1,8}(?:(?<=\n)[-+]\s{0,8})?password[ \t]{1,4}(?P<secret>[^\s]{4,256})", "odd"),
    ("sql-password", ("identified ",), r"(?i:\bidentified[ ]{1,4}(?:with[ ]{1,4}[\w']{1,40}[ ]{1,4})?by[ ]{1,4}(?:password[ ]{1,4})?)(?P<open>['\"])(?P<secret>[^'\"\n]{4,128})(?P=open)", "given"),
    ("sql-password", (" password '",), r"(?i:\b(?:with|encrypted|role[ ]{1,4}[\"\w]{1,64}|user[ ]{1,4}[\"\w]{1,64})[ ]{1,4}password[ ]{1,4})'(?P<secret>[^'\n]{4,128})'", "given"),
    ("auth-pair", ("auth",), r"(?i:\b(?:http)?(?:basic|digest)?auth[ ]{0,2}(?:=[ ]{0,2})?\([ ]{0,2})[\"'][^\"'\n]{1,64}[\"'],[ ]{0,4}[\"'](?P<secret>[^\"'\n]{4,128})[\"']", "odd"),
    ("piped-password", ("password-stdin",), r"\b(?:echo|printf)[ ]{1,2}(?:-n[ ]{1,2})?[\"']?(?P<secret>[^\s\"'|;&]{4,512})[\"']?[ ]{0,2}\|[^\n|]{0,160}password-stdin", "given"),
    ("dsn-password", ("@tcp(",), r"(?<![\w.-])[\w.-]{1,64}:(?P<secret>[^\s:/@\"'`]{3,128})@tcp\(", "given"),
    ("jdbc-password", ("jdbc:oracle",), r"(?i:jdbc:oracle:\w{2,5}:)[\w.-]{1,64}/(?P<secret>[^\s@\"'`]{4,128})@", "given"),
)  # fmt: skip

# Commands that take a password, and the option that it follows.
TOOLS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("curl", "wget", "httpie", "http ", "https ", "xh "), r"(?:-u|--user|--proxy-user|-a|--auth)(?:=|[ \t]{0,3})(?:" + _QUOTE + r")?[\w.@+-]{0,128}:(?P<secret>" + _WORD + r")"),
    (("curl",), r"(?:-b|--cookie)(?:=|[ \t]{1,3})(?:" + _QUOTE + r")?[\w.-]{1,64}=(?P<secret>[^\"'`\\\n]{8,2048})"),
    (("docker login", "podman login", "sshpass", "az login", "mongo", "helm registry login", "buildah login", "skopeo login", "oras login", "oc login", "ldap", "smbclient", "rabbitmqadmin", "vncpasswd"), r"-(?:p|w|s)(?:=|[ \t]{0,3})(?:" + _QUOTE + r")?(?P<secret>" + _WORD + r")"),
    (("mysql", "mariadb", "7z ", "7za ", "rar "), r"-p(?:" + _QUOTE + r")?(?P<secret>" + _WORD + r")"),
    (("redis-cli",), r"-a[ \t]{1,3}(?:" + _QUOTE + r")?(?P<secret>" + _WORD + r")"),
    (("zip ", "unzip "), r"-P[ \t]{0,3}(?:" + _QUOTE + r")?(?P<secret>" + _WORD + r")"),
    (("htpasswd",), r"-\w{0,4}b\w{0,4}[ \t]{1,3}(?:[^\s]{1,128}[ \t]{1,3}){1,2}(?P<secret>" + _WORD + r")"),
    (("openssl", "keytool"), r"-(?:passin|passout|pass|storepass|keypass)[ \t]{1,3}(?:pass:)?(?:" + _QUOTE + r")?(?!env:|file:|stdin)(?P<secret>" + _WORD + r")"),
)  # fmt: skip
