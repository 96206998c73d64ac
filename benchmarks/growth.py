"""How time grows with size: three workloads in four sizes, each four times as large as the last."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from benchmarks.cases import CASES as WORKLOADS
from benchmarks.networks import normal

SEPARATOR = "@"


@dataclass(frozen=True)
class Growing:
    """A workload that grows.

    sizes    what grows fourfold in numbers or, of a matrix product, in rows and columns twofold
    make     random generator, size -> the arguments
    calls    how many calls make a measurement, of each size
    """

    sizes: tuple[int, ...]
    make: Callable
    calls: tuple[int, ...]


GROWING = {
    "elementwise": Growing(
        (65_536, 262_144, 1_048_576, 4_194_304),
        lambda random, n: (normal(random, n), normal(random, n)),
        (40, 10, 4, 1),
    ),
    "softmax": Growing(
        (64, 256, 1024, 4096), lambda random, n: (normal(random, n, 1024),), (40, 10, 4, 1)
    ),
    "matmul_float32": Growing(
        (256, 512, 1024, 2048),
        lambda random, n: (normal(random, n, n), normal(random, n, n)),
        (20, 4, 1, 1),
    ),
}


def grown(name, number):
    """The case of a workload in one of its sizes."""
    growing = GROWING[name]
    size = growing.sizes[number]
    return replace(
        WORKLOADS[name],
        title=f"{name}, size {size}",
        make=lambda random: growing.make(random, size),
        calls=growing.calls[number],
    )


CASES = {
    f"{name}{SEPARATOR}{size}": grown(name, number)
    for name, growing in GROWING.items()
    for number, size in enumerate(growing.sizes)
}
