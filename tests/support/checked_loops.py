"""Functions with Python's loops whose program agrees with Python, in C and as its loops say."""

import inspect

import numpy as np

import transpile
from transpile.analysis.oracle.loop_interpreter import run


def text_of(f, *args):
    """The C of a function, without the helpers before its kernel."""
    text = transpile.jit(f).lower(*args).as_text()
    return text[text.index("static void ") : text.index("_workspace_size")]


def agrees(f, *args):
    """What Python says, by the C and by an interpreter of its loops, which asks whether each
    element exists. The C is returned."""
    jitted = transpile.jit(f, compiler_options={"opt_level": 1})
    ours, pythons = [np.copy(a) for a in args], [np.copy(a) for a in args]
    result, expected = jitted(*ours), f(*pythons)
    np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))
    for one, other in zip(ours, pythons, strict=True):
        np.testing.assert_array_equal(one, other)
    program = jitted.lower(*args)._lowering.program()
    named = dict(zip(inspect.signature(f).parameters, args, strict=True))
    run(program, [np.copy(named[buffer.name]) for buffer in program.inputs])
    return text_of(f, *args)
