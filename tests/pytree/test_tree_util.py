"""tree_util: paths, prefixes, registration, Partial and PyTreeDef's members, in JAX's words."""

from __future__ import annotations

import dataclasses
import pickle
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import transpile as tp
from transpile import tree, tree_util

Point = namedtuple("Point", "x y")


@tree_util.register_pytree_with_keys_class
class Named:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def tree_flatten_with_keys(self):
        return ((tree_util.GetAttrKey("a"), self.a), ("second", self.b)), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


class Plain:
    def __init__(self, *parts, data=None):
        self.parts, self.data = parts, data


tree_util.register_pytree_node(
    Plain, lambda p: (p.parts, p.data), lambda data, parts: Plain(*parts, data=data)
)


@tree_util.register_static
@dataclass(frozen=True)
class Mode:
    name: str


@tree_util.register_dataclass
@dataclass
class Layer:
    weight: object
    bias: object
    kind: str = tree.static(default="dense")


def structure(value):
    return tree_util.tree_structure(value)


# -------------------------------------------------------------------------------------------- paths


def test_paths_of_every_container():
    value = {
        "d": OrderedDict([("z", 1), ("a", 2)]),
        "f": defaultdict(list, {"k": 3}),
        "l": [4, (5,)],
        "n": Point(6, None),
        "o": Named(7, 8),
        "p": Plain(9, 10),
        "q": Layer(11, 12),
    }
    pairs = tree_util.tree_leaves_with_path(value)
    assert [(tree_util.keystr(path), leaf) for path, leaf in pairs] == [
        ("['d']['z']", 1),
        ("['d']['a']", 2),
        ("['f']['k']", 3),
        ("['l'][0]", 4),
        ("['l'][1][0]", 5),
        ("['n'].x", 6),
        ("['o'].a", 7),
        ("['o']second", 8),
        ("['p'][<flat index 0>]", 9),
        ("['p'][<flat index 1>]", 10),
        ("['q'].weight", 11),
        ("['q'].bias", 12),
    ]
    assert pairs[4][0] == (
        tree_util.DictKey("l"),
        tree_util.SequenceKey(1),
        tree_util.SequenceKey(0),
    )
    assert tree_util.keystr(pairs[8][0], simple=True, separator="/") == "p/0"
    assert tree_util.keystr(pairs[5][0], simple=True, separator=".") == "n.x"
    assert repr(pairs[5][0][1]) == "GetAttrKey(name='x')"


def test_a_leaf_has_the_empty_path():
    assert tree_util.tree_leaves_with_path(3) == [((), 3)]


def test_is_leaf_may_see_the_path():
    found = tree_util.tree_leaves_with_path(
        [1, (2, [3])], is_leaf=lambda path, _: len(path) == 2, is_leaf_takes_path=True
    )
    assert [(tree_util.keystr(p), x) for p, x in found] == [
        ("[0]", 1),
        ("[1][0]", 2),
        ("[1][1]", [3]),
    ]
    assert found[2][1] == [3]
    doubled = tree_util.tree_map_with_path(
        lambda path, x, y: (len(path), x, y),
        [1, (2, 3)],
        [4, 5],
        is_leaf=lambda path, part: isinstance(part, tuple),
        is_leaf_takes_path=True,
    )
    assert doubled == [(1, 1, 4), (1, (2, 3), 5)]


def test_map_with_path_gives_paths_and_all_trees():
    found = tree_util.tree_map_with_path(
        lambda path, x, y: tree_util.keystr(path) + str((x, y)), {"a": [1, 2]}, {"a": [3, (4,)]}
    )
    assert found == {"a": ["['a'][0](1, 3)", "['a'][1](2, (4,))"]}
    with pytest.raises(
        ValueError, match=r"lengths of list at key path\n    tree_map_with_path tree"
    ):
        tree_util.tree_map_with_path(lambda *_: 0, [1, 2], [1])


# ----------------------------------------------------------------------------------------- prefixes

