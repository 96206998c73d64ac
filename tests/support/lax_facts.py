"""What JAX gives for expressions of `jax.lax`: dtypes, shapes and values, or errors.

`lax_facts.json` has them, as JAX 0.10.2 printed them with 64-bit numbers; run as a program where
JAX is installed, this file writes it again, with the expressions that it has. `NAMES` are the
values that the expressions use.
"""

import json
import warnings
from pathlib import Path

import numpy as np

FILE = Path(__file__).parent / "lax_facts.json"
NAMES = """
f = jnp.ones(3, "f4")
i = jnp.arange(3)
i4 = i.astype("i4")
d = jnp.arange(3.0)
m = jnp.arange(12.0).reshape(3, 4)
G = lax.GatherDimensionNumbers
S = lax.ScatterDimensionNumbers
"""


def namespace(package):
    """The names of expressions, for `jax` or for what stands in its place."""
    names = {"jax": package, "jnp": package.numpy, "lax": package.lax, "np": np}
    exec(NAMES, names)  # the values that all expressions share
    return names


def fact(expression, names, leaves):
    """What an expression gives: a list of leaves, or the class and the words of an error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = leaves(eval(expression, names))
    except Exception as problem:  # whatever JAX raises is the fact
        return {"error": type(problem).__name__, "words": str(problem).strip()}
    return {"leaves": [described(x) for x in found]}


def described(leaf):
    """A leaf in JSON: (dtype, shape, numbers) of an array, complex ones as pairs."""
    if not hasattr(leaf, "dtype"):
        return leaf if isinstance(leaf, bool | int | float | str) else repr(leaf)
    array = np.asarray(leaf)
    numbers = array.astype("f4") if array.dtype.kind == "V" else array
    if array.dtype.kind == "c":
        numbers = np.stack([array.real, array.imag], -1)
    return [array.dtype.name, list(array.shape), numbers.ravel().tolist()]


def read():
    """All facts, by expression."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def write(facts):
    """Keep facts, a line each."""
    lines = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in facts.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    import jax

    jax.config.update("jax_enable_x64", True)
    names = namespace(jax)
    write({expression: fact(expression, names, jax.tree.leaves) for expression in read()})
