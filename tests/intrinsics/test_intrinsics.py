"""Every intrinsic against the C helper that it calls: NumPy meaning, operands, scratch memory."""

import ctypes
import re

import numpy as np
import pytest
from intrinsic_cases import FAMILIES, Draw
from thorough import one_in

from transpile.build import toolchain
from transpile.codegen.render import render
from transpile.errors import InternalError
from transpile.intrinsics.callbacks import Callback
from transpile.intrinsics.lapack import Eig, Eigh, Eigvals, Schur, Svd
from transpile.intrinsics.products import Matmul
from transpile.intrinsics.sorting import ArgsortFurther
from transpile.ir.calls import Call, parsed_signature
from transpile.ir.loop_ir import Buffer, Kernel, Load, Program
from transpile.ir.loop_rewrite import loads, map_statement, written
from transpile.ir.loop_verifier import check
from transpile.options import Options
from transpile.symbols import c_helpers
from transpile.symbols.lapack import find_lapack

TARGETS = ("lapack", "c")
GUARD, FILLED = 64, 0xA5
OPTIONS = Options(blas="none")
CASES = {
    intrinsic: draw
    for family in FAMILIES.values()
    for classes, draw in family.items()
    for intrinsic in classes
}


def intrinsics(of=Call):
    """Every intrinsic of the package."""
    for cls in of.__subclasses__():
        yield from intrinsics(cls)
        if "name" in vars(cls) and cls.__module__.startswith("transpile.intrinsics."):
            yield cls


def calls_of(draw, cases):
    return [call for case in cases for call in case(draw)]


def test_every_intrinsic_is_tried():
    tried = {
        intrinsic for family in FAMILIES.values() for classes in family for intrinsic in classes
    }
    # Exchanges between devices take several programs: tests/parallel has them.
    alone = {intrinsic for intrinsic in intrinsics() if not intrinsic.communicates}
    assert tried == alone - {Callback}
    assert len({intrinsic.name for intrinsic in tried}) == len(tried)


# ------------------------------------------------------------------------------------- operands


@pytest.mark.parametrize("intrinsic", CASES, ids=lambda intrinsic: intrinsic.name)
def test_operands_have_names_and_c_takes_all_of_them(intrinsic):
    for call in CASES[intrinsic](Draw(0, "f8")):
        signature = parsed_signature(call.signature)
        known = {**signature.reads, **signature.writes}
        assert known.keys() <= call.arrays.keys()
        assert set(written(call)) == {
            a.buffer for n, a in call.arrays.items() if n in signature.writes or n not in known
        }
        assert call.scratch == {a.buffer for n, a in call.arrays.items() if n not in known}
        for name, array in call.arrays.items():
            assert not array.strides or len(array.strides) == len(call.shape(name))
        invocation = call.invocation(*TARGETS)
        addresses = [a for a in invocation.arguments if isinstance(a, Load)]
        assert sorted(a.buffer for a in addresses) == sorted(a.buffer for a in call.arrays.values())
        head = re.search(r"\(([^()]*)\)", c_helpers.find(invocation.function).text)
        assert ["*" in parameter for parameter in head[1].split(",")] == [
            isinstance(a, Load | tuple) for a in invocation.arguments
        ]
        assert isinstance(call.flops, int)


def test_a_call_is_that_of_the_first_target_that_has_a_function_for_it():
    (product,), (_, order) = (
        list(CASES[intrinsic](Draw(0, "f8"))) for intrinsic in (Matmul, ArgsortFurther)
    )
    plain, by_blas = product.invocation("c"), product.invocation("lapack", "blas", "c")
    assert (plain.function, plain.routines) == ("matmul_f64", ())
    assert (by_blas.function, by_blas.routines) == ("blas_matmul_f64", (("gemm", "f64"),))
    assert by_blas.arguments == plain.arguments
    assert order.invocation("blas", "c") == order.in_c()
    with pytest.raises(InternalError, match="none of cuda has a function for argsort_further"):
        order.invocation("cuda")


@pytest.mark.parametrize("intrinsic", CASES, ids=lambda intrinsic: intrinsic.name)
def test_a_call_is_rebuilt_by_operands(intrinsic):
    for call in CASES[intrinsic](Draw(1, "f4")):
        assert map_statement(call, lambda e: e) is call
        other = map_statement(
            call, lambda e: Load(f"{e.buffer}_", e.index, e.dtype), lambda index: index + 1
        )
        assert type(other) is type(call)
        assert [a.buffer for a in loads(other)] == [f"{a.buffer}_" for a in loads(call)]
        assert list(written(other)) == [f"{name}_" for name in written(call)]
        assert other.numbers == tuple(n + 1 for n in call.numbers)
        assert call.flops >= 0


# ------------------------------------------------------------------------------- meaning and C


