"""The second tier rule by rule: what matches, what does not, and what the event as a whole tells."""

from __future__ import annotations

import json

import pytest
import secret_forms
from hypothesis import given
from hypothesis import strategies as st

from cmem.hosts import values
from cmem.privacy import second, second_rules
from cmem.store import cleaning

DRAW = secret_forms.drawing(7)


@pytest.mark.parametrize("name", secret_forms.SECOND)
def test_format_goes_under_its_name(name: str) -> None:
    for build in secret_forms.SECOND[name]:
        secret = build(DRAW)
        mark = f"use [REDACTED:{name}] here"
        assert second.scrub(f"use {secret} here") == mark
        assert second.scrub(mark) == mark


@pytest.mark.parametrize("name", secret_forms.SECOND)
def test_format_cut_short_stays(name: str) -> None:
    for build in secret_forms.SECOND[name]:
        secret = build(DRAW)
        near = f"use {secret[: len(secret) // 4]} here"
        assert second.scrub(near) == near


def test_every_format_has_an_example() -> None:
    settings = {"telegram", "mailchimp", "hashicorp", "azure-client"}
    assert {rule[0] for rule in second_rules.FORMATS} | settings == set(secret_forms.SECOND)


NEAR = [
    "max_tokens=4096 and num_tokens: 128000, tokens=1a2b3c4d5e6f7g8h",
    "PASSWORD=changeme",
    "password: ${DB_PASSWORD}",
    "password = {{ vault_password }}",
    "API_KEY=<your-key>",
    "api_key: 'xxxxxxxxxxxx'",
    "SECRET_KEY=your-secret-key-here",
    'apiKey: process.env.API_KEY, token: os.environ["TOKEN"]',
    "secret_id=8f14e45fceea167a5a36dedd4bea2543",
    "TOKEN_URL=https://auth.example.org/oauth2/v2.0/token",
    "PASSWORD_FILE=/run/secrets/db_password1",
    "token: 123e4567-e89b-12d3-a456-426614174000",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "key: 3f786850e387550fdab836ed7e6dc881de23001b",
    '"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7k=="',
    "image@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "password = getpass.getpass()",
    "self.password = password",
    "def login(user: str, password: str = None) -> Token:",
    "token = self.tokens[index1]",
    "if token == 'STRING2' or key != 'value1':",
    "key = 'section.option.name2'",
    "public_key = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A'",
    "cache_key: user_profile_v2_1234",
    "the password is required, the token is invalid",
    "docker run -u 1000:1000 -p 8080:80 web",
    "mkdir -p src/module1 && python -m http.server -p 8000",
    "--password-stdin --token-file=/run/t1 --no-password",
    "cmem search --password PASSWORD --token TOKEN",
    "basic usage, Basic auth is off",
    "Cookie: theme=dark; lang=en",
    "author: Jane Doe <jane@example.org>, authors=3",
    "secret: example_secret_123",
    "token_type=bearer; expires_in=3600",
    "password_reset_path: /reset/v2",
    "PWD=/home/user/project1",
    "keyboard=querty1234567890, monkey: 12",
    "version: 1.2.3-beta.4+5114f85",
    "Authorization: see RFC7235, or required since v2.3.4; Authorization: Bearer authenticationToken",
    "headers = {'Authorization': 'SSWS ' + token1, 'authorization': `Key ${apiKey2}`}",
    "password:\n  type: string2\n  minLength: 8\ntoken:\n  required1: yes",
    "if password:\n    connect2()\nelse token:\n    x12345y",
    "password = '%s:%s' and password = '%Y%m%dT%H' or PASSWORD=%PASSWORD1%",
    "password: *default_password\npassword: !vault\npassword: &anchor_name",
    "GPG_KEY=7169605F62C751356D054A26A821E680E5FA6305 S3_KEY=backups/2024/01/dump CACHE_KEY=user_2024_profile9",
    "SALT_LENGTH=16, salt = os.urandom(16), basalt: 12345678a",
]


@pytest.mark.parametrize("text", NEAR)
def test_near_misses_stay(text: str) -> None:
    assert second.scrub(text) == text
    document = {"content": text}
    assert json.loads(values.document(document)) == document


KEY = secret_forms.key(DRAW)
UUID = secret_forms.uuid(DRAW)
WORD = "kq" + "7Dragon" + "fly"
CREDENTIALS = {
    "SSWS": KEY, "GenieKey": UUID, "Negotiate": "YII" + KEY + "==", "Splunk": UUID, "Key": KEY[:8] + ":" + KEY[8:20] + "1",
    "Api-Key": UUID, "DeepL-Auth-Key": UUID + ":fx", "Zoho-oauthtoken": "1000." + KEY[:8] + "1", "Hawk": 'id="a1", mac="' + KEY + '"',
    "Digest": 'username="u", realm="r", response="' + KEY + '"', "OAuth": f'oauth_nonce="{KEY}",oauth_signature="a%2B"',
    "AWS4-HMAC-SHA256": f"Credential=a/b/c, SignedHeaders=host, Signature={KEY}", "Snowflake": f'Token="{KEY}"',
}  # fmt: skip
GIVEN = {
    f"STRIPE_KEY={KEY[:15]}7": "STRIPE_KEY=[REDACTED:key]",
    f"export STRIPE_KEY='{secret_forms.hexadecimal(DRAW)}'": "export STRIPE_KEY='[REDACTED:key]'",
    f"  STRIPE_KEY: {KEY[:15]}7": "  STRIPE_KEY: [REDACTED:key]",
    f"SALT={WORD}": "SALT=[REDACTED:secret]",
    f'salt = "{WORD}"': 'salt = "[REDACTED:secret]"',
    f"password:\n  {WORD}\n": "password:\n  [REDACTED:password]\n",
    f"New password:\r\n{WORD}\r\nok": "New password:\r\n[REDACTED:password]\r\nok",
    f"- password: |-\n    {WORD}\n": "- password: |-\n    [REDACTED:password]\n",
    f"api_token:\n  '{KEY}'": "api_token:\n  '[REDACTED:token]'",
    f"> password:\n> {WORD}": "> password:\n> [REDACTED:password]",
    **{f"DB_PASSWORD={sign}{WORD}": "DB_PASSWORD=[REDACTED:password]" for sign in "%*"},
    **{f'password = "{sign}{WORD}"': 'password = "[REDACTED:password]"' for sign in "%*!&"},
    f"Authorization: PVEAPIToken=root@pam!x={UUID}": "Authorization: [REDACTED:authorization]",
}


