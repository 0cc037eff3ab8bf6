"""Cut from text what must not be stored, and say in its place what was cut.

On decoded strings, so that no escape hides anything; before any truncation. Scrubbing what is
scrubbed changes nothing.
"""

from cmem import lenient
from cmem.privacy import rules, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

# (prompt, tool input, command in it, tool results): the host's names, from hosts/wire.py.
Shape = tuple[str, str, str, tuple[str, ...]]
PRIVATE = "cmem_private"
_UNSEEN = dict.fromkeys(map(ord, rules.INVISIBLE))
_MAX_NESTED = 3
# No match of TOKENS or LABELLED is longer.
_LONGEST = 16_384
_NEAR_END = 65_536 + _LONGEST


def scrub_payload(payload: bytes, shape: Shape | None = None, *, room: int = 0) -> bytes:
    """The payload as strict JSON without anything that must not be stored.

    With a shape, results of tools that read a secret source go whole, and a prompt of which
    only private text is left says so (``cmem_private``). A text longer than ``room`` keeps its
    head and tail, as ``shrink`` would leave them. ValueError when it is no JSON.
    """
    value = lenient.loads(payload)
    if shape is None or not isinstance(value, dict):
        return lenient.dumps(_walk(value, 0, room))
    prompt, tool_input, command, results = shape
    value = sources.without_content(value, tool_input=tool_input, command=command, results=results)
    clean = _walk(value, 0, room)
    if isinstance(clean, dict) and _only_private(value.get(prompt), clean.get(prompt)):
        clean[PRIVATE] = True
    return lenient.dumps(clean)


def _only_private(before: object, after: object) -> bool:
    if not isinstance(before, str) or not isinstance(after, str) or after.strip():
        return False
    return bool(before.strip()) and _without_private(_shown(before)) != _shown(before)


def _walk(value: object, depth: int, room: int) -> object:
    if isinstance(value, str):
        return scrub_text(value, room=room)
    if depth >= lenient.MAX_DEPTH:
        return lenient.TOO_DEEP if isinstance(value, (dict, list)) else value
    if isinstance(value, dict):
        return {scrub_text(key): _walk(item, depth + 1, room) for key, item in value.items()}
    if isinstance(value, list):
        return [_walk(item, depth + 1, room) for item in value]
    return value


def scrub_text(text: str, *, room: int = 0) -> str:
    """The text without private spans, wrappers, secrets and inline images.

    What only shows when invisible characters go and escapes in the text are read is cut from
    the text so read; where that shows nothing, the text stays as it was written.
    """
    if len(text) < 8:
        return text
    shown = _shown(text)
    if shown != text and (clean := _scrubbed(shown, room)) != shown:
        return clean
    return _scrubbed(text, room)


def _shown(text: str) -> str:
    """The text as a reader takes it. Quotes and backslashes stay escaped, so that JSON in a
    string stays JSON."""
    if not (text.isascii() and "\0" not in text):
        text = text.translate(_UNSEEN)
    for _ in range(_MAX_NESTED):
        if "\\u00" not in text:
            break
        text = rules.compiled(rules.ESCAPE).sub(_letter, text)
    return text


def _letter(match: "re.Match[str]") -> str:
    char = chr(int(match[1], 16))
    return match[0] if char in '"\\\x7f' else char


def _scrubbed(text: str, room: int) -> str:
    folded = text.lower()
    if "private" in folded:
        text = _without_private(text)
    for name in rules.WRAPPERS:
        if name in folded:
            text = _cut_tags(text, rules.WRAPPER_TAG.format(name=name))
    if ";base64," in text:
        text = rules.compiled(rules.IMAGE_URL).sub(_image_url, text)
    text = _image_block(text)
    if "PRIVATE KEY" in text:
        text = _cut_blocks(
            text, begin=rules.BLOCK_BEGIN, end=rules.BLOCK_END, note="[REDACTED:private-key]"
        )
    if "PuTTY-User-Key" in text:
        text = _cut_blocks(
            text, begin=rules.PUTTY_BEGIN, end=rules.PUTTY_END, note="[REDACTED:putty-key]"
        )
    if room and len(text) > room:
        return _ends(text)
    return _without_tokens(text, folded)


