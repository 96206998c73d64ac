"""What compiles and inspects: jit, djit, xpr, make_jaxpr, xla_computation, eval_shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.dispatch import preloading
from transpile.dispatch.dynamic_shapes import setting as dynamic_shapes_setting
from transpile.dispatch.jitted import BoundWrapped, Wrapped
from transpile.dispatch.switches import disable_jit, explain_cache_misses, warm_up_requested
from transpile.dispatch.trace_cache import clear_caches
from transpile.dispatch.tracing import Config
from transpile.ir.primitive import Axis
from transpile.options import Options
from transpile.pytree.device_arrays import EAGER
from transpile.targets import choice
from transpile.trace.axis_names import in_scope_of
from transpile.trace.call_arguments import parameters
from transpile.trace.captured_arrays import CONVERSIONS
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    from transpile.functional import eager, flatten_fun
    from transpile.python import conversions
else:
    conversions = Later("transpile.python.conversions")
    eager = Later("transpile.functional.eager")
    flatten_fun = Later("transpile.functional.flatten_fun")

__all__ = [
    "clear_caches",
    "disable_jit",
    "djit",
    "eval_shape",
    "explain_cache_misses",
    "jit",
    "make_jaxpr",
    "xla_computation",
    "xpr",
]

Numbers = int | Iterable[int] | None
Names = str | Iterable[str] | None

CONVERSIONS.append(lambda failure: conversions.Conversions(failure))
EAGER["applied"] = lambda *call: eager.applied(*call)
EAGER["gathered"] = lambda *call: eager.gathered(*call)


@api_boundary
def jit(
    func: Callable[..., Any] | None = None,
    static: bool = True,
    show_graph: bool = False,
    auto_device: bool = True,
    *,
    static_argnums: Numbers = None,
    static_argnames: Names = None,
    donate_argnums: Numbers = None,
    donate_argnames: Names = None,
    keep_unused: bool = False,
    inline: bool = False,
    device: Any = None,
    backend: str | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    compiler_options: Mapping[str, Any] | None = None,
    warm_up: str | None = None,
    dynamic_shapes: Any = None,
    python_control_flow: bool = True,
    check_bounds: bool = False,
    check_arithmetic: bool = False,
) -> Any:
    """Compile a function to C when it is called: a decorator, with or without parentheses.

    Arguments and results are pytrees (tuples, lists, dicts, dataclasses, ...) of NumPy arrays and
    numbers; results are `numpy.ndarray`s. The function is run once on tracers for each signature
    (structure, shapes, dtypes, weak types, static values); what it did to them is compiled, and
    later calls run the program. A Python number is a traced scalar of weak type (NEP 50): another
    value does not trace again. Called inside another traced function it becomes part of that one.

    func              a function, method, partial or callable; as a method, a `self` that is no
                      pytree is static, and its attributes are watched
    static            False: the Python runs on every call with known values, see `djit`
    show_graph        print the graph (the text of `xpr`) when it is first compiled
    auto_device       move arrays of NumPy, and numbers, to the default device if that is a
                      GPU, and to that of other arguments. False: a call runs where its arrays are
                      (docs/cuda.md)
    device, backend   what calls run on: "cpu", "cuda", "gpu", "cuda:1", or one of `devices()`.
                      None: the device of the arguments, or the default one
    static_argnums, static_argnames   arguments whose values are part of the program; hashable. Each
                      is completed from the other; negative numbers count from the end.
                      Functions, texts, types, dtypes and members of enumerations are static
                      unasked, which costs such a call some 15 microseconds
    donate_argnums, donate_argnames   arguments whose memory results may take, where shape and dtype
                      allow. Such an array is deleted: its dtype becomes `deleted ...`, for which
                      NumPy and jitted functions raise. `memory_analysis().alias_size_in_bytes`
                      says how much memory is shared
    keep_unused       arguments that the result does not depend on stay parameters of the C function
    inline, in_shardings, out_shardings
                      accepted for compatibility; they change nothing
    compiler_options  names and values of `Options`: opt_level, march, openmp, ...
    warm_up           "numpy": while a program is being built, in the background, calls are computed
                      by NumPy. Results of the first calls differ from later ones by rounding, and
                      errors of the build are raised by a later call. A program from the cache is
                      used at once. "off": the first call waits. None: as the environment variable
                      TRANSPILE_WARM_UP says, "off" by default (docs/environment.md)
    dynamic_shapes    extents that one program takes when it is called (docs/runtime_sizes.md):
                      `{"x": ("n", 3)}` by arguments; True: all axes, equally long ones together;
                      "auto": those that have had two lengths. None: there are none
    python_control_flow   where a traced value decides what Python does (`if x > 0`, `while`,
                      `range(n)`), compile the function's own statements from its source
                      (docs/python_control_flow.md). False: raise an error that says what to write
    check_bounds      a traced index that is out of range raises NumPy's IndexError, and has a code
                      in C; False: it is brought into the range (docs/differences_from_numpy.md)
    check_arithmetic  what Python's numbers raise exceptions for raises them, and has codes in C:
                      `n // 0`, `1 / 0.0`, `1 << -1`, `int(nan)`, `math.sqrt(-1)`. False: the
                      results are NumPy's, such as NaN (docs/python_control_flow.md)

    Arrays, numbers and lists that the function takes from its surroundings are copied while
    tracing. A later change of what it or its helpers name is noticed, and traces again: globals,
    closures, defaults, attributes at any depth, containers of up to 1024 items, arrays up to 4 kB.
    Warning: of a larger array a sample of the elements is compared; longer containers, and objects
    of installed packages, are noticed when they are replaced (docs/traces.md has the list, and
    `explain_cache_misses` logs them). Make such values arguments, or call `clear_cache()`.

    What the function does besides happens once, while it is traced: a `print`, a draw from
    `np.random`. `a[i] = v` and `a += v` do what they do in NumPy, on views and on arguments too:
    the caller's array has changed when the call returns.

    Raises ValueError for argument numbers or names that the function does not have, for an argument
    both static and donated, for a static value that cannot be hashed and for an unknown compiler
    option; TypeError and its subclasses in `transpile.errors` where an argument or result is no
    array, where the Python wants the value of a traced array, or for a switch that is no bool.
    """

    def wrap(function: Callable[..., Any]) -> Wrapped:
        _check_callable(function)
        config = Config(
            parameters(function, static_argnums, static_argnames, donate_argnums, donate_argnames),
            static,
            show_graph,
            keep_unused,
            options,
            warms_up,
            sizes,
            python_control_flow,
            check_bounds,
            check_arithmetic,
            place,
            auto_device,
        )
        if not warms_up:  # then another process compiles
            preloading.begin(function)
        return Wrapped(function, config)

    _check_switches(
        static=static,
        show_graph=show_graph,
        auto_device=auto_device,
        python_control_flow=python_control_flow,
        check_bounds=check_bounds,
        check_arithmetic=check_arithmetic,
    )
    options, warms_up = Options().replace(compiler_options), warm_up_requested(warm_up)
    place = _device_named(device, backend, options)
    options = dataclasses.replace(options, device=place or options.device)
    sizes = dynamic_shapes_setting(dynamic_shapes)
    if sizes and not static:
        raise ValueError("dynamic_shapes is for static mode: a graph of djit knows its sizes")
    return wrap if func is None else wrap(func)


def _check_callable(function: object) -> None:
    if not callable(function):
        raise TypeError(f"jit takes a function, not a {type(function).__name__}: {function!r}")


def _device_named(device: Any, backend: str | None, options: Options) -> str:
    """The name of the device that functions run on; "" where that depends on their arguments."""
    if device is None and backend is None:
        return "" if options.device == choice.HOST else options.device
    name = "jit(device)" if device is not None else "jit(backend)"
    return choice.name_of(backend if device is None else device, name)


def _check_switches(**switches: Any) -> None:
    """Refuse what is no bool: a number given by position was meant for `static_argnums`."""
    for name, value in switches.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name} is True or False, not {value!r}")


@api_boundary
def djit(
    func: Callable[..., Any] | None = None,
    show_graph: bool = False,
    auto_device: bool = True,
    **settings: Any,
) -> Any:
    """Compile dynamically: `jit(static=False)`, with `jit`'s further settings.

    The Python function runs on every call and may branch on values: `if x.sum() > 0:`, `int(x[0])`
    and `range(n)` work, the path taken is in the graph, and a graph that was built before is not
    built again: the last 256 of each function are kept. Python numbers stay Python numbers; their
    values are part of the graph.
    """
    settings = {**settings, "static": False, "show_graph": show_graph, "auto_device": auto_device}
    return jit(**settings) if func is None else jit(func, **settings)


@api_boundary
def xpr(fn: Callable[..., Any], *primals: Any, **named_primals: Any) -> str:
    """The traced graph of `fn(*primals)` as JAX-like text, one equation per line.

    Arguments are pytrees of arrays, numbers, or objects with `shape` and `dtype`. The trace is
    shared with `jit(fn)`; nothing is compiled. Raises what tracing raises.
    """
    return str(make_jaxpr(fn)(*primals, **named_primals))


def make_jaxpr(
    fn: Callable[..., Any],
    static_argnums: Numbers = (),
    axis_env: Iterable[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function of the arguments of `fn` that returns the traced Graph, whose text is that of
    `xpr`.

    axis_env      pairs of a name and a size: axes that collectives of `lax` in `fn` refer to
    return_shape  return the pair of it and the result's pytree with ShapeDtypeStruct leaves

    Arguments are pytrees of arrays, numbers, or objects with `shape` and `dtype`. The Graph is this
    package's, not a jaxpr. In a traced function, traced values are arguments as well; those that
    `fn` closes over are inputs in front of the arguments. Raises what tracing raises.
    """
    axes = _axes(axis_env)
    fn = in_scope_of(axes, fn) if axes else fn
    jitted = _jitted(fn, static_argnums)

    @api_boundary
    def graph_of(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is None:
            traced = jitted.trace(*args, **kwargs)
            graph, shapes = traced.jaxpr, traced.out_info
        else:
            graph, shapes = flatten_fun.graph_and_shapes(fn, args, kwargs, static_argnums)
        return (graph, shapes) if return_shape else graph

    return graph_of


def _axes(axis_env: Iterable[tuple[Hashable, int]] | None) -> tuple[Axis, ...]:
    """The axes of an environment; ValueError for one that has no members."""
    axes = tuple(Axis(int(size), name) for name, size in axis_env or ())
    if any(axis.static_size < 1 for axis in axes):
        raise ValueError(f"the sizes of axis_env are positive: {', '.join(map(str, axes))}")
    return axes


_MOST_ARGUMENTS = 100  # of a module whose entry takes them one by one, where it is not said
_PLATFORMS = (None, "cpu", "gpu", "tpu")


def xla_computation(
    fun: Callable[..., Any],
    static_argnums: Numbers = (),
    axis_env: Iterable[tuple[Hashable, int]] | None = None,
    in_parts: Any = None,
    out_parts: Any = None,
    backend: str | None = None,
    tuple_args: bool | None = False,
    instantiate_const_outputs: bool | None = None,
    return_shape: bool = False,
    donate_argnums: Numbers = (),
) -> Callable[..., Any]:
    """A function of example arguments that gives the XlaComputation of `fun` for them: its HLO, as
    `jax.xla_computation` did.

    Arguments are pytrees of arrays, numbers, or objects with `shape` and `dtype`; nothing is
    compiled. Those that nothing reads stay parameters; those that are given by name come last, in
    the order of their names.

    axis_env          pairs of a name and a size: the axes of the replicas, which are numbered with
                      the last axis fastest. Collectives of `lax` refer to them
    in_parts          how arguments are cut into parts: a tuple with the number of parts along each
                      dimension, None for an array that is not cut, or a prefix of the structure of
                      the arguments with such leaves. The module says so as shardings
    out_parts         the same of the result
    backend           "cpu", "gpu" or "tpu"; the module is the same for all
    tuple_args        the module takes one tuple; None: where there are more than 100 arguments
    instantiate_const_outputs  does nothing
    return_shape      give a pair: the computation, and the result's pytree with objects that have
                      `shape`, `dtype` and `named_shape`
    donate_argnums    arguments whose buffers outputs may take, which the module says

    Raises ValueError for a platform that there is none of, for argument numbers that are out of
    range or both static and donated, for parts that do not fit; NameError for a name that is no
    axis; and UnsupportedError for sizes that are known at run time, which HLO cannot say.
    """
    if backend not in _PLATFORMS:
        raise ValueError(f"unknown backend {backend!r}: there are cpu, gpu and tpu")
    axes = _axes(axis_env)
    inside = in_scope_of(axes, fun) if axes else fun
    jitted = jit(inside, static_argnums=static_argnums, donate_argnums=donate_argnums)

    @api_boundary
    def computation(*args: Any, **kwargs: Any) -> Any:
        traced = jitted.trace(*args, **kwargs)
        is_tuple = tuple_args
        if is_tuple is None:
            is_tuple = len(traced.jaxpr.inputs) > _MOST_ARGUMENTS
        made = traced.hlo(tuple_args=is_tuple, axes=axes, in_parts=in_parts, out_parts=out_parts)
        return (made, made.result_info) if return_shape else made

    return computation


@api_boundary
def eval_shape(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of `fn(*args, **kwargs)`, its pytree with ShapeDtypeStruct leaves, by
    tracing alone.

    Arguments are pytrees of arrays, numbers, or objects with `shape` and `dtype`; in a traced
    function, of traced values too. Nothing is computed or compiled. Raises what tracing raises.
    """
    if current_trace() is not None:
        return flatten_fun.graph_and_shapes(fn, args, kwargs)[1]
    return _jitted(fn).eval_shape(*args, **kwargs)


def _jitted(function: Callable[..., Any], static_argnums: Numbers = None) -> Any:
    if isinstance(function, Wrapped | BoundWrapped) and static_argnums in (None, ()):
        return function
    # As `jit`, whose traces it shares, for what compiles nothing.
    _check_callable(function)
    known = parameters(function, static_argnums, None, None, None)
    return Wrapped(function, Config(known, warms_up=warm_up_requested(None)))