@pytest.mark.parametrize("text", GIVEN)
def test_value_goes_however_it_is_given(text: str) -> None:
    assert second.scrub(text) == GIVEN[text]
    assert second.scrub(GIVEN[text]) == GIVEN[text]


@pytest.mark.parametrize("scheme", CREDENTIALS)
def test_credential_of_any_scheme_goes(scheme: str) -> None:
    for before, after in (
        ("Authorization: ", ""),
        ("curl -H 'Proxy-authorization:  ", "' u"),
        ("{'Authorization': '", "'}"),
        ('x.setRequestHeader("Authorization", `', "`)"),
        ('"{\\"Authorization\\": \\"', '\\"}"'),
    ):
        given_ = CREDENTIALS[scheme]
        if '"' in after:
            given_ = given_.replace('"', '\\\\"')
        text = f"{before}{scheme} {given_}{after}"
        assert second.scrub(text) == f"{before}{scheme} [REDACTED:authorization]{after}"


def test_a_value_under_a_telling_key_goes() -> None:
    word = "Dragon" + "fly7"
    given_ = {
        "password": word,
        "nested": [{"clientSecret": DRAW(24, secret_forms.ALNUM)}],
        "auth": secret_forms.basic(DRAW),
        "env": [{"name": "DB_PASSWORD", "value": word}, {"name": "MODE", "value": word}],
        "max_tokens": "4096tokens",
        "token": "IDENTIFIER",
        "password_hint": "the usual one2",
    }
    assert json.loads(values.document(given_)) == {
        "password": "[REDACTED:password]",
        "nested": [{"clientSecret": "[REDACTED:secret]"}],
        "auth": "[REDACTED:auth]",
        "env": [
            {"name": "DB_PASSWORD", "value": "[REDACTED:password]"},
            {"name": "MODE", "value": word},
        ],
        "max_tokens": "4096tokens",
        "token": "IDENTIFIER",
        "password_hint": "the usual one2",
    }
    assert second.scrub_document(given_) == json.loads(values.document(given_))


def test_what_an_event_gives_away_goes_from_all_of_it() -> None:
    secret = secret_forms.password(DRAW)
    payload = {
        "tool_input": {"command": f"export DB_PASSWORD={secret}; ./migrate"},
        "tool_response": {"stdout": f"connecting as app with {secret} ... ok"},
    }
    clean = json.loads(values.without_known(json.dumps(payload).encode()))
    assert clean == {
        "tool_input": {"command": "export DB_PASSWORD=[REDACTED:known-value]; ./migrate"},
        "tool_response": {"stdout": "connecting as app with [REDACTED:known-value] ... ok"},
    }
    word = {"a": "POSTGRES_PASSWORD=postgres", "b": "a postgres database"}
    for raw in (json.dumps(word).encode(), b"{", b"password", b'{"password": 1}'):
        assert values.without_known(raw) is raw


def test_what_an_observer_says_is_scrubbed_in_full() -> None:
    secret = secret_forms.password(DRAW)
    assert cleaning.line(f"set PASSWORD={secret}\nnow") == "set PASSWORD=[REDACTED:password] now"
    assert cleaning.paragraphs(f'a\npassword = "{secret}"') == 'a\npassword = "[REDACTED:password]"'


def test_findings_name_rule_and_line() -> None:
    body = "\n".join(DRAW(64, secret_forms.ALNUM) for _ in range(3))
    mark = "-----"
    pem = f"{mark}BEGIN PRIVATE KEY{mark}\n{body}\n{mark}END PRIVATE KEY{mark}"
    token = secret_forms.FIRST["github"](DRAW)
    text = (
        f"[REDACTED:jwt]\nA_TOKEN={token}\n{pem}\nPASSWORD={secret_forms.password(DRAW)}\n{token}\n"
    )
    clean, found = second.findings(text)
    assert clean == (
        "[REDACTED:jwt]\nA_TOKEN=[REDACTED:github]\n[REDACTED:private-key]\n"
        "PASSWORD=[REDACTED:password]\n[REDACTED:github]\n"
    )
    assert [tuple(one) for one in found] == [
        ("github", 2),
        ("private-key", 3),
        ("password", 8),
        ("github", 9),
    ]


PIECES = st.sampled_from(
    ["password", "PASSWORD", "token", "api_key", "key", "auth", "=", ": ", '"', '\\"', "'", "(", ",",
     " is ", "\n", "value", "--", "a1B2c3D4e5F6g7H8i9J0", "hunter2!", "[REDACTED:x]", "]", "[REDACTED:",
     "curl -u ", "a:b1c2d3", "mysql -p", "cookie: ", "İ", "\ud800", "<", ">", "|", "${", "@tcp(", " "]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=4), max_size=24).map("".join))
def test_any_text_is_scrubbed_once_and_for_all(text: str) -> None:
    clean = second.scrub(text)
    assert second.scrub(clean) == clean
    assert second.findings(text)[0] == clean
