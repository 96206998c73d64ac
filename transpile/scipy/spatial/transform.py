"""`scipy.spatial.transform` for traced functions: rotations in three dimensions, as in
`jax.scipy.spatial.transform`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile import random as samplers
from transpile import tree_util
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.at import at
from transpile.scipy.spatial import quaternions
from transpile.scipy.special.operands import Array, promoted

__all__ = ["Rotation", "Slerp"]


@tree_util.register_pytree_node_class
class Rotation:
    """A rotation, or several: unit quaternions (x, y, z, w) in the last axis of `quat`.

    Made by the methods `from_...`; `p * q` rotates by q first. A pytree of one array.
    """

    def __init__(self, quat: Any) -> None:
        self.quat = quat

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """All rotations of several stacks in one stack."""
        return cls(np.concatenate([np.atleast_2d(r.quat) for r in rotations]))

    @classmethod
    def from_euler(cls, seq: str, angles: Array, degrees: bool = False) -> Rotation:
        """The rotations about up to three axes of coordinates, one after another.

        seq     letters of the axes: "xyz" for axes that stay, "XYZ" for axes that turn along
        angles  a number for each letter along the last axis, or one number for one letter

        Raises ValueError for other letters and for two equal ones in a row.
        """
        axes, is_intrinsic = _axes(seq)
        (turns,) = promoted("Rotation.from_euler", angles)
        turns = np.atleast_1d(turns)
        if turns.shape[-1] != len(axes):
            raise located(
                ValueError, f"Expected {len(axes)} angles along the last axis, got {turns.shape}"
            )
        turns = np.deg2rad(turns) if degrees else turns
        result = quaternions.elementary(axes[0], turns[..., 0])
        for k in range(1, len(axes)):
            turn = quaternions.elementary(axes[k], turns[..., k])
            pair = (result, turn) if is_intrinsic else (turn, result)
            result = quaternions.product(*pair)
        return cls(result)

    @classmethod
    def from_matrix(cls, matrix: Array) -> Rotation:
        """The rotations of orthogonal matrices (..., 3, 3) of determinant 1."""
        return cls(quaternions.of_matrix(promoted("Rotation.from_matrix", matrix)[0]))

    @classmethod
    def from_mrp(cls, mrp: Array) -> Rotation:
        """The rotations of modified Rodrigues parameters (..., 3): axis times tan(angle / 4)."""
        (p,) = promoted("Rotation.from_mrp", mrp)
        square = np.sum(np.square(p), axis=-1, keepdims=True)
        return cls(np.concatenate([2 * p, 1 - square], axis=-1) / (1 + square))

    @classmethod
    def from_quat(cls, quat: Array) -> Rotation:
        """The rotations of quaternions (..., 4) of any length but 0."""
        return cls(quaternions.normalised(promoted("Rotation.from_quat", quat)[0]))

    @classmethod
    def from_rotvec(cls, rotvec: Array, degrees: bool = False) -> Rotation:
        """The rotations of vectors (..., 3): axis times angle. Differentiable at 0, too."""
        (vector,) = promoted("Rotation.from_rotvec", rotvec)
        return cls(quaternions.of_vector(np.deg2rad(vector) if degrees else vector))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The rotation by nothing, or a stack of `num` of them."""
        one = np.array([0, 0, 0, 1], np.dtype(dtype))
        return cls(one if num is None else np.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """A rotation, or `num` of them, drawn uniformly with a key of `random`; not in JAX."""
        return cls.from_quat(samplers.normal(random_key, (4,) if num is None else (num, 4)))

    def __getitem__(self, indexer: Any) -> Rotation:
        """Rotations of a stack; TypeError for a single one."""
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        """The number of rotations of a stack; TypeError for a single one."""
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self.quat.shape[0])

    def __mul__(self, other: Rotation) -> Rotation:
        """The rotation by `other` and then by this one; stacks broadcast."""
        return Rotation(quaternions.normalised(quaternions.product(self.quat, other.quat)))

    def __repr__(self) -> str:
        return f"Rotation(quat={self.quat!r})"

    def apply(self, vectors: Array, inverse: bool = False) -> Any:
        """The rotated vectors (..., 3), or, with `inverse`, those rotated backwards."""
        (v,) = promoted("Rotation.apply", vectors)
        matrix = self.as_matrix()
        if inverse:
            matrix = np.swapaxes(matrix, -1, -2)
        return np.sum(matrix * v[..., None, :], axis=-1)

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """The angles (..., 3) about three axes, as `from_euler` takes them; the second is in
        [0, pi], or [-pi/2, pi/2] for three different axes. In gimbal lock the third is 0.

        E. Bernardes and S. Viollet, Quaternion to Euler Angles Conversion, 2022. Raises ValueError
        for another number of letters, and as `from_euler` does.
        """
        if len(seq) != 3:
            raise located(ValueError, f"Expected 3 axes, got {seq}.")
        axes, is_intrinsic = _axes(seq)
        angles = quaternions.euler_angles(self.quat, axes, not is_intrinsic)
        return np.rad2deg(angles) if degrees else angles

    def as_matrix(self) -> Any:
        """The orthogonal matrices (..., 3, 3)."""
        return quaternions.matrix(self.quat)

    def as_mrp(self) -> Any:
        """The modified Rodrigues parameters (..., 3) of the shorter way."""
        positive = quaternions.positive(self.quat)
        return positive[..., :3] / (1 + positive[..., 3:])

    def as_rotvec(self, degrees: bool = False) -> Any:
        """The axes times the angles (..., 3), of the shorter way. Differentiable at 0, too."""
        vector = quaternions.vector(self.quat)
        return np.rad2deg(vector) if degrees else vector

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """The quaternions (x, y, z, w), or (w, x, y, z); with `canonical` those of the two whose
        first element that is not 0, from w on, is positive."""
        quat = quaternions.canonical(self.quat) if canonical else self.quat
        return np.roll(quat, 1, axis=-1) if scalar_first else quat

    def inv(self) -> Rotation:
        """The inverse rotations, about the same axes backwards."""
        return Rotation(self.quat * np.array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Any:
        """The angles, from 0 to pi."""
        length = np.sqrt(np.sum(np.square(self.quat[..., :3]), axis=-1))
        return 2 * np.arctan2(length, np.abs(self.quat[..., 3]))

    def mean(self, weights: Array | None = None) -> Rotation:
        """The mean of a stack, with weights: the eigenvector of the sum of q q^T of the largest
        eigenvalue (F. Markley et al., Averaging Quaternions, 2007).

        Raises ValueError for weights of another shape.
        """
        dtype, count = self.quat.dtype, len(self)
        w = np.ones(count, dtype) if weights is None else promoted("Rotation.mean", weights)[0]
        if np.ndim(w) != 1:
            raise located(
                ValueError, f"Expected `weights` to be 1 dimensional, got shape {np.shape(w)}."
            )
        if w.shape[0] != count:
            raise located(
                ValueError,
                "Expected `weights` to have number of values equal to number of rotations, got "
                f"{w.shape[0]} values and {count} rotations.",
            )
        return Rotation(np.linalg.eigh((w * self.quat.T) @ self.quat)[1][:, -1])

    @property
    def single(self) -> bool:
        """Whether it is one rotation, not a stack."""
        return len(self.quat.shape) == 1

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        """The quaternions, for pytrees."""
        return (self.quat,), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: tuple[Any]) -> Rotation:
        """The rotations of the quaternions of `tree_flatten`."""
        return cls(*children)


