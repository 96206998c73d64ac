"""Loops over runtime sizes are scheduled as those of fixed sizes, with remainders."""

import numpy as np
import pytest
from graphs import lowered, scheduled
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct, lax, nn
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.dims import bounds, evaluate
from transpile.ir.indices.size_constraints import dims
from transpile.ir.loop_ir import Alloc, For, If
from transpile.ir.loop_rewrite import walk
from transpile.machine import Machine
from transpile.options import Options

# Small arrays meet all transformations.
SMALL = Options(
    machine=Machine(
        tile=4,
        fewest_tiles=2,
        sum_block=8,
        element_tile=4,
        least_elements=8,
        shortest_innermost=4,
        fewest_jammed_rows=4,
        least_product_terms=1,
        least_product_flops=1,
        most_flops_alone=1,
        usual_block_rows=4,
        transposed_row_bytes=32,
        least_parallel_work=200,
    )
)


# Loops for a team of threads, and no second version of them.
ONE_VERSION = Options(machine=Machine(most_repeated_parts=0))


def struct(*shape):
    return ShapeDtypeStruct(shape, np.float64)


def escaped(x, y):
    def step(state):
        k, z, count = state
        inside = abs(z) < 4
        return k + 1, np.where(inside, z * z + x, z), count + inside

    start = 0, y, np.zeros(x.shape, np.int64)
    return lax.while_loop(lambda s: (s[0] < 9) & (abs(s[1]) < 4).any(), step, start)[2]


def dense(x, w, b):
    return np.tanh(x @ w + b) * 2


def attention(x, y):
    return nn.softmax(x @ y.transpose(0, 1, 3, 2)) @ y


# Function, types, and what its loops have where the machine makes them of small arrays.
CASES = {
    "fused stacks": (attention, [struct("n", 2, 8, 4)] * 2, "matmul_panel_rows"),
    "tiles": (lambda x, y: x + y.T, [struct("n", "m"), struct("m", "n")], "transpose_tile"),
    "columns": (lambda x: (x.sum(0), x.max(0)), [struct("n", 9)], "group"),
    "strips": (lambda x: x.mean(0), [struct(5, "n")], "strip"),
    "blocks": (lambda x, y: (x * y).sum(), [struct("n"), struct("n")], "block"),
    "loops of elements": (escaped, [struct("n"), struct("n")], "i_tile"),
    "products": (lambda x, y: x @ y, [struct("n", "k"), struct("k", "m")], "call matmul"),
    "stacks": (lambda x, y: x @ y, [struct("n", 5, "k"), struct("n", "k", 6)], "call matmul"),
    "fused products": (dense, [struct("n", 6), struct(6, 8), struct(8)], "matmul_panel_rows"),
    "short rows": (lambda x: x - x.max(1, keepdims=True), [struct("n", 3)], "x_strip"),
    "rows": (lambda x: nn.softmax(x, axis=1), [struct("n", "m")], "local"),
}


