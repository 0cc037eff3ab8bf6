"""Stored text made harmless for a model's context. HOT: no module-level imports.

Memory is untrusted for ever: a page read months ago may have been written to speak to an
agent. So every stored string becomes one line without control characters, markup that could
close our fence, images, links, query strings or code fences; the block's name is a hash that
nobody who wrote the text could know. None of this judges content: these are mechanical
invariants which a test can check.
"""

TITLE_CAP = 120
FACT_CAP = 240
NARRATIVE_CAP = 800
REMOVED = "[link removed]"
# Printable by Unicode's word, invisible to a reader.
_FILLERS = ("\u115f", "\u1160", "\u3164", "\uffa0")
_JOINERS = ("\u200c", "\u200d")
_SCHEME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-"
_URL_ENDS = " \"'<>|\\^`{}()[]"


def line(text: str, cap: int) -> str:
    """``text`` as one harmless line of at most ``cap`` characters (before escaping)."""
    flat = _flat(text)
    if ":" in flat:
        flat = _without_links(flat)
    flat = cut(_without_markup(flat), cap)
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cut(text: str, cap: int) -> str:
    """``text``, or its beginning with an ellipsis, at a word's end where one is near."""
    if len(text) <= cap:
        return text
    head = text[: cap - 1]
    space = head.rfind(" ")
    if space > cap * 2 // 3:
        head = head[:space]
    return head.rstrip(" \u200c\u200d,;:") + "…"


def wrap(body: str, key: bytes) -> str:
    """``body`` between fences named by a keyed hash of it: same text, same bytes, and not
    to be guessed from inside."""
    salt = 0
    while True:
        nonce = _keyed_hash(body, key, salt)
        if nonce not in body:
            return f"<cmem-memory id={nonce}>\n{body}\n</cmem-memory {nonce}>"
        salt += 1


def _keyed_hash(body: str, key: bytes, salt: int) -> str:
    try:
        from _blake2 import blake2s
    except ImportError:  # a Python built without its own hashes
        from hashlib import blake2s
    digest = blake2s(key=key[:32], digest_size=8, salt=salt.to_bytes(8, "big"))
    digest.update(body.encode("utf-8", "replace"))
    return digest.hexdigest()


def _flat(text: str) -> str:
    """One line of visible characters. Nearly all text passes without the sanitiser, whose
    import would cost the hook more than the rest of this module's work."""
    flat = " ".join(text.split())
    if flat.isascii() and flat.isprintable():
        return flat
    bare = flat
    for joiner in _JOINERS:
        bare = bare.replace(joiner, "")
    if bare.isprintable() and not any(filler in bare for filler in _FILLERS):
        return flat
    from cmem.privacy.sanitise import clean

    return clean(flat, one_line=True)


def _without_markup(text: str) -> str:
    """No Markdown link, image or reference, no code fence, no table of our own making."""
    if "]" in text:
        for mark in ("](", "][", "]:"):
            text = text.replace(mark, mark[0] + " " + mark[1])
    if "![" in text:
        text = text.replace("![", "! [")
    while "```" in text:
        text = text.replace("```", "` ` `")
    while "~~~" in text:
        text = text.replace("~~~", "~ ~ ~")
    return text


def _without_links(text: str) -> str:
    """URLs without userinfo, query and fragment; dangerous ones replaced. Every colon is
    looked at once: what stands before it tells whether it is a scheme's."""
    parts: list[str] = []
    done = 0
    colon = text.find(":")
    while colon >= 0:
        start = colon
        while start > done and text[start - 1] in _SCHEME_CHARS:
            start -= 1
        scheme = text[start:colon].lower()
        replacement, end = _link(text, scheme, colon)
        if replacement is not None:
            parts.append(text[done:start])
            parts.append(replacement)
            done = end
        colon = text.find(":", max(done, colon + 1))
    parts.append(text[done:])
    return "".join(parts)


def _link(text: str, scheme: str, colon: int) -> tuple[str | None, int]:
    """What a link at ``colon`` becomes, and where it ends; None when there is none."""
    after = colon + 1
    bracketed = text.startswith("//[", after)
    end = after
    while end < len(text) and (text[end] not in _URL_ENDS or (bracketed and text[end] in "[]")):
        end += 1
    if _is_dangerous(scheme, text[after:end]):
        return REMOVED, end
    if not scheme or not text.startswith("//", after):
        return None, after
    rest = text[after + 2 : end]
    for mark in "?#":
        rest = rest.partition(mark)[0]
    authority, slash, path = rest.partition("/")
    host = authority.rpartition("@")[2]
    if _is_address(host):
        return REMOVED, end
    return scheme + "://" + host + slash + path, end


def _is_dangerous(scheme: str, rest: str) -> bool:
    """Whether a link runs code, carries content or reads a file, slashes or not."""
    if scheme in ("javascript", "vbscript"):
        return bool(rest)
    if scheme == "data":
        return "," in rest
    return scheme == "file" and rest.startswith("/")


def _is_address(host: str) -> bool:
    """Whether a host is written as a number: 10.0.0.1, [::1], 2130706433, 0x7f000001."""
    if host.startswith("["):
        return True
    name = host.partition(":")[0].rstrip(".").lower()
    last = name.rpartition(".")[2]
    return bool(last) and (last.isdigit() or last.startswith("0x"))
