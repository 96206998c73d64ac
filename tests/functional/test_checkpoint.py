"""checkpoint: the same derivatives, from values that are computed again."""

import re
from functools import partial

import numpy as np
import pytest
from passes import names
from thorough import one_in

import transpile
from transpile.functional.checkpoint import checkpoint, checkpoint_name, checkpoint_policies, remat
from transpile.functional.custom import custom_jvp, custom_vjp
from transpile.functional.differentiate import jvp, linear_transpose, linearize
from transpile.functional.gradients import grad, value_and_grad
from transpile.functional.jacobians import hessian, jacrev
from transpile.functional.vectorize import vmap
from transpile.ir.primitive import TABLE
from transpile.passes import optimise

RANDOM = np.random.default_rng(3)
W = RANDOM.normal(size=(3, 3))
X = RANDOM.normal(size=3)
BATCH = RANDOM.normal(size=(4, 3))
POLICIES = checkpoint_policies


def twice(x):
    return np.sin(np.sin(x))


def network(w, x):
    hidden = checkpoint_name(np.sin(w @ x), "hidden")
    last = checkpoint_name(np.exp(w @ hidden), "last")
    return (last * last).sum()


POLICY = pytest.mark.parametrize(
    "policy",
    [
        None,
        POLICIES.everything_saveable,
        POLICIES.nothing_saveable,
        POLICIES.dots_saveable,
        POLICIES.dots_with_no_batch_dims_saveable,
        POLICIES.save_only_these_names("hidden"),
        POLICIES.save_any_names_but_these("hidden"),
        POLICIES.save_anything_except_these_names("hidden"),
        POLICIES.save_from_both_policies(
            POLICIES.dots_saveable, POLICIES.save_only_these_names("last")
        ),
    ],
    ids=["none", "all", "nothing", "dots", "plain dots", "only", "any but", "except", "both"],
)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def count(function, *args):
    """How often each primitive stands in the final graph."""
    found = names(optimise(transpile.make_jaxpr(function)(*args)))
    return {name: found.count(name) for name in set(found)}


def residuals(function, *args):
    """What the forward pass hands to the backward pass."""
    return linearize(function, *args)[1].residuals


# -------------------------------------------------------------------------------- equal derivatives


@POLICY
@one_in(2)
def test_derivatives_are_those_of_the_function(policy):
    f = checkpoint(network, policy=policy)
    expected = grad(network, (0, 1))(W, X)
    for function in (grad(f, (0, 1)), transpile.jit(grad(f, (0, 1)))):
        for found, wanted in zip(function(W, X), expected, strict=True):
            close(found, wanted)
    close(f(W, X), network(W, X))
    close(jvp(f, (W, X), (W, X))[1], jvp(network, (W, X), (W, X))[1])


@POLICY
@one_in(2)
def test_second_derivatives_and_batches(policy):
    f = checkpoint(network, policy=policy)
    close(hessian(f, 1)(W, X), hessian(network, 1)(W, X))
    close(vmap(grad(f, 1), (None, 0))(W, BATCH), vmap(grad(network, 1), (None, 0))(W, BATCH))
    total = lambda g: lambda w: vmap(g, (None, 0))(w, BATCH).sum()
    expected = sum(grad(network)(W, x) for x in BATCH)
    close(grad(total(f))(W), expected)
    close(transpile.jit(grad(total(f)))(W), expected)


def test_analytic_values():
    f = checkpoint(twice)
    slope = np.cos(np.sin(X)) * np.cos(X)
    close(grad(lambda x: f(x).sum())(X), slope)
    close(jacrev(f)(X), np.diag(slope))
    curve = -np.sin(np.sin(X)) * np.cos(X) ** 2 - np.cos(np.sin(X)) * np.sin(X)
    close(grad(lambda x: grad(lambda x: f(x).sum())(x).sum())(X), curve)
    close(linear_transpose(checkpoint(lambda x: 2 * x), 1.0)(3.0)[0], 6.0)


# ------------------------------------------------------------------------------- what is recomputed


def test_without_a_checkpoint_nothing_is_computed_twice():
    assert count(value_and_grad(twice), 1.0) == {"sin": 2, "cos": 2, "multiply": 1}


