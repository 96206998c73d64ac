"""Updates in place: what they may read of the array that they change."""

import numpy as np
import pytest

from transpile.fusion.in_place_updates import updates_in_time
from transpile.fusion.index_lambda import IndexLambda
from transpile.fusion.nodes import Scatter
from transpile.ir.dims import Dim, Symbol
from transpile.ir.graph import Equation, Var
from transpile.ir.loop_ir import Apply, IndexValue, Load
from transpile.ir.types import BOOL, INT64, ArrayType
from transpile.primitives.indexing import dynamic_update_slice, scatter

F8 = np.dtype("f8")
ROW = Symbol("i", 0, 5)
I = Dim.of(ROW)
AT = Symbol("at", 0, 10)
OUT = Var(ArrayType((10,), F8))


def element(index):
    return Load("%0", (index,), F8)


def update(index, body, primitive=dynamic_update_slice, order=(ROW,), bound=None, tests=()):
    then = IndexLambda(order, (index,), body, bound or {}, ())
    first = IndexLambda((), (), body, {}, ())
    equation = Equation(primitive, (), {}, (OUT,))
    return Scatter(equation, first, then, tests, "set")


@pytest.mark.parametrize(
    ("index", "body", "in_time"),
    [
        (I, element(I), True),  # the element that is updated next
        (I, element(I + 1), False),  # one that another iteration updates
        (I, element(I + 5), True),  # elements that none updates
        (I + 5, element(4 - I), True),
        (I, element(7), True),
        (I, element(3), False),
        (I, Load("%1", (3,), F8), True),  # another array
        (I, Apply("add", (element(I), element(I + 1)), F8), False),
    ],
)
def test_an_update_reads_its_own_elements_or_those_that_none_changes(index, body, in_time):
    assert updates_in_time(update(index, body), "%0") is in_time


def test_an_element_that_is_updated_in_many_iterations_is_not_read_in_time():
    column = Symbol("j", 0, 3)
    assert not updates_in_time(update(I, element(I), order=(ROW, column)), "%0")


def test_the_only_update_has_its_value_first():
    assert updates_in_time(update(3, element(4), order=()), "%0")


def test_subscripts_from_arrays_may_meet():
    bound = {AT: Load("%1", (I,), INT64)}
    body = element(Dim.of(AT))
    assert not updates_in_time(update(Dim.of(AT), body, scatter, bound=bound), "%0")
    assert updates_in_time(update(Dim.of(AT), Load("%2", (I,), F8), scatter, bound=bound), "%0")


def test_subscripts_and_tests_read_nothing_that_changes():
    bound = {AT: Load("%0", (I,), INT64)}
    other = Load("%2", (I,), F8)
    assert not updates_in_time(update(Dim.of(AT), other, scatter, bound=bound), "%0")
    test = Apply("equal", (Load("%0", (I,), INT64), IndexValue(I)), BOOL)
    assert not updates_in_time(update(I, other, scatter, tests=(test,)), "%0")
