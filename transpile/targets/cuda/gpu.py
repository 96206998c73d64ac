"""The GPU that programs are made for: warps, blocks, memory, and the thresholds of the mapping.

Nothing is measured, and the number of blocks does not depend on the device: a program is the same
text everywhere, and its sums have the same bits on every GPU. The values are those that were best
on an H100 (`benchmarks.gpu_kernels`). Tests pass a GPU for which small
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
    most_threads       threads of a block that shares a long row
    most_blocks        blocks of a launch; threads stride over what is left
    most_slices        blocks of a launch whose blocks have arrays in global memory
    shared_bytes       shared memory for arrays; of the 48 KiB of a block, routines take some, too
    local_bytes        the largest array that a thread has of its own
    least_grid_work    a loop of less work (`analysis.cost_model.work`) shares a block with others
    shortest_of_team   a loop of fewer iterations is not worth a team of threads
    longest_of_warp    a row of more elements has a block, one of at most so many a warp
    elements_of_lane   elements of a row that a thread has at least, where there are enough
    elements_of_thread elements of a row that a thread of a block has, until it has most threads
    most_turns         iterations of a row that a thread has in an unrolled loop
    pack_bytes         what a thread accesses at a time, of contiguous arrays
    fewest_packs       a thread of a team has so many packs of a row, or elements one by one
    most_pack_work     the work of a pack that a thread has
    rows_of_thread     rows of a nest that a thread has, which share elements
    turns_of_thread    iterations that a thread has where nothing is accessed by packs
    tile               the side of a square of elements that a block transposes
    most_sections      kernels that are one launch
    most_pointers      the arrays of these
    register_bytes     what a thread keeps of an array in registers
    least_work_of_host a loop whose iterations have more work is the host's, which reads its
                       predicate
    enough_threads     so many threads read memory as fast as it goes, a few elements each
    enough_teams       so many teams do
    least_split_work   reductions of more work are computed in slices, where they are few
    shortest_slice     elements of a slice that a thread has, at least
    shortest_slice_of_row  those of one that a team has
    enough_iterations  so many iterations keep all threads busy by themselves
    most_tables        blocks that have tables of the elements that they update
    updates_of_element fewer updates of an element, by a block, are not worth a table
    enough_blocks      so many blocks of a routine keep the GPU busy: fewer do less each
    least_blocked_side  matrices with as many rows and columns are decomposed by blocks
    has_cublas         products may be cuBLASLt's
    least_library_flops  those of fewer operations are ours
    least_library_flops_of_halves  the same for halves, which take less time
    library_workspace  the bytes that the library may use
    """

    block: int = 256
    most_threads: int = 1024
    most_blocks: int = (1 << 31) - 1
    most_slices: int = 128
    shared_bytes: int = 24 << 10
    local_bytes: int = 1 << 10
    least_grid_work: int = 1 << 15
    shortest_of_team: int = 16
    longest_of_warp: int = 256
    elements_of_lane: int = 4
    elements_of_thread: int = 8
    most_turns: int = 32
    pack_bytes: int = 16
    fewest_packs: int = 2
    most_pack_work: int = 1 << 11
    rows_of_thread: int = 4
    turns_of_thread: int = 4
    tile: int = 64
    most_sections: int = 64
    most_pointers: int = 400
    register_bytes: int = 128
    least_work_of_host: int = 1 << 20
    enough_threads: int = 1 << 17
    enough_teams: int = 1 << 10
    least_split_work: int = 1 << 18
    shortest_slice: int = 1 << 5
    shortest_slice_of_row: int = 1 << 12
    enough_iterations: int = 1 << 15
    most_tables: int = 1056
    updates_of_element: int = 4
    enough_blocks: int = 132
    least_blocked_side: int = 128
    has_cublas: bool = False
    least_library_flops: int = 1 << 28
    least_library_flops_of_halves: int = 1 << 26
    library_workspace: int = 32 << 20


USUAL = Gpu()


def options_for(options: Options) -> Options:
    """The options with which a program for a GPU is lowered: convolutions are sums of products, or
    matrix products of patches, whatever their size, as C's routine runs on one thread; products of
    halves have tensor cores, and those of a batch are one launch, however large they are; prefixes
    of short rows have a warp for each, whatever combines them."""
    own = {
        "least_convolution_products": 1 << 62,
        "multiplies_halves": 1,
        "most_stacked_terms": 1 << 62,
        "least_stack_terms": 0,
        "shortest_library_sum": 32,
        "has_library_scans": 1,
    }
    return replace(options, machine=Machine(**(options.machine.changes | own)))
