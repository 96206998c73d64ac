"""How large saved libraries are: ten functions of the benchmarks, for one level and for three.

    python -m benchmarks.library_sizes [NAME ...]

`code` is what the processor runs, `constants` what it reads; the rest of a file is what the loader
reads, and the pages that sections begin on: an empty library has 15 kB.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import transpile
from benchmarks.cases import CASES

NAMES = (
    "elementwise",
    "black_scholes",
    "softmax",
    "column_statistics",
    "stencil_step",
    "matmul_float64",
    "mlp_gradient_small",
    "conv2d",
    "fourier",
    "sort",
)
MARCHES = ("x86-64-v3", "multi")


def sections(path):
    """The bytes of code and of constants in an ELF file of 64 bits."""
    data = path.read_bytes()
    offset, size, count = (
        int.from_bytes(data[a : a + n], "little") for a, n in ((40, 8), (58, 2), (60, 2))
    )
    code = constants = 0
    for header in (data[offset + k * size :][:size] for k in range(count)):
        kind, flags, length = (
            int.from_bytes(header[a : a + n], "little") for a, n in ((4, 4), (8, 8), (32, 8))
        )
        if kind == 1 and flags & 2:  # it has contents, which are in memory
            code += length if flags & 4 else 0
            constants += 0 if flags & 5 else length
    return code, constants


def sizes_of(name, directory):
    """{march: (bytes of the file, of code, of constants)} of a case."""
    case = CASES[name]
    arguments = case.make(np.random.default_rng(0))
    found = {}
    for march in MARCHES:
        jitted = transpile.jit(case.build(np, transpile), compiler_options={"march": march})
        (library, *_) = jitted.lower(*arguments).save(Path(directory, march), name)
        found[march] = (library.stat().st_size, *sections(library))
    return found


def lines(found):
    """The table."""
    yield f"{'':22}{'x86-64-v3':^30}{'multi':^30}"
    yield f"{'':22}" + 2 * f"{'file':>10}{'code':>10}{'constants':>10}"
    for name, by_march in found.items():
        numbers = (f"{size / 1000:.1f} kB" for of in by_march.values() for size in of)
        yield f"{name:22}" + "".join(f"{text:>10}" for text in numbers)


def main(names):
    with tempfile.TemporaryDirectory() as directory:
        found = {name: sizes_of(name, directory) for name in names or NAMES}
    print("\n".join(lines(found)))


if __name__ == "__main__":
    main(sys.argv[1:])