def _axes(seq: str) -> tuple[list[int], bool]:
    """The numbers of the axes, and whether they turn along."""
    if not 1 <= len(seq) <= 3:
        raise located(
            ValueError,
            f"Expected axis specification to be a non-empty string of upto 3 characters, got {seq}",
        )
    if not (set(seq) <= set("XYZ") or set(seq) <= set("xyz")):
        raise located(
            ValueError,
            f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}",
        )
    if any(a == b for a, b in itertools.pairwise(seq)):
        raise located(ValueError, f"Expected consecutive axes to be different, got {seq}")
    return ["xyz".index(letter) for letter in seq.lower()], seq.isupper()


@tree_util.register_pytree_node_class
class Slerp:
    """Rotations at times between those of given ones, at constant speed along the shortest way.

    Made by `Slerp.init(times, rotations)`; `slerp(times)` gives the rotations (K. Shoemake,
    Animating Rotation with Quaternion Curves, 1985). A pytree of arrays.
    """

    def __init__(self, times: Any, timedelta: Any, rotations: Rotation, rotvecs: Any) -> None:
        self.times, self.timedelta = times, timedelta
        self.rotations, self.rotvecs = rotations, rotvecs

    @classmethod
    def init(cls, times: Array, rotations: Rotation) -> Slerp:
        """The interpolation of a stack of rotations at ascending times.

        Raises TypeError for other than a `Rotation`, ValueError for less than two rotations and
        times of another shape.
        """
        if not isinstance(rotations, Rotation):
            raise located(TypeError, "`rotations` must be a `Rotation` instance.")
        if rotations.single or len(rotations) == 1:
            raise located(ValueError, "`rotations` must be a sequence of at least 2 rotations.")
        (moments,) = promoted("Slerp.init", times)
        if np.ndim(moments) != 1:
            raise located(
                ValueError,
                "Expected times to be specified in a 1 dimensional array, got "
                f"{np.ndim(moments)} dimensions.",
            )
        if moments.shape[0] != len(rotations):
            raise located(
                ValueError,
                "Expected number of rotations to be equal to number of timestamps given, got "
                f"{len(rotations)} rotations and {moments.shape[0]} timestamps.",
            )
        begins = rotations[:-1]
        return cls(moments, np.diff(moments), begins, (begins.inv() * rotations[1:]).as_rotvec())

    def __call__(self, times: Array) -> Rotation:
        """The rotations at times, a number or a vector; those outside go on as at the ends.

        Raises ValueError for more axes.
        """
        (moments,) = promoted("Slerp", times)
        if np.ndim(moments) > 1:
            raise located(ValueError, "`times` must be at most 1-dimensional.")
        last = self.timedelta.shape[0] - 1
        k = np.clip(np.searchsorted(self.times, moments) - 1, 0, last)
        times, widths, vectors, begins = (
            at(known)[k].get(mode="promise_in_bounds")
            for known in (self.times, self.timedelta, self.rotvecs, self.rotations.as_quat())
        )
        turn = Rotation.from_rotvec(vectors * ((moments - times) / widths)[..., None])
        return Rotation.from_quat(begins) * turn

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """The times and rotations, for pytrees."""
        return (self.times, self.timedelta, self.rotations, self.rotvecs), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: tuple[Any, ...]) -> Slerp:
        """The interpolation of the arrays of `tree_flatten`."""
        return cls(*children)
