"""Unit quaternions (x, y, z, w) in the last axes of arrays, and what else describes rotations.

Where a formula divides by an angle, small angles take a series, in a choice whose other side stays
finite: so derivatives are finite there, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

# The largest angle, and its square, for which the first terms of the series are exact to 1e-16.
_SMALL = 1e-3
_LOCKED = 1e-7


def normalised(q: Any) -> Any:
    """Quaternions of length 1."""
    return q / np.sqrt(np.sum(np.square(q), axis=-1, keepdims=True))


def elementary(axis: int, angle: Any) -> Any:
    """The rotation about an axis of coordinates."""
    zero, half = np.zeros_like(angle), angle / 2
    parts = [zero, zero, zero, np.cos(half)]
    parts[axis] = np.sin(half)
    return np.stack(parts, axis=-1)


def product(p: Any, q: Any) -> Any:
    """Hamilton's product: the rotation by q, then by p."""
    (a, b, c, d), (x, y, z, w) = _parts(p), _parts(q)
    return np.stack(
        [
            d * x + w * a + b * z - c * y,
            d * y + w * b + c * x - a * z,
            d * z + w * c + a * y - b * x,
            d * w - a * x - b * y - c * z,
        ],
        axis=-1,
    )


def _parts(q: Any) -> list[Any]:
    return [q[..., k] for k in range(4)]


def positive(q: Any) -> Any:
    """Of q and -q, which rotate alike, the one with w >= 0."""
    return np.where(q[..., 3:] < 0, -q, q)


def canonical(q: Any) -> Any:
    """Of q and -q the one whose first element that is not 0, of w, x, y and z, is positive."""
    x, y, z, w = _parts(q)
    is_negative = z < 0
    for part in (y, x, w):
        is_negative = (part < 0) | ((part == 0) & is_negative)
    return np.where(is_negative[..., None], -q, q)


def matrix(q: Any) -> Any:
    """The orthogonal matrix."""
    x, y, z, w = _parts(q)
    xx, yy, zz, ww = x * x, y * y, z * z, w * w
    rows = [
        [xx - yy - zz + ww, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -xx + yy - zz + ww, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -xx - yy + zz + ww],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def of_matrix(m: Any) -> Any:
    """The quaternion of an orthogonal matrix, by the largest of its elements: w or one of x, y, z
    is known by the diagonal."""
    trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    diagonal = [m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace]
    choice = np.argmax(np.stack(diagonal, axis=-1), axis=-1)
    candidates = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = [trace, trace, trace, m[..., k, j] - m[..., j, k]]
        parts[i] = 1 - trace + 2 * m[..., i, i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        candidates.append(np.stack(parts, axis=-1))
    vector = [m[..., (i + 2) % 3, (i + 1) % 3] - m[..., (i + 1) % 3, (i + 2) % 3] for i in range(3)]
    result = np.stack([*vector, 1 + trace], axis=-1)
    for i in range(3):
        result = np.where((choice == i)[..., None], candidates[i], result)
    return normalised(result)


def of_vector(v: Any) -> Any:
    """The quaternion of an axis times an angle."""
    square = np.sum(np.square(v), axis=-1, keepdims=True)
    is_small = square <= _SMALL**2
    angle = np.sqrt(np.where(is_small, 1, square))
    sine = np.where(is_small, 0.5 - square / 48 + square**2 / 3840, np.sin(angle / 2) / angle)
    cosine = np.where(is_small, 1 - square / 8 + square**2 / 384, np.cos(angle / 2))
    return np.concatenate([sine * v, cosine], axis=-1)


def vector(q: Any) -> Any:
    """The axis times the angle, which is at most pi."""
    q = positive(q)
    square = np.sum(np.square(q[..., :3]), axis=-1, keepdims=True)
    is_small = square <= (_SMALL / 2) ** 2
    length = np.sqrt(np.where(is_small, 1, square))
    # 2 asin(s) / s for the sine s of half the angle
    near = 2 + square / 3 + 3 * square**2 / 20
    return np.where(is_small, near, 2 * np.arctan2(length, q[..., 3:]) / length) * q[..., :3]


def euler_angles(q: Any, axes: Sequence[int], is_extrinsic: bool) -> Any:
    """The angles about three axes, in the order in which they are given."""
    i, j, k = axes if is_extrinsic else axes[::-1]
    is_symmetric = i == k
    k = 3 - i - j if is_symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    parts = _parts(q)
    if is_symmetric:
        a, b, c, d = parts[3], parts[i], parts[j], parts[k] * sign
    else:
        a, b = parts[3] - parts[j], parts[i] + parts[k] * sign
        c, d = parts[j] + parts[3], parts[k] * sign - parts[i]
    second = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    is_low, is_high = np.abs(second) <= _LOCKED, np.abs(second - math.pi) <= _LOCKED
    free = half_sum - half_difference, half_sum + half_difference
    if not is_extrinsic:
        free = free[::-1]
    locked = np.where(is_low, 2 * half_sum, (-2 if is_extrinsic else 2) * half_difference)
    first = np.where(is_low | is_high, locked, free[0])
    third = np.where(is_low | is_high, 0, free[1])
    if not is_symmetric:
        second = second - math.pi / 2
        first, third = (first, third * sign) if is_extrinsic else (first * sign, third)
    angles = np.stack([first, second, third], axis=-1)
    return (angles + math.pi) % (2 * math.pi) - math.pi
