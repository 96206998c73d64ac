"""Libraries for other machines, built, and run: under emulators, or here.

A `Place` is a machine with a compiler for it. `built` writes a library for it, `results` runs it on
some arguments: a main in C is compiled for the machine, prints what it gets, and Python reads that.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from places import ROOT

import transpile
from transpile.build import toolchain
from transpile.machine.platforms import platform_of
from transpile.options import Options

HERE = ROOT / "tests" / "machines"
CORTEX_M4 = {"march": "cortex-m4", "freestanding": True, "float_only": True}


@dataclass(frozen=True)
class Place:
    """A machine, the compiler for it, and what runs its programs.

    cc        of the option; "" takes what is found for the target
    command   of the emulator; () runs a program here
    needs     programs, and packages of Python (with a colon behind the name), without which nothing
              of it works
    to_run    those without which it builds and does not run
    """

    name: str
    target: str = ""
    cc: str = ""
    options: dict = field(default_factory=dict)
    command: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    to_run: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def elsewhere(self):
        """What of it is not this machine's: "processor", "C library", or ""."""
        if self.target and platform_of(self.target).processor != platform.machine():
            return "processor"
        return "C library" if self.target or self.command else ""

    @property
    def settings(self):
        """The compiler options."""
        return {**self.options, "target": self.target, "cc": self.cc}

    def missing(self, *, to_run=True):
        """What is not installed here."""
        wanted = (*self.needs, *(self.to_run if to_run else ()))
        return [name.strip(":") for name in wanted if not _is_there(name)]


def _is_there(name):
    if name.endswith(":"):
        return importlib.util.find_spec(name[:-1]) is not None
    if name.startswith("/"):
        return Path(name).exists()
    return shutil.which(name) is not None


def _emulated(processor):
    emulator, folder = f"qemu-{processor}", f"/usr/{processor}-linux-gnu"
    return {"command": (emulator, "-L", folder), "to_run": (emulator, folder)}


ZIG = {"cc": "ziglang", "needs": ("ziglang:",)}
WINE = "/usr/lib/wine/wine64"
MUSL = "/lib/ld-musl-x86_64.so.1"
BOARD = ("qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting", "-kernel")
# What tests/machines/debian_13.sh unpacks.
DEBIAN_13 = ROOT / "build" / "debian-13" / "bin"
PLACES = (
    Place("x86-64 Linux, gcc", cc="gcc", needs=("gcc",)),
    *(
        Place(
            f"x86-64 Linux, gcc {version}",
            cc=f"{DEBIAN_13}/gcc-{version}",
            needs=(f"{DEBIAN_13}/gcc-{version}",),
            command=(f"{DEBIAN_13}/run",),
        )
        for version in (13, 14)
    ),
    Place("x86-64 Linux, clang", cc="clang", needs=("clang",)),
    Place("x86-64 Linux, clang 19", cc="clang-19", needs=("clang-19",)),
    Place("x86-64 Linux, zig", **ZIG),
    Place("x86-64 Linux, musl, zig", "x86_64-linux-musl", **ZIG, to_run=(MUSL,)),
    Place("x86-64 Linux, glibc 2.17, zig", "x86_64-linux-gnu.2.17", **ZIG),
    Place(
        "aarch64 Linux, gcc",
        "aarch64-linux-gnu",
        needs=("aarch64-linux-gnu-gcc",),
        **_emulated("aarch64"),
    ),
    Place("aarch64 Linux, zig", "aarch64-linux-gnu", **ZIG, **_emulated("aarch64")),
    Place(
        "riscv64 Linux, gcc",
        "riscv64-linux-gnu",
        needs=("riscv64-linux-gnu-gcc",),
        **_emulated("riscv64"),
    ),
    Place("riscv64 Linux, zig", "riscv64-linux-gnu", **ZIG, **_emulated("riscv64")),
    Place(
        "x86-64 Windows, gcc",
        "x86_64-windows-gnu",
        needs=("x86_64-w64-mingw32-gcc",),
        command=(WINE,),
        to_run=(WINE,),
    ),
    Place("x86-64 Windows, zig", "x86_64-windows-gnu", **ZIG, command=(WINE,), to_run=(WINE,)),
    Place("aarch64 macOS, zig", "aarch64-macos", **ZIG, to_run=("a Mac",)),
    Place("WebAssembly, zig", "wasm32-wasi", **ZIG, to_run=("wasmtime:",)),
    Place(
        "Cortex-M4, gcc",
        "arm-none-eabihf",
        needs=("arm-none-eabi-gcc",),
        options=CORTEX_M4,
        command=BOARD,
        to_run=("qemu-system-arm",),
        words=(
            f"-I{HERE}",
            str(HERE / "cortex_m" / "start.c"),
            f"-T{HERE / 'cortex_m' / 'memory.ld'}",
            "-nostartfiles",
            "--specs=rdimon.specs",
            "-lrdimon",
        ),
    ),
)


def built(place, function, arguments, directory, name="wanted"):
    """The lowered function, and the files of its library for a place, what is loaded first."""
    lowered = transpile.jit(function, compiler_options=place.settings).lower(*arguments)
    return lowered, lowered.save(directory, name)


def results(place, lowered, paths, arguments, like):
    """The arrays, of the shapes and dtypes of `like`, that the library gives for leaves of the
    arguments."""
    return results_of(place, paths, [arguments[leaf] for leaf in lowered.kept], like)


