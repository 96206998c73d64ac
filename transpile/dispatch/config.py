"""JAX's configuration: `config.update("jax_enable_x64", True)`, and contexts that set one option.

There are no global compiler options here: those are arguments of `jit`. An option of JAX is
accepted where it asks for what transpile does anyway, or changes no result; any other value raises
ValueError. These do something: `jax_disable_jit`, `jax_explain_cache_misses`,
`jax_traceback_filtering`, `jax_default_prng_impl`, `jax_default_device`,
`jax_default_matmul_precision` on GPUs, and `jax_debug_nans` and `jax_debug_infs`: results of jitted
functions and of transformations with such values are FloatingPointErrors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from transpile.dispatch.switches import (
    GENERATORS,
    checked_values,
    choose_generator,
    default_generator,
    explain_cache_misses,
    is_jit_disabled,
    search_results,
    searching,
    switch_jit,
)
from transpile.dispatch.trace_cache import clear_caches
from transpile.runtime.devices import default_of_all_threads, set_default_device
from transpile.trace.tracebacks import show_all_frames
from transpile.util.settings.product_precision import ask_in_all_threads, asked_for, asking_for

_X64 = "say dtype=numpy.float32 where float32 is meant"
_CPU = "programs run on the CPU"
_NUMPY = "operands are promoted and broadcast as NumPy does it"
_KEYS = "random keys are those of JAX's threefry2x32, partitionable"

# Options with a fixed meaning: the values that ask for it, and why another one is refused.
_FIXED: dict[str, tuple[Any, str]] = {
    "jax_enable_x64": ((True,), _X64),
    "jax_platforms": (("cpu", "", None), _CPU),
    "jax_platform_name": (("cpu", "", None), _CPU),
    "jax_numpy_rank_promotion": (("allow",), _NUMPY),
    "jax_numpy_dtype_promotion": (("standard",), _NUMPY),
    "jax_threefry_partitionable": ((True,), _KEYS),
    "jax_softmax_custom_jvp": ((True,), "softmax has the derivative that JAX gives it"),
}

# Options that change no result, with JAX's defaults. They take any value.
_FREE: dict[str, Any] = {
    "jax_array_garbage_collection_guard": None,
    "jax_check_tracer_leaks": False,
    "jax_compilation_cache_dir": None,
    "jax_cpu_collectives_implementation": None,
    "jax_debug_key_reuse": False,
    "jax_dynamic_shapes": False,
    "jax_enable_checks": False,
    "jax_enable_compilation_cache": True,
    "jax_enable_custom_prng": False,
    "jax_explain_cache_misses": False,
    "jax_include_full_tracebacks_in_locations": True,
    "jax_legacy_prng_key": "allow",
    "jax_log_compiles": False,
    "jax_num_cpu_devices": 1,
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": 0,
    "jax_raise_persistent_cache_errors": False,
    "jax_random_seed_offset": 0,
    "jax_traceback_filtering": "auto",
    "jax_transfer_guard": None,
    "jax_transfer_guard_device_to_device": None,
    "jax_transfer_guard_device_to_host": None,
    "jax_transfer_guard_host_to_device": None,
}


# Options by which results are searched, and for which kind of values.
_SEARCHED = {"jax_debug_nans": "nan", "jax_debug_infs": "infinity"}


_GENERATOR, _DEVICE = "jax_default_prng_impl", "jax_default_device"
_PRECISION = "jax_default_matmul_precision"


def _use_generator(name: Any) -> None:
    """Make another generator that of keys for which none is named. Traces have the keys of the one
    before, so that they are dropped."""
    if name not in GENERATORS:
        known = ", ".join(map(repr, GENERATORS))
        raise ValueError(f"{_GENERATOR} is one of {known}, not {name!r}")
    if name != default_generator():
        choose_generator(name)
        clear_caches()


class Config:
    """The options: `config.update(name, value)`, `config.jax_enable_x64`."""

    def __init__(self) -> None:
        self._values = dict(_FREE)

    def update(self, name: str, value: Any) -> None:
        """Set an option. Raises AttributeError for an unknown name, and ValueError for a value that
        would change results."""
        if name == "jax_disable_jit":
            switch_jit(bool(value))
        elif name == "jax_explain_cache_misses":
            explain_cache_misses(bool(value))
            self._values[name] = bool(value)
        elif name in _SEARCHED:
            search_results(_SEARCHED[name], bool(value))
        elif name == "jax_traceback_filtering":
            show_all_frames(value == "off")
            self._values[name] = value
        elif name == _GENERATOR:
            _use_generator(value)
        elif name == _DEVICE:
            set_default_device(value)
        elif name == _PRECISION:
            ask_in_all_threads(value)
        elif name in _FIXED:
            values, reason = _FIXED[name]
            if not any(value is v or value == v for v in values):
                raise ValueError(f"{name} is {values[0]!r} and cannot be {value!r}: {reason}")
        elif name in self._values:
            self._values[name] = value
        else:
            raise AttributeError(f"Unrecognized config option: {name}")

    def read(self, name: str) -> Any:
        """The value of an option; AttributeError for an unknown name."""
        if name == "jax_disable_jit":
            return is_jit_disabled()
        if name in _SEARCHED:
            return _SEARCHED[name] in checked_values()
        if name == _GENERATOR:
            return default_generator()
        if name == _DEVICE:
            return default_of_all_threads()
        if name == _PRECISION:
            return asked_for()
        if name in _FIXED:
            return _FIXED[name][0][0]
        if name not in self._values:
            raise AttributeError(f"Unrecognized config option: {name}")
        return self._values[name]

    @property
    def x64_enabled(self) -> bool:
        """True: 64-bit floats and integers are always enabled."""
        return True

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("jax_"):
            raise AttributeError(f"Config has no attribute {name!r}")
        return self.read(name)


config = Config()


def _context(name: str, default: Any = True) -> Callable[..., Any]:
    @contextmanager
    def setting(value: Any = default) -> Iterator[None]:
        if name in _SEARCHED:
            with searching(_SEARCHED[name], bool(value)):
                yield
            return
        if name == _PRECISION:
            with asking_for(value):
                yield
            return
        before = config.read(name)
        config.update(name, value)
        try:
            yield
        finally:
            config.update(name, before)

    setting.__name__ = setting.__qualname__ = name.removeprefix("jax_")
    setting.__doc__ = f"A context in which `config.{name}` is set.\n\n    {_effect(name)}\n    "
    return setting


def _effect(name: str) -> str:
    """The effect of an option, for the docstring of its context."""
    if name in _SEARCHED:
        return (
            "Results of jitted functions and of transformations are searched, in this thread: "
            f"where one\n    has {_SEARCHED[name]}, a FloatingPointError names the operation that "
            "gave the first, and its line.\n    What NumPy computes outside is not searched: "
            "`numpy.errstate` does that."
        )
    if name == _PRECISION:
        return (
            "On GPUs this thread's products of float32 may round their factors to ten bits of "
            'mantissa\n    where it is "tensorfloat32", "high" or "default", unless they name a '
            "precision of their own."
        )
    if name == _GENERATOR:
        return (
            "Keys for which no generator is named are this one's, in all threads. Traces are\n"
            "    dropped when it changes."
        )
    if name not in _FIXED:
        return "It changes no result."
    values, reason = _FIXED[name]
    return f"To {values[0]!r} only, else it raises ValueError: {reason}."


array_garbage_collection_guard = _context("jax_array_garbage_collection_guard")
check_tracer_leaks = checking_leaks = _context("jax_check_tracer_leaks")
debug_infs = _context("jax_debug_infs")
debug_key_reuse = _context("jax_debug_key_reuse")
debug_nans = _context("jax_debug_nans")
default_matmul_precision = _context("jax_default_matmul_precision", None)
default_prng_impl = _context("jax_default_prng_impl", "threefry2x32")
enable_checks = _context("jax_enable_checks")
enable_custom_prng = _context("jax_enable_custom_prng")
enable_x64 = _context("jax_enable_x64")
legacy_prng_key = _context("jax_legacy_prng_key", "allow")
log_compiles = _context("jax_log_compiles")
numpy_dtype_promotion = _context("jax_numpy_dtype_promotion", "standard")
numpy_rank_promotion = _context("jax_numpy_rank_promotion", "allow")
softmax_custom_jvp = _context("jax_softmax_custom_jvp")
threefry_partitionable = _context("jax_threefry_partitionable")
transfer_guard = _context("jax_transfer_guard", None)
transfer_guard_device_to_device = _context("jax_transfer_guard_device_to_device", None)
transfer_guard_device_to_host = _context("jax_transfer_guard_device_to_host", None)
transfer_guard_host_to_device = _context("jax_transfer_guard_host_to_device", None)
