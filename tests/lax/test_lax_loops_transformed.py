"""Loops of lax under derivatives and batches, and what they keep."""

import numpy as np

import transpile
from transpile import lax, nn, tree
from transpile.functional.differentiate import jvp, linear_transpose, vjp
from transpile.functional.gradients import grad, value_and_grad
from transpile.functional.vectorize import vmap
from transpile.test_util import check_grads

XS = np.array([0.5, 2.0, 3.0])


def test_loops_close_over_tracers_of_every_transformation():
    def f(x, y):
        return vmap(lambda w: lax.scan(lambda c, v: (c * w + x * v, None), y, XS)[0])(XS).sum()

    def reference(x, y):
        total = 0.0
        for w in XS:
            c = y
            for v in XS:
                c = c * w + x * v
            total = total + c
        return total

    expected = value_and_grad(reference, (0, 1))(0.3, 0.2)
    same_numbers(value_and_grad(f, (0, 1))(0.3, 0.2), expected)
    same_numbers(transpile.jit(value_and_grad(f, (0, 1)))(0.3, 0.2), expected)


def same_numbers(found, expected):
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_bodies_see_the_names_of_mapped_axes():
    seen = []

    def body(c, x):
        from transpile.trace.axis_names import named_axis

        seen.append(named_axis("examples").size)
        return c + x, None

    vmap(lambda xs: lax.scan(body, 0.0, xs)[0], axis_name="examples")(np.ones((4, 3)))
    assert seen == [4]


def test_a_linear_scan_has_a_transpose():
    weights = np.array([2.0, 3.0, 5.0])

    def f(x):
        return lax.scan(lambda c, w: (c + w * x, c), 0.0, weights)

    (found,) = linear_transpose(f, 1.0)((np.array(1.0), np.array([1.0, 10.0, 100.0])))
    assert found == 10 + (0 * 1 + 2 * 10 + 5 * 100)


def residual_bytes(f, *args):
    """The bytes that the way back keeps, beside the arguments."""
    _, pullback = vjp(f, *args)
    arguments = {id(np.asarray(a)) for a in tree.leaves(args)}
    kept = [x for x in tree.leaves(pullback) if id(x) not in arguments]
    return sum(np.asarray(x).nbytes for x in kept)


def test_residuals_that_xs_or_consts_have_are_not_stacked():
    xs = np.random.default_rng(2).normal(size=(1000, 4))
    w = np.ones(4)

    def of_x(w, xs):  # d/dw needs x, which the backward scan reads again
        return lax.scan(lambda c, x: (c + (w * x).sum(), None), 0.0, xs)[0]

    assert residual_bytes(of_x, w, xs) <= xs.nbytes + 100

    def of_const(w, xs):  # exp(w) is computed once
        return lax.scan(lambda c, x: (c * 0.5 + (np.exp(w) * w * x).sum(), None), 0.0, xs)[0]

    assert residual_bytes(of_const, w, xs) <= xs.nbytes + 200

    def of_index(w):  # neither the numbers of iterations nor what is made of them
        return lax.fori_loop(0, 1000, lambda i, c: c + w[(i + 1) % 4] * (i * 0.5), 0.0)

    assert residual_bytes(of_index, w) <= 100


def test_residuals_that_others_make_are_not_stacked():
    """The derivative of a product of gates wants their values, and their derivatives, which are
    made of the values."""
    xs = np.random.default_rng(3).normal(size=(1000, 4))
    w = np.float64(1.5)

    def gates(w, xs):
        def step(c, x):
            return c + (nn.sigmoid(w * x) * np.tanh(w + x)).sum(), None

        return lax.scan(step, 0.0, xs)[0]

    def in_branches(w, xs):
        def step(c, x):
            product = lax.cond(x[0] > 0, lambda x: np.tanh(w * x) * np.tanh(x), np.sin, x)
            return c + product.sum(), None

        return lax.scan(step, 0.0, xs)[0]

    check_grads(gates, (w, xs[:5]), 2)
    check_grads(in_branches, (w, xs[:5]), 2)
    assert residual_bytes(gates, w, xs) <= 3 * xs.nbytes + 100  # two values, and xs


