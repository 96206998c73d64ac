"""A rule for each instruction that has a meaning here: RULES, by opcode.

    rule(call, *operands) -> the value, or a list of values for an instruction that is a tuple

Operands are traced values, constants, and lists for tuples. The caller checks that results have the
types that the module declares.
"""

from transpile.hlo_import.context import Rules
from transpile.hlo_import.rules import (
    control,
    custom_calls,
    elementwise,
    indexing,
    products,
    random_bits,
    reductions,
    shapes,
    sorting,
)

RULES: Rules = {
    **control.RULES,
    **custom_calls.RULES,
    **elementwise.RULES,
    **indexing.RULES,
    **products.RULES,
    **random_bits.RULES,
    **reductions.RULES,
    **shapes.RULES,
    **sorting.RULES,
}
