"""Dataclasses that are written at their first instance: what the standard library's do."""

import copy
import dataclasses
import pickle
import threading
from dataclasses import field
from functools import cached_property
from typing import ClassVar

import pytest

from transpile.util.frozen_records import changed, dataclass, memoized, replace, same


def fresh():
    """Two classes of which there is no instance yet, one extending the other."""

    @dataclass(frozen=True)
    class Point:
        """A point."""

        x: int
        y: list = field(default_factory=list)
        name: str = "p"

    @dataclass(frozen=True)
    class Marked(Point):
        mark: int = 3

    return Point, Marked


def test_instances_are_those_of_a_dataclass():
    point, marked = fresh()
    assert not dataclasses.is_dataclass(point)
    a = marked(1, mark=5)
    assert dataclasses.is_dataclass(point) and dataclasses.is_dataclass(marked)
    assert repr(a).endswith("Marked(x=1, y=[], name='p', mark=5)")
    assert a == marked(1, [], "p", 5) and a != marked(2) and a != point(1)
    assert point(1).y is not point(1).y
    assert dataclasses.replace(a, x=7).x == 7
    assert [f.name for f in dataclasses.fields(point)] == ["x", "y", "name"]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        a.x = 2
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        point()
    match a:
        case point(x, _, name):
            assert (x, name) == (1, "p")


def test_hashes_are_those_of_the_fields():
    @dataclass(frozen=True)
    class Pair:
        a: int
        b: int

    assert len({Pair(1, 2), Pair(1, 2), Pair(2, 1)}) == 2
    assert hash(Pair(1, 2)) == hash((1, 2))

    @dataclass(eq=False)
    class Node:
        value: int

    one = Node(1)
    one.value = 2
    assert len({one, Node(2)}) == 2 and one != Node(2)


def test_the_fields_of_a_class_with_a_constructor_of_its_own():
    @dataclass(frozen=True)
    class Halved:
        value: float

        def __init__(self, value):
            object.__setattr__(self, "value", value / 2)

    assert Halved(3) == Halved(3.0) and repr(Halved(3)).endswith("Halved(value=1.5)")


def test_a_single_field_is_compared_as_a_field():
    nan = float("nan")

    @dataclass(frozen=True)
    class Single:
        value: object

    @dataclass(frozen=True)
    class Nothing:
        pass

    @dataclass
    class Open:
        value: int

    assert Single(nan) == Single(nan) and Single([1]) != Single([2])
    assert Nothing() == Nothing() and len({Nothing(), Nothing()}) == 1
    assert repr(Nothing()).endswith("Nothing()")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Open(1))


def test_methods_of_the_class_are_kept():
    @dataclass(frozen=True)
    class Own:
        value: int

        def __eq__(self, other):
            return isinstance(other, Own) and abs(self.value) == abs(other.value)

        def __repr__(self):
            return "own"

    assert Own(1) == Own(-1) and repr(Own(1)) == "own" and hash(Own(1)) == hash(Own(1))


def test_frozen_instances_refuse_and_subclasses_have_attributes_of_their_own():
    point, _ = fresh()
    a = point(1)
    for attempt in (lambda: setattr(a, "x", 2), lambda: setattr(a, "other", 2)):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field"):
            attempt()
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del a.x

    class Free(point):
        pass

    free = Free(1)
    free.other = 5
    assert free.other == 5
    del free.other
    with pytest.raises(dataclasses.FrozenInstanceError):
        free.x = 2


def test_what_follows_the_constructor_is_called():
    @dataclass
    class Checked:
        value: int

        def __post_init__(self):
            self.value += 1

    assert Checked(1).value == 2


def test_subclasses_without_fields_and_with_constructors():
    point, _ = fresh()

    class Named(point):
        def __init__(self, name):
            super().__init__(0, name=name)

    named = Named("q")
    assert (named.x, named.y, named.name) == (0, [], "q")


@dataclass(frozen=True)
class Kept:
    """At the top of the module, so that it can be pickled."""

    x: int
    y: str = "y"


def test_the_first_instance_may_be_unpickled():
    def first():
        @dataclass(frozen=True)
        class Local:
            x: int

        return Local

    cls = first()
    made = cls.__new__(cls)  # what pickle and copy do
    made.__setstate__({"x": 4})
    assert made == cls(4) and hash(made) == hash(cls(4)) and repr(made).endswith("Local(x=4)")
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3) == copy.copy(Kept(3))


def test_threads_may_make_the_first_instances_together():
    for _ in range(20):
        point, _ = fresh()
        start = threading.Barrier(4)
        made = []

        def make(cls=point, start=start, made=made):
            start.wait()
            made.append(cls(1, [2]))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [point(1, [2])] * 4


def test_replace_is_that_of_dataclasses_for_the_fields():
    @dataclass(frozen=True)
    class Pair:
        first: int
        second: tuple[int, ...] = ()

        @cached_property
        def total(self) -> int:
            return self.first + sum(self.second)

    pair = Pair(1, (2, 3))
    assert pair.total == 6
    other = replace(pair, first=10)
    assert other == dataclasses.replace(pair, first=10) and type(other) is Pair
    assert other.second is pair.second
    assert other.total == 15  # what was kept beside the fields belongs to the other one
    assert pair == Pair(1, (2, 3))
    with pytest.raises(TypeError, match="Pair has no field \\['third'\\]"):
        replace(pair, third=1)


@pytest.mark.parametrize("decorate", [dataclass, dataclasses.dataclass])
def test_replace_leaves_class_variables_in_the_class(decorate):
    class Counted:
        count: ClassVar[int] = 1
        value: int = 0

    class More(Counted):
        total: ClassVar[int] = 2
        second: int = 5

    base, more = decorate(Counted), decorate(More)
    for record in (base(3), more(3)):
        other = replace(record, value=4)
        assert other == dataclasses.replace(record, value=4)
        assert vars(other) == vars(record) | {"value": 4}
        with pytest.raises(TypeError, match=r"has no field \['count'\]"):
            replace(record, count=2)
    assert changed(record, second=6).second == 6


def test_replace_completes_an_instance_as_its_constructor_does():
    @dataclass
    class Positive:
        value: int

        def __post_init__(self) -> None:
            if self.value < 0:
                raise ValueError("it is negative")

    assert replace(Positive(1), value=2) == Positive(2)
    with pytest.raises(ValueError, match="it is negative"):
        replace(Positive(1), value=-2)


def test_what_is_found_once_is_kept_in_the_record_and_not_in_its_copies():
    point, _ = fresh()
    asked = []

    @memoized
    def norm(p):
        """How long it is."""
        asked.append(p)
        return abs(p.x)

    first = point(-2)
    assert norm(first) == norm(first) == 2 and asked == [first]
    second = replace(first, x=5)
    assert norm(second) == 5 and norm(first) == 2 and len(asked) == 2
    assert first == point(-2) and "norm" not in repr(first)
    assert norm.__doc__ == "How long it is."


def test_a_record_that_a_change_leaves_as_it_was_is_the_same_object():
    point, _ = fresh()
    first = point(1, [2], "a")
    assert changed(first, x=1, name="a") is first
    assert changed(first, x=3) == point(3, [2], "a")
    items = (first, point(2))
    assert same(items, tuple(items)) is items
    assert same(items, (first, point(2))) is not items
    assert same(items, items[:1]) == items[:1]
