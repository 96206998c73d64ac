"""NumPy's functions for traced functions: the same names, shapes, dtypes and errors.

`import transpile.numpy as np` gives NumPy's own functions as long as no traced value is among the
arguments, and graph equations when there is one. `numpy.f(...)` on traced values lands here too.
"""

from __future__ import annotations

import numpy as _numpy

from transpile.numpy import indexing, joins, reductions, shapes, ufuncs
from transpile.numpy.operands import EXPORTS

globals().update(EXPORTS)
globals().update(
    {_name: _value for _name, _value in vars(_numpy).items() if isinstance(_value, _numpy.ufunc)}
)
