"""The SQL functions behind the index view and its filters, and what a raw tool use reads like. HOT.

Registered on every connection, readers included: a statement that only names the view must
be prepared. All are deterministic, because the index forgets a row by producing its terms
again, and innocuous, because the view that calls them is part of the schema.
"""

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD_CHARACTERS = 12_000
TAIL_CHARACTERS = 4_000
ARGUMENT_CHARACTERS = 200

# What a tool call is about, in the order a reader wants it.
MAIN_ARGUMENTS = (
    "file_path",
    "notebook_path",
    "path",
    "command",
    "pattern",
    "url",
    "query",
    "skill",
    "subagent_type",
    "description",
)

# Where hosts name the file that a call is about; a patch names those it changes by lines.
FILE_ARGUMENTS = ("file_path", "notebook_path", "filePath", "absolute_path", "path")
_PATCH_LINES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")

_last_body: "list[object]" = [None, ""]


def register(conn: apsw.Connection) -> None:
    """Make the index functions known to ``conn``."""
    table: tuple[tuple[str, Callable[..., str], int], ...] = (
        ("cmem_words", _words, 1),
        ("cmem_parts", _parts, 1),
        ("cmem_list", list_text, 1),
        ("cmem_keys", keys, 5),
        ("cmem_tool_title", tool_title, 2),
        ("cmem_tool_body", tool_body, 2),
        ("cmem_tool_files", _tool_files, 1),
        ("cmem_folded", _folded, 1),
    )
    for name, function, arguments in table:
        conn.create_scalar_function(
            name, function, arguments, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
        )


def key(letter: str, value: object) -> str:
    """One filter as an index term: ``p_17_``, ``t_bugfix_``. Equal values, equal terms.

    The closing sign keeps the stemmer off; a sign that would split the term is spelled out."""
    text = str(value).strip().lower()
    if not text.isascii() or not text.replace("_", "a").replace("-", "a").isalnum():
        text = "".join([c if _is_plain(c) else f".{ord(c):x}." for c in text])
    return f"{letter}_{text}_"


def keys(*values: object) -> str:
    """All filters of a row (kind, project, type, host, agent type) as terms of column ``k``."""
    terms = [key(letter, value) for letter, value in zip("dptha", values, strict=True)]
    return " ".join(terms if values[-1] else terms[:-1])


def list_text(value: object) -> str:
    """The strings of a stored JSON list, one a line."""
    if not value or value == "[]":
        return ""
    return "\n".join(leaves(str(value)))


def tool_title(name: object, packed_input: "str | bytes | None") -> str:
    """``Bash: python3 -m unittest``: the tool and what it was called on, on one line."""
    arguments = _parse(_unpack(packed_input))
    named = [arguments.get(key) for key in MAIN_ARGUMENTS] if isinstance(arguments, dict) else []
    told = [" ".join(value.split()) for value in named if isinstance(value, str)]
    text = " · ".join([value[:ARGUMENT_CHARACTERS] for value in told if value])
    return f"{name}: {text}" if text else str(name)


def tool_body(packed_input: "str | bytes | None", packed_response: "str | bytes | None") -> str:
    """The readable text of a call: every string of input and response, no JSON signs."""
    asked = (packed_input, packed_response)
    # The view wants it twice for each row, once for its words and once for their parts.
    if _last_body[0] != asked:
        both = [readable(_unpack(packed)) for packed in asked]
        _last_body[:] = asked, "\n".join([text for text in both if text])
    return str(_last_body[1])


def tool_files(packed_input: "str | bytes | None") -> "list[str]":
    """The files that a tool call names as what it is about, each once."""
    given = _parse(_unpack(packed_input)) if packed_input else None
    if not isinstance(given, dict):
        return []
    found = [given[name] for name in FILE_ARGUMENTS if isinstance(given.get(name), str)]
    for text in given.values():
        if isinstance(text, str) and "*** " in text:
            found += [
                line.removeprefix(start).strip()
                for line in text.splitlines()
                for start in _PATCH_LINES
                if line.startswith(start)
            ]
    return [path for path in dict.fromkeys(found) if path]


def readable(text: str) -> str:
    """The strings of a JSON text, one a line, the middle of a very long result left out."""
    joined = "\n".join(leaves(text))
    if len(joined) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return joined
    return joined[:HEAD_CHARACTERS] + "\n" + joined[-TAIL_CHARACTERS:]


def output(packed: "str | bytes | None") -> str:
    """All that a tool printed, one string a line."""
    return "\n".join(leaves(_unpack(packed)))


def _words(text: object) -> str:
    from cmem.store import segment

    return segment.words(str(text)) if text else ""


def _parts(text: object) -> str:
    from cmem.store import segment

    return segment.parts(str(text)) if text else ""


def _folded(text: object) -> str:
    from cmem.store import segment

    return segment.fold(str(text).strip())


def _tool_files(packed_input: "str | bytes | None") -> str:
    import json

    return json.dumps(tool_files(packed_input))


def _is_plain(char: str) -> bool:
    return char in "_-" or (char.isascii() and char.isalnum())


def _unpack(value: "str | bytes | None") -> str:
    from cmem.store.codec import unpack

    return unpack(value)


def _parse(text: str) -> object:
    from cmem import plain_json

    try:
        return plain_json.loads(text)
    except (ValueError, RecursionError):
        return text


def leaves(text: str) -> "Iterator[str]":
    """The strings of a JSON text in order; the text itself when it is no JSON."""
    pending = [_parse(text)] if text else []
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            if value:
                yield value
        elif isinstance(value, dict):
            pending.extend(reversed(list(value.values())))
        elif isinstance(value, list):
            pending.extend(reversed(value))
