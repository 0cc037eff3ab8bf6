"""Files that may be compressed: written by the ending of their name, read by what they hold.

gzip is the standard library's; zstd is too from Python 3.14 on, and before that the package
``zstandard``. The same text gives the same bytes.
"""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, cast

from cmem import libraries
from cmem.errors import CmemError

if TYPE_CHECKING:
    from collections.abc import Iterator

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
ENDINGS = {".gz": GZIP, ".zst": ZSTD}


@contextmanager
def writing(raw: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """What is written ends up in ``raw``, compressed as the name says."""
    kind = next((magic for ending, magic in ENDINGS.items() if name.endswith(ending)), b"")
    if kind == GZIP:
        # No name and no time in it: they would make two exports of one memory differ.
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as out:
            yield cast("IO[bytes]", out)
    elif kind == ZSTD:
        with _zstd_writer(raw) as out:
            yield out
    else:
        yield raw


def reading(raw: IO[bytes]) -> IO[bytes]:
    """The file's text, whatever it is packed with; ``raw`` can be peeked into."""
    start = cast("Any", raw).peek(4)[:4]
    if start.startswith(GZIP):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw, mode="rb"))
    if start == ZSTD:
        return _zstd_reader(raw)
    return raw


def damage(error: Exception) -> str:
    """What it says of a compressed file that reading it failed so; "" for another failure."""
    kinds: tuple[type[Exception], ...] = (EOFError, zlib.error, gzip.BadGzipFile)
    name = type(error).__name__
    if isinstance(error, kinds) or name in ("ZstdError", "ZstdDecompressionError"):
        return "the compressed file is cut off or damaged from here on"
    return ""


def _zstd_writer(raw: IO[bytes]) -> Any:
    module = _zstd()
    if hasattr(module, "ZstdFile"):
        return module.ZstdFile(raw, "wb")
    return module.ZstdCompressor(level=6).stream_writer(raw, closefd=False)


def _zstd_reader(raw: IO[bytes]) -> IO[bytes]:
    module = _zstd()
    if hasattr(module, "ZstdFile"):
        return cast("IO[bytes]", module.ZstdFile(raw, "rb"))
    import io

    stream = module.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False)
    return cast("IO[bytes]", io.BufferedReader(stream, 1 << 20))


def _zstd() -> Any:
    for name in ("compression.zstd", "zstandard"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise CmemError(
        f"this Python has no zstd; install it with `{libraries.install('zstandard')}`, or use .gz"
    )
