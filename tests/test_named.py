from __future__ import annotations

import copy
import pickle
from typing import NamedTuple as Ordinary

import pytest

from cmem.named import NamedTuple


class Ours(NamedTuple):
    """A place."""

    name: str
    row: int = 0
    tags: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        return f"{self.name}{self.row}"


class Theirs(Ordinary):
    name: str
    row: int = 0
    tags: tuple[str, ...] = ()


CALLS = (
    (("a",), {}),
    (("a", 1, ("b",)), {}),
    (("a",), {"tags": ("x",)}),
    ((), {"tags": (), "name": "n", "row": 2}),
    ((), {}),
    ((), {"row": 1}),
    (("a", 1, (), 4), {}),
    (("a",), {"name": "b"}),
    (("a",), {"other": 1}),
)


@pytest.mark.parametrize(("values", "named"), CALLS, ids=str)
def test_it_is_made_and_refused_as_one_of_typing(values, named):
    try:
        expected = tuple(Theirs(*values, **named))
    except TypeError:
        with pytest.raises(TypeError, match="Ours: "):
            Ours(*values, **named)
    else:
        assert Ours(*values, **named) == expected


def test_it_has_what_one_of_typing_has():
    one, other = Ours("a", tags=("b",)), Theirs("a", tags=("b",))
    assert (one.name, one.row, one.tags) == ("a", 0, ("b",)) == tuple(one)
    assert one._fields == other._fields == Ours.__match_args__
    assert one._asdict() == other._asdict()
    assert one._replace(row=3) == other._replace(row=3)
    assert isinstance(one._replace(row=3), Ours)
    assert Ours._make(["a", 1, ()]) == Theirs._make(["a", 1, ()])
    assert repr(one) == repr(other).replace("Theirs", "Ours")
    assert one.shown == "a0" and Ours.__doc__ == "A place."
    with pytest.raises(AttributeError):
        one.name = "b"
    with pytest.raises(AttributeError):
        one.colour = "b"
    assert {one: 1}[Ours("a", 0, ("b",))] == 1


def test_copies_are_of_the_same_class():
    one = Ours("a", 1)
    for same in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert (same, type(same)) == (one, Ours)
