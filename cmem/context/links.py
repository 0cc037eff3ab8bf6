"""Links in stored text, made unable to carry anything away. HOT; pure; no imports.

A link loses userinfo, query and fragment in every spelling that some reader follows: browsers
take ``http:e``, ``http:\\\\e`` and ``//e`` for what they take ``http://e`` for, and renderers link
a bare ``www.e``. One that runs code, carries content, reads a file or names its host by number
goes as a whole. What is not stripped keeps its spelling. Each character is looked at a bounded
number of times.
"""

REMOVED = "[link removed]"
_WEB = ("https", "http", "wss", "ws", "ftp")
# Of a link or the beginning of one.
_SHORTEST = len("//e")
_BEGUN = tuple([scheme + ":" for scheme in _WEB])
_CODE = ("javascript", "vbscript")
_SCHEMES = (*_WEB, *_CODE, "data", "file", "mailto")
_LONGEST = len("javascript") + 1
_SLASHES = "/\\"
# A link of text ends before one of these, and what stands behind is a text of its own; but what
# links bare addresses goes on to white space, and takes a query there for the link's.
_ENDS = '"<>`'
# A link that stands in one of these may end where it closes.
_PAIRS = {
    "(": ")",
    "[": "]",
    "{": "}",
    "'": "'",
    "|": "|",
    "*": "*",
    "_": "_",
    "（": "）",
    "「": "」",
    "『": "』",
    "【": "】",
    "《": "》",
    "“": "”",
    "‘": "’",
}
# Chinese and Japanese text goes on behind a link without a space.
_FULL_WIDTH = "，。、；：！？（）「」『』【】《》“”‘’…"
_PUNCTUATION = ".,;:!"
_NUMBER_DOTS = ("\u3002", "\uff0e", "\uff61")  # what browsers read as a dot in a host's name

TYPE_CHECKING = False
if TYPE_CHECKING:
    # where it starts, its scheme or "www" or "", where its host starts
    Link = tuple[int, str, int]


def stripped(text: str, *, whole: bool = True) -> str:
    """One line of text with harmless links. Not ``whole``: the text goes on, so that a host's
    name at its very end may be the beginning of a password."""
    marks = [mark for mark in ("//", "\\", ":") if mark in text]
    words = text.split(" ")
    for at, word in enumerate(words):
        if any(mark in word for mark in marks) or "www." in word.lower():
            words[at] = _word(word, open_end=at == len(words) - 1 and not whole)
    return " ".join(words)


def _word(word: str, *, open_end: bool) -> str:
    """The word with its links stripped, and without what would be theirs behind a quote or a
    bracket."""
    parts = _parts(word)
    if len(parts) == 1:
        return _part(word, open_end=open_end)
    done: list[str] = []
    linked = False
    host: tuple[int, int] | None = None  # where the last host begins, while it may be a user
    for number, part in enumerate(parts):
        short = len(part) < _SHORTEST
        told = part if short else _part(part, open_end=open_end and number == len(parts) - 1)
        if linked:
            first, last = _marks(told, 0)
            told = told[:first] + (_rest(told, last + 1, "") if last >= 0 else "")
        name, slash, rest = told.partition("/")
        if host is not None and "@" in name:
            # Behind a space it is no link's.
            told = " " + name.rpartition("@")[2] + slash + rest
            linked, host = False, None
        elif slash:
            host = None
        after = None if short else _last_host(told)
        if after is not None:
            linked = True
            host = (number, after) if "/" not in told[after:] else None
        done.append(told)
    if open_end and host is not None:
        done = [*done[: host[0]], done[host[0]][: host[1]]]
    return "".join(done)


def _last_host(part: str) -> int | None:
    """Where the host of the last link begins; None where there is none. A scheme at the very end
    may get its host behind the mark."""
    low = part.lower()
    if low.endswith(_BEGUN):
        return len(part)
    if not (":" in part or "//" in part or "\\" in part or "www." in low):
        return None
    found = None
    link = _find(part, 0)
    while link is not None:
        found = link[2]
        link = _find(part, max(found, link[0] + 1))
    return found


def _parts(word: str) -> list[str]:
    """The word cut before and behind each mark that ends a link."""
    if not any(mark in word for mark in _ENDS):
        return [word]
    parts: list[str] = []
    done = 0
    for at, mark in enumerate(word):
        if mark in _ENDS:
            parts += [word[done:at], mark]
            done = at + 1
    parts.append(word[done:])
    return parts


def _part(part: str, *, open_end: bool) -> str:
    """The part with its links stripped."""
    done: list[str] = []
    while part:
        begin, part = _begin(part, open_end=open_end)
        done.append(begin)
    return "".join(done)


