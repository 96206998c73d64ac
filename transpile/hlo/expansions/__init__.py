"""What XLA has no instruction for, as functions over simpler primitives: EXPANSIONS, by name.

    expansion(*operands, **params) -> the result, or a list of results

They are traced for the types of an equation, and their results have its types. Formulas keep the
accuracy of the dtype where simple ones would cancel or overflow.
"""

from transpile.hlo.builder import Rules
from transpile.hlo.expansions import (
    arithmetic,
    elementary,
    floats,
    matrices,
    random_gamma,
    sorting,
    special,
    threefry,
    windows,
)

EXPANSIONS: Rules = {
    **arithmetic.EXPANSIONS,
    **elementary.EXPANSIONS,
    **floats.EXPANSIONS,
    **matrices.EXPANSIONS,
    **random_gamma.EXPANSIONS,
    **sorting.EXPANSIONS,
    **special.EXPANSIONS,
    **threefry.EXPANSIONS,
    **windows.EXPANSIONS,
}
