"""Cut from text what must not be stored, and say in its place what was cut.

On decoded strings, so that no escape hides anything; before any truncation. Scrubbing what is
scrubbed changes nothing.
"""

from cmem import lenient
from cmem.privacy import lists, rules, sources, spans
from cmem.privacy.reading import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

# (prompt, tool input, command in it, tool results): the host's names, from hosts/wire.py.
Shape = tuple[str, str, str, tuple[str, ...]]
PRIVATE = "cmem_private"
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
        return lenient.dumps(_walk(without_spans(value), 0, room))
    prompt, tool_input, command, results = shape
    value = sources.without_content(value, tool_input=tool_input, command=command, results=results)
    clean = _walk(without_spans(value), 0, room)
    if isinstance(clean, dict) and _only_private(value.get(prompt), clean.get(prompt)):
        clean[PRIVATE] = True
    return lenient.dumps(clean)


def _only_private(before: object, after: object) -> bool:
    if not isinstance(before, str) or not isinstance(after, str) or after.strip():
        return False
    return bool(before.strip()) and spans.without_private(shown(before)) != shown(before)


def without_spans(value: object) -> object:
    """A JSON value without what reaches over several texts of a list."""
    return lists.across(value, _without_spans)


def _without_spans(pieces: list[str]) -> list[str]:
    """The pieces without what reaches from one into another. What begins and ends in one piece
    is left to the look at that piece alone."""
    plain = [shown(piece) for piece in pieces]
    if not spans.opens("\n".join(plain)):
        return pieces
    clean = spans.without(plain)
    if clean == [spans.without([piece])[0] for piece in plain]:
        return pieces
    return [
        given if kept == seen else kept
        for given, seen, kept in zip(pieces, plain, clean, strict=True)
    ]


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

    What only shows when the text is read (``reading.shown``) is cut from the text so read;
    where that shows nothing more, the text stays as it was written.
    """
    if len(text) < 8:
        return text
    clean = _scrubbed(text, room)
    plain = shown(text)
    if plain == text:
        return clean
    read = _scrubbed(plain, room)
    if read in (plain, shown(clean)):
        return clean
    # What an invisible character sets apart from the word before it shows only as it stands.
    if not room or len(text) <= room:
        plain = shown(_without_tokens(text, text.lower()))
    return _scrubbed(plain, room)


def _scrubbed(text: str, room: int) -> str:
    text = spans.without([text])[0]
    if ";base64," in text:
        text = rules.compiled(rules.IMAGE_URL).sub(_image_url, text)
    text = _image_block(text)
    if room and len(text) > room:
        return _ends(text)
    return _without_tokens(text, text.lower())


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
