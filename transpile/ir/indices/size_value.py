"""Runtime sizes as values: what is computed of them that is no size is a traced number."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from transpile.errors import TracerIntegerConversionError

# The value of a size in the active trace. The package of NumPy's functions, which can make one,
# puts the function here.
SIZE_VALUES: list[Callable[[SizeValue], Any]] = []


class SizeValue:
    """The part of `Dim` that is about values: `x.sum() / n`, `n * 0.5`, `np.sqrt(n)`."""

    __slots__ = ()

    def __truediv__(self, other: Any) -> Any:
        return self._lifted(operator.truediv, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._lifted(operator.truediv, other, reflected=True)

    def __pow__(self, other: Any) -> Any:
        return self._lifted(operator.pow, other)

    def __rpow__(self, other: Any) -> Any:
        return self._lifted(operator.pow, other, reflected=True)

    def _lifted(self, function: Any, other: Any, *, reflected: bool = False) -> Any:
        """The result of an operator as a traced value, where it is no size."""
        if isinstance(other, SizeValue):
            other = other.as_value()
        elif not isinstance(other, (int, float, complex)):
            return NotImplemented
        value = self.as_value()
        return function(other, value) if reflected else function(value, other)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """What a function of NumPy gives for the size as a value."""
        values = [x.as_value() if isinstance(x, SizeValue) else x for x in inputs]
        return getattr(ufunc, method)(*values, **options)

    def as_value(self) -> Any:
        """The size as a traced integer."""
        return SIZE_VALUES[0](self)

    def __index__(self) -> int:
        raise TracerIntegerConversionError(
            f"{self} is a runtime size, known when the program is called: no Python int"
        )