def test_a_checkpoint_computes_again_in_the_backward_pass():
    # sin(x) once for the value, and once more for cos(sin(x)).
    found = count(value_and_grad(checkpoint(twice)), 1.0)
    assert found == {"sin": 3, "cos": 2, "multiply": 1}


def test_a_policy_that_saves_everything_gives_the_plain_graph():
    f = checkpoint(twice, policy=POLICIES.everything_saveable)
    assert count(value_and_grad(f), 1.0) == count(value_and_grad(twice), 1.0)


def test_without_the_barrier_equal_computations_are_one():
    f = checkpoint(twice, prevent_cse=False)
    assert count(value_and_grad(f), 1.0) == {"sin": 2, "cos": 2, "multiply": 1}


def test_a_checkpoint_takes_less_memory():
    weights = [RANDOM.normal(size=(16, 16)) for _ in range(8)]
    x = RANDOM.normal(size=(32, 16))

    def memory(layer):
        def loss(weights):
            y = x
            for w in weights:
                y = layer(y, w)
            return (y * y).sum()

        gradient = transpile.jit(grad(loss))
        kept = gradient.lower(weights).compile().memory_analysis().temp_size_in_bytes
        return kept, gradient(weights)

    layer = lambda y, w: np.sin(y @ w)
    plain, expected = memory(layer)
    less, found = memory(checkpoint(layer))
    for value, wanted in zip(found, expected, strict=True):
        close(value, wanted)
    # Of y @ w and its sine, one is kept for each of the first seven layers.
    assert plain - less >= 6 * x.nbytes


def test_the_barrier_can_be_asked_for_by_argument():
    f = lambda x, y: np.sin(x) * np.sin(y)
    for flags, sines in [((True, True), 4), ((True, False), 3), ((False, False), 2)]:
        both = value_and_grad(checkpoint(f, prevent_cse=flags), (0, 1))
        assert count(both, 1.0, 2.0)["sin"] == sines


@pytest.mark.parametrize(
    "policy, products, sines, exponentials",
    [
        (None, 4, 2, 2),
        (POLICIES.nothing_saveable, 4, 2, 2),
        (POLICIES.everything_saveable, 2, 1, 1),
        (POLICIES.dots_saveable, 2, 2, 2),
        (POLICIES.save_only_these_names("hidden"), 4, 1, 2),
        (POLICIES.save_any_names_but_these("hidden"), 4, 2, 2),
    ],
)
def test_policies_decide_what_is_recomputed(policy, products, sines, exponentials):
    found = count(value_and_grad(checkpoint(network, policy=policy)), W, X)
    # The gradient by w has three products of its own: two by w, and one through the last layer.
    assert found["dot_general"] == products + 3
    assert (found["sin"], found["exp"]) == (sines, exponentials)


def test_each_nested_gradient_recomputes():
    f = checkpoint(twice)
    plain = count(value_and_grad(grad(twice)), 1.0)
    assert (plain["sin"], plain["cos"]) == (2, 2)
    # The gradient recomputes sin(x) for its own cosines, and its gradient does so once more.
    again = count(value_and_grad(grad(f)), 1.0)
    assert (again["sin"], again["cos"]) == (3, 4)


# ------------------------------------------------------------------------------------- what is kept


def test_residuals_are_the_arguments():
    deep = lambda x: twice(twice(twice(x)))
    assert len(residuals(deep, X)) == 6
    (kept,) = residuals(checkpoint(deep), X)
    close(kept, X)


@pytest.mark.parametrize(
    "policy, kept",
    [
        (None, []),
        (POLICIES.dots_saveable, [W @ X, W @ np.sin(W @ X)]),
        (POLICIES.save_only_these_names("hidden"), [np.sin(W @ X)]),
        (POLICIES.save_any_names_but_these("hidden"), [np.exp(W @ np.sin(W @ X))]),
        (POLICIES.save_only_these_names("nobody"), []),
    ],
)
def test_policies_decide_what_is_kept(policy, kept):
    found = residuals(checkpoint(network, policy=policy), W, X)
    assert len(found) == 2 + len(kept)
    for value, expected in zip(found, [W, X, *kept], strict=True):
        close(value, expected)


