"""The idea of transpile, from nothing: NumPy functions become C, in one file without dependencies.

    python docs/from_scratch.py

It reads from top to bottom, in the order in which data flows:

    f, shapes --trace--> graph --fuse--> loops --print--> C text --cc--> library --ctypes--> results

The real thing does the same with more care: every dtype, views, C functions of its own, a cache,
threads, errors that say what to do. Here arrays are float64, and there are a few elementwise
functions, sums and maxima over the last axis, and broadcasting of what these leave.
"""

import ctypes
import math
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# -------------------------------------------------------------------------------------- the graph
# A program is a list of equations, and each defines one value. `Value` is both: what an equation
# computes, and from which values. That is all there is to a graph.


@dataclass(eq=False)
class Value:
    """One array of a program: `op` applied to `args`. An input has the op "input"."""

    op: str
    args: tuple
    shape: tuple
    name: str = ""


# ------------------------------------------------------------------------------------- primitives
# A primitive is one record: how NumPy spells it, and how C does. Reductions say how two numbers are
# combined and where the combination starts.

ELEMENTWISE = {
    np.add: "({} + {})",
    np.subtract: "({} - {})",
    np.multiply: "({} * {})",
    np.divide: "({} / {})",
    np.negative: "(-{})",
    np.exp: "exp({})",
    np.log: "log({})",
    np.tanh: "tanh({})",
    np.maximum: "fmax({}, {})",
}
REDUCTIONS = {
    np.sum: ("{0} = {0} + {1};", "0.0"),
    np.max: ("{0} = fmax({0}, {1});", "-INFINITY"),
}

# ---------------------------------------------------------------------------------------- tracing
# To trace is to call the function on objects that behave like arrays, and write down what they are
# asked to do. NumPy itself sends us its calls: `np.exp(x)` arrives at `x.__array_ufunc__`, and
# `np.sum(x)` at `x.__array_function__`.


