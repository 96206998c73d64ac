"""A rule for each primitive that XLA has instructions for: RULES, by the name of the primitive.

    rule(builder, equation, *operands) -> the instruction that is the result, or a list of them

It adds instructions to the builder. Operands of elementwise primitives have one shape by then.
"""

from transpile.hlo.builder import Rules
from transpile.hlo.rules import control, elementwise, indexing, products, reductions, shapes

RULES: Rules = {
    **control.RULES,
    **elementwise.RULES,
    **indexing.RULES,
    **products.RULES,
    **reductions.RULES,
    **shapes.RULES,
}
