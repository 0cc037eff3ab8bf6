"""Generated secrets for the tests of scrubbing: provider formats, and assignments as people
write them. Everything is put together at run time from a seeded generator."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
URLSAFE = ALNUM + "-_"
Draw = Callable[[int, str], str]


def drawing(seed: int) -> Draw:
    generator = random.Random(seed)
    return lambda count, alphabet=ALNUM: "".join(generator.choice(alphabet) for _ in range(count))


def uuid(draw: Draw) -> str:
    return "-".join(draw(size, HEX) for size in (8, 4, 4, 4, 12))


def jwt(draw: Draw) -> str:
    parts = (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"' + draw(24, ALNUM).encode() + b'"}')
    head = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
    return head + "." + draw(43, URLSAFE)


# rule of the second tier → builders of tokens it must know; joined so that no file holds one.
SECOND: dict[str, tuple[Callable[[Draw], str], ...]] = {
    "1password": (lambda d: "ops_" + "eyJ" + d(200, ALNUM),),
    "adafruit": (lambda d: "ai" + "o_" + d(28, ALNUM),),
    "airtable": (lambda d: "pa" + "t" + d(14, ALNUM) + "." + d(64, HEX),),
    "alibaba": (lambda d: "LT" + "AI" + d(20, ALNUM),),
    "asana": (lambda d: "2/" + d(16, "123456789") + "/" + d(16, "123456789") + ":" + d(32, HEX),),
    "atlassian": (
        lambda d: "ATA" + "TT3" + d(170, URLSAFE),
        lambda d: "ATC" + "TT3" + d(170, URLSAFE),
    ),
    "bitbucket": (lambda d: "AT" + "BB" + d(32, ALNUM),),
    "aws-bedrock": (lambda d: "ABSKQmVkcm9j" + "a0FQSUtleS" + d(100, ALNUM),),
    "azure-client": (lambda d: d(3, ALNUM) + "8" + "Q~" + d(34, ALNUM),),
    "buildkite": (lambda d: "bk" + "ua_" + d(40, HEX),),
    "brevo": (
        lambda d: "xkey" + "sib-" + d(64, HEX) + "-" + d(16, ALNUM),
        lambda d: "xsmtp" + "sib-" + d(64, HEX) + "-" + d(16, ALNUM),
    ),
    "circleci": (lambda d: "CCI" + "PAT_" + d(22, ALNUM) + "_" + d(40, HEX),),
    "clojars": (lambda d: "CLO" + "JARS_" + d(60, LOWER),),
    "cloudflare": (lambda d: "v1" + ".0-" + d(24, HEX) + "-" + d(146, HEX),),
    "cockroach": (lambda d: "CC" + "DB1_" + d(22, ALNUM) + "_" + d(40, ALNUM),),
    "contentful": (lambda d: "CF" + "PAT-" + d(43, URLSAFE),),
    "crates-io": (lambda d: "ci" + "o" + d(32, ALNUM),),
    "databricks": (lambda d: "da" + "pi" + d(32, HEX),),
    "deno": (lambda d: "dd" + "p_" + d(36, ALNUM),),
    "discord": (
        lambda d: "MT" + d(24, ALNUM) + "." + d(6, ALNUM) + "." + d(38, URLSAFE[:-2]),
        lambda d: "Nz" + d(24, ALNUM) + "." + d(6, ALNUM) + "." + d(27, ALNUM),
    ),
    "discord-webhook": (
        lambda d: "discord.com/api/" + "webhooks/" + d(18, "123456789") + "/" + d(68, ALNUM),
        lambda d: "discordapp.com/api/" + "webhooks/" + d(18, "123456789") + "/" + d(68, ALNUM),
    ),
    "docker-org": (lambda d: "dckr" + "_oat_" + d(32, ALNUM),),
    "doppler": tuple(
        (lambda d, kind=kind: "dp" + f".{kind}." + d(43, ALNUM))
        for kind in ("pt", "st", "ct", "sa", "scim", "audit")
    ),
    "duffel": (lambda d: "duf" + "fel_live_" + d(43, URLSAFE),),
    "dynatrace": (lambda d: "dt0" + "c01." + d(24, UPPER) + "." + d(64, UPPER),),
    "easypost": (lambda d: "EZ" + "AK" + d(54, ALNUM), lambda d: "EZ" + "TK" + d(54, ALNUM)),
    "elevenlabs": (lambda d: "sk" + "_" + d(48, HEX),),
    "facebook": (lambda d: "EA" + "A" + d(120, ALNUM),),
    "figma": (lambda d: "fi" + "gd_" + d(40, URLSAFE),),
    "fireworks": (lambda d: "f" + "w_" + d(24, ALNUM),),
    "flutterwave": (lambda d: "FLW" + "SECK-" + d(32, HEX) + "-X",),
    "fly": (lambda d: "fm" + "2_" + d(200, ALNUM), lambda d: "fo" + "1_" + d(43, URLSAFE)),
    "frameio": (lambda d: "fi" + "o-u-" + d(64, URLSAFE),),
    "gitlab": tuple(
        (lambda d, head=head, size=size: head[:3] + head[3:] + d(size, URLSAFE))
        for head, size in (
            ("glsoat" + "-", 20), ("glagent" + "-", 50), ("glimt" + "-", 25),
            ("gloas" + "-", 64), ("glft" + "-", 20), ("GR134" + "8941", 20),
        )
    ),
    "grafana": (lambda d: "gl" + "c_" + d(80, ALNUM),),
    "hashicorp": (lambda d: d(14, ALNUM) + ".atl" + "asv1." + d(67, ALNUM),),
    "heroku": (lambda d: "HR" + "KU-" + d(60, URLSAFE),),
    "hubspot": (lambda d: "pa" + "t-na1-" + uuid(d),),
    "hugging-face": (lambda d: "api" + "_org_" + d(34, ALNUM),),
    "infracost": (lambda d: "ic" + "o-" + d(32, ALNUM),),
    "jfrog": (lambda d: "AK" + "Cp" + d(69, ALNUM), lambda d: "cmVm" + "dGtu" + d(56, ALNUM)),
    "langsmith": (lambda d: "ls" + "v2_pt_" + d(32, HEX) + "_" + d(10, HEX),),
    "mailchimp": (lambda d: d(32, HEX) + "-us" + d(2, "12"),),
    "mailgun": (lambda d: "ke" + "y-" + d(32, HEX),),
    "netlify": (lambda d: "nf" + "p_" + d(36, ALNUM),),
    "newrelic": (lambda d: "NR" + "AK-" + d(27, UPPER), lambda d: "NR" + "II-" + d(32, URLSAFE)),
    "notion": (lambda d: "nt" + "n_" + d(46, ALNUM), lambda d: "secr" + "et_" + d(43, ALNUM)),
    "nvidia": (lambda d: "nva" + "pi-" + d(64, URLSAFE),),
    "openshift": (lambda d: "sha" + "256~" + d(43, ALNUM),),
    "pinecone": (lambda d: "pc" + "sk_" + d(6, ALNUM) + "_" + d(60, ALNUM),),
    "planetscale": (lambda d: "psc" + "ale_tkn_" + d(43, URLSAFE),),
    "plaid": (lambda d: "acc" + "ess-production-" + uuid(d),),
    "posthog": (lambda d: "ph" + "x_" + d(43, ALNUM),),
    "postman": (lambda d: "PM" + "AK-" + d(24, HEX) + "-" + d(34, HEX),),
    "prefect": (lambda d: "pn" + "u_" + d(36, ALNUM),),
    "pulumi": (lambda d: "pu" + "l-" + d(40, HEX),),
    "readme": (lambda d: "rd" + "me_" + d(70, LOWER),),
    "resend": (lambda d: "r" + "e_" + d(8, ALNUM) + "_" + d(24, ALNUM),),
    "sentry": (
        lambda d: "sntr" + "ys_eyJ" + d(120, ALNUM),
        lambda d: "sntr" + "yu_" + d(64, HEX),
    ),
    "shippo": (lambda d: "ship" + "po_live_" + d(40, HEX),),
    "shopify": (lambda d: "shp" + "ca_" + d(32, HEX), lambda d: "shp" + "pa_" + d(32, HEX)),
    "sonar": tuple((lambda d, kind=kind: f"sq{kind}" + "_" + d(40, HEX)) for kind in "upa"),
    "sourcegraph": (lambda d: "sg" + "p_" + d(40, HEX),),
    "square": (
        lambda d: "sq0" + "csp-" + d(43, URLSAFE),
        lambda d: "EA" + "AA" + d(60, ALNUM),
    ),
    "stripe": (lambda d: "rk" + "_live_" + d(24, ALNUM),),
    "supabase": (lambda d: "sb_" + "secret_" + d(31, URLSAFE),),
    "tavily": (lambda d: "tv" + "ly-" + d(32, ALNUM),),
    "telegram": (lambda d: d(10, "123456789") + ":A" + "A" + d(33, URLSAFE),),
    "twilio": (lambda d: "S" + "K" + d(32, HEX),),
    "typeform": (lambda d: "tf" + "p_" + d(59, ALNUM),),
    "yandex": (lambda d: "y" + "0_" + d(55, ALNUM), lambda d: "AQ" + "VN" + d(35, ALNUM)),
}  # fmt: skip

# Formats of the first tier, for the goal that holds for both together.
FIRST: dict[str, Callable[[Draw], str]] = {
    "aws-key": lambda d: "AK" + "IA" + d(16, UPPER),
    "github": lambda d: "gh" + "p_" + d(36, ALNUM),
    "github fine": lambda d: "github" + "_pat_" + d(22, ALNUM) + "_" + d(59, ALNUM),
    "gitlab": lambda d: "gl" + "pat-" + d(20, URLSAFE),
    "anthropic": lambda d: "sk" + "-ant-api03-" + d(93, URLSAFE) + "AA",
    "openai": lambda d: "sk" + "-proj-" + d(74, URLSAFE) + "T3" + d(74, URLSAFE),
    "openai old": lambda d: "sk" + "-" + d(48, ALNUM),
    "slack": lambda d: "xo" + "xb-" + d(12, string.digits) + "-" + d(24, ALNUM),
    "google": lambda d: "AI" + "za" + d(35, URLSAFE),
    "google client": lambda d: "GOC" + "SPX-" + d(28, URLSAFE),
    "stripe": lambda d: "sk" + "_live_" + d(24, ALNUM),
    "npm": lambda d: "np" + "m_" + d(36, ALNUM),
    "pypi": lambda d: "py" + "pi-AgEIcHlwaS5vcmc" + d(120, URLSAFE),
    "hugging-face": lambda d: "h" + "f_" + d(34, string.ascii_letters),
    "sendgrid": lambda d: "S" + "G." + d(22, URLSAFE) + "." + d(43, URLSAFE),
    "digitalocean": lambda d: "do" + "p_v1_" + d(64, HEX),
    "vault": lambda d: "hv" + "s." + d(90, URLSAFE),
    "docker": lambda d: "dckr" + "_pat_" + d(27, URLSAFE),
    "jwt": jwt,
}

CONTEXTS: dict[str, str] = {
    "env": "# settings\nSERVICE_CREDENTIAL_VALUE={}\nDEBUG=1\n",
    "json": '{{"endpoint": "https://api.test/v1", "value": "{}"}}',
    "yaml": "service:\n  credential: {}\n  retries: 3\n",
    "curl": "curl -sS -H 'X-Auth: {}' https://api.test/v1/items | head",
    "log": "2026-01-02T03:04:05Z INFO client started with {} in 12 ms",
    "url": "GET https://api.test/v1/items?credential={}&page=2 HTTP/1.1",
    "code": 'client = Client("{}", timeout=30)  # not for production',
    "table": "| service | {} | active |",
}


def password(draw: Draw) -> str:
    """Random, with a digit, a letter, and now and then a sign."""
    signs = draw(int(draw(1, "012")), "!@%^*_+-~?")
    return (
        draw(1, string.ascii_letters)
        + draw(8, ALNUM)
        + draw(1, string.digits)
        + signs
        + draw(2, ALNUM)
    )


def human(draw: Draw) -> str:
    """What people choose: a word, a number, a sign."""
    word = random.Random(draw(6, ALNUM)).choice(
        [
            "Sunset",
            "Dragonfly",
            "monkeys",
            "Summer",
            "winter",
            "Liverpool",
            "kaffee",
            "rotkohl",
            "tiger",
            "Bluebird",
        ]
    )
    return word + draw(4, "23456789") + draw(1, "!#%*?")


def key(draw: Draw) -> str:
    return draw(40, ALNUM)


def hexadecimal(draw: Draw) -> str:
    return draw(32, HEX)


def base(draw: Draw) -> str:
    return base64.b64encode(draw(32, ALNUM).encode()).decode()


def basic(draw: Draw) -> str:
    return base64.b64encode(f"deploy:{password(draw)}".encode()).decode()


# template, who makes the value
ASSIGNMENTS: tuple[tuple[str, Callable[[Draw], str]], ...] = (
    ("DB_PASSWORD={}\n", password),
    ("DB_PASSWORD={}\n", human),
    ("export POSTGRES_PASSWORD='{}'\n", password),
    ('MYSQL_ROOT_PASSWORD="{}"\n', human),
    ("PGPASSWORD={} psql -h db -U app\n", password),
    ("SECRET_KEY={}\n", key),
    ("API_KEY={}\n", hexadecimal),
    ("AWS_SECRET_ACCESS_KEY={}\n", key),
    ("JWT_SECRET={}\n", base),
    ("SESSION_TOKEN: {}\n", key),
    ("password: {}\n", password),
    ("  db_password: {}\n", human),
    ('  password: "{}"\n', human),
    ("  clientSecret: {}\n", key),
    ("spring.datasource.password={}\n", password),
    ("- name: DB_PASSWORD\n  value: {}\n", password),
    ('{{"name": "API_TOKEN", "value": "{}"}}', key),
    ('{{"password": "{}"}}', human),
    ('{{"api_key": "{}", "n": 1}}', hexadecimal),
    ('{{"apiKey":"{}"}}', key),
    ('{{\\"client_secret\\": \\"{}\\"}}', key),
    ('password = "{}"\n', password),
    ("const dbPassword = '{}';\n", human),
    ('const token: string = "{}";\n', key),
    ('config["api_key"] = "{}"\n', hexadecimal),
    ('api_key: str = "{}"\n', key),
    ("auth(user='x', password='{}')\n", password),
    ("postgres://app:{}@db.internal:5432/app", password),
    ("Server=db;User Id=sa;Password={};Encrypt=true", password),
    ("AccountName=x;AccountKey={};EndpointSuffix=core", base),
    ("app:{}@tcp(db:3306)/app", key),
    ("jdbc:oracle:thin:app/{}@db:1521:xe", key),
    ("curl -s -u admin:{} https://ci.test/api", password),
    ("curl --user 'admin:{}' https://ci.test/api", human),
    ("mysql -h db -u root -p{} app", password),
    ("sshpass -p '{}' ssh app@db", human),
    ("docker login -u app -p {} registry.test", password),
    ("tool --password {} --verbose", password),
    ("tool --password='{}' --verbose", human),
    ("tool --api-key={} run", hexadecimal),
    ("tool --token {} run", key),
    ("redis-cli -h cache -a {} ping", password),
    ("Authorization: Basic {}\n", basic),
    ("Authorization: Bearer {}\n", key),
    ("X-Api-Key: {}\n", hexadecimal),
    ("Cookie: theme=dark; session={}\n", key),
    ('{{"auths": {{"registry.test": {{"auth": "{}"}}}}}}', basic),
    ("//packages.example.test/:_authToken={}\n", key),
    ("machine api.test login app password {}\n", password),
    ("CREATE USER app WITH PASSWORD '{}';", human),
    ("ALTER USER x IDENTIFIED BY '{}';", password),
    ("<password>{}</password>", password),
    ('<add key="DbPassword" value="{}" />', human),
    ("https://api.test/cb?access_token={}&state=1", key),
    ("https://s.test/x?sv=2022&sig={}&se=1", hexadecimal),
    ("the staging password is {}", password),
    ("ENV GITHUB_TOKEN {}\n", key),
    ("| password | {} |", password),
    ('$env:CLIENT_SECRET = "{}"', key),
    ("PrivateKey = {}\n", base),
    # written after the rules, by somebody who looked for other ways to say it
    ('[db]\nhost = "x"\npassword = "{}"\n', human),("db.password = {}\n", password),('password := "{}"\n', password),("define('DB_PASSWORD', '{}');", password),
    ('variable "x" {{ default = "y" }}\nadmin_password = "{}"', password),("data:\n  password: {}\n", base),("    environment:\n      - DB_PASS={}\n", password),("      POSTGRES_PASSWORD: {}\n", human),
    ('conn.setPassword("{}");', password),('os.environ["X_TOKEN"] = "{}"', key),("docker run -e POSTGRES_PASSWORD={} postgres", password),('Environment="APP_SECRET={}"', key),
    ("connecting with user=app password={}, host=db", password),("token '{}' is invalid", key),("invalid api key: {}", key),('$password = "{}";', human),('password => "{}",', password),(":secret => '{}'", key),
    ('let api_key = String::from("{}");', key),('headers = {{"Authorization": "token {}"}}', key),('headers={{"X-Auth-Token": "{}"}}', key),("requests.get(u, auth=('app', '{}'))", password),
    ('psql "host=db user=app password={}"', password),("mongodb+srv://app:{}@cluster0.test/db", password),("redis://:{}@cache:6379/0", password),("amqp://u:{}@mq/v", password),("https://x-access-token:{}@github.test/o/r.git", key),
    ('echo "{}" | docker login --password-stdin', key),("aws configure set aws_secret_access_key {}", key),("heroku config:set STRIPE_SECRET={}", key),('gh secret set API_TOKEN --body "{}"', key),
    ("kubectl create secret generic x --from-literal=password={}", password),("vault kv put secret/x password={}", password),('curl -H "Authorization: ApiKey {}" u', key),('curl -d "username=a&password={}" u', password),
    ('curl -d \'{{"user":"a","password":"{}"}}\' u', human),('curl "https://a.test?api_key={}"', hexadecimal),("Password: {}", password),("Passwort: {}", human),("the api key is {}", key),("my password is: {}", human),("use token {} for this", key),
    ("<connectionString>Data Source=x;Password={}</connectionString>", password),('<property name="password" value="{}"/>', password),("<secret>{}</secret>", key),("secret_key_base: {}",hexadecimal),('encryption_key = "{}"', hexadecimal),
    ('"refreshToken": "{}"', key),("'access_token': '{}'", key),('"secretAccessKey" : "{}"', key),('SECRET_KEY = "{}"', key),("SECRET_KEY = 'django-insecure-{}'", key),("set -x GITHUB_TOKEN {}", key),('setx API_KEY "{}"', key),
    ("net use \\\\srv\\x /user:app {}", password),("ftp://u:{}@host/", password),("smbclient //s/x -U app%{}", password),("ansible_ssh_pass: {}", password),("ansible_password={}", password),("rootpw {}", password),('PASSWORD: "{}"', human),("pwd={};", password),('"pass": "{}"', password),
    ("DATABASE_URL=postgres://u:{}@h/d", password),("Set-Cookie: sid={}; Path=/; HttpOnly", key),('-H "Cookie: sessionid={}"', key),("OPENAI_KEY={}", key),("DATADOG_APP_KEY={}", hexadecimal),("STRIPE_KEY: {}", key),("credentials: {}", key),("SMTP_PASS={}", password),
    ("Authorization: SSWS {}", key),("Authorization: GenieKey {}", uuid),("STRIPE_KEY={}\n", hexadecimal),("APP_SALT={}\n", key),("password:\n  {}\n", password),
    ("DB_PASSWORD=%{}\n", password),('password: "*{}"\n', password),("Authorization: Splunk {}\n", uuid),
)  # fmt: skip
