"""arrays/transpose.h by itself: all sizes of tiles, vectors of several widths, sanitizers."""

import shutil
import subprocess

import pytest

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
MAIN = """
int main(void)
{
    int wrong = 0;
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
    return "\n".join([headers, helpers, *checks, MAIN])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("march", ["", "-march=native"])
def test_tiles_of_any_size_are_transposed(compiler, march, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    (tmp_path / "t.c").write_text(program())
    flags = [*FLAGS, *([march] if march else []), "-fsanitize=address,undefined"]
    output = str(tmp_path / "t")
    subprocess.run([compiler, *flags, str(tmp_path / "t.c"), "-o", output], check=True)
    subprocess.run([output], check=True)
