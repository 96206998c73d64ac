"""Draws from numpy.random and random while tracing: a warning that names the line, once."""

from __future__ import annotations

import functools
import os
import random
import subprocess
import sys
import warnings
from random import gauss

import numpy as np
import pytest
from numpy.random import normal
from thorough import one_in

import transpile as tp
from transpile.errors import FrozenDrawWarning

X = np.arange(3.0)
RNG = np.random.default_rng(0)
OLD = np.random.RandomState(0)
SETTINGS = {"rng": np.random.default_rng(1)}


class Noise:
    def __init__(self):
        self.rng = np.random.default_rng(2)


NOISE = Noise()
DICE = random.Random(6)
SYSTEM = random.SystemRandom()


class Loaded(random.Random):
    def getstate(self):
        raise AssertionError("code of a user")


def helper(x):
    return x + RNG.normal()


def warned(function, *args, **settings):
    jitted = tp.jit(function, **settings)
    with pytest.warns(FrozenDrawWarning) as caught:
        jitted(*args)
    (one,) = caught
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jitted(*args)
        jitted(*[np.ones(5) if a is X else a for a in args])  # another trace: no second warning
    assert one.filename == __file__
    assert str(one.message).startswith(f"test_frozen_draws.py:{one.lineno}: ")
    assert "transpile.random" in str(one.message)
    return one.lineno, str(one.message)


def make(rng):
    return lambda x: x * rng.uniform()


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x + np.random.normal(), "np.random.normal()"),
        (lambda x: x + np.random.rand(3).sum(), "np.random.rand(3)"),
        (lambda x: x + normal(), "x + normal()"),
        (lambda x: x + OLD.normal(), "OLD.normal()"),
        (lambda x: helper(x) * 2, "x + RNG.normal()"),
        (lambda x: x + SETTINGS["rng"].normal(), 'SETTINGS["rng"]'),
        (lambda x: x + NOISE.rng.normal(), "NOISE.rng.normal()"),
        (make(np.random.default_rng(3)), "rng.uniform()"),
        (lambda x, rng=np.random.default_rng(4): x + rng.normal(), "rng.normal()"),
        (lambda x: x + random.random(), "random.random()"),
        (lambda x: x * random.choice([1, 2]), "random.choice([1, 2])"),
        (lambda x: x + gauss(0, 1), "gauss(0, 1)"),
        (lambda x: x + DICE.randint(1, 6), "DICE.randint(1, 6)"),
        (lambda x, dice=random.Random(7): x + dice.uniform(1, 2), "dice.uniform(1, 2)"),
        (
            lambda x: tp.lax.fori_loop(0, 3, lambda i, c: c + np.random.uniform(), x),
            "np.random.uniform()",
        ),
    ],
)
@one_in(3)
def test_the_line_of_a_draw_is_named(function, text):
    line, message = warned(function, X)
    with open(__file__, encoding="utf-8") as file:
        lines = file.readlines()
    assert text in lines[line - 1] and text in message


def test_a_generator_that_is_a_static_argument():
    _, message = warned(
        lambda x, rng: x + rng.normal(), X, np.random.default_rng(5), static_argnums=1
    )
    assert "rng.normal()" in message


class Model(Noise):
    def __call__(self, x):
        return x + self.rng.normal()

    def method(self, x):
        return x + self.rng.normal()


def drawn_with(rng, x, *, other=None):
    return x + (other or rng).normal()


def drawn_with_another(x, *, rng):
    return x * rng.normal()


@pytest.mark.parametrize(
    "function",
    [
        Model(),
        Model().method,
        functools.partial(drawn_with, RNG),
        functools.partial(drawn_with_another, rng=RNG),
    ],
)
def test_a_generator_that_the_callable_holds(function):
    with pytest.warns(FrozenDrawWarning, match=r"test_frozen_draws.py:\d+: .* draws random"):
        tp.jit(function)(X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + np.random.default_rng().normal(),
        lambda x: x + np.random.default_rng(None).normal(size=3),
        lambda x: x + np.random.default_rng(seed=None).normal(),
        lambda x: x + np.random.RandomState().normal(),
        lambda x: x + random.Random().random(),
        lambda x: x + np.random.Generator(np.random.PCG64()).normal(),
        lambda x: x + np.random.default_rng(np.random.SeedSequence()).normal(),
    ],
)
def test_a_generator_without_a_seed(function):
    """The warning comes once for a line."""
    with pytest.warns(FrozenDrawWarning) as caught:
        tp.jit(function)(X)
        tp.jit(function)(X * 2.0)
        tp.jit(lambda x: function(x))(X)
    (one,) = caught
    assert one.filename == __file__ and one.lineno == function.__code__.co_firstlineno
    assert "without a seed" in str(one.message) and "transpile.random" in str(one.message)


def test_what_is_no_frozen_draw():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tp.jit(lambda x: x + np.random.default_rng(7).normal())(X)  # its own: always the same
        tp.jit(lambda x: x + RNG.bit_generator.state["state"]["inc"] * 0)(X)
        tp.djit(lambda x: x + RNG.normal())(X)  # runs on every call
        tp.jit(lambda x: tp.debug.callback(lambda: RNG.normal()) or x)(X)
        tp.jit(lambda x: x + random.Random(8).random())(X)
        tp.jit(lambda x: x + np.random.RandomState(seed=8).normal())(X)
        tp.jit(lambda x: x + np.random.Generator(np.random.PCG64(8)).normal())(X)
        tp.jit(lambda x: x + DICE.getstate()[0])(X)
        tp.jit(lambda x: x + SYSTEM.random() + Loaded(3).random())(X)
        tp.jit(lambda x: x + random.Random.VERSION)(X)
        if False:  # named, not drawn
            RNG.normal()
        tp.jit(lambda x: x if x.shape else RNG.normal())(X)


def test_a_process_that_has_not_imported_numpys_random(tmp_path):
    script = tmp_path / "draws.py"
    script.write_text(
        "import sys\nimport numpy as np\nimport transpile\n\n"
        "@transpile.jit\ndef f(x):\n    return x + np.random.normal()\n\n"
        "@transpile.jit\ndef g(x):\n    return x + 1\n\n"
        "g(np.ones(3))\nprint('numpy.random' in sys.modules)\n"
        "assert f(np.ones(3))[0] == f(np.ones(3))[0]\n"
    )
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=True
    )
    assert run.stdout == "False\n"
    assert run.stderr.count("FrozenDrawWarning") == 1 and "draws.py:7: " in run.stderr
