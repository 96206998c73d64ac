"""runtime_c/products/matmul.h against the OpenBLAS inside NumPy, in one run, turn about.

    python benchmarks/matmul.py [--threads 2] [--march x86-64-v3] [--layouts nn,tt] [MxNxK ...]

Both are called from C, so that Python's own time is not in the numbers. A line gives the best rate
of each in GFLOP/s and the ratio of the times, OpenBLAS over ours, of the bests and of the medians:
above 1 ours is faster. A layout letter `t` stands for a transposed view, which is not copied.

With more than one thread each turn starts after a pause, in which the other library's threads stop
spinning. OPENBLAS_CORETYPE=Haswell, say, makes OpenBLAS use the kernels of an older processor; give
the like of it to --march.
"""

import argparse
import ctypes
import os
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

SHAPES = (
    "1024x1024x1024 512x1024x1024 128x512x784 256x256x256 1000x1000x1000 20000x64x64 20000x16x64"
    " 64x64x20000 16x1024x1024 1024x16x1024 128x128x128 64x64x64 50x50x50 48x48x48 32x32x32"
    " 16x16x16 12x12x12 8x8x8"
)
FLAGS = "-std=c11 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -fopenmp -shared -fPIC"

DRIVER = """
void ours_F(int64_t repeats, int64_t m, int64_t n, int64_t k, const F *a, int64_t a_row,
            int64_t a_col, const F *b, int64_t b_row, int64_t b_col, F *c, void *workspace)
{
    for (int64_t r = 0; r < repeats; r++) {
        matmul_F(m, n, k, a, a_row, a_col, b, b_row, b_col, c, n, workspace);
    }
}

typedef void gemm_F(int, int, int, int64_t, int64_t, int64_t, F, const F *, int64_t, const F *, int64_t, F, F *, int64_t);

void theirs_F(int64_t repeats, int64_t m, int64_t n, int64_t k, const F *a, int64_t a_row,
              int64_t a_col, const F *b, int64_t b_row, int64_t b_col, F *c, gemm_F *gemm)
{
    enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
    for (int64_t r = 0; r < repeats; r++) {
        gemm(ROW_MAJOR, a_col == 1 ? PLAIN : TRANSPOSED, b_col == 1 ? PLAIN : TRANSPOSED, m, n, k,
             1, a, a_col == 1 ? a_row : a_col, b, b_col == 1 ? b_row : b_col, 0, c, n);
    }
}

int64_t bytes_F(int64_t m, int64_t n, int64_t k)
{
    return matmul_workspace_F(m, n, k);
}
"""  # noqa: E501


def instantiate(text: str) -> str:
    """The text for float and for double."""
    pairs = (("float", "_f32"), ("double", "_f64"))
    return "\n".join(re.sub(r"_F\b", s, re.sub(r"\bF\b", c, text)) for c, s in pairs)


def compile_kernel(march: str) -> ctypes.CDLL:
    from transpile.symbols import c_helpers  # imports NumPy, which reads the number of threads

    names = [
        f"{name}_{dtype}" for name in ("matmul", "matmul_workspace") for dtype in ("f32", "f64")
    ]
    includes = [f"#include <{name}.h>" for name in ("math", "stdint", "stdbool", "string")]
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "matmul.c"), Path(folder, "matmul.so")
        parts = ["\n".join(includes), *c_helpers.collect(names), instantiate(DRIVER)]
        source.write_text("\n\n".join(parts))
        command = ["gcc", *FLAGS.split(), f"-march={march}", source, "-o", library, "-lm"]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))


def openblas(numpy_folder: Path) -> ctypes.CDLL:
    folders = (numpy_folder.parent / "numpy.libs", numpy_folder / ".dylibs")
    found = [path for folder in folders for path in folder.glob("libscipy_openblas64*")]
    if not found:
        raise SystemExit("this NumPy brings no OpenBLAS of its own: install the wheel from PyPI")
    return ctypes.CDLL(str(found[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("shapes", nargs="*", default=SHAPES.split(), metavar="MxNxK")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--march", default="native")
    parser.add_argument("--layouts", default="nn")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(options.threads)
    import numpy as np  # reads the number of threads when it is imported

    kernel, blas = compile_kernel(options.march), openblas(Path(np.__file__).parent)
    blas.scipy_openblas_get_corename64_.restype = ctypes.c_char_p
    core = blas.scipy_openblas_get_corename64_().decode()
    print(f"threads {options.threads}, march {options.march}, OpenBLAS for {core}")
    print(f"{'':26}   ours  OpenBLAS   best  median")
    rng = np.random.default_rng(0)

    def compare(suffix: str, layout: str, shape: str) -> None:
        m, n, k = map(int, shape.split("x"))
        dtype = np.dtype(f"f{int(suffix[2:]) // 8}")
        a = rng.standard_normal((m, k)).astype(dtype, order="F" if layout[0] == "t" else "C")
        b = rng.standard_normal((k, n)).astype(dtype, order="F" if layout[1] == "t" else "C")
        c = np.empty((m, n), dtype)
        size = getattr(kernel, "bytes" + suffix)
        size.restype = ctypes.c_int64
        workspace = np.empty(size(*map(ctypes.c_int64, (m, n, k))), np.uint8)
        gemm = getattr(blas, f"scipy_cblas_{'s' if suffix == '_f32' else 'd'}gemm64_")
        last = {
            "ours": ctypes.c_void_p(workspace.ctypes.data),
            "theirs": ctypes.cast(gemm, ctypes.c_void_p),
        }
        repeats = int(2e-3 / (2e-10 / options.threads * m * n * k / 10 + 1e-7)) + 1

        def seconds(name: str) -> float:
            arguments = [ctypes.c_int64(size) for size in (repeats, m, n, k)]
            for x in (a, b):
                arguments.append(ctypes.c_void_p(x.ctypes.data))
                arguments += [ctypes.c_int64(stride // x.itemsize) for stride in x.strides]
            arguments += [ctypes.c_void_p(c.ctypes.data), last[name]]
            start = time.perf_counter()
            getattr(kernel, name + suffix)(*arguments)
            return (time.perf_counter() - start) / repeats

        times: dict[str, list[float]] = {"ours": [], "theirs": []}
        for _ in range(options.rounds):
            for name, taken in times.items():
                if options.threads > 1:
                    time.sleep(0.1)
                seconds(name)
                taken += [seconds(name) for _ in range(4)]
        ours, theirs = times["ours"], times["theirs"]
        rates = [2e-9 * m * n * k / min(taken) for taken in (ours, theirs)]
        best = min(theirs) / min(ours)
        median = statistics.median(theirs) / statistics.median(ours)
        label = f"{suffix[1:]} {layout} {shape}"
        print(f"{label:26}{rates[0]:7.1f}{rates[1]:10.1f}{best:7.2f}{median:8.2f}", flush=True)

    for suffix in ("_f32", "_f64"):
        for layout in options.layouts.split(","):
            for shape in options.shapes:
                compare(suffix, layout, shape)


if __name__ == "__main__":
    main()
