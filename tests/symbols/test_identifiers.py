"""Names of a program: legal C, unique in their scope, with the smallest number that is free."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transpile.symbols.identifiers import Names, is_reserved


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        ("x", "x"),
        ("x.y", "x_y"),
        ("2d", "x2d"),
        ("", "x"),
        ("int", "int_"),
        ("exp", "exp_"),
        ("larger_f32", "larger_f32_"),
    ],
)
def test_a_hint_becomes_an_identifier_that_c_does_not_own(hint, name):
    assert Names().new(hint) == name
    assert not is_reserved(name)


def expected(hint, taken):
    """The hint, or the first of hint2, hint3 and so on that is free; x1_2 and not x12."""
    if hint not in taken:
        return hint
    between = "_" if hint[-1].isdigit() else ""
    return next(n for k in range(2, 99) if (n := f"{hint}{between}{k}") not in taken)


hints = st.sampled_from(["a", "a2", "a3", "b", "b1", "b1_2"])


@given(st.sets(hints), st.lists(st.tuples(st.integers(0, 2), hints), max_size=40))
def test_a_name_has_the_first_number_that_is_free_in_its_scope_and_those_around_it(taken, asked):
    outer = Names(taken)
    scopes = [outer, outer.inner(), outer.inner()]
    own = [set(taken), set(), set()]
    for number, hint in asked:
        name = scopes[number].new(hint)
        assert name == expected(hint, own[0] | own[number])
        own[number].add(name)
        assert name in scopes[number]
        assert (name in scopes[1]) == (name in own[0] | own[1])
