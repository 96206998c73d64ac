"""Programs for tests of MPI: `python mpi_programs.py NAME ARGUMENT` under `mpiexec` runs one.

Those with results are run by the tests, too, on threads: the same function of all rows.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import transpile
from transpile import Mesh, P, lax, pmap, shard_map

DTYPES = ("?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "bfloat16")
GROUPS = {2: [[1], [0]], 3: [[2, 0, 1]], 4: [[3, 0], [1, 2]]}
MOVES = {
    "all_gather": lambda x, n: lax.all_gather(x, "i", axis=x.ndim - 1),
    "all_to_all": lambda x, n: lax.all_to_all(
        np.stack([x] * n) * np.arange(n).reshape(-1, *[1] * x.ndim).astype(x.dtype), "i", 0, 1
    ),
    "ppermute": lambda x, n: lax.ppermute(x, "i", [(0, n - 1), (n - 1, 1)][: n - 1]),
    "swapped": lambda x, n: lax.ppermute(x, "i", [(k, n - 1 - k) for k in range(n)]),
    "pbroadcast": lambda x, n: lax.pbroadcast(x, "i", n - 1),
    "groups": lambda x, n: lax.all_gather(x, "i", axis_index_groups=GROUPS[n]),
}
LOW = {"opt_level": 0}  # as in the other tests


def dtype_of(name):
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def rows(n, seed=0):
    """Arguments for n devices: by dtype, a short and a long array for each device."""
    random = np.random.default_rng(seed)
    arrays = []
    for name in DTYPES:
        dtype = dtype_of(name)
        long = (int(random.integers(40, 60)), int(random.integers(90, 120)))
        for shape in (tuple(random.integers(1, 5, size=random.integers(0, 3))), long):
            x = random.normal(size=(n, *shape)) * 50
            if dtype.kind == "c":
                x = x + 1j * random.normal(size=x.shape)
            elif dtype.kind in "fV":
                x[random.random(x.shape) < 0.02] = np.nan
            if dtype.kind in "u?b":
                x = np.abs(x).astype(np.int64) % 3
            arrays.append(x.astype(dtype))
    return arrays


def collectives_of(n):
    """All reductions of all dtypes; of the moves, which do not look at values, some."""

    @transpile.jit(compiler_options=LOW)
    def collectives(arrays):
        results = []
        for number, x in enumerate(arrays):
            results += [lax.psum(x, "i"), lax.pmax(x, "i"), lax.pmin(x, "i")]
            if x.dtype != bool:
                results.append(lax.psum_scatter(np.stack([x] * n), "i"))
                results.append(lax.psum(x, "i", axis_index_groups=GROUPS[n]))
            for which in (number // 2, number // 2 + 3):
                x = np.broadcast_to(x, x.shape or (1,))
                results.append(list(MOVES.values())[which % len(MOVES)](x, n))
        return results

    return collectives


def run_collectives(arrays, n):
    return pmap(collectives_of(n), axis_name="i")(arrays)


def run_products(devices):
    """A product of matrices that are cut along both axes, in a loop; a mesh of four devices."""
    random = np.random.default_rng(3)
    a, b = random.normal(size=(6, 60)), random.normal(size=(60, 150))
    mesh = Mesh(np.array(devices).reshape(2, 2), ("i", "j"))

    @shard_map(mesh=mesh, in_specs=(P("i", "j"), P("j")), out_specs=(P("i"), P("j", "i"), P()))
    @transpile.jit(compiler_options=LOW)
    def product(a, b):
        index = lax.axis_index("i") * 10 + lax.axis_index("j")
        return lax.psum(a @ b, "j"), np.full((1, 1), index), lax.pmean(a.sum(), ("i", "j"))

    return product(a, b)


def run_nested(rows):
    """A map inside of another, over twice as many devices."""

    @transpile.jit(compiler_options=LOW)
    def outer(x):
        inner = pmap(lambda v: (v / lax.psum(v, ("i", "j")), lax.psum(v, "i")), axis_name="j")
        return inner(x)

    return pmap(outer, axis_name="i")(rows)


# ------------------------------------------------------------------------------ programs of ranks


def save(folder, results):
    leaves = [np.asarray(x) for x in transpile.tree.leaves(results)]
    leaves = [x.view(f"V{x.dtype.itemsize}") for x in leaves]
    np.savez(f"{folder}/{transpile.process_index()}.npz", *leaves)


def collectives(folder):
    """Collectives, meshes and nested maps, on as many devices as there are."""
    n, own = transpile.device_count(), [d.id for d in transpile.local_devices()]
    results = [run_collectives([x[own] for x in rows(n)], n)]
    if n == 4:
        results.append(run_products(transpile.devices()))
        results.append(run_nested(np.arange(4.0).reshape(2, 2)[transpile.process_index()][None]))
    save(folder, results)


def facts(_):
    """What a process is told of itself and the others, as a line."""
    time.sleep(0.1 * transpile.process_index())
    process = transpile.process_index()
    other = transpile.local_devices(process_index=1 - process)
    given = transpile.pmap(lambda x: lax.psum(x, "i"), "i", devices=transpile.local_devices())
    reversed_ = transpile.pmap(
        lambda x: lax.axis_index("i"), "i", devices=transpile.devices()[::-1]
    )
    some = transpile.pmap(lambda x: x + lax.axis_index("i"), "i", in_axes=None, axis_size=4)
    x = np.ones((2, 1))
    print(
        process,
        transpile.process_count(),
        transpile.process_indices(),
        transpile.device_count(),
        transpile.local_device_count(),
        [d.id for d in transpile.local_devices()],
        [(d.id, d.process_index, d.local_hardware_id) for d in other],
        given(x).ravel(),
        reversed_(x).ravel(),
        some(10.0),
        transpile.distributed.is_initialized(),
        flush=True,
    )


def refused(_):
    """Calls that are errors of one process alone, after which all go on."""
    f = lambda x: lax.psum(x, "i")
    for call in (
        lambda: transpile.jit(pmap(f, "i"))(np.ones(1)),
        lambda: pmap(f, "i")(np.ones(2)),
        lambda: pmap(f, "i", in_axes=None, axis_size=3)(1.0),
        lambda: pmap(f, "i", devices=[transpile.devices()[1 - transpile.process_index()]])(
            np.ones(1)
        ),
        lambda: transpile.local_devices(process_index=2),
        lambda: transpile.distributed.initialize(),
    ):
        try:
            call()
        except (ValueError, RuntimeError, transpile.errors.UnsupportedError) as error:
            if transpile.process_index() == 0:
                print(type(error).__name__, str(error).split(": ", 1)[-1])
    assert pmap(f, "i")(np.ones(1)) == 2


def parents(_):
    """Children of processes: one that is started, one that is forked."""
    total = pmap(lambda x: lax.psum(x, "i"), "i")
    total(np.ones(1))
    program = "import transpile; print(transpile.process_count())"
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    reading, writing = os.pipe()
    if not os.fork():
        try:
            total(np.ones(1))
        except transpile.errors.DeviceError as error:
            os.write(writing, str(error).encode())
        os._exit(3)  # mpi4py would end MPI
    os.close(writing)
    with os.fdopen(reading) as file:
        said = file.read()
    status = os.waitstatus_to_exitcode(os.wait()[1])
    sys.stdout.write(f"{child.stdout.strip()} {status} {said} {total(np.ones(1))[0]}\n")


def joined(_):
    """Processes that join when they say so, and say so twice."""
    assert not transpile.distributed.is_initialized()
    transpile.distributed.initialize()
    total = pmap(lambda x: lax.psum(x, "i"), "i")(np.ones(1))
    transpile.distributed.shutdown()
    sys.stdout.write(f"{int(total[0])}\n")


def alone(_):
    """Processes that are alone, though a launcher has started several."""
    facts = transpile.process_count(), transpile.device_count(), transpile.process_index()
    sys.stdout.write("{} {} {}\n".format(*facts))


# -------------------------------------------------------------------------------- ranks that fail


class BrokenError(Exception):
    """Of one process."""


def failing(way):
    """One process fails in some way while the other waits for it, which nothing else would end."""
    rank = transpile.process_index()
    Path(os.environ["RANKS"], str(os.getpid())).touch()
    total = pmap(lambda x: lax.psum(x, "i"), "i")
    length = 5000 if way.startswith("long") else 3
    way = way.removeprefix("long ")
    total(np.ones((1, length)))

    def callback(number):
        if number == 1:
            if way == "callback":
                raise BrokenError("device 1 is broken")
            if way == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            os._exit(7)

    def calls_back(x):
        transpile.debug.callback(callback, lax.axis_index("i"))
        return lax.psum(x, "i")

    def loops(x):
        """Device 1 makes one exchange less."""
        last = 4 - lax.axis_index("i")
        return lax.while_loop(
            lambda c: c[0] < last, lambda c: (c[0] + 1, lax.psum(c[1], "i")), (0, x)
        )

    if way in ("callback", "killed", "exits"):
        pmap(calls_back, "i")(np.ones(1))
    elif way == "raises":
        if rank:
            raise BrokenError("process 1 is broken")
        total(np.ones((1, length)))
    elif way == "ends":
        if not rank:
            total(np.ones((1, length)))
    elif way == "shapes":
        total(np.ones((1, 3 + rank)))
    elif way == "functions":
        other = pmap(lambda x: lax.pmax(x, "i"), "i")
        (other if rank else total)(np.ones((1, 3)))
    elif way == "counts":
        pmap(loops, "i")(np.ones(1))
        total(np.ones((1, 3)))
    elif way == "kinds":
        diverging = lambda x: lax.cond(
            lax.axis_index("i") > 0,
            lambda v: lax.all_gather(v, "i").sum(0),
            lambda v: lax.psum(v, "i"),
            x,
        )
        pmap(diverging, "i")(np.ones((1, length)))
    elif way == "caught":
        try:
            total(np.ones((1, 3 + rank)))
        except transpile.errors.DeviceError:
            total(np.ones((1, 3)))
    print("went on")


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else "")
