"""What is not run as a compiler: what others could have put there. And what no compiler is told:
options that write files, load code or read further options."""

import contextlib
import os
import shlex
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import transpile
from transpile.build import compiler_probe, toolchain
from transpile.errors import CompilerNotFoundError
from transpile.options import Options
from transpile.util.allowed_cflags import check_flags


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """Nothing remembered, no variables of the user's, a working directory of the test's own."""
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("TRANSPILE_CC", "CC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(compiler_probe, "_known", {})
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def plant(tmp_path):
    """plant(path): a compiler that works, and says that it has been run."""
    real = shlex.join(toolchain.find_compiler(Options()).command)
    compiler_probe._known.clear()

    def make(path):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\ntouch {tmp_path}/run\nexec {real} "$@"\n')
        path.chmod(0o755)
        return path

    return make


def was_run(tmp_path):
    return (tmp_path / "run").exists()


@pytest.mark.parametrize("path", ["", ".", "bin", "./bin", "../here/bin", "bin/"])
def test_the_working_directory_is_not_searched(monkeypatch, tmp_path, plant, path):
    for name in ("cc", "gcc", "clang"):
        plant(tmp_path / "here" / name)
        plant(tmp_path / "here" / "bin" / name)
    monkeypatch.setenv("PATH", os.pathsep.join([path, os.environ["PATH"]]))
    found = toolchain.find_compiler(Options())
    monkeypatch.setenv("CC", "gcc -O1")
    assert toolchain.find_compiler(Options()).command[1:] == ("-O1",)
    monkeypatch.setenv("CC", "env gcc")  # which searches PATH itself
    assert toolchain.find_compiler(Options()).command[1:] == ("gcc",)
    assert os.path.isabs(found.command[0]) and not was_run(tmp_path)
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", path)
    monkeypatch.setattr(compiler_probe, "_ziglang", lambda: None)
    with pytest.raises(CompilerNotFoundError, match="no C compiler was found"):
        toolchain.find_compiler(Options())


@pytest.mark.parametrize("text", ["./cc", "bin/cc", "../here/cc", "my cc", "./cc -O1"])
def test_a_relative_path_is_no_compiler(monkeypatch, tmp_path, plant, text):
    for name in ("cc", "bin/cc", "my cc"):
        plant(tmp_path / "here" / name)
    message = "was not found; name an installed one, by its absolute path or its name on PATH"
    with pytest.raises(CompilerNotFoundError, match=message):
        toolchain.find_compiler(Options(cc=text))
    for name in ("TRANSPILE_CC", "CC"):
        monkeypatch.setenv(name, text)
        with pytest.raises(CompilerNotFoundError, match=f"{name}, was not found"):
            toolchain.find_compiler(Options())
        monkeypatch.delenv(name)
    assert not was_run(tmp_path)


@pytest.mark.parametrize(
    "text", ["cc; touch {}", "cc && touch {}", "cc $(touch {})", "cc `touch {}`"]
)
def test_no_shell_reads_the_command(tmp_path, text):
    with pytest.raises(CompilerNotFoundError):
        toolchain.find_compiler(Options(cc=text.format(tmp_path / "run")))
    assert not was_run(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        "-o {}",
        "-o{}",
        "@{}",
        "-save-temps",
        "-MD -MF {}",
        "-Wl,-o,{}",
        "-Wp,-MD,{}",
        "-dumpdir {}/",
    ],
)
def test_a_command_that_writes_elsewhere_is_not_run(tmp_path, words):
    (tmp_path / "thesis").write_text("ten years of work")
    command = "cc " + words.format(tmp_path / "thesis")
    with pytest.raises(CompilerNotFoundError, match="it writes other files than its output"):
        toolchain.find_compiler(Options(cc=command))
    assert (tmp_path / "thesis").read_text() == "ten years of work"
    assert sorted(os.listdir(tmp_path)) == ["here", "thesis"] and not os.listdir(".")