def _begin(part: str, *, open_end: bool) -> tuple[str, str]:
    """(the part's beginning with its links stripped, what goes on behind them). Behind the
    first query or fragment only what cannot belong to it goes on."""
    link = _find(part, 0)
    if link is None:
        return part, ""
    first, last = _marks(part, link[2])
    kept = part[:first]
    opener = part[link[0] - 1 : link[0]]
    out: list[str] = []
    done = 0
    while link is not None:
        start, scheme, after = link
        slash = kept.find("/", after)
        end = len(kept) if slash < 0 else slash
        host = kept[after:end]
        if open_end and end == len(part):
            host = ""
        elif scheme != "mailto" and "@" in host:
            host = host.rpartition("@")[2].lstrip("\\")
        name = "" if scheme == "www" else _name(host)
        if _is_dangerous(scheme, part, after) or _is_address(host, name, scheme + part[after - 1]):
            behind = max(end - len(host) + len(name), last + 1)
            return "".join([*out, kept[done:start], REMOVED]), _rest(part, behind, opener)
        out.append(kept[done:after])
        done = end - len(host)
        # Without a host the next name is one, as browsers read it; a host may hold a link.
        link = _find(kept, done) if host else _next_name(kept, scheme, end)
    rest = _rest(part, last + 1, opener) if last >= 0 else ""
    return "".join([*out, kept[done:]]), rest


def _next_name(part: str, scheme: str, slash: int) -> "Link | None":
    after = _skip(part, slash)
    return (slash, scheme, after) if after < len(part) else None


def _marks(part: str, after: int) -> tuple[int, int]:
    """Where the first query or fragment begins, and the last; the part's length and -1 when
    there is none."""
    found = [at for at in (part.find("?", after), part.find("#", after)) if at >= 0]
    return min(found, default=len(part)), max(part.rfind("?", after), part.rfind("#", after))


def _rest(part: str, at: int, opener: str) -> str:
    """What goes on behind a link of which everything up to ``at`` is dropped or done. It moves
    up to the host, where an at sign would make a user's name of it."""
    if "@" in part[at:]:
        return ""
    closer = _PAIRS.get(opener, "")
    closed = part.rfind(closer, at) if closer else -1
    if closed >= 0:
        return part[closed:]
    rest = part[at:]
    for number, mark in enumerate(rest):
        if mark in _FULL_WIDTH:
            return rest[number:]
    nested = any(mark in rest for mark in "([{")
    return rest[len(rest.rstrip(_PUNCTUATION if nested else _PUNCTUATION + ")]}'*|")) :]


def _find(part: str, at: int) -> "Link | None":
    """The first link from ``at`` on."""
    while at < len(part):
        mark = part[at]
        link = None
        if mark == ":":
            link = _after_scheme(part, at)
        elif mark in _SLASHES:
            after = _skip(part, at)
            link = _after_slashes(part, at, after)
            at = max(at, after - 1)
        elif mark in "wW" and part[at : at + 4].lower() == "www." and not _joins(part, at):
            link = at, "www", at + 4
        if link is not None:
            return link
        at += 1
    return None


def _skip(part: str, at: int) -> int:
    while at < len(part) and part[at] in _SLASHES:
        at += 1
    return at


def _after_scheme(part: str, colon: int) -> "Link | None":
    """The link of a scheme that needs no slashes, if it is one's colon."""
    near = part[max(0, colon - _LONGEST) : colon].lower()
    if not near.endswith(_SCHEMES):
        return None
    scheme = next(one for one in _SCHEMES if near.endswith(one))
    before = near[: -len(scheme)][-1:]
    rest = part[colon + 1 : colon + 2]
    if not rest or (before.isascii() and before.isalpha()):
        return None
    if scheme == "file" and rest not in _SLASHES:
        return None
    if scheme == "data" and ("," not in part[colon:] or not (rest.isalnum() or rest in ",;")):
        return None
    return colon - len(scheme), scheme, _skip(part, colon + 1)


def _after_slashes(part: str, at: int, after: int) -> "Link | None":
    """The link of another scheme, or of none: a path's own double slash is not one. Of
    backslashes, which text is full of, only those before a name with a dot count."""
    slashes = part.count("/", at, after)
    if after - at < 2 or after == len(part) or _joins(part, at):
        return None
    if slashes < 2 and not _has_dot(part, after):
        return None
    return at, "", after


def _joins(part: str, at: int) -> bool:
    """Whether what stands before belongs to the same name or path."""
    before = part[at - 1 : at]
    return before.isascii() and (before.isalnum() or before in tuple(".-/\\%"))


def _has_dot(part: str, at: int) -> bool:
    name, dot, rest = part[at : at + 64].partition(".")
    return bool(dot) and name.replace("-", "").isalnum() and rest[:1].isalpha()


def _is_dangerous(scheme: str, part: str, after: int) -> bool:
    """Whether a link runs code, carries content or reads a file."""
    return scheme in ("data", "file") or (scheme in _CODE and after < len(part))


def _is_address(host: str, name: str, before: str) -> bool:
    """Whether a host is written as a number: 10.0.0.1, [::1], 2130706433, 0x7f000001. A small
    one is nobody's address: a port behind ``http:``, a divisor behind ``//``."""
    if host.startswith("[") or "%" in name:
        return True
    small = len(name) <= 5 and name.isdigit() and name[0] != "0"
    if before == "mailto:" or (small and (before == "/" or before.endswith(":"))):
        return False
    for dot in _NUMBER_DOTS:
        name = name.replace(dot, ".")
    last = name.rstrip(".").lower().rpartition(".")[2]
    return last.isdigit() or last.startswith("0x")


def _name(host: str) -> str:
    """The host without its port and what text may follow it."""
    for at, mark in enumerate(host):
        dot = mark in _NUMBER_DOTS and host[at + 1 : at + 2].isdigit()
        if not (mark.isalnum() or mark in ".-_%" or dot):
            return host[:at]
    return host
