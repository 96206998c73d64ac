"""Scatters as CUDA, on the CPU, against NumPy: updates of many threads that meet have the same bits
in any order."""

import numpy as np
from cuda_programs import WIDE, lowered, run
from thorough import each

import transpile
from transpile.options import Options
from transpile.targets.cuda.gpu import USUAL, Gpu
from transpile.targets.cuda.render import cuda_text
from transpile.util.frozen_records import replace

RNG = np.random.default_rng(5)
COUNT, ELEMENTS = 600, 23
PLACES = RNG.integers(-ELEMENTS, ELEMENTS, COUNT)
ROWS = RNG.integers(0, ELEMENTS, 90)
FEW = Gpu(block=64, most_blocks=3)


def some(dtype, *shape):
    """Numbers of a dtype; integers of all its bits."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return RNG.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype)[..., 0]
    if dtype.kind == "c":
        return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)
    return (RNG.normal(size=shape) * 10).astype(dtype)


def at(ufunc):
    """A function that makes the updates of some arrays by a ufunc."""

    def updated(places, *arrays):
        targets = [t.copy() for t in arrays[: len(arrays) // 2]]
        for t, x in zip(targets, arrays[len(arrays) // 2 :], strict=True):
            ufunc.at(t, places, x)
        return tuple(targets)

    return updated


def assigned(places, t, u, x, y):
    t, u = t.copy(), u.copy()
    t[places] = x
    u[places, 1:4] = y
    return t, u


def in_two_dimensions(places, rows, t, u, x, y):
    t, u = t.copy(), u.copy()
    np.add.at(t, (places, places % 5), x)
    np.maximum.at(u, (slice(None), rows[:, None]), y)
    return t, u


def counts(x):
    return (
        np.histogram(x, bins=12, range=(-15, 15))[0],
        np.histogram(x, bins=12, range=(-15, 15), weights=x)[0],
    )


def looked_up(rows, table):
    return transpile.grad(lambda table: (np.take(table, rows, axis=0) ** 2).sum())(table)


def looked_up_by_numpy(rows, table):
    gradient = np.zeros_like(table)
    np.add.at(gradient, rows, 2 * table[rows])
    return gradient


def both(*dtypes, shape=()):
    """Targets, and as many updates, of these dtypes."""
    targets = [some(d, ELEMENTS, *shape) for d in dtypes]
    return (*targets, *(some(d, COUNT, *shape) for d in dtypes))


SCATTERS = {
    "sums": (at(np.add), (PLACES, *both("f4", "f8"))),
    "sums of integers": (at(np.add), (PLACES, *both("i1", "u2", "i4", "u4", "i8", "u8"))),
    "sums of rows": (at(np.add), (PLACES, *both("f4", shape=(3,)))),
    "sums of others": (at(np.add), (PLACES, *both("f2", "c8", "c16"))),
    "differences": (at(np.subtract), (PLACES, *both("f4", "i4"))),
    "largest": (at(np.maximum), (PLACES, *both("f4", "f8", "f2", "i8", "u1"))),
    "smallest": (at(np.minimum), (PLACES, *both("f4", "f8", "i4", "u8"))),
    "assignments": (
        assigned, (PLACES, some("f4", ELEMENTS), some("i8", ELEMENTS, 5), some("f4", COUNT),
                   some("i8", COUNT, 3)),
    ),
    "in two dimensions": (
        in_two_dimensions, (PLACES, ROWS, some("f4", ELEMENTS, 5), some("f4", 4, ELEMENTS),
                            some("f4", COUNT), some("f4", 4, 90, 1)),
    ),
    "counts": (counts, (some("f8", COUNT),)),
    "gradient": (looked_up, (ROWS, some("f8", ELEMENTS, 6))),
    "products of integers": (
        at(np.multiply), (PLACES, *both("i4", "u4", "i8", "u8", "i1", "?")),
    ),
    # The order of these matters: they are one after the other.
    "products": (at(np.multiply), (PLACES[:60], some("f4", ELEMENTS), some("f4", 60) / 10)),
}  # fmt: skip
# Blocks have tables in shared memory of what they update.
TABLES = replace(WIDE, enough_blocks=1, most_tables=3, updates_of_element=1)
GPUS = {"usual": USUAL, "wide": WIDE, "few": FEW, "tables": TABLES}
MADE = ("sums", "sums of integers", "largest", "counts")  # with tables
FIRST = ("sums", "sums of integers", "largest", "assignments", "gradient", "products of integers")


def check_scatters(name, gpu, runs):
    """Compare one of SCATTERS with NumPy; what is computed twice has the same bits."""
    function, arguments = SCATTERS[name]
    stage = transpile.jit(function).lower(*arguments)
    program = lowered(stage._lowering.graph, Options())
    text = cuda_text(program, Options(), gpu=gpu)
    values = [np.asarray(arguments[k]) for k in stage.kept]
    oracle = looked_up_by_numpy if function is looked_up else function
    with np.errstate(all="ignore"):
        expected = transpile.tree.leaves(oracle(*arguments))
    for x, y in zip(runs(program, text, values), expected, strict=True):
        exact = {4: 1e-5, 8: 1e-12}.get(y.real.itemsize, 2e-2) if y.dtype.kind in "fc" else 0
        np.testing.assert_allclose(x, y, rtol=exact, atol=10 * exact)
    return text


@each("gpu", ("usual", "wide", "few"), ordinary=("wide",))
@each("name", tuple(SCATTERS), ordinary=FIRST)
def test_scatters_are_numpys(name, gpu):
    text = check_scatters(name, GPUS[gpu], run)
    assert ("atomic" in text) == (name != "products")


@each("name", MADE, ordinary=("sums", "counts"))
def test_few_elements_have_tables_in_shared_memory(name):
    assert "_table[at], " in check_scatters(name, TABLES, run)


def test_tables_of_a_runtime_number_of_updates():
    places = transpile.ShapeDtypeStruct(("n",), np.int64)
    function = lambda i: transpile.numpy.zeros(ELEMENTS, np.int32).at[i].add(1)
    stage = transpile.jit(function).lower(places)
    program = lowered(stage._lowering.graph, Options())
    text = cuda_text(program, Options(), gpu=TABLES)
    assert "_table[at], " in text
    for count in (1, COUNT):
        values = PLACES[:count] % ELEMENTS
        (found,) = run(program, text, [values])
        np.testing.assert_array_equal(found, np.bincount(values, minlength=ELEMENTS))


def test_sums_do_not_depend_on_their_order():
    """Bits of sums in several orders: of numbers of all sizes, with infinities and NaNs."""
    x = (some("f4", COUNT) * 10.0 ** RNG.integers(-30, 30, COUNT)).astype("f4")
    x[[3, 50, 70, 90]] = np.inf, np.nan, -np.inf, -0.0
    places = PLACES % ELEMENTS
    stage = transpile.jit(at(np.add)).lower(places, np.zeros(ELEMENTS, "f4"), x)
    program = lowered(stage._lowering.graph, Options())
    text = cuda_text(program, Options(), gpu=WIDE)
    results = []
    for order in (np.arange(COUNT), RNG.permutation(COUNT)):
        values = [places[order], np.zeros(ELEMENTS, "f4"), x[order]]
        results += run(program, text, [values[k] for k in stage.kept])
    assert results[0].tobytes() == results[1].tobytes()
    expected = np.zeros(ELEMENTS)
    np.add.at(expected, places, x)
    np.testing.assert_allclose(results[0], expected, rtol=1e-6)
