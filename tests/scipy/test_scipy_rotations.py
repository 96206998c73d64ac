"""Rotations against SciPy's, also those by nothing, by half a turn, and in gimbal lock."""

import itertools

import numpy as np
import pytest

import transpile
from transpile import random, tree_util
from transpile.scipy.spatial.transform import Rotation, Slerp
from transpile.test_util import check_grads

reference = pytest.importorskip("scipy.spatial.transform")

DRAW = np.random.default_rng(0)
SEQUENCES = [
    "".join(p) for p in itertools.product("xyz", repeat=3) if p[0] != p[1] and p[1] != p[2]
]
QUATERNIONS = np.concatenate(
    [
        DRAW.normal(size=(5, 4)),
        np.eye(4),
        -np.eye(4),
        [[1, 1, 0, 0], [0, 1, 0, -1], [1e-9, 0, 0, 1]],
    ]
)
OURS, THEIRS = Rotation.from_quat(QUATERNIONS), reference.Rotation.from_quat(QUATERNIONS)


def close(found, want):
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-14)


def test_all_forms_are_scipys():
    close(OURS.as_quat(), THEIRS.as_quat())
    close(OURS.as_quat(canonical=True, scalar_first=True), THEIRS.as_quat(True, scalar_first=True))
    close(OURS.as_matrix(), THEIRS.as_matrix())
    close(OURS.magnitude(), THEIRS.magnitude())
    assert len(OURS) == len(QUATERNIONS) and not OURS.single and OURS[0].single
    some = OURS[:5]  # half turns have two axes
    close(some.as_rotvec(), THEIRS[:5].as_rotvec())
    close(some.as_rotvec(degrees=True), THEIRS[:5].as_rotvec(degrees=True))
    close(some.as_mrp(), THEIRS[:5].as_mrp())
    close(OURS[-1].as_rotvec(), THEIRS[-1].as_rotvec())
    close(OURS.inv().as_matrix(), THEIRS.inv().as_matrix())
    close((OURS * OURS[2]).as_matrix(), (THEIRS * THEIRS[2]).as_matrix())
    vectors = DRAW.normal(size=(len(QUATERNIONS), 3))
    close(OURS.apply(vectors), THEIRS.apply(vectors))
    close(OURS.apply(vectors[0], inverse=True), THEIRS.apply(vectors[0], inverse=True))


def test_rotations_from_all_forms():
    vectors = np.concatenate([DRAW.normal(size=(4, 3)) * 2, np.zeros((1, 3)), 1e-4 * np.eye(3)])
    for name, value in (("rotvec", vectors), ("mrp", vectors), ("matrix", THEIRS.as_matrix())):
        ours = getattr(Rotation, f"from_{name}")(value)
        theirs = getattr(reference.Rotation, f"from_{name}")(value)
        close(ours.as_matrix(), theirs.as_matrix())
        one = getattr(Rotation, f"from_{name}")(value[1])
        assert one.single
        close(one.as_matrix(), theirs[1].as_matrix())
    close(
        Rotation.from_rotvec(vectors, True).as_quat(),
        reference.Rotation.from_rotvec(vectors, True).as_quat(),
    )
    assert Rotation.identity().single and len(Rotation.identity(3)) == 3
    both = Rotation.concatenate([OURS, OURS[0]])
    close(both.quat[-1], OURS.quat[0])
    drawn = Rotation.random(random.key(0), 5)
    close(np.sum(drawn.quat**2, axis=-1), 1)


@pytest.mark.parametrize("letters", [str, str.upper])
def test_angles_about_all_triples_of_axes(letters):
    angles = DRAW.uniform(-1.4, 1.4, (3, 3))
    locked = np.array(
        [[0.3, 0, 0.4], [0.3, np.pi / 2, 0.4], [0.3, -np.pi / 2, 0.4], [0.3, np.pi, 1]]
    )
    for seq in map(letters, SEQUENCES):
        for turns in (angles, locked):
            theirs = reference.Rotation.from_euler(seq, turns)
            ours = Rotation.from_euler(seq, turns)
            close(ours.as_matrix(), theirs.as_matrix())
            with pytest.warns(UserWarning, match="Gimbal") if turns is locked else np.errstate():
                want = theirs.as_euler(seq)
            found = ours.as_euler(seq)
            again = Rotation.from_euler(seq, found).as_matrix()
            np.testing.assert_allclose(again, theirs.as_matrix(), atol=2e-7)
            if turns is angles:
                close(found, want)
                close(ours.as_euler(seq, True), np.rad2deg(want))