class Tracer(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array while a function is traced."""

    def __init__(self, program: list, value: Value) -> None:
        self.program = program
        self.value = value

    @property
    def shape(self):
        return self.value.shape

    def __array_ufunc__(self, ufunc, method, *inputs, **settings):
        if method != "__call__" or settings or ufunc not in ELEMENTWISE:
            return NotImplemented
        args = tuple(x.value if isinstance(x, Tracer) else float(x) for x in inputs)
        shapes = [a.shape for a in args if isinstance(a, Value)]
        return self.define(Value(ufunc, args, np.broadcast_shapes(*shapes)))

    def __array_function__(self, function, types, args, settings):
        if function not in REDUCTIONS or settings != {"axis": -1, "keepdims": True}:
            return NotImplemented
        return self.define(Value(function, (self.value,), (*self.shape[:-1], 1)))

    def define(self, value: Value) -> "Tracer":
        self.program.append(value)
        return Tracer(self.program, value)


def trace(function, shapes):
    """(inputs, equations, result) of a function of arrays of these shapes."""
    names = function.__code__.co_varnames
    inputs = [Value("input", (), s, n) for s, n in zip(shapes, names, strict=False)]
    program = []
    result = function(*[Tracer(program, value) for value in inputs])
    for number, value in enumerate(program):
        value.name = f"t{number}"
    result.value.name = "out"
    return inputs, program, result.value


# ----------------------------------------------------------------------------------------- fusion
# What makes a program slow is moving arrays through memory, so the question for each value is where
# it lives:
#
#   inline   nowhere: its expression is written into the one place that uses it
#   scalar   in a C variable inside the loop over rows: what a reduction leaves of a row
#   row      in a local array: something costly that two loops over the row need
#   stored   in memory: the result
#
# With that decided, the loops follow. All values here have the same leading axes, so one loop over
# rows carries everything, and inside it each reduction, each row and the result has its loop.

COSTLY = {np.exp, np.log, np.tanh, np.divide}


def place(program, result):
    """The home of each value."""
    homes = {}
    for value in program:
        users = [user for user in program if value in user.args]
        if value is result:
            homes[value] = "stored"
        elif value.op in REDUCTIONS:
            homes[value] = "scalar"
        elif len(users) > 1 and is_costly(value, homes) and value.shape[-1] > 1:
            homes[value] = "row"
        else:
            homes[value] = "inline"
    return homes


def is_costly(value, homes):
    """Tell whether computing an element again would cost more than keeping it."""
    inlined = [a for a in value.args if homes.get(a) == "inline"]
    return value.op in COSTLY or any(is_costly(arg, homes) for arg in inlined)


# ---------------------------------------------------------------------------------------- C text
# Expressions are printed by substitution: an inline value is its formula, any other its name with
# subscripts. A value of shape (rows, 1) is read at column 0 whatever the column: that is all that
# broadcasting is.


def element(value, homes):
    """The C expression of one element, at row i and column j."""
    if not isinstance(value, Value):
        return repr(value)
    home = homes.get(value, "stored")
    if home == "scalar":
        return value.name
    if home == "row":
        return f"{value.name}[j]"
    if home == "stored":
        row = "i" if math.prod(value.shape[:-1]) > 1 else "0"
        column = "j" if value.shape[-1] > 1 else "0"
        return f"{value.name}[{row}][{column}]"
    return formula(value, homes)


def formula(value, homes):
    return ELEMENTWISE[value.op].format(*(element(arg, homes) for arg in value.args))


def loops(program, result, homes):
    """The lines of the loop over rows."""
    yield f"for (long i = 0; i < {math.prod(result.shape[:-1])}; i++) {{"
    for value in program:
        home, columns = homes[value], value.shape[-1]
        if home == "inline":
            continue
        if home == "scalar":
            combine, start = REDUCTIONS[value.op]
            columns = value.args[0].shape[-1]
            yield f"    double {value.name} = {start};"
            body = combine.format(value.name, element(value.args[0], homes))
        elif home == "row":
            yield f"    double {value.name}[{columns}];"
            body = f"{value.name}[j] = {formula(value, homes)};"
        else:
            body = f"{element(value, homes)} = {formula(value, homes)};"
        yield f"    for (long j = 0; j < {columns}; j++)"
        yield f"        {body}"
    yield "}"


def c_text(name, inputs, program, result):
    """The C file."""
    homes = place(program, result)
    parameters = [f"const double {v.name}[restrict][{v.shape[-1]}]" for v in inputs]
    parameters.append(f"double {result.name}[restrict][{result.shape[-1]}]")
    lines = ["#include <math.h>", "", f"void {name}({', '.join(parameters)})", "{"]
    lines += [f"    {line}" for line in loops(program, result, homes)]
    return "\n".join([*lines, "}", ""])


# ------------------------------------------------------------------------------ compile and call


class Compiled:
    """A function compiled for arguments of certain shapes."""

    def __init__(self, function, shapes) -> None:
        inputs, self.program, result = trace(function, shapes)
        self.text = c_text(function.__name__, inputs, self.program, result)
        self.shapes, self.result = shapes, result.shape
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder, "program.c"), Path(folder, "program.so")
            source.write_text(self.text)
            flags = ["-O3", "-shared", "-fPIC", "-o", str(library)]
            subprocess.run(["cc", *flags, str(source), "-lm"], check=True)
            self.run = getattr(ctypes.CDLL(str(library)), function.__name__)

    def __call__(self, *arrays):
        arrays = [np.ascontiguousarray(x, dtype=float) for x in arrays]
        assert [x.shape for x in arrays] == list(self.shapes)
        out = np.empty(self.result)
        self.run(*[ctypes.c_void_p(x.ctypes.data) for x in (*arrays, out)])
        return out


def jit(function):
    """The function, compiled when it is first called with arguments of these shapes."""
    compiled = {}

    def call(*arrays):
        shapes = tuple(np.shape(x) for x in arrays)
        if shapes not in compiled:
            compiled[shapes] = Compiled(function, shapes)
        return compiled[shapes](*arrays)

    call.compiled = compiled
    return call


# ---------------------------------------------------------------------------------- see it work


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def layer(x, scale, shift):
    mean = np.sum(x, axis=-1, keepdims=True) / 64
    centred = x - mean
    variance = np.sum(centred * centred, axis=-1, keepdims=True) / 64
    return np.tanh(scale * centred * np.exp(-0.5 * np.log(variance + 1e-5)) + shift)


def check(function, *arrays):
    """Compile, compare with NumPy, and return what was compiled."""
    compiled = jit(function)
    np.testing.assert_allclose(compiled(*arrays), function(*arrays), rtol=1e-12, atol=1e-14)
    assert compiled(*arrays).tobytes() == compiled(*[x.copy("F") for x in arrays]).tobytes()
    (only,) = compiled.compiled.values()
    return only


def main() -> None:
    random = np.random.default_rng(0)
    x, scale, shift = random.normal(size=(1000, 64)), *random.normal(size=(2, 1, 64))
    fused = check(softmax, x)
    print(fused.text)
    assert len(fused.program) == 5
    assert fused.text.count("for (") == 5, "one loop over rows; in it: maximum, e, sum, quotient"
    assert "double t2[64];" in fused.text, "the exponentials of a row are kept, not computed twice"
    fused = check(layer, x, scale, shift)
    print(fused.text)
    print("both agree with NumPy")


if __name__ == "__main__":
    main()
