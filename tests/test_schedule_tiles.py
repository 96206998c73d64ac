"""Tiles: a transposed array is read tile by tile."""

import pytest
from graphs import assert_steps_agree, loops_of, lowered, module_of
from helpers import ordinary

from transpile.options import Options
from transpile.schedule.tiles import tiles


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(module_of(tiles), "TILE", 4)
    monkeypatch.setattr(module_of(tiles), "FEWEST_TILES", 2)


@pytest.mark.parametrize("shape", [(8, 8), (9, 11), (8, 13)])
def test_a_transposed_array_is_read_tile_by_tile(shape):
    x, y = ordinary("f8", shape), ordinary("f8", shape[::-1])
    after = assert_steps_agree(lowered(lambda x, y: x.T + y, x, y), [x, y], tiles)
    assert len(loops_of(after)) == 4


@pytest.mark.parametrize("f", [lambda x: x + 1, lambda x: x.T * x.sum(), lambda x: x.sum(axis=0)])
def test_nests_that_read_one_way_have_no_tiles_that_change_them(f):
    x = ordinary("f8", (7, 7))  # smaller than two tiles
    program = lowered(f, x)
    assert tiles(program, Options()) == program


def test_a_vector_that_the_outer_loop_walks_is_no_matrix():
    x, y = ordinary("f8", (400,)), ordinary("f8", (400, 400))
    program = lowered(lambda x, y: y * x[:, None], x, y)
    assert tiles(program, Options()) == program
