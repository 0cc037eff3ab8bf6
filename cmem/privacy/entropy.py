"""Whether a value that stands where a secret would stand is one.

Random text differs from words by its spread of characters; what people write in place of a
secret (``changeme``, ``<your-key>``, ``${TOKEN}``) and what only looks random (UUIDs, versions,
paths, digests that name their algorithm) is known by its form.
"""

from __future__ import annotations

import math
import re

SPREAD = 3.0
LONG = 20

_DIGIT = re.compile(r"[0-9]")
_CLASSES = (_DIGIT, re.compile(r"[a-z]"), re.compile(r"[A-Z]"), re.compile(r"[^A-Za-z0-9]"))

# Written where a secret will be: compared without case and without what joins the words.
_STANDING_IN = frozenset(
    ["abc", "abc123", "admin", "any", "apikey", "auth", "bar", "baz", "bearer", "blah", "bool", "boolean", "bytes", "changeit", "changeme", "changethis", "char", "credentials", "default", "dummy", "empty", "enabled", "disabled", "fake", "false", "file", "foo", "foobar", "guest", "hidden", "hunter", "int", "integer", "invalid", "key", "login", "mypassword", "mysecret", "mytoken", "na", "name", "nan", "nil", "no", "none", "notset", "null", "number", "object", "off", "on", "optional", "pass", "passphrase", "passwd", "password", "prompt", "pw", "pwd", "qux", "redacted", "required", "root", "sample", "secret", "secretkey", "secretstr", "spam", "str", "string", "tbd", "temp", "test", "testing", "text", "todo", "token", "true", "undefined", "unknown", "unset", "user", "username", "value", "varchar", "void", "wrong", "yes"]
)  # fmt: skip
_STAND_IN = re.compile(
    r"(?i)changeme|change[-_ ]me|change[-_ ]?this|your[-_ ]|^your|[-_]here$|placeholder|example|redacted"
    r"|insert[-_ ]|replace[-_ ]?(?:me|with)|dummy|not[-_ ]?(?:set|real|a)[-_ ]|x{4}|\*{3}|\.{3}|…|•|<[a-z]"
    r"|\$\{|\$\(|\{\{|%\(|%\{|#\{|\{[a-z_]\w{0,40}\}|process\.env|os\.environ|getenv|ENV\["
)
_OPENS = ("$", "<", "[", "{", "(", "@{", "…", "=", "|", ">", "`")
# What a password may begin with as well as a pointer, a tag, an alias, a variable of a shell or
# what a format puts a value for: those go on with a name.
_SIGNS = "%!&*"
_FORMAT = re.compile(r"(?:%[-+0-9.#]{0,6}[A-Za-z%]|[^A-Za-z0-9%]|[TZ])+")
_HARMLESS = re.compile(
    r"(?:[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"  # UUID
    r"|(?:sha(?:1|224|256|384|512)|md5|h1)[:-][A-Za-z0-9+/=]{16,128}"  # digest with its name
    r"|v?\d{1,5}(?:\.\d{1,6}){1,4}(?:[-+.][A-Za-z0-9.+-]{1,32})?"  # version, address
    r"|[a-z][a-z0-9+.-]{1,16}://[^\s@]{0,512}"  # URL without a password
    r"|(?:~|\.{1,2})?/[\w.@%+ /-]{0,300}(?<![=])|[A-Za-z]:\\[^\n]{0,200}|\w{1,64}(?:/[\w-]{1,64}){1,8}\.\w{1,8}"  # path
    r"|[A-Za-z_]\w{0,64}(?:(?:\.|->|::)[A-Za-z_]\w{0,64}){1,8}(?:\(\)?|\[)?"  # dotted identifiers
    r"|\d{4}-\d\d-\d\d(?:[T ][\d:.+Z-]{2,24})?)"
)
_DIGEST = re.compile(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}")
_WORDS = re.compile(r"[A-Za-z]{1,40}(?:[ _.:/-]{1,2}[A-Za-z]{1,40}){0,12}\d{0,2}")
_PHRASE = re.compile(r"[A-Za-z]{1,40}(?:[_.:/-][A-Za-z]{1,40}){1,12}")
# A number inside a name: sha256_digest, utf8Name, step2.
_NAME = re.compile(r"[A-Za-z_]{2,40}(?:\d{1,4}(?:_[A-Za-z_]{1,40}){0,4})?")
_RUN = re.compile(r"[0-9]+|[a-z]+|[A-Z]+|[^A-Za-z0-9]+")


def bits(text: str) -> float:
    """Shannon's entropy of the characters, in bits for each; 0 for the empty text."""
    size = len(text)
    counts = (text.count(char) for char in set(text))
    return -sum(count / size * math.log2(count / size) for count in counts)


def classes(text: str) -> int:
    """How many of digits, small letters, capitals and other characters occur."""
    return sum(one.search(text) is not None for one in _CLASSES)


def has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


def is_placeholder(value: str) -> bool:
    """Whether the value stands for a secret without being one."""
    if value.startswith(_OPENS) or len(set(value)) < 3 or _STAND_IN.search(value):
        return True
    if value[0] in _SIGNS:
        rest = value.strip(_SIGNS)
        if not rest or is_name(rest) or is_harmless(rest) or _FORMAT.fullmatch(value):
            return True
    bare = re.sub(r"[^a-z0-9]", "", value.lower())
    return bare in _STANDING_IN or bare.rstrip("0123456789") in _STANDING_IN


def is_harmless(value: str) -> bool:
    """Whether the form says what the value is: an id, a version, a path, a name in code."""
    return _HARMLESS.fullmatch(value) is not None


def is_name(value: str) -> bool:
    """Whether the value reads as a name or as words, as code and prose have them."""
    return (_WORDS.fullmatch(value) or _NAME.fullmatch(value)) is not None


def is_commit(value: str) -> bool:
    """Whether the value may name a commit or a public key."""
    return len(value) == 40 and _DIGEST.fullmatch(value) is not None


def is_phrase(value: str) -> bool:
    """Whether the value is letters in words, whatever joins them."""
    return " " in value or _PHRASE.fullmatch(value) is not None


def is_written(value: str) -> bool:
    """Whether somebody could have written this where a password is given: not for code,
    where any word may stand."""
    return len(value) >= 4 and not is_placeholder(value) and not is_harmless(value)


def is_random(value: str) -> bool:
    """Whether a quoted value is one by its spread of characters."""
    if len(value) < 8 or is_placeholder(value) or is_harmless(value) or is_name(value):
        return False
    if any(char.isspace() for char in value):
        return False
    return bits(value) >= SPREAD and classes(value) >= 2


def is_random_word(value: str) -> bool:
    """Whether a bare word in text or code is one: a digit too, and more than a name."""
    return is_random(value) and has_digit(value)


def is_key(value: str) -> bool:
    """Whether a value is a key although its name says little: long, of three classes, and
    no digest, which is what keys of caches and commits are."""
    if len(value) < LONG or _DIGEST.fullmatch(value) or not is_random_word(value):
        return False
    return classes(value) >= 3 and bits(value) >= 3.5 and _turns(value) >= 0.4 * len(value)


def _turns(value: str) -> int:
    """How often one sort of characters follows another: seldom in names, whatever their case."""
    return len(_RUN.findall(value)) - 1