ERRORS = {
    "types": (
        {"a": [1, (2, 3)]},
        {"a": [1, 5]},
        """pytree structure error: different types at key path
    tree_map tree['a'][1]
At that key path, the prefix pytree tree_map tree has a subtree of type
    <class 'tuple'>
but at the same key path the full pytree has a subtree of different type
    <class 'int'>.""",
    ),
    "lengths": (
        [(1, 2)],
        [(1, 2, 3)],
        """pytree structure error: different lengths of tuple at key path
    tree_map tree[0]
At that key path, the prefix pytree tree_map tree has a subtree of type tuple of length 2, but the \
full pytree has a subtree of the same type but of length 3.""",
    ),
    "children": (
        {"a": 1, "c": 1},
        {"a": 1},
        """pytree structure error: different numbers of pytree children at key path
    tree_map tree
At that key path, the prefix pytree tree_map tree has a subtree of type
    <class 'dict'>
with 2 child keys
    a c
but at the same key path the full pytree has a subtree of the same type but with 1 child keys
    a
so the symmetric difference on key sets is
    c""",
    ),
    "metadata": (
        {"a": 1},
        {"b": 1},
        """pytree structure error: different pytree metadata at key path
    tree_map tree
At that key path, the prefix pytree tree_map tree has a subtree of type
    <class 'dict'>
with metadata
    ('a',)
but at the same key path the full pytree has a subtree of the same type but with metadata
    ('b',)
so the diff in the metadata at these pytree nodes is
    - ('a',)
    ?   ^

    + ('b',)
    ?   ^
""",
    ),
    "none": (
        (1, None),
        (1, [2]),
        """pytree structure error: different types at key path
    tree_map tree[1]
At that key path, the prefix pytree tree_map tree has a subtree of type
    <class 'NoneType'>
but at the same key path the full pytree has a subtree of different type
    <class 'list'>.""",
    ),
}


@pytest.mark.parametrize("what", ERRORS)
def test_map_of_trees_that_do_not_fit_says_where(what):
    prefix, full, text = ERRORS[what]
    with pytest.raises(ValueError) as found:
        tree.map(lambda a, b: 0, prefix, full)
    assert str(found.value) == text


def test_prefix_errors_lists_every_place():
    errors = tree_util.prefix_errors([Plain(1, 2), (1, 2), 3], [Plain(1), (1,), [4]])
    assert [str(error("it")).splitlines()[:2] for error in errors] == [
        ["pytree structure error: different numbers of pytree children at key path", "    it[0]"],
        ["pytree structure error: different lengths of tuple at key path", "    it[1]"],
    ]
    whole = tree_util.prefix_errors([(1, 2)], [3], is_leaf=lambda x: isinstance(x, tuple))
    assert whole == []


def test_map_takes_whole_parts_of_further_trees():
    assert tree.map(lambda a, b: b, [1, 2], [(3, 4), {"k": 5}]) == [(3, 4), {"k": 5}]
    assert tree.map(lambda a, b: (a, b), {"a": None, "b": 1}, {"a": None, "b": None}) == {
        "a": None,
        "b": (1, None),
    }


UP_TO = [
    ((1, 2), (1, 2, 3), "Tuple arity mismatch: 3 != 2; tuple: (1, 2, 3)."),
    ([1, 2], 3, "Expected list, got 3."),
    (
        {"a": 1},
        {"a": 1, "b": 1},
        "Dict key mismatch; expected keys: ['a']; present keys: ['a', 'b'].",
    ),
    (Point(1, 2), (1, 2), "Expected named tuple, got (1, 2)."),
    (None, 3, "Expected None, got 3."),
    (OrderedDict(a=1), {"a": 1}, "Custom node type mismatch: expected type: "),
    (Layer(1, 2), 3, "Custom dataclass node type mismatch: expected type: "),
    (Plain(1, data="t"), Plain(1, data="u"), "Mismatch custom node data: 't' != 'u'; value: "),
    (Plain(1, 2), Plain(1), "Custom type arity mismatch: 1 != 2; value: "),
]


@pytest.mark.parametrize(("prefix", "full", "text"), UP_TO, ids=[t[2][:30] for t in UP_TO])
def test_flatten_up_to_another_container_fails(prefix, full, text):
    with pytest.raises(ValueError) as found:
        structure(prefix).flatten_up_to(full)
    assert str(found.value).startswith(text)


