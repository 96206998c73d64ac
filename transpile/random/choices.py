"""Samples from given elements: permutations, choices, categories."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, Shape, bounds
from transpile.ir.indices.requirements import require
from transpile.ir.indices.row_major import product
from transpile.ir.types import INT64, kind_letter
from transpile.lax.control.branches import cond
from transpile.numpy.core.promotion import NumpyErrors, as_array, as_operand, convert, reshape_to
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import dimension_value
from transpile.numpy.subscripts.take import take
from transpile.primitives.rules import apply
from transpile.pytree.extended_dtypes import has_extended, moved
from transpile.random.arguments import canonical_shape, inexact, joint_shape, sample_shape
from transpile.random.bits import bits_of, split, unit_floats
from transpile.random.evaluation import sampled
from transpile.random.inverses import extremes, gumbel_mode
from transpile.random.keys import key_bits
from transpile.random.uniforms import randint
from transpile.trace.trace import current_trace

# The keys that elements are sorted by have 32 bits. So many sorts leave no two elements with equal
# keys in all of them, but for one chance in as many as there are elements.
_EXPONENT = 3
_MOST = 2**51  # elements of an array


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise located(ValueError, f"axis {axis} is out of bounds for array of dimension {rank}")
    return axis % rank


# ------------------------------------------------------------------------------------ permutations


def permutation(
    key: Any,
    x: Any,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: Any = None,
) -> Any:
    """The elements along an axis in random order, or a permutation of 0, ..., x - 1 for an integer.

    independent  each slice along the axis has an order of its own

    Sorts by 32-bit keys, in as many rounds as make equal keys unlikely. Raises TypeError for a
    scalar that is no integer, ValueError for an axis out of range.
    """
    if has_extended((x,)):
        return moved(lambda keys: permutation(key, keys, axis, independent), (x,), {})
    data, _ = key_bits("permutation", key)
    if isinstance(x, Dim):
        _axis(axis, 1)
        return sampled(_permuted_range, data, count=x)
    array = as_array(x)
    number = _axis(axis, array.ndim or 1)
    if array.ndim == 0:
        if array.dtype.kind not in "iu":
            raise located(TypeError, "x must be an integer or at least 1-dimensional")
        return sampled(_permuted_range, data, count=max(0, int(as_operand(x))))
    return sampled(_permuted, data, array, axis=number, independent=bool(independent))


def _permuted_range(key: Any, count: Index) -> Any:
    return _shuffled(key, apply("iota", shape=(count,), dimension=0, dtype=INT64), 0)


def _permuted(key: Any, x: Any, axis: int, independent: bool) -> Any:
    if not isinstance(product(x.shape), int):
        if not independent:
            return take(x, _permuted_range(key, x.shape[axis]), axis)
        order = apply("iota", shape=tuple(x.shape), dimension=axis, dtype=INT64)
        return np.take_along_axis(x, _shuffled(key, order, axis), axis)
    if independent or x.ndim == 1:
        return _shuffled(key, x, axis)
    return take(x, _permuted_range(key, x.shape[axis]), axis)


def _shuffled(key: Any, x: Any, axis: int) -> Any:
    """Sorted by random keys, again and again."""
    size = product(x.shape)

    def sorted_once(state: Any) -> Any:
        key, x = state
        key, own = split(key)
        order = apply("argsort", bits_of(own, tuple(x.shape), 32), axis=axis)
        return key, np.take_along_axis(x, order, axis)

    state = key, x
    if isinstance(size, int):
        for _ in range(_rounds(size)):
            state = sorted_once(state)
        return state[1]
    least, most = bounds(size)
    first = _rounds(least or 0)
    for _ in range(first):
        state = sorted_once(state)
    for done in range(first, _rounds(_MOST if most is None else most)):
        is_more = np.greater(dimension_value(size), _largest_size(done))
        state = cond(is_more, sorted_once, lambda state: state, state)
    return state[1]


def _rounds(size: int) -> int:
    """How often so many elements are sorted."""
    return math.ceil(_EXPONENT * math.log(max(1, size)) / math.log(2**32 - 1))


def _largest_size(rounds: int) -> int:
    """The most elements that are sorted so often."""
    return bisect.bisect_right(range(_MOST + 1), rounds, key=_rounds) - 1


# ----------------------------------------------------------------------------------------- choices


def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Any:
    """Elements of `a` along an axis, or integers below it, drawn with or without replacement.

    replace  an element may be drawn several times
    p        the probability of each element; by default they are equal
    mode     as in `gumbel`, by which elements are drawn by p without replacement

    With p a search in cumulative sums, or the largest Gumbel-perturbed logarithms (T. Vieira,
    Gumbel-Max Trick and Weighted Reservoir Sampling, 2014). Raises ValueError for more draws
    without replacement than elements and for p of another shape; TypeError for a shape that is no
    sequence.
    """
    if has_extended((a,)):
        return moved(lambda keys: choice(key, keys, shape, replace, p, axis, mode), (a,), {})
    data, _ = key_bits("choice", key)
    if not isinstance(shape, Sequence):
        raise located(
            TypeError, f"shape argument of jax.random.choice must be a sequence, got {shape}"
        )
    sizes = canonical_shape(shape)
    array = as_array(a)
    number = _axis(axis, array.ndim) if array.ndim else 0
    count: Any = (
        a if isinstance(a, Dim) else array.shape[number] if array.ndim else int(as_operand(a))
    )
    draws = product(sizes)
    if draws == 0:
        return np.zeros(sizes, array.dtype)
    if isinstance(count, Dim):
        require(1, count, "choice")
    elif count <= 0:
        raise located(ValueError, "a must be greater than 0 unless no samples are taken")
    if not replace and not (isinstance(draws, int) and isinstance(count, int)):
        require(draws, count, "choice without replacement")
    elif not replace and draws > count:
        raise located(
            ValueError,
            f"Cannot take a larger sample (size {draws}) than population (size {count}) when "
            "'replace=False'",
        )
    whole = sizes if not array.ndim else _with(array.shape, number, sizes)
    if p is None and not replace:
        permuted = permutation(key, count if array.ndim == 0 else array, number)
        return permuted[(slice(None),) * number + (slice(draws),)].reshape(whole)
    indices = _drawn_indices(key, data, count, sizes, replace, p, mode)
    if array.ndim == 0:
        return indices
    function: Any = np.take if current_trace() is None else take
    return function(array, indices, number).reshape(whole)


def _with(shape: Shape, axis: int, sizes: Shape) -> Shape:
    return (*shape[:axis], *sizes, *shape[axis + 1 :])


def _drawn_indices(
    key: Any, data: Any, count: Index, sizes: Shape, replace: bool, p: Any, mode: str | None
) -> Any:
    """The indices of the elements that are drawn."""
    if p is None:
        return randint(key, sizes, 0, dimension_value(count))
    (chances,) = inexact(p)
    if tuple(chances.shape) != (count,):
        raise located(
            ValueError,
            "p must be None or a 1D vector with the same size as a.shape[axis]. p has shape "
            f"{chances.shape} and a.shape[axis] is {count}.",
        )
    if replace:
        return sampled(_by_sums, data, chances, shape=sizes)
    return sampled(_largest_sums, data, chances, shape=sizes, mode=gumbel_mode(mode))


def _by_sums(key: Any, p: Any, shape: Shape) -> Any:
    """A search for uniform numbers in the cumulative sums of the probabilities."""
    sums = np.cumsum(p)
    return np.searchsorted(sums, sums[-1] * (1 - unit_floats(key, shape, p.dtype)))


def _largest_sums(key: Any, p: Any, shape: Shape, mode: str) -> Any:
    """The largest of log p plus Gumbel's samples: elements without repetition, by p (Vieira,
    "Gumbel-max trick and weighted reservoir sampling", 2014)."""
    perturbed = extremes(key, tuple(p.shape), p.dtype, mode) + np.log(p)
    order = apply("argsort", -perturbed, axis=0)
    return reshape_to(order[: product(shape)], shape)


# -------------------------------------------------------------------------------------- categories


def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Integers with the given logarithms of unnormalised probabilities along an axis.

    shape    that of the samples: one that ends in that of the logits without the axis
    replace  False: the samples along the leading axes of `shape` are all different
    mode     as in `gumbel`

    The maximum of logits plus Gumbel samples (E. Gumbel, 1954). Raises ValueError for logits that
    are no floats and for more different samples than categories.
    """
    data, _ = key_bits("categorical", key)
    array = as_array(logits)
    with NumpyErrors():
        kept = np.delete(np.arange(array.ndim), axis)
    head = tuple(array.shape[k] for k in kept)
    sizes = head if shape is None else canonical_shape(shape)
    if joint_shape(sizes, head) != sizes:
        sample_shape("categorical", sizes, np.broadcast_to(np.empty(()), head))
    if kind_letter(array.dtype) != "f":
        raise located(
            ValueError, f"dtype argument to `gumbel` must be a float dtype, got {array.dtype}"
        )
    number = axis % array.ndim
    chosen = gumbel_mode(mode)
    if replace:
        return sampled(_categories, data, array, shape=sizes, axis=number, mode=chosen)
    draws = product(sizes[: len(sizes) - len(head)])
    if not (isinstance(draws, int) and isinstance(array.shape[number], int)):
        require(draws, array.shape[number], "categories without replacement")
    elif draws > array.shape[number]:
        raise located(
            ValueError,
            f"Number of samples without replacement ({draws}) cannot exceed number of categories "
            f"({array.shape[number]}).",
        )
    return sampled(_different, data, array, shape=sizes, axis=number, draws=draws, mode=chosen)


def _categories(key: Any, logits: Any, shape: Shape, axis: int, mode: str) -> Any:
    before = len(shape) - (logits.ndim - 1)
    rest = list(shape[before:])
    rest.insert(axis, logits.shape[axis])
    noise = extremes(key, (*shape[:before], *rest), logits.dtype, mode)
    return np.argmax(noise + logits, axis=before + axis)


def _different(key: Any, logits: Any, shape: Shape, axis: int, draws: int, mode: str) -> Any:
    perturbed = logits + extremes(key, tuple(logits.shape), logits.dtype, mode)
    order = apply("argsort", -np.moveaxis(perturbed, axis, -1), axis=logits.ndim - 1)
    indices = np.moveaxis(order[..., :draws], -1, 0)
    return reshape_to(convert(indices, np.dtype("int32")), shape)
