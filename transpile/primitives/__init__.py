"""The rows, by family, in `transpile.ir.primitive.TABLE`.

Those that any trace uses are imported with the functions that use them. The others are imported by
what makes such rows, or when the table is asked for one, or for all.
"""

from transpile.ir.primitive import RARE_ROWS
from transpile.util.lazy_imports import imported

_FAMILIES = (
    "axes",
    "bits",
    "control.callbacks",
    "control.calls",
    "control.checkpoint",
    "control.primitives",
    "convolution",
    "dot",
    "elementary.primitives",
    "elementwise",
    "fft",
    "indexing",
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


RARE_ROWS.comes_from(_import_all)
