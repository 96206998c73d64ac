"""What stands in a program before its kernels, from the macros that print it."""

import re
import subprocess

import numpy as np
import pytest
from thorough import one_in

from transpile.build import toolchain
from transpile.codegen.callback_messages import PrintedArray
from transpile.codegen.constants import Constant, constants_of
from transpile.codegen.dialect import C
from transpile.codegen.templates import filling
from transpile.ir.loop_ir import Buffer, Program
from transpile.options import Options
from transpile.symbols import c_helpers
from transpile.symbols.blas import Blas
from transpile.symbols.lapack import Lapack, prototypes

LIBRARIES = (
    Blas("blas.so", "scipy_", "64_", "int64_t", "here"),
    Lapack("lapack.so", "", "_", "int32_t", "here"),
)


def printed(macro, *values):
    return filling._library()._functions("definitions.j2")[f"macro_{macro}"](*values)


def words(text):
    return " ".join(text.split())


def test_prototypes_have_the_names_of_the_library_and_the_types_of_the_dtype():
    gemm, gees = prototypes(LIBRARIES, {("gemm", "f32"), ("gees", "c64")})
    text = words(printed("gemm", gemm, C))
    assert text.startswith("void cblas_gemm_f32(int order, int a_form, int b_form, int64_t m,")
    assert text.endswith('float beta, float *c, int64_t c_step) __asm__("scipy_cblas_sgemm64_");')
    text = words(printed("lapack_routine", gees, C))
    assert text.startswith("void lapack_gees_c64(const char *, const char *, const void *, const l")
    assert "const lapack_int *, float *, lapack_int *, lapack_int *, size_t, size_t)" in text
    assert text.endswith('__asm__("cgees_");')


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 40), (1, 2, 1, 3)])
@pytest.mark.parametrize("dtype", ["f4", "i8", "c16"])
@one_in(3)
def test_constants_that_are_written_out_have_their_values(shape, dtype, tmp_path):
    value = (np.arange(np.prod(shape)).reshape(shape) / 7 * 5).astype(dtype)
    text = printed(
        "constant", Constant(Buffer("c", shape, value.dtype, value), False, None), None, "", C
    )
    assert text.startswith(f"static const {C.types[value.dtype]} c[{shape[0]}]") and text[-1] == ";"
    source = tmp_path / "constant.c"
    source.write_text(
        "#include <complex.h>\n#include <stdint.h>\n#include <stdio.h>\n"
        f"{text}\nint main(void) {{ fwrite(c, 1, sizeof c, stdout); return 0; }}\n"
    )
    command = [*toolchain.find_compiler(Options()).command, "-std=c11", "-Wall", "-Werror"]
    subprocess.run([*command, source, "-o", tmp_path / "constant"], check=True)
    assert subprocess.run([tmp_path / "constant"], capture_output=True).stdout == value.tobytes()


def test_the_bytes_of_long_constants_are_in_a_file_where_their_declarations_say():
    values = [np.arange(n, dtype="i2") for n in (5, 5001, 6000)]
    buffers = tuple(Buffer(f"c{k}", v.shape, v.dtype, v) for k, v in enumerate(values))
    program = Program("f", (), (), (), constants=buffers)
    constants, binary = constants_of(program, lambda buffer: False)
    assert constants[0].offset is None
    for constant in constants[1:]:
        text = printed("constant", constant, program, "f.bin", C)
        ((name, offset, size),) = re.findall(r'\.incbin \\"(.*?)\\", (\d+), (\d+)\\n', text)
        assert name == "f.bin" and int(offset) % Constant.alignment == 0
        found = binary[int(offset) : int(offset) + int(size)]
        assert found == constant.buffer.value.tobytes()


def test_an_outlined_helper_is_a_function_proper_with_copies_for_lanes():
    item = c_helpers.find("sign_f64")
    inline = printed("helper", item, None)
    assert inline.endswith(item.text) and "noinline" not in inline
    called = printed("helper", item, (8, 4))
    assert called.endswith(item.text.replace("static inline ", "static "))
    assert re.findall(r"simdlen\((\d+)\)", called) == ["8", "4"]
    assert '__attribute__((noinline, simd("notinbranch")))' in called
    assert "simd" not in printed("helper", item, ())


def test_messages_are_printed_part_by_part():
    array = PrintedArray(2, 6, True, "print_values_f64")
    number = PrintedArray(0, 1, False, "print_values_i32")
    assert printed("message_part", "é?") == r'fputs("\303\251\?", stdout);'
    assert printed("message_part", "a\0b") == r'fwrite("a\000b", 1, 3, stdout);'
    assert printed("message_part", array) == "print_values_f64(values[2], 6, true);"
    assert printed("message_part", number) == "print_values_i32(values[0], 1, false);"
    assert printed("message_part", PrintedArray(1, 0, True, "")) == 'fputs("[]", stdout);'
