"""arrays/transpose.h by itself: all sizes of tiles, vectors of several widths, sanitizers."""

import shutil
import subprocess

import pytest
from thorough import one_in

from transpile.symbols import c_helpers

pytestmark = pytest.mark.full_level

FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-Wno-unknown-pragmas"]
# Every buffer has exactly its size, so that the sanitizer sees each step outside.
PROGRAM = """
static int check_U(int64_t tile, int64_t rows, int64_t columns, int64_t row)
{
    const int64_t m = rows < tile ? rows : tile, n = columns < tile ? columns : tile;
    const size_t count = (size_t)((m - 1) * row + n);
    U *x = malloc(count * sizeof(U)), *out = malloc((size_t)(tile * tile) * sizeof(U));
    for (size_t k = 0; k < count; k++)
        x[k] = (U)(k + 1);
    for (int64_t k = 0; k < tile * tile; k++)
        out[k] = 0;
    transpose_tile_U(tile, rows, columns, x, row, out);
    int wrong = 0;
    for (int64_t j = 0; j < tile; j++)
        for (int64_t i = 0; i < tile; i++)
            wrong += out[j * tile + i] != (i < m && j < n ? x[i * row + j] : 0);
    free(x), free(out);
    return wrong;
}
"""
# The elements are of another type of this size: at -O2 gcc takes them for written by nobody, unless
# it is told that the helper's words may alias them.
ELEMENTS = """
static int check_E(int64_t tile, int64_t rows, int64_t columns)
{
    E x[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
    int wrong = 0;
    for (int64_t i = 0; i < 3; i++) {
        E out[3][3];
        for (int64_t j = 0; j < 9; j++)
            out[j / 3][j % 3] = (E)i;
        transpose_tile_U(tile, rows, columns, x, 3, out);
        for (int64_t j = 0; j < columns; j++)
            for (int64_t k = 0; k < rows; k++)
                wrong += out[j][k] * out[j][k] != x[k][j] * x[k][j];
        x[i][2 - i] += 3;
    }
    return wrong;
}
"""
MAIN = """
int main(void)
{
    int wrong = check_float(3, 3, 3) + check_float(3, 2, 3) + check_double(3, 3, 3)
              + check_double(3, 3, 2);
    for (int64_t tile = 1; tile < 36; tile += 1 + tile / 4)
        for (int64_t rows = 1; rows < 40; rows += 3)
            for (int64_t columns = 1; columns < 40; columns += 4)
                wrong += check_u32(tile, rows, columns, columns + 2)
                       + check_u64(tile, rows, columns, columns + 2);
    return wrong != 0;
}
"""


def program():
    headers = "#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
    helpers = "\n\n".join(c_helpers.collect(["transpose_tile_u32", "transpose_tile_u64"]))
    checks = [
        PROGRAM.replace("_U", f"_u{bits}")
        .replace("U ", f"uint{bits}_t ")
        .replace("(U)", f"(uint{bits}_t)")
        for bits in (32, 64)
    ]
    checks += [
        ELEMENTS.replace("_E", f"_{name}")
        .replace("E ", f"{name} ")
        .replace("(E)", f"({name})")
        .replace("_U", f"_u{bits}")
        for name, bits in (("float", 32), ("double", 64))
    ]
    return "\n".join([headers, helpers, *checks, MAIN])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("march", ["", "-march=native"])
@pytest.mark.parametrize("sanitizers", [("-fsanitize=address,undefined",), ("-O3",)])
@one_in(3)
def test_tiles_of_any_size_are_transposed(compiler, march, sanitizers, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    output = str(tmp_path / "t")
    (tmp_path / "t.c").write_text("int main(void) { return 0; }\n")
    empty = [compiler, *sanitizers, str(tmp_path / "t.c"), "-o", output]
    if subprocess.run(empty, capture_output=True, check=False).returncode != 0:
        pytest.skip(f"no sanitizers for {compiler} here")
    (tmp_path / "t.c").write_text(program())
    flags = [*FLAGS, *([march] if march else []), *sanitizers]
    subprocess.run([compiler, *flags, str(tmp_path / "t.c"), "-o", output], check=True)
    subprocess.run([output], check=True)
