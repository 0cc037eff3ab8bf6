"""What a name says about the value beside it: a password, a secret, a token, or nothing.

A name is judged by its words, ``dbPassword``, ``DB_PASSWORD`` and ``db-password`` alike. The
last one decides: ``max_tokens``, ``token_type`` and ``password_file`` name no secret.
"""

from __future__ import annotations

import functools
import re

# One of these is in every name that is looked at, in lower case.
LITERALS = (
    "pass", "pwd", "secret", "token", "key", "auth", "credential", "signature", "sig=", "_pw", "pw=",
    "salt", "pepper",
)  # fmt: skip

PASSWORD, SECRET, TOKEN, AUTH, KEY, SIGNATURE = (
    "password", "secret", "token", "auth", "key", "signature",
)  # fmt: skip

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Words after the telling one that change nothing: API_KEY_PROD, passwordValue, token2.
_AFTER = frozenset(
    [
        "value",
        "val",
        "plain",
        "plaintext",
        "raw",
        "current",
        "old",
        "new",
        "prod",
        "production",
        "dev",
        "development",
        "staging",
        "live",
        "test",
        "testing",
        "primary",
        "secondary",
        "default",
        "base",
        "b",
        "encoded",
        "str",
        "string",
        "text",
        "main",
        "local",
    ]
)
_PASSWORDS = frozenset(
    [
        "password",
        "passwd",
        "passwort",
        "pwd",
        "pass",
        "passphrase",
        "passcode",
        "pw",
        "psw",
        "userpass",
        "rootpw",
        "adminpw",
        "userpw",
        "dbpw",
    ]
)
_SECRETS = frozenset(["secret", "secrets", "credential", "credentials", "salt", "pepper"])
_KEYS = (
    "apikey", "secretkey", "accesskey", "privatekey", "encryptionkey", "signingkey", "masterkey",
    "authkey", "accountkey", "sharedkey", "appkey", "servicekey", "licensekey", "functionskey",
    "functionkey", "jwtkey", "sessionkey", "storagekey", "hmackey", "subscriptionkey", "adminkey",
    "applicationkey", "presharedkey", "webhookkey", "deploykey", "serverkey", "clientkey",
)  # fmt: skip
_PUBLIC = frozenset(["public", "pub", "foreign", "primary", "sort", "partition", "cache"])


@functools.lru_cache(maxsize=2048)
def kind(name: str) -> str:
    """PASSWORD, SECRET, TOKEN, AUTH, KEY or SIGNATURE; "" for a name that tells nothing."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    while len(parts) > 1 and (parts[-1] in _AFTER or parts[-1].isdigit()):
        parts.pop()
    if not parts or not _PUBLIC.isdisjoint(parts):
        return ""
    last = parts[-1]
    if last in _PASSWORDS or last.endswith(("password", "passwd", "passphrase")):
        return "" if name in ("PWD", "OLDPWD") else PASSWORD
    if last in _SECRETS or last.endswith("secret") or "".join(parts).endswith(_KEYS):
        return SECRET
    if last.endswith("token"):
        return TOKEN
    return {"auth": AUTH, "key": KEY, "sig": SIGNATURE, "signature": SIGNATURE}.get(last, "")
