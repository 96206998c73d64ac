"""What the functions of `benchmarks/c/python` take beside the arguments of their kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Twin(NamedTuple):
    """A kernel's function in C: it takes sizes, the arguments, and results.

    file     where it is, in benchmarks/c/python
    sizes    arguments -> the integers that it takes first
    results  arguments -> the arrays that it writes, besides arguments
    """

    file: str
    sizes: Callable[..., tuple[int, ...]]
    results: Callable[..., tuple[Any, ...]]


def _integer(*_: Any) -> tuple[Any, ...]:
    return (np.zeros((), np.int64),)


def _float(*_: Any) -> tuple[Any, ...]:
    return (np.zeros(()),)


def _nothing(*_: Any) -> tuple[Any, ...]:
    return ()


def _floats(x: Any, *_: Any) -> tuple[Any, ...]:
    return (np.zeros(len(x)),)


def _integers(x: Any, *_: Any) -> tuple[Any, ...]:
    return (np.zeros(len(x), np.int64),)


def _length(x: Any, *_: Any) -> tuple[int, ...]:
    return (len(x),)


def _lengths(x: Any, y: Any, *_: Any) -> tuple[int, ...]:
    return len(x), len(y)


def _shape(x: Any, *_: Any) -> tuple[int, ...]:
    return tuple(x.shape)


def _rows(starts: Any, *_: Any) -> tuple[int, ...]:
    return (len(starts) - 1,)


_ARRAYS = {
    "cholesky": (_length, _integer),
    "lu_with_pivoting": (_length, _nothing),
    "thomas": (_length, _floats),
    "edit_distance": (_lengths, _integer),
    "knapsack": (_length, _integer),
    "smith_waterman": (_lengths, _float),
    "jacobi": (_shape, _nothing),
    "game_of_life": (_shape, _integer),
    "sparse_product": (_rows, lambda starts, *_: (np.zeros(len(starts) - 1),)),
    "bellman_ford": (_length, lambda *_: (np.zeros(1000),)),
    "kalman": (_length, _floats),
    "insertion_sort": (_length, _nothing),
    "floyd_warshall": (_length, _nothing),
    "matrix_product": (
        lambda a, b: (*a.shape, b.shape[1]),
        lambda a, b: (np.zeros((len(a), b.shape[1])),),
    ),
    "bubble_network": (_length, _nothing),
}
_NUMBERS = {
    "mandelbrot": (
        lambda real, imaginary, _: (len(imaginary), len(real)),
        lambda real, imaginary, _: (np.zeros((len(imaginary), len(real)), np.int64),),
    ),
    "queens": (_nothing, _integer),
    "crc32": (_length, _integer),
    "bisection": (_nothing, _float),
    "adaptive_ode": (_nothing, lambda *_: (*_float(), *_integer())),
    "rejection": (_nothing, _float),
    "ray_march": (_nothing, lambda *_: (np.zeros((48, 48)),)),
    "sieve": (_length, _integer),
    "euclid": (_length, _integers),
    "histogram": (lambda x, low, high, counts: (len(x), len(counts)), _nothing),
    "newton_raphson": (_length, _floats),
    "longest_increasing": (_length, _integer),
    "union_find": (_length, _integer),
    "logistic_map": (_nothing, _float),
    "simpson": (_nothing, _float),
}
_FURTHER = {
    "area_table": (_shape, _integer),
    "three_sum": (_length, _integer),
    "heap_sort": (_length, _nothing),
    "breadth_first": (_rows, lambda starts, *_: (np.zeros(len(starts) - 1, np.int64),)),
    "least_recently_used": (_lengths, _integer),
    "bit_counts": (_length, _nothing),
    "reflecting_heat": (_shape, _nothing),
    "banded_solve": (_shape, _nothing),
    "gauss_seidel": (_length, _integer),
    "nelder_mead": (_nothing, lambda *_: (*_float(), *_integer())),
    "coin_change": (_lengths, _nothing),
    "string_search": (_lengths, _integer),
    "rolling_hash": (_lengths, _integer),
    "interpolation_search": (_lengths, _integer),
    "lines": (lambda x0, *rest: (len(x0), rest[-1].shape[1]), _nothing),
    "flood_fill": (_shape, _integer),
    "collatz": (_nothing, lambda *_: (*_integer(), *_integer())),
    "pollard_rho": (_length, _integers),
    "largest_part": (_length, lambda *_: (*_float(), *_integer(), *_integer())),
    "matrix_chain": (lambda sizes: (len(sizes) - 1,), _integer),
    "next_permutations": (_length, _integer),
    "radix_sort": (_length, _nothing),
}
_TEXTBOOK = {
    "prim": (_length, _float),
    "z_function": (_length, _nothing),
    "inversions": (_length, _integer),
    "givens_qr": (_shape, _nothing),
    "lempel_ziv": (_length, _integer),
    "adler32": (_length, _integer),
    "k_means": (lambda points, centres, *_: (*points.shape, len(centres)), _integer),
    "topological_sort": (lambda starts, targets, _: (len(starts) - 1, len(targets)), _integer),
    "heap_permutations": (_length, _integer),
    "palindromes": (_length, _integer),
    "levinson_durbin": (_length, _float),
    "maximum_flow": (_length, _integer),
    "mersenne_twister": (lambda state, out: (len(out),), _nothing),
}
TWINS = {
    name: Twin(file, *columns)
    for file, table in (
        ("arrays", _ARRAYS),
        ("numbers", _NUMBERS),
        ("further", _FURTHER),
        ("textbook", _TEXTBOOK),
    )
    for name, columns in table.items()
}
