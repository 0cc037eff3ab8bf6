"""Load apsw without the standard library's ``collections``. HOT.

apsw's import asks ``collections.abc`` for ``Mapping`` and nothing else, but ``collections``
brings ``operator``, ``keyword``, ``reprlib`` and 80 kB of byte code, and its abstract classes
are another 0.7 ms: 2.1 ms of a hook's 14. A stand-in that has only ``Mapping`` serves it; where
it does not, apsw is imported as ever. It is ``dict``, the only mapping that is ever bound to a
statement here. The stand-in is gone afterwards, so that whoever needs ``collections`` later gets
the real one.
"""

import sys

NAMES = ("collections", "collections.abc")


def load() -> None:
    """Import apsw, if it is there to import. Never raises."""
    if "apsw" in sys.modules:
        return
    if "collections" not in sys.modules:
        _with_stand_in()
    try:
        import apsw  # noqa: F401 - the import is the effect
    except ImportError:
        return


def _with_stand_in() -> None:
    stand_in, abc = map(type(sys), NAMES)
    abc.Mapping = dict  # type: ignore[attr-defined]
    stand_in.abc = abc  # type: ignore[attr-defined]
    sys.modules.update(zip(NAMES, (stand_in, abc), strict=True))
    try:
        import apsw  # noqa: F401
    except Exception:  # noqa: BLE001 - load() tries again, with the real one
        sys.modules.pop("apsw", None)
    finally:
        for name in NAMES:
            sys.modules.pop(name, None)
