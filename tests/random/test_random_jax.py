"""The samples of the installed JAX, where there is one with 64-bit types: for keys and shapes that
no fact has, and every name of `jax.random`."""

import inspect

import numpy as np
import pytest
from random_facts import FACTS
from test_random import COVARIANCE, assert_fact, call

import transpile
from transpile import random

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

SEED = 123456789012
# A primitive of JAX's, which is no function for users.
LEFT_OUT = {"random_gamma_p"}


@pytest.mark.parametrize("text", [text for text, _, _ in FACTS])
def test_samples_are_those_of_the_installed_jax(text):
    names = {"random": jax.random, "np": np, "k": jax.random.key(SEED), "COVARIANCE": COVARIANCE}
    want = np.asarray(eval(text, names))
    with transpile.disable_jit():
        found = call(text, random.key(SEED))
    assert_fact(found, text, want.dtype.name, want)


def test_every_public_name_is_there():
    theirs = {name for name in vars(jax.random) if not name.startswith("_")}
    assert theirs - set(random.__all__) == LEFT_OUT
    assert set(random.__all__) <= theirs


@pytest.mark.parametrize("name", random.__all__)
def test_arguments_have_their_names_order_and_defaults(name):
    theirs = inspect.signature(getattr(jax.random, name)).parameters
    ours = inspect.signature(getattr(random, name)).parameters
    assert [(p.name, p.kind) for p in ours.values()] == [(p.name, p.kind) for p in theirs.values()]
    for p, q in zip(ours.values(), theirs.values(), strict=True):
        assert p.default == q.default
