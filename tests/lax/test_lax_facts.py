"""`lax` gives what JAX gives, error for error: outside traces, and compiled."""

import lax_facts
import numpy as np
import pytest
from lax_facts import described, fact, namespace
from thorough import one_in

import transpile
from transpile import lax, tree

FACTS = lax_facts.read()
VALUES = [e for e, f in FACTS.items() if "leaves" in f]
ERRORS = [e for e, f in FACTS.items() if "error" in f]
OPERANDS = ("f", "i", "i4", "d", "m")
TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "complex64": 2e-6}
assert lax.add is transpile.lax.add


def assert_same_leaf(found, expected, what):
    """Equal dtypes, shapes, and numbers but for rounding."""
    if not isinstance(expected, list):
        assert found == expected, what
        return
    assert found[:2] == expected[:2], what
    limit = TOLERANCE.get(found[0], 1e-12)
    np.testing.assert_allclose(found[2], expected[2], rtol=limit, atol=limit, err_msg=what)


def assert_same(found, expected, what):
    assert "error" not in found, f"{what}: {found}"
    assert len(found["leaves"]) == len(expected["leaves"]), what
    for got, want in zip(found["leaves"], expected["leaves"], strict=True):
        assert_same_leaf(got, want, what)


@pytest.fixture(scope="module")
def names():
    return namespace(transpile)


def test_results_are_those_of_jax(names):
    for expression in VALUES:
        assert_same(fact(expression, names, tree.leaves), FACTS[expression], expression)


def test_errors_are_those_of_jax_in_class_and_words(names):
    for expression in ERRORS:
        found, expected = fact(expression, names, tree.leaves), FACTS[expression]
        assert found.get("error") == expected["error"], f"{expression}: {found}"
        assert expected["words"] in found["words"], expression
        place = found["words"].partition(": ")[0]
        assert place.rpartition(":")[2].isdigit(), f"no place in {found['words']!r}"


def arrays_of(expression, names, operands):
    """The leaves of an expression's result, those that are no arrays left out."""
    found = eval(expression, {**names, **operands})
    return [x for x in tree.leaves(found) if hasattr(x, "dtype") and not isinstance(x, np.dtype)]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("part", range(8))
@one_in(2)
def test_compiled_results_are_those_of_jax(names, part, shared_cache):
    chosen = [e for e in VALUES[part::8] if all(isinstance(x, list) for x in FACTS[e]["leaves"])]

    def everything(*operands):
        given = dict(zip(OPERANDS, operands, strict=True))
        return [arrays_of(e, names, given) for e in chosen]

    results = transpile.jit(everything)(*(names[k] for k in OPERANDS))
    for expression, found in zip(chosen, results, strict=True):
        leaves = {"leaves": [described(x) for x in found]}
        assert_same(leaves, FACTS[expression], expression)


def test_the_installed_jax_gives_the_same_facts():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        theirs = namespace(jax)
        # JAX compiles each of them: every sixth says enough of another version.
        for expression, expected in list(FACTS.items())[::6]:
            found = fact(expression, theirs, jax.tree.leaves)
            if "error" in expected:
                assert found == expected, expression
            else:
                assert_same(found, expected, expression)
    finally:
        jax.config.update("jax_enable_x64", before)
