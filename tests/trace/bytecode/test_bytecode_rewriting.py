"""Rewritten code does what the original does, and asks about every callee first."""

import asyncio
import contextlib
import dis
import sys
import traceback
from types import FunctionType

import pytest

from transpile.trace.bytecode.rewriting import Marker, original, rewritten

CALLEES = []
ASSIGNED = []


class Recorder(Marker):
    """Notes each callee and container."""

    __slots__ = ()

    def __matmul__(self, callee):
        CALLEES.append(callee)
        return callee

    def __or__(self, subscripted):
        container, _ = subscripted
        CALLEES.append(container)
        return container

    def __xor__(self, assigned):
        ASSIGNED.append(assigned)


def copy_of(function):
    code = rewritten(function.__code__, function.__code__.co_filename, Recorder)
    scope, name = function.__globals__, function.__name__
    copy = FunctionType(code, scope, name, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


class Base:
    def m(self, a, b=1):
        return a + b


class Derived(Base):
    def m(self, a, b=2):
        return super().m(a, b=b) * 2


def same(f):
    return f


def same_as(_):
    return lambda f: f


@contextlib.contextmanager
def entered(a):
    yield a + 1


class AsyncContext:
    async def __aenter__(self):
        return 7

    async def __aexit__(self, *_):
        return None


def calls_and_decorators(x):
    d = Derived()

    @same
    @same_as(3)
    def g(y, *, z=2):
        return y * z

    @same
    class K(Base):
        v = max(1, 2)

        def m(self, a):
            return super().m(a)

    lists = sum([abs(i) for i in range(x)]) + sum(abs(i) for i in range(x))
    return d.m(x) + g(x, z=3) + K().m(1) + lists + (lambda: 4)() + K.v


def exceptions(x):
    try:
        try:
            int("a" if x else "b")
        except ValueError as e:
            raise KeyError(str(e)) from e
        finally:
            x = min(x, 3)
    except KeyError as k:
        args, kwargs = (1, 2), {"default": 3}
        return max(*args), max([], **kwargs), slice(1, 2 if x else 3), len(str(k))


def loops_and_contexts(x):
    with entered(x) as a, entered(a) as b:
        for i in range(10):
            if i % 2:
                continue
            x += int(i)
            while x > 100:
                x -= max(1, 2)
    assert x > 0, str(x)
    return (
        x + a + b,
        {k: str(v) for k, v in zip("abc", range(3), strict=True)},
        f"{x!r:>{max(4, 5)}}",
    )


def matches(x):
    match x:
        case [a, b]:
            return max(a, b)
        case {"k": v}:
            return str(v)
        case Derived():
            return "D"
    return matches.__name__, [[1, 2], [3, 4]][1][0]


def conditional_callees(x):
    functions = [abs, str]
    return (functions[0] if x else functions[1])(min(x, 1) if x else -3), same_as(1)(max)(1, 2)


def unpacked_decorators(x):
    @same_as(*[x])
    def inner(y):
        return max(*[x, y])

    return inner(2)


# The compiler repeats what ends a function behind each branch: one call is then several.
def raised_of_a_choice(x):
    try:
        raise KeyError("a" if x else "b", 1)
    except KeyError as error:
        return list(error.args)


def called_with_a_choice(x):
    return sorted([3, 1, 2], key=abs if x else str, reverse=bool(x))


def nested_choices(x):
    items = [4, x]
    for item in items:
        if item:
            return max(items.index(4 if x else items[1]), abs(abs(3) if x else abs(-2)))
    return abs((x and 1) or 2)


def assignments(x):
    a, number = list(range(5)), 1
    a[x] = 7
    a[1:3] = [8, 9]
    a[0] += x
    a += [x]
    number -= x
    return a, number


def generator(x):
    got = yield from map(abs, range(x))
    try:
        got = yield str(got)
        yield str(got)
    finally:
        abs(x)


async def asynchronous(_):
    async def numbers():
        for i in range(3):
            await asyncio.sleep(0)
            yield i

    async with AsyncContext() as z:
        return [i async for i in numbers()] + [z, await asyncio.sleep(0, 5)]


SCOPE = {}
exec(
    "def long(x):\n r = []\n for i in range(3):\n"
    + "".join(
        f"  r.append(str(i + {k})); v{k} = max(i, {k}) if i else min({k}, i)\n" for k in range(400)
    )
    + " return r, v3, v399\n",
    SCOPE,
)
PROGRAMS = [
    (calls_and_decorators, 5),
    *((f, x) for f in (raised_of_a_choice, called_with_a_choice, nested_choices) for x in (0, 2)),
    (unpacked_decorators, 5),
    (exceptions, 1),
    (exceptions, 0),
    (loops_and_contexts, 5),
    (matches, [1, 2]),
    (matches, {"k": 3}),
    (matches, Derived()),
    (matches, 0),
    (assignments, 3),
    (conditional_callees, 0),
    (conditional_callees, 2),
    (lambda x: list(generator(x)), 3),
    (lambda x: asyncio.run(asynchronous(x)), 1),
    (SCOPE["long"], 1),  # with arguments and jumps of more than a byte
]


@pytest.mark.parametrize(("f", "x"), PROGRAMS)
def test_results_are_those_of_the_original(f, x):
    assert copy_of(f)(x) == f(x)


def test_generators_and_coroutines_are_rewritten_too():
    assert list(copy_of(generator)(3)) == list(generator(3))
    assert asyncio.run(copy_of(asynchronous)(1)) == asyncio.run(asynchronous(1))


@pytest.mark.parametrize(("f", "x"), PROGRAMS)
def test_calls_stand_at_the_same_lines_and_columns(f, x):
    def places(code):
        names = ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "RETURN_VALUE")
        return [(i.opname, i.positions) for i in dis.get_instructions(code) if i.opname in names]

    assert places(copy_of(f).__code__) == places(f.__code__)


