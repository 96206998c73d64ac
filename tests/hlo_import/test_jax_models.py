"""Functions of JAX's own are read back from each form in which it prints them, and give its
numbers.

Where XLA is more exact than it needs to be, its numbers are not compared: it leaves out roundings
to bfloat16 between operations.
"""

import numpy as np
import pytest

import transpile
from transpile import from_hlo, from_stablehlo
from transpile.errors import HloError

jax = pytest.importorskip("jax")
MODELS = [*pytest.importorskip("jax_models").MODELS, *pytest.importorskip("jax_public").PUBLIC]

EXCESS = {"tensordot bf16", "bf16 f16"}
REFUSED = {"rbg": "the generator (DEFAULT|rng_default) is not supported"}


def stablehlo(lowered):
    return from_stablehlo(lowered.as_text())


def generic(lowered):
    module = lowered.compiler_ir("stablehlo")
    return from_stablehlo(module.operation.get_asm(print_generic_op_form=True))


def hlo(lowered):
    return from_hlo(lowered.compiler_ir("hlo").as_hlo_text(True))


def message(lowered):
    return from_hlo(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())


def wide(x):
    return np.asarray(x).astype(np.complex128 if np.asarray(x).dtype.kind == "c" else np.float64)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("read", [stablehlo, generic, hlo, message])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: m[0].replace(" ", "_"))
def test_models_give_the_numbers_of_jax(model, read):
    name, function, arguments = model
    jitted = jax.jit(function, keep_unused=True)
    leaves = [np.asarray(v) for v in jax.tree.leaves(arguments)]
    want = [np.asarray(v) for v in jax.tree.leaves(jitted(*arguments))]
    if name in REFUSED:
        with pytest.raises(HloError, match=REFUSED[name]):
            read(jitted.lower(*arguments))
        return
    got = transpile.tree.leaves(read(jitted.lower(*arguments))(*leaves))
    for g, w in zip(got, want, strict=True):
        assert (np.asarray(g).dtype, np.shape(g)) == (w.dtype, w.shape)
        if name not in EXCESS:
            close = 1e-4 if w.dtype in ("float16", "float32", "complex64") else 1e-9
            np.testing.assert_allclose(wide(g), wide(w), rtol=close, atol=close)
