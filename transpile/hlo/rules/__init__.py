"""A rule for each primitive that XLA has instructions for: `rule_of`.

    rule(builder, equation, *operands) -> the instruction that is the result, or a list of them

It adds instructions to the builder. Operands of elementwise primitives have one shape by then.
"""

from transpile.hlo.builder import Rule, Rules
from transpile.hlo.rules import (
    callbacks,
    collectives,
    control,
    elementwise,
    indexing,
    lapack,
    products,
    reductions,
    shapes,
)
from transpile.ir.primitive import Primitive

_RULES: Rules = {
    **collectives.RULES,
    **callbacks.RULES,
    **control.RULES,
    **indexing.RULES,
    **lapack.RULES,
    **products.RULES,
    **reductions.RULES,
    **shapes.RULES,
}


def rule_of(primitive: Primitive) -> Rule | None:
    """The rule of a primitive; None where XLA has no instruction for it."""
    return elementwise.rule_of(primitive) or _RULES.get(primitive.name)
