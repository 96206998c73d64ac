"""The calls that only CUDA has: those of routines that take several launches, one for each, as the
grid has to wait in between, and those of NVIDIA's libraries.

They are to the loops what intrinsics are. `several_launches.py` and `library_products.py` put them
in place of an intrinsic.
"""

from __future__ import annotations

from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Index
from transpile.ir.loop_ir import UNALLOCATED
from transpile.util.frozen_records import dataclass

# A pass of a radix sort is by so many bits.
DIGIT = 8
DIGITS = 1 << DIGIT


@dataclass(frozen=True)
class SumsOfTiles(Call):
    """The sums of the tiles of rows, or of reversed rows."""

    rows: Index
    n: Index
    tiles: Index
    length: int
    reverse: int
    combine: str
    x: Strided
    sums: Strided

    name = "cumsum_of_tiles"
    signature = "x(rows,n) -> sums(rows,tiles)"


@dataclass(frozen=True)
class SumsFromTiles(Call):
    """The prefix sums of rows, or the suffix sums, from those of their tiles."""

    rows: Index
    n: Index
    tiles: Index
    length: int
    reverse: int
    combine: str
    x: Strided
    sums: Strided
    out: Strided

    name = "cumsum_from_tiles"
    signature = "x(rows,n), sums(rows,tiles) -> out(rows,n)"


@dataclass(frozen=True)
class _Radix(Call):
    """A pass of a radix sort along the middle axis of an array [outer][n][inner], by the eight bits
    of keys from `shift` on."""

    rows: Index
    n: Index
    inner: Index
    tiles: Index
    shift: int
    keys: Strided

    @property
    def counted(self) -> Index:
        """The counts of a row."""
        return DIGITS * self.tiles


@dataclass(frozen=True)
class RadixCounts(_Radix):
    """How often each digit occurs in each tile of a row."""

    counts: Strided

    name = "radix_counts"
    signature = "keys(rows,n) -> counts(rows,counted)"


@dataclass(frozen=True)
class RadixCountsInOrder(_Radix):
    """The same of keys that are taken in an order."""

    order: Strided
    counts: Strided

    name = "radix_counts_in_order"
    signature = "keys(rows,n), order(rows,n) -> counts(rows,counted)"


@dataclass(frozen=True)
class RadixSort(_Radix):
    """Sort the keys by a digit."""

    inner_out: Index
    ends: Strided
    sorted: Strided

    name = "radix_sort"
    signature = "keys(rows,n), ends(rows,counted) -> sorted(rows,n)"


@dataclass(frozen=True)
class RadixArgsort(_Radix):
    """The same, and their positions."""

    inner_out: Index
    ends: Strided
    sorted: Strided
    new_order: Strided

    name = "radix_argsort"
    signature = "keys(rows,n), ends(rows,counted) -> sorted(rows,n), new_order(rows,n)"


@dataclass(frozen=True)
class RadixArgsortFurther(_Radix):
    """The same with the positions in an order; `by_order` is in which the keys are taken."""

    inner_out: Index
    by_order: bool
    order: Strided
    ends: Strided
    sorted: Strided
    new_order: Strided

    name = "radix_argsort_further"
    signature = (
        "keys(rows,n), order(rows,n), ends(rows,counted) -> sorted(rows,n), new_order(rows,n)"
    )


@dataclass(frozen=True)
class CopyOrder(Call):
    """A copy of positions."""

    n: Index
    x: Strided
    out: Strided

    name = "copy"
    signature = "x(n) -> out(n)"


@dataclass(frozen=True)
class SumOfParts(Call):
    """The sum of several matrices."""

    parts: int
    m: Index
    n: Index
    x: Strided
    out: Strided

    name = "sum_of_parts"
    signature = "x(parts,m,n) -> out(m,n)"


@dataclass(frozen=True)
class PickRanks(Call):
    """The elements of sorted rows at some ranks."""

    rows: Index
    n: Index
    inner: Index
    count: int
    sorted: Strided
    ranks: Strided
    out: Strided

    name = "pick_ranks"
    signature = "sorted(rows,n), ranks(count) -> out(rows,count)"


@dataclass(frozen=True)
class FftPass(Call):
    """Transforms of n numbers in shared memory, outer by middle by inner of them, the whole of a
    transform of `whole` elements or one of the two passes of it.

    places     the distance of elements of neighbouring transforms, and of those of one, in x and in
               out, counted in elements of the whole transform
    halves     x has the first half of an operand whose other half is conjugate; out takes the first
               half of the result
    """

    outer: Index
    middle: Index
    inner: Index
    n: int
    whole: int
    sign: int
    twist: bool
    scale: float
    places: tuple[int, int, int, int]
    halves: tuple[bool, bool]
    x: Strided
    out: Strided

    name = "fft_pass"
    signature = "x(*) -> out(*)"


@dataclass(frozen=True)
class ChirpOperand(Call):
    """The operands of transforms of n numbers as rows of `padded` numbers, times a chirp; behind
    them a row with the chirp that they are convolved with."""

    outer: Index
    inner: Index
    n: int
    padded: int
    sign: int
    is_half: bool
    x: Strided
    out: Strided

    name = "chirp_operand"
    signature = "x(*) -> out(*)"


