"""Every primitive as CUDA, on the CPU: with the bits of NumPy or C, without a race, a barrier that
some threads do not reach, or an access outside of arrays.

Complex functions, for which C calls its library's, have errors: those of docs/accuracy.md.
"""

import ast
import importlib
import pkgutil

import numpy as np
import pytest
from complex_errors import within_relative
from cuda_programs import WIDE, lowered, run
from primitive_programs import array_program, elementwise_program
from thorough import THOROUGH, each

from transpile import intrinsics
from transpile.codegen.c_functions import function, parsed_column
from transpile.codegen.complex_library import complex_functions
from transpile.errors import UnsupportedError
from transpile.intrinsics.tiles import TransposeTile
from transpile.ir.calls import Call, Strided
from transpile.ir.graph import Const, Graph, Source
from transpile.ir.loop_ir import Load
from transpile.ir.primitive import TABLE
from transpile.ir.types import DTYPES, SHORT_NAMES, kind_letter
from transpile.options import Options
from transpile.runtime.executable import Lowering
from transpile.symbols import c_helpers
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.render import cuda_text
from transpile.targets.cuda.routines.functions import has_routine, routine
from transpile.transforms.interpret import interpret

# Intrinsics without a routine: those that only passes of C's schedule make, or that become other
# loops; those for which a kernel would have to call the host.
OF_C = {"matmul_panel_rows", "matmul_panels", "matmul_either_rows", "matmul_rows"}
OF_C |= {"transpose_tile", "conv", "widen_halves", "round_halves"}
OF_C |= {"conv_planes_image", "conv_planes_panels", "conv_of_sizes"}
OF_HOST = {"call_back"}
BY_NAME = {SHORT_NAMES[d]: d for d in DTYPES}
# The errors of complex functions relative to the result, in units of the precision of its parts;
# and by which factor those of an intermediate result grow, of functions of functions.
COMPLEX_ULPS = 4
WIDER = {"complex64": np.complex128, "complex128": np.clongdouble}
GROWS = {
    "exp2": lambda x: x,
    "power": lambda x, y: y * np.log(x),
    "logistic": lambda x: np.exp(-x) / (1 + np.exp(-x)),
}
# Small launches: few threads to run one after the other, and several blocks.
SMALL = {
    "one block": Gpu(block=64, most_blocks=3),
    "wide": WIDE,
    "in memory": Gpu(block=32, most_blocks=2, most_slices=2, shared_bytes=0, local_bytes=0),
}


def some(batch, keep):
    """The graph of some cases of a batch, their values, and the cases."""
    cases = [case for number, case in enumerate(batch.cases) if keep(number, case)]
    needed = {case[3] for case in cases}
    equations = []
    for equation in reversed(batch.equations):
        if not needed.isdisjoint(equation.outputs):
            equations.append(equation)
            needed.update(equation.inputs)
    inputs = [(v, x) for v, x in zip(batch.inputs, batch.values, strict=True) if v in needed]
    outputs = tuple(case[3] for case in cases)
    graph = Graph(tuple(v for v, _ in inputs), tuple(reversed(equations)), outputs, batch.name)
    graph.check()
    return graph, [x for _, x in inputs], cases


def on_cuda(graph, values, gpu, runs):
    """The results of a graph as CUDA."""
    program = lowered(graph, Options())
    return runs(program, cuda_text(program, Options(), gpu=gpu), values)


def bits(x):
    """An array whose NaNs are all the same one."""
    x = np.array(x)
    if x.dtype.kind == "c":
        return np.stack([bits(x.real), bits(x.imag)])
    if kind_letter(x.dtype) == "f":
        x[x != x] = np.nan
    return x


@each("name", tuple(BY_NAME), ("bool", "i32", "f32", "c128"))
def test_elementwise_primitives_have_the_bits_of_c(name):
    check_elementwise(name, Gpu(block=64, most_blocks=2), run)


