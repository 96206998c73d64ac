"""Changes of what a trace read from its surroundings are noticed, in Python's calls and in C's."""

import argparse
import collections
import dataclasses
import functools
import gc
import logging
import os
import sys
import types
import weakref

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.trace.guards.checks import FUNCTION
from transpile.trace.guards.survey import survey

X = np.ones(3)


@pytest.fixture(autouse=True, params=["c", "python"])
def calls(request, monkeypatch):
    """Each test runs with calls in C and with calls in Python."""
    monkeypatch.setenv("TRANSPILE_CALLS", request.param)
    return request.param


class Thing:
    """An object with attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


class Settings:
    rate = 1.0


class Faster(Settings):
    pass


class Slotted:
    __slots__ = ("__dict__", "rate")

    def __init__(self):
        self.rate = 1.0


@dataclasses.dataclass
class Rates:
    rate: float = 1.0


class Layer:
    offset = 0.0

    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x * self.w + self.offset

    def __rmul__(self, x):
        return x * self.w

    @property
    def weight(self):
        return self.w

    @functools.cached_property
    def doubled(self):
        return self.w * 2

    @classmethod
    def shifted(cls, x):
        return x + cls.offset

    @staticmethod
    def scaled(x):
        return x * FACTOR


class Jitted(Layer):
    @transpile.jit
    def __call__(self, x):
        return x * self.w


class Network:
    def __init__(self):
        self.layers = [Layer(1.0), Layer(2.0)]
        self.head = Layer(3.0)
        self.steps = 0

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

    def __call__(self, x):
        return self.forward(x)


class Inherited(Network):
    def forward(self, x):
        return super().forward(x) * 2


FACTOR = 1.0
TABLE = [1.0, 2.0]
config = types.ModuleType("config")
config.rate = 1.0


def helper(x):
    return inner_helper(x)


def inner_helper(x):
    return x * FACTOR


def with_default(x, k=[1.0], *, m={"a": 1.0}):
    return x * k[0] * m["a"]


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) * TABLE[0]

    return wrapper


def cases():
    """(name, function of x, a change after which its result is another one), made anew."""
    module = sys.modules[__name__]

    def case(name, function, change):
        return name, (function, change)

    def put(name, value):
        return lambda: setattr(module, name, value)

    yield case("module", lambda x: x * config.rate, lambda: setattr(config, "rate", 2.0))
    yield case("class", lambda x: x * Settings.rate, lambda: setattr(Settings, "rate", 2.0))
    yield case("base class", lambda x: x * Faster.rate, lambda: setattr(Settings, "rate", 3.0))
    yield case("subclass", lambda x: x * Faster.rate, lambda: setattr(Faster, "rate", 4.0))
    thing = Thing(rate=1.0, inner=Thing(rate=1.0, table={"a": [1.0, (2.0, [3.0])]}))
    yield case("attribute", lambda x: x * thing.rate, lambda: setattr(thing, "rate", 2.0))
    deeper = lambda x: x * thing.inner.rate
    yield case("attribute of attribute", deeper, lambda: setattr(thing.inner, "rate", 2.0))
    through = lambda x: x * thing.inner.table["a"][1][1][0]
    change = lambda: thing.inner.table["a"][1][1].__setitem__(0, 9.0)
    yield case("through everything", through, change)
    held = Thing(rate=1.0)
    yield case("getattr", lambda x: x * getattr(held, "ra" + "te"), lambda: held.__init__(rate=2.0))
    yield case("vars", lambda x: x * vars(held)["rate"], lambda: held.__init__(rate=3.0))
    yield case("its dict", lambda x: x * held.__dict__["rate"], lambda: held.__init__(rate=4.0))
    other = Thing(rate=1.0)

    def local(x):
        alias = other
        return x * alias.rate

    yield case("a local name", local, lambda: setattr(other, "rate", 2.0))
    around = Thing(rate=1.0)

    def in_class_body(x):
        class Inner:
            rate = around.rate

        return x * Inner.rate

    yield case("read in a class body", in_class_body, lambda: setattr(around, "rate", 2.0))
    sloped = Slotted()
    yield case("a slot", lambda x: x * sloped.rate, lambda: setattr(sloped, "rate", 2.0))
    record = Rates()
    yield case("a dataclass", lambda x: x * record.rate, lambda: setattr(record, "rate", 2.0))
    whole = Rates()
    as_dict = lambda x: x * dataclasses.asdict(whole)["rate"]
    yield case("fields", as_dict, lambda: setattr(whole, "rate", 2.0))
    space = types.SimpleNamespace(rate=1.0)
    yield case("a namespace", lambda x: x * space.rate, lambda: setattr(space, "rate", 2.0))
    parsed = argparse.Namespace(rate=1.0)
    taking = lambda x, parsed=parsed: x * take_rate(parsed)
    yield case("parsed arguments", taking, lambda: setattr(parsed, "rate", 2.0))
    numbers = {1.0}
    yield case("a set", lambda x: x * max(numbers), lambda: numbers.add(9.0))
    queue = collections.deque([1.0])
    yield case("a deque", lambda x: x * queue[0], lambda: queue.appendleft(9.0))
    counts = collections.Counter(a=1)
    yield case("a counter", lambda x: x * counts["a"], lambda: counts.update("a"))
    ordered = collections.OrderedDict(a=1.0)
    yield case("ordered", lambda x: x * sum(ordered.values()), lambda: ordered.update(b=2.0))
    fallback = collections.defaultdict(float, a=1.0)
    yield case("defaults", lambda x: x * fallback.get("a"), lambda: fallback.update(a=2.0))
    chained = collections.ChainMap({"a": 1.0})
    yield case("a chain", lambda x: x * chained["a"], lambda: chained.update(a=2.0))
    long = [1.0] * 1000
    yield case("an item of a list", lambda x: x * long[-3], lambda: long.__setitem__(997, 2.0))
    i = 3
    yield case("some item", lambda x: x * long[i], lambda: long.__setitem__(3, 2.0))
    many = [1.0] * 100_000
    yield case("of a huge list", lambda x: x * many[7], lambda: many.__setitem__(7, 2.0))
    yield case("a default", with_default, lambda: grow(with_default.__defaults__[0]))
    change = lambda: with_default.__kwdefaults__["m"].update(a=3.0)
    yield case("a keyword's default", with_default, change)
    small, shaped, typed = np.ones(3), np.arange(6.0), np.ones(2)
    yield case("elements", lambda x: x * small, lambda: small.__setitem__(0, 5.0))
    yield case("every second", lambda x: x[:2] * small[::2], lambda: small.__setitem__(2, 6.0))
    spread = np.ones((3, 2))[:, 0]
    yield case("a column", lambda x: x * spread, lambda: spread.__setitem__(2, 6.0))
    yield case("shape", lambda x: x.sum() + shaped.sum(axis=0), lambda: reshape(shaped))
    yield case("dtype", lambda x: x * typed[0], lambda: retype(typed))
    yield case("a helper's global", helper, put("FACTOR", 2.0))
    yield case("a helper", lambda x: helper(x), put("inner_helper", lambda x: x * 7))
    coded = eval("lambda x: x * 2")
    code = (lambda x: x * 3).__code__
    yield case("code", lambda x: coded(x), lambda: setattr(coded, "__code__", code))
    yield case("a decorator's", decorated(lambda x: x * 2), lambda: TABLE.__setitem__(0, 5.0))
    weights = [1.0]
    yield case("partial", functools.partial(lambda w, x: x * w[0], weights), lambda: grow(weights))
    named = {"w": [1.0]}
    bound = functools.partial(lambda x, w: x * w["w"][0], w=named)
    yield case("a keyword of a partial", bound, lambda: grow(named["w"]))
    yield case("environ", lambda x: x * float(os.environ["R8"]), lambda: os.environ.update(R8="2"))
    read = lambda x: x * float(os.environ.get("R8", 1))
    yield case("environ.get", read, lambda: os.environ.update(R8="3"))
    nested = transpile.jit(lambda x: x * TABLE[1])
    yield case("a jitted helper", lambda x: nested(x), lambda: TABLE.__setitem__(1, 5.0))
    slope = transpile.grad(lambda x: (x * x * TABLE[1]).sum())
    yield case("a gradient", lambda x: slope(x), lambda: TABLE.__setitem__(1, 6.0))
    mapped = transpile.vmap(functools.partial(lambda x, w: x * w[0], w=weights))
    yield case("a map", lambda x: mapped(x), lambda: grow(weights))
    cached = functools.lru_cache(lambda n: n * TABLE[1])
    yield case("a new function", lambda x: x * cached.__wrapped__(1), lambda: grow(TABLE, 1))
    yield case("a comprehension", lambda x: [x * t for t in TABLE], lambda: grow(TABLE))
    yield case("inside", lambda x: (lambda v: v * TABLE[0])(x), lambda: grow(TABLE))
    yield from methods(case)


def methods(case):
    layer = Layer(1.0)
    yield case("self", layer, lambda: setattr(layer, "w", 2.0))
    yield case("a class's attribute", layer, lambda: setattr(Layer, "offset", 1.0))
    yield case("hidden from the class", layer, lambda: setattr(layer, "offset", 2.0))
    yield case("operators", lambda x: x * layer, lambda: setattr(layer, "w", 3.0))
    yield case("property", lambda x: x * layer.weight, lambda: setattr(layer, "w", 4.0))
    fresh = Layer(1.0)
    kept = lambda x: x * fresh.doubled
    yield case("cached property", kept, lambda: fresh.__init__(2.0) or vars(fresh).pop("doubled"))
    yield case("class method", lambda x: Layer.shifted(x), lambda: setattr(Layer, "offset", 3.0))
    yield case("of an object", lambda x: layer.shifted(x), lambda: setattr(Layer, "offset", 4.0))
    module = sys.modules[__name__]
    yield case("static", lambda x: layer.scaled(x), lambda: setattr(module, "FACTOR", 5.0))
    call = lambda self, x: x * 100
    yield case("another method", lambda x: layer(x), lambda: setattr(Layer, "__call__", call))
    network = Network()
    yield case("a list of objects", network, lambda: setattr(network.layers[1], "w", 7.0))
    yield case("self.sub.w", network.forward, lambda: setattr(network.head, "w", 7.0))
    derived = Inherited()
    yield case("super", derived, lambda: setattr(derived.layers[0], "w", 7.0))
    yield case("replaced", derived, lambda: derived.layers.__setitem__(0, Layer(9.0)))
    jitted = Jitted(1.0)
    yield case("a jitted method", lambda x: jitted(x), lambda: setattr(jitted, "w", 2.0))
    made = lambda x: Layer(2.0)(x)
    yield case("an object of its own", made, lambda: setattr(Layer, "offset", 5.0))


def take_rate(arguments):
    return arguments.rate


def grow(items, at=0):
    items[at] += 10.0


def reshape(array):
    array.shape = (2, 3)


def retype(array):
    array.dtype = np.int64


@pytest.fixture
def original():
    """What the changes change that is not made anew for each case."""
    before = FACTOR, Settings.rate, Layer.offset, Layer.__call__, inner_helper
    os.environ["R8"] = "1"
    yield
    module = sys.modules[__name__]
    module.FACTOR, Settings.rate, Layer.offset, Layer.__call__, module.inner_helper = before
    for name in ("rate",):
        if name in vars(Faster):
            delattr(Faster, name)
    TABLE[:] = [1.0, 2.0]
    config.rate = 1.0
    del os.environ["R8"]
    with_default.__defaults__[0][:] = [1.0]
    with_default.__kwdefaults__["m"]["a"] = 1.0


@pytest.mark.filterwarnings("ignore:Setting the :DeprecationWarning")
@pytest.mark.parametrize("name", [name for name, _ in cases()])
@one_in(6)
def test_a_change_is_noticed(name, original, calls):
    function, change = dict(cases())[name]
    fast = transpile.jit(function)
    for _ in range(3):
        np.testing.assert_array_equal(fast(X), function(X))
    assert len(fast._tracing.table.entries) == (calls == "c")
    before = np.array(function(X))
    change()
    expected = function(X)
    assert not np.array_equal(before, expected)
    for _ in range(3):
        np.testing.assert_array_equal(fast(X), expected)


# ------------------------------------------------------------------------------ and nothing else


@pytest.fixture
def count():
    """A function that counts its calls: traces, where a traced function calls it."""
    found = Thing(n=0)

    def one_more():
        found.n += 1

    one_more.found = found
    return one_more


class Counting:
    def __init__(self, count):
        self.count, self.w, self.steps, self.log = count, 2.0, 0, []
        self.unused, self.kept = [1], None

    def __call__(self, x):
        self.count()
        self.steps += 1
        self.log.append(self.steps)
        if self.kept is None:
            self.kept = self.w * 2
        return x * self.w

    def after_a_step(self):
        self.unused = [*self.unused, 1]
        self.loss = 3.0


def test_what_the_function_changes_or_does_not_read_is_not_watched(count):
    counting = Counting(count)
    fast, other = transpile.jit(counting), np.ones(4)
    for _ in range(4):
        fast(X), fast(other)
        counting.after_a_step()
    assert count.found.n == 2 == counting.steps
    counting.w = 3.0
    np.testing.assert_array_equal(fast(X), X * 3)
    assert count.found.n == 3


def test_equal_values_in_the_place_of_others_are_no_change(count, calls):
    thing = Thing(rate=1e300, name="a" * 50, size=10**6, table=[1.5, {"a": (2.5, 3)}], w=np.ones(3))

    def f(x):
        count()
        kept = thing.table[1]["a"][0] + thing.size + len(thing.name)
        return x * thing.rate + kept + thing.w * thing.table[0]

    fast = transpile.jit(f)
    for _ in range(4):
        fast(X)
        thing.rate, thing.name, thing.size = 1e300 * 1.0, "".join(["a"] * 50), 10**6 + 0
        thing.table, thing.w = [1.5 * 1.0, {"a": (2.5 * 1.0, 3)}], np.ones(3)
    assert count.found.n == 1
    thing.table[1]["a"] = (0.5, 3)
    np.testing.assert_array_equal(fast(X), f(X))
    thing.rate = np.float64(1e300)
    fast(X)
    assert count.found.n == 4  # f itself, and another type


@pytest.mark.parametrize("values", [(0.0, -0.0), (1, True), (1, 1.0), ("a", b"a")])
def test_values_that_compare_equal_and_are_not_the_same(values, count):
    thing = Thing(rate=values[0])

    def f(x):
        count()
        return x + len(repr(thing.rate))

    fast = transpile.jit(f)
    fast(X), fast(X), fast(X)
    thing.rate = values[1]
    fast(X), fast(X), fast(X)
    assert count.found.n == 2


def test_numpy_and_plain_functions_have_no_guards_but_their_own():
    def plain(x):
        return np.sin(x) + np.linalg.norm(x) + np.pi * len(x)

    (guard,) = survey(plain, plain, {})._guards
    assert guard.kind == FUNCTION and guard.holder is plain


@pytest.mark.filterwarnings("ignore::transpile.errors.FrozenDrawWarning")
def test_objects_of_libraries_stay_as_they_are(count):
    logger = logging.getLogger("test_guards")
    random = np.random.default_rng(0)

    def f(x):
        count()
        logger.debug("tracing %s", x)
        return x + random.normal()

    fast = transpile.jit(f)
    for level in (logging.INFO, logging.ERROR, logging.INFO):
        logger.setLevel(level)
        logger.isEnabledFor(level)
        fast(X)
    assert count.found.n == 1


def test_loops_of_references_and_evil_objects_are_looked_through():
    class Evil:
        def __getattr__(self, name):
            raise ZeroDivisionError(name)

        def __eq__(self, other):
            raise ZeroDivisionError

        def __len__(self):
            raise ZeroDivisionError

        __hash__ = None

    class Proxy:
        @property
        def __class__(self):
            raise ZeroDivisionError

        @property
        def __dict__(self):
            raise ZeroDivisionError

        def __getattribute__(self, name):
            raise ZeroDivisionError

    evil, proxy, ring = Evil(), Proxy(), [1.0]
    ring.append(ring)
    ring.append({"ring": ring, evil.__init__: evil, "proxy": proxy})
    f = lambda x: (evil, proxy, ring) and x * ring[1][1][0]
    fast = transpile.jit(f)
    for _ in range(3):
        np.testing.assert_array_equal(fast(X), X)
    ring[0] = 2.0
    np.testing.assert_array_equal(fast(X), X * 2)


def test_arguments_that_are_static(calls):
    class Key:
        def __init__(self):
            self.rate = 1.0
            self.table = {"a": [1.0]}

    def f(x, key, *, name):
        return x * key.rate * key.table["a"][0] + len(name.text)

    fast = transpile.jit(f, static_argnames=("key", "name"))
    key, name = Key(), Thing(text="one")
    for change in (
        lambda: None,
        lambda: setattr(key, "rate", 2.0),
        lambda: key.table["a"].__setitem__(0, 5.0),
        lambda: setattr(name, "text", "three"),
    ):
        change()
        for _ in range(3):
            np.testing.assert_array_equal(fast(X, key, name=name), f(X, key, name=name))


def test_guards_let_go_of_what_goes():
    def make():
        thing = Thing(inner=Thing(w=np.ones(3)))
        fast = transpile.jit(lambda x: x * thing.inner.w)
        for _ in range(3):
            fast(X)
        return weakref.ref(thing.inner), weakref.ref(fast)

    found = make()
    gc.collect()
    assert [r() for r in found] == [None, None]
