import ctypes
import os
import shlex
import shutil
import stat
import subprocess
import sys

import pytest

from transpile.build import compiler_probe, toolchain
from transpile.errors import CompilationError, CompilerNotFoundError
from transpile.options import Options

pytestmark = pytest.mark.full_level

PROGRAM = """__attribute__((visibility("default"))) int twice(int x);
int twice(int x) {
    return 2 * x;
}
"""


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """A cache directory of the test's own, no variables of the user's, nothing remembered."""
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("TRANSPILE_CC", "CC", "TRANSPILE_BLAS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(compiler_probe, "_known", {})


@pytest.fixture
def directory(tmp_path):
    path = tmp_path / "build"
    path.mkdir()
    (path / "program.c").write_text(PROGRAM)
    return path


@pytest.fixture
def wrapper(tmp_path):
    """wrapper(script): an executable that runs `script` and then the real compiler."""
    real = toolchain.find_compiler(Options()).command
    compiler_probe._known.clear()

    def make(script, name="wrapped-cc"):
        path = tmp_path / name
        path.write_text(f'#!/bin/sh\n{script}\nexec {shlex.join(real)} "$@"\n')
        path.chmod(0o755)
        return path

    return make


def build(directory, options=Options(), source="program.c"):
    compiler = toolchain.find_compiler(options)
    output = directory / "program.so"
    flags = toolchain.flags(compiler, options)
    return toolchain.build_shared(compiler, directory / source, output, flags)


# -- finding ---------------------------------------------------------------------------------------


def test_find_compiler_builds_a_library_that_works(directory):
    log = build(directory)
    assert log.startswith(toolchain.find_compiler(Options()).command[0])
    assert ctypes.CDLL(str(directory / "program.so")).twice(21) == 42


@pytest.mark.parametrize(
    ("option", "environment", "origin"),
    [
        ("no-such-cc", {}, "the compiler option 'cc'"),
        ("", {"TRANSPILE_CC": "no-such-cc"}, "TRANSPILE_CC"),
        ("", {"CC": "no-such-cc"}, "variable CC"),
        ("no-such-cc", {"TRANSPILE_CC": "cc", "CC": "cc"}, "the compiler option 'cc'"),
        ("", {"TRANSPILE_CC": "no-such-cc", "CC": "cc"}, "TRANSPILE_CC"),
    ],
)
def test_find_compiler_names_the_origin_when_the_compiler_is_missing(
    monkeypatch, option, environment, origin
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(CompilerNotFoundError, match="'no-such-cc'") as caught:
        toolchain.find_compiler(Options(cc=option))
    assert origin in str(caught.value)


@pytest.mark.parametrize("program", ["true", "false", "cat"])
def test_find_compiler_refuses_a_program_that_is_no_compiler(program):
    with pytest.raises(CompilerNotFoundError, match="not a working C compiler"):
        toolchain.find_compiler(Options(cc=program))


@pytest.mark.parametrize("text", ["'", "/", "  -O2"])
def test_find_compiler_refuses_what_is_no_command(text):
    with pytest.raises(CompilerNotFoundError, match="was not found"):
        toolchain.find_compiler(Options(cc=text))


def test_find_compiler_says_what_to_install_when_there_is_none(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compiler_probe, "_ziglang", lambda: None)
    with pytest.raises(CompilerNotFoundError) as caught:
        toolchain.find_compiler(Options())
    message = str(caught.value)
    assert "looked for cc, gcc and clang" in message and "pip install ziglang" in message
    assert "\n" not in message
    assert toolchain.describe(Options())["compiler"].startswith("none: no C compiler")


def test_find_compiler_takes_the_next_one_when_the_first_is_broken(monkeypatch, tmp_path):
    for name, script in (("cc", "exit 1"), ("gcc", f'exec {shutil.which("cc")} "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])
    assert toolchain.find_compiler(Options()).command == (str(tmp_path / "gcc"),)


def test_find_compiler_accepts_arguments_and_paths_with_spaces(monkeypatch, directory, wrapper):
    monkeypatch.setenv("CC", f"env {shlex.quote(str(wrapper('', 'my own cc')))}")
    assert toolchain.find_compiler(Options()).command[1].endswith("my own cc")
    build(directory)
    path = str(wrapper("", "another cc"))
    assert toolchain.find_compiler(Options(cc=path)).command == (path,)


def test_find_compiler_does_not_run_it_again_in_a_later_process(monkeypatch, wrapper, tmp_path):
    log = tmp_path / "log"
    path = wrapper(f'echo "$@" >> {log}')
    options = Options(cc=str(path))
    first = toolchain.find_compiler(options)
    identity = toolchain.compiler_identity(options)
    calls = log.read_text()
    assert "--version" in calls
    compiler_probe._known.clear()  # what a later process starts with
    assert toolchain.find_compiler(options) == first
    assert toolchain.compiler_identity(options) == identity
    assert log.read_text() == calls
    path.write_text(path.read_text() + "# an update\n")
    assert toolchain.compiler_identity(options) != identity
    assert log.read_text() != calls


@pytest.mark.parametrize("damage", ["garbage", "other", "writable"])
def test_find_compiler_asks_again_when_what_it_knew_is_damaged(tmp_path, damage):
    first = toolchain.find_compiler(Options())
    (memory,) = (tmp_path / "cache").glob("compiler-*.json")
    if damage == "garbage":
        memory.write_text("{")
    elif damage == "other":
        memory.write_text(memory.read_text().replace('"identity": "', '"identity": "x'))
    else:
        memory.write_text(memory.read_text().replace('"openmp": ', '"openmp": "forged", "x": '))
        memory.chmod(0o666)
    compiler_probe._known.clear()
    assert toolchain.find_compiler(Options()) == first
    assert not stat.S_IMODE(memory.stat().st_mode) & 0o077
    assert "forged" not in memory.read_text()


@pytest.mark.parametrize("directory", ["/proc/transpile", "~no-such-user"])
def test_find_compiler_works_when_the_cache_cannot_be_written(monkeypatch, directory):
    usual = toolchain.find_compiler(Options())
    compiler_probe._known.clear()
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", directory)
    assert toolchain.find_compiler(Options()) == usual


def test_compiler_identity_sees_the_compiler_behind_a_wrapper(monkeypatch, wrapper, tmp_path):
    hidden, front = wrapper("", "cc"), tmp_path / "front"
    front.mkdir()
    (front / "ccache").write_text(f'#!/bin/sh\nexec {hidden} "$@"\n')
    (front / "ccache").chmod(0o755)
    (front / "cc").symlink_to("ccache")
    monkeypatch.setenv("PATH", os.pathsep.join([str(front), str(tmp_path), os.environ["PATH"]]))
    before = toolchain.compiler_identity(Options())
    assert str(hidden) in before
    os.utime(hidden, (0, 0))
    assert toolchain.compiler_identity(Options()) != before


# -- flags -----------------------------------------------------------------------------------------


def test_flags_follow_the_options():
    compiler = toolchain.find_compiler(Options())

    def flags(**options):
        return toolchain.flags(compiler, Options(**options))

    usual = flags()
    assert usual[:2] == ("-std=c11", "-O3") and usual[-1] == "-lm"
    assert {"-fPIC", "-shared", "-ffp-contract=off", "-fvisibility=hidden"} <= {*usual}
    assert "-ffast-math" not in usual and "-g" not in usual
    assert "-O1" in flags(opt_level=1)
    assert not any(flag.startswith("-march") for flag in flags(march=""))
    assert "-ffast-math" in flags(fast_math=True)
    assert "-g" in flags(debug=True)
    assert "-fsanitize=address,undefined" in flags(sanitize=True)
    assert "-fopenmp" not in flags(openmp=False) and "-fopenmp-simd" in flags(openmp=False)
    assert flags(extra_cflags=("-O0", "-DX=1"))[-3:] == ("-O0", "-DX=1", "-lm")


def test_flags_leave_out_what_the_compiler_refuses(wrapper, directory):
    refused = "-fopenmp|-fno-semantic-*|-march=native"
    refuse = f'for flag in "$@"; do case $flag in {refused}) exit 1;; esac; done'
    options = Options(cc=str(wrapper(refuse)))
    compiler = toolchain.find_compiler(options)
    assert not compiler.openmp and "-fno-trapping-math" in compiler.accepted
    flags = toolchain.flags(compiler, options)
    assert "-fopenmp-simd" in flags and "-fopenmp" not in flags
    assert "-fno-semantic-interposition" not in flags
    assert toolchain.describe(options)["OpenMP"].startswith("no")
    build(directory, options)


def test_flags_name_the_processor_in_the_words_of_the_compiler():
    known = toolchain.find_compiler(Options())
    common = (known.version, known.target, False, ("-march=native", "-mcpu=native"))
    zig = toolchain.Compiler(("zig", "cc"), "zig", *common)
    assert "-mcpu=x86_64_v3" in toolchain.flags(zig, Options(march="x86-64-v3"))
    assert "-mcpu=baseline" in toolchain.flags(zig, Options(march=""))
    arm = toolchain.Compiler(("gcc",), "gcc", "", "aarch64-linux-gnu", False, common[3])
    assert "-mcpu=native" in toolchain.flags(arm, Options())
    assert "-march=armv8.2-a" in toolchain.flags(arm, Options(march="armv8.2-a"))


def test_target_names_the_processor_only_for_native_code():
    native, generic = toolchain.target(Options()), toolchain.target(Options(march="x86-64"))
    assert native.startswith(generic) and "features" in native and "features" not in generic
    assert "features" in toolchain.target(Options(march="", extra_cflags=("-mtune=native",)))


def test_ingredients_are_texts_by_name():
    compiler = toolchain.find_compiler(Options())
    ingredients = toolchain.ingredients(compiler, Options())
    assert list(ingredients) == ["compiler", "target", "flags"]
    assert toolchain.compiler_identity(Options()) in ingredients["compiler"]


def test_describe_names_everything():
    described = toolchain.describe(Options())
    assert list(described) == [
        "compiler",
        "kind",
        "version",
        "target",
        "OpenMP",
        "flags",
        "BLAS",
        "LAPACK",
    ]
    assert described["kind"] in ("gcc", "clang", "zig")


# -- building --------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [Options(), Options(debug=True, fast_math=True)])
def test_build_gives_equal_bytes_in_different_directories(tmp_path, options):
    results = []
    for name in ("one", "another/deeper", "with space; $(x) 'é"):
        directory = tmp_path / name
        directory.mkdir(parents=True)
        (directory / "program.c").write_text(PROGRAM)
        log = build(directory, options)
        assert sorted(os.listdir(directory)) == ["program.c", "program.so"]
        results.append((log, (directory / "program.so").read_bytes()))
    assert results[0] == results[1] == results[2]
    assert str(tmp_path) not in results[0][0]
    assert str(tmp_path).encode() not in results[0][1]


def test_build_failure_shows_the_command_and_the_line(directory):
    (directory / "program.c").write_text("int f(void);\nint f(void)\n{\n    return wrong;\n}\n")
    with pytest.raises(CompilationError) as caught:
        build(directory, Options(extra_cflags=("-DX=$(touch injected)",)))
    message = str(caught.value)
    assert "program.c:4: " in message and "\n    return wrong;\n" in message
    assert "-std=c11 -O3" in message and "exit status" in message
    assert not (directory / "injected").exists()


def test_a_call_of_what_nothing_declares_fails_where_it_stands(directory):
    """Not when the program is loaded, as a damaged file."""
    text = "int f(void);\nint f(void)\n{\n    return missing_f64();\n}\n"
    (directory / "program.c").write_text(text)
    with pytest.raises(CompilationError, match=r"program.c:4: .*missing_f64"):
        build(directory)


def test_build_failure_in_the_linker_shows_what_it_said(directory):
    with pytest.raises(CompilationError, match="no-such-library"):
        build(directory, Options(extra_cflags=("-lno-such-library",)))


def test_build_failure_with_line_directives_quotes_the_python_line(directory):
    (directory / "user.py").write_text("def f(x):\n    return x + 1\n")
    text = f'#line 2 "{directory / "user.py"}"\nint f(void) {{ return wrong; }}\n'
    (directory / "program.c").write_text(text)
    with pytest.raises(CompilationError, match=r"user.py:2: .*\n    return x \+ 1\n"):
        build(directory)
    (directory / "user.py").unlink()
    with pytest.raises(CompilationError, match="not of program"):
        build(directory)


def test_build_failure_when_the_compiler_dies_names_the_signal(directory, wrapper):
    kill = 'for flag in "$@"; do [ "$flag" != program.c ] || kill -9 $$; done'
    with pytest.raises(CompilationError, match="killed by signal 9"):
        build(directory, Options(cc=str(wrapper(kill))))


def test_build_failure_when_the_compiler_has_gone(directory, wrapper):
    path = wrapper("")
    compiler = toolchain.find_compiler(Options(cc=str(path)))
    path.unlink()
    with pytest.raises(CompilationError, match="could not be run"):
        toolchain.build_shared(compiler, directory / "program.c", directory / "x.so", ())


def test_build_with_fast_math_leaves_denormal_numbers_alone(directory):
    build(directory, Options(fast_math=True))
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); assert 5e-324 * float(sys.argv[2]) > 0"
    subprocess.run([sys.executable, "-c", code, directory / "program.so", "1"], check=True)


def test_build_hides_what_is_not_marked_public(directory):
    text = PROGRAM + "int helper(int x);\nint helper(int x) { return x; }\n"
    (directory / "program.c").write_text(text)
    build(directory)
    library = ctypes.CDLL(str(directory / "program.so"))
    assert hasattr(library, "twice") and not hasattr(library, "helper")


def test_assembly_is_text(directory):
    compiler = toolchain.find_compiler(Options())
    text = toolchain.assembly(
        compiler, directory / "program.c", toolchain.flags(compiler, Options())
    )
    assert "twice:" in text and ".cfi" not in text
    assert os.listdir(directory) == ["program.c"]


def test_sanitize_finds_an_access_past_the_end(directory):
    options = Options(sanitize=True, march="")
    compiler = toolchain.find_compiler(options)
    environment = toolchain.sanitizer_environment(compiler)
    if not os.path.isabs(environment["LD_PRELOAD"]):
        pytest.skip("the compiler has no address sanitizer")
    text = PROGRAM.replace("2 * x", "((int *)__builtin_malloc(4))[x]")
    (directory / "program.c").write_text(text)
    build(directory, options)
    code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).twice(1))"
    done = subprocess.run(
        [sys.executable, "-c", code, directory / "program.so"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr or "insufficient space" in done.stderr


def test_ziglang_serves_when_there_is_no_system_compiler(monkeypatch, tmp_path, directory):
    if compiler_probe._ziglang() is None:
        pytest.skip("the package ziglang is not installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    for options in (Options(), Options(march="", opt_level=0)):
        compiler = toolchain.find_compiler(options)
        assert compiler.kind == "zig" and not compiler.openmp
        build(directory, options)
        assert ctypes.CDLL(str(directory / "program.so")).twice(21) == 42
    assert toolchain.find_compiler(Options(cc="ziglang")) == compiler
    assert toolchain.find_compiler(Options(cc=compiler.command[0])) == compiler