@pytest.mark.parametrize("name", CASES)
@one_in(2)
def test_results_are_those_of_the_loops_before(name):
    function, types, expected = CASES[name]
    before = lowered(function, *types)
    after = scheduled(function, *types, options=SMALL)
    assert expected in str(after)
    for n, m, k in (1, 1, 1), (8, 12, 4), (9, 3, 17), (21, 10, 6):
        shapes = [[evaluate(d, {"n": n, "m": m, "k": k}) for d in t.shape] for t in types]
        args = [np.sin(np.arange(np.prod(s)) * 0.7).reshape(s) for s in shapes]
        for one, other in zip(run(before, args), run(after, args), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def nearest(x, y):
    return ((x[:, None] - y) ** 2).sum(2).argmin(1)


def test_lanes_of_whole_short_blocks_are_counted_by_a_constant():
    types = [struct("n", 8), struct(16, 8)]

    def blocks(**machine):
        options = Options(openmp=False, machine=Machine(**machine))
        program = scheduled(nearest, *types, options=options)
        return program, [s for k in program.kernels for s in k.body if isinstance(s, For)]

    program, (whole, rest) = blocks()
    inside = [[s for s in walk(loop.body) if isinstance(s, For)] for loop in (whole, rest)]
    assert [str(whole.stop), str(rest.start)] == ["n // 32", "n // 32"]
    assert all(loop.limit is None for loop in inside[0])
    assert [str(loop.limit) for loop in inside[1]].count("n") > 3
    before = lowered(nearest, *types)
    for n in 1, 31, 32, 33, 64, 70:
        args = [np.sin(np.arange(8.0 * k) * 0.7).reshape(k, 8) for k in (n, 16)]
        np.testing.assert_array_equal(run(before, args)[0], run(program, args)[0])
    assert len(blocks(longest_counted_block=8)[1]) == 1
    assert len(blocks(most_piece_statements=50)[1]) == 1


def test_lanes_of_whole_tiles_that_a_team_shares_are_counted_by_a_constant():
    types = [struct("n", "m"), struct("m", "n")]

    def tiles(**machine):
        options = Options(machine=Machine(tile=4, fewest_tiles=2, **machine))
        program = scheduled(lambda x, y: x + y.T, *types, options=options)
        every = [s for k in program.kernels for s in walk(k.body)]
        return program, [s for s in every if isinstance(s, If) and s.orelse]

    program, branches = tiles(least_parallel_work=0)
    (filled,), (clipped,) = branches[0].body, branches[0].orelse
    assert filled.rows == filled.columns == filled.tile and clipped.rows != clipped.tile
    (whole,), (other,) = branches[1].body, branches[1].orelse
    assert all(loop.limit is None for loop in walk((whole,)) if isinstance(loop, For))
    assert all(loop.limit is not None for loop in walk((other,)) if isinstance(loop, For))
    assert any(loop.simd for loop in walk((whole,)) if isinstance(loop, For))
    before = lowered(lambda x, y: x + y.T, *types)
    for n, m in (1, 1), (3, 4), (4, 9), (8, 8), (13, 6):
        args = np.arange(1.0 * n * m).reshape(n, m), np.sin(np.arange(1.0 * n * m)).reshape(m, n)
        np.testing.assert_array_equal(run(before, args)[0], run(program, args)[0])
    assert not tiles(least_parallel_work=0, most_piece_statements=1)[1]


def test_threads_share_a_loop_where_its_size_is_large_enough():
    def loops(*types):
        program = scheduled(lambda x: x * x / (x + 2), *types, options=ONE_VERSION)
        return [s for k in program.kernels for s in walk(k.body) if isinstance(s, For)]

    (of_any,) = loops(struct("n"))
    assert of_any.parallel and of_any.simd
    assert evaluate(of_any.slack, {"n": 10}) < 0 < evaluate(of_any.slack, {"n": 1_000_000})
    (n,) = dims("n", "n <= 4096")
    assert [loop.parallel for loop in loops(struct(n))] == [False]
    (n,) = dims("n", "n >= 1000000")
    assert [(loop.parallel, loop.slack) for loop in loops(struct(n))] == [(True, 0)]
    (n,) = dims("n", "n <= 10000000")
    assert str(loops(struct(n))[0].slack) == str(of_any.slack)


def test_a_loop_of_a_few_lines_has_a_version_for_one_thread():
    program = scheduled(lambda x: x * x / (x + 2), struct("n"))
    (branch,) = [s for k in program.kernels for s in k.body]
    assert isinstance(branch, If)
    (team,), (alone,) = branch.body, branch.orelse
    assert (team.parallel, alone.parallel) == (True, False) and team.simd and alone.simd
    assert (team.body, team.slack) == (alone.body, 0)
    (angles, huge, _) = scheduled(np.sin, struct("n")).kernels[0].body[-3:]
    assert isinstance(angles.body[0], For) and isinstance(angles.orelse[0], For)
    assert [(loop.parallel, str(loop.slack != 0)) for loop in huge.body] == [(True, "True")]


def test_local_arrays_of_unknown_length_are_not_on_the_stack():
    program = scheduled(lambda x: nn.softmax(x, axis=1), struct("n", "m"))
    arrays = [s for k in program.kernels for s in walk(k.body) if isinstance(s, Alloc)]
    unknown = [s for s in arrays if bounds(s.buffer.size_in_bytes)[1] is None]
    assert all(s.slot is not None for s in unknown)
    n, m = dims("n, m", "m <= 100")
    program = scheduled(lambda x: nn.softmax(x, axis=1), struct(n, m))
    arrays = [s for k in program.kernels for s in walk(k.body) if isinstance(s, Alloc)]
    assert arrays and all(s.slot is None for s in arrays)


def test_a_divisor_leaves_no_remainder():
    (n,) = dims("n", "n % 64 == 0")
    program = scheduled(lambda x, y: x + y.T, struct(n, n), struct(n, n))
    assert all(s.limit is None for k in program.kernels for s in walk(k.body) if isinstance(s, For))


def eliminated(a):
    """LU without pivoting, by rows that are masked where they are done."""
    n = len(a)
    columns = np.arange(n)

    def eliminate(k, a):
        def row(i, a):
            factor = a[i, k] / a[k, k]
            own = np.where(columns > k, a[i] - factor * a[k], a[i])
            return a.at[i].set(np.where(columns == k, factor, own))

        return lax.fori_loop(k + 1, n, row, a)

    return lax.fori_loop(0, n - 1, eliminate, a)


# Function, types, and the loops of its last kernel: start, stop.
DIVIDED = {
    "pads": (
        lambda x: np.pad(x, (2, 1)),
        [struct("n")],
        [(0, "2"), (2, "n + 2")],
    ),
    "concatenations": (
        lambda x, y: np.concatenate([x, y, x]) * 2,
        [struct("n"), struct("m")],
        [(0, "n"), ("n", "m + n"), ("m + n", "m + 2*n")],
    ),
    "triangles": (np.tril, [struct("n", "n")], [(0, "n"), (0, "i + 1"), ("i + 1", "n")]),
}


@pytest.mark.parametrize("name", DIVIDED)
def test_conditions_on_runtime_indices_divide_loops(name):
    function, types, expected = DIVIDED[name]
    before = lowered(function, *types)
    after = scheduled(function, *types, options=ONE_VERSION)
    loops = [s for s in walk(after.kernels[-1].body) if isinstance(s, For)]
    assert [(str(s.start), str(s.stop)) for s in loops] == [(str(a), str(b)) for a, b in expected]
    for n, m in (1, 1), (2, 5), (7, 3):
        shapes = [[evaluate(d, {"n": n, "m": m}) for d in t.shape] for t in types]
        args = [np.arange(1.0, 1 + np.prod(s)).reshape(s) for s in shapes]
        for one, other in zip(run(before, args), run(after, args), strict=True):
            np.testing.assert_array_equal(one, other)


def test_cuts_whose_order_depends_on_the_size_are_not_made():
    """1 and n - 1: a third piece would begin before the second for n = 1."""

    def differences(x):
        return np.pad(x[1:], (0, 1)) - np.pad(x[:-1], (1, 0))

    before, after = lowered(differences, struct("n")), scheduled(differences, struct("n"))
    for n in 1, 2, 5:
        args = [np.arange(1.0, n + 1)]
        np.testing.assert_array_equal(run(before, args)[0], run(after, args)[0])
    (n,) = dims("n", "n >= 2")
    once = scheduled(differences, struct(n), options=ONE_VERSION)
    loops = [s for k in once.kernels for s in walk(k.body)]
    assert [str(s.stop) for s in loops if isinstance(s, For)] == ["n - 1"]


def test_counters_of_loops_to_runtime_sizes_are_subscripts_without_clamps():
    text = str(scheduled(eliminated, struct("n", "n")))
    assert "minimum" not in text and "maximum" not in text and "select" not in text
    assert "for j in k + 1..n" in text  # the columns that are not done
    a = np.random.default_rng(0).normal(size=(9, 9)) + 9 * np.eye(9)
    (found,) = run(scheduled(eliminated, struct("n", "n")), [a])
    np.testing.assert_allclose(np.tril(found, -1) @ np.triu(found) + np.triu(found), a)


def test_slices_that_a_step_reads_are_copied_and_not_the_array():
    """Row and column k, before each element is written where it was."""

    def shortest(d):
        return lax.fori_loop(0, len(d), lambda k, d: np.minimum(d, d[:, k, None] + d[k]), d)

    compiled = transpile.jit(shortest).lower(struct("n", "n")).compile()
    assert compiled.memory_analysis(n=100).temp_size_in_bytes < 2 * 128 * 8
    for n in (1, 2, 9):
        d = np.random.default_rng(n).random((n, n)) * (1 - np.eye(n))
        expected = d
        for k in range(n):
            expected = np.minimum(expected, expected[:, k, None] + expected[k])
        np.testing.assert_array_equal(compiled(d), expected)


def test_in_a_loop_the_guard_of_a_team_is_a_branch():
    def steps(x):
        return lax.fori_loop(0, len(x), lambda k, x: np.tanh(x + x[k]), x)

    program = scheduled(steps, struct("n"), options=ONE_VERSION)
    (branch,) = (s for k in program.kernels for s in walk(k.body) if isinstance(s, If))
    (shared,), (alone,) = branch.body, branch.orelse
    assert shared.parallel and not alone.parallel and shared.simd and alone.simd
    assert shared.body == alone.body and shared.slack == 0


def test_a_short_loop_around_teams_has_a_version_without_any():
    def shortest(x):
        return lax.fori_loop(0, len(x), lambda k, x: np.minimum(x, x[:, k, None] + x[k]), x)

    program = scheduled(shortest, struct("n", "n"))
    every = [s for kernel in program.kernels for s in kernel.body]
    (branch,) = (s for s in every if isinstance(s, If) and _is_around(s.body))
    assert any(isinstance(s, If) for s in walk(branch.body))
    assert not any(isinstance(s, If) for s in walk(branch.orelse))
    assert not any(isinstance(s, For) and s.parallel for s in walk(branch.orelse))


def test_a_loop_around_teams_with_many_functions_is_written_once():
    """Each stands in both versions, where a compiler takes most of its time for it."""

    def waves(x):
        def step(k, x):
            y = np.exp(x) + np.exp2(x) * x[k] + np.log(x) * np.tanh(x)
            return y + np.exp(-x) * np.arctan(x) + np.cbrt(x) + np.sinh(x) + np.cosh(x)

        return lax.fori_loop(0, len(x), step, x)

    program = scheduled(waves, struct("n"))
    (kernel,) = program.kernels
    assert not any(isinstance(s, If) and _is_around(s.body) for s in kernel.body)
    (loop,) = (s for s in kernel.body if isinstance(s, For) and _is_around((s,)))
    assert any(isinstance(s, If) for s in loop.body)


def _is_around(body):
    """True of a sequential loop with a team inside."""
    (loop,) = body
    inside = [s for s in walk(loop.body) if isinstance(s, For) and s.parallel]
    return not loop.parallel and bool(inside)


def convolved_twice(x, w, v):
    y = np.maximum(lax.conv_general_dilated(x, w, (1, 1), "SAME"), 0)
    return np.tanh(lax.conv_general_dilated(y, v, (2, 2), "SAME"))


@pytest.mark.full_level
def test_the_images_of_a_convolution_may_be_a_runtime_number():
    """The routine reads their number; an image after the other goes through both convolutions."""
    random = np.random.default_rng(0)
    w = random.normal(size=(16, 4, 3, 3)).astype("f4")
    v = random.normal(size=(24, 16, 3, 3)).astype("f4")
    images = ShapeDtypeStruct(("n", 4, 20, 20), np.float32)
    lowered = transpile.jit(convolved_twice).lower(images, w, v)
    text = lowered.as_text()
    assert text.count("conv_planes_image_f32(plan") == 2 and "for (int64_t i = 0; i < n;" in text
    for_any = lowered.compile()
    for count in 1, 2, 9:
        x = random.normal(size=(count, 4, 20, 20)).astype("f4")
        np.testing.assert_array_equal(for_any(x, w, v), transpile.jit(convolved_twice)(x, w, v))


def test_axes_of_images_that_are_not_the_first_or_have_runtime_extents_are_told_to_the_call():
    w = np.ones((8, 4, 3, 3))
    numbers = "HWCN", "OIHW", "HWCN"
    for shape, layout in [((20, 20, 4, "n"), numbers), (("n", 4, 20, "m"), None)]:
        program = scheduled(
            lambda x, layout=layout: lax.conv_general_dilated(
                x, w, (1, 1), "SAME", dimension_numbers=layout
            ),
            struct(*shape),
        )
        assert "call conv_of_sizes(" in str(program)


def folded(letters):
    """The most pairs of letters that do not cross: each cell needs those before and below it."""
    n = len(letters)

    def cell(i, d, best):
        j = i + d
        most = best[i + 1, j - 1] + (letters[i] + letters[j] == 3)
        most = lax.fori_loop(i, j, lambda k, m: np.maximum(m, best[i, k] + best[k + 1, j]), most)
        return best.at[i, j].set(most)

    def diagonal(d, best):
        return lax.fori_loop(0, n - d, lambda i, best: cell(i, d, best), best)

    return lax.fori_loop(1, n, diagonal, np.zeros((n, n), np.int64))


def test_subscripts_in_the_ranges_of_loops_in_loops_are_not_clamped():
    program = scheduled(folded, ShapeDtypeStruct(("n",), np.int64))
    assert "minimum" not in str(program)
    letters = np.random.default_rng(3).integers(0, 4, 9)
    (found,) = run(program, [letters])
    np.testing.assert_array_equal(found, run(scheduled(folded, letters), [letters])[0])
    # Compilers leave what strides by a runtime size scalar, unless it is marked.
    innermost = [s for k in program.kernels for s in walk(k.body) if isinstance(s, For)][-1]
    assert innermost.simd and innermost.reductions == (("maximum", "m"),)


def least_between(x):
    """The least element of each column in the rows from i to the column: the ends of the loops
    inside are known when that of the outermost one is."""
    n = len(x)
    least = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            found = x[i, 0]
            for k in range(i, j):
                found = min(found, x[k, j])
            least[i, j] = found
    return least


def test_nests_whose_ends_are_known_one_after_the_other_are_triangles():
    program = transpile.jit(least_between).lower(struct("n", "n"))._lowering.program()
    text = str(program)
    assert "for j in k + 1..min(64*strip" in text and "select(" not in text.split("for k", 1)[0]
    for loop in (s for k in program.kernels for s in k.body if isinstance(s, For)):
        assert not loop.parallel or loop.slack != 0  # others are behind a test of their work
    x = np.random.default_rng(4).normal(size=(11, 11))
    np.testing.assert_array_equal(run(program, [x])[0], least_between(x))


@pytest.mark.full_level
@pytest.mark.parametrize("shape", [("n",), (3, "n"), ("n", 5)], ids=str)
@one_in(3)
def test_long_cumulative_sums_are_those_of_the_same_length_known_before(shape):
    """To the bit; of few elements they are NumPy's, one after the other."""

    def sums(x):
        return np.cumsum(x, -1), np.cumsum(x[..., ::-1], -1)

    for_any = transpile.jit(sums).lower(ShapeDtypeStruct(shape, np.float32)).compile()
    for n in (1, 7, 1008, 1009, 20_001):
        x = np.random.default_rng(n).normal(size=[n if d == "n" else d for d in shape])
        x = x.astype(np.float32)
        for found, known, plain in zip(for_any(x), transpile.jit(sums)(x), sums(x), strict=True):
            np.testing.assert_array_equal(found, known if x.shape[-1] > 2000 else plain)