def test_every_kind_of_callee_is_asked_about():
    CALLEES.clear()
    for f, x in PROGRAMS:
        copy_of(f)(x)
    # From Python 3.12 on `super().m` is one instruction, which calls nothing.
    called = {Derived, same, same_as, max, str, range, zip, entered}
    called |= set() if sys.version_info >= (3, 12) else {super}
    assert called <= {c for c in CALLEES if isinstance(c, type | FunctionType | type(max))}
    assert any(getattr(c, "__func__", None) is Derived.m for c in CALLEES)  # a method
    assert [[1, 2], [3, 4]] in CALLEES  # a container
    CALLEES.clear()
    copy_of(generator)(2).send(None)
    assert map in CALLEES


def test_tracebacks_are_those_of_the_original():
    def bad(x):
        y = 1
        return [int(v) for v in (y,
            "z", *x)]  # fmt: skip

    def text(f):
        with pytest.raises(ValueError) as caught:
            f(())
        return traceback.format_tb(caught.value.__traceback__)[1:]

    assert text(copy_of(bad)) == text(bad) != []


def test_the_original_is_kept_and_nested_code_is_rewritten():
    code = copy_of(calls_and_decorators).__code__
    assert original(code) is calls_and_decorators.__code__
    assert original(original(code)) is original(code)
    nested = [c for c in code.co_consts if hasattr(c, "co_code")]
    assert nested and all(isinstance(c.co_consts[-1], Recorder) for c in nested)


def test_assignments_are_announced():
    ASSIGNED.clear()
    a, number = copy_of(assignments)(3)
    values = [
        (value, container if container is not a else "a") for value, container, *_ in ASSIGNED
    ]
    assert values == [(7, "a"), ([8, 9], "a"), (3, 0), (3, "a"), ([3], "a"), (3, 1)]
    assert ASSIGNED[0][2:] == (3,)
    assert (a, number) == assignments(3)
