"""A gradient as a C library: a C program without Python fits a curve by gradient descent."""

from itertools import pairwise

import numpy as np
import pytest
from programs import run_main

import transpile
from transpile.ir.calls import Call
from transpile.ir.loop_rewrite import walk

pytestmark = pytest.mark.full_level

TIMES = np.linspace(0, 4, 50)
TRUTH = {"height": 2.5, "offset": -0.75, "rate": 1.25}
STEPS, RATE = 4000, 0.2

C_PROGRAM = r"""
/* Fits height * exp(-rate * t) + offset to measurements, by gradient descent. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fit.h"

enum { COUNT = 50, STEPS = 4000 };

int main(void)
{
    double times[COUNT], measured[COUNT];
    for (int i = 0; i < COUNT; i++) {
        times[i] = 4.0 * i / (COUNT - 1);
        measured[i] = 2.5 * exp(-1.25 * times[i]) - 0.75;
    }
    double height = 1.0, offset = 0.0, rate = 0.5, loss = 0.0;
    double dheight, doffset, drate;
    void *workspace = malloc(fit_workspace_size() + 1);
    for (int step = 0; step < STEPS; step++) {
        int code = fit(&height, &offset, &rate, times, measured,
                       &loss, &dheight, &doffset, &drate, workspace);
        if (code != 0) {
            fprintf(stderr, "%s\n", fit_error(code));
            return 1;
        }
        if (step % 1000 == 0)
            printf("%.17g\n", loss);
        height -= 0.2 * dheight;
        offset -= 0.2 * doffset;
        rate -= 0.2 * drate;
    }
    printf("%.17g %.17g %.17g\n", height, offset, rate);
    free(workspace);
    return 0;
}
"""


def loss(curve, times, measured):
    predicted = curve["height"] * np.exp(-curve["rate"] * times) + curve["offset"]
    error = predicted - measured
    return (error * error).mean()


def curve_of(height, offset, rate):
    return {"height": height, "offset": offset, "rate": rate}


def test_a_c_program_descends_along_a_saved_gradient(tmp_path):
    start = curve_of(1.0, 0.0, 0.5)
    measured = TRUTH["height"] * np.exp(-TRUTH["rate"] * TIMES) + TRUTH["offset"]
    step = transpile.jit(transpile.value_and_grad(loss))
    step.lower(start, TIMES, measured).compile().save(tmp_path, "fit")
    *losses, last = run_main(tmp_path, "fit", C_PROGRAM)
    found = curve_of(*map(float, last.split()))
    assert float(losses[1]) < 1e-3 * float(losses[0]) and float(losses[-1]) < 1e-20
    np.testing.assert_allclose(list(found.values()), list(TRUTH.values()), atol=1e-6)

    curve = start  # the same descent in Python, through the same library
    for _ in range(STEPS):
        _, slope = step(curve, TIMES, measured)
        curve = {name: curve[name] - RATE * slope[name] for name in curve}
    np.testing.assert_allclose(list(found.values()), list(curve.values()), rtol=1e-9)


def test_the_c_of_the_gradient_is_one_pass_over_the_measurements(tmp_path):
    step = transpile.jit(transpile.value_and_grad(loss))
    text = step.lower(curve_of(1.0, 0.0, 0.5), TIMES, TIMES).as_text()
    assert text.count("for (int64_t i = 0; i < 50; i++)") == 1
    assert text.count("exp_f64(") == 2  # its definition, and one use
    assert "[50]" not in text.split("static void")[-1].split("{", 1)[1]  # no array of temporaries


def network_error(layers, x, y):
    for weights, bias in layers[:-1]:
        x = np.tanh(x @ weights + bias)
    weights, bias = layers[-1]
    error = x @ weights + bias - y
    return (error * error).mean()


def test_the_gradient_of_a_network_is_products_and_a_handful_of_loops():
    sizes = [96, 64, 48, 10]
    layers = [(np.zeros((m, n), "f4"), np.zeros(n, "f4")) for m, n in pairwise(sizes)]
    x, y = np.zeros((32, 96), "f4"), np.zeros((32, 10), "f4")
    lowered = transpile.jit(transpile.grad(network_error)).lower(layers, x, y)
    graph, program = lowered.compiler_ir("graph"), lowered.compiler_ir("loops")
    products = [k for k in program.kernels for s in walk(k.body) if isinstance(s, Call)]
    assert len(products) == 3 + 3 + 2  # forwards, by the weights, by the hidden layers
    # Two activations, the error, two of the way back, and the sums of three biases.
    assert len(program.kernels) - len(products) <= 2 + 1 + 2 + 3
    # In memory: per hidden layer its sum, itself, and their cotangents; the output, its error.
    arrays = [b for b in program.temporaries if b.dtype == np.float32]
    assert len(arrays) <= 2 * 4 + 2
    # A transposed operand is read where it is.
    assert not any(e.primitive.name == "transpose" for e in graph.equations)