@pytest.mark.parametrize("what", ["file", "directory", "above", "link"])
def test_a_compiler_that_everybody_can_write_to_is_not_run(monkeypatch, tmp_path, plant, what):
    path = plant(tmp_path / "bin" / "cc")
    if what == "link":
        (tmp_path / "links").mkdir()
        (tmp_path / "links" / "cc").symlink_to(path)
        path = tmp_path / "links" / "cc"
    shared = {"file": path, "directory": path.parent, "above": tmp_path, "link": path.parent}[what]
    before, real_path = shared.stat().st_mode, os.environ["PATH"]
    shared.chmod(0o777)
    try:
        with pytest.raises(CompilerNotFoundError, match=f"every user of this .*write to {shared}"):
            toolchain.find_compiler(Options(cc=str(path)))
        monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{real_path}")
        assert toolchain.find_compiler(Options()).command[0] != str(path)
        monkeypatch.setenv("PATH", str(path.parent))
        monkeypatch.setattr(compiler_probe, "_ziglang", lambda: None)
        with pytest.raises(CompilerNotFoundError, match="does not work: every user"):
            toolchain.find_compiler(Options())
    finally:
        shared.chmod(before)
        monkeypatch.setenv("PATH", real_path)
    assert not was_run(tmp_path)
    assert toolchain.find_compiler(Options(cc=str(path))).command == (str(path),)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_compiler_of_somebody_else_in_a_shared_directory_is_not_run(tmp_path, plant):
    path = plant(tmp_path / "shared" / "cc")
    path.parent.chmod(0o1777)
    assert toolchain.find_compiler(Options(cc=str(path)))  # as in /tmp
    (tmp_path / "run").unlink()
    compiler_probe._known.clear()
    os.chown(path, 12345, 12345)
    with pytest.raises(CompilerNotFoundError, match="belongs to another user"):
        toolchain.find_compiler(Options(cc=str(path)))
    assert not was_run(tmp_path)
    path.parent.chmod(0o755)  # an administrator's
    assert toolchain.find_compiler(Options(cc=str(path)))


PASSED_ON = """
    -O3 -Ofast -std=c11 -std=gnu11 -w -Wall -Wno-error=foo -Wextra -Wconversion -Wno-type-limits
    -DX -DX=$(touch -UX -g -g3 -ggdb3 -gdwarf-5 -fno-math-errno -ffast-math -ffp-contract=off
    -fsanitize=thread -fno-sanitize-recover=undefined -fopenmp -flto -flto=auto -fno-lto
    -fuse-ld=lld -fprefetch-loop-arrays -fpic -fstack-protector-strong -fvisibility=default
    -ffile-prefix-map=/a=b -march=native -mtune=native -mavx512f -mprefer-vector-width=512
    -mcpu=neoverse-n1 -m64 --param=x=1 --target=x86_64-linux-gnu -lm -l:libx.so.3 -L/usr/lib
    -I/usr/include -isystem/usr/include --sysroot=/x -Wl,-O1 -Wl,-z,relro -Wl,-z,now,--as-needed
    -Wl,-rpath,$ORIGIN/lib -Wl,--hash-style=gnu -Wl,--exclude-libs,ALL -static-libgcc -pthread
    -finline-limit=20000 -Werror -fno-plt -fprofile-reorder-functions -fprofile-correction
"""
REFUSED = """
    -fplugin=/x.so -fplugin=x -fplugin-arg-x-y=1 -fpass-plugin=x.so -o /x -o/x @file -specs=x
    -specs=/x -B/x -B. -wrapper x -save-temps -save-temps=obj -dumpdir -dumpbase -MF -MD -MFx
    -Wl,-o,/x -Wl,-o -Wl,--output=x -Wl,-O1,-o,/x -x c -xc -include x -include/etc/passwd -imacros
    -Wa,-al=x -Wp,-MD,x -Xlinker -Xclang -Xassembler -fdump-tree-all -fdump-tree-all=/x
    -fprofile-generate -fprofile-use=/x -fprofile-dir=/x -fprofile-arcs --coverage -ftest-coverage
    -fstack-usage -E -S -c -M -I. -Lx -Ix -mllvm -fuse-ld=/tmp/ld -ftime-trace=x -gsplit-dwarf
    --config=x -T x.ld -Wl,-T,x -Wl,x.o -Wl,/x.o -Wl,@x -Wl,-plugin,x -Wl,-Map=x
    -Wl,--dynamic-linker=/x -Wl,-rpath,rel -Wl,-rpath,/a:b x.o foo.c - -fcallgraph-info
    -fopt-info-all=x -fsave-optimization-record -fdiagnostics-format=sarif-file -aux-info --help
    -### -v -iquote. -ivfsoverlay -l../../x -l:/x.so --sysroot=x -fsyntax-only -fmodules
    -fauto-profile=x -fbranch-probabilities -fmodule-file=x -fcompare-debug
"""


