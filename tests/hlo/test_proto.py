"""The message of a module, read back: every instruction, every reference, every number."""

import subprocess
import sys

import numpy as np

from transpile import lax, xla_computation
from transpile.hlo.module import called
from transpile.hlo.schema import messages
from transpile.ir.types import DTYPES, SHORT_NAMES


def of(function, *arguments, **settings):
    """The computation, and its message read back."""
    computation = xla_computation(function, **settings)(*arguments)
    data = computation.as_serialized_hlo_module_proto()
    return computation.module, messages()["HloModuleProto"].FromString(data)


def program(x, n):
    x = lax.fori_loop(0, n, lambda i, s: np.sort(s * i), x)
    y = lax.cond(x[0] > 0, np.sin, np.cos, x)
    return y[np.array([2, 0])].sum(), np.pad(y, 1)[::2]


def test_instructions_and_references_are_those_of_the_module():
    module, proto = of(program, np.ones(5), 3)
    assert proto.name == module.name == "xla_computation_program"
    assert proto.entry_computation_id == module.entry.number
    assert len(proto.computations) == len(module.computations) > 5
    for ours, theirs in zip(module.computations, proto.computations, strict=True):
        assert (theirs.id, theirs.root_id) == (ours.number, ours.root.number)
        assert [p.element_type for p in theirs.program_shape.parameters] == [
            i.shape.element_type for i in theirs.instructions if i.opcode == "parameter"
        ]
        for a, b in zip(ours.instructions, theirs.instructions, strict=True):
            assert (b.name, b.opcode, b.id) == (a.name, a.opcode, a.number)
            assert list(b.operand_ids) == [o.number for o in a.operands]
            assert sorted(b.called_computation_ids) == sorted(c.number for c in called(a))
    assert proto.host_program_shape == proto.computations[-1].program_shape


def test_the_body_of_a_loop_comes_before_its_condition():
    _, proto = of(program, np.ones(5), 3)
    names = {c.id: c.name for c in proto.computations}
    (loop,) = (i for c in proto.computations for i in c.instructions if i.opcode == "while")
    assert [names[n].split(".")[0] for n in loop.called_computation_ids] == ["body", "condition"]


def test_constants_have_the_bits_of_their_arrays():
    fields = {"b": "preds", "i8": "s64s", "f8": "f64s", "f4": "f32s", "i4": "s32s"}
    for dtype in DTYPES:
        values = np.array([0, 1, 2, 3]).astype(dtype)
        _, proto = of(lambda values=values: values)
        (literal,) = (
            i.literal for c in proto.computations for i in c.instructions if i.opcode == "constant"
        )
        name = fields.get(dtype.str[1:], "")
        (filled,) = (f for f, _ in literal.ListFields() if f.name != "shape")
        found = getattr(literal, filled.name)
        if isinstance(found, bytes):
            assert found == values.tobytes(), SHORT_NAMES[dtype]
        elif dtype.kind == "c":
            assert list(found) == [0, 0, 1, 0, 2, 0, 3, 0]
        else:
            assert np.array_equal(np.array(found, dtype), values), SHORT_NAMES[dtype]
        assert not name or filled.name == name


def test_donated_arguments():
    f = lambda x, y: (y * 2, x + 1)
    for is_tuple in (False, True):
        _, proto = of(f, np.ones(3), np.ones(4), tuple_args=is_tuple, donate_argnums=(0, 1))
        entries = [
            (list(e.output_shape_index), e.parameter_number, list(e.parameter_shape_index), e.kind)
            for e in proto.input_output_alias.entries
        ]
        expected = [([0], 0, [1], 1), ([1], 0, [0], 1)] if is_tuple else [
            ([0], 1, [], 1), ([1], 0, [], 1)
        ]  # fmt: skip
        assert entries == expected


def test_lines_of_the_source():
    _, proto = of(program, np.ones(5), 3)
    lines = {
        i.metadata.source_line
        for i in proto.computations[-1].instructions
        if i.metadata.source_file.endswith("test_proto.py")
    }
    first = program.__code__.co_firstlineno
    assert {first + 2, first + 3} <= lines


def test_what_is_missing_is_named():
    code = """
import sys
sys.modules["google"] = None  # as where it is not installed
import numpy as np, transpile
computation = transpile.xla_computation(np.sin)(1.0)
print(computation.as_hlo_text())
try:
    computation.as_serialized_hlo_module_proto()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("HloModule xla_computation_sin")
    assert "by the package protobuf: pip install transpile[hlo]" in done.stdout
