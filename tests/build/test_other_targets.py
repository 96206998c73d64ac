"""Other machines, as far as that takes no compiler for them: names, options, errors, texts. The
libraries themselves are built and run by `make machines` (tests/machines)."""

import numpy as np
import pytest

import transpile
from transpile.artifact import Library
from transpile.build import compiler_probe, toolchain
from transpile.build.processors import processors_of
from transpile.errors import CompilerNotFoundError, UnsupportedError
from transpile.machine import USUAL, Machine
from transpile.machine.platforms import platform_of
from transpile.options import Options
from transpile.symbols.identifiers import exported_in

X = np.zeros((4, 3), np.float32)
TABLE = np.arange(5000.0)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def lowered(f=softmax, *args, **options):
    return transpile.jit(f, compiler_options=options).lower(*(args or (X,)))


@pytest.mark.parametrize(
    ("target", "file", "linked", "bits"),
    [
        ("aarch64-linux-gnu", "f.so", "", 64),
        ("x86_64-linux-gnu.2.17", "f.so", "", 64),
        ("riscv64-linux-musl", "f.so", "", 64),
        ("x86_64-windows-gnu", "f.dll", "f.dll.a", 64),
        ("aarch64-macos", "f.dylib", "", 64),
        ("wasm32-wasi", "f.wasm", "", 32),
        ("arm-none-eabihf", "f.o", "", 32),
    ],
)
def test_a_name_says_what_a_platform_is(target, file, linked, bits):
    platform = platform_of(target)
    assert (platform.file("f"), platform.import_library("f")) == (file, linked)
    assert platform.address_bits == bits


@pytest.mark.parametrize(
    "target",
    ["arm64", "x86_64-windows-msvc", "wasm32-linux-gnu", "aarch64-linux-musl.1.2", "a b-c"],
)
def test_other_names_are_refused(target):
    with pytest.raises(ValueError, match="is not known; there are aarch64-linux-gnu"):
        Options().replace({"target": target})


def test_a_target_has_its_machine_and_no_threads_that_it_has_not():
    arm = Options().replace({"target": "aarch64-linux-gnu"})
    assert arm.machine.vector_bytes == 16 and arm.openmp
    assert arm.replace({"target": ""}) == Options()
    assert not Options().replace({"target": "wasm32-wasi"}).openmp
    small = Options().replace({"freestanding": True})
    assert not small.openmp and small.machine != USUAL
    own = Machine(tile=4)
    assert Options(machine=own).replace({"target": "riscv64-linux-gnu"}).machine == own
    assert Options().replace({"target": "wasm32-wasi", "machine": own}).machine == own
    with pytest.raises(ValueError, match="is for device='cpu'"):
        Options().replace({"target": "aarch64-linux-gnu", "device": "cuda"})


def test_what_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compiler_probe, "_ziglang", lambda: None)
    wanted = {
        "aarch64-linux-gnu": "aarch64-linux-gnu-gcc on PATH and for the Python package ziglang.*"
        "install `pip install ziglang` or Debian's gcc-aarch64-linux-gnu, or name one in the",
        "x86_64-linux-gnu.2.17": "looked for the Python package ziglang.: install `pip install",
        "arm-none-eabi": "looked for arm-none-eabi-gcc on PATH.: install Debian's gcc-arm-none",
        "x86_64-windows-gnu": "x86_64-w64-mingw32-gcc .* or Debian's gcc-mingw-w64-x86-64",
    }
    for target, message in wanted.items():
        with pytest.raises(CompilerNotFoundError, match=message):
            lowered(target=target).save(tmp_path)
    assert not list(tmp_path.iterdir())
    paths = Library("soft", {"softmax": lowered(target="wasm32-wasi")}).write(
        tmp_path, source_only=True
    )
    assert sorted(path.name for path in paths) == ["soft.h", "softmax.c", "softmax.h"]


def test_variables_name_the_compiler_for_this_machine(monkeypatch):
    monkeypatch.setenv("CC", "/nowhere/cc")
    monkeypatch.setattr(compiler_probe, "_usual_commands", lambda platform: iter(()))
    with pytest.raises(CompilerNotFoundError, match="no C compiler for wasm32-wasi"):
        toolchain.find_compiler(Options(target="wasm32-wasi"))


def test_a_compiler_for_another_machine_is_refused():
    here = toolchain.find_compiler(Options())
    other = "riscv64" if here.target.startswith("aarch64") else "aarch64"
    options = Options(cc=here.command[0], target=f"{other}-linux-gnu")
    with pytest.raises(CompilerNotFoundError, match=f"compiles for {here.target}, not for {other}"):
        toolchain.find_compiler(options)


