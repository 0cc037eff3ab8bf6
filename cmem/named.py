"""``NamedTuple`` as of ``typing``, for modules that a search imports.

To type checkers it is the same class. ``typing`` and what it brings along cost 8 ms of a process
of 30, and every class made by it another fifth of one, because its constructor is compiled. Here
the constructor is shared, so a class costs next to nothing, and an instance a little more.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - others import it from here
else:
    from _collections import _tuplegetter

    class _Kind(type):
        def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> _Kind:
            made = type.__new__(cls, name, bases, {"__slots__": (), **members})
            fields = tuple(made.__annotations__) if bases != (tuple,) else ()
            made._fields = made.__match_args__ = fields
            made._field_defaults = {one: members[one] for one in fields if one in members}
            for place, one in enumerate(fields):
                setattr(made, one, _tuplegetter(place, None))
            return made

    class NamedTuple(tuple, metaclass=_Kind):
        """A tuple whose fields have the names, and the defaults, that the class gives them."""

        __slots__ = ()

        def __new__(cls, *values: object, **named: object) -> NamedTuple:  # noqa: PYI034
            if named or len(values) != len(cls._fields):
                values = cls._filled(values, named)
            return tuple.__new__(cls, values)

        @classmethod
        def _filled(
            cls, values: tuple[object, ...], named: dict[str, object]
        ) -> tuple[object, ...]:
            left = cls._fields[len(values) :]
            given = cls._field_defaults | named
            if len(values) > len(cls._fields) or not named.keys() <= set(left):
                raise TypeError(f"{cls.__name__}: one value for each of {cls._fields}")
            missing = [one for one in left if one not in given]
            if missing:
                raise TypeError(f"{cls.__name__}: no value for {', '.join(missing)}")
            return (*values, *[given[one] for one in left])

        # Of as many values as there are fields, as rows of a statement are.
        _make = classmethod(tuple.__new__)

        def _asdict(self) -> dict[str, object]:
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **changed: object) -> NamedTuple:
            return type(self)(**{**self._asdict(), **changed})

        def __repr__(self) -> str:
            shown = ", ".join([f"{one}={self[at]!r}" for at, one in enumerate(self._fields)])
            return f"{type(self).__name__}({shown})"

        def __getnewargs__(self) -> tuple[object, ...]:
            return tuple(self)
