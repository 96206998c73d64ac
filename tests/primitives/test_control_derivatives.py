"""Derivatives and batches of loops and branches, against those of the same programs unrolled."""

import numpy as np
import pytest
from control_programs import IDS, PROGRAMS, REVERSE_ONLY, by, unrolled
from thorough import one_in

import transpile
from transpile import lax, tree
from transpile.functional.checkpoint import checkpoint, checkpoint_name, checkpoint_policies
from transpile.functional.differentiate import jvp, linearize, vjp
from transpile.functional.flatten_fun import is_inexact, value_type
from transpile.functional.vectorize import vmap
from transpile.ir.types import FLOAT0
from transpile.passes import optimise

REVERSIBLE = [p for p in [*PROGRAMS, *REVERSE_ONLY] if p.reverse]
REVERSIBLE_IDS = [f"{k}-{p.name}" for k, p in enumerate(REVERSIBLE)]
PROGRAM = pytest.mark.parametrize("program", PROGRAMS, ids=IDS)
REVERSE = pytest.mark.parametrize("program", REVERSIBLE, ids=REVERSIBLE_IDS)


def close(found, expected, tolerance=1e-10):
    found_leaves, structure = tree.flatten(found)
    leaves, expected_structure = tree.flatten(expected)
    assert structure == expected_structure
    for x, y in zip(found_leaves, leaves, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape
        if y.dtype == FLOAT0 or x.dtype == FLOAT0:
            assert x.dtype == y.dtype
            continue
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def directions(args, seed=5):
    random = np.random.default_rng(seed)

    def of(x):
        kind = value_type(x)
        if not is_inexact(kind):
            return np.zeros(np.shape(x), FLOAT0)
        value = random.normal(size=np.shape(x))
        return value + 1j * random.normal(size=np.shape(x)) if kind.dtype.kind == "c" else value

    return tree.map(of, args)


def moving(result):
    """The leaves of a result that have derivatives."""
    return [x for x in tree.leaves(result) if is_inexact(value_type(x))]


def batched(program, count=3):
    """The arguments of a program, another for each example."""

    def of(x):
        if not is_inexact(value_type(x)):
            return np.stack([np.asarray(x)] * count)
        scale = np.linspace(0.7, 1.1, count).reshape(count, *[1] * np.ndim(x))
        return scale * np.asarray(x)

    return tree.map(of, program.args)


def examples(function, args, count=3):
    """The function applied to one example after the other, the results stacked."""
    results = [function(*tree.map(lambda x, i=i: x[i], args)) for i in range(count)]
    return tree.map(lambda *parts: np.stack(parts), *results)


@PROGRAM
def test_values_are_those_of_the_unrolled_program(program):
    with np.errstate(all="raise"):
        close(by(lax, program)(*program.args), by(unrolled, program)(*program.args))


@PROGRAM
@one_in(3)
def test_tangents_are_those_of_the_unrolled_program(program):
    tangents = directions(program.args)
    found = jvp(by(lax, program), program.args, tangents)
    close(found, jvp(by(unrolled, program), program.args, tangents))
    result, linear = linearize(by(lax, program), *program.args)
    close((result, linear(*tangents)), found)


@REVERSE
def test_cotangents_are_those_of_the_unrolled_program(program):
    result, pullback = vjp(by(lax, program), *program.args)
    expected, expected_pullback = vjp(by(unrolled, program), *program.args)
    close(result, expected)
    cotangent = directions(result)
    close(pullback(cotangent), expected_pullback(cotangent))


def gradient(function, argument_tree):
    """The gradient of a number made of the results, by all arguments that have one."""

    def total(*args):
        leaves = moving(function(*args))
        return sum((np.real(x) * np.cos(np.real(x))).sum() for x in leaves)

    numbers = tuple(k for k, x in enumerate(argument_tree) if moving(x))
    return transpile.grad(total, numbers)


@REVERSE
@one_in(3)
def test_second_derivatives_are_those_of_the_unrolled_program(program):
    if not program.second:
        pytest.skip("forward mode is refused")
    tangents = directions(program.args)
    found, expected = (
        jvp(gradient(by(namespace, program), program.args), program.args, tangents)
        for namespace in (lax, unrolled)
    )
    close(found, expected, 1e-8)


@REVERSE
@one_in(3)
def test_reverse_over_reverse_is_that_of_the_unrolled_program(program):
    found, expected = (
        vjp(gradient(by(namespace, program), program.args), *program.args)
        for namespace in (lax, unrolled)
    )
    cotangent = directions(found[0], seed=7)
    close(found[1](cotangent), expected[1](cotangent), 1e-8)


@PROGRAM
def test_vmap_is_the_loop_over_examples(program):
    args = batched(program)
    close(vmap(by(lax, program))(*args), examples(by(unrolled, program), args))


@PROGRAM
def test_vmap_over_one_argument_is_the_loop_over_examples(program):
    for number, arg in enumerate(batched(program)):
        args = list(program.args)

        def of_one(x, number=number, args=args):
            full = list(args)
            full[number] = x
            return full

        axes = [0 if k == number else None for k in range(len(args))]
        found = vmap(by(lax, program), tuple(axes))(*of_one(arg))
        expected = examples(lambda x, of=of_one: by(unrolled, program)(*of(x)), (arg,))
        close(found, expected)


@REVERSE
@one_in(3)
def test_vmap_of_gradients_is_the_loop_over_examples(program):
    args = batched(program)
    of_lax, of_unrolled = (
        gradient(by(namespace, program), program.args) for namespace in (lax, unrolled)
    )
    close(vmap(of_lax)(*args), examples(of_unrolled, args))


@REVERSE
@one_in(3)
def test_gradients_of_vmap_are_the_loop_over_examples(program):
    args = batched(program)
    found, expected = (
        gradient(vmap(by(namespace, program)), args)(*args) for namespace in (lax, unrolled)
    )
    close(found, expected)


@PROGRAM
@one_in(3)
def test_tangents_of_vmap_are_the_loop_over_examples(program):
    args = batched(program)
    tangents = directions(args)
    found, expected = (
        jvp(vmap(by(namespace, program)), args, tangents) for namespace in (lax, unrolled)
    )
    close(found, expected)


def primitives_of(graph, name):
    """How many equations of a primitive there are in a graph, and in the graphs in it."""
    own = sum(e.primitive.name == name for e in graph.equations)
    return own + sum(primitives_of(part, name) for part in graph.subgraphs())


def programs_of(policy, wrap=checkpoint):
    """The value and gradient of a network whose scan is computed again, but for what is kept."""

    def loss(w, xs):
        def step(c, x):
            inner, _ = lax.scan(
                lambda d, _: (np.tanh(checkpoint_name(w @ d, "d")), None), c, None, 2
            )
            return np.sin(inner) + x, None

        return lax.scan(step, xs[0], xs)[0].sum()

    return transpile.value_and_grad(wrap(loss, policy=policy) if wrap else loss, (0, 1))


POLICIES = [  # the matrix products and the hyperbolic tangents: first, again, and on the way back
    (None, 3 + 1, 1 + 1),
    (checkpoint_policies.nothing_saveable, 3 + 1, 1 + 1),
    (checkpoint_policies.dots_saveable, 3, 1 + 1),
    (checkpoint_policies.save_only_these_names("d"), 3, 1 + 1),
    (checkpoint_policies.save_any_names_but_these("d"), 3 + 1, 1 + 1),
    (checkpoint_policies.everything_saveable, 3, 1),
]


@pytest.mark.parametrize(("policy", "products", "tangents"), POLICIES, ids=range(len(POLICIES)))
def test_a_policy_keeps_values_inside_scans(policy, products, tangents):
    args = (np.random.default_rng(2).normal(size=(3, 3)), np.ones((4, 3)))
    function = programs_of(policy)
    close(function(*args), programs_of(None, wrap=None)(*args))
    graph = optimise(transpile.make_jaxpr(function)(*args))
    assert (primitives_of(graph, "dot_general"), primitives_of(graph, "tanh")) == (
        products,
        tangents,
    )


def test_residuals_of_values_that_are_used_twice_again_and_again_are_found_in_linear_time():
    def halved(x):
        for _ in range(1500):
            x = x + x * 0.5 - x
        return np.sin(x + 1).sum()

    found = transpile.grad(halved)(np.ones(2))
    np.testing.assert_array_equal(found, np.zeros(2))