def test_angles_about_fewer_axes():
    for seq, angles in (("x", 30.0), ("Z", [[10.0], [20], [30]]), ("zy", [40.0, 50])):
        ours = Rotation.from_euler(seq, np.array(angles), degrees=True)
        theirs = reference.Rotation.from_euler(seq, angles, degrees=True)
        close(ours.as_matrix(), theirs.as_matrix())
    for seq in ("", "xyzx", "xyZ", "ab", "xxy"):
        with pytest.raises(ValueError, match="Expected"):
            Rotation.from_euler(seq, np.zeros(max(len(seq), 1)))
    with pytest.raises(ValueError, match="Expected 2 angles"):
        Rotation.from_euler("xy", np.zeros(3))
    with pytest.raises(ValueError, match="Expected 3 axes"):
        OURS.as_euler("xy")


def test_means():
    some, theirs = OURS[:5], THEIRS[:5]
    for weights in (None, np.arange(1.0, 6)):
        ours = some.mean(weights).as_matrix()
        close(ours, theirs.mean(weights).as_matrix())
    with pytest.raises(ValueError, match="got 2 values and 5 rotations"):
        some.mean(np.ones(2))
    with pytest.raises(ValueError, match="to be 1 dimensional"):
        some.mean(np.ones((5, 1)))
    with pytest.raises(TypeError, match="not subscriptable"):
        some[0][0]
    with pytest.raises(TypeError, match=r"no len\(\)"):
        len(some[0])


def test_rotations_between_others():
    times = np.array([0.0, 1, 1.5, 4, 5])
    ours, theirs = Slerp.init(times, OURS[:5]), reference.Slerp(times, THEIRS[:5])
    at = np.array([0.0, 0.3, 1.2, 4, 4.9, 5])
    close(ours(at).as_matrix(), theirs(at).as_matrix())
    one = ours(1.7)
    assert one.single
    close(one.as_matrix(), theirs(1.7).as_matrix())
    found = transpile.jit(lambda s, t: s(t).as_quat(canonical=True))(ours, at)
    close(found, theirs(at).as_quat(canonical=True))
    with pytest.raises(TypeError, match="`Rotation` instance"):
        Slerp.init(times, QUATERNIONS)
    with pytest.raises(ValueError, match="at least 2 rotations"):
        Slerp.init(times, OURS[0])
    with pytest.raises(ValueError, match="got 5 rotations and 4 timestamps"):
        Slerp.init(times[:4], OURS[:5])
    with pytest.raises(ValueError, match="got 2 dimensions"):
        Slerp.init(times[None], OURS[:5])
    with pytest.raises(ValueError, match="at most 1-dimensional"):
        ours(at[None])


def test_rotations_in_programs_batches_and_derivatives():
    vectors = np.concatenate([DRAW.normal(size=(3, 3)), np.zeros((1, 3))])

    @transpile.jit
    def program(rotation, v):
        turned = Rotation.from_rotvec(v) * rotation
        return turned, turned.as_euler("zyx"), Rotation.from_matrix(turned.as_matrix()).magnitude()

    turned, angles, size = program(OURS[:4], vectors)
    want = reference.Rotation.from_rotvec(vectors) * THEIRS[:4]
    close(turned.as_matrix(), want.as_matrix())
    close(angles, want.as_euler("zyx"))
    close(size, want.magnitude())
    assert isinstance(tree_util.tree_map(lambda x: x, turned), Rotation)
    rows = transpile.vmap(lambda r, v: r.apply(v))(OURS[:4], vectors)
    close(rows, OURS[:4].apply(vectors))

    def there_and_back(v):
        rotation = Rotation.from_rotvec(v)
        again = Rotation.from_matrix(rotation.as_matrix())
        return rotation.as_rotvec(), again.as_quat(), rotation.as_mrp()

    check_grads(there_and_back, (vectors[:, :] * 0.9,), order=1, rtol=1e-4, atol=1e-5)
    slope = transpile.jacobian(lambda v: Rotation.from_rotvec(v).as_rotvec())(np.zeros(3))
    close(slope, np.eye(3))


def test_scipys_slerp_takes_traced_times_and_rotations():
    times, at = np.array([0.0, 1, 2.5, 3, 5]), np.linspace(0, 5, 7)
    slerp = reference.Slerp(times, THEIRS[:5])
    expected = slerp(at).as_matrix()
    known = transpile.jit(lambda t: slerp(t).as_matrix())
    np.testing.assert_allclose(known(at), expected, atol=1e-12)

    def between(quaternions, t):
        return reference.Slerp(times, reference.Rotation.from_quat(quaternions))(t).as_matrix()

    found = transpile.jit(between)(THEIRS[:5].as_quat(), at)
    np.testing.assert_allclose(found, expected, atol=1e-12)
