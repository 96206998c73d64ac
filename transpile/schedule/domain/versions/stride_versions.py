"""Two versions of a kernel that reads an axis which broadcasts if it has one element.

    for i in 0..m: out[i] = x[i - i*(1 // n)]     ->     if n >= 2: for i in 0..m: out[i] = x[i]
                                                         else:      for i in 0..m: out[i] = x[0]

The stride is one of the sizes (`ir/indices/requirements.py`), so that one test decides for all
iterations. In each version the subscripts are those of a program without such an axis, and a sum
over how often its elements stand is no loop where that is once.
"""

from __future__ import annotations

from transpile.ir.contracts import contract
from transpile.ir.dims import Dim, Index, Symbol, sole_symbol, substitute
from transpile.ir.indices.requirements import strides_in, with_strides
from transpile.ir.indices.values import as_value
from transpile.ir.loop_ir import Apply, If, Literal, Program
from transpile.ir.loop_rewrite import indices, map_bodies, walk
from transpile.ir.types import BOOL, INT64
from transpile.options import Options
from transpile.schedule.domain.versions.known_sizes import Body, with_known_sizes


@contract()
def version_strides(program: Program, options: Options) -> Program:
    """The program with a version for each stride of its axes that may broadcast."""
    most = options.machine.most_piece_statements
    return map_bodies(program, lambda body: _versions(body, most)) if program.sizes else program


def _versions(body: Body, most: int) -> Body:
    """The statements, or as many versions of them as have at most so many statements."""
    sizes: dict[Dim, None] = {}
    for statement in walk(body):
        for index in indices(statement):
            sizes.update(dict.fromkeys(strides_in(index)))
    for size in sizes:
        if 2 * sum(1 for _ in walk(body)) > most:
            break
        more, one = (_version(body, size, is_one) for is_one in (False, True))
        body = (If(Apply("greater_equal", (as_value(size), Literal(2, INT64)), BOOL), more, one),)
    return body


def _version(body: Body, size: Dim, is_one: bool) -> Body:
    """The statements for a size that is 1, or none, or is more."""
    known: dict[Symbol, Index] = {}
    if is_one and (symbol := sole_symbol(size)) is not None and symbol.lower == 1:
        known[symbol] = 1

    def on_index(index: Index) -> Index:
        if size in strides_in(index):
            index = with_strides(index, size, 0 if is_one else 1)
        return substitute(index, known)

    return with_known_sizes(body, on_index)
