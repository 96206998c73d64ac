"""Runtime sizes as values: what is computed of them that is no size is a traced number."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from transpile.errors import TracerIntegerConversionError, UndecidedSizeError
from transpile.ir.indices.proofs import Bounds, compared_with_zero
from transpile.util.interrupt_safety import THREAD
from transpile.util.users_code import is_users_call

# The value of a size in the active trace. The package of NumPy's functions, which can make one,
# puts the function here.
SIZE_VALUES: list[Callable[[SizeValue], Any]] = []
# What a comparison in code of the user is that holds for some sizes only: a traced bool, or None
# where that is an error. Called with the operator and its operands.
UNDECIDED: list[Callable[[Callable[[Any, Any], Any], SizeValue, Any], Any]] = []

_BITS = 62  # what a size has at most


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

    # Quotients and remainders by powers of two are the bits of a size that a constant selects, also
    # of what is less than 0, as in Python: so these are sizes.

    def __lshift__(self, other: Any) -> Any:
        is_size = isinstance(other, int)
        return self * (1 << other) if is_size else self._lifted(operator.lshift, other)

    def __rshift__(self, other: Any) -> Any:
        is_size = isinstance(other, int)
        return self // (1 << min(other, _BITS)) if is_size else self._lifted(operator.rshift, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._lifted(operator.lshift, other, reflected=True)

    def __rrshift__(self, other: Any) -> Any:
        return self._lifted(operator.rshift, other, reflected=True)

    def __and__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return self._lifted(operator.and_, other)
        size: Any = self
        total: Any = 0
        while other:  # a run of ones: what is below its end, less what is below its first one
            first = other & -other
            end = (other + first) & ~other
            below = size % end if end else size  # of a number less than 0 the last run has no end
            total = total + below // first * first
            other = other & -end if end else 0
        return total

    def __or__(self, other: Any) -> Any:
        is_size = isinstance(other, int)
        return self + other - (self & other) if is_size else self._lifted(operator.or_, other)

    def __xor__(self, other: Any) -> Any:
        is_size = isinstance(other, int)
        return self + other - (self & other) * 2 if is_size else self._lifted(operator.xor, other)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __invert__(self) -> Any:
        size: Any = self
        return -size - 1

    def __pos__(self) -> Any:
        return self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self, ndigits: int | None = None) -> Any:
        if ndigits is not None and ndigits < 0:
            return self._lifted(round, ndigits)
        return self

    def __bool__(self) -> bool:
        """True, but in code of the user where it depends on the size."""
        return not (THREAD.traces and is_users_call()) or bool(self.decided(operator.ne, 0))

    def __lt__(self, other: Any) -> Any:
        return self.decided(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self.decided(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self.decided(operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self.decided(operator.ge, other)

    def decided(self, compare: Callable[[Any, Any], Any], other: Any) -> Any:
        """A comparison of sizes by their ranges. Where those leave it open, and code of the user
        asks, the program decides; else raises UndecidedSizeError."""
        if not isinstance(other, (int, SizeValue)):
            return self._lifted(compare, other)
        known = compared_with_zero(compare, *self.range_beyond(other))
        if known is not None:
            return known
        for settle in UNDECIDED if is_users_call(between=1) else ():
            found = settle(compare, self, other)
            if found is not None:
                return found
        raise UndecidedSizeError(self.undecided_text(compare, other))

    def range_beyond(self, other: Any) -> Bounds:
        """The bounds of how much larger than another size, or a number, it is."""
        raise NotImplementedError

    def undecided_text(self, compare: object, other: Any) -> str:
        """The error of a comparison that its range leaves open."""
        raise NotImplementedError

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