@pytest.mark.parametrize("flag", PASSED_ON.split())
def test_options_that_choose_code_are_passed_on(flag):
    check_flags(["-O1", flag])
    assert Options().replace({"extra_cflags": [flag]}).extra_cflags == (flag,)


@pytest.mark.parametrize("flag", REFUSED.split())
def test_options_that_do_something_else_are_refused(flag):
    with pytest.raises(ValueError) as caught:
        Options().replace({"extra_cflags": ["-O1", flag]})
    assert f"'extra_cflags' has {flag!r}, which is refused" in str(caught.value)


def test_a_refused_option_runs_no_compiler(monkeypatch, tmp_path, plant):
    monkeypatch.setenv("CC", str(plant(tmp_path / "bin" / "cc")))
    (tmp_path / "thesis").write_text("ten years of work")
    for flags in (f"-o {tmp_path}/thesis", [f"-Wl,-Map={tmp_path}/thesis"]):
        with pytest.raises(ValueError, match="refused: "):
            transpile.jit(np.sin, compiler_options={"extra_cflags": flags})(np.ones(3))
    with pytest.raises(ValueError, match="a directory has to be absolute"):
        transpile.jit(np.sin, compiler_options={"extra_cflags": "-I."})(np.ones(3))
    with pytest.raises(ValueError, match="every option has to be one word"):
        transpile.jit(np.sin, compiler_options={"extra_cflags": "-L/usr/lib my.o"})(np.ones(3))
    with pytest.raises(ValueError, match="'march' takes the name of a processor"):
        transpile.jit(np.sin, compiler_options={"march": "native -fplugin=x"})(np.ones(3))
    assert (tmp_path / "thesis").read_text() == "ten years of work" and not was_run(tmp_path)


# -- a probe beside other work ---------------------------------------------------------------------


def test_a_probe_beside_a_block_runs_the_compiler_once(tmp_path, plant):
    path = plant(tmp_path / "bin" / "cc")
    text = path.read_text()
    path.write_text(text.replace("touch", f"echo x >> {tmp_path}/times; touch"))
    options = Options(cc=str(path))
    alone = toolchain.find_compiler(options)
    times = (tmp_path / "times").read_text()
    compiler_probe._known.clear()
    (tmp_path / "times").unlink()
    for file in (tmp_path / "cache").glob("compiler-*"):
        file.unlink()
    with compiler_probe.probing(options):
        assert compiler_probe._begun and not toolchain.is_probed(options)
        assert toolchain.find_compiler(options) == alone
        assert not compiler_probe._begun
    with compiler_probe.probing(options):  # known by now
        assert not compiler_probe._begun
    assert (tmp_path / "times").read_text() == times


def test_a_probe_ends_with_its_block(tmp_path, plant):
    path = plant(tmp_path / "bin" / "cc")
    path.write_text("#!/bin/sh\nsleep 100\n")
    begun = []
    with (
        pytest.raises(ZeroDivisionError),
        compiler_probe.probing(Options(cc=str(path))),
    ):
        begun += compiler_probe._begun.values()
        raise ZeroDivisionError
    (probe,) = begun
    assert probe._version.has_ended() and not probe._directory.exists()
    assert not compiler_probe._begun


def test_a_probe_is_its_thread_s_and_not_a_child_s(tmp_path, plant):
    options = Options(cc=str(plant(tmp_path / "bin" / "cc")))
    with compiler_probe.probing(options):
        (probe,) = compiler_probe._begun.values()
        with ThreadPoolExecutor(1) as pool:
            compiler = pool.submit(toolchain.find_compiler, options).result()
        compiler_probe._known.clear()
        for file in (tmp_path / "cache").glob("compiler-*"):
            file.unlink()
        if (child := os.fork()) == 0:
            status = 1
            with contextlib.suppress(BaseException):
                status = int(toolchain.find_compiler(options) != compiler)
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert probe._directory.exists()
        assert toolchain.find_compiler(options) == compiler


def test_a_probe_beside_a_block_runs_nothing_that_find_compiler_would_not(tmp_path, plant):
    path = plant(tmp_path / "bin" / "cc")
    path.chmod(0o777)
    for text in (str(path), "cc -o elsewhere", "./cc", "missing"):
        with compiler_probe.probing(Options(cc=text)):
            assert not compiler_probe._begun
    assert not was_run(tmp_path)
