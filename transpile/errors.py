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


class TracerRecursionError(TracerError, RecursionError):
    """A function calls itself until a traced value ends that: a trace takes both ways."""


class CarryError(TracerError):
    """A variable that a loop changes has another shape or structure behind an iteration."""


class BranchError(TracerError):
    """A variable has values of different shapes or structures, by a traced value."""


class UnexpectedTracerError(TracerError):
    """A tracer was used after its trace had ended: a side effect of the function leaked it."""


class UndecidedSizeError(ConcretizationTypeError):
    """A condition on runtime sizes was asked for that holds for some of their values only."""


class CompilerNotFoundError(TranspileError):
    """No C compiler was found; the message says what to install."""


class CompilationError(TranspileError):
    """The C compiler failed; the message has its command, its output and the line of C."""


class HloError(TranspileError, ValueError):
    """A text or a message that is no module of HLO or StableHLO, or one with an operation that has
    no translation; the message says which, and its line and column."""


class LibraryNotFoundError(TranspileError):
    """A library that a program is linked with was not found; the message says what to install."""


class CacheWarning(UserWarning):
    """The on-disk cache cannot be used as configured; programs run without it."""


class InternalError(TranspileError):
    """An invariant of an intermediate representation does not hold: a bug in transpile."""


class CallbackResultError(TypeError, ValueError):
    """A callback returned arrays of other shapes or dtypes than `result_shape_dtypes` says."""


class DeviceError(TranspileError):
    """Devices that run a program at once could not exchange values: one has failed, has ended, or
    does something else than the others. All of them have ended."""


class DeviceNotFoundError(TranspileError, RuntimeError):
    """There is no such device, or its driver or library is missing; the message says which."""


class LaunchError(TranspileError, RuntimeError):
    """A kernel could not be launched, or has failed on its device; the message names it and the
    line of Python that it computes."""


class CheckError(ValueError):
    """A check failed: `checkify`'s `Error.throw`, or a `check` outside of programs."""


class CheckFailure(Exception):
    """What a check found; its subclasses are the sets of errors that `checkify` takes."""


class FailedCheckError(CheckFailure):
    """A `check` of the user failed."""


class DivisionByZeroError(CheckFailure):
    """A divisor was zero."""


class OOBError(CheckFailure):
    """An index was out of range."""


class NaNError(CheckFailure):
    """An operation gave NaN."""


class InfinityError(CheckFailure):
    """An operation gave an infinity."""


class BatchedError(CheckFailure):
    """What checks found for examples of a batch, by their indices."""


class FrozenDrawWarning(UserWarning):
    """Random numbers were drawn from `numpy.random`, or from Python's `random`, while tracing: they
    are constants now."""


# The errors of traces, ours, NumPy's and the user's own, that another value of an argument may
# cause.
BLAMABLE = (ValueError, TypeError, IndexError, AttributeError, UnsupportedError)


def blame(error: BaseException, arguments: frozenset[str]) -> None:
    """Note the names of the arguments whose values a trace that ends with this error would need:
    where they are integers, it is made again, of each of their values."""
    vars(error)["_transpile_arguments"] = arguments


def blamed(error: BaseException) -> frozenset[str]:
    """The names that `blame` has noted for an error, or for one that NumPy has made another of."""
    found: BaseException | None = error
    while found is not None and not vars(found).get("_transpile_arguments"):
        found = None if isinstance(found, TracerError) else found.__context__
    return vars(found)["_transpile_arguments"] if found is not None else frozenset()