def test_dots_with_batch_axes_are_not_plain_dots():
    f = lambda x, y: np.sin(np.matmul(x, y)).sum()
    x = RANDOM.normal(size=(2, 3, 3))
    plain = POLICIES.dots_with_no_batch_dims_saveable
    assert len(residuals(checkpoint(f, policy=plain), x, x + 1)) == 2
    assert len(residuals(checkpoint(f, policy=POLICIES.dots_saveable), x, x + 1)) == 3
    assert len(residuals(checkpoint(f, policy=plain), x[0], x[1])) == 3


def test_a_policy_sees_rows_types_and_params():
    seen = []

    def policy(row, *types, **params):
        seen.append((row.name, [str(t) for t in types], params))
        return False

    grad(checkpoint(lambda x: np.sin(x).sum(), policy=policy))(X)
    assert ("sin", ["f64[3]"], {}) in seen
    assert ("reduce_sum", ["f64[3]"], {"axes": (0,)}) in seen


def test_policies_that_give_no_bool_are_refused():
    policy = POLICIES.save_from_both_policies(lambda *_, **__: None, lambda *_, **__: True)
    with pytest.raises(ValueError, match="The return value of the policies should be a boolean"):
        grad(checkpoint(twice, policy=policy))(1.0)


def test_there_is_a_name_for_each_policy():
    assert POLICIES.checkpoint_dots is POLICIES.dots_saveable
    assert POLICIES.checkpoint_dots_with_no_batch_dims is POLICIES.dots_with_no_batch_dims_saveable
    assert not POLICIES.dots_saveable(TABLE["sin"])
    assert remat is checkpoint


# ------------------------------------------------------------------------------------- arguments


def test_outside_a_trace_the_function_is_called_with_what_it_is_given():
    thing = object()
    assert checkpoint(lambda *args, **kwargs: (args, kwargs))(thing, k=3) == ((thing,), {"k": 3})


def test_python_values_stay_what_they_are():
    @partial(checkpoint, static_argnames=("depth", "sign"))
    def f(x, depth, sign=1):
        for _ in range(depth):
            x = np.sin(x)
        return {"y": x if sign > 0 else -x, "depth": depth}

    close(grad(lambda x: f(x, 2)["y"])(1.0), np.cos(np.sin(1.0)) * np.cos(1.0))
    close(grad(lambda x: f(x, depth=1, sign=-1)["y"])(1.0), -np.cos(1.0))
    close(grad(checkpoint(lambda x, n: x**n, static_argnums=(1,)))(3.0, 2), 6.0)
    seen = []
    transpile.jit(lambda x: seen.append(f(x, 3)["depth"]) or x)(1.0)
    assert seen == [3]


def test_python_may_branch_on_known_values():
    f = checkpoint(lambda x: np.sin(x) if x > 0 else x)
    close(grad(f)(2.0), np.cos(2.0))
    close(grad(f)(-2.0), 1.0)


def test_values_that_are_closed_over_have_derivatives():
    f = lambda w: checkpoint(lambda x: np.sin(x * w))(2.0)
    close(grad(f)(3.0), 2 * np.cos(6.0))
    inner = lambda w: grad(checkpoint(lambda x: np.sin(x * w)))(2.0)
    close(grad(inner)(3.0), np.cos(6.0) - 6 * np.sin(6.0))
    close(transpile.jit(grad(inner))(3.0), np.cos(6.0) - 6 * np.sin(6.0))


def test_names_of_trees():
    named = checkpoint_name({"a": X, "n": 3}, "both")
    assert named["a"] is X and named["n"] == 3
    text = transpile.xpr(lambda x: checkpoint_name({"a": x, "b": 2 * x}, "both"), X)
    assert text.count("name[name=both]") == 2


def test_errors():
    with pytest.raises(ValueError, match=re.escape("but got (3,), while `len(args)` = 1")):
        checkpoint(twice, static_argnums=(3,))(1.0)
    with pytest.raises(TypeError, match="must be an int, tuple of ints"):
        checkpoint(twice, static_argnums=("x",))
    with pytest.raises(TypeError, match=re.escape("got type(prevent_cse)=<class 'int'>")):
        checkpoint(twice, prevent_cse=3)
    with pytest.raises(ValueError, match="invalid argnames"):
        checkpoint(twice, static_argnames="depth")
    with pytest.raises(NotImplementedError, match="In its place please use `static_argnums`"):
        checkpoint(twice, concrete=True)
    with pytest.raises(ValueError, match="prevent_cse has 2 items for 1 arguments"):
        checkpoint(twice, prevent_cse=(True, False))(1.0)


