"""XLA's own parser reads the modules, and XLA computes by them what NumPy does.

Text and message are the same module to XLA, and StableHLO is run beside them.

Every primitive for every dtype, on the values of the primitives' own tests; whole programs with
loops, branches and derivatives.

Not compared: elements where an operand or a result is subnormal or the least normal number, since
XLA's programs for a CPU take subnormal numbers for zero; complex elements where either has a part
or an absolute value that is not finite, since XLA's formulas overflow elsewhere, or where an
operand has a part -0.0, for which XLA's square root takes the wrong side of its cut; sums so small
that some of their terms are subnormal; conversions of floats that the integers do not have; scans
of logaddexp in bfloat16, which NumPy rounds at each element.
"""

import collections
import warnings

import numpy as np
import pytest
from composites import COMPOSITES, argument
from control_programs import PROGRAMS
from hlo_errors import LOSES, gamma_samples, scale
from primitive_programs import array_program, elementwise_program

import transpile
from transpile import lax, xla_computation
from transpile.hlo.emit import module_of
from transpile.hlo.expansions import EXPANSIONS
from transpile.hlo.parse.hlo_text import parse_hlo_text
from transpile.hlo.proto import serialised
from transpile.hlo.rules import rule_of
from transpile.hlo.stablehlo import to_stablehlo
from transpile.hlo.text import WORDS, to_text
from transpile.ir.graph import Equation, Graph, Var
from transpile.ir.primitive import TABLE
from transpile.ir.types import DTYPES, SHORT_NAMES, finfo, is_half, kind_letter
from transpile.primitives.rules import apply

pytest.importorskip("jaxlib")
import xla

LONG_SUMS = {"cumsum", "cumprod", "cumlogsumexp"}  # in float32, as those of C; NumPy's round each
SUMS = {"zeta"}  # of terms that may be subnormal beside normal results
# Relative errors by the bits of a real number. Powers, products of many and long sums lose more.
CLOSE = {16: 1e-2, 32: 3e-5, 64: 1e-12}
OF_XLA = {"c8": 2e-4, "c16": 1e-11}  # XLA's complex functions; powers lose three digits more


def tolerance(primitive, dtype):
    if dtype.kind == "c":
        return OF_XLA[f"c{dtype.itemsize}"] * (1000 if primitive.name == "power" else 1)
    loss = LOSES.get(primitive.name, 1)
    return loss * 4 * CLOSE[16] if dtype.name == "bfloat16" else loss * CLOSE[8 * dtype.itemsize]


def is_subnormal(x):
    """Where an element, or a part of it, is above zero and up to the least normal number."""
    x = np.asarray(x)
    if kind_letter(x.dtype) == "c":
        return is_subnormal(x.real) | is_subnormal(x.imag)
    if kind_letter(x.dtype) != "f":
        return np.zeros(x.shape, bool)
    size = np.abs(x.astype(np.float64))
    return (size > 0) & (size <= float(finfo(x.dtype).tiny))


def is_negative_zero(x):
    return (x == 0) & np.signbit(x)


def left_out(primitive, operands, got, want):
    """The mask of the elements that are not compared."""
    mask = np.zeros(np.shape(want), bool)
    if primitive.kind == "elementwise":
        for x in (*operands, want):
            mask = mask | is_subnormal(x)
            if np.asarray(x).dtype.kind == "c":
                mask = mask | ~np.isfinite(np.abs(x)) | ~np.isfinite(got)
                mask = mask | is_negative_zero(x.real) | is_negative_zero(x.imag)
    if primitive.name in SUMS:
        mask = mask | (np.abs(want) < 1000 * float(finfo(want.dtype).tiny))
    if primitive.name == "cumlogsumexp" and want.dtype.name == "bfloat16":
        return ~mask
    if primitive.name == "convert_element_type" and want.dtype.kind in "iu":
        source = np.asarray(operands[0])
        if kind_letter(source.dtype) in "fc":
            info = np.iinfo(want.dtype)
            value = source.real.astype(np.float64)
            mask = mask | ~((value > info.min - 1.0) & (value < info.max + 1.0))
    return mask


def differs(primitive, operands, got, want):
    """What is wrong with a result, or ""."""
    want = np.asarray(want)
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    compared = ~left_out(primitive, operands, got, want)
    if kind_letter(want.dtype) in "biu":
        wrong = (got != want) & compared
    else:
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        g, w = got.astype(wide), want.astype(wide)
        with np.errstate(all="ignore"):
            size = scale(primitive.name, operands, want)
            if (primitive.name, want.dtype.kind) == ("power", "c"):
                size = np.maximum(size, 1)
            error = np.abs(g - w) / size
        same = (g == w) | (np.isnan(g) & np.isnan(w))
        wrong = compared & ~same & ~(error <= tolerance(primitive, want.dtype))
    if not wrong.any():
        return ""
    at = tuple(np.argwhere(wrong)[0])
    inputs = [x[at] for x in map(np.asarray, operands) if x.shape == wrong.shape]
    return f"{wrong.sum()} of {wrong.size}: {inputs} give {got[at]}, not {want[at]}"


def cases_of(dtype):
    """{primitive: (batch, its cases)} of a dtype, without those that have no rule."""
    groups = collections.defaultdict(list)
    for program in (elementwise_program, array_program):
        batch = program(dtype)
        for name, inputs, params, _ in batch.cases:
            groups[name].append((batch, inputs, params))
    return groups