def test_flatten_up_to_gives_parts():
    assert structure({"a": 0, "b": (0, 0)}).flatten_up_to({"a": [1], "b": (2, {"k": 3})}) == [
        [1],
        2,
        {"k": 3},
    ]


def test_broadcast_repeats_leaves_of_the_prefix():
    assert tree.broadcast((1, 2), ((3, 4), [5, {"a": 6}])) == ((1, 1), [2, {"a": 2}])
    assert tree.broadcast([None, 1], [(1, 2), (3,)], is_leaf=lambda x: x is None) == [
        (None, None),
        (1,),
    ]
    assert tree.broadcast(5, (None, 2)) == (None, 5)
    with pytest.raises(
        ValueError, match=r"different types at key path\n    broadcast_prefix prefix_tree\[1\]"
    ):
        tree.broadcast((1, [2, 3]), ((3, 4), 5))
    assert tree_util.broadcast_prefix((1, 2), ((3, 4), 5)) == ([1, 1, 2], structure(((3, 4), 5)))


# ----------------------------------------------------------------------------- reduce and transpose


def test_reduce_goes_from_left_to_right():
    assert tree.reduce(lambda a, b: f"({a}{b})", [1, (2, 3)]) == "((12)3)"
    assert tree.reduce(lambda a, b: a + b, [], 7) == 7
    with pytest.raises(TypeError, match=r"reduce\(\) of empty"):
        tree.reduce(lambda a, b: a + b, [])
    assert tree.reduce(lambda a, b: [*a, b], [1, (2, 3)], [], lambda x: type(x) is tuple) == [
        1,
        (2, 3),
    ]


def test_reduce_associative_combines_in_pairs():
    pair = lambda a, b: (a, b)
    assert tree.reduce_associative(pair, [1, 2, 3, 4, 5]) == ((1, 2), (3, (4, 5)))
    assert tree.reduce_associative(pair, [], identity=0) == 0
    with pytest.raises(TypeError, match="Must specify identity"):
        tree.reduce_associative(pair, [])


def test_transpose_turns_a_tree_inside_out():
    rows = [{"a": 1, "b": (2, 3)}, {"a": 4, "b": (5, 6)}]
    columns = {"a": [1, 4], "b": ([2, 5], [3, 6])}
    inner = structure(rows[0])
    assert tree.transpose(structure([0, 0]), inner, rows) == columns
    assert tree.transpose(structure([0, 0]), None, rows) == columns
    assert tree.transpose(inner, structure([0, 0]), columns) == rows
    with pytest.raises(TypeError, match=r"Mismatch\nPyTreeDef\(\[\(\*, \*\), \*\]\)\n != \n"):
        tree.transpose(structure([0, 0]), None, [(1, 2), 3])
    with pytest.raises(ValueError, match="List arity mismatch: 2 != 3; list: "):
        tree.transpose(structure([0, 0, 0]), None, [(1, 2), (3, 4)])


# ------------------------------------------------------------------------------- PyTreeDef

STRUCTURES = [
    (1, "PyTreeDef(*)", 1, 1, None),
    (None, "PyTreeDef(None)", 0, 1, (type(None), None)),
    ((), "PyTreeDef(())", 0, 1, (tuple, None)),
    ((1, [2]), "PyTreeDef((*, [*]))", 2, 4, (tuple, None)),
    ({"b": 1, "a": 2}, "PyTreeDef({'a': *, 'b': *})", 2, 3, (dict, ["a", "b"])),
    (
        OrderedDict([("b", 1), ("a", 2)]),
        "PyTreeDef(CustomNode(OrderedDict[('b', 'a')], [*, *]))",
        2,
        3,
        (OrderedDict, ("b", "a")),
    ),
    (
        defaultdict(list, {"a": 1}),
        "PyTreeDef(CustomNode(defaultdict[(<class 'list'>, ('a',))], [*]))",
        1,
        2,
        (defaultdict, (list, ("a",))),
    ),
    (Point(1, 2), "PyTreeDef(CustomNode(namedtuple[Point], [*, *]))", 2, 3, (Point, None)),
    (Layer(1, 2), "PyTreeDef(CustomNode(Layer[('dense',)], [*, *]))", 2, 3, (Layer, ("dense",))),
    (Mode("x"), "PyTreeDef(CustomNode(Mode[Mode(name='x')], []))", 0, 1, (Mode, Mode("x"))),
    (Plain(1, data="t"), "PyTreeDef(CustomNode(Plain[t], [*]))", 1, 2, (Plain, "t")),
]


