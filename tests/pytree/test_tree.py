"""Pytrees: every container goes apart and together again, and structures compare and print."""

from __future__ import annotations

import pickle
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transpile import tree

Point = namedtuple("Point", "x y")


@dataclass
class State:
    position: object
    velocity: object


@dataclass
class Layer:
    weight: object
    activation: str


tree.register_dataclass(Layer, ("weight",), ("activation",))


@tree.register_pytree_node_class
class Pair:
    def __init__(self, left, right, tag):
        self.left, self.right, self.tag = left, right, tag

    def tree_flatten(self):
        return (self.left, self.right), self.tag

    @classmethod
    def tree_unflatten(cls, tag, children):
        return cls(*children, tag)


TREES = [
    1.0,
    None,
    (),
    [],
    {},
    (1, 2),
    [1, [2, 3]],
    {"b": 1, "a": (2, None)},
    OrderedDict([("b", 1), ("a", 2)]),
    Point(1, [2]),
    State(1, {"v": 2}),
    Layer(3, "relu"),
    {"nested": [Point(1, 2), State((3,), None)]},
]


@pytest.mark.parametrize("value", TREES, ids=repr)
def test_round_trip_gives_the_same_tree(value):
    leaves, structure = tree.flatten(value)
    assert structure.unflatten(leaves) == value
    assert tree.structure(structure.unflatten(leaves)) == structure
    assert len(structure.paths()) == structure.num_leaves == len(leaves)
    assert pickle.loads(pickle.dumps(structure)) == structure
    assert hash(pickle.loads(pickle.dumps(structure))) == hash(structure)


nested = st.recursive(
    st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(nested)
def test_map_identity_when_any_tree(value):
    assert tree.map(lambda x: x, value) == value
    leaves, structure = tree.flatten(value)
    assert eval(f"value{structure.paths()[0]}", {"value": value}) is leaves[0] if leaves else True


def test_dicts_flatten_in_key_order():
    assert tree.leaves({"b": 1, "a": 2}) == [2, 1]
    assert tree.structure({"b": 1, "a": 2}) == tree.structure({"a": 0, "b": 0})
    assert tree.leaves(OrderedDict([("b", 1), ("a", 2)])) == [1, 2]


def test_defaultdict_keeps_its_factory():
    value = defaultdict(list, {"a": 1})
    leaves, structure = tree.flatten(value)
    rebuilt = structure.unflatten(leaves)
    assert isinstance(rebuilt, defaultdict) and rebuilt.default_factory is list


def test_registered_class_when_flattened():
    leaves, structure = tree.flatten([Pair(1, {"k": 2}, "t")])
    assert leaves == [1, 2]
    (rebuilt,) = structure.unflatten([10, 20])
    assert (rebuilt.left, rebuilt.right, rebuilt.tag) == (10, {"k": 20}, "t")
    assert structure != tree.structure([Pair(1, {"k": 2}, "u")])
    assert "Pair[t]" in str(structure)
    with pytest.raises(
        ValueError, match=r"Duplicate custom PyTreeDef type registration for .*Pair"
    ):
        tree.register_pytree_node(Pair, lambda p: ((), None), lambda d, c: None)


def test_meta_fields_are_part_of_the_structure():
    assert tree.leaves(Layer(3, "relu")) == [3]
    assert tree.structure(Layer(3, "relu")) != tree.structure(Layer(3, "tanh"))


def test_arrays_are_leaves():
    x = np.ones(3)
    assert tree.leaves([x, np.float32(1), "text", 2j])[0] is x
    assert tree.structure("text") == tree.LEAF


def test_paths_read_like_python():
    value = {"w": [1, Point(2, 3)], 4: State(5, None)}
    with pytest.raises(ValueError, match="must be sortable"):
        tree.flatten(value)
    _, structure = tree.flatten({"w": [1, Point(2, 3)], "s": State(5, None)})
    assert structure.paths("p") == ["p['s'].position", "p['w'][0]", "p['w'][1].x", "p['w'][1].y"]


def test_structure_prints():
    assert str(tree.structure((1, [2, None], {"a": 3}))) == "PyTreeDef((*, [*, None], {'a': *}))"
    assert str(tree.structure((1,))) == "PyTreeDef((*,))"


def test_is_leaf_stops_the_descent():
    assert tree.leaves([(1, 2), 3], is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2), 3]
    assert tree.map(len, [(1, 2)], is_leaf=lambda x: isinstance(x, tuple)) == [2]


def test_map_when_structures_differ():
    with pytest.raises(ValueError, match="different types at key path\n    tree_map tree\n"):
        tree.map(lambda a, b: a, [1], (1,))
    assert tree.map(lambda a, b: a + b, {"x": 1}, {"x": 2}) == {"x": 3}
    assert tree.all([True, 1]) and not tree.all([True, {"a": 0}])


def test_unflatten_when_the_number_of_leaves_is_wrong():
    pair = tree.structure((1, 2))
    with pytest.raises(ValueError, match=r"Too many leaves for PyTreeDef; expected 2\."):
        tree.unflatten(pair, [1, 2, 3])
    with pytest.raises(ValueError, match="Too few leaves for PyTreeDef; expected 2, got 1"):
        tree.unflatten(pair, iter([1]))


def test_differences_name_the_place():
    a, b = tree.structure({"w": [1, 2], "b": 1}), tree.structure({"w": [1], "b": (1,)})
    assert tree.differences(a, a) == []
    assert tree.differences(a, b) == [
        "at ['b']: expected *, got (*,)",
        "at ['w']: expected [*, *], got [*]",
    ]