def run_cases(name, cases):
    """(operands, what XLA gives, what NumPy gives) of cases, all in one module."""
    variables, equations, operands = {}, [], []
    for batch, inputs, params in cases:
        for atom in inputs:
            if isinstance(atom, Var):
                variables[atom] = batch.value(atom)
        types = TABLE[name].result_types([a.type for a in inputs], params)
        outputs = tuple(Var(t) for t in types)
        equations.append(Equation(TABLE[name], tuple(inputs), params, outputs))
        operands.append([batch.value(a) for a in inputs])
    results = tuple(v for e in equations for v in e.outputs)
    graph = Graph(tuple(variables), tuple(equations), results, name)
    module = module_of(graph, name)
    text, proto = to_text(module), serialised(module)
    assert xla.printed_text(text) == xla.printed(proto)
    got = iter(xla.run_stablehlo(to_stablehlo(module), list(variables.values())))
    for equation, values in zip(equations, operands, strict=True):
        if name in LONG_SUMS:  # a float of 16 bits holds no sum of some hundred terms
            values = [x.astype(np.float32) if is_half(x.dtype) else x for x in values]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            want = TABLE[name].numpy(*values, **equation.params)
        want = want if isinstance(want, list | tuple) else [want]
        # Some of NumPy's functions give float32 for bfloat16.
        want = [
            np.asarray(w).astype(v.type.dtype) for w, v in zip(want, equation.outputs, strict=True)
        ]
        yield values, equation.params, [next(got) for _ in equation.outputs], want


@pytest.mark.parametrize("dtype", DTYPES, ids=SHORT_NAMES.get)
def test_primitives_give_what_numpy_gives(dtype):
    wrong = []
    for name, cases in cases_of(dtype).items():
        if not rule_of(TABLE[name]) and name not in EXPANSIONS and TABLE[name].kind != "window":
            continue
        for operands, params, got, want in run_cases(name, cases):
            for g, w in zip(got, want, strict=True):
                message = differs(TABLE[name], operands, g, w)
                if message:
                    wrong.append(f"{name} {params}: {message}")
    assert not wrong, "\n".join(["", *wrong])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["random_gamma", "random_loggamma"])
def test_samples_of_the_gamma_distribution(name, dtype):
    """A last bit decides now and then whether a sample is taken; never in these."""
    operands = gamma_samples(dtype)
    sample = lambda a, k: apply(name, a, k)
    text = xla_computation(sample)(*operands).as_stablehlo_text()
    (got,) = xla.run_stablehlo(text, operands)
    with np.errstate(all="ignore"):
        want = TABLE[name].numpy(*operands)
    assert got.dtype == want.dtype
    close = 1e3 * float(np.finfo(dtype).eps)  # of the logarithm absolute: it is a sum of three
    least = float(np.finfo(dtype).tiny) if name == "random_gamma" else close
    np.testing.assert_allclose(got, want, rtol=close, atol=least)


def agrees(function, arguments, rtol=1e-10):
    """XLA's results of a function are those of our own program."""
    leaves = transpile.tree.leaves(arguments)
    computation = xla_computation(function)(*arguments)
    text, proto = computation.as_hlo_text(), computation.as_serialized_hlo_module_proto()
    assert xla.printed_text(text) == xla.printed(proto)
    want = transpile.tree.leaves(transpile.jit(function)(*arguments))
    stable = computation.as_stablehlo_text()
    for got in (xla.run_proto(proto, leaves), xla.run_stablehlo(stable, leaves)):
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites_and_their_derivatives(name):
    f, _ = COMPOSITES[name]
    ours = lambda x: f(np, x)
    agrees(ours, (argument(name),))
    agrees(transpile.grad(ours), (argument(name),))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_loops_and_their_derivatives(program):
    def f(*args):
        return program.function(lax, *args)

    agrees(f, program.args)
    total = lambda *args: sum(np.sum(np.abs(x)) for x in transpile.tree.leaves(f(*args)))
    if program.reverse and np.asarray(transpile.tree.leaves(program.args)[0]).dtype.kind == "f":
        agrees(transpile.grad(total), program.args)


def test_arguments_as_a_tuple_and_donated_ones():
    f = lambda x, y: (x + y, x @ y)
    x, y = np.arange(4.0), np.arange(4.0) + 1
    made = xla_computation(f, tuple_args=True, donate_argnums=0)(x, y)
    module = xla.parsed(made.as_hlo_text())
    assert "may-alias" in module.to_string()
    assert "((f64[4]{0}, f64[4]{0}))->" in module.to_string()
    proto = made.as_serialized_hlo_module_proto()
    assert xla.printed_text(made.as_hlo_text()) == xla.printed(proto)


def test_the_text_survives_xlas_own_printer():
    """What XLA prints of a module is a module of the same instructions."""
    f = lambda x: np.sort(np.fft.fft(x).real)
    text = xla_computation(f)(np.ones(8)).as_hlo_text()
    assert xla.parsed(text).to_string().count("\n  ") == text.count("\n  ")


@pytest.mark.parametrize("name", sorted(WORDS))
def test_modules_may_have_the_names_of_words_of_the_syntax(name):
    graph = transpile.make_jaxpr(lambda x: 2 * x)(np.ones(3))
    text = to_text(module_of(graph, name))
    assert text.startswith(f"HloModule %{name}\n")
    assert parse_hlo_text(text).module.name == name
    assert name in xla.printed_text(text).splitlines()[0]
