"""Random whole graphs with inputs, for comparing the steps of the way to C with each other.

Their floats are small multiples of 1/4 and their operations exact, so that additions in any order
give the same bits; what is not exact (a sine) is rounded to an exact number at once.
"""

from __future__ import annotations

import math
from random import Random

import numpy as np
from helpers import trace_to_graph

from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.graph import Const, Equation, Graph, Source, Var
from transpile.ir.graph_rewrite import Builder
from transpile.ir.loop_ir import For
from transpile.ir.loop_rewrite import walk
from transpile.ir.loop_verifier import check
from transpile.ir.types import ArrayType
from transpile.lower.kernels import lower
from transpile.machine import Machine
from transpile.options import Options
from transpile.passes import optimise
from transpile.primitives import axes as a
from transpile.primitives import dot, indexing, reductions
from transpile.primitives import elementwise as e
from transpile.primitives.elementary import primitives as f
from transpile.primitives.elementwise import bits
from transpile.schedule import SCHEDULE, schedule
from transpile.trace.trace import evaluate

# Sums of multiples of 1/256 up to here are exact.
LARGEST = {"f8": 2.0**24, "f4": 2.0**12}
MOST_ELEMENTS = 150

DTYPES = ["f8", "f8", "f8", "f8", "i8", "i4", "u1", "?", "f4"]
NUMBERS = {"f": [0.0, 1.0, -1.0, 0.25, 2.0, -3.0, 7.5], "i": [0, 1, -1, 2, 5], "u": [0, 1, 3]}
COMPARISONS = [e.equal, e.not_equal, e.less, e.less_equal, e.greater, e.greater_equal]


# Values of a machine at which small arrays meet every pass, and every rule of lowering.
SMALL_MACHINES = {
    "cheap_weight": [0, 2, 5],
    "largest_folded": [0, 64],
    "shortest_component_sum": [2, 16],
    "sum_block": [2, 5, 16],
    "fewest_sum_blocks": [2],
    "strip": [2, 4, 128],
    "fewest_columns": [2],
    "row_bytes": [0, 16, 64, 256, 65536],
    "least_elements": [1, 5, 1024],
    "shortest_innermost": [1, 2],
    "element_tile": [1, 2, 64],
    "row_strips": [(2,), (3, 2), (32,)],
    "fewest_row_strips": [0, 4],
    "fewest_short_rows": [2, 8],
    "shortest_search": [1, 4, 32],
    "fewest_searched_rows": [1, 4, 16],
    "fewest_jammed_rows": [4, 16],
    "jammed_rows": [2, 4],
    "shortest_jammed_row": [1, 4, 16],
    "fewest_updates": [2, 1 << 16],
    "updates_of_an_element": [1],
    "subscript_block": [2, 5, 1024],
    "least_subscript_work": [0, 40],
    "shortest_inner_of_functions": [2, 3],
    "shortest_function_loop": [2, 16],
    "function_block": [2, 5, 64],
    "fewest_shared": [1, 2, 3, 16],
    "least_parallel_work": [1, 200, 1_000_000],
    "shortest_shared_alone": [2, 64],
    "tile": [2, 3, 32],
    "fewest_tiles": [1],
    "transposed_row_bytes": [8, 24, 256],
    "promoted_bytes": [0, 64, 4096],
    "stack_array_bytes": [0, 64, 24 << 10],
    "shortest_simd": [1, 4],
    "most_pieces": [2, 6],
    "most_candidates": [1, 3, 8],
    "most_fused": [2, 4, 128],
    "most_unrelated_iterations": [0, 20, 4096],
    "cheap_scan_reader": [0, 8],
    "largest_expression": [2, 5, 40],
    "longest_unrolled_reduction": [1, 3, 8],
    "longest_unrolled_contraction": [1, 2, 4],
    "parts_of_updated": [1, 4],
    "most_chosen_updates": [0, 4],
    "parts_of_copied": [1, 8],
    "most_copied_elements": [0, 4, 16],
    "shortest_product_side": [1, 4],
    "least_product_terms": [1],
    "least_stack_terms": [1, 1 << 19],
    "most_stacked_terms": [50, 1 << 22],
    "shortest_library_sum": [2, 8192],
    "slots": [1, 3, 16],
}