@pytest.mark.parametrize(
    ("value", "text", "leaves", "nodes", "data"), STRUCTURES, ids=lambda v: str(v)[:30]
)
def test_members_of_a_structure(value, text, leaves, nodes, data):
    found = structure(value)
    assert (str(found), found.num_leaves, found.num_nodes) == (text, leaves, nodes)
    assert found.node_data() == data
    rebuilt = tree_util.PyTreeDef.from_node_data_and_children(
        tree_util.default_registry, data, found.children()
    )
    assert rebuilt == found and hash(rebuilt) == hash(found)
    assert pickle.loads(pickle.dumps(found)) == found
    assert tree_util.treedef_is_leaf(found) == (nodes == 1)


def test_structures_that_differ_are_not_equal():
    values = [v for v, *_ in STRUCTURES] + [
        [1, [2]],
        {"a": 1, "c": 2},
        Mode("y"),
        Layer(1, 2, "conv"),
    ]
    found = [structure(v) for v in values]
    assert all((a == b) == (i == j) for i, a in enumerate(found) for j, b in enumerate(found))


def test_compose_walk_and_children():
    outer, inner = structure({"a": (1, 2)}), structure([0, 0])
    assert str(outer.compose(inner)) == "PyTreeDef({'a': ([*, *], [*, *])})"
    walked = outer.walk(lambda parts, data: (parts, data), lambda leaf: -leaf, [10, 20])
    assert walked == ((((-10, -20), None),), ["a"])
    assert tree_util.treedef_children(outer) == [structure((1, 2))]
    assert tree_util.treedef_tuple([structure(1), inner]) == structure((1, [0, 0]))
    assert tree_util.build_tree(structure({"a": (1, 2), "b": 0}), [[3, 4], 5]) == {
        "a": (3, 4),
        "b": 5,
    }


def test_one_level_and_kinds_of_classes():
    one = tree_util.flatten_one_level
    assert tuple(map(list, one({"a": 1, "b": [2]}))) == ([1, [2]], ["a", "b"])
    assert one(Point(1, 2)) == ([1, 2], Point)
    keyed, data = tree_util.flatten_one_level_with_keys(Named(1, 2))
    assert (list(keyed), data) == ([(tree_util.GetAttrKey("a"), 1), ("second", 2)], None)
    keyed, _ = tree_util.flatten_one_level_with_keys([5])
    assert list(keyed) == [(tree_util.SequenceKey(0), 5)]
    for function in (one, tree_util.flatten_one_level_with_keys):
        with pytest.raises(ValueError, match="can't tree-flatten type: <class 'int'>"):
            function(1)
    assert tree_util.default_registry.flatten_one_level(1) is None
    classes = (int, list, dict, tuple, type(None), Point, Layer, Plain, np.ndarray)
    assert [tree_util.is_tree_node(c) for c in classes] == [False] + [True] * 7 + [False]
    assert tree_util.all_leaves([1, "a"]) and not tree_util.all_leaves([1, None])
    assert tree_util.all_leaves([(1,)], is_leaf=lambda x: isinstance(x, tuple))


# ------------------------------------------------------------------------------- registration


def test_registering_twice_or_wrongly_fails():
    with pytest.raises(ValueError, match="Duplicate custom dataclass PyTreeDef type registration"):
        tree_util.register_dataclass(Layer)
    with pytest.raises(ValueError, match="Duplicate custom PyTreeDef type registration"):
        tree_util.register_static(Plain)
    with pytest.raises(ValueError, match="Duplicate custom PyTreeDef type registration"):
        tree_util.register_pytree_node(dict, lambda d: ((), None), lambda *_: {})
    with pytest.raises(TypeError, match="takes a class and the functions"):
        tree_util.register_pytree_node(3, 1, 2)


