"""`numpy.einsum`: subscripts are parsed to labels, then operands are contracted in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.types import BOOL
from transpile.numpy.core.promotion import (
    as_array,
    broadcast_in_dim,
    convert,
    dtype_argument,
    implements,
    index_of,
    refuse,
    reshape_to,
    result_dtype,
    strengthen,
    transpose_to,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import reduce_axes
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.views import diagonal
from transpile.numpy.math.products import contract
from transpile.primitives import reductions
from transpile.util.frozen_records import dataclass

Label = Any  # a letter, a number, or ("...", position from the end)


@dataclass
class Term:
    """An operand and a label for each of its axes."""

    array: Any
    labels: list[Label]

    def without_repeats(self) -> Term:
        """Each label once: repeated ones become diagonals. Raises ValueError for axes of one label
        that differ in size, 1 among them."""
        array, labels = self.array, list(self.labels)
        for label in dict.fromkeys(labels):
            while labels.count(label) > 1:
                first = labels.index(label)
                second = labels.index(label, first + 1)
                if array.shape[first] != array.shape[second]:
                    raise located(
                        ValueError,
                        f"dimensions in operand for collapsing index {_label_text(label)!r} don't "
                        f"match ({array.shape[first]} != {array.shape[second]})",
                    )
                array = diagonal(array, 0, first, second)
                labels = [m for k, m in enumerate(labels) if k not in (first, second)] + [label]
        return Term(array, labels)

    def summed(self, kept: set[Label]) -> Term:
        """The term summed over the labels that are not kept."""
        axes = tuple(k for k, m in enumerate(self.labels) if m not in kept)
        primitive = reductions.reduce_or if self.array.dtype == BOOL else reductions.reduce_sum
        return Term(reduce_axes(primitive, self.array, axes), [m for m in self.labels if m in kept])

    def arranged(self, labels: Sequence[Label]) -> Any:
        """The array with its axes in the order of these labels."""
        return transpose_to(self.array, [self.labels.index(m) for m in labels])

    def spread(self, labels: Sequence[Label]) -> Any:
        """The array with an axis for each of these labels, of size 1 where it has none."""
        present = [m for m in labels if m in self.labels]
        array = self.arranged(present)
        shape = [1] * len(labels)
        axes = [labels.index(m) for m in present]
        for axis, d in zip(axes, array.shape, strict=True):
            shape[axis] = d
        return broadcast_in_dim(array, tuple(shape), axes)


@implements(np.einsum)
def einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = False,
    dtype: Any = None,
    order: str = "K",
    casting: str = "safe",
) -> Any:
    """The sum of products that subscripts describe, as letters in a string or as lists of numbers
    after each operand.

    Repeated labels of an operand are diagonals, `...` are broadcast axes, and without an arrow
    labels that occur once are kept, in alphabetical order. Several operands are contracted in
    pairs, the one with the smallest product first; `optimize` changes nothing. A pair is a matrix
    product where a label is summed. The dtype is the promoted one. Raises ValueError for malformed
    subscripts and sizes that differ.
    """
    refuse("einsum", out=out)
    arrays, inputs, output = _parse(operands)
    promoted = result_dtype(*arrays) if dtype is None else dtype_argument(dtype)
    terms = [
        Term(convert(a, promoted), labels).without_repeats()
        for a, labels in zip(arrays, inputs, strict=True)
    ]
    _check_sizes(terms)
    while len(terms) > 1:
        first, second = _next_pair(terms, output)
        rest = [t for k, t in enumerate(terms) if k not in (first, second)]
        kept = {m for t in rest for m in t.labels} | set(output)
        terms = [*rest, _multiply(terms[first], terms[second], kept, output)]
    return strengthen(terms[0].summed(set(output)).arranged(output))


def _check_sizes(terms: list[Term]) -> None:
    """Each label has one size, or 1, which broadcasts: such axes are dropped."""
    sizes: dict[Label, Any] = {}
    for term in terms:
        for label, size in zip(term.labels, term.array.shape, strict=True):
            known = sizes.get(label, 1)
            if known != 1 and size not in (1, known):
                raise located(
                    ValueError,
                    "operands could not be broadcast together: the subscript "
                    f"{_label_text(label)!r} has the sizes {known} and {size}",
                )
            sizes[label] = size if known == 1 else known
    for term in terms:
        pairs = list(zip(term.labels, term.array.shape, strict=True))
        kept = [(m, d) for m, d in pairs if not (d == 1 and sizes[m] != 1)]
        term.array = reshape_to(term.array, [d for _, d in kept])
        term.labels = [m for m, _ in kept]


def _label_text(label: Label) -> str:
    return "..." if isinstance(label, tuple) else str(label)


def _next_pair(terms: list[Term], output: list[Label]) -> tuple[int, int]:
    """The pair whose product is smallest, the first of equals; sizes not known count as large."""
    if len(terms) == 2:
        return 0, 1
    best, least = (0, 1), None
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            kept = {m for k, t in enumerate(terms) if k not in (i, j) for m in t.labels}
            kept |= set(output)
            sizes = dict(zip(terms[i].labels, terms[i].array.shape, strict=True))
            sizes |= dict(zip(terms[j].labels, terms[j].array.shape, strict=True))
            number = 1
            for label, size in sizes.items():
                if label in kept:
                    number *= size if isinstance(size, int) else 1024
            if least is None or number < least:
                best, least = (i, j), number
    return best


def _multiply(x: Term, y: Term, kept: set[Label], output: list[Label]) -> Term:
    """The product of two operands, summed over the labels that nothing else needs."""
    x = x.summed(kept | set(y.labels))
    y = y.summed(kept | set(x.labels))
    shared = [m for m in x.labels if m in y.labels]
    summed = [m for m in shared if m not in kept]
    if not summed:
        labels = _order([*x.labels, *(m for m in y.labels if m not in x.labels)], output)
        products = call(np.multiply, x.spread(labels), y.spread(labels))
        # They are added to zeros, which makes 0.0 of -0.0.
        return Term(products if products.dtype == BOOL else call(np.add, products, 0), labels)
    batch = _order([m for m in shared if m in kept], output)
    array = contract(
        x.array,
        y.array,
        [x.labels.index(m) for m in summed],
        [y.labels.index(m) for m in summed],
        ([x.labels.index(m) for m in batch], [y.labels.index(m) for m in batch]),
    )
    free = [m for m in x.labels if m not in shared] + [m for m in y.labels if m not in shared]
    return Term(array, batch + free)


def _order(labels: list[Label], output: list[Label]) -> list[Label]:
    """The labels as the output has them, the others after those."""
    return [m for m in output if m in labels] + [m for m in labels if m not in output]


# --------------------------------------------------------------------------------------- parsing


def _parse(operands: tuple[Any, ...]) -> tuple[list[Any], list[list[Label]], list[Label]]:
    """The arrays, the labels of each, and the labels of the result."""
    if not operands:
        raise located(
            ValueError,
            "must specify the einstein sum subscripts string and at least "
            "one operand, or at least one operand and its corresponding subscripts list",
        )
    if isinstance(operands[0], str):
        arrays = [as_array(a) for a in operands[1:]]
        left, arrow, right = operands[0].replace(" ", "").partition("->")
        inputs = [_letters(term) for term in left.split(",")]
        result = _letters(right) if arrow else None
    else:
        arrays = [as_array(a) for a in operands[: len(operands) // 2 * 2 : 2]]
        inputs = [_numbers(term) for term in operands[1::2]]
        result = _numbers(operands[-1]) if len(operands) % 2 else None
    if len(inputs) != len(arrays):
        more = "more" if len(arrays) > len(inputs) else "fewer"
        raise located(
            ValueError,
            f"{more} operands provided to einstein sum function than "
            "specified in the subscripts string",
        )
    expanded = [
        _expand(labels, a.ndim, k) for k, (labels, a) in enumerate(zip(inputs, arrays, strict=True))
    ]
    return arrays, expanded, _result(result, expanded)


def _letters(term: str) -> list[Label]:
    labels: list[Label] = list(term.replace("...", "\0"))
    for label in labels:
        if label != "\0" and not (label.isascii() and label.isalpha()):
            raise located(
                ValueError,
                f"invalid subscript '{label}' in einstein sum subscripts "
                "string, subscripts must be letters",
            )
    return [Ellipsis if m == "\0" else m for m in labels]


def _numbers(term: Any) -> list[Label]:
    return [m if m is Ellipsis else index_of(m) for m in term]


def _expand(labels: list[Label], ndim: int, operand: int) -> list[Label]:
    """The labels with the Ellipsis written out, numbered from the end as broadcasting aligns."""
    named = [m for m in labels if m is not Ellipsis]
    missing = ndim - len(named)
    if missing < 0:
        raise located(
            ValueError,
            f"einstein sum subscripts string contains too many subscripts for operand {operand}",
        )
    if missing and Ellipsis not in labels:
        raise located(
            ValueError,
            "operand has more dimensions than subscripts given in einstein "
            "sum, but no '...' ellipsis provided to broadcast the extra dimensions.",
        )
    expanded: list[Label] = []
    for label in labels:
        expanded += [("...", k) for k in range(missing, 0, -1)] if label is Ellipsis else [label]
    return expanded


def _result(result: list[Label] | None, inputs: list[list[Label]]) -> list[Label]:
    """The labels of the result; without an arrow, those that occur once, in order."""
    everything = [m for labels in inputs for m in labels]
    dots = max((m[1] for m in everything if isinstance(m, tuple)), default=0)
    broadcast = [("...", k) for k in range(dots, 0, -1)]
    if result is None:
        once = {m for m in everything if not isinstance(m, tuple) and everything.count(m) == 1}
        return [*broadcast, *sorted(once)]
    expanded: list[Label] = []
    for label in result:
        expanded += broadcast if label is Ellipsis else [label]
    for label in expanded:
        if label not in everything:
            raise located(
                ValueError,
                "einstein sum subscripts string included output subscript "
                f"'{label}' which never appeared in an input",
            )
        if expanded.count(label) > 1:
            raise located(
                ValueError,
                "einstein sum subscripts string includes output subscript "
                f"'{label}' multiple times",
            )
    return expanded