def backward_scan(f, *args):
    """The last scan of a gradient's graph, and the equations of its body by their rows."""
    found = transpile.make_jaxpr(grad(f))(*args)
    *_, scan = (e for e in found.equations if e.primitive.name == "scan")
    body = scan.params["graph"]
    return found, scan, [e.primitive.name for e in body.equations]


def test_what_reads_an_element_of_a_const_adds_to_an_element_of_its_cotangent():
    table, order = np.linspace(0.1, 1, 50), np.arange(50)[::-1] % 7

    def f(table):
        return lax.scan(lambda c, k: (c * np.sin(table[k]), None), 1.0, order)[0]

    _, _, names = backward_scan(f, table)
    assert names.count("scatter") == 1
    assert "broadcast_in_dim" not in names  # of zeros as large as the table

    def reference(table):
        return np.prod(np.sin(table[order]))

    np.testing.assert_allclose(grad(f)(table), grad(reference)(table), rtol=1e-10)


def test_what_assigns_an_element_of_the_carry_changes_an_element_of_its_cotangent():
    x = np.linspace(0.5, 1.5, 40)

    def f(x):
        def step(i, c):
            c[i] = np.sin(c[i - 1]) * c[i]
            return c

        return lax.fori_loop(1, 40, step, x * 1.0).sum()

    _, scan, names = backward_scan(f, x)
    assert names.count("scatter") == 3
    sizes = [v.type.size for e in scan.params["graph"].equations for v in e.outputs]
    assert sizes.count(40) == 3  # the scatters alone, each in the place of the one before it
    text = transpile.jit(grad(f)).lower(x).as_text("loops")
    assert "swap" not in text

    def reference(x):
        c = list(x)
        for i in range(1, 40):
            c[i] = np.sin(c[i - 1]) * c[i]
        return sum(c)

    np.testing.assert_allclose(grad(f)(x), grad(reference)(x), rtol=1e-10)


def test_the_gradient_of_a_matrix_is_one_product_after_the_scan():
    w, xs = np.linspace(-1, 1, 400).reshape(20, 20), np.linspace(0, 1, 100).reshape(5, 20)

    def f(w):
        return lax.scan(lambda h, x: (np.tanh(w @ h + x), None), xs[0], xs)[0].sum()

    found, _, names = backward_scan(f, w)
    assert names.count("dot_general") == 1  # the cotangent of h; that of w is the last product
    assert found.equations[-1].primitive.name == "dot_general"

    def reference(w):
        h = xs[0]
        for x in xs:
            h = np.tanh(w @ h + x)
        return h.sum()

    np.testing.assert_allclose(grad(f)(w), grad(reference)(w), rtol=1e-10)
    jitted = transpile.jit(grad(f))
    np.testing.assert_allclose(jitted(w), grad(reference)(w), rtol=1e-10)

    def small(w):  # a matrix no larger than its factors is added up in the scan
        return lax.scan(lambda h, x: (np.tanh(w @ h), None), xs[0, :2], xs)[0].sum()

    _, _, names = backward_scan(small, w[:2, :2])
    assert names.count("dot_general") == 2


def test_forward_derivatives_of_loops_that_values_end():
    def root(a):
        return lax.while_loop(
            lambda x: np.abs(x * x - a) > 1e-14 * a, lambda x: 0.5 * (x + a / x), a
        )

    for transform in (lambda f: f, transpile.jit):
        value, tangent = transform(lambda a: jvp(root, (a,), (1.0,)))(2.0)
        np.testing.assert_allclose([value, tangent], [2**0.5, 0.5 / 2**0.5], rtol=1e-12)


def test_a_loop_without_carry_or_results():
    assert lax.scan(lambda c, x: (c, None), (), XS) == ((), None)
    assert lax.fori_loop(0, 3, lambda i, c: c, ()) == ()
    carry, ys = lax.scan(lambda c, x: (c, x * 2), None, XS)
    assert carry is None
    np.testing.assert_array_equal(ys, XS * 2)