def check_elementwise(name, gpu, runs):
    """Compare the elementwise primitives of a dtype with C: their bits; of functions for which C
    calls complex.h, the errors with those allowed."""
    batch = elementwise_program(BY_NAME[name])
    graph, values, cases = some(batch, lambda *_: True)
    found = on_cuda(graph, values, gpu, runs)
    expected = Lowering(graph, Options(extra_cflags=("-Werror",))).build()(values)
    value_of = dict(zip(graph.inputs, values, strict=True))
    wrong = {}
    for (primitive, atoms, params, _), x, y in zip(cases, found, expected, strict=True):
        if calls_complex_library(primitive, atoms[0].type.dtype):
            operands = [a.value if isinstance(a, Const) else value_of[a] for a in atoms]
            good = is_accurate(TABLE[primitive], operands, params, x)
            good |= np.isnan(x) & np.isnan(y)  # by an intermediate result that overflows
            if not good.all():
                first = tuple(np.argwhere(~good)[0])
                wrong[primitive] = [*(v[first] for v in operands), x[first], y[first]]
        elif bits(x).tobytes() != bits(np.asarray(y)).tobytes():
            wrong[primitive] = "other bits"
    assert wrong == {}


def calls_complex_library(primitive, dtype):
    """True if C computes an elementwise primitive by a function of complex.h."""
    if dtype.kind != "c" or not TABLE[primitive].transcendental:
        return False
    tree = parsed_column(primitive, dtype)
    called = {function(n.func.id, dtype) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    code = "\n".join((*called, *(item.text for item in c_helpers.needed(called))))
    return complex_functions(code) != []


def is_accurate(primitive, operands, params, found):
    """Where complex results are within the allowed error of those of the next wider type."""
    wide = [v.astype(WIDER[found.dtype.name]) for v in operands]
    with np.errstate(all="ignore"):
        exact = primitive.numpy(*wide, **params)
        grows = np.abs(GROWS.get(primitive.name, lambda *_: 0.0)(*wide))
        limit = COMPLEX_ULPS * (1 + np.fmin(grows, 1e100).astype(np.float64))
        good = within_relative(found, exact.astype(found.dtype), limit)
    # A power of NaN is NaN, where C finds that an infinite part decides.
    return good | (np.isnan(found) & np.any([np.isnan(v) for v in operands], axis=0))


def near(x, y, dtype):
    """True if two results are equal, up to the order of additions."""
    if x.dtype.kind in "biu":
        return np.array_equal(x, y)
    size = {2: 2e-2, 4: 1e-4}.get(dtype.itemsize // (2 if dtype.kind == "c" else 1), 1e-10)
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return np.allclose(x.astype(wide), y.astype(wide), rtol=size, atol=size / 10, equal_nan=True)


@pytest.mark.parametrize("gpu", SMALL)
@each("name", tuple(BY_NAME), ("bool", "f32", "c64"))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_primitives_over_arrays_are_those_of_numpy(name, gpu):
    tried = {}

    def keep(number, case):
        """All cases, or in the ordinary tier two of each primitive, others for each GPU."""
        tried[case[0]] = tried.get(case[0], -1) + 1
        apart = (tried[case[0]] + list(SMALL).index(gpu)) % 9 == 0
        return THOROUGH or (apart and tried[case[0]] < 18)

    check_arrays(name, SMALL[gpu], keep, run)


def check_arrays(name, gpu, keep, runs):
    """Compare the primitives over arrays of a dtype, of the cases to keep, with NumPy."""
    dtype = BY_NAME[name]
    graph, values, cases = some(array_program(dtype), keep)
    found, expected = on_cuda(graph, values, gpu, runs), interpret(graph, values)
    for (primitive, _, params, _), x, y in zip(cases, found, expected, strict=True):
        assert x.shape == np.shape(y), primitive
        assert near(x, np.asarray(y), dtype), (primitive, params, x, y)


def test_what_there_is_not_yet_says_so():
    """An intrinsic that only C's schedule makes, in the place of one of the user's."""
    x = Strided(Load("x", (0,), np.dtype(np.float64)))
    call = TransposeTile(3, 3, 3, x, x)
    with pytest.raises(UnsupportedError, match="no transpose_tile for device='cuda' yet"):
        routine(call, Source("f.py", 1, "f"), Gpu())


def test_intrinsics_without_a_routine_are_these():
    """The list only becomes shorter."""
    for module in pkgutil.iter_modules(intrinsics.__path__):
        importlib.import_module(f"transpile.intrinsics.{module.name}")
    own = (c for c in all_intrinsics() if c.__module__.startswith("transpile.intrinsics."))
    without = {c.name for c in own if not has_routine(c) and not c.communicates}
    assert without == OF_C | OF_HOST


def all_intrinsics(of=Call):
    """The intrinsics that a program can have."""
    for intrinsic in of.__subclasses__():
        if hasattr(intrinsic, "name"):
            yield intrinsic
        yield from all_intrinsics(intrinsic)
