"""Where a directory stands in git, from its files alone.

Branch and commit change before a drain runs, so the hook reads them; starting git would cost
more than the whole hook and would run what a hostile repository configures.
"""

import os

_MAX_FILE = 1 << 22
_HEX = frozenset("0123456789abcdef")
_NOWHERE = ("", "", "", "")


def read_repo(cwd: str) -> tuple[str, str, str, str]:
    """(root, common_dir, branch, commit) of the repository around ``cwd``, "" where unknown.

    A ``.git`` that is no directory of its own counts only if the place it names points back:
    else a downloaded folder could pass itself off as any repository on the machine.
    """
    if not os.path.isabs(cwd):
        return _NOWHERE
    try:
        place = os.path.realpath(cwd)
        while True:
            marker = place + "/.git" if place != "/" else "/.git"
            try:
                mode = os.lstat(marker).st_mode & 0o170000
            except (FileNotFoundError, NotADirectoryError):
                mode = 0
            if mode:
                return _described(place, marker, mode)
            parent = os.path.dirname(place)
            if parent == place:
                return _NOWHERE
            place = parent
    except (OSError, ValueError):
        return _NOWHERE


def _described(root: str, marker: str, mode: int) -> tuple[str, str, str, str]:
    if mode == 0o040000:
        git_dir = common = marker
    else:
        git_dir = os.path.realpath(marker) if mode == 0o120000 else _named_by(marker, root)
        if not git_dir:
            return _NOWHERE
        common = _confirmed(git_dir, root)
    head = _text(git_dir + "/HEAD").strip()
    if not common or not head:
        return _NOWHERE
    branch, commit = _head(head, git_dir, common)
    return _shown(root), _shown(common), branch, commit


def _named_by(marker: str, root: str) -> str:
    text = _text(marker)
    if not text.startswith("gitdir:"):
        return ""
    return os.path.realpath(os.path.join(root, text[7:].strip("\r\n ")))


def _confirmed(git_dir: str, root: str) -> str:
    """The common directory if ``git_dir`` names ``root`` as its work tree, else ""."""
    back = _text(git_dir + "/gitdir").strip("\r\n")
    if back:  # a linked worktree
        if os.path.realpath(os.path.join(git_dir, back)) != os.path.realpath(root + "/.git"):
            return ""
        common = _text(git_dir + "/commondir").strip("\r\n")
        return os.path.realpath(os.path.join(git_dir, common)) if common else ""
    for section, key, value in _config(git_dir + "/config"):  # a submodule
        if section == "core" and key == "worktree":
            same = os.path.realpath(os.path.join(git_dir, value)) == root
            return git_dir if same else ""
    return ""


def _head(head: str, git_dir: str, common: str) -> tuple[str, str]:
    if not head.startswith("ref:"):
        return "", _commit(head)
    ref = head[4:].strip()
    branch = ref[11:] if ref.startswith("refs/heads/") else ""
    if branch == ".invalid":  # the reftable format keeps its refs elsewhere
        return "", ""
    if not ref.startswith("refs/") or ".." in ref:
        return "", ""
    for place in (git_dir, common):
        commit = _commit(_text(f"{place}/{ref}").strip())
        if commit:
            return _shown(branch), commit
    return _shown(branch), _packed(common, ref)


def _packed(common: str, ref: str) -> str:
    packed = _text(common + "/packed-refs")
    at = packed.find(f" {ref}\n")
    if at < 0:
        return ""
    return _commit(packed[packed.rfind("\n", 0, at) + 1 : at])


def _commit(text: str) -> str:
    return text if len(text) in (40, 64) and _HEX.issuperset(text) else ""


def read_remote(common_dir: str) -> str:
    """The remote origin, else the first one, as "host/owner/repo"; "" when there is none."""
    first = ""
    for section, key, value in _config(common_dir + "/config"):
        if key != "url" or not section.startswith("remote "):
            continue
        if section == 'remote "origin"':
            return normalise_remote(value)
        first = first or value
    return normalise_remote(first)


def normalise_remote(url: str) -> str:
    """One spelling for the ssh, https and scp spellings of a remote; "" for a local path."""
    url = url.strip()
    scheme, mark, rest = url.partition("://")
    if mark:
        authority, _, path = rest.partition("/")
    else:
        scheme = "ssh"
        authority, colon, path = url.partition(":")
        if not colon or "/" in authority or len(authority) < 2:  # a path, or a drive letter
            return ""
    scheme = scheme.lower()
    host = authority.rpartition("@")[2].lower()
    name, _, port = host.partition(":")
    # A server's ssh port says nothing of the repository; another web port is another server.
    keep = port if scheme in ("http", "https") and port not in ("", "80", "443") else ""
    path = path.partition("?")[0].strip("/")
    if path.endswith(".git"):
        path = path[:-4].rstrip("/")
    if not name or not path or scheme == "file":
        return ""
    return f"{name}:{keep}/{path}" if keep else f"{name}/{path}"


def _config(path: str) -> list[tuple[str, str, str]]:
    """(section, key, value) of a git config file, sections spelled `name "sub"`."""
    found = []
    section = ""
    for raw in _text(path).split("\n"):
        line = raw.strip()
        if line.startswith("["):
            head, _, line = line[1:].partition("]")
            name, _, sub = head.partition(" ")
            section = f"{name.lower()} {sub.strip()}" if sub else name.lower()
            line = line.strip()
        if not line or line[0] in "#;":
            continue
        key, _, value = line.partition("=")
        found.append((section, key.strip().lower(), _value(value.strip())))
    return found


def _value(text: str) -> str:
    if text.startswith('"'):
        end = text.find('"', 1)
        return text[1 : end if end > 0 else None].replace("\\\\", "\\")
    for mark in (" #", " ;"):
        text = text.partition(mark)[0]
    return text.strip()


def _text(path: str) -> str:
    """The text of a small regular file, "" for anything else. Never waits on a pipe."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        data = os.read(fd, 65_536)
        if len(data) == 65_536:
            data += os.read(fd, _MAX_FILE)
        return os.fsdecode(data)
    except OSError:
        return ""
    finally:
        os.close(fd)


def _shown(text: str) -> str:
    """The text as SQLite takes it: bytes that are no UTF-8 become U+FFFD."""
    return os.fsencode(text).decode("utf-8", "replace")
