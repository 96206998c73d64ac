"""Definitions of the primitives by family: meaning, C, facts and transformation rules.

Importing a module registers its primitives in `transpile.ir.primitive.TABLE`. Modules that every
trace needs are imported with the functions that bind their primitives. The others are imported at
the first use, or when a name is looked up in the table that is not there yet.
"""

from transpile.ir.primitive import RARE_FAMILIES
from transpile.util.lazy.imports import imported

_FAMILIES = (
    "axes",
    "collectives.on_devices",
    "collectives.primitives",
    "effects.callbacks",
    "control.calls",
    "control.checkpoint",
    "effects.checks",
    "effects.failures",
    "control.custom_calls",
    "control.primitives",
    "convolution",
    "dot",
    "elementary.primitives",
    "elementwise.arithmetic",
    "elementwise.bits",
    "elementwise.comparisons",
    "elementwise.identities",
    "elementwise.parts",
    "fft",
    "indexing",
    "lengths.primitives",
    "linalg.decompositions",
    "linalg.linear_solve",
    "random",
    "reductions",
    "sorting",
    "special.primitives",
    "windows",
)


def _import_all() -> None:
    for family in _FAMILIES:
        imported(f"{__name__}.{family}")


RARE_FAMILIES.comes_from(_import_all)
