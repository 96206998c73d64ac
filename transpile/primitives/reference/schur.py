"""The Schur form of matrices by the shifted QR algorithm: the reference semantics of `schur`.

J. G. F. Francis, The QR transformation, 1961: Householder reduction to Hessenberg form, then QR
iterations with Wilkinson's shift; for real matrices with two conjugate shifts at once, which leaves
2 x 2 blocks for complex eigenvalues. Deflation splits the matrix where a subdiagonal element is
negligible.
"""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_ITERATIONS = 60  # for each eigenvalue; NaN where they do not suffice
EXCEPTIONAL = 11  # so often an iteration has an exceptional shift, which breaks cycles


def schur(x: Any) -> tuple[Any, Any]:
    """(t, z) with x = z t z^H for each matrix of a batch: t is upper triangular, for real matrices
    with 2 x 2 blocks for complex eigenvalues; NaN where the iteration does not converge."""
    t, z = np.empty_like(x), np.empty_like(x)
    wide = np.result_type(x.dtype, np.float64)
    for index in np.ndindex(*x.shape[:-2]):
        factors = _of_one(x[index].astype(wide))
        t[index], z[index] = factors if factors is not None else (np.nan, np.nan)
    return t, z


def _of_one(a: Any) -> tuple[Any, Any] | None:
    if not np.isfinite(a).all():
        return None
    state = _State(*_hessenberg(a))
    iterate = state.two_shifts if a.dtype.kind == "f" else state.one_shift
    high, count = len(a), 0
    while high > 0:
        low = state.active(high)
        if high - low == 1:
            high, count = low, 0
        elif high - low == 2 and a.dtype.kind == "f":
            state.standardise(low)
            high, count = low, 0
        elif count == MOST_ITERATIONS:
            return None
        else:
            count += 1
            iterate(low, high, count % EXCEPTIONAL == 0)
    below = -1 if a.dtype.kind == "f" else 0
    return np.triu(state.t, below), state.z


def _hessenberg(a: Any) -> tuple[Any, Any]:
    """(h, z) with a = z h z^H and h upper Hessenberg, by Householder reflections."""
    h, z = np.array(a), np.eye(len(a), dtype=a.dtype)
    for k in range(len(a) - 2):
        v = h[k + 1 :, k].copy()
        size = np.linalg.norm(v)
        if size == 0:
            continue
        v[0] += size * (v[0] / abs(v[0]) if v[0] != 0 else 1)
        v = (v / np.linalg.norm(v))[:, None]
        h[k + 1 :] -= 2 * v @ (v.conj().T @ h[k + 1 :])
        h[:, k + 1 :] -= 2 * (h[:, k + 1 :] @ v) @ v.conj().T
        z[:, k + 1 :] -= 2 * (z[:, k + 1 :] @ v) @ v.conj().T
        h[k + 2 :, k] = 0
    return h, z


class _State:
    """The matrix that converges to its Schur form, and the product of all similarities."""

    def __init__(self, t: Any, z: Any) -> None:
        self.t, self.z = t, z

    def active(self, high: int) -> int:
        """The first row of the unreduced block that ends before row `high`, after setting the
        negligible subdiagonal element above it to zero (deflation)."""
        t, tiny = self.t, np.finfo(self.t.dtype).eps
        for k in range(high - 1, 0, -1):
            diagonal = abs(t[k - 1, k - 1]) + abs(t[k, k])
            if abs(t[k, k - 1]) <= tiny * (diagonal or np.linalg.norm(t)):
                t[k, k - 1] = 0
                return k
        return 0

    def transform(self, low: int, high: int, q: Any) -> None:
        """Apply a unitary similarity to the rows and columns of a block."""
        t, z = self.t, self.z
        t[low:high] = q.conj().T @ t[low:high]
        t[:, low:high] = t[:, low:high] @ q
        z[:, low:high] = z[:, low:high] @ q

    def one_shift(self, low: int, high: int, exceptional: bool) -> None:
        """One iteration with Wilkinson's shift: the eigenvalue of the trailing 2 x 2 block that is
        nearer to its last element."""
        block = self.t[low:high, low:high]
        values = np.linalg.eigvals(block[-2:, -2:])
        shift = values[np.argmin(abs(values - block[-1, -1]))]
        if exceptional:
            shift = abs(block[-1, -2])
        q, _ = np.linalg.qr(block - shift * np.eye(high - low))
        self._apply(low, high, q)

    def two_shifts(self, low: int, high: int, exceptional: bool) -> None:
        """One iteration with both eigenvalues of the trailing 2 x 2 block, in real arithmetic."""
        block = self.t[low:high, low:high]
        a, b, c, d = block[-2:, -2:].ravel()
        total, product = a + d, a * d - b * c
        if exceptional:
            size = abs(block[-1, -2]) + abs(block[-2, -3])
            total, product = 1.5 * size, size * size
        q, _ = np.linalg.qr(block @ block - total * block + product * np.eye(high - low))
        self._apply(low, high, q)

    def _apply(self, low: int, high: int, q: Any) -> None:
        self.transform(low, high, q)
        block = self.t[low:high, low:high]
        h, inner = _hessenberg(block)  # the block is Hessenberg but for rounding
        self.transform(low, high, inner)
        self.t[low:high, low:high] = h

    def standardise(self, low: int) -> None:
        """Rotate a real 2 x 2 block: to a triangle if its eigenvalues are real, else to equal
        diagonal elements."""
        a, b, c, d = self.t[low : low + 2, low : low + 2].ravel()
        half = (a - d) / 2
        inside = half * half + b * c
        if inside >= 0:
            root = half + np.copysign(np.sqrt(inside), half)
            x, y = (root, c) if root or c else (1.0, 0.0)
        else:
            angle = np.arctan2(d - a, b + c) / 2
            x, y = np.cos(angle), np.sin(angle)
        length = np.hypot(x, y)
        x, y = x / length, y / length
        self.transform(low, low + 2, np.array([[x, -y], [y, x]]))
        if inside >= 0:
            self.t[low + 1, low] = 0
