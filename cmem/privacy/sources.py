"""Tool calls that read or write a secret source: the fact stays, the content goes."""

from cmem import lenient
from cmem.privacy import gates, rules

NOTE = "[REDACTED:sensitive-source]"
_MAX_PATH = 1024
_MAX_DEPTH = 8
_MAX_GATED = 65_536
_COMMANDS = ("command", "cmd")
_PATCH = "*** Begin Patch"


def without_content(
    payload: dict[str, object], *, tool_input: str, command: str, results: tuple[str, ...]
) -> dict[str, object]:
    """The payload with its results replaced when the tool's input names a secret source.

    A file tool's other arguments (what was written) go too; of a command that writes such a
    file only the file's name is kept.
    """
    given = payload.get(tool_input)
    texts = _strings(given, 0)
    lines = _lines(given, command)
    if _is_plain(texts + lines):
        return payload
    paths = [text for text in texts if is_path(text)]
    if not paths and not any(is_command(line) for line in lines):
        return payload
    found = {key: NOTE if key in results else value for key, value in payload.items()}
    if isinstance(given, dict):
        found[tool_input] = {key: _kept(value, paths) for key, value in given.items()}
    return found


def _lines(given: object, command: str) -> list[str]:
    """The commands in a tool's input: under the host's name for one or as others call it, and
    also those that are given word by word."""
    if not isinstance(given, dict):
        return []
    found: list[str] = []
    for name in dict.fromkeys((command, *_COMMANDS)):
        value = given.get(name)
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            found.append(" ".join([word for word in value if isinstance(word, str)]))
    return found


def _is_plain(texts: list[str]) -> bool:
    """Whether the gates see no source in the input, as in that of nearly every call. To make
    the two patterns takes longer than to store the event."""
    raw = lenient.dumps(texts)
    return len(raw) <= _MAX_GATED and not gates.hit(raw)


def is_path(text: str) -> bool:
    """Whether the whole text is the path of a file whose content is a secret."""
    if len(text) > _MAX_PATH or "\n" in text:
        return False
    return rules.compiled(rules.SENSITIVE_PATH).fullmatch(text) is not None


def is_command(text: str) -> bool:
    """Whether the text, as a command, prints secrets or names a secret file. Of a patch only
    the files it changes count: its lines are no commands."""
    if text.lstrip().startswith(_PATCH):
        return bool(_patched(text))
    if rules.compiled(rules.SENSITIVE_COMMAND).search(text):
        return True
    if "$" in text and rules.compiled(rules.ECHOED).search(text):
        return True
    if rules.compiled(rules.INLINE).search(text) and rules.compiled(rules.DUMPED).search(text):
        return True
    return any(is_path(word) for word in _words(text))


def _words(text: str) -> list[str]:
    return [w.strip("()$@{}:") for w in rules.compiled(rules.WORD_BREAK).split(text) if w]


def _kept(value: object, paths: list[str], depth: int = 0) -> object:
    """The argument without what was written: an edit's text may stand in a list of edits."""
    if isinstance(value, (dict, list)):
        if depth >= _MAX_DEPTH:
            return NOTE
        if isinstance(value, list):
            return [_kept(item, paths, depth + 1) for item in value]
        return {key: _kept(item, paths, depth + 1) for key, item in value.items()}
    if not isinstance(value, str) or value in paths:
        return value
    if paths:
        return NOTE
    written = _written(value)
    return f"{NOTE} > {written}" if written else value


def _written(command: str) -> str:
    """The secret file a command writes to, "" if it writes none."""
    if command.lstrip().startswith(_PATCH):
        return _patched(command)
    pieces = rules.compiled(r">{1,2}\|?[ \t]{0,4}|\btee(?: -a)? ").split(command)
    for piece in pieces[1:]:
        name = piece.strip().split(None, 1)[0].strip("'\";)") if piece.strip() else ""
        if name and is_path(name):
            return name
    return ""


def _patched(patch: str) -> str:
    """The first secret file that a patch changes, "" if it changes none."""
    heads = rules.compiled(r"(?m)^\*\*\* [A-Z][A-Za-z ]{1,20}: (.{1,1024})$").findall(patch)
    return next((head.strip() for head in heads if is_path(head.strip())), "")


def _strings(value: object, depth: int) -> list[str]:
    if isinstance(value, str):
        return [value]
    if depth >= _MAX_DEPTH or not isinstance(value, (dict, list)):
        return []
    items = value.values() if isinstance(value, dict) else value
    return [text for item in items for text in _strings(item, depth + 1)]
