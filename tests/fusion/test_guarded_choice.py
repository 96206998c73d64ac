"""Choices by subscripts: nothing is read where their test does not hold."""

import numpy as np
import pytest
from thorough import one_in

import transpile

pytestmark = pytest.mark.full_level
X = np.arange(1, 38) * (1 + 2j)
JOINED = {
    "padded": lambda x: np.prod(np.pad(x * 2, (0, 3), constant_values=1).reshape(4, 10), axis=-1),
    "joined": lambda x: np.sum(np.concatenate([x, x[:5] - 1, x[:6]]).reshape(6, 8), axis=-1),
    "shifted": lambda x: np.concatenate([x[3:], x[:3]]) * np.pad(x[1:], (0, 1)),
}


@pytest.mark.parametrize("name", JOINED)
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@one_in(2)
def test_elements_behind_the_end_are_no_operands_of_a_function(name, dtype):
    x = X.astype(dtype)
    jitted = transpile.jit(JOINED[name])
    # Functions compute their operands, also those of other elements than the test lets through.
    assert "choose_c" not in jitted.lower(x).as_text()
    np.testing.assert_allclose(jitted(x), JOINED[name](x), rtol=1e-5)


def test_a_part_of_a_complex_array_that_is_copied_is_copied_whole():
    text = transpile.jit(lambda x: np.concatenate([x, x + 1])).lower(X).as_text()
    kernel = text[text.index("out[") :]  # behind the helper that copies the parts of a number
    assert "creal" not in kernel and "cimag" not in kernel
