from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmem.context import links

REMOVED = links.REMOVED
SPELLINGS = {
    "redacted password": (
        "http://user:[REDACTED:url-password]@h.example/p?secret=1#f",
        "http://h.example/p",
    ),
    "one slash": ("https:/u:p@e/?q", "https:/e/"),
    "no slash": ("http:u:p@e?q", "http:e"),
    "backslashes": ("http:\\\\u:p@e\\p?q", "http:\\\\e\\p"),
    "mixed slashes": ("ws:/\\/u:p@e#q", "ws:/\\/e"),
    "slashes escaped": ("https:\\/\\/u:p@e.example\\/p?q=1", "https:\\/\\/e.example\\/p"),
    "no scheme": ("see //u:p@e/?q", "see //e/"),
    "no scheme, backslashes": ("\\\\e.example/p?q", "\\\\e.example/p"),
    "in an attribute": ("src=//e/?q", "src=//e/"),
    "bare": ("www.e/?q and WWW.E#f", "www.e/ and WWW.E"),
    "capitals": ("HTTPS://U:P@E/?Q", "HTTPS://E/"),
    "another scheme": (
        "postgres://u:p@h/db?x=1 git+ssh://u@h/r#x",
        "postgres://h/db git+ssh://h/r",
    ),
    "behind a word": ("seen.http:e?q=1 -https:e#x", "seen.http:e -https:e"),
    "brackets inside": ("http://e/a(b)[c]{d}|e^f'g?q=(secret)", "http://e/a(b)[c]{d}|e^f'g"),
    "bracket before the query": ("(http://e/)?q=secret", "(http://e/)"),
    "at sign in a password": ("http://u:p@ss@e/", "http://e/"),
    "another inside": ("http://a/http://u:p@b/?q", "http://a/http://b/"),
    "behind a full-width mark": ("http://a/?q，http://u:p@b/", "http://a/"),
    "no host left": ("https://u:p@/v:q@e/x", "https:///e/x"),
    "backslash in a password": ("http:u:p\\w@\\e/x", "http:e/x"),
    "link for a host": (
        "http://http:/u:p@e/ www.u:p@javascript:x",
        "http://http:/e/ www.[link removed]",
    ),
    "user behind the query": ("http:e?q，u:p@h", "http:e"),
    "mail": ("mailto:a@b.example?body=x", "mailto:a@b.example"),
    "two in a row": ("[a](http://x/)[b](http://10.0.0.1/)", f"[a](http://x/)[b]({REMOVED})"),
    "code": ("-vbscript:x jaVaScript:alert(1)", f"-{REMOVED} {REMOVED}"),
    "code in a link": ("[x](javascript:alert(1))", f"[x]({REMOVED})"),
    "content": ("data:;base64,AA data:,x", f"{REMOVED} {REMOVED}"),
    "file": ("file:/etc/x file:\\\\h\\s", f"{REMOVED} {REMOVED}"),
    "address behind a name": ("http://u:p@[::1]/ //127.0.0.1/x", f"{REMOVED} {REMOVED}"),
    "address in disguise": (
        "http://１２７.0.0.1/ http://127。0。0。1/ http://%31.0.0.1/",
        f"{REMOVED} {REMOVED} {REMOVED}",
    ),
    "behind a quote": ('https://e/"?q=1 "https://e/"#x', 'https://e/" "https://e/"'),
    "behind a backtick": ("https://e/`?q=1 `https://e/`?q", "https://e/` `https://e/`"),
    "behind angles": ("https://e/<?q=1> <https://e/>?q", "https://e/<> <https://e/>"),
    "behind two marks": ('https://e/`"x"?q`#y', 'https://e/`"x"`'),
    "a text behind a quote": ('"https://e/","a?b","c#d"', '"https://e/","a","c"'),
    "a link behind a quote's query": ('"https://e/"?https://f/', '"https://e/"'),
    "password behind a quote": (
        'https://u"p@e/?q http://u`:p@1.1.1.1/',
        'https://u" e/ http://u` 1.1.1.1/',
    ),
    "scheme before a mark": ("http:`e?q ws:<x>?q", "http:`e ws:<x>"),
    "www behind a quote": ("www.e`?q", "www.e`"),
    "address in a bracket": ("(see:http://127.0.0.1)", f"(see:{REMOVED})"),
}
KEPT = {
    "sentence": ("see https://e.example/a, (or https://e.example/b).",) * 2,
    "question": ("is it https://e/a? no", "is it https://e/a no"),
    "cjk": ("请看https://e.example/?q=1，然后修改", "请看https://e.example/，然后修改"),
    "cjk address": ("在http://127.0.0.1:8080，然后", f"在{REMOVED}，然后"),
    "code around": ("fetch('https://e/?q=1').then(x)", "fetch('https://e/').then(x)"),
    "version": ("https://hub.example/actions/checkout@v4",) * 2,
    "remote": ("git@hub.example:org/repo.git me@www.e.example",) * 2,
    "paths": (r"a//b?c C:\Users\me@x src/a.py:12 file:foo.py",) * 2,
    "regex": (r"`\\d+?` and \w+@",) * 2,
    "numbers": ("n //2 http:8080 at 10:30",) * 2,
    "json": ('{"url":"https://e/?q=1","n":1} is it "a"?', '{"url":"https://e/","n":1} is it "a"?'),
    "quotes": ('"a?b":"c#d" `x?`',) * 2,
    "markup": ('<a href="//e/?q">text</a> is it?', '<a href="//e/">text</a> is it?'),
    "mapping": ("{data:[1,2],http:{a:1}} metadata:x,y",) * 2,
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_what_a_link_could_carry_is_gone(name: str) -> None:
    text, wanted = SPELLINGS[name]
    assert links.stripped(text) == wanted


@pytest.mark.parametrize("name", KEPT)
def test_other_text_stays(name: str) -> None:
    text, wanted = KEPT[name]
    assert links.stripped(text) == wanted


# What is taken for a link: scheme, any slashes, authority, and the rest of it. What links bare
# addresses, as GitHub does, goes on behind quotes.
FOLLOWED = re.compile(
    r"(?i)(?<![a-z])(?:https?|ftp|wss?):[/\\\\]*((?:[^/?#\s\"<>`][^/?#\s]*)?)([^\s]*)"
)
PIECES = [
    "http:",
    "https://",
    "//",
    "\\",
    "/",
    "u:p@",
    "www.",
    "e",
    ".x",
    "?",
    "#",
    "(",
    ")",
    "[",
    "]",
]
PIECES += [
    "'",
    "|",
    ",",
    "，",
    "。",
    "）",
    " ",
    "data:",
    "javascript:",
    "1.1.1.1",
    "@",
    '"',
    "`",
    "<",
    ">",
    "foo://",
]


def test_what_may_begin_a_password_is_not_left_behind_a_quote() -> None:
    text = 'see https://user"pass`word@e.example/'
    for size in range(len("see https://u"), text.index("@") + 1):
        assert links.stripped(text[:size], whole=False) == "see https://"
    assert links.stripped('see "https://e/"pass', whole=False) == 'see "https://e/"pass'


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_no_spelling_keeps_userinfo_or_query(text: str) -> None:
    got = links.stripped(text)
    for authority, rest in FOLLOWED.findall(got):
        assert "@" not in authority and not set("?#") & set(rest), (text, got)


@pytest.mark.parametrize(
    "piece",
    ["a:", "http:", "http:a/", "//", "\\", "www.", "data:", "a?//", "//1.1，", "_www.", "http:u@/"]
    + ['//a"', "//a`?", 'http:"', '"u@'],
)
def test_work_grows_with_the_text_only(piece: str) -> None:
    """Counted, not timed: four times the text, about four times the lines run."""
    small = _lines_run(lambda: links.stripped(piece * 200))
    large = _lines_run(lambda: links.stripped(piece * 800))
    assert large < small * 4.5


def _lines_run(call: Callable[[], object]) -> int:
    count = 0

    def note(_frame: FrameType, _event: str, _arg: object) -> object:
        nonlocal count
        count += 1
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
