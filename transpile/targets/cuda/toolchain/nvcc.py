"""Find nvcc, choose its flags, run it.

It is the one of CUDA_HOME, the first on PATH, the one of /usr/local/cuda, or that of the package
`nvidia-cuda-nvcc` (the extra `cuda`). CUDA's library for the host is looked for beside it.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from transpile.build.commands import output_of, running
from transpile.build.compiler_probe import command_identity, writable_by_all
from transpile.disk_cache.concurrent_steps import Steps
from transpile.errors import CompilationError, CompilerNotFoundError, UnsupportedError
from transpile.options import Options
from transpile.util.escapes import utf8
from transpile.util.frozen_records import dataclass

# Contractions are ours to decide, as in C; `-cudart shared`: all programs share one library.
_FLAGS = ("-std=c++17", "--fmad=false")
_OF_LIBRARIES = ("-shared", "-cudart", "shared", "-Xcompiler=-fPIC")
# Machine code and PTX alone, of a file without a part for the host: a third of the time.
_OF_DEVICE = ("-fatbin",)
_USUAL = Path("/usr/local/cuda/bin/nvcc")
_LIBRARY_FOLDERS = ("lib64", "lib", "targets/*/lib")
# Options that say how C is compiled, and mean nothing to nvcc.
_OF_C = ("sanitize", "extra_cflags", "cc")


@dataclass(frozen=True)
class Nvcc:
    """A CUDA compiler.

    path       of nvcc
    origin     how it was found
    libraries  the folder with CUDA's library for the host
    """

    path: Path
    origin: str
    libraries: Path

    @property
    def identity(self) -> str:
        """The version, path, size and modification time: an ingredient of the cache key."""
        version = output_of([str(self.path), "--version"]).strip().rpartition("\n")[2]
        return f"{version}, {command_identity([str(self.path)])}"


def find_nvcc() -> Nvcc:
    """The nvcc to use. Raises CompilerNotFoundError, which says where it was looked for."""
    home = os.environ.get("CUDA_HOME", "")
    problems = []
    for path, origin in _candidates():
        if not os.access(path, os.X_OK):
            if home:
                break
            continue
        if problem := writable_by_all(str(path)):
            problems.append(f"; {path} is not run: {problem}")
            continue
        libraries = library_folder(path)
        if libraries is not None:
            return Nvcc(path, origin, libraries)
        problems.append(f"; beside {path} there is no libcudart.so")
    where = (
        f"in {home}/bin, which the environment variable CUDA_HOME names"
        if home
        else "on PATH, in /usr/local/cuda/bin and in the Python package nvidia-cuda-nvcc"
    )
    raise CompilerNotFoundError(
        f"no CUDA compiler was found (looked for nvcc {where}): install NVIDIA's CUDA toolkit, or "
        "`pip install 'transpile[cuda]'`, and name its folder in CUDA_HOME if it is elsewhere"
        + "".join(problems)
    )


def _candidates() -> Iterator[tuple[Path, str]]:
    """Where nvcc may be, the user's choice alone if there is one."""
    if home := os.environ.get("CUDA_HOME", ""):
        yield Path(home, "bin", "nvcc"), "CUDA_HOME"
        return
    for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if os.path.isabs(directory):
            yield Path(directory, "nvcc"), "PATH"
    yield _USUAL, "its usual place"
    for place in wheel_folders():
        yield place / "bin" / "nvcc", "the package nvidia-cuda-nvcc"


def wheel_folders() -> Iterator[Path]:
    """The folders `nvidia/cu13` of installed packages, and those of later versions."""
    for directory in sys.path:
        if os.path.isabs(directory):
            yield from sorted(Path(directory).glob("nvidia/cu*"), reverse=True)


def library_folder(nvcc: Path) -> Path | None:
    """The folder with libcudart.so beside an nvcc; None without one."""
    root = nvcc.resolve().parents[1]
    for pattern in _LIBRARY_FOLDERS:
        for folder in sorted(root.glob(pattern)):
            if next(folder.glob("libcudart.so*"), None) is not None:
                return folder
    return None


def flags(
    options: Options, architectures: Sequence[str], *, for_host: bool = False
) -> tuple[str, ...]:
    """The flags for these architectures, `sm_90`: machine code for each, and for later ones the
    PTX of the last; `for_host` in a shared object. UnsupportedError for options that nvcc has no
    flag for."""
    for name in _OF_C:
        if getattr(options, name) != getattr(Options(), name):
            raise UnsupportedError(
                f"the compiler option {name!r} is for C, and device={options.device!r} is "
                "compiled by nvcc"
            )
    chosen = [*_FLAGS, *(_OF_LIBRARIES if for_host else _OF_DEVICE), f"-O{options.opt_level}"]
    for name in architectures:
        virtual = name.replace("sm_", "compute_")
        last = f",{virtual}" if name == architectures[-1] else ""
        chosen.append(f"-gencode=arch={virtual},code=[{name}{last}]")
    if len(architectures) > 1:
        chosen.append("--threads=0")  # as many as there are architectures, or processors
    if options.fast_math:
        chosen += ["--fmad=true", "--prec-div=false", "--prec-sqrt=false"]
    if options.debug:
        chosen.append("-lineinfo")
    return tuple(chosen)


def linking(libraries: Sequence[str]) -> Iterator[str]:
    """The flags that link a shared object with these files."""
    for path in map(Path, libraries):
        yield from (f"-L{path.parent}", f"-l:{path.name}")


_ARCHITECTURE = re.compile(r"sm_\d+[af]?")


def named_architectures(options: Options) -> tuple[str, ...]:
    """The architectures that the option `march` names; () for that of the device."""
    if options.march in ("auto", "native"):
        return ()
    names = tuple(options.march.split(","))
    for name in names:
        if not _ARCHITECTURE.fullmatch(name):
            raise ValueError(
                f"for device={options.device!r} the compiler option 'march' takes 'auto', or "
                f"architectures such as 'sm_90' or 'sm_80,sm_90', not {options.march!r}"
            )
    return names


def compiling(nvcc: Nvcc, source: Path, output: Path, chosen: Sequence[str]) -> Steps[str]:
    """The steps that compile the CUDA file `source` into `output`, both in one directory; the log.
    Raises CompilationError with the lines of the file that nvcc's errors name."""
    directory = source.parent.resolve()
    command = [str(nvcc.path), *chosen, source.name, "-o", output.name]
    shown = utf8(shlex.join(command))
    try:
        status, text = yield from running(command, directory)
    except OSError as error:
        raise CompilationError(f"nvcc could not be run: {error}\n{shown}") from error
    text = utf8(text.replace(str(directory), "."))
    if status == 0:
        return f"{shown}\n{text}"
    reason = f"exit status {status}" if status > 0 else f"killed by signal {-status}"
    lines = "".join(_quoted(text, source))
    raise CompilationError(f"nvcc failed ({reason})\n{lines}{shown}\n{text}")


_ERROR = re.compile(r"^(\S+)\((\d+)\): error: (.*)$", re.MULTILINE)


def _quoted(text: str, source: Path) -> Iterator[str]:
    """The first ten errors, each with its line of the CUDA file."""
    lines = source.read_text(encoding="utf-8", errors="replace").splitlines()
    for file, number, error in list(dict.fromkeys(_ERROR.findall(text)))[:10]:
        inside = file.endswith(source.name) and int(number) <= len(lines)
        line = lines[int(number) - 1].strip() if inside else f"(a line of {file})"
        yield f"  {file}:{number}: {error}\n    {line}\n"