@dataclass
class Fields:
    a: object
    b: object = 3
    derived: object = field(init=False, default=0)


def test_fields_of_a_dataclass_are_checked():
    register = tree_util.register_dataclass
    with pytest.raises(ValueError, match=r"Missing fields: \{'b'\}\. Add them to drop_fields"):
        register(Fields, ["a"], [])
    with pytest.raises(ValueError, match=r"Unexpected fields: \{'c'\}"):
        register(Fields, ["a", "b", "c"], [])
    with pytest.raises(TypeError, match="must both be specified when either is specified"):
        register(Fields, ["a", "b"], None)
    with pytest.raises(TypeError, match="required when nodetype is not a dataclass"):
        register(type("Other", (), {}))


def test_dropped_fields_get_their_defaults():
    @dataclass
    class Cached:
        a: object
        b: object = 3

    assert tree.leaves(Cached(1, 2)) == [1, 2]  # a dataclass is a container by itself
    tree_util.register_dataclass(Cached, ["a"], [], ["b"])
    assert tree.leaves(Cached(1, 2)) == [1]
    assert tree.map(lambda x: x + 1, Cached(1, 2)) == Cached(2, 3)


def test_static_fields_are_part_of_the_structure():
    assert tree.leaves(Layer(1, 2)) == [1, 2]
    assert tree.map(lambda x: x, Layer(1, 2, "conv")) == Layer(1, 2, "conv")
    with pytest.raises(ValueError, match="different pytree metadata"):
        tree.map(lambda a, b: a, Layer(1, 2), Layer(1, 2, "conv"))


# ------------------------------------------------------------------------------- Partial


def test_partial_is_a_container_and_a_function():
    half = tree_util.Partial(lambda *a, **k: (a, k), 1, key=2)
    assert tree.leaves(half) == [1, 2]
    assert tree.map(lambda x: x + 1, half)(5) == ((2, 5), {"key": 3})
    outer = tree_util.Partial(half, 3)
    assert tree.leaves(outer) == [3] and outer(4) == ((1, 3, 4), {"key": 2})
    assert structure(outer) == structure(tree_util.Partial(half, 9))


def test_partial_as_argument_and_result_of_a_traced_function():
    def scaled(factor, x):
        return factor * x

    @tp.jit
    def apply(f, x):
        return f(x)

    assert apply(tree_util.Partial(scaled, 2.0), 3.0) == 6.0
    assert apply(tree_util.Partial(scaled, 5.0), 3.0) == 15.0
    assert apply._cache_size() == 1
    made = tp.jit(lambda a: tree_util.Partial(scaled, a + 1))(1.0)
    assert isinstance(made, tree_util.Partial) and made(3.0) == 6.0


def test_registered_classes_go_through_transformations():
    def loss(p):
        return p.a * p.a + p.b

    found = tp.grad(loss)(Named(3.0, 1.0))
    assert (found.a, found.b) == (6.0, 1.0)
    found = tp.jit(lambda layer, mode: layer if mode.name == "x" else None)(
        Layer(1.0, 2.0), Mode("x")
    )
    assert (found.weight, found.bias, found.kind) == (1.0, 2.0, "dense")


# ------------------------------------------------------------------------------- beside JAX itself

nested = st.recursive(
    st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Point, inner, inner)
        | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
        | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3).map(OrderedDict)
    ),
    max_leaves=8,
)


def outcome(function, *args):
    try:
        return str(function(*args))
    except (ValueError, TypeError) as problem:
        return str(problem)


@settings(deadline=None)
@given(nested, nested)
def test_paths_prefixes_and_texts_are_those_of_jax(value, other):
    theirs = pytest.importorskip("jax").tree
    assert outcome(theirs.structure, value) == outcome(tree.structure, value)
    paths = [[(str(p), x) for p, x in m.leaves_with_path(value)] for m in (theirs, tree)]
    assert paths[0] == paths[1]
    assert (theirs.structure(value) == theirs.structure(other)) == (
        tree.structure(value) == tree.structure(other)
    )
    # The first line: JAX names the first field of a namedtuple wherever the mistake is.
    found = [outcome(m.map, lambda a, b: (a, b), value, other) for m in (theirs, tree)]
    assert found[0].splitlines()[0] == found[1].splitlines()[0]