def program_of(draw, calls):
    """A program of these calls, whose temporaries have a guard behind them, and where these are."""

    def buffers(names):
        return tuple(Buffer(n, v.shape, v.dtype) for n, v in draw.values.items() if n in names)

    offsets, guards, end = [], [], 0
    for size, dtype in draw.temporaries.values():
        offsets.append(end)
        guards.append(end + size * dtype.itemsize)
        end = (guards[-1] + GUARD - 1) // GUARD * GUARD + GUARD
    program = Program(
        "calls",
        buffers(draw.values.keys() - draw.changing),
        buffers(draw.changing),
        tuple(Kernel(f"kernel{k}", (call,)) for k, call in enumerate(calls)),
        tuple(Buffer(n, (size,), dtype) for n, (size, dtype) in draw.temporaries.items()),
        tuple(Buffer(n, v.shape, v.dtype, v) for n, v in draw.constants.items()),
        tuple(offsets),
        end,
    )
    check(program)
    return program, [np.arange(g, (g + GUARD - 1) // GUARD * GUARD + GUARD) for g in guards]


def compiled(program, folder):
    """The C function of a program."""
    libraries = (None, find_lapack(OPTIONS))
    text = render(program, OPTIONS, libraries=libraries)
    (folder / "program.h").write_text(text.header)
    (folder / "program.c").write_text(text.source)
    (folder / "program.bin").write_bytes(text.constants)
    options = Options(opt_level=0, extra_cflags=("-Werror",))
    compiler = toolchain.find_compiler(options)
    flags = toolchain.flags(compiler, options)
    path = folder / "program.so"
    words = [*libraries[1].link_flags, f"-I{folder}"]
    toolchain.build_shared(compiler, folder / "program.c", path, flags, words)
    return ctypes.CDLL(str(path)).calls


def run_in_c(function, program, draw, guards):
    """What is in the buffers after a run."""
    memory = {name: values.copy() for name, values in draw.values.items()}
    workspace = np.full(program.workspace + GUARD, FILLED, np.uint8)
    first = -workspace.ctypes.data % GUARD
    workspace = workspace[first : first + program.workspace]
    passed = [memory[b.name] for b in (*program.inputs, *program.outputs)] + [workspace]
    assert function(*(ctypes.c_void_p(a.ctypes.data) for a in passed)) == 0
    for guard in guards:
        assert (workspace[guard] == FILLED).all(), "scratch memory is overrun"
    return memory


def view(memory, array, shape):
    """An array inside its buffer."""
    flat = memory[array.buffer][array.first.index[0] :]
    if not array.strides:
        return flat[: int(np.prod(shape))].reshape(shape)
    strides = [s * flat.itemsize for s in array.strides]
    return np.lib.stride_tricks.as_strided(flat, shape, strides)


def run_in_numpy(calls, draw):
    """What is in the buffers after the calls, by their meaning; and for each array that is written,
    of which the routine's layout is known, the call and a view of it."""
    memory = {name: values.copy() for name, values in draw.values.items()}
    memory |= {name: np.zeros(size, dtype) for name, (size, dtype) in draw.temporaries.items()}
    for call in calls:
        signature = parsed_signature(call.signature)
        reads = [n for n, sizes in signature.reads.items() if sizes is not None]
        found = call.numpy(*(view(memory, call.arrays[n], call.shape(n)).copy() for n in reads))
        writes = [n for n, sizes in signature.writes.items() if sizes is not None]
        found = found if isinstance(found, tuple | list) else (found,)
        for name, value in zip(writes, found, strict=True):
            view(memory, call.arrays[name], call.shape(name))[...] = value
    return memory


def arrays_of(call, memory):
    """The arrays of a call that are no scratch memory, by name."""
    return {
        name: view(memory, array, call.shape(name))
        for name, array in call.arrays.items()
        if array.buffer in memory and array.buffer[0] == "v"
    }


# Decompositions that are not unique: what holds of their results.
def eigh_holds(x, w, v, near):
    near(v * w @ v.conj().T, x)
    near(v.conj().T @ v, np.eye(len(w)))
    assert (np.diff(w) >= 0).all()


def svd_holds(x, u, s, vh, near):
    k = len(s)
    near(u[:, :k] * s @ vh[:k], x)
    for basis in (u.conj().T @ u, vh @ vh.conj().T):
        near(basis, np.eye(len(basis)))
    assert (np.diff(s) <= 0).all()


def eig_holds(x, w, v, near):
    near(x @ v, v * w)
    near(np.linalg.norm(v, axis=0), np.ones(len(w)))


def eigvals_hold(x, w, near):
    near(np.sort_complex(np.round(w, 2)), np.sort_complex(np.round(np.linalg.eigvals(x), 2)))


def schur_holds(x, t, z, near):
    near(z @ t @ z.conj().T, x)
    near(z.conj().T @ z, np.eye(len(t)))


HOLDS = {
    Eigh: eigh_holds,
    Svd: svd_holds,
    Eig: eig_holds,
    Eigvals: eigvals_hold,
    Schur: schur_holds,
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("family", FAMILIES)
@one_in(3)
def test_c_does_what_the_numpy_column_says_and_nothing_else(family, dtype, tmp_path):
    draw = Draw(len(family), dtype)
    calls = calls_of(draw, [case for case in FAMILIES[family].values() for _ in range(5)])
    program, guards = program_of(draw, calls)
    got = run_in_c(compiled(program, tmp_path), program, draw, guards)
    want = run_in_numpy(calls, draw)
    eps = 200 * np.finfo(dtype).eps

    def near(a, b):
        np.testing.assert_allclose(a, b, rtol=eps, atol=eps * max(1, np.max(np.abs(b))))

    for name, before in draw.values.items():
        untouched = np.ones(before.size, bool)
        for call in calls:
            for operand in parsed_signature(call.signature).writes:
                if call.arrays[operand].buffer == name:
                    view({name: untouched}, call.arrays[operand], call.shape(operand))[...] = False
        assert got[name][untouched].tobytes() == before[untouched].tobytes(), "changes too much"
    for call in calls:
        seen, wanted = arrays_of(call, got), arrays_of(call, want)
        if type(call) in HOLDS:
            HOLDS[type(call)](**seen, near=near)
            continue
        for name in wanted.keys() & parsed_signature(call.signature).writes:
            near(seen[name], wanted[name])
