"""Every exception and warning that transpile raises on purpose.

Each message says what happened, where in the user's code (file and line), and what to do about it.
"""


class TranspileError(Exception):
    """The base class of errors for which no standard one fits better."""


class UnsupportedError(TranspileError, NotImplementedError):
    """A NumPy function, dtype or argument that transpile cannot compile."""


class TracerError(TypeError):
    """A traced value was used where Python needs a value that is known while tracing."""


class ConcretizationTypeError(TracerError):
    """A traced value was used as a concrete one; subclasses name the use."""


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was used as a Python bool: in `if`, `while`, `and`, `or`, `not`, `assert`."""


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced value was used as a Python int: `int(x)`, `range(x)`, a list index, a shape."""


class TracerFloatConversionError(ConcretizationTypeError):
    """A traced value was used as a Python float or complex."""


class TracerArrayConversionError(TracerError):
    """A traced value was passed to code that needs a NumPy array."""


class UnexpectedTracerError(TracerError):
    """A tracer was used after its trace had ended: a side effect of the function leaked it."""


class CompilerNotFoundError(TranspileError):
    """No C compiler was found; the message says what to install."""


class CompilationError(TranspileError):
    """The C compiler failed; the message has its command, its output and the line of C."""


class LibraryNotFoundError(TranspileError):
    """A library that a program is linked with was not found; the message says what to install."""


class CacheWarning(UserWarning):
    """The on-disk cache cannot be used as configured; programs run without it."""


class InternalError(TranspileError):
    """An invariant of an intermediate representation does not hold: a bug in transpile."""


class FrozenDrawWarning(UserWarning):
    """Random numbers were drawn from `numpy.random`, or from Python's `random`, while tracing: they
    are constants now."""
