"""Fields of dataclasses that are part of the structure by their annotations."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

import transpile as tp

X = np.arange(3.0)


class Mode(enum.Enum):
    PLUS = 1
    MINUS = -1


GAIN = 2.0


def gained(x):
    return x * GAIN


@dataclass
class Settings:
    w: np.ndarray
    act: Callable[[Any], Any]
    mode: Mode = Mode.PLUS
    kind: Literal["a", "b"] = "a"
    label: str | None = None
    dtype: type = np.float64
    undefined: NotThere = 0.0  # noqa: F821
    either: str | float = 1.0


@tp.jit
def applied(s, x):
    value = s.act(s.w * x) * s.mode.value
    return (value + (s.kind == "b")).astype(s.dtype)


def test_annotations_decide_what_is_structure():
    s = Settings(X, np.sin)
    leaves, structure = tp.tree_util.tree_flatten(s)
    assert leaves[1:] == [0.0, 1.0] and leaves[0] is X
    assert vars(tp.tree_util.tree_unflatten(structure, leaves)) == vars(s)
    labels = tp.tree_util.tree_map(lambda _: "label", s)
    assert tp.tree_util.tree_map(lambda _, label: label, s, labels).w == "label"


def test_each_value_of_the_structure_has_a_trace():
    s = Settings(X + 1, np.negative)
    assert applied(s, X).tolist() == [0, -2, -6]
    s.mode = Mode.MINUS
    assert applied(s, X).tolist() == [0, 2, 6]
    s.kind, s.dtype = "b", np.float32
    assert applied(s, X).tolist() == [1, 3, 7] and applied(s, X).dtype == np.float32


def test_what_a_function_in_a_field_reads_is_guarded(monkeypatch):
    s = Settings(np.ones(3), gained)
    assert applied(s, X).tolist() == [0, 2, 4]
    monkeypatch.setitem(globals(), "GAIN", 3.0)
    assert applied(s, X).tolist() == [0, 3, 6]


def test_a_field_that_is_no_array_names_itself_and_the_remedy():
    with pytest.raises(TypeError, match=r"'s\.either' of applied .* transpile.tree.static\(\)"):
        applied(Settings(X, np.sin, either="text"), X)


@dataclass
class Measured:
    """Can be made an array, by those who ask for that."""

    value: Any
    error: Any

    def __array__(self, dtype=None, copy=None):
        return np.array([np.asarray(self.value), np.asarray(self.error)], dtype)


def test_a_dataclass_that_can_be_made_an_array_is_a_container():
    scaled = tp.jit(lambda m, x: Measured(m.value * x, m.error + x[0]))
    result = scaled(Measured(X, 0.5), X + 1)
    assert type(result) is Measured
    np.testing.assert_array_equal(result.value, X * (X + 1))
    assert result.error == 1.5
