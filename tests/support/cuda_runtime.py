"""A CUDA toolkit whose GPU is the CPU: in the place of nvcc a command that runs g++ with the CPU's
meaning of kernels, in the place of libcudart one with a meaning of its functions. Where there is a
GPU, tests of the runtime run on that, unless TRANSPILE_TEST_CUDA is "cpu"."""

from __future__ import annotations

import ctypes
import os
import shlex
import stat
from contextlib import contextmanager
from functools import cache

from cuda_device import why_not
from cuda_programs import FLAGS, FOLDER, HEADER, QUIET, compiled, folder, runtime

from transpile.targets.cuda.runtime.device import all_devices
from transpile.targets.cuda.toolchain.cublas import find_cublas
from transpile.targets.cuda.toolchain.cudart import cudart

_LIBRARY, _CUBLAS = "libcudart.so.0", "libcublasLt.so.0"


def is_on_gpu():
    """True if tests run on a GPU."""
    return os.environ.get("TRANSPILE_TEST_CUDA") != "cpu" and why_not() == ""


@cache
def toolkit():
    """The folder of the toolkit, which CUDA_HOME names."""
    made = folder() / f"toolkit-{os.getpid()}"
    library, nvcc = made / "lib64" / _LIBRARY, made / "bin" / "nvcc"
    for path in (library, nvcc):
        path.parent.mkdir(parents=True, exist_ok=True)
    source = FOLDER / "cudart_on_cpu.cpp"
    compiled(["g++", *FLAGS, "-O1", "-shared", f"-Wl,-soname,{_LIBRARY}", source, "-o", library])
    on_cpu = ("-include", HEADER.with_name("runtime_on_cpu.h"))
    linked = [runtime(), "-L", library.parent, f"-l:{_LIBRARY}", f"-Wl,-rpath,{library.parent}"]
    named = (f"-Wl,-soname,{_CUBLAS}", "-o", library.with_name(_CUBLAS))
    source = FOLDER / "cublas_on_cpu.cpp"
    compiled(["g++", *FLAGS, *QUIET, "-O1", "-shared", *on_cpu, source, *linked, *named])
    # g++ does not see that all threads of a block wait for the one that writes.
    words = [
        *FLAGS,
        *QUIET,
        "-Wno-maybe-uninitialized",
        "-O1",
        "-I",
        FOLDER / "include",
        "-I",
        FOLDER,
    ]
    words += [*on_cpu, "-shared"]
    linked += ["-Wl,--as-needed", f"-l:{_CUBLAS}"]
    nvcc.write_text(
        _SCRIPT.format(*(shlex.join(map(str, part)) for part in (words, linked))), encoding="utf-8"
    )
    nvcc.chmod(nvcc.stat().st_mode | stat.S_IXUSR)
    return made


_SCRIPT = """#!/bin/bash
# In the place of nvcc: the CUDA file, for the CPU.
for word in "$@"; do
    case "$word" in -Xcompiler=*) host="$(echo "${{word#-Xcompiler=}}" | tr , ' ')";; esac
    case "$before" in -o) output="$word";; esac
    case "$word" in *.cu) source="$word";; --version) echo "nvcc that is g++"; exit 0;; esac
    case "$word" in -ptx) is_ptx=1;; -fatbin) is_device=1;; esac
    before="$word"
done
if [ -n "$is_ptx" ]; then echo ".target sm_90" >"$output"; exit 0; fi
if [ -n "$is_device" ]; then
    host="-fPIC"
    cp "$source" "$source.device.cu"
    wrap='/extern "C" __global__/{{n;s/^\\(\\w*\\)(.*/KERNEL_OF_DEVICE(\\1)/p}}'
    sed -n "$wrap" "$source" >>"$source.device.cu"
    source="$source.device.cu"
    trap 'rm -f "$source"' EXIT
fi
g++ {0} $host -x c++ "$source" -x none {1} -o "$output"
"""


@contextmanager
def using_toolkit(home=None):
    """A context in which the runtime begins anew, with the toolkit of a folder: that of the CPU, or
    where there is a GPU that of the machine."""
    before = os.environ.get("CUDA_HOME")
    if home is not None or not is_on_gpu():
        os.environ["CUDA_HOME"] = str(home or toolkit())
    known = (cudart, all_devices, find_cublas)
    for function in known:
        function.cache_clear()
    try:
        yield
    finally:
        os.environ.pop("CUDA_HOME", None)
        if before is not None:
            os.environ["CUDA_HOME"] = before
        for function in known:
            function.cache_clear()


def cudart_on_cpu():
    """The library in the place of libcudart, with its functions for tests."""
    library = ctypes.CDLL(str(toolkit() / "lib64" / _LIBRARY))
    library.cudart_on_cpu_limit.argtypes = [ctypes.c_size_t]
    return library