class GraphMaker:
    """A graph in the making, with the values that its inputs give."""

    def __init__(self, seed: int, special: bool = False, keep: bool = False) -> None:
        self.random = Random(seed)
        self.special = special
        self.keep = keep
        self.builder = Builder()
        self.values: dict[Var, np.ndarray] = {}
        self.inputs: list[Var] = []
        self.pool: list[Var] = []

    # ------------------------------------------------------------------------------- material

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        rank = self.random.choice([0, 1, 1, 2, 2, 2, 3]) if rank is None else rank
        sides = [1, 2, 3, 4, 5, 7] + [9, 12, 17] * (rank <= 2) + [0] * (self.random.random() < 0.05)
        while True:
            shape = tuple(self.random.choice(sides) for _ in range(rank))
            if math.prod(shape) <= MOST_ELEMENTS:
                return shape

    def array(self, shape, dtype):
        dtype = np.dtype(dtype)
        rng = np.random.default_rng(self.random.randrange(2**32))
        if dtype.kind == "b":
            return rng.integers(0, 2, shape).astype(bool)
        if dtype.kind in "iu":
            return rng.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
        array = np.asarray(rng.integers(-16, 17, shape) / 4).astype(dtype)
        if self.special and array.size:
            places = rng.integers(0, 12, shape)
            for place, value in enumerate((np.nan, np.inf, -np.inf, -0.0)):
                array = np.where(places == place, dtype.type(value), array)
        return array

    def new_input(self):
        dtype = np.dtype(self.random.choice(DTYPES))
        shape = self.shape()
        var = Var(ArrayType(shape, dtype), f"x{len(self.inputs)}")
        self.inputs.append(var)
        self.values[var] = self.array(shape, dtype)
        self.pool.append(var)

    def constant(self, dtype):
        dtype = np.dtype(dtype)
        if dtype.kind == "b":
            return Const(np.bool_(self.random.random() < 0.5))
        return Const(np.array(self.random.choice(NUMBERS[dtype.kind]), dtype))

    def pick(self, test=lambda v: True):
        """A value from the pool, most often a recent one."""
        found = [v for v in self.pool if test(v)]
        if not found:
            return None
        if self.random.random() < 0.6:
            found = found[-6:]
        return self.random.choice(found)

    def like(self, var, dtype=None):
        """An atom that may stand beside `var` in an elementwise equation."""
        dtype = var.type.dtype if dtype is None else dtype  # a dtype without fields is false
        if self.random.random() < 0.25:
            return self.constant(dtype)
        same = self.pick(lambda v: v.type.shape == var.type.shape and v.type.dtype == dtype)
        if same is not None and self.random.random() < 0.8:
            return same

        def spreads(v):
            axes = self.spread_axes(v.type.shape, var.type.shape)
            return v.type.dtype == dtype and axes is not None

        other = self.pick(lambda v: spreads(v) and v is not var)
        if other is not None:
            found = self.spread(other, var.type.shape)
            if found is not None:
                return found
        if self.random.random() < 0.3:
            return Const(self.array(var.type.shape, dtype))
        return same if same is not None else self.constant(dtype)

    def spread_axes(self, small, large):
        """Axes of `large` for those of `small`, in order, or None."""
        found, axis = [], 0
        for dim in small:
            while axis < len(large) and dim not in (1, large[axis]):
                axis += 1
            if axis == len(large):
                return None
            found.append(axis)
            axis += 1
        return tuple(found)

    def spread(self, var, shape):
        axes = self.spread_axes(var.type.shape, shape)
        return self.apply(a.broadcast_in_dim, var, shape=shape, broadcast_dimensions=axes)

    def apply(self, primitive, *inputs, **params):
        """Append an equation unless its values leave the exact range; then None."""
        (type_,) = primitive.result_types([x.type for x in inputs], params)
        if type_.size > MOST_ELEMENTS:
            return None
        var = Var(type_)
        given = [x.value if isinstance(x, Const) else self.values[x] for x in inputs]
        self.builder.source = Source("random.py", len(self.builder.equations) + 1, "f")
        (value,) = evaluate(Equation(primitive, tuple(inputs), params, (var,)), given)
        if type_.dtype.kind == "f" and value.size:
            finite = np.abs(value[np.isfinite(value)])
            if finite.size < value.size and not self.special:
                return None
            if finite.size and (
                finite.max() > LARGEST[type_.dtype.str[1:]] or (finite * 256 % 1).any()
            ):
                return None
        result = self.builder.apply(primitive, *inputs, **params)
        self.values[result] = value
        self.pool.append(result)
        return result

    # ------------------------------------------------------------------------------ equations

    def unary(self):
        x = self.pick()
        kind = x.type.dtype.kind
        if kind == "b":
            return self.apply(e.logical_not, x)
        choices = [e.negative, e.square, e.sign, e.absolute, e.copy]
        if kind == "f":
            choices += [e.floor, e.rint, e.ceil, e.trunc]
        return self.apply(self.random.choice(choices), x)

    def rounded_sine(self):
        """An expensive value, used once or more."""
        x = self.pick(lambda v: v.type.dtype == "f8")
        if x is None:
            return None
        self.special, special = True, self.special
        before = len(self.pool)
        function = self.random.choice([f.sin, f.exp, f.arctan, f.sqrt])
        with np.errstate(all="ignore"):
            value = function.numpy(self.values[x]) * 8
        self.special = special
        if value.size and (not np.isfinite(value).all() or np.abs(value).max() > LARGEST["f8"]):
            return None
        result = self.builder.apply(function, x)
        self.values[result] = np.asarray(value / 8)
        scaled = self.builder.apply(e.multiply, result, Const(np.float64(8)))
        self.values[scaled] = np.asarray(value)
        del self.pool[before:]
        return self.apply(e.rint, scaled)

    def binary(self):
        x = self.pick()
        y = self.like(x)
        kind = x.type.dtype.kind
        choices = [e.maximum, e.minimum, *COMPARISONS]
        if kind == "b":
            choices += [e.logical_and, e.logical_or, e.logical_xor] * 3
        else:
            choices += [e.add, e.subtract, e.multiply] * 5
        if kind in "iu":
            choices += [bits.bitwise_and, bits.bitwise_xor, e.floor_divide, e.remainder]
        if self.random.random() < 0.5 or not isinstance(x, Var):
            return self.apply(self.random.choice(choices), x, y)
        return self.apply(self.random.choice(choices), y, x)

    def division(self):
        x = self.pick(lambda v: v.type.dtype.kind in "if")
        if x is None:
            return None
        number = Const(np.array(self.random.choice([2, -2, 3, 4]), x.type.dtype))
        choices = [e.floor_divide, e.remainder, e.fmod]
        if x.type.dtype.kind == "f" and abs(int(number.value)) != 3:
            choices.append(e.divide)
        return self.apply(self.random.choice(choices), x, number)

    def power(self):
        x = self.pick(lambda v: v.type.dtype.kind in "if")
        if x is None:
            return None
        return self.apply(f.power, x, Const(np.array(self.random.choice([1, 2, 3]), x.type.dtype)))

    def select(self):
        x = self.pick()
        test, y = self.like(x, np.dtype(bool)), self.like(x)
        return self.apply(e.select, test, x, y)

    def convert(self):
        x = self.pick()
        source, target = x.type.dtype, np.dtype(self.random.choice(DTYPES))
        if source.kind == "f" and target.kind in "iu" and (self.special or target.itemsize < 4):
            return None
        return self.apply(e.convert, x, dtype=target)

    def broadcast(self):
        x = self.pick()
        for _ in range(10):
            shape = self.shape(self.random.randint(x.type.ndim, max(3, x.type.ndim)))
            kept = list(shape)
            rank = len(shape)
            axes = sorted(self.random.sample(range(rank), len(x.type.shape)))
            for axis, dim in zip(axes, x.type.shape):
                if dim != 1:
                    kept[axis] = dim
            if math.prod(kept) <= MOST_ELEMENTS:
                return self.apply(
                    a.broadcast_in_dim, x, shape=tuple(kept), broadcast_dimensions=tuple(axes)
                )
        return None

    def reshape(self):
        x = self.pick()
        size, shape = math.prod(x.type.shape), []
        if size == 0:
            return self.apply(a.reshape, x, shape=(0, self.random.randint(1, 3)))
        while size > 1 and len(shape) < 3:
            factors = [d for d in range(2, size + 1) if size % d == 0]
            shape.append(self.random.choice(factors))
            size //= shape[-1]
        shape += [size] * (size > 1)
        for _ in range(self.random.choice([0, 0, 1, 2])):
            shape.insert(self.random.randint(0, len(shape)), 1)
        return self.apply(a.reshape, x, shape=tuple(shape)) if len(shape) <= 4 else None

    def merge(self):
        """Neighbouring axes made one, in an order in which they do not lie in memory."""
        x = self.pick(lambda v: v.type.ndim > 1)
        if x is None:
            return None
        order = list(range(x.type.ndim))
        self.random.shuffle(order)
        if self.random.random() < 0.5:
            x = self.apply(a.transpose, x, permutation=tuple(order))
        shape = x.type.shape
        first = self.random.randrange(x.type.ndim - 1)
        merged = (*shape[:first], shape[first] * shape[first + 1], *shape[first + 2 :])
        return self.apply(a.reshape, x, shape=merged)

    def transpose(self):
        x = self.pick(lambda v: v.type.ndim > 1)
        if x is None:
            return None
        order = list(range(x.type.ndim))
        self.random.shuffle(order)
        return self.apply(a.transpose, x, permutation=tuple(order))

    def layers(self):
        """Computations that only a transpose reads, or one and another."""
        x, before = self.pick(lambda v: v.type.ndim == 2), len(self.pool)
        if self.random.random() < 0.7:
            lines = [
                self.pick(lambda v: v.type.ndim == 1 and 0 < v.type.size < 8) for _ in range(2)
            ]
            if None in lines:
                return None
            shape = tuple(v.type.shape[0] for v in lines)
            placed = [
                self.apply(a.broadcast_in_dim, v, shape=shape, broadcast_dimensions=(k,))
                for k, v in enumerate(lines)
            ]
            if placed[0].type.dtype != placed[1].type.dtype:
                placed[1] = self.apply(a.iota, shape=shape, dimension=1, dtype=placed[0].type.dtype)
            x = self.apply(e.maximum, *placed)
        steps = (self.unary, self.binary, self.slice, self.reverse, self.concatenate, self.pad)
        for _ in range(self.random.randint(1, 5)):
            if x is None or x.type.ndim != 2:
                break
            others, self.pool = self.pool, [*self.pool[before:], x]
            made = self.random.choice(steps)()
            self.pool = others + [v for v in self.pool[1:] if v not in others]
            x = made if made is not None else x
        if x is None or x.type.ndim != 2:
            return None
        if self.random.random() < 0.8:
            del self.pool[before:]
        return self.apply(a.transpose, x, permutation=(1, 0))

    def slice(self):
        x = self.pick(lambda v: v.type.ndim > 0)
        if x is None:
            return None
        start, limit, strides = [], [], []
        for dim in x.type.shape:
            low = self.random.randint(0, dim // 2)
            high = self.random.randint(low, dim) if self.random.random() < 0.5 else dim
            start.append(low)
            limit.append(max(high, low + 1) if low < dim else high)
            strides.append(self.random.choice([1, 1, 2, 3]))
        return self.apply(
            a.slice_, x, start=tuple(start), limit=tuple(limit), strides=tuple(strides)
        )

    def reverse(self):
        x = self.pick(lambda v: v.type.ndim > 0)
        if x is None:
            return None
        dims = tuple(d for d in range(x.type.ndim) if self.random.random() < 0.6)
        return self.apply(a.rev, x, dimensions=dims or (0,))

    def concatenate(self):
        x = self.pick(lambda v: v.type.ndim > 0)
        if x is None:
            return None
        axis = self.random.randrange(x.type.ndim)

        def fits(v):
            mine, others = list(x.type.shape), list(v.type.shape)
            if len(mine) != len(others) or v.type.dtype != x.type.dtype:
                return False
            mine[axis] = others[axis] = 0
            return mine == others

        parts = [self.pick(fits) for _ in range(self.random.choice([1, 2, 2, 3]))]
        return self.apply(a.concatenate, *parts, dimension=axis)

    def pad(self):
        x = self.pick(lambda v: v.type.ndim > 0 and v.type.size > 0)
        if x is None:
            return None
        padding = []
        for dim in x.type.shape:
            low, high = self.random.randint(-1, 2), self.random.randint(-1, 2)
            inner = self.random.choice([0, 0, 0, 1, 2])
            if dim + (dim - 1) * inner + low + high < 0 or dim + min(low, 0) + min(high, 0) < 0:
                low = high = 0
            padding.append((low, high, inner))
        return self.apply(a.pad, x, self.constant(x.type.dtype), padding=tuple(padding))

    def reduce(self):
        x = self.pick(lambda v: v.type.ndim > 0)
        if x is None:
            return None
        over = tuple(d for d in range(x.type.ndim) if self.random.random() < 0.5)
        over = over or (self.random.randrange(x.type.ndim),)
        kind = x.type.dtype.kind
        choices = [reductions.reduce_max, reductions.reduce_min]
        if kind == "b":
            choices += [reductions.reduce_and, reductions.reduce_or] * 2
        else:
            choices += [reductions.reduce_sum] * 4
        if kind in "iu":
            choices.append(reductions.reduce_prod)
        chosen = self.random.choice(choices)
        if any(x.type.shape[d] == 0 for d in over) and chosen.combine in ("maximum", "minimum"):
            return None
        return self.apply(chosen, x, axes=over)

    def scan(self):
        x = self.pick(lambda v: v.type.ndim > 0 and v.type.dtype.kind != "b")
        if x is None:
            return None
        choices = [reductions.cumsum, reductions.cumsum, reductions.cummax, reductions.cummin]
        if x.type.dtype.kind in "iu":
            choices.append(reductions.cumprod)
        axis, reverse = self.random.randrange(x.type.ndim), self.random.random() < 0.4
        return self.apply(self.random.choice(choices), x, axis=axis, reverse=reverse)

    def position(self):
        x = self.pick(lambda v: v.type.ndim > 0 and v.type.size > 0)
        if x is None:
            return None
        axis = self.random.randrange(x.type.ndim)
        return self.apply(self.random.choice([reductions.argmax, reductions.argmin]), x, axis=axis)

    def product(self):
        x = self.pick(lambda v: v.type.ndim > 0)
        if x is None:
            return None

        def pairs(v):
            return [
                (p, q)
                for p, d in enumerate(x.type.shape)
                for q, other in enumerate(v.type.shape)
                if d == other
            ]

        y = self.pick(lambda v: v.type.dtype == x.type.dtype and pairs(v))
        if y is None:
            return None
        if not all(np.isfinite(self.values[v]).all() for v in (x, y)):
            return None  # numpy.einsum takes a repeated factor out of the sum: 0 * inf is lost
        found = pairs(y)
        self.random.shuffle(found)
        contracted, batch = [], []
        for p, q in found:
            taken = contracted + batch
            if p not in [t[0] for t in taken] and q not in [t[1] for t in taken]:
                (contracted if self.random.random() < 0.6 else batch).append((p, q))
        numbers = (
            (tuple(p for p, _ in contracted), tuple(q for _, q in contracted)),
            (tuple(p for p, _ in batch), tuple(q for _, q in batch)),
        )
        return self.apply(dot.dot_general, x, y, dimension_numbers=numbers)

    def indices(self, shape, most, arrays):
        """Arrays of indices of one shape: inputs, or values that may be out of range."""
        found = []
        for _ in range(arrays):
            x = self.pick(lambda v: v.type.shape == shape and v.type.dtype == "i8")
            if x is None or self.random.random() < 0.5:
                x = Var(ArrayType(shape, np.dtype("i8")), f"x{len(self.inputs)}")
                rng = np.random.default_rng(self.random.randrange(2**32))
                self.values[x] = np.asarray(rng.integers(-2, most + 2, shape))
                self.inputs.append(x)
                self.pool.append(x)
            found.append(x)
        return found

    def gather(self):
        x = self.pick(lambda v: v.type.ndim > 0 and v.type.size > 0)
        if x is None:
            return None
        axes = tuple(self.random.sample(range(x.type.ndim), self.random.randint(1, x.type.ndim)))
        if self.random.random() < 0.1:
            return self.diagonal(x)
        shape = self.shape(self.random.choice([0, 1, 1, 2]))
        indices = self.indices(shape, max(x.type.shape), len(axes))
        modes = ["clip", "fill"] if x.type.dtype.kind != "f" or self.special else ["clip"]
        return self.apply(indexing.gather, x, *indices, axes=axes, mode=self.random.choice(modes))

    def diagonal(self, x):
        """Subscripts that are arithmetic."""
        count = self.apply(a.iota, shape=(min(x.type.shape),), dimension=0, dtype=np.dtype("i8"))
        axes = tuple(range(x.type.ndim))
        return self.apply(indexing.gather, x, *[count] * x.type.ndim, axes=axes, mode="promise")

    def scatter(self):
        x = self.pick(lambda v: v.type.ndim > 0)
        if x is None:
            return None
        axes = tuple(self.random.sample(range(x.type.ndim), self.random.randint(1, x.type.ndim)))
        rest = tuple(d for k, d in enumerate(x.type.shape) if k not in axes)
        updates = self.pick(
            lambda v: (
                v.type.dtype == x.type.dtype and v.type.shape[v.type.ndim - len(rest) :] == rest
            )
        )
        if updates is None:
            return None
        shape = updates.type.shape[: updates.type.ndim - len(rest)]
        indices = self.indices(shape, max(x.type.shape), len(axes))
        if x.type.dtype.kind == "b":
            combine = self.random.choice(["set", "logical_or"])
        else:
            combine = self.random.choice(["set", "set", "add", "add", "maximum"])
        params = {"mode": self.random.choice(["clip", "fill"]), "combine": combine}
        return self.apply(indexing.scatter, x, updates, *indices, axes=axes, unique=False, **params)

    def starts(self, shape):
        """Where a slice begins: known, or the values of inputs."""
        found = []
        for extent in shape:
            if self.random.random() < 0.5:
                found.append(Const(np.int64(self.random.randint(-1, extent))))
            else:
                found += self.indices((), extent, 1)
        return found

    def moving_slice(self):
        x = self.pick(lambda v: v.type.ndim > 0)
        if x is None:
            return None
        sizes = tuple(self.random.randint(min(d, 1), d) for d in x.type.shape)
        return self.apply(indexing.dynamic_slice, x, *self.starts(x.type.shape), sizes=sizes)

    def put_slices(self):
        """Slices put into an array one after the other; some are computed from others of it."""
        x = self.pick(lambda v: v.type.ndim > 0 and v.type.size > 0)
        for _ in range(self.random.choice([1, 1, 2, 5])):
            if x is None:
                return None

            def fits(v, x=x):
                pairs = zip(v.type.shape, x.type.shape, strict=False)
                return v.type.dtype == x.type.dtype and (
                    v.type.ndim == x.type.ndim and all(p <= q for p, q in pairs)
                )

            starts = self.starts(x.type.shape)
            update = self.pick(fits)
            if self.random.random() < 0.5:
                sizes = tuple(self.random.randint(1, d) for d in x.type.shape)
                update = self.apply(indexing.dynamic_slice, x, *starts, sizes=sizes)
                if update is not None and update.type.dtype.kind != "b":
                    update = self.apply(e.negative, update)
            if update is None:
                return None
            if self.random.random() < 0.3:
                starts = self.starts(x.type.shape)
            x = self.apply(indexing.dynamic_update_slice, x, update, *starts)
        return x

    def count(self):
        shape = self.shape(self.random.choice([1, 2]))
        dimension = self.random.randrange(len(shape))
        dtype = np.dtype(self.random.choice(["i8", "f8"]))
        return self.apply(a.iota, shape=shape, dimension=dimension, dtype=dtype)

    def graph(self, equations: int) -> Graph:
        for _ in range(self.random.randint(1, 4)):
            self.new_input()
        steps = [
            (self.unary, 3), (self.binary, 8), (self.rounded_sine, 2), (self.division, 1),
            (self.power, 1), (self.select, 2), (self.convert, 1), (self.broadcast, 3),
            (self.reshape, 2), (self.merge, 2), (self.transpose, 2), (self.slice, 2),
            (self.reverse, 1), (self.concatenate, 2), (self.pad, 2), (self.reduce, 4),
            (self.scan, 1), (self.position, 1), (self.product, 2), (self.count, 0.5),
            (self.layers, 1), (self.gather, 2), (self.scatter, 1.5), (self.moving_slice, 0.7),
            (self.put_slices, 0.7),
        ]  # fmt: skip
        functions, weights = zip(*steps, strict=True)
        for _ in range(20 * equations):
            if len(self.builder.equations) >= equations:
                break
            self.random.choices(functions, weights)[0]()
        made = [v for v in self.pool if v not in self.inputs]
        count = self.random.choice([1, 1, 2, 3, 5])
        outputs = [made[-1]] if made else []
        outputs += [self.pick() for _ in range(count - 1)]
        if self.random.random() < 0.6 or self.keep:  # keep much of it alive
            used = {x for q in self.builder.equations for x in q.inputs}
            outputs += [v for v in made if v not in used]
        if self.random.random() < 0.1:
            outputs.append(self.constant("f8"))
        if self.random.random() < 0.1:
            outputs.append(Const(self.array((3, 2), "f8")))
        outputs = outputs or [self.inputs[0]]
        self.random.shuffle(outputs)
        return Graph(tuple(self.inputs), tuple(self.builder.equations), tuple(outputs), "random")


def random_graph(seed: int, equations: int | None = None):
    """A checked graph and values for its inputs; every fifth has NaNs and infinities in them."""
    maker = GraphMaker(seed, special=seed % 5 == 4)
    graph = maker.graph(equations or 4 + seed % 37)
    graph.check()
    return graph, [maker.values[v] for v in maker.inputs]


def scheduled_until(step, program, options):
    """A program before a step of the schedule, behind those in front of it."""
    for function, _ in SCHEDULE:
        if function is step:
            return program
        program = function(program, options)
    raise ValueError(f"no step of the schedule: {step}")


def lowered(f, *args, options=Options()):
    """The loops of a function before the schedule."""
    machine = options.machine
    return lower(optimise(trace_to_graph(f, *args), machine), machine=machine)


def scheduled(f, *args, options=Options()):
    """The loops of a function after the schedule."""
    return schedule(lowered(f, *args, options=options), options)


def loops_of(program):
    """Every loop of a program, an outer one before those inside it."""
    return [s for k in program.kernels for s in walk(k.body) if isinstance(s, For)]


def statements_of(program, kind):
    """Every statement of a kind."""
    return [s for k in program.kernels for s in walk(k.body) if isinstance(s, kind)]


def assert_steps_agree(program, values, step, options=Options()):
    """The step changes the program, and it computes the same; the program after it is returned."""
    after = step(program, options)
    check(after)
    assert after.kernels != program.kernels, "the step did nothing"
    assert_same_results(run(after, values), run(program, values))
    return after


def assert_same_results(found, expected, what=""):
    """Equal dtypes, shapes and numbers; NaNs are equal, and so are zeros of both signs."""
    for position, (x, y) in enumerate(zip(found, expected, strict=True)):
        assert (x.dtype, x.shape) == (y.dtype, y.shape), f"{what}: output {position}"
        equal = np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")
        assert equal, f"{what}: output {position} is {x!r}, not {y!r}"


def small_machine(seed: int) -> Machine:
    """A machine for which small arrays meet every pass, and every rule of lowering."""
    random = Random(seed)
    return Machine(**{name: random.choice(values) for name, values in SMALL_MACHINES.items()})
