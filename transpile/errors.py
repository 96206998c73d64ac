"""Every exception and warning that transpile raises on purpose.

Each message says what happened, where in the user's code (file and line), and what to do about it.
"""


class TranspileError(Exception):
    """The base of the errors that have no better standard base."""


class UnsupportedError(TranspileError, NotImplementedError):
    """A NumPy function, a dtype or an argument that transpile cannot compile (yet)."""


class TracerError(TypeError):
    """A traced value was used where Python needs a value that is known while tracing."""


class ConcretizationTypeError(TracerError):
    """A traced value was used as a concrete one; its siblings name the particular use."""


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was used as a Python bool: in `if`, `while`, `and`, `or`, `not`, `assert`."""


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced value was used as a Python int: `int(x)`, `range(x)`, a list index, a shape."""


class TracerFloatConversionError(ConcretizationTypeError):
    """A traced value was used as a Python float or complex."""


class TracerArrayConversionError(TracerError):
    """A traced value was given to code that wants a real NumPy array."""


class UnexpectedTracerError(TracerError):
    """A tracer was used after the trace it belongs to had ended: a side effect leaked it."""


class CompilerNotFoundError(TranspileError):
    """No C compiler was found; the message says what to install."""


class CompilationError(TranspileError):
    """The C compiler failed; the message carries the command, the C line and its output."""


class LibraryNotFoundError(TranspileError):
    """A library that a program has to be linked with was not found; the message says what to
    install."""


class CacheWarning(UserWarning):
    """The on-disk cache cannot be used as asked; the program still runs."""


class InternalError(TranspileError):
    """A compiler pass broke a rule of its own intermediate form: a bug in transpile."""


class FrozenDrawWarning(UserWarning):
    """Random numbers were drawn from `numpy.random` while tracing, and are constants now."""