@dataclass(frozen=True)
class ChirpProduct(Call):
    """So many rows, each times the row behind them."""

    count: Index
    padded: int
    x: Strided

    name = "chirp_product"
    signature = "x(*) -> x(*)"


@dataclass(frozen=True)
class ChirpResult(Call):
    """The results of transforms, from the rows of the convolutions."""

    outer: Index
    inner: Index
    n: int
    padded: int
    sign: int
    scale: float
    gives_half: bool
    x: Strided
    out: Strided

    name = "chirp_result"
    signature = "x(*) -> out(*)"


@dataclass(frozen=True)
class FftOfAnySize(Call):
    """Transforms of n numbers as `intrinsics.fourier.FftOfSize` has them, each by one block, with
    `room` for the numbers of a convolution and of the chirp."""

    outer: Index
    inner: Index
    n: Index
    sign: int
    scale: float
    halves: tuple[bool, bool]
    x: Strided
    out: Strided
    room: Index
    work: Strided
    divisor: Index = 1
    root: bool = False

    name = "fft_of_any_size"
    signature = "x(*) -> out(*), work(*)"


@dataclass(frozen=True)
class LibraryMatmul(Call):
    """Matrix products by cuBLASLt, which the host calls. The result has its operands' dtype, or
    sums of halves are float32. `precision` is that of a `Matmul`."""

    count: int
    m: Index
    n: Index
    k: Index
    a: Strided
    b: Strided
    c: Strided
    workspace: Strided = UNALLOCATED
    precision: str = ""

    name = "library_matmul"
    signature = "a(count,m,k), b(count,k,n) -> c(count,m,n)"


@dataclass(frozen=True)
class CountFlags(Call):
    """How many of the flags of each tile hold."""

    n: Index
    tiles: Index
    flags: Strided
    counts: Strided

    name = "count_flags"
    signature = "flags(n) -> counts(tiles)"


@dataclass(frozen=True)
class CompactElements(Call):
    """The elements whose flags hold; `ends` has how many there are up to the end of each tile."""

    n: Index
    tiles: Index
    flags: Strided
    ends: Strided
    x: Strided
    out: Strided

    name = "compact"
    signature = "flags(n), ends(tiles), x(n) -> out(*)"


@dataclass(frozen=True)
class CompactPositions(Call):
    """The positions of the flags that hold."""

    n: Index
    tiles: Index
    flags: Strided
    ends: Strided
    out: Strided

    name = "compact_positions"
    signature = "flags(n), ends(tiles) -> out(*)"


@dataclass(frozen=True)
class SubtractProduct(Call):
    """c - a b in place of c, or of its `lower` triangle, of which a or b may be `conjugate`; with
    `largest` rows and columns of c, or fewer, which a loop of the host knows as it runs."""

    m: Index
    n: Index
    k: int
    conjugate: tuple[bool, bool]
    lower: bool
    largest: tuple[int, int]
    a: Strided
    b: Strided
    c: Strided

    name = "subtract_product"
    signature = "a(m,k), b(k,n), c(m,n) -> c(m,n)"


@dataclass(frozen=True)
class LuPanel(Call):
    """The factors of the columns from `begin` on, a block of them, in the rows from there on."""

    m: int
    n: int
    begin: Index
    lu: Strided
    pivots: Strided
    permutation: Strided

    name = "lu_panel"
    signature = "lu(*), permutation(m) -> lu(*), pivots(*), permutation(m)"


@dataclass(frozen=True)
class LuRows(Call):
    """The exchanges of a block of columns in all other ones, and the rows of the upper factor."""

    m: int
    n: int
    begin: Index
    lu: Strided
    pivots: Strided

    name = "lu_rows"
    signature = "lu(*), pivots(*) -> lu(*)"


@dataclass(frozen=True)
class SolveDiagonal(Call):
    """The solutions of a triangular block on the diagonal, the `number`-th that is solved; a matrix
    that is to be transposed has the strides of that, and the right sides may be rows. There are at
    most `largest` of these."""

    n: int
    k: Index
    largest: int
    number: Index
    forwards: bool
    unit_diagonal: bool
    conjugate: bool
    a: Strided
    x: Strided

    name = "solve_diagonal"
    signature = "a(*), x(*) -> x(*)"


@dataclass(frozen=True)
class CholeskyDiagonal(Call):
    """The Cholesky factor of a block on the diagonal, in its lower triangle; NaN where there is
    none."""

    n: int
    begin: Index
    factor: Strided

    name = "cholesky_diagonal"
    signature = "factor(n,n) -> factor(n,n)"


@dataclass(frozen=True)
class CholeskyEnd(Call):
    """Zeros above the diagonal of a Cholesky factor, which is NaN where its last number is."""

    n: int
    factor: Strided

    name = "cholesky_end"
    signature = "factor(n,n) -> factor(n,n)"