def _ends(text: str) -> str:
    """Head and tail as ``shrink`` leaves them of the scrubbed text, without a look at what lies
    between: a megabyte would take longer than all the rest of a hook. What the look began or
    ended in may be half a secret, so as much as one can be long is dropped there."""
    from cmem import shrink

    head, tail = text[:_NEAR_END], text[-_NEAR_END:]
    head = _without_tokens(head, head.lower())[:-_LONGEST]
    tail = _without_tokens(tail, tail.lower())[_LONGEST:]
    return shrink.joined(head, tail, length=len(text))


def _without_tokens(text: str, folded: str) -> str:
    for rule in rules.TOKENS:
        text = _cut_tokens(text, rule)
    for name, literals, pattern in rules.LABELLED:
        if any(literal in folded for literal in literals):
            text = rules.compiled(pattern).sub(_replacement(name), text)
    return text


def _cut_tokens(text: str, rule: rules.Rule) -> str:
    name, literals, pattern = rule
    for literal in literals:
        kept: list[str] = []
        done = 0
        at = text.find(literal)
        while at >= 0:
            match = rules.compiled(pattern).match(text, at)
            if match is not None:
                kept += [text[done:at], _replacement(name)(match)]
                done = match.end()
            at = text.find(literal, max(done, at + 1))
        if kept:
            text = "".join(kept) + text[done:]
    return text


def _replacement(name: str) -> "Callable[[re.Match[str]], str]":
    def replace(match: "re.Match[str]") -> str:
        groups = match.groupdict()
        return f"{groups.get('keep', '')}[REDACTED:{name}]{groups.get('end', '')}"

    return replace


def _without_private(text: str) -> str:
    """The text with a mark where something private stood, so that what is left still reads as
    a sentence with a gap; nothing but blanks where all of it was private."""
    bare = _cut_tags(text, rules.PRIVATE_TAG)
    if not bare.strip():
        return bare
    for _ in range(_MAX_NESTED):
        before, text = text, _cut_tags(text, rules.PRIVATE_TAG, note="[private]")
        if text == before:  # else a stray closer may have stood inside another tag
            break
    return text


def _cut_tags(text: str, pattern: str, *, note: str = "") -> str:
    """The text outside the tags; nested ones counted, an unclosed one reaches to the end.
    ``note`` stands for each stretch that was cut."""
    kept: list[str] = []
    depth = at = 0
    for match in rules.compiled(pattern).finditer(text):
        if not depth:
            kept.append(text[at : match.start()])
        if match["slash"]:
            depth = max(0, depth - 1)
        elif not match[0].endswith(("/>", "/＞")):
            if not depth:
                kept.append(note)
            depth += 1
        at = match.end()
    return "".join(kept) + ("" if depth else text[at:])


def _cut_blocks(text: str, *, begin: str, end: str, note: str) -> str:
    """Key blocks replaced whole; one without an end reaches as far as the text does, unless
    nothing that looks like a key follows (a heading in code or prose)."""
    kept: list[str] = []
    at = 0
    ends = True  # where no end follows, none follows later: looking again would take n² steps
    while True:
        head = rules.compiled(begin).search(text, at)
        if head is None:
            return "".join(kept) + text[at:]
        tail = rules.compiled(end).search(text, head.end()) if ends else None
        ends = tail is not None
        body = text[head.end() : head.end() + 160]
        kept += [text[at : head.start()], note]
        if tail is not None:
            at = tail.end()
        elif rules.compiled(r"[A-Za-z0-9+/=]{20}").search(body):
            return "".join(kept)
        else:
            at = head.end()


def _image_url(match: "re.Match[str]") -> str:
    size = (match.end() - match.start()) * 3 // 4
    return f"[image, {size} bytes]" if match["type"] == "image" else f"[data, {size} bytes]"


def _image_block(text: str) -> str:
    if len(text) < 1024 or " " in text[:128] or not rules.compiled(rules.BASE64).fullmatch(text):
        return text
    size = len(text) * 3 // 4
    if text.startswith(rules.IMAGE_HEAD):
        return f"[image, {size} bytes]"
    # A long run of letters may also be text without blanks; real base64 has every kind early.
    head = text[:512]
    mixed = head.lower() != head != head.upper() and any(char.isdigit() for char in head)
    return f"[base64, {size} bytes]" if mixed else text
