"""Heat in a plate that is cut into strips, one for each device, which exchange their borders.

    python examples/heat.py                  two devices, threads of this process
    mpiexec -n 2 python examples/heat.py     two devices, processes (the extra `mpi`)

Each device sends its first and last rows to its neighbours with `ppermute`, in each of the steps,
which are a loop of the program. The result is that of the whole plate on one device.
"""

import os
import time

import numpy as np

import transpile
from transpile import lax

if transpile.process_count() == 1:
    os.environ.setdefault("TRANSPILE_NUM_DEVICES", "2")

SIZE = int(os.environ.get("HEAT_SIZE", "512"))
STEPS = int(os.environ.get("HEAT_STEPS", "200"))


def stepped(u, above, below):
    """One explicit step; the rows above and below the strip are those of its neighbours, and what
    is beside the plate is cold."""
    wide = np.pad(np.concatenate([above, u, below]), ((0, 0), (1, 1)))
    around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    return u + 0.2 * (around - 4 * u)


def on_strips(strip):
    """All steps on one device; a neighbour that there is not sends zeros."""
    last = lax.axis_size("strip") - 1
    down = [(k, k + 1) for k in range(last)]
    up = [(k + 1, k) for k in range(last)]

    def step(_, u):
        above = lax.ppermute(u[-1:], "strip", down)
        below = lax.ppermute(u[:1], "strip", up)
        return stepped(u, above, below)

    return lax.fori_loop(0, STEPS, step, strip)


@transpile.jit
def alone(plate):
    """All steps on the whole plate."""
    cold = np.zeros((1, SIZE))
    return lax.fori_loop(0, STEPS, lambda _, u: stepped(u, cold, cold), plate)


def seconds(function, *arguments):
    """The result, and the least time of three calls."""
    times = []
    for _ in range(4):
        start = time.perf_counter()
        result = function(*arguments)
        times.append(time.perf_counter() - start)
    return result, min(times[1:])


def main():
    count = transpile.device_count()
    hot = np.random.default_rng(1).uniform(size=(SIZE, SIZE)) ** 4
    strips = hot.reshape(count, SIZE // count, SIZE)
    own = [device.id for device in transpile.local_devices()]
    result, together = seconds(transpile.pmap(on_strips, axis_name="strip"), strips[own])
    whole, single = None, None
    if transpile.process_index() == 0:
        whole, single = seconds(alone, hot)
        apart = np.abs(result - whole.reshape(strips.shape)[own]).max()
        print(f"{SIZE} x {SIZE} points, {STEPS} steps, {count} devices on", end=" ")
        print(f"{transpile.process_count()} process(es)")
        print(f"strips are {apart:.1e} from the whole plate at most")
        print(f"one device {single:.4f} s, {count} devices {together:.4f} s", end=", ")
        print(f"{single / together:.2f} times as fast")


if __name__ == "__main__":
    main()
