"""Nothing secret passes, in any spelling, and the gates fire wherever the rules do.

Secrets are put together at run time, so that no file holds one.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import CLAUDE_CODE

from cmem import lenient, shrink
from cmem.hosts.wire import HOSTS
from cmem.privacy import gates, rules, scrub
from cmem.privacy.scrub import scrub_payload, scrub_text
from cmem.privacy.sources import is_command, is_path

SHAPE = HOSTS["claude-code"].shape
RANDOM = random.Random(11)
ALNUM = string.ascii_letters + string.digits


def some(count: int, alphabet: str = ALNUM) -> str:
    """Random characters, among them certainly a letter of each case or what stands for it, and
    a digit."""
    head = "a1" if alphabet == string.hexdigits.lower() else "A2" if "a" not in alphabet else "aB1"
    return head + "".join(RANDOM.choice(alphabet) for _ in range(count - len(head)))


HEX = string.hexdigits.lower()
UPPER = string.ascii_uppercase + "234567"

# name → builder of (whole text, the part that must not survive)
EXAMPLES: dict[str, Callable[[], tuple[str, str]]] = {
    "aws-key": lambda: _bare("AK" + "IA" + some(16, UPPER)),
    "aws-key temporary": lambda: _bare("AS" + "IA" + some(16, UPPER)),
    **{
        f"github gh{kind}": (lambda kind=kind: _bare(f"gh{kind}" + "_" + some(36)))  # type: ignore[misc]
        for kind in "pousr"
    },
    "github fine": lambda: _bare("github" + "_pat_" + some(22) + "_" + some(59)),
    "gitlab": lambda: _bare("gl" + "pat-" + some(20)),
    "sk-key anthropic": lambda: _bare("sk" + "-ant-api03-" + some(40) + "-_" + some(20)),
    "sk-key project": lambda: _bare("sk" + "-proj-" + some(20) + "-_" + some(20)),
    "sk-key": lambda: _bare("sk" + "-" + some(48)),
    "slack": lambda: _bare("xo" + "xb-" + "123456789012-" + some(24)),
    "slack app": lambda: _bare("xa" + "pp-1-" + some(30)),
    "slack-webhook": lambda: _with("https://hooks.slack.com/services/", "T0/B0/" + some(24)),
    "google": lambda: _bare("AI" + "za" + some(35)),
    "google oauth": lambda: _bare("ya" + "29." + some(60)),
    "google client": lambda: _bare("GOC" + "SPX-" + some(28)),
    "stripe": lambda: _bare("sk_" + "live_" + some(24)),
    "stripe hook": lambda: _bare("wh" + "sec_" + some(32)),
    "npm": lambda: _bare("npm" + "_" + some(36)),
    "pypi": lambda: _bare("py" + "pi-" + some(80)),
    "hugging-face": lambda: _bare("hf" + "_" + some(34)),
    "sendgrid": lambda: _bare("SG" + "." + some(22) + "." + some(43)),
    "digitalocean": lambda: _bare("dop" + "_v1_" + some(64, HEX)),
    "shopify": lambda: _bare("shp" + "at_" + some(32, HEX)),
    "vault": lambda: _bare("hv" + "s." + some(24)),
    "docker": lambda: _bare("dckr" + "_pat_" + some(27)),
    "grafana": lambda: _bare("gl" + "sa_" + some(32) + "_" + some(8, HEX)),
    "linear": lambda: _bare("lin" + "_api_" + some(40)),
    "tailscale": lambda: _bare("ts" + "key-auth-" + some(20)),
    "supabase": lambda: _bare("sb" + "p_" + some(40, HEX)),
    "rubygems": lambda: _bare("ruby" + "gems_" + some(48, HEX)),
    "groq": lambda: _bare("gs" + "k_" + some(52)),
    "replicate": lambda: _bare("r8" + "_" + some(37)),
    "xai": lambda: _bare("xa" + "i-" + some(80)),
    "perplexity": lambda: _bare("pp" + "lx-" + some(48)),
    "age": lambda: _bare("AGE-SEC" + "RET-KEY-1" + some(58, UPPER)),
    "jwt": lambda: _bare("ey" + "J" + some(30) + "." + "ey" + "J" + some(40) + "." + some(43)),
    "authorization": lambda: _with("Authorization: Bearer ", some(32)),
    "authorization basic": lambda: _with('"AUTHORIZATION": "Basic ', some(32) + "="),
    "authorization plain": lambda: _with("-H 'authorization: ", some(24)),
    "bearer": lambda: _with("use bearer ", some(40)),
    "key-header": lambda: _with("X-API-Key: ", some(32)),
    "key-header gitlab": lambda: _with("PRIVATE-TOKEN: ", some(20)),
    "url-password": lambda: _with("postgres://app:", some(12), "@db.example.org/x"),
    "url-password with at": lambda: _with("amqp://app:", "p@" + some(9), "@db/x"),
    "private-key": lambda: _with("", _pem(end=True)),
    "private-key unfinished": lambda: _with("", _pem(end=False)),
    "private-key openssh": lambda: _with("", _pem(end=True, kind="OPENSSH ")),
    "private-key pgp": lambda: _with("", _pem(end=True, kind="PGP ", block=" BLOCK")),
    "putty-key": lambda: _with("", "PuTTY-" + "User-Key-File-2: ssh-rsa\n" + some(64)),
}


def _bare(secret: str) -> tuple[str, str]:
    return secret, secret


def _with(before: str, secret: str, after: str = "") -> tuple[str, str]:
    return before + secret + after, secret


def _pem(*, end: bool, kind: str = "RSA ", block: str = "") -> str:
    mark = "-----"
    body = "\n".join(some(64) for _ in range(4))
    text = f"{mark}BEGIN {kind}PRIVATE KEY{block}{mark}\n{body}\n"
    return text + (f"{mark}END {kind}PRIVATE KEY{block}{mark}" if end else "")


TOKEN_NAMES = {"sk-key", "npm", "hugging-face", "sendgrid", "groq", "stripe", "aws-key", "xai"}
CONTEXTS = {
    "alone": "{}",
    "assignment": "KEY={}\nNEXT=1",
    "quoted": 'key = "{}";',
    "yaml": "token: {}\nother: x",
    "shell": "curl -u x:{} 'https://example.org'",
    "coloured": "\x1b[31m{}\x1b[0m",
    "coloured twice": "\x1b[01;31m\x1b[K{}\x1b[m\x1b[K",
    "table": "| a | {} |",
    "after newline": "x\n{}\n",
    "in code": "f('{}', 1)",
    "after a written newline": "line\\n{}\\nx",
    "after a written code": "line\\u000a{}",
    "after a written colour": "line\\x1b[31m{}\\x1b[0m",
}


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_secret_goes_and_its_place_is_named(name: str, context: str) -> None:
    text, secret = EXAMPLES[name]()
    whole = CONTEXTS[context].replace("{}", text)
    clean = scrub_text(whole)
    pieces = [line for line in secret.split("\n") if len(line) > 8 and not line.startswith("-")]
    assert [piece for piece in pieces if piece in clean] == []
    assert f"[REDACTED:{name.partition(' ')[0]}]" in clean
    assert scrub_text(clean) == clean
    for ascii_only in (False, True):
        assert gates.hit(json.dumps({"x": whole}, ensure_ascii=ascii_only).encode())


def test_every_rule_has_an_example() -> None:
    named = {name.partition(" ")[0] for name in EXAMPLES} - {"private-key", "putty-key"}
    assert named == {name for name, _, _ in rules.TOKENS + rules.LABELLED}


def test_every_literal_of_a_rule_opens_a_gate() -> None:
    literals = {text for _, words, _ in rules.TOKENS for text in words}
    covered = (*gates.EXACT, *gates.WORDED, *gates.UNDERSCORED, *gates.TOKENS, b"gl", b"hv", b"IA")
    assert {text for text in literals if not any(g in text.encode() for g in covered)} == set()
    for literal in gates.WORDED:
        for around in (b"%s", b"x\\n%s1", b"/%s\\/"):
            assert gates.hit(b'{"x":"%s"}' % (around % literal))
            assert gates.form(around % literal)


NEAR = [
    "the task-list is a disk-based risk-averse mask-image",
    "msg.payload.something.else.entirely.different",
    "npm_config_registry and npm_package_name",
    "hf_hub_download(repo)",
    "sk-fading-circle sk-cube-grid-of-many-words-in-a-class-name",
    "process.env.HOME os.environ import.meta.env.MODE",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    "123e4567-e89b-12d3-a456-426614174000",
    "https://example.org:8080/a@b http://localhost:3000 postgres://app:${PASSWORD}@db/x",
    "authorization: required for admins; authorization=false",
    "bearer of bad news, bearer instruments",
    "if '-----BEGIN PRIVATE KEY-----' in text:  # header only",
    "class A: private int x; a <privateer> b; List<privately>",
    "AKIAX ASIA ghp_short xoxb- AIza eyJ.x.y",
    "email me@example.org or git@github.com:a/b.git",
    "public class A<T> { private T x; <T> private void f() {} private <K, V> Map<K, V> m; }",
    "Map<String, List<Integer>> private = a < privateKey && b > private_x; x<y private",
    "<private-key-path> <privatekey> <privatelink> <private_key> &lt;private_key&gt; \\x3cprivately",
    "if (count <\n    privateCount) { template<typename T> private: int y; }",
    "a->private, b>>private; private:\n  int z; 60 private rooms, 74 private",
]


@pytest.mark.parametrize("text", NEAR)
def test_near_misses_stay(text: str) -> None:
    expected = text.replace("-----BEGIN PRIVATE KEY-----", "[REDACTED:private-key]")
    assert scrub_text(text) == expected


# --- private spans and wrappers ------------------------------------------------------

SPANS = {
    "simple": ("a <private>x1</private> b", "a [private] b"),
    "upper": ("a <PRIVATE>x1</Private> b", "a [private] b"),
    "attributes": ('a <private reason="y">x1</private > b', "a [private] b"),
    "blanks": ("a < private >x1< / private > b", "a [private] b"),
    "lines": ("a <private>\nx1\n</private> b", "a [private] b"),
    "nested": ("a <private>x1<private>x2</private>x3</private> b", "a [private] b"),
    "unclosed": ("a <private>x1 b", "a [private]"),
    "unfinished": ("a <private x1", "a [private]"),
    "stray closer": ("a</private> b", "a b"),
    "closer in an opener": ("a <private</private> b", "a [private] b"),
    "two": ("<private>x1</private>a<private>x2</private>b", "[private]a[private]b"),
    "entities": ("a &lt;private&gt;x1&lt;/private&gt; b", "a [private] b"),
    "numbers": ("a &#60;private&#62;x1&#x3C;/private&#x3E; b", "a [private] b"),
    "full width": ("a ＜private＞x1＜／private＞ b", "a [private] b"),
    "no semicolons": ("a &ltprivate&gtx1&lt/private&gt b", "a [private] b"),
    "twice escaped": ("a &amp;lt;private&amp;gt;x1&amp;lt;/private&amp;gt; b", "a [private] b"),
    "percent": ("a %3Cprivate%3Ex1%3C/private%3E b", "a [private] b"),
    "percent slash": ("a %3cprivate%3ex1%3c%2Fprivate%3e b", "a [private] b"),
    "percent twice": ("a %253Cprivate%253Ex1%253C%252Fprivate%253E b", "a [private] b"),
    "no-break space": ("a <\xa0private\xa0>x1</\xa0private> b", "a [private] b"),
    "wide space": ("a <\u3000private\u2028>x1</private> b", "a [private] b"),
    "wide letters": ("a <ｐｒｉｖａｔｅ>x1</ＰＲＩvate> b", "a [private] b"),
    "letters of another script": ("a <\u0440rivate>x1</priv\u0430t\u0435> b", "a [private] b"),
    "greek letters": ("a <\u03a1riv\u03b1te>x1</pri\u03bdate> b", "a [private] b"),
    "letters of mathematics": (
        "a <\U0001d429\U0001d42b\U0001d456\U0001d4cb\U0001d51e\U0001d565\U0001d438>x1</private> b",
        "a [private] b",
    ),
    "letters as entities": ("a <&#112;rivate>x1</&#x70;riv&amp;#97;te> b", "a [private] b"),
    "escaped brackets": ("a <private\\>x1</private\\> b", "a [private] b"),
    "small brackets": ("a ﹤private﹥x1﹤/private﹥ b", "a [private] b"),
    "quotes as brackets": ("a ‹private›x1‹/private› b", "a [private] b"),
    "angles": ("a ⟨private⟩x1⟨/private⟩ b", "a [private] b"),
    "wide angles": ("a 〈private〉x1〈/private〉 b", "a [private] b"),
    "zeros": (
        "a &#" + "0" * 300 + "60;private&#62;x1&#x" + "0" * 300 + "3c;/private> b",
        "a [private] b",
    ),
    "often escaped": ("a &" + "amp;" * 300 + "lt;private&gt;x1&lt;/private> b", "a [private] b"),
    "often percent": ("a %" + "25" * 300 + "3cprivate%3ex1</private> b", "a [private] b"),
    "hexadecimal": (r"a \x3cprivate\x3ex1\x3c\x2fprivate\x3e b", "a [private] b"),
    "braces": (r"a \u{3c}private\u{3e}x1\u{003c}/private\u{3e} b", "a [private] b"),
    "octal": (r"a \074private\076x1\074/private\76 b", "a [private] b"),
    "eight digits": (r"a \U0000003cprivate\U0000003ex1\U0000003C/private> b", "a [private] b"),
    "escaped slash": (r"a <private>x1<\/private> b", "a [private] b"),
    "colon": ("a <private:>x1</private:> b", "a [private] b"),
    "full stop": ("a <private.>x1</private> b", "a [private] b"),
    "eight blanks": ("a <        private>x1</private> b", "a [private] b"),
    "zero width": ("a <pri\u200bvate>x1</priv\u200date> b", "a [private] b"),
    "soft hyphen": ("a <\xadprivate>x1</\ufeffprivate> b", "a [private] b"),
    "nul": ("a <priv\0ate>x1</private\0> b", "a [private] b"),
    "json in a string": (
        'a {"b": "\\u003cprivate\\u003ex1\\u003C/private\\u003E"} b',
        'a {"b": "[private]"} b',
    ),
    "json in json": ("a \\\\u003cprivate\\\\u003ex1\\\\u003c/private> b", "a [private] b"),
    "self-closing": ("a <private/> b", "a  b"),
    "own block": ("a <cmem-memory id=1f>x1\nx2</cmem-memory 1f> b", "a  b"),
    "reminder": ("a <system-reminder>x1</system-reminder> b", "a  b"),
    "output": ("a <persisted-output>x1", "a "),
    "wrapper in private": ("a <private><system-reminder>x1</private> b", "a [private] b"),
}


@pytest.mark.parametrize("name", SPANS)
def test_spans_are_cut_in_every_field(name: str) -> None:
    text, expected = SPANS[name]
    assert scrub_text(text) == expected
    document = {"prompt": text, "tool_input": {text: [text, {"deep": text}]}, "n": 1}
    for raw in (
        json.dumps(document).encode(),
        json.dumps(document, ensure_ascii=False).encode(),
        json.dumps(document).replace("<", "\\u003c").replace("/", "\\/").encode(),
    ):
        assert gates.hit(raw)
        clean = json.loads(scrub_payload(raw, SHAPE))
        assert clean == {
            "prompt": expected,
            "tool_input": {expected: [expected, {"deep": expected}]},
            "n": 1,
        }


def test_ten_thousand_tags_end() -> None:
    assert scrub_text("<private>" * 10_000 + "x" + "</private>" * 10_000 + "b") == "[private]b"
    assert scrub_text("<private " * 10_000) == ""
    assert scrub_text("</private>" * 10_000) == ""


def test_wholly_private_prompt_says_so() -> None:
    def prompt(text: str) -> object:
        return json.loads(scrub_payload(json.dumps({"prompt": text}).encode(), SHAPE))

    assert prompt(" <private>x</private>\n") == {"prompt": " \n", "cmem_private": True}
    assert prompt("<private>x</private> y") == {"prompt": "[private] y"}
    assert prompt("<system-reminder>x</system-reminder>") == {"prompt": ""}
    assert prompt("") == {"prompt": ""}


# --- images, depth, odd documents ----------------------------------------------------


def test_images_become_notes() -> None:
    picture = "iVBORw0KGgo" + some(4000)
    blob = some(8000)
    document = {
        "url": f"![x](data:image/png;base64,{some(400)}) after",
        "font": f"url(data:font/woff2;charset=utf-8;base64,{some(400)})",
        "block": {"type": "image", "source": {"type": "base64", "data": picture}},
        "blob": blob,
        "text": "word " * 1000,
    }
    raw = json.dumps(document).encode()
    assert gates.hit(raw)
    assert json.loads(scrub_payload(raw)) == {
        "url": "![x]([image, 316 bytes]) after",
        "font": "url([data, 327 bytes])",
        "block": {"type": "image", "source": {"type": "base64", "data": "[image, 3008 bytes]"}},
        "blob": "[base64, 6000 bytes]",
        "text": "word " * 1000,
    }


def test_deep_and_odd_json() -> None:
    deep = b'{"a":' + b"[" * 150 + b'"ghp"' + b"]" * 150 + b"}"
    assert lenient.TOO_DEEP in scrub_payload(deep).decode()
    assert scrub_payload(b'{"a":NaN,"b":1e999,"c":"\\ud800"}') == b'{"a":null,"b":null,"c":"?"}'
    for raw in (b"", b"{", b"x", b"{}{}", b"[" * 100_000):
        with pytest.raises(ValueError):
            scrub_payload(raw)


@pytest.mark.parametrize("spelled", ["\\u0067hp_", "g\\u0068p_"])
def test_letters_written_as_escapes_hide_nothing(spelled: str) -> None:
    secret = some(36)
    raw = f'{{"x":"{spelled}{secret}"}}'.encode()
    assert gates.hit(raw)
    assert json.loads(scrub_payload(raw)) == {"x": "[REDACTED:github]"}


@pytest.mark.parametrize("before", ["my_", "a\\n", "a\\\\n", "a\\t", "\\r\\n", "a\\u0020", "\\x20"])
@pytest.mark.parametrize(
    "name", [name for name in EXAMPLES if " gh" in name or name in TOKEN_NAMES]
)
def test_what_stands_before_a_token_hides_nothing(name: str, before: str) -> None:
    text, secret = EXAMPLES[name]()
    clean = scrub_text(before + text)
    assert [line for line in secret.split("\n") if line[:1] != "-" and line in clean[-200:]] == []
    assert gates.hit(json.dumps({"x": before + text}).encode())


@pytest.mark.parametrize("spelled", ["\\u0067hp_", "g\\u0068p\\u005F", "\\\\u0067hp_"])
def test_escapes_in_json_in_a_string_hide_nothing(spelled: str) -> None:
    text = f'{{"a": "{spelled}{some(36)}", "b": "\\u0022"}}'
    raw = json.dumps({"x": text}).encode()
    assert gates.hit(raw)
    assert json.loads(scrub_payload(raw)) == {"x": '{"a": "[REDACTED:github]", "b": "\\u0022"}'}


def test_escapes_and_invisible_characters_that_hide_nothing_stay() -> None:
    text = "a = '\\u0041\\u003c' # \u200b and \U0001f468\u200d\U0001f469"
    assert scrub_text(text) == text


# --- sensitive sources ---------------------------------------------------------------

PATHS = [
    "/w/.env",
    ".env",
    "/w/.env.local",
    "/w/.envrc",
    "config/prod.env",
    "server.pem",
    "/etc/ssl/private/x.key",
    "~/.ssh/id_rsa",
    "/h/.ssh/id_ed25519",
    "/h/.ssh/work",
    ".npmrc",
    "/h/.netrc",
    ".pypirc",
    ".git-credentials",
    "/h/.aws/credentials",
    "/h/.aws/config",
    "terraform.tfvars",
    "x.tfstate",
    "kubeconfig",
    "/h/.kube/config",
    "secrets.yml",
    "secret.json",
    "gcp-credentials.json",
    ".pgpass",
    "C:\\w\\.env",
    "/h/.docker/config.json",
    ".env*",
]
PLAIN_PATHS = [
    "/w/.env.example",
    ".env.sample",
    "/w/env.py",
    "environment.ts",
    "id_rsa.pub",
    "/h/.ssh/config",
    "/h/.ssh/known_hosts",
    "credentials.py",
    "process.env",
    "import.meta.env",
    "keys.py",
    "monkey.py",
    "package.json",
    "secrets.py",
    "key",
]
COMMANDS = [
    *(f"{verb} {path}" for verb in ("cat", "head -5", "sed -n 1p") for path in PATHS[:3]),
    "env", "env | sort", " env;ls", "cd x && env", "/usr/bin/env", "printenv", "printenv HOME",
    "set | grep x", "export -p", "env 2>/dev/null", "echo $(cat .env)", "docker inspect web",
    "kubectl -n x get secret y -o yaml", "gh auth token", "aws configure list", "vault kv get a",
    "op read op://a/b", "pass show a", "security find-generic-password -w", "grep KEY < .env",
    "docker run --env-file=.env x", "git diff .env", "source .env; ls", "env\nls", "sudo env",
    "gcloud auth application-default print-access-token", "terraform output", "cat 'a b/.env'",
]  # fmt: skip
PLAIN_COMMANDS = [
    "ls", "env FOO=1 python x.py", "/usr/bin/env python3 x", "git config set x", "set -e; ls",
    "cat README.md", "python -c 'import os; os.environ.copy()'", "grep -r process.env src", "unset x",
    "docker ps", "kubectl get pods", "cat .env.example", "reset", "echo env is fine",
]  # fmt: skip


def use(tool_input: dict[str, object], response: object, key: str = "tool_response") -> bytes:
    return json.dumps({"tool_name": "X", "tool_input": tool_input, key: response}).encode()


@pytest.mark.parametrize("path", PATHS)
def test_content_of_a_secret_file_goes(path: str) -> None:
    assert is_path(path)
    raw = use({"file_path": path}, {"file": {"filePath": path, "content": "PIN=1234"}})
    assert gates.hit(raw), path
    assert json.loads(scrub_payload(raw, SHAPE)) == {
        "tool_name": "X",
        "tool_input": {"file_path": path},
        "tool_response": "[REDACTED:sensitive-source]",
    }


@pytest.mark.parametrize("path", PLAIN_PATHS)
def test_content_of_other_files_stays(path: str) -> None:
    assert not is_path(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_output_of_a_revealing_command_goes(command: str) -> None:
    assert is_command(command)
    for key in ("tool_response", "error"):
        raw = use({"command": command, "description": "d"}, "PIN=1234", key)
        assert gates.hit(raw), command
        clean = json.loads(scrub_payload(raw, SHAPE))
        assert (clean[key], clean["tool_input"]["command"]) == (
            "[REDACTED:sensitive-source]",
            command,
        )


@pytest.mark.parametrize("command", PLAIN_COMMANDS)
def test_output_of_other_commands_stays(command: str) -> None:
    assert not is_command(command)


def test_written_secrets_go_too() -> None:
    raw = use({"file_path": "/w/.env", "content": "PIN=1234"}, {"content": "PIN=1234"})
    assert b"1234" not in scrub_payload(raw, SHAPE)
    for command in ("cat > .env <<E\nPIN=1234\nE", "echo PIN=1234 >> '/w/.env'", "x | tee .env"):
        clean = json.loads(scrub_payload(use({"command": command}, ""), SHAPE))
        kept = clean["tool_input"]["command"]
        assert (kept.startswith("[REDACTED:sensitive-source] > "), "1234" in kept) == (True, False)


# --- properties ----------------------------------------------------------------------

PIECES = st.sampled_from(
    ["<private>", "</private>", "&lt;private&gt;", "＜private＞", "<system-reminder>", "gh", "p_",
     "-----BEGIN PRIVATE KEY-----", "eyJ", ".", "://a:", "@", "Bearer ", "sk-", "\\", '"', "\n",
     "\x00", "\ud800", "é", "a1B2c3D4e5F6g7H8i9J0", "\\u0067", "\\n", "_", "\u200b", "%3c", "private", "&lt", "data:image/png;base64,", "</", "env"]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join))
def test_any_text_is_scrubbed_once_and_for_all(text: str) -> None:
    clean = scrub_text(text)
    assert "<private>" not in clean
    assert scrub_text(clean) == clean


@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join))
def test_gate_fires_wherever_a_rule_does(text: str) -> None:
    if scrub_text(text) != text:
        assert gates.hit(json.dumps({"x": text}).encode())
        assert gates.hit(json.dumps({"x": text}, ensure_ascii=False).encode("utf-8", "replace"))


@given(st.binary(max_size=200))
def test_gate_takes_any_bytes(raw: bytes) -> None:
    assert gates.hit(raw) in (True, False)


HOSTILE = ("key_", "token", "eyJ", "eyJaaaaaaaa.", "://a:", "sk-", "-----BEGIN ", "<private",
           "Bearer ", "authorization:", "&#60;", ".env", "data:image/png;base64,", "AKIA", " env",
           "xoxb-", "A", "private", "set", "a/.pem ",
           "_eyJaaaaaaaa", "_sk-aaaaaaaaaaaaaaa", "\\n" + "eyJ", "\\u0067", "\\" * 7, "&amp;", "%25",
           "&ltprivate ", "%3cprivate", "\u200b", "<\0private", "pass ")  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_repetition_ends(piece: str) -> None:
    text = piece * (65_536 // len(piece))
    scrub_text(text)
    is_command(text)
    is_path(text)
    gates.hit(text.encode())


def test_recorded_payloads_need_no_scrubbing_but_one() -> None:
    hits = [
        path.name for path in sorted(CLAUDE_CODE.glob("*.json")) if gates.hit(path.read_bytes())
    ]
    assert hits == ["UserPromptSubmit-private.json"]


# --- large texts ---------------------------------------------------------------------

ROOM = 262_144
LARGE = 400_000
HALF = 32_736
PLACES = [
    *(0, 100, HALF - 30, HALF - 10, HALF, 65_000, 65_536, 81_900, 81_920, 200_000),
    *(LARGE - 81_930, LARGE - 81_910, LARGE - 65_536, LARGE - HALF - 30, LARGE - HALF - 10),
    *(LARGE - HALF, LARGE - 100, LARGE - 50),
]


def ends(text: str) -> list[str]:
    """Head and tail around the note of what is missing."""
    head, _, rest = text.partition("[… ")
    return [head, rest.partition(" characters cut by cmem …]")[2]]


@pytest.mark.parametrize("name", ["aws-key", "jwt", "github fine", "slack-webhook"])
@pytest.mark.parametrize("at", PLACES)
def test_ends_of_a_large_text_are_those_of_the_whole_text_scrubbed(name: str, at: int) -> None:
    example, secret = EXAMPLES[name]()
    words = "a line of some output\n" * (LARGE // 22 + 1)
    text = (words[:at] + " " + example + " " + words[at:])[:LARGE]
    found = scrub_text(text, room=ROOM)
    assert ends(found) == ends(shrink.cut(scrub_text(text)))
    assert secret not in found
    assert len(found) <= shrink.MAX_FIELD
    assert scrub_text(found, room=ROOM) == found


def test_a_private_span_reaches_over_the_middle_of_a_large_text() -> None:
    text = "before <private>" + "x y " * 200_000 + "after"
    assert scrub_text(text, room=ROOM) == "before [private]"
    text = "x y " * 100_000 + "<private>" + "z " * 100_000
    assert "z" not in scrub_text(text, room=ROOM)


def test_a_text_full_of_secrets_shows_no_piece_of_one() -> None:
    secret = "AK" + "IA" + "Q" * 16
    found = scrub_text(f"{secret}\n" * (LARGE // 21), room=ROOM)
    assert "Q" not in found
    assert len(found) > ROOM // 6


def test_no_match_is_longer_than_what_is_dropped_where_a_look_ends() -> None:
    longest = "ey" + "J" + "a" * 4_096 + "." + "b" * 8_192 + "." + "c" * 2_048
    assert scrub_text(longest) == "[REDACTED:jwt]"
    assert len(longest) < scrub._LONGEST
