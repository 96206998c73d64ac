"""Canonical products: scattered axes are brought together, and nothing else moves."""

import numpy as np
import pytest
from helpers import ordinary
from passes import after

from transpile.passes.canonical_dots import canonicalize_dots


def test_a_matrix_product_stays():
    x = ordinary("f8", (3, 4))
    assert after(canonicalize_dots, lambda x: x @ x.T, x) == ["transpose", "dot_general"]


def test_scattered_contracted_axes_are_brought_together():
    x, y = ordinary("f8", (3, 5, 4)), ordinary("f8", (3, 6, 4))
    found = after(canonicalize_dots, lambda x, y: np.tensordot(x, y, ((0, 2), (0, 2))), x, y)
    assert found == ["transpose", "transpose", "dot_general"]


def test_scattered_free_axes_are_brought_together():
    x, y = ordinary("f8", (3, 5, 4)), ordinary("f8", (5, 6))
    found = after(canonicalize_dots, lambda x, y: np.tensordot(x, y, ((1,), (0,))), x, y)
    assert found.count("transpose") == 2


@pytest.mark.parametrize(
    "subscripts",
    ["abc,cbd->ad", "abc,bac->bca", "bac,bdc->bad", "abcd,bd->ac", "abcd,abcd->", "ab,cd->abcd"],
)
def test_contractions_keep_their_meaning(subscripts):
    sizes = dict(zip("abcd", (2, 3, 4, 5), strict=True))
    x, y = (
        ordinary("f8", tuple(sizes[c] for c in part), seed)
        for seed, part in enumerate(subscripts.split("->")[0].split(","))
    )
    after(canonicalize_dots, lambda x, y: np.einsum(subscripts, x, y), x, y)
