"""The machine that programs are made for: caches, vectors, threads, and thresholds that follow.

Passes, and the phases of lowering, ask their machine whether a transformation pays: no threshold
stands in one of them. A constant that does stand there is a property of C, of a routine of
`runtime_c/`, or of an algorithm that would take too long, and says so. Nothing is measured: the
usual machine is a processor of the last ten years with AVX2, AVX-512 or NEON, and the same
everywhere, so that the text of a program is. A test in which small arrays are to meet a
transformation says so: `Options(machine=Machine(tile=4))`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class derived:
    """A threshold that follows from others, unless a machine is given its own."""

    def __init__(self, compute: Callable[[Any], int]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, machine: Machine | None, owner: type) -> int:
        return self.compute(owner if machine is None else machine)


class Machine:
    """A machine: the usual one, but for the values that are given. It never changes.

    The attributes of the class are the usual machine's. An instance holds what differs from them,
    which is what a cache key says of it: nothing, usually.

    Sizes end in `_bytes`, amounts of work in `_work` (units of `analysis.cost_model.work`) or
    `_flops`; `fewest`, `least` and `shortest` are the first value at which something pays, `most`,
    `largest` and `longest` the last one.
    """

    # ---------------------------------------------------------------------------- the processor

    l1_bytes: int = 32 << 10
    # The second cache belongs to one core; of the last one, this much stays ours.
    l2_bytes: int = 512 << 10
    l3_bytes: int = 8 << 20
    cache_line_bytes: int = 64
    # The widest vectors, of AVX-512: what has whole ones of them has whole ones of all.
    vector_bytes: int = 64
    # Threads among which loops are shared out. It is no limit: more of them share as many parts.
    cores: int = 16

    # ------------------------------------------------------------- graphs (passes)

    # A value of no more operations an element is computed again rather than kept, or read.
    cheap_weight: int = 2
    # Where each element is read so often, a value of any operations is kept.
    often_read: int = 8
    # Branches with no more operations than this in them all are computed, and one chosen, where so
    # many results differ: a branch that is predicted costs less than more choices.
    cheap_branches: int = 8
    most_choices: int = 2
    # Results of constants that are small enough for the text; the shortest table that is.
    largest_folded: int = 64
    shortest_table: int = 4
    # Sums of so many vectors of so few components are a sum for each component.
    most_components: int = 4
    shortest_component_sum: int = 16
    lines_in_lanes: int = 512  # how long those are that a sort has side by side in vectors
    # Windows of as many taps are written out; sums and extremes of more go axis by axis, and others
    # are a loop. More phases of strides and gaps are not told apart.
    most_summed_taps: int = 9
    most_written_taps: int = 64
    most_phases: int = 64
    # Convolutions: sums of as many products are written out where the weights of a group make so
    # few features; products that are worth calling the library.
    most_written_terms: int = 32
    few_features: int = 3
    least_convolution_products: int = 1 << 14

    # ------------------------------------------------------------- values, and their loops (fusion)

    # Expressions of more parts are cut, so that lines of C stay readable and compile fast.
    largest_expression: int = 40
    # Reductions, and contractions, of no more elements than this are written out.
    longest_unrolled_reduction: int = 8
    longest_unrolled_contraction: int = 4
    # A slice is put into an array in memory, among others, when it is at most one of so many parts
    # of it, or when more slices than this are put into one array; other updates are choices in each
    # element. A slice is copied before its array changes when it is one of so many parts of it.
    parts_of_updated: int = 4
    most_chosen_updates: int = 4
    parts_of_copied: int = 8
    # A node tries to join so many of the latest loops; more nodes do not share one; unrelated nodes
    # do only where a loop of their own costs more than its iterations; and what reads a running
    # value and takes more operations has a loop of its own, in lanes.
    most_candidates: int = 8
    most_fused: int = 128
    most_unrelated_iterations: int = 4096
    cheap_scan_reader: int = 8
    # Arrays of no more elements are copied when an iteration hands them on: they fit in registers.
    most_copied_elements: int = 16

    # ------------------------------------------------------------- calls of routines (library)

    @derived
    def slots(self) -> int:
        """Parts that are made at a time, with scratch memory of their own: one for each core."""
        return self.cores

    # Products that are calls: the shortest side, or the fewest rows of so many columns, and half as
    # many terms; multiplications, of the largest in a stack of several, and of the smallest stack.
    shortest_product_side, fewest_product_rows, widest_looped_product = 4, 2, 32
    least_product_terms: int = 1 << 11
    most_stacked_terms: int = 1 << 22
    least_stack_terms: int = 1 << 19
    # 1 where products of halves, whose sums are float32, have units of their own: tensor cores.
    multiplies_halves: int = 0
    # Cumulative sums of shorter rows are a loop like any other, which fuses with what is around it.
    shortest_library_sum: int = 8192
    # 1 where prefixes by any operation, and of integers, are calls, too.
    has_library_scans: int = 0
    # No more ranks of a sorted row than this, of complex numbers than that, of positions of 64-bit
    # ones than the last, are selected: in rows that are not sorted in lanes, and in a single one.
    most_ranks, most_complex_ranks, most_wide_ranks = 1024, 8, 8
    longest_sorted_in_lanes: int = 512
    shortest_selection: int = 64
    # The first True of longer rows is searched for, rather than the least position of all of them;
    # and the one that decides whether all or any of so many hold.
    shortest_bool_search: int = 16
    shortest_truth_search: int = 256
    # argmax of longer rows finds the block that has it, of so many elements, less in short rows;
    # columns of fewer blocks have them half as long, wider matrices have none.
    search_block: int = 256
    shortest_search_block: int = 64
    fewest_row_blocks: int = 4
    column_search_block: int = 128
    fewest_search_blocks: int = 8
    widest_blocked_search: int = 64
    # Shorter complex rows are compared one by one, such of floats as integers; blocks of parts.
    shortest_row_of_parts, longest_row_of_keys, block_of_parts = 16, 63, 512
    # Scratch memory of the rows that are sorted at a time.
    sort_bytes: int = 1 << 24

    # Convolutions: what features in lanes cost beyond what is counted, relative to pixels; the
    # numbers in all panels of weights, and the terms in one of them; the pixels that repay panels.
    feature_lanes_cost: int = 1
    most_panel_numbers: int = 1 << 21
    longest_panel: int = 1 << 15
    repaying_pixels: int = 4096

    @derived
    def images_bytes(self) -> int:
        """Images that are copied at a time, between which threads wait for each other."""
        return self.l3_bytes // 2

    # Fourier transforms that lie side by side in memory, and those that lie one after the other,
    # are made in lanes together up to these lengths; the latter longer ones too where there are so
    # many elements that they come from memory, which then has several rows to fetch at a time.
    longest_across: int = 4096
    longest_along: int = 256
    longest_streamed: int = 2048
    least_streamed: int = 1 << 17
    # From this length on the threads share one transform, rather than have one each; up to these
    # lengths its factors are one table, and its rows and columns stay in the cache.
    shortest_shared_transform: int = 1 << 15
    longest_factor_table: int = 1 << 14
    longest_cached_transform: int = 1024

    # ------------------------------------------------------------- texts, and compilers (codegen)

    # Programs of more names and numbers (`codegen/plan/summary.py`) are long, and huge.
    # Steps of training of a transformer have 4000 to 6000, a filter with all that it is tested by
    # 13000; arrays passed through 1000 operations of a network without loops have 10000.
    longest_usual_program: int = 3000
    longest_long_program: int = 15_000
    # More statements than this in all copies of helpers together make a program long: gcc takes a
    # millisecond for three of them in vector lanes. Helpers of fewer statements than the other are
    # cheaper to copy than to call.
    most_inlined_statements: int = 2000
    fewest_called_statements: int = 10
    # In programs of more operations, which may call helpers, selects choose between names.
    most_chosen_operations: int = 100
    # Routines of more characters of C, with all that they call, have an object file of their own:
    # gcc takes some 15 microseconds for each character, and 30 milliseconds for another file.
    largest_inlined_routine: int = 5000

    # ------------------------------------------------------------- calls of programs (runtime)

    # Programs of less work take microseconds, or tens of them where nothing is in lanes: other
    # threads of Python may wait for them.
    least_lengthy_work: int = 30_000

    # ------------------------------------------------------------- threads (schedule/parallelize)

    # A parallel region costs some microseconds, and on a busy machine the time slice that its last
    # thread waits for. What one thread does in 20 to 40 microseconds is not worth that.
    least_parallel_work: int = 1_000_000
    # Loops with no more loads, numbers and operations than this are written twice, for a team and
    # for one thread, where runtime sizes say which is faster.
    most_repeated_parts: int = 400
    # An outer loop shorter than this shares its iterations out together with the next one.
    shortest_shared_alone: int = 64

    @derived
    def fewest_shared(self) -> int:
        """A loop of the user's has an iteration for each core, or what is inside it is shared out;
        a loop that is taken apart keeps as many."""
        return self.cores

    # ------------------------------------------------------------- loops in lanes (schedule/lanes)

    # Shorter loops are unrolled by the compiler; those of the user's are longer.
    shortest_simd, shortest_users_simd = 4, 16
    # Copies that stride through memory are put together number by number in shorter loops than
    # this, which compilers do better without a mark.
    shortest_strided_simd: int = 32
    # Several elements of each row of more elements than this are no loop in lanes: gcc loads and
    # shuffles whole rows of them, which takes 25 times as long for rows of 1024, and gcc seconds.
    widest_group: int = 32
    # Vectors of integers that are put together number by number: wider ones take longer than these.
    strided_lanes: int = 4

    @derived
    def lanes(self) -> int:
        """Numbers of the smallest float in a vector."""
        return self.vector_bytes // 4

    # Column reductions: the most columns of a strip, of a triangle's one, the bytes of a row of one
    # that is read again, strips for the threads, columns of an array not walked as it stands.
    strip, triangle_strip, repeated_strip_bytes, fewest_strips, fewest_columns = 256, 64, 512, 4, 8

    # Short rows, one in each lane: the numbers of a row, or of a table that all rows read, and how
    # many rows go together: one of these if they are a multiple of it, else the first. Few: short
    longest_short_row, longest_shared_row = 24, 256
    row_strips: tuple[int, ...] = (32, 16, 24, 40, 48)
    fewest_row_strips, longest_row_of_few, fewest_short_rows = 4, 15, 8
    # Iterations with loops of their own, one in each lane: four vectors, as operations wait for
    # each other; the fewest of them, operations of a step that pay, and branches that still do.
    divergent_lanes, fewest_divergent = 32, 32
    fewest_divergent_operations, most_divergent_branches = 3, 6

    @derived
    def row_strip_bytes(self) -> int:
        """All arrays of a strip of rows stay in the first cache, with a fourth of it for others."""
        return self.l1_bytes // 4 * 3

    # Rows as columns: a shorter loop has few vectors, or none; to copy a number takes as long as to
    # read so many of them out of their rows into lanes; and the iterations that a loop is taken to
    # have whose end is known at run time only.
    shortest_reading_columns: int = 16
    reads_worth_a_copy: int = 16
    usual_extent: int = 64

    # Sums in blocks: the elements of a block, on which the bits of a result depend, so that it is
    # the same on every machine; how many are worth the trouble; and the numbers of a product in
    # order after which it is asked whether they are 0 or infinite.
    sum_block, fewest_sum_blocks = 4096, 4
    product_block: int = 256

    # Private tables of a scatter: a table has at most one element for so many updates of its part;
    # fewer updates than this are not worth the tables; subscripts that take more work than this are
    # computed in vector lanes.
    updates_of_an_element: int = 8
    fewest_updates: int = 1 << 16
    least_subscript_work: int = 20

    @derived
    def scatter_tables(self) -> int:
        """A table for each core."""
        return self.cores

    @derived
    def subscript_block(self) -> int:
        """Subscripts of 8 bytes that are computed at a time: a fourth of the first cache."""
        return self.l1_bytes // 4 // 8

    # Random bits before the functions of them: at least so many blocks; loops of between so many
    # elements are one block; and so many arrays of bits in a loop, which stay in the first cache.
    fewest_draw_blocks: int = 4
    shortest_drawn: int = 64
    longest_drawn: int = 4096
    most_draws: int = 2

    @derived
    def draw_block(self) -> int:
        """Elements of 8 bytes whose bits are drawn at a time: a fourth of the first cache."""
        return self.l1_bytes // 4 // 8

    # Elementary functions of loops that have sums or recurrences: shorter ones, and more functions,
    # are left as they are. A block is so short that the processor begins with the functions of one
    # while it waits for the sums of the block before.
    shortest_function_loop: int = 16
    most_functions: int = 4
    function_block: int = 64

    # Elements of float16 that are converted at a time, which stay in the first cache as float32;
    # loops that are shorter, or convert more arrays, are left as they are.
    half_block: int = 256
    shortest_half_loop: int = 16
    most_half_arrays: int = 8

    # Columns that are packed for lanes: the stride, in elements, that compilers do not put together
    # by shuffles; the work on an element that repays the copy, that of an elementary function; the
    # iterations of the shortest loop, and of a block; and the columns of a block. Rows of more
    # vectors than the last are not packed with others: their last vector is a small part of them.
    shortest_packed_stride: int = 5
    least_packed_work: int = 10
    shortest_packed: int = 16
    packed_block: int = 128
    most_packed: int = 16
    most_row_vectors: int = 4
    # Work on an element that makes up for copies of what is shorter than a vector.
    least_padded_work: int = 60
    # Rests of known lengths: work for each vector that ends a loop; vectors of a long loop, and of
    # one that finds extremes.
    least_saved_work: int = 240
    most_vectors_of_rest: int = 32
    most_vectors_of_extremes: int = 128

    # Flags of NaNs beside a search for the largest float: shorter loops are over before it pays;
    # those over columns do not wait for the iteration before.
    shortest_search: int = 32
    fewest_searched_rows: int = 16

    # Flags as wide as the numbers in searches for any or all: in longer loops they make no
    # difference up to so heavy iterations, and in shorter ones there are no lanes to fill.
    shortest_any: int = 8
    longest_any, heaviest_awaited = 512, 8

    # Unroll-and-jam: the rows of a group, and of a window; fewer rows are over before it pays; the
    # most operations on each element, and accumulators of a column, for 16 or 32 registers.
    jammed_rows, fewest_jammed_rows = 4, 16
    fewest_window_rows, most_window_rows = 4, 16
    most_jammed_flops: int = 24
    most_jammed_accumulators: int = 6
    # Rows that are reduced: the operations on each element, the accumulators of a group, and the
    # statements of a row around its loops, each of which stands in the text once a row.
    most_jammed_row_flops: int = 6
    most_jammed_chains, most_jammed_statements = 8, 6
    # Extremes in parts: chains and operations of an iteration, multiples of elements, the fewest.
    most_chains_of_parts, most_flops_of_parts, part_multiple, shortest_in_parts = 12, 12, 64, 512

    @derived
    def shortest_jammed_row(self) -> int:
        """Rows of fewer elements fill no vector."""
        return self.lanes

    # A second version for ordinary angles: gcc takes time in the square of the number of angles; in
    # single precision a shorter loop is not worth it.
    most_angles: int = 16
    shortest_single_angles: int = 1024
    angle_block: int = 1024  # longer loops over angles notice huge ones block by block
    searched_block: int = 128  # so often a search for the first index tests whether it has ended

    # -------------------------------------------------- iteration spaces (schedule/domain)

    # The shortest inner loop of one taken apart. The compiler unrolls one of two iterations, which
    # pays as well unless there are elementary functions in it: those stay out of vector lanes then.
    shortest_inner: int = 2
    shortest_inner_of_functions: int = 3
    # More pieces of a loop, statements in them, or diagonals cut out of a nest are not worth it.
    most_pieces: int = 6
    most_piece_statements: int = 400
    shortest_rotation: int = 128  # shorter loops choose in each element by a moved subscript
    longest_counted_block: int = 64  # loops over blocks of a runtime size have one for whole ones
    most_users_piece_statements: int = 100  # loops inside the user's are split as well
    most_versioned_statements: int = 40
    most_terms_of_a_row: int = 1 << 24  # a longer product of one row is a call, as of any number
    most_diagonal_cuts: int = 6

    # -------------------------------------------------- blocks (schedule/blocking)

    # Tiles of a nest that reads along rows and along columns: the elements of a side, how many
    # arrays may be transposed, and the tiles below which an array stays in the cache anyway.
    tile: int = 32
    most_transposed: int = 2
    fewest_tiles: int = 4

    @derived
    def transposed_row_bytes(self) -> int:
        """A row of a transposed tile: the four lines that its loads bring in at once."""
        return 4 * self.cache_line_bytes

    # Loops over iterations of elementwise steps, turned inside out: the elements of a tile, those
    # of all arrays, which are in the cache anyway where there are fewer, and of the innermost axis.
    element_tile: int = 64
    least_elements: int = 1024
    shortest_innermost: int = 16

    # Products and convolutions a block of rows at a time: the operations from which it pays, those
    # of a product that is for several threads where there are fewer blocks than this, the kernels
    # that become one, the rows of a tile of the product, of which a block has one at least, and the
    # rows of a block, where there are many and at most. Of so many terms, the elements of a
    # symmetric product take longer than one more pass over them, so that it stays whole.
    least_product_flops: int = 1 << 20
    most_flops_alone: int = 1 << 22
    fewest_shared_blocks: int = 4
    most_merged_kernels: int = 64
    product_tile_rows: int = 8
    usual_block_rows: int = 16
    most_block_rows: int = 64
    least_mirrored_depth: int = 128
    # Right operands are read where they are for no more rows than this (MATMUL_IN_PLACE of
    # matmul.h), or where their own are no more bytes apart (MATMUL_NEAR).
    rows_in_place: int = 128
    # Those whose columns are contiguous are, for no more rows than this (MATMUL_DOTTED).
    rows_dotted: int = 4
    near_row_bytes: int = 1024

    @derived
    def fewest_blocks(self) -> int:
        """There should be as many blocks as this, unless their rows became too few."""
        return self.cores // 2

    @derived
    def right_operand_bytes(self) -> int:
        """Larger right operands would be read from memory for each block anew."""
        return self.l3_bytes

    @derived
    def block_bytes(self) -> int:
        """The local arrays of a block, or of an image: a fourth of a core's cache."""
        return self.l2_bytes // 4

    @derived
    def fewest_images(self) -> int:
        """Fewer images are not shared out."""
        return self.cores // 2

    @derived
    def panel_bytes(self) -> int:
        """Larger panels of weights would be read from memory for each image anew."""
        return self.l2_bytes

    # Rows of a batch through all iterations of a loop: the operations of all of them that are worth
    # threads.
    least_scan_flops: int = 1 << 22

    @derived
    def fewest_scan_rows(self) -> int:
        """Blocks have whole tiles of products, or half a tile."""
        return self.product_tile_rows // 2

    @derived
    def enough_blocks(self) -> int:
        """There are as many blocks as this where they have a tile each."""
        return self.cores

    @derived
    def scan_operand_bytes(self) -> int:
        """Right operands of all products stay in the cache of each core."""
        return self.l2_bytes

    # -------------------------------------------------- memory

    # Local arrays of more bytes than this are no longer put into registers, or on the stack: the
    # first are those of one kernel, the second those of one thread beyond which the workspace has
    # them (`schedule/stack.py` has the sum that programs keep to).
    promoted_bytes: int = 4096
    stack_array_bytes: int = 24 << 10
    # As many threads as this have a slice of the workspace each; fewer where slices are so large
    # that all of them would take more than this many bytes, but never fewer than that.
    most_slices: int = 64
    slices_bytes: int = 32 << 20
    fewest_slices: int = 8

    @derived
    def row_bytes(self) -> int:
        """The largest local array: a row made and read again, in an eighth of a core's cache."""
        return self.l2_bytes // 8

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            usual = getattr(Machine, name, None)
            if usual is None or name.startswith("_") or type(value) is not type(usual):
                raise TypeError(f"{name}={value!r} is no value of a machine")
            vars(self)[name] = value

    @property
    def changes(self) -> dict[str, Any]:
        """The values in which it differs from the usual machine, by name."""
        return {n: v for n, v in sorted(vars(self).items()) if v != getattr(Machine, n)}

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a machine stays as it is: {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a machine stays as it is: {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Machine) and self.changes == other.changes

    def __hash__(self) -> int:
        return hash(tuple(self.changes.items()))

    def __repr__(self) -> str:
        return f"Machine({', '.join(f'{n}={v!r}' for n, v in self.changes.items())})"


USUAL = Machine()