# ----------------------------------------------------------------------------- with custom rules


def marked_reverse():
    f = custom_vjp(lambda x: np.sin(x))
    f.defvjp(lambda x: (f(x), np.exp(x)), lambda residual, ct: (10 * ct * residual,))
    return f


def marked_forward():
    f = custom_jvp(lambda x: np.sin(x))
    f.defjvp(lambda p, t: (f(p[0]), 10 * t[0] * np.exp(p[0])))
    return f


@POLICY
@pytest.mark.parametrize("make", [marked_forward, marked_reverse])
@one_in(4)
def test_custom_rules_inside_a_checkpoint(make, policy):
    rule = make()
    f = checkpoint(lambda x: rule(np.cos(x)), policy=policy)
    expected = 10 * np.exp(np.cos(X)) * -np.sin(X)
    total = lambda x: f(x).sum()
    close(grad(total)(X), expected)
    close(transpile.jit(grad(total))(X), expected)
    close(vmap(grad(f))(X), expected)
    close(grad(lambda x: vmap(f)(x).sum())(X), expected)
    curve = 10 * np.exp(np.cos(X)) * (np.sin(X) ** 2 - np.cos(X))
    close(grad(lambda x: grad(total)(x).sum())(X), curve)


def test_the_residuals_of_a_rule_are_recomputed():
    rule = marked_reverse()
    total = lambda x: rule(x).sum()
    (kept,) = residuals(total, X)
    close(kept, np.exp(X))
    (kept,) = residuals(checkpoint(total), X)
    close(kept, X)


def test_checkpoints_inside_custom_rules():
    inner = checkpoint(twice)

    @custom_vjp
    def f(x):
        return inner(x)

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (9 * ct * grad(inner)(x),))
    slope = lambda x: 9 * np.cos(np.sin(x)) * np.cos(x)
    close(grad(f)(1.0), slope(1.0))
    close(transpile.jit(vmap(grad(f)))(X), slope(X))

    g = custom_jvp(inner)
    g.defjvp(lambda p, t: (g(p[0]), 9 * jvp(inner, p, t)[1]))
    close(grad(g)(1.0), slope(1.0))
    close(vmap(grad(g))(X), slope(X))


def test_checkpoints_inside_checkpoints():
    deep = checkpoint(lambda x: checkpoint(twice)(checkpoint(twice)(x)))
    plain = lambda x: twice(twice(x))
    close(grad(deep)(1.0), grad(plain)(1.0))
    close(grad(grad(deep))(1.0), grad(grad(plain))(1.0))
    (kept,) = residuals(deep, 1.0)
    close(kept, 1.0)


# ------------------------------------------------------------------------------------------ text


def test_the_text_shows_the_graph_and_the_policy():
    f = checkpoint(lambda x: np.sin(x), policy=POLICIES.dots_saveable)
    assert transpile.xpr(f, 1.0) == (
        "{ lambda ; a:f64[]. let\n"
        "    b:f64[] = checkpoint[graph={ lambda ; a:f64[]. let\n"
        "        b:f64[] = sin a\n"
        "      in (b,) } policy=DotsSaveable(only_if_no_batch_dims=False) prevent_cse=(True,)] a\n"
        "  in (b,) }"
    )


@POLICY
def test_text_and_fingerprint_do_not_depend_on_addresses(policy):
    graphs = [
        transpile.make_jaxpr(grad(checkpoint(network, policy=policy)))(W, X) for _ in range(2)
    ]
    assert str(graphs[0]) == str(graphs[1])
    assert graphs[0].fingerprint() == graphs[1].fingerprint()
    assert "0x" not in graphs[0].fingerprint()


def test_policies_of_any_kind_have_a_text():
    class Policy:
        def __call__(self, row, *types, **params):
            return False

    def saves(flag, row, *types, **params):
        return flag

    for policy, text in ((Policy(), "Policy"), (partial(saves, True), "saves")):
        found = transpile.xpr(checkpoint(twice, policy=policy), 1.0)
        assert f"policy={text} " in found
