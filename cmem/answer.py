"""The answer of a turn, from where the host has just written it.

A host may tell that a turn has ended without the words it ended with, but name the file it
keeps the session in. What stands there since the last prompt is looked at, in the file's last
part only, and the line with the answer goes into the payload before that is scrubbed. It may be
written a moment after the hook has been started.
"""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cmem.hosts.wire import Transcript

KEY = b'"cmem_answer"'
TAIL = 256 * 1024
LOOKS = 5
PAUSE_S = 0.04
_REGULAR, _KIND = 0o100000, 0o170000


def attach(payload: bytes, transcript: "Transcript") -> bytes:
    """The payload with the line that holds the answer; as it was where there is none."""
    from cmem import spool

    document = payload.strip()
    try:
        found = spool.fields(document.decode(), (transcript[0],))
        line = _wait(found[0], transcript) if found and found[0] else b""
        if not line or spool.fields(line.decode(), (transcript[0],)) is None:
            return payload
    except (OSError, ValueError):
        return payload
    return document[:-1] + b"," + KEY + b":" + line + b"}"


def _wait(path: str, transcript: "Transcript") -> bytes:
    for _ in range(LOOKS - 1):
        line = _last(_tail(path), transcript)
        if line:
            return line
        time.sleep(PAUSE_S)
    return _last(_tail(path), transcript)


def _last(tail: bytes, transcript: "Transcript") -> bytes:
    """The last line that begins as answers do, none from before the last prompt, and none that
    calls tools: words before a call are not the end of a turn."""
    _path, prompt, answer, calling = transcript
    for line in reversed(tail.split(b"\n")):
        if line.startswith(prompt):
            return b""
        if line.startswith(answer):
            return b"" if calling in line else line.strip()
    return b""


def _tail(path: str) -> bytes:
    """The end of the file; nothing of what is no file, which could keep us waiting."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    file = os.open(path, flags)
    try:
        found = os.fstat(file)
        if found.st_mode & _KIND != _REGULAR:
            return b""
        os.lseek(file, max(0, found.st_size - TAIL), os.SEEK_SET)
        return os.read(file, TAIL)
    finally:
        os.close(file)
