"""The CUDA text of some functions, kept beside their C in tests/golden so that a change is read.

After a wanted change: TRANSPILE_REGENERATE_GOLDEN=1 python -m pytest tests/targets
"""

import difflib
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from golden_functions import FOLDER, FUNCTIONS

import transpile
from transpile.codegen.line_wrapping import WIDTH
from transpile.symbols import c_helpers
from transpile.targets.cuda.device_functions import device_text
from transpile.targets.cuda.toolchain.cublas import identity_of

BY_NAME = {f.__name__: (f, arguments) for f, arguments in FUNCTIONS.items()}
KEPT = sorted(path.stem for path in FOLDER.glob("*.cu"))


def text_of(name):
    """The whole CUDA text of a function."""
    function, arguments = BY_NAME[name]
    return transpile.jit(function).lower(*arguments).as_text("cuda")


def kernels(text):
    """The kernels and the entry function, which stand behind the last function of a team."""
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("static __global__"))
    while lines[start - 1].strip():
        start -= 1
    return "\n".join(lines[start:]) + "\n"


@pytest.mark.parametrize("name", KEPT)
def test_text_is_the_golden_one(name):
    path = FOLDER / f"{name}.cu"
    found = kernels(text_of(name))
    if os.environ.get("TRANSPILE_REGENERATE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    kept = path.read_text(encoding="utf-8")
    difference = "\n".join(
        difflib.unified_diff(kept.splitlines(), found.splitlines(), str(path), "now", lineterm="")
    )
    assert found == kept, difference


def test_kept_are_some():
    assert {"softmax", "layernorm", "total", "dense", "heat"} <= set(KEPT) <= BY_NAME.keys()


@pytest.mark.parametrize("name", KEPT)
def test_lines_are_short(name):
    assert [line for line in text_of(name).splitlines() if len(line) > WIDTH] == []


# What only gcc and clang know, or a function that would be the host's: nvcc refuses both.
OF_THE_HOST = re.compile(r"__builtin_constant_p|noinline|^ *static (?!__device__|__global__)", re.M)


def test_helpers_are_functions_of_the_device():
    texts = {name: device_text(item.text) for name, item in c_helpers.items().items()}
    assert {"subscript_S", "is_known_shift_i64", "fmod_S"} <= texts.keys()
    assert {name: found for name, t in texts.items() if (found := OF_THE_HOST.findall(t))} == {}


def test_what_others_write_is_not_restricted():
    """nvcc keeps in a register what a thread has stored by a restricted pointer, whatever barriers
    there are behind which others change it."""
    x, places = np.zeros((300, 3), np.uint8), np.zeros(6, np.int64)
    functions = {
        "narrow": (lambda x, i: transpile.numpy.asarray(x).at[i].add(x[:6]), (x, places)),
        "solved": (np.linalg.solve, (np.eye(200), np.ones((200, 3)))),
        "sorted": (lambda x: np.sort(x, axis=0), (np.ones((300, 3)),)),
        "softmax": BY_NAME["softmax"],
    }
    waiting = 0
    for function, arguments in functions.values():
        text = transpile.jit(function).lower(*arguments).as_text("cuda")
        for kernel in re.findall(r"^static __global__ .*?^}", text, re.M | re.S):
            head, _, body = kernel.partition("{")
            if re.search(r"__syncthreads|__syncwarp|_sync\(|\b(?:block|warp)_\w+\(", body):
                waiting += 1
                assert re.findall(r"(?<!const )\b\w+ \*__restrict__", head) == [], head
    assert waiting > 6


def test_command_line(tmp_path):
    (tmp_path / "double.py").write_text("def double(x):\n    return 2 * x\n")
    words = ["show", "double.py:double", "--arg", "float32[7]", "--dialect", "cuda"]
    done = subprocess.run(
        [sys.executable, "-m", "transpile", *words],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    head = r"static __global__ void __launch_bounds__\(256\)\n"
    assert re.search(head + r"double_\w*\(const float \*__restrict__ x", done.stdout)


def test_bits_do_not_depend_on_the_process():
    x = np.ones((30, 40))
    texts = {transpile.jit(lambda x: x.sum(0) @ x.T).lower(x).as_text("cuda") for _ in range(2)}
    assert len(texts) == 1


def test_the_key_tells_versions_of_the_library_apart(tmp_path):
    found = []
    for version in ("13.0.1", "13.1.0"):
        folder = tmp_path / version
        folder.mkdir()
        (folder / f"libcublasLt.so.{version}").write_bytes(b"code")
        (folder / "libcublasLt.so.13").symlink_to(f"libcublasLt.so.{version}")
        found.append(identity_of(folder / "libcublasLt.so.13"))
    assert found[0] != found[1]
    (tmp_path / "libcublasLt.so.13").write_bytes(b"more code")
    assert identity_of(tmp_path / "libcublasLt.so.13") not in found