def results_of(place, paths, arguments, like):
    """The same for the arguments of the function in C."""
    kept = [np.ascontiguousarray(x) for x in arguments]
    if place.target == "wasm32-wasi":
        return _in_wasmtime(paths[0], kept, like)
    said = _run_main(place, paths, _main(paths[0].stem, kept, like))
    code, *lines = said.splitlines()
    assert code == "0", said
    return [
        np.frombuffer(bytes.fromhex(line), one.dtype).reshape(one.shape)
        for line, one in zip(lines, like, strict=True)
    ]


def _main(name, inputs, outputs):
    """A main that calls a function, and prints its code and the bytes of its results."""
    lines = ["#include <stdio.h>", f'#include "{name}.h"']
    lines += [
        f"_Alignas(16) static const unsigned char in{k}[] = {{{_bytes(x)}}};"
        for k, x in enumerate(inputs)
    ]
    lines += [
        f"_Alignas(16) static unsigned char out{k}[{x.nbytes or 1}];" for k, x in enumerate(outputs)
    ]
    given = [f"(const void *)in{k}" for k in range(len(inputs))]
    given += [f"(void *)out{k}" for k in range(len(outputs))]
    lines += [
        "_Alignas(64) static unsigned char memory[MEMORY];",
        "int main(void)",
        "{",
        f"    if ({name}_workspace_size() > sizeof memory)",
        "        return 2;",
        f'    printf("%d\\n", {name}({", ".join([*given, "memory"])}));',
    ]
    for k, x in enumerate(outputs):
        lines += [
            f"    for (unsigned i = 0; i < {x.nbytes}; i++)",
            f'        printf("%02x", out{k}[i]);',
            '    printf("\\n");',
        ]
    return "\n".join([*lines, "    return 0;", "}", ""])


def _bytes(x):
    return ",".join(map(str, x.tobytes() or b"\0"))


def _run_main(place, paths, text):
    """The output of a main, which is linked with a library and run where it is for."""
    folder = paths[0].parent
    (folder / "main.c").write_text(text)
    options = Options().replace(place.settings)
    compiler, platform = toolchain.find_compiler(options), platform_of(place.target)
    memory = 1 << (15 if platform.system == "none" else 24)
    program = folder / ("main.exe" if platform.system == "windows" else "main")
    linked = [f"-Wl,-rpath,{folder}"] if platform.system == "linux" else []
    words = [*toolchain._march(compiler, options.march)] if platform.system == "none" else []
    command = [*compiler.command, *words, *platform.flags, "-std=c11", "-O1", f"-DMEMORY={memory}"]
    command += ["main.c", paths[0].name, *linked, *place.words, "-lm", "-o", program.name]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    done = subprocess.run(
        [*place.command, str(program)],
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        env={**os.environ, "WINEPREFIX": str(folder.parent / "wine"), "WINEDEBUG": "-all"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _in_wasmtime(path, inputs, outputs):
    """The results of a module of WebAssembly; arrays lie in pages that are added to its memory."""
    import wasmtime

    engine = wasmtime.Engine()
    store, linker = wasmtime.Store(engine), wasmtime.Linker(engine)
    store.set_wasi(wasmtime.WasiConfig())
    linker.define_wasi()
    instance = linker.instantiate(store, wasmtime.Module.from_file(engine, str(path)))
    exports = instance.exports(store)
    exports["_initialize"](store)
    memory, name = exports["memory"], path.stem
    workspace = exports[f"{name}_workspace_size"](store)
    sizes = [*(x.nbytes for x in (*inputs, *outputs)), workspace]
    starts = [memory.data_len(store)]
    for size in sizes:
        starts.append(starts[-1] + (size + 63) // 64 * 64)
    memory.grow(store, (starts[-1] - starts[0]) // 65536 + 1)
    for start, x in zip(starts, inputs):
        memory.write(store, x.tobytes(), start)
    assert exports[name](store, *starts[:-1]) == 0
    return [
        np.frombuffer(memory.read(store, start, start + x.nbytes), x.dtype).reshape(x.shape)
        for start, x in zip(starts[len(inputs) :], outputs)
    ]


def ulps(got, want):
    """The largest error of an array of floats, in units in the last place of its largest number:
    smaller ones are sums of what cancels."""
    error = np.abs(got.astype(np.float64) - want).max(initial=0)
    return float(error / np.spacing(np.abs(want).max(initial=0)))


# ------------------------------------------------------------------------------------ a gradient


def loss(weights, x, y):
    """Of a network with a hidden layer, for labels 0 and 1."""
    hidden = np.tanh(x @ weights["w1"] + weights["b1"])
    z = hidden @ weights["w2"] + weights["b2"]
    return (np.logaddexp(np.float32(0), z) - y * z).mean()


gradient = transpile.value_and_grad(loss)


def example():
    """Weights and data in single precision: 16 inputs, 8 hidden units, 32 examples."""
    draw = np.random.default_rng(0).normal
    weights = {
        "w1": draw(size=(16, 8)) / 4,
        "b1": draw(size=8) / 4,
        "w2": draw(size=8) / 3,
        "b2": draw(size=()),
    }
    weights = {name: value.astype(np.float32) for name, value in weights.items()}
    x = draw(size=(32, 16)).astype(np.float32)
    return weights, x, (x[:, 0] > 0).astype(np.float32)