@given(nested)
def test_every_tree_is_a_prefix_of_itself_with_more_in_its_leaves(value):
    grown = tree.map(lambda leaf: [leaf, {"k": leaf}], value)
    parts = structure(value).flatten_up_to(grown)
    assert [part[0] for part in parts] == tree.leaves(value)
    assert tree.broadcast(value, grown) == tree.map(lambda leaf: [leaf, {"k": leaf}], value)
    assert structure(value).compose(structure([0, {"k": 0}])) == structure(grown)
    assert tree_util.prefix_errors(value, grown) == []


# --------------------------------------------------------------------------- awkward containers


class Cached:
    """A container of leaves, whose data is the structure of what it was made of."""

    def __init__(self, value, leaves=None, treedef=None):
        self.leaves, self.treedef = (
            tree_util.tree_flatten(value) if treedef is None else (leaves, treedef)
        )


tree_util.register_pytree_node(
    Cached, lambda c: (c.leaves, c.treedef), lambda d, leaves: Cached(None, leaves, d)
)


def test_transposing_a_node_whose_data_depends_on_its_children():
    outer = tree_util.tree_structure(Cached([1, 2]))
    inner = tree_util.tree_structure([1, 2, 3])
    found = tree_util.tree_transpose(outer, inner, Cached([[1, 2, 3], [4, 5, 6]]))
    assert [c.leaves for c in found] == [[1, 4], [2, 5], [3, 6]]
    with pytest.raises(TypeError, match="Mismatch"):
        tree_util.tree_transpose(outer, inner, Cached([[1, 2, 3], [4, 5]]))
    with pytest.raises(TypeError, match="Mismatch"):
        of_pairs = tree_util.tree_structure([1, 2])
        tree_util.tree_transpose(of_pairs, of_pairs, [[1, 2, 3], 4])


class Scaled:
    """A container whose data is a dict, which cannot be hashed."""

    def __init__(self, x, **data):
        self.x, self.data = x, data


tree_util.register_pytree_node(
    Scaled, lambda s: ((s.x,), s.data), lambda data, children: Scaled(*children, **data)
)


def test_data_that_cannot_be_hashed_is_compared():
    traces = []

    @tp.jit
    def f(c, y):
        traces.append(c.data["mul"])
        return c.x * y if c.data["mul"] else c.x + y

    value = Scaled(2.0, mul=True)
    assert (f(value, 3.0), f(Scaled(4.0, mul=True), 3.0)) == (6, 12) and traces == [True]
    value.data["mul"] = False  # the same object with other data
    assert f(value, 3.0) == 5 and f(Scaled(2.0, mul=True), 3.0) == 6 and traces == [True, False]
    assert hash(tree_util.tree_structure(value)) == hash(tree_util.tree_structure(Scaled(1, a=2)))
    assert tp.grad(lambda s: s.x**2)(Scaled(3.0, mul=True)).x == 6


def test_awkward_registrations_are_errors():
    made = dataclasses.make_dataclass("Both", ["x"])
    with pytest.raises(ValueError, match="must not overlap"):
        tree_util.register_dataclass(made, ["x"], ["x"])

    class Three:
        pass

    tree_util.register_pytree_node(Three, lambda t: (1, 2, 3), lambda *_: Three())
    with pytest.raises(ValueError, match=r"should return a \(children, aux_data\) tuple"):
        tree_util.tree_flatten(Three())


def test_a_field_may_say_that_it_is_not_static():
    assert tp.tree.static(metadata={"static": False}).metadata["static"] is False
    assert tp.tree.static().metadata["static"] is True


def test_keys_of_two_kinds_differ():
    assert hash(tree_util.SequenceKey(1)) != hash(tree_util.FlattenedIndexKey(1))
