"""Programs: some arguments, and statements of which each gives a name to a value."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from fuzz_numpy.grammar import statement
from fuzz_numpy.values import DTYPES, argument

MOST_ELEMENTS = 4000
# Of the last digits of what a statement rounds: how far each run of the oracle goes astray.
ULPS = 6
# Which of 0.0 and -0.0 is larger, or comes first, depends in NumPy on the place in the array.
_OF_TWO_ZEROS = re.compile("max|min|clip|sort|median|quantile|percentile|partition")
# Of whose results each has rounding errors of all elements.
_OF_ALL = re.compile(r"fft\.i?r?fft\(|linalg|np\.(?:unwrap|cov|corrcoef)\(")
# Of a matrix that is computed in the same statement, whose errors grow with its condition.
_OF_MATRIX = re.compile(r"^(np\.linalg\.(?:det|inv))\((.*)\)$")
# NumPy's determinants are exponentials of sums of logarithms: of the errors of these.
_BY_LOGARITHMS = re.compile(r"linalg\.det")
# Whose elements are sums of as many terms as there are before them.
_CUMULATIVE = re.compile(r"cumsum|cumprod|add\.accumulate")
# Of a matrix that is as long as an operand, which may be a column.
_SQUARE = re.compile(r"np\.eye\((\w+)\.shape\[-2\]\)")
_NAME = re.compile(r"\b[vx]\d+\b")
# What takes as many operations, or elements, as the product of its operands' sizes.
_OF_PAIRS = re.compile(r"np\.(?:convolve|meshgrid|outer|multiply\.outer|kron)\(")
_MOST_PAIRS = 10**9
# What NumPy raises where it refuses a statement: another one is drawn.
REFUSALS = (ValueError, TypeError, IndexError, ArithmeticError, MemoryError)


@dataclass(frozen=True)
class Program:
    """`statements` are (name, text, whether it rounds); `results` are names."""

    arguments: dict[str, np.ndarray]
    statements: tuple[tuple[str, str, bool], ...]
    results: tuple[str, ...]

    def source(self):
        """A function named `program`."""
        lines = [f"    {name} = {text}" for name, text, _ in self.statements]
        head = f"def program({', '.join(self.arguments)}):"
        return "\n".join([head, *lines, f"    return {', '.join(self.results)},"]) + "\n"

    def function(self, module=np):
        """The function, to be traced or called; `module` is what `np` is in it."""
        names = {"np": module}
        exec(compile(self.source(), "<fuzz>", "exec"), names)
        return names["program"]

    def values(self, noise=None, zero=0.0):
        """Every name's value; with a generator as `noise`, what is rounded is rounded otherwise,
        and where zeros meet that differ in sign they, and what comes of them, are this `zero`."""
        names = {"np": np, **self.arguments}
        for name, text, rounds in self.statements:
            around = names
            operands = [np.asarray(names[x]) for x in _NAME.findall(text) if x in names]
            if noise is not None and _OF_TWO_ZEROS.search(text):
                around = {k: with_zeros(v, zero) for k, v in around.items()}
            if noise is not None and rounds:
                around = {k: astray(noise, v) for k, v in around.items()}
                around["astray"] = lambda x, o=operands: astray_as_a_whole(noise, x, o)
                text = _OF_MATRIX.sub(r"\1(astray(\2))", text)
            exec(f"{name} = {text}", around)
            value = around[name]
            if noise is not None and _OF_TWO_ZEROS.search(text):
                value = with_zeros(np.asarray(value), zero)
            if noise is not None and _OF_ALL.search(text):
                value = astray_as_a_whole(noise, np.asarray(value), operands)
            # A scalar of NumPy's counts as the array that it is here: of its own arithmetic it has
            # little that arrays have not, such as another dtype for powers of bools.
            if noise is not None and rounds:
                value = astray(noise, value, _ulps(text, operands, value))
            names[name] = np.asarray(value)
        return names

    def text(self):
        """The whole as Python, arguments first."""
        lines = []
        for name, x in self.arguments.items():
            layout = f"strides {x.strides}, writeable {x.flags.writeable}"
            numbers = f"np.array({x.tolist()!r}, {x.dtype.name!r}).reshape({x.shape})"
            lines.append(f"{name} = {numbers}  # {layout}")
        return "\n".join([*lines, "", self.source()])

    def without(self, **parts):
        """The program with other parts."""
        return replace(self, **parts)


def _ulps(text, operands, value):
    """Units of the last digit that a statement's result may be off: more of them where many terms
    are added one by one, and for exponentials of sums of logarithms."""
    value = np.asarray(value)
    terms = max((x.size for x in operands), default=1)
    terms /= 1 if _CUMULATIVE.search(text) else max(value.size, 1)
    ulps = np.maximum(ULPS, terms / 256)  # equal terms are rounded alike: errors add up
    if _BY_LOGARITHMS.search(text):
        size = np.abs(value.astype(np.complex128))
        known = np.isfinite(size) & (size > 0)
        ulps = ulps * np.maximum(1, np.abs(np.log(np.where(known, size, 1))))
    return ulps


def astray(noise, value, ulps=ULPS):
    """A value whose floats are a few units of the last digit away."""
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "fc":
        return value
    step = ulps * float(np.finfo(value.dtype).eps)
    shape = np.shape(value)
    if value.dtype.kind == "c":
        size = np.abs(value.astype(np.complex128))
        size = np.where(np.isfinite(size), size, 0)
        off = noise.uniform(-1, 1, shape) + 1j * noise.uniform(-1, 1, shape)
        return (value + step * size * off).astype(value.dtype)[()]
    off = noise.uniform(-1, 1, shape)
    # Of many elements some would go nowhere in all runs.
    off = np.where(ulps > ULPS, np.copysign(1.0, off), off)
    return (value.astype(np.float64) * (1 + step * off)).astype(value.dtype)[()]


def with_zeros(value, zero):
    """A value whose zeros are all the same."""
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind != "f":
        return value
    return np.where(value == 0, value.dtype.type(zero), value)[()]


def astray_as_a_whole(noise, value, operands=()):
    """A value whose errors are those of its largest element, in the precision of the coarsest of
    the operands that it is computed of, each element as a sum along their longest axis."""
    if value.dtype.kind not in "fc" or not np.isfinite(value).all():
        return value
    eps = max(float(np.finfo(x.dtype).eps) for x in (value, *operands) if x.dtype.kind in "fc")
    longest = max((extent for x in operands for extent in x.shape), default=1)
    step = max(ULPS, ULPS / 8 * longest**0.5) * eps * np.max(np.abs(value), initial=0)
    off = noise.uniform(-1, 1, np.shape(value))
    off = off + 1j * noise.uniform(-1, 1, np.shape(value)) if value.dtype.kind == "c" else off
    return (value + step * off).astype(value.dtype)


@contextmanager
def quiet():
    """NumPy without warnings."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def draw(seed, argument=argument, most=MOST_ELEMENTS):
    """The program of a seed: only statements that NumPy accepts, whose results have at most so many
    elements; `argument` draws an argument, from a generator and the shapes of those before it."""
    random = np.random.default_rng(seed)
    shapes = []
    arguments = {f"x{k}": argument(random, shapes) for k in range(random.integers(1, 4))}
    values, statements = dict(arguments), []
    wanted = random.integers(1, 9)
    for _ in range(100):
        if len(statements) == wanted:
            break
        name = f"v{len(statements)}"
        drawn = statement(random, values, name)
        found = None if drawn is None else _accepted(drawn[0], name, values, most)
        if found is not None:
            values[name] = found
            statements.append((name, *drawn))
    last = [name for name, *_ in statements][-random.integers(1, 4) :]
    return Program(arguments, tuple(statements), tuple(last) or ("x0",))


def _square(operand):
    """The elements of the square matrices that are as long as an operand's."""
    shape = np.shape(operand)
    return np.prod((*shape[:-1], shape[-2]))


def _accepted(text, name, values, most):
    names = {"np": np, **values}
    with quiet():
        try:
            if any(_square(values[operand]) > most for operand in _SQUARE.findall(text)):
                return None  # its inverse takes minutes
            if _OF_PAIRS.search(text):
                sizes = [float(np.size(values[operand])) for operand in _NAME.findall(text)]
                if np.prod(sizes) > _MOST_PAIRS:
                    return None
            exec(f"{name} = {text}", names)
        except REFUSALS:
            return None
    value = names[name]
    if not isinstance(value, np.ndarray | np.generic | bool | int | float | complex):
        return None
    array = np.asarray(value)
    return array if array.dtype in DTYPES and array.size <= most else None
