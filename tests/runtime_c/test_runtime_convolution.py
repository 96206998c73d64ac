"""products/conv.h against NumPy: both forms, any layout, threads, workspace, sanitizers."""

import ctypes
import itertools
import platform
import subprocess

import numpy as np
import pytest
from intrinsic_cases import machine_of_convolutions
from thorough import one_in

from transpile.intrinsics.convolutions import FEATURES, PLANES, Axis, Sizes, convolved
from transpile.library.convolution import make_plan
from transpile.symbols import c_helpers

pytestmark = pytest.mark.full_level

INCLUDES = "".join(
    f"#include <{name}.h>\n" for name in ("math", "stdint", "stdbool", "stdio", "stdlib", "string")
)
FLAGS = [
    *("-std=c11", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-fopenmp", "-Wall", "-Wextra", "-Wconversion", "-Werror"),
]
FORMS = ("planes", "features")
MARCHES = ["native", *(["x86-64", "x86-64-v3"] if platform.machine() == "x86_64" else [])]
DRIVER = """
extern void omp_set_num_threads(int threads);

void run_F(int threads, const int64_t *plan, int64_t batch, const F *x, const F *w, F *out,
           void *workspace)
{
    omp_set_num_threads(threads);
    if (plan[0]) {
        conv_features_F(plan, batch, 1 << 30, x, w, out, workspace);
    } else {
        conv_planes_F(plan, batch, 1 << 30, x, w, out, workspace);
    }
}
"""
# Reads cases from a file, every array having exactly its size, so that the sanitizer sees each step
# outside; gives how many results are wrong.
SANITIZED = """
static void *taken(FILE *file, int64_t *count, size_t size)
{
    if (fread(count, sizeof *count, 1, file) != 1) {
        exit(2);
    }
    void *found = malloc((size_t)*count * size);
    if (fread(found, size, (size_t)*count, file) != (size_t)*count) {
        exit(2);
    }
    return found;
}

int main(int count, char **arguments)
{
    FILE *file = fopen(arguments[count - 1], "rb");
    int64_t cases, size, last, bytes, batch, wrong = 0;
    if (file == NULL || fread(&cases, sizeof cases, 1, file) != 1) {
        return 2;
    }
    for (int64_t k = 0; k < cases; k++) {
        int64_t *plan = taken(file, &size, sizeof *plan);
        float *x = taken(file, &size, sizeof *x), *w = taken(file, &size, sizeof *w);
        float *wanted = taken(file, &last, sizeof *wanted);
        if (fread(&bytes, sizeof bytes, 1, file) + fread(&batch, sizeof batch, 1, file) != 2) {
            return 2;
        }
        void *workspace = malloc((size_t)bytes);
        float *out = malloc((size_t)last * sizeof *out);
        if (plan[0]) {
            conv_features_f32(plan, batch, 1 << 30, x, w, out, workspace);
        } else {
            conv_planes_f32(plan, batch, 1 << 30, x, w, out, workspace);
        }
        for (int64_t i = 0; i < last; i++) {
            wrong += !(fabsf(out[i] - wanted[i]) < 1e-3f);
        }
        free(plan), free(x), free(w), free(wanted), free(workspace), free(out);
    }
    fclose(file);
    return wrong > 0;
}
"""


def laid_out(x, order):
    """The array in memory with its axes in another order."""
    return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))


