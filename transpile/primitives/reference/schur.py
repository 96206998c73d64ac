"""The Schur form of matrices by the QR algorithm, in NumPy: the meaning of the row `schur`.

J. G. F. Francis, The QR transformation, 1961, with the shifts of J. H. Wilkinson; for real matrices
two conjugate shifts at once, and blocks of two rows where eigenvalues are complex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_STEPS = 60  # for each eigenvalue; NaN where they do not suffice
EXCEPTIONAL = 11  # a step of a shift that is no eigenvalue's, where others go in circles


def schur(x: Any) -> tuple[Any, Any]:
    """(t, z) with x = z t z^H for each matrix of a stack: t is upper triangular, for real matrices
    with blocks of two rows for complex eigenvalues; NaN where the iteration does not end."""
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
    step = state.two_shifts if a.dtype.kind == "f" else state.one_shift
    high, count = len(a), 0
    while high > 0:
        low = state.active(high)
        if high - low == 1:
            high, count = low, 0
        elif high - low == 2 and a.dtype.kind == "f":
            state.settle(low)
            high, count = low, 0
        elif count == MOST_STEPS:
            return None
        else:
            count += 1
            step(low, high, count % EXCEPTIONAL == 0)
    below = -1 if a.dtype.kind == "f" else 0
    return np.triu(state.t, below), state.z


def _hessenberg(a: Any) -> tuple[Any, Any]:
    """(h, z) with a = z h z^H, where h is zero below its first subdiagonal."""
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
    """The matrix on its way to its Schur form, and the product of all turns."""

    def __init__(self, t: Any, z: Any) -> None:
        self.t, self.z = t, z

    def active(self, high: int) -> int:
        """Where the block begins that ends at a row and has no zero below its diagonal; what is
        negligible there becomes zero."""
        t, tiny = self.t, np.finfo(self.t.dtype).eps
        for k in range(high - 1, 0, -1):
            beside = abs(t[k - 1, k - 1]) + abs(t[k, k])
            if abs(t[k, k - 1]) <= tiny * (beside or np.linalg.norm(t)):
                t[k, k - 1] = 0
                return k
        return 0

    def turn(self, low: int, high: int, q: Any) -> None:
        """Turn the rows and columns of a block by a unitary matrix."""
        t, z = self.t, self.z
        t[low:high] = q.conj().T @ t[low:high]
        t[:, low:high] = t[:, low:high] @ q
        z[:, low:high] = z[:, low:high] @ q

    def one_shift(self, low: int, high: int, exceptional: bool) -> None:
        """A step by the eigenvalue of the last two rows that is nearer to the last element."""
        block = self.t[low:high, low:high]
        values = np.linalg.eigvals(block[-2:, -2:])
        shift = values[np.argmin(abs(values - block[-1, -1]))]
        if exceptional:
            shift = abs(block[-1, -2])
        q, _ = np.linalg.qr(block - shift * np.eye(high - low))
        self._cleaned(low, high, q)

    def two_shifts(self, low: int, high: int, exceptional: bool) -> None:
        """A step by both eigenvalues of the last two rows, which together are real."""
        block = self.t[low:high, low:high]
        a, b, c, d = block[-2:, -2:].ravel()
        total, product = a + d, a * d - b * c
        if exceptional:
            size = abs(block[-1, -2]) + abs(block[-2, -3])
            total, product = 1.5 * size, size * size
        q, _ = np.linalg.qr(block @ block - total * block + product * np.eye(high - low))
        self._cleaned(low, high, q)

    def _cleaned(self, low: int, high: int, q: Any) -> None:
        self.turn(low, high, q)
        block = self.t[low:high, low:high]
        h, inner = _hessenberg(block)  # which it is but for rounding
        self.turn(low, high, inner)
        self.t[low:high, low:high] = h

    def settle(self, low: int) -> None:
        """Turn a real block of two rows: to a triangle, or to equal elements on its diagonal."""
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
        self.turn(low, low + 2, np.array([[x, -y], [y, x]]))
        if inside >= 0:
            self.t[low + 1, low] = 0
