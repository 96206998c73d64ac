"""Options: everything that changes how a program is compiled, in one frozen object.

Every field is part of the cache key. Users write them as `compiler_options={"name": value}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from transpile.machine import USUAL, Machine
from transpile.machine.platforms import machine_for, platform_of
from transpile.util.allowed_cflags import check_flags
from transpile.util.frozen_records import dataclass

# What options that are no free texts take.
_TEXTS = {
    "march": (r"[\w.+,-]*", "the name of a processor"),
    "device": (r"cpu|cuda(:[1-9]\d*)?", "'cpu', 'cuda' or 'cuda:1'"),
    "layout": ("contiguous|strided|dlpack", "'contiguous', 'strided' or 'dlpack'"),
    "cuda_libraries": ("auto|none|cublas", "'auto', 'none' or 'cublas'"),
}


@dataclass(frozen=True)
class Options:
    """How to compile a program.

    opt_level     0 to 3, the compiler's -O level; for huge programs at most. At 1 there is
                  vectorisation, too (`codegen/compile_budget.py`)
    march         the target processor, as in -march (`native`, `x86-64-v3`, `""` for the compiler's
                  default). `auto`: the one that there is; of saved programs x86-64-v3, where the
                  processor is an x86-64. `x86-64,x86-64-v3`: a version for each of these levels,
                  in saved programs; `multi`: for x86-64, x86-64-v3 and x86-64-v4
    openmp        run large loops on several threads
    num_threads   how many threads; 0: `OMP_NUM_THREADS`, or the processors that there are for us.
                  In calls from Python also at most so many of an OpenBLAS
    fast_math     allow the compiler to reorder floating-point arithmetic (-ffast-math)
    precise_math  elementary functions to at most 1 ulp (the system's libm) instead of at most 4
    sanitize      build with the address and undefined-behaviour sanitizers
    debug         debug information and `#line` directives that lead back to the Python lines
    cc            the compiler, a path or a command; `""` looks for one
    extra_cflags  further flags, in order; `util/allowed_cflags.py` says which may be given
    blas          for large matrix products: `none` (the kernel of products/matmul.h, as fast and
                  free of dependencies), `auto` (a BLAS: TRANSPILE_BLAS, NumPy's own OpenBLAS, the
                  scipy-openblas wheels, the system's), or the path of a shared library
    lapack        for decompositions: `auto` (TRANSPILE_LAPACK, the library that `blas` names, or
                  one found as for `blas`), or a shared library: its path, or the name by which the
                  dynamic loader finds it (`liblapack.so.3`)
    layout        `strided`: saved programs have an entry NAME_strided for arrays of any strides;
                  `dlpack`: also NAME_dlpack for tensors (docs/c_contract.md)
    cuda_libraries  the libraries of NVIDIA that programs for a GPU call: `auto` (in calls from
                  Python cuBLASLt for large matrix products, where it is installed), `none`, or
                  `cublas`, which saved programs are then linked with
    device        what the program runs on: `cpu`, `cuda` or `cuda:1`; `jit(f, device=...)` says it
    target        another machine that saved programs are for, as `aarch64-linux-gnu` or
                  `wasm32-wasi` (docs/other_machines.md); `""`: this one
    freestanding  C that needs no C library but math.h, and no threads: for microcontrollers
    float_only    refuse programs that compute with numbers of double precision
    machine       a `transpile.machine.Machine`: the sizes and costs that decide which
                  transformations pay
    """

    opt_level: int = 3
    march: str = "auto"
    openmp: bool = True
    num_threads: int = 0
    fast_math: bool = False
    precise_math: bool = False
    sanitize: bool = False
    debug: bool = False
    cc: str = ""
    extra_cflags: tuple[str, ...] = ()
    blas: str = "none"
    lapack: str = "auto"
    layout: str = "contiguous"
    cuda_libraries: str = "auto"
    device: str = "cpu"
    target: str = ""
    freestanding: bool = False
    float_only: bool = False
    machine: Machine = USUAL

    @property
    def threaded(self) -> bool:
        """Whether loops may run on several threads."""
        return self.openmp and self.num_threads != 1

    def settings(self) -> dict[str, Any]:
        """The values that are part of a cache key; of the machine what differs from the usual."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        changes = values.pop("machine").changes
        return values | ({"machine": changes} if changes else {})

    def replace(self, compiler_options: Mapping[str, Any] | None) -> Options:
        """These options with some changed; an unknown name or a bad value raises ValueError."""
        if not compiler_options:
            return self
        if not isinstance(compiler_options, Mapping):
            raise ValueError(
                f"compiler options are a dict, such as {{'opt_level': 1}}, not {compiler_options!r}"
            )
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        values = dict(known)
        for name, value in compiler_options.items():
            if name not in known:
                raise ValueError(
                    f"unknown compiler option {name!r}; the known ones are: {', '.join(known)}"
                )
            values[name] = _checked(name, value, known[name])
        if compiler_options.keys() & {"target", "freestanding"}:
            values = self._for_platform(values, compiler_options)
        return Options(**values)

    def _for_platform(self, values: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """Values with what follows from target and freestanding: the machine, unless one was
        named, and a single thread where there are no others."""
        target, freestanding = values["target"], values["freestanding"]
        if target and values["device"] != "cpu":
            raise ValueError(f"target={target!r} is for device='cpu'")
        if "machine" not in given and self.machine == machine_for(
            self.target, freestanding=self.freestanding
        ):
            values["machine"] = machine_for(target, freestanding=freestanding)
        if freestanding or not platform_of(target).has_threads:
            values["openmp"] = False
        return values


def _checked(name: str, value: Any, example: Any) -> Any:
    """`value` in the type of `example`, or a ValueError that says what the option takes."""
    if isinstance(example, bool):
        if isinstance(value, bool):
            return value
        wanted = "True or False"
    elif isinstance(example, int):
        largest = 3 if name == "opt_level" else value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= largest:
            return value
        wanted = "an integer from 0 to 3" if name == "opt_level" else "an integer, 0 or more"
    elif isinstance(example, Machine):
        if isinstance(value, Machine):
            return value
        wanted = "a transpile.machine.Machine"
    elif isinstance(example, str):
        pattern, wanted = _TEXTS.get(name, (".*", "a string"))
        if isinstance(value, str) and re.fullmatch(pattern, value, re.DOTALL):
            return platform_of(value).name if name == "target" else value
    else:
        if isinstance(value, str):
            value = value.split()
        if isinstance(value, (list, tuple)) and all(isinstance(flag, str) for flag in value):
            check_flags(value)
            return tuple(value)
        wanted = "a string or a list of strings"
    raise ValueError(f"compiler option {name!r} takes {wanted}, not {value!r}")
