"""Stored text made harmless for a model's context. HOT.

Memory is untrusted for ever: a page read months ago may have been written to speak to an
agent. So every stored string becomes one line without control characters, markup that could
close our fence, images, links, query strings or code fences; the block's name is a hash that
nobody who wrote the text could know. None of this judges content: these are mechanical
invariants which a test can check.
"""

from cmem import eid as eids

TITLE_CAP = 120
FACT_CAP = 240
NARRATIVE_CAP = 800
# Printable by Unicode's word, invisible to a reader.
_FILLERS = ("\u115f", "\u1160", "\u3164", "\uffa0", "\ufffc")
# What a reader does not see and Python's tables call printable: of Unicode 16.0's
# Default_Ignorable_Code_Point (DerivedCoreProperties.txt) what is neither filler nor format, and
# three blanks that are not on that list: in braille, in music, in Khitan.
_UNSEEN = "\u034f\u17b4\u17b5\u200c\u200d\u2800\U0001d159\U00016fe4"
# How all of them but the joiners and what is no character yet begin in UTF-8.
_BEGIN_UNSEEN = (
    *(b"\xef\xb8", b"\xe2\xa0\x80", b"\xcd\x8f", b"\xe1\x9e", b"\xe1\xa0"),
    *(b"\xf0\x9d\x85\x99", b"\xf0\x96\xbf\xa4"),
)
_TAGS = "\U000e0000"
_JOINERS = ("\u200c", "\u200d")
# Of a text, this many times its cap is looked at: what is cut away later costs nothing now.
_AHEAD = 4
# ASCII that any rule below looks for; a text without it is a harmless line as it stands.
_MARKS = b"&<>[]`~\\:/"


def line(text: str, cap: int) -> str:
    """``text`` as one harmless line of at most ``cap`` characters (before escaping)."""
    if len(text) <= cap and _is_plain(text):
        return text
    text = text.lstrip()
    whole = len(text) <= cap * _AHEAD
    flat = _flat(text if whole else text[: cap * _AHEAD])
    if _may_link(flat):
        from cmem.context import links

        flat = links.stripped(flat, whole=whole)
    flat = _without_markup(flat)
    flat = cut(flat if whole else flat + "…", cap)
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _is_plain(text: str) -> bool:
    """Whether no rule can change the text, by a few looks in C: nearly every title."""
    if not (text.isascii() and text.isprintable()) or "  " in text or text.strip() != text:
        return False
    return len(text.encode().translate(None, _MARKS)) == len(text) and "www." not in text.lower()


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
    """Hashed twice, as HMAC does, with the function that has named the event already."""
    inner = eids.sha256_hex(key + salt.to_bytes(8, "big") + body.encode("utf-8", "replace"))
    return eids.sha256_hex(key + inner.encode())[:16]


def _flat(text: str) -> str:
    """One line of visible characters. Nearly all text passes without the sanitiser, whose
    import would cost the hook more than the rest of this module's work."""
    flat = " ".join(text.split())
    if flat.isascii() and flat.isprintable():
        return flat
    bare = flat
    for joiner in _JOINERS:
        bare = bare.replace(joiner, "")
    if not bare.strip():
        return ""
    odd = not bare.isprintable() or max(bare) >= _TAGS or any(one in bare for one in _FILLERS)
    if odd:
        from cmem.context import unseen
        from cmem.privacy.sanitise import clean

        flat = clean(unseen.without_formats(flat), one_line=True)
        if flat.isascii():
            return flat
    raw = flat.encode("utf-8", "replace")
    if not odd and bare == flat and not any(one in raw for one in _BEGIN_UNSEEN):
        return flat
    return _without_runs(flat)


def _without_runs(text: str) -> str:
    """At most one unseen sign in a row and behind one that is seen, and "" where nothing can be
    seen: a run of them can spell a hidden text."""
    kept = []
    seen = False
    behind_one = True  # also where a word begins
    for sign in text:
        hidden = sign > "~" and _is_unseen(sign)
        if not (hidden and behind_one):
            kept.append(sign)
        behind_one = hidden or sign == " "
        seen = seen or not behind_one
    return " ".join("".join(kept).split()) if seen else ""


def _is_unseen(sign: str) -> bool:
    return (
        sign in _UNSEEN
        or "\ufe00" <= sign <= "\ufe0f"
        or "\u180b" <= sign <= "\u180f"
        or "\ufff0" <= sign <= "\ufff8"
    )


def _may_link(text: str) -> bool:
    """Whether ``links`` could find anything. Most text ends here, though most has a colon: one
    before a space is no scheme's."""
    if "//" in text or "\\" in text or "www." in text.lower():
        return True
    return ":" in text and ":" in text.replace(": ", " ").removesuffix(":")


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
