"""The GPU that programs are made for: warps, blocks, memory, and the thresholds of the mapping.

Nothing is measured, and the number of blocks does not depend on the device: a program is the same
text everywhere, and its sums have the same bits on every GPU. Tests pass a GPU for which small
arrays are large: `Gpu(least_grid_work=1)`.
"""

from __future__ import annotations

from transpile.machine import Machine
from transpile.options import Options
from transpile.util.frozen_records import dataclass, replace

# The threads that run in lockstep: of every GPU that CUDA knows.
WARP = 32


@dataclass(frozen=True)
class Gpu:
    """A GPU.

    block              threads of a block: a power of two, from a warp to 256
    most_blocks        blocks of a launch; threads stride over what is left
    most_slices        blocks of a launch whose blocks have arrays in global memory
    shared_bytes       shared memory for arrays; of the 48 KiB of a block, routines take some, too
    local_bytes        the largest array that a thread has of its own
    least_grid_work    a loop of less work (`analysis.cost_model.work`) shares a block with others
    shortest_of_team   a loop of fewer iterations is not worth a team of threads
    longest_of_warp    a row of more elements has a block, one of at most so many a warp
    enough_iterations  so many iterations keep all threads busy by themselves
    enough_blocks      so many blocks of a routine keep the GPU busy: fewer do less each
    """

    block: int = 256
    most_blocks: int = 1024
    most_slices: int = 128
    shared_bytes: int = 24 << 10
    local_bytes: int = 1 << 10
    least_grid_work: int = 1 << 15
    shortest_of_team: int = 16
    longest_of_warp: int = 1024
    enough_iterations: int = 1 << 15
    enough_blocks: int = 132


USUAL = Gpu()


def options_for(options: Options) -> Options:
    """The options with which a program for a GPU is lowered: convolutions are sums of products, or
    matrix products of patches, whatever their size, as C's routine runs on one thread; products of
    halves have tensor cores, and those of a batch are one launch, however large they are."""
    own = {
        "least_convolution_products": 1 << 62,
        "multiplies_halves": 1,
        "most_stacked_terms": 1 << 62,
        "least_stack_terms": 0,
    }
    return replace(options, machine=Machine(**(options.machine.changes | own)))