class Case:
    """A convolution of drawn arrays in drawn layouts, (batch, features, space) all of them."""

    def __init__(self, random, dtype):
        rank, self.groups = int(random.integers(1, 4)), int(random.choice([1, 1, 2]))
        channels, features = int(random.integers(1, 5)), int(random.choice([1, 2, 3, 8, 40]))
        while True:
            size = random.integers(1, 13, rank)
            window = random.integers(1, 5, rank)
            self.apart, self.strides = random.integers(1, 3, rank), random.integers(1, 4, rank)
            self.pads = random.integers(-1, 4, (rank, 2))
            room = size + self.pads.sum(1) - (window - 1) * self.apart - 1
            if np.all(room >= 0) and np.all(size + np.minimum(self.pads, 0).sum(1) > 0):
                break
        batch = int(random.integers(1, 4))
        shapes = (
            (batch, self.groups * channels, *size),
            (self.groups * features, channels, *window),
            (batch, self.groups * features, *(room // self.strides + 1)),
        )
        first, last = tuple(range(rank + 2)), (0, *range(2, rank + 2), 1)
        orders = [first, last, (1, 0, *first[2:]), tuple(random.permutation(rank + 2))]
        self.x, self.w, self.out = (
            laid_out(random.standard_normal(s).astype(dtype), orders[random.integers(4)])
            for s in shapes
        )

    def wanted(self):
        """The result, tap by tap."""
        x, w = self.x.astype(np.float64), self.w.astype(np.float64)
        wide = np.zeros((*x.shape[:2], *(np.array(x.shape[2:]) + np.maximum(self.pads, 0).sum(1))))
        inside = tuple(
            slice(max(0, low), max(0, low) + n)
            for n, (low, _) in zip(x.shape[2:], self.pads, strict=True)
        )
        wide[(..., *inside)] = x
        cut = tuple(
            slice(max(0, -low), n - max(0, -high))
            for n, (low, high) in zip(wide.shape[2:], self.pads, strict=True)
        )
        wide, result = wide[(..., *cut)], np.zeros(self.out.shape)
        each = self.w.shape[0] // self.groups
        for o, c, *tap in np.ndindex(w.shape):
            seen = tuple(
                slice(k * d, k * d + (n - 1) * s + 1, s)
                for k, d, n, s in zip(tap, self.apart, result.shape[2:], self.strides, strict=True)
            )
            channel = o // each * w.shape[1] + c
            result[:, o] += wide[(slice(None), channel, *seen)] * w[(o, c, *tap)]
        return result

    def sizes(self):
        """The numbers of the plan."""
        x, w, out = ([s // a.itemsize for s in a.strides] for a in (self.x, self.w, self.out))
        none, rank = 5 - self.x.ndim, self.x.ndim - 2
        axes = [Axis(1, 1, 1, 1, 1, 0)] * none
        axes += [
            Axis(*map(int, (self.x.shape[a], self.out.shape[a], self.w.shape[a], *rest)))
            for a, rest in zip(
                range(2, rank + 2),
                zip(self.strides, self.apart, self.pads[:, 0], strict=True),
                strict=True,
            )
        ]
        channels, features = self.w.shape[1], self.w.shape[0] // self.groups
        return Sizes(
            self.x.shape[0],
            self.groups,
            features,
            channels,
            tuple(axes),
            (x[0], channels * x[1], x[1], *[0] * none, *x[2:]),
            (features * w[0], w[0], w[1], *[0] * none, *w[2:]),
            (out[0], features * out[1], out[1], *[0] * none, *out[2:]),
        )

    def plan(self, form):
        """The plan in one of the forms, and the bytes of scratch memory."""
        plan = make_plan(self.sizes(), self.x.itemsize, machine_of_convolutions(form))
        assert plan.form == form
        return plan.numbers, plan.scratch_bytes(self.x.itemsize)


def flat(x):
    """The elements of an array in the order of its memory."""
    return x.transpose(np.argsort([-s for s in x.strides], kind="stable")).ravel()


@pytest.fixture(scope="module", params=MARCHES)
def library(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("conv")
    helpers = "\n\n".join(
        c_helpers.collect([f"conv_{f}_{d}" for f in FORMS for d in ("f32", "f64")])
    )
    drivers = [
        DRIVER.replace("const F", f"const {c}").replace(" F *", f" {c} *").replace("_F", suffix)
        for c, suffix in (("float", "_f32"), ("double", "_f64"))
    ]
    (folder / "conv.c").write_text(INCLUDES + helpers + "".join(drivers))
    command = ["gcc", *FLAGS, f"-march={request.param}", "-shared", "-fPIC", "conv.c"]
    subprocess.run([*command, "-o", "conv.so", "-lm"], check=True, cwd=folder)
    return ctypes.CDLL(str(folder / "conv.so"))


def run(library, case, plan, workspace, threads):
    """The result of C, and the scratch memory after it, with a guard behind it."""
    function = getattr(library, f"run_f{8 * case.x.itemsize}")
    out = np.full_like(case.out, np.nan)
    room = np.full(workspace + 64, 255, np.uint8)
    plan, *arrays = (ctypes.c_void_p(a.ctypes.data) for a in (plan, case.x, case.w, out, room))
    function(threads, plan, ctypes.c_int64(case.sizes().batch), *arrays)
    assert np.all(room[workspace:] == 255), "scratch memory is overrun"
    return out


@pytest.mark.parametrize("form", [PLANES, FEATURES])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@one_in(8)
def test_forms_equal_numpy_whatever_the_layout(library, dtype, form):
    random = np.random.default_rng(form)
    for _ in range(40):
        case = Case(random, dtype)
        plan, workspace = case.plan(form)
        wanted = case.wanted()
        out = run(library, case, plan, workspace, 1)
        limit = {"float32": 1e-5, "float64": 1e-14}[dtype] * max(1, np.abs(wanted).max())
        assert np.all(np.abs(out - wanted) <= limit), plan
        again = run(library, case, plan, workspace, 3)
        assert np.array_equal(out, again), "the number of threads changes the result"


def test_the_numpy_column_is_what_is_wanted():
    random = np.random.default_rng(2)
    for _ in range(20):
        case = Case(random, "float64")
        sizes = case.sizes()
        space = [[getattr(a, n) for a in sizes.axes] for n in ("size", "window", "out")]
        each = (sizes.groups, sizes.features, sizes.channels)
        x = case.x.reshape(sizes.batch, sizes.groups, sizes.channels, *space[0])
        out = convolved(sizes.axes, x, case.w.reshape(*each, *space[1]))
        assert out.shape == (sizes.batch, *each[:2], *space[2])
        np.testing.assert_allclose(out.reshape(case.out.shape), case.wanted(), rtol=0, atol=1e-12)


def laid_as(x, other):
    """The array in the memory order of another one."""
    found = np.empty_like(other, dtype=x.dtype)
    found[...] = x
    return found


@pytest.mark.sanitized
def test_steps_stay_inside_of_every_array(tmp_path):
    random = np.random.default_rng(3)
    parts = []
    for form, _ in itertools.product((PLANES, FEATURES), range(25)):
        case = Case(random, "float32")
        plan, workspace = case.plan(form)
        wanted = laid_as(case.wanted().astype(np.float32), case.out)
        for values in (plan, flat(case.x), flat(case.w), flat(wanted)):
            parts += [np.int64(values.size).tobytes(), values.tobytes()]
        parts.append(np.array([workspace, case.sizes().batch]).tobytes())
    (tmp_path / "cases").write_bytes(np.int64(50).tobytes() + b"".join(parts))
    helpers = "\n\n".join(c_helpers.collect([f"conv_{form}_f32" for form in FORMS]))
    (tmp_path / "conv.c").write_text(INCLUDES + helpers + SANITIZED)
    flags = [*FLAGS, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["gcc", *flags, "conv.c", "-o", "conv", "-lm"]
    subprocess.run(command, check=True, cwd=tmp_path)
    subprocess.run([tmp_path / "conv", tmp_path / "cases"], check=True)


def test_the_faster_form_is_chosen():
    """Lanes of pixels where the features of the result are far apart, and of features where they
    are neighbours; never lanes of three pixels, as the gradient of weights would have."""

    def form(x, w, out):
        axes = (Axis(1, 1, 1, 1, 1, 0), Axis(56, 56, 3, 1, 1, 1), Axis(56, 56, 3, 1, 1, 1))
        return make_plan(Sizes(8, 1, 64, 32, axes, x, w, out), 4).form

    planes = (100352, 0, 3136, 0, 56, 1), (0, 288, 9, 0, 3, 1), (200704, 0, 3136, 0, 56, 1)
    assert form(*planes) == PLANES
    rows = (100352, 0, 1, 0, 1792, 32), (0, 1, 64, 0, 6144, 2048), (200704, 0, 1, 0, 3584, 64)
    assert form(*rows) == FEATURES
    axes = (Axis(1, 1, 1, 1, 1, 0), Axis(56, 3, 56, 1, 1, 1), Axis(56, 3, 56, 1, 1, 1))
    steps = (3136, 0, 100352, 0, 56, 1), (0, 3136, 200704, 0, 56, 1), (9, 0, 288, 0, 3, 1)
    assert make_plan(Sizes(32, 1, 64, 8, axes, *steps), 4).form == FEATURES
