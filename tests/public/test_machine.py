"""Machine: thresholds follow from its facts, and a program made for another one is another one."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import transpile
from transpile.machine import USUAL, Machine, derived
from transpile.options import Options


def test_thresholds_follow_from_the_facts():
    machine = Machine(cores=4, vector_bytes=32, l1_bytes=16 << 10)
    assert (machine.fewest_shared, machine.fewest_blocks, machine.lanes) == (4, 2, 8)
    assert machine.row_strip_bytes == 12 << 10 and machine.draw_block == 512
    assert (Machine.fewest_shared, Machine.lanes) == (USUAL.fewest_shared, USUAL.lanes) == (16, 16)


def test_a_machine_may_have_a_threshold_of_its_own():
    machine = Machine(cores=4, fewest_shared=3)
    assert (machine.fewest_shared, machine.enough_blocks) == (3, 4)


def test_machines_are_equal_by_what_differs_from_the_usual_one():
    assert Machine() == USUAL == Machine(tile=Machine.tile, lanes=Machine.lanes)
    assert hash(Machine(tile=4)) == hash(Machine(tile=4, cores=16))
    assert Machine(tile=4) not in (USUAL, Machine(tile=5), "tile")
    assert repr(Machine(tile=4, cores=2)) == "Machine(cores=2, tile=4)"
    for copied in (copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))):
        assert copied(Machine(tile=4)) == Machine(tile=4)


@pytest.mark.parametrize(
    "values", [{"tiles": 4}, {"tile": "4"}, {"row_strips": 3}, {"changes": 1}, {"__init__": 0}]
)
def test_what_is_no_value_of_a_machine_is_an_error(values):
    (name,) = values
    with pytest.raises(TypeError, match=name):
        Machine(**values)


def test_a_machine_stays_as_it_is():
    with pytest.raises(AttributeError, match="tile"):
        USUAL.tile = 4
    with pytest.raises(AttributeError, match="tile"):
        del Machine(tile=4).tile


def test_the_usual_machine_is_no_part_of_a_key():
    assert "machine" not in Options().settings()
    other = Options(machine=Machine(tile=4))
    assert other.settings()["machine"] == {"tile": 4}
    assert other != Options() == Options(machine=Machine())


def test_a_function_is_compiled_for_the_machine_that_it_is_given():
    x, y = np.ones((16, 16)), np.ones((16, 16))
    few = transpile.jit(lambda x, y: x.T + y)
    machine = Machine(tile=4, fewest_tiles=2, transposed_row_bytes=32)
    lowered = transpile.jit(lambda x, y: x.T + y, compiler_options={"machine": machine}).lower(x, y)
    assert "transpose_tile" not in few.lower(x, y).as_text()
    assert "transpose_tile" in lowered.as_text()
    again = few.lower(x, y).compile({"machine": machine})
    np.testing.assert_array_equal(again(x, y), x.T + y)


def test_options_take_machines_only():
    with pytest.raises(ValueError, match=r"takes a transpile\.machine\.Machine, not 'zen'"):
        transpile.jit(np.sin, compiler_options={"machine": "zen"})


def test_every_value_of_a_machine_decides_something():
    package = Path(transpile.__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    values = vars(Machine).items()
    names = [n for n, v in values if isinstance(v, int | tuple | derived) and n[:2] != "__"]
    read = set(re.findall(r"(?:(?<=machine\.)|(?<=self\.))\w+", text))
    assert names and read.issuperset(names)
