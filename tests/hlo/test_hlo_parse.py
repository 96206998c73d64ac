"""What is written is read back: texts and messages become the modules that they are of, and graphs
that are read back give the same numbers."""

import collections
import warnings

import numpy as np
import pytest
from control_programs import PROGRAMS
from primitive_programs import array_program, elementwise_program
from thorough import one_in

import transpile
from transpile import lax, xla_computation
from transpile.hlo.emit import module_of
from transpile.hlo.expansions import EXPANSIONS
from transpile.hlo.parse.hlo_text import parse_hlo_text
from transpile.hlo.parse.proto import parse_proto
from transpile.hlo.parse.stablehlo import parse_stablehlo
from transpile.hlo.proto import serialised
from transpile.hlo.rules import rule_of
from transpile.hlo.stablehlo import to_stablehlo
from transpile.hlo.text import to_text
from transpile.hlo_import.computations import graph_of
from transpile.ir.graph import Equation, Graph, Var
from transpile.ir.primitive import TABLE
from transpile.ir.types import SHORT_NAMES, as_dtype
from transpile.transforms.interpret import interpret


def is_tried(name, dtype):
    """What XLA has instructions for; expansions, which are long, for integers alone."""
    if rule_of(TABLE[name]) or TABLE[name].kind == "window":
        return True
    return name in EXPANSIONS and dtype.kind in "iub"


def modules(dtype):
    """(name, graph, values) of every primitive that is tried for a dtype."""
    groups = collections.defaultdict(list)
    for program in (elementwise_program, array_program):
        batch = program(dtype)
        for name, inputs, params, _ in batch.cases:
            if is_tried(name, dtype):
                groups[name].append((batch, inputs, params))
    for name, cases in groups.items():
        variables, equations = {}, []
        for batch, inputs, params in cases:
            variables |= {a: batch.value(a) for a in inputs if isinstance(a, Var)}
            types = TABLE[name].result_types([a.type for a in inputs], params)
            outputs = tuple(Var(t) for t in types)
            equations.append(Equation(TABLE[name], tuple(inputs), params, outputs))
        results = tuple(v for e in equations for v in e.outputs)
        yield name, Graph(tuple(variables), tuple(equations), results, name), [*variables.values()]


def is_equal(got, want):
    """True for equal integers, and for floats that are close; complex ones that are not finite, or
    nearly so, are not compared: formulas overflow elsewhere."""
    got, want = np.asarray(got), np.asarray(want)
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return False
    if want.dtype.kind in "biu":
        return np.array_equal(got, want)
    close = 1e-4 if want.real.dtype.itemsize <= 4 else 1e-10
    with np.errstate(all="ignore"):
        return np.allclose(got, want, rtol=close, atol=1e-30, equal_nan=True)


@pytest.mark.parametrize("name", ["bool", "u8", "i32", "f32"])
@one_in(5)
def test_modules_are_read_back(name):
    dtype = next(as_dtype(d) for d, short in SHORT_NAMES.items() if short == name)
    wrong = []
    for primitive, graph, values in modules(dtype):
        module = module_of(graph, primitive)
        text, stable, message = to_text(module), to_stablehlo(module), serialised(module)
        assert to_text(parse_hlo_text(text).module) == text
        read = parse_stablehlo(stable)
        assert to_stablehlo(read.module) == stable
        assert serialised(parse_proto(message).module) == message
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, want = interpret(graph_of(read), values), interpret(graph, values)
        if not all(map(is_equal, got, want)):
            wrong.append(primitive)
    assert not wrong


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@one_in(3)
def test_loops_are_read_back(program):
    def f(*args):
        return program.function(lax, *args)

    computation = xla_computation(f)(*program.args)
    text, message = computation.as_hlo_text(), computation.as_serialized_hlo_module_proto()
    assert to_text(parse_hlo_text(text).module) == text
    assert serialised(parse_proto(message).module) == message
    graph = graph_of(parse_stablehlo(computation.as_stablehlo_text()))
    leaves = transpile.tree.leaves(program.args)
    traced = transpile.make_jaxpr(f)(*program.args)
    with np.errstate(all="ignore"):
        got, want = interpret(graph, leaves), interpret(traced, leaves)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-10, atol=1e-12)


def test_donated_arguments_are_read_back():
    f = lambda x, y: (x + y, x @ y)
    x, y = np.arange(4.0), np.arange(4.0) + 1
    for is_tuple in (False, True):
        made = xla_computation(f, tuple_args=is_tuple, donate_argnums=0)(x, y)
        for read in (made.as_hlo_text(), made.as_serialized_hlo_module_proto()):
            function = transpile.from_hlo(read)
            assert function.donate_argnums == (0,)
            np.testing.assert_array_equal(function(x, y)[0], x + y)