def test_code_is_portable():
    for target in ("aarch64-linux-gnu", "x86_64-windows-gnu", "wasm32-wasi", "x86_64-linux-musl"):
        compiler = toolchain.Compiler(("zig", "cc"), "zig", "zig", target, False, ())
        options = Options().replace({"target": target, "cc": "ziglang"})
        assert "-mcpu=baseline" in toolchain.flags(compiler, Options(march="", target=target))
        assert "-fopenmp" not in toolchain.flags(compiler, Options(march="", target=target))
        if compiler_probe._ziglang() is None and not target.startswith("x86_64"):
            assert processors_of(options) == ("",)
    gcc = toolchain.Compiler(("arm-none-eabi-gcc",), "gcc", "gcc", "arm-none-eabi", False, ())
    wanted = toolchain.flags(gcc, Options(march="cortex-m4", target="arm-none-eabihf"))
    assert {"-mcpu=cortex-m4", "-mfloat-abi=hard", "-c"} <= {*wanted} and "-shared" not in wanted


def test_programs_for_other_machines_do_not_run_here():
    with pytest.raises(UnsupportedError, match=r"does not run here: `lower.*save"):
        lowered(target="aarch64-linux-gnu").compile()
    with pytest.raises(UnsupportedError, match="does not run here"):
        transpile.jit(softmax, compiler_options={"target": "wasm32-wasi"})(X)


def test_libraries_of_this_machine_are_not_linked():
    solve = lowered(np.linalg.inv, np.eye(3), target="aarch64-linux-gnu")
    with pytest.raises(UnsupportedError, match=r"calls LAPACK, which is not there.*--source-only"):
        solve.save("nowhere", private_libraries=True)


def test_constants_are_in_the_text_where_no_assembler_reads_them():
    def look_up(k):
        return TABLE[k]

    k = np.zeros(3, np.int64)
    here, there = (lowered(look_up, k, target=t).as_text() for t in ("", "aarch64-macos"))
    assert ".incbin" in here and "4999.0" not in here
    assert ".incbin" not in there and "4999.0" in there


@pytest.mark.parametrize(
    ("target", "is_accurate"),
    [
        ("", True),
        ("x86_64-linux-gnu.2.17", True),
        ("x86_64-linux-musl", False),
        ("x86_64-windows-gnu", False),
        ("wasm32-wasi", False),
        ("arm-none-eabihf", False),
    ],
)
def test_precise_complex_functions_are_the_c_library_s_where_they_are_accurate(target, is_accurate):
    def f(x, y):
        return np.arctan(x), np.arctan(y) ** y

    arguments = (np.ones(4, np.complex64), np.ones(4, np.complex128))
    text = lowered(f, *arguments, target=target, precise_math=True).as_text()
    for of_library in ("catanf(", "catan(", "cpow("):
        assert (of_library in text) == is_accurate
    for own in ("arctan_c64(", "arctan_c128(", "complex_pow_c128("):
        assert (own in text) != is_accurate


def test_float_only_programs_have_complex_functions_of_floats():
    options = {"target": "arm-none-eabihf", "freestanding": True, "float_only": True}
    text = lowered(np.arctan, np.ones(4, np.complex64), **options).as_text()
    assert "arctan_c64(" in text and "_f64(" not in text and "_c128(" not in text


def test_a_library_says_its_target():
    library = lowered(target="aarch64-linux-gnu")
    assert "   target: aarch64-linux-gnu\n" in library.as_text()
    header = library._lowering.sources()["softmax.h"].decode()
    assert "target: aarch64-linux-gnu" in header
    assert exported_in(header, "softmax") == (
        "softmax",
        "softmax_abi_version",
        "softmax_arguments",
        "softmax_error",
        "softmax_on_threads",
        "softmax_results",
        "softmax_sizes",
        "softmax_workspace_size",
    )


def test_files_that_no_loader_reads_are_refused():
    module = Library("soft", {"softmax": lowered(target="wasm32-wasi")})
    with pytest.raises(ValueError, match="no files for python of target='wasm32-wasi'"):
        module.write("nowhere", ["python"])
    small = Library("soft", {"softmax": lowered(target="arm-none-eabi")})
    with pytest.raises(ValueError, match="a library for arm-none-eabi is an archive"):
        small.write("nowhere")


@pytest.mark.parametrize(("target", "most"), [("", 1 << 56), ("wasm32-wasi", 1 << 31)])
def test_arrays_are_no_larger_than_addresses_say(target, most):
    sizes = transpile.ShapeDtypeStruct(("n", "m"), np.float64)
    lowered = transpile.jit(lambda x: x + 1, compiler_options={"target": target}).lower(sizes)
    assert f"has more than {most} bytes" in lowered.as_text("c")
