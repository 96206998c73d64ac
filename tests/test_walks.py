"""Going over loops: which loops may run their iterations in any order."""

import numpy as np
import pytest

from transpile.dims import Dim, Symbol
from transpile.loops import Alloc, Buffer, Declare, For, Literal, Load, Ref, Store, Update
from transpile.types import FLOAT64
from transpile.walks import is_independent

I, J = Symbol("i", 0, 8), Symbol("j", 0, 8)
i, j = Dim.of(I), Dim.of(J)
ONE = Literal(np.float64(1), FLOAT64)
ACC = Ref("acc", FLOAT64)


def store(*index):
    return Store("y", index, ONE)


def update(*index):
    return Update(Load("y", index, FLOAT64), "add", ONE)


INDEPENDENT = {
    "elements of its own": (store(i),),
    "a scalar of its own": (Declare("acc", ONE, constant=False), Update(ACC, "add", ONE), store(i)),
    "an array of its own": (Alloc(Buffer("y", (8,), FLOAT64)), For(J, 8, (update(j),))),
    "rows of its own": (For(J, 8, (update(i, j),)),),
    "a window of its own": (For(J, i * 8 + 8, (store(j),), start=i * 8),),
}
DEPENDENT = {
    "a scalar from outside": (Update(ACC, "add", ONE),),
    "sums of columns": (For(J, 8, (update(j),)),),
    "the same element": (store(0),),
    "an array from outside": (For(J, 8, (store(j), Declare("t", Load("y", (j,), FLOAT64)))),),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_iterations_are_independent_when_they_change(name):
    assert is_independent(For(I, 8, INDEPENDENT[name]))


@pytest.mark.parametrize("name", DEPENDENT)
def test_iterations_are_not_independent_when_they_change(name):
    assert not is_independent(For(I, 8, DEPENDENT[name]))
