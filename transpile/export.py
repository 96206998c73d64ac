"""The names of `jax.export`: compiled functions as bytes, which another process can call.

The bytes are a pickle of a `Compiled`, with its program: they are read where the processor, the
compiler's options and the version of transpile are the same, and like any pickle only from whom one
trusts. For C programs there is `Compiled.save`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from transpile.dispatch.jitted import BoundWrapped, Wrapped
from transpile.stages import Compiled
from transpile.trace.tracebacks import api_boundary
from transpile.util.frozen_records import dataclass

__all__ = ["Exported", "default_export_platform", "deserialize", "export"]


def default_export_platform() -> str:
    """The platform that functions are exported for: "cpu"."""
    return "cpu"


@dataclass(frozen=True, eq=False)
class Exported:
    """A function that was compiled for one signature.

    fun_name     its name
    in_tree      the structure of its (args, kwargs); out_tree that of its result
    in_avals     the types of the arguments' leaves; out_avals those of the result's
    platforms    ("cpu",)
    """

    fun_name: str
    compiled: Compiled
    module: str
    platforms: tuple[str, ...] = ("cpu",)

    @property
    def in_tree(self) -> Any:
        """The structure of (args, kwargs)."""
        return self.compiled.in_tree

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self.compiled.out_tree

    @property
    def in_avals(self) -> Any:
        """The types of the leaves of the arguments."""
        return self.compiled.in_avals

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The result for arguments of the signature; TypeError for others."""
        return self.compiled(*args, **kwargs)

    def mlir_module(self) -> str:
        """The function in StableHLO."""
        return self.module

    def serialize(self) -> bytearray:
        """The bytes that `deserialize` reads."""
        return bytearray(pickle.dumps(self))


@api_boundary
def export(
    fun_jit: Wrapped | BoundWrapped,
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[Any] = (),
) -> Callable[..., Exported]:
    """A function of example arguments that compiles a jitted function for them: an Exported.

    platforms        None or ("cpu",)
    disabled_checks  accepted for compatibility; it changes nothing

    Arguments are pytrees of arrays, numbers, or objects with `shape` and `dtype`. Raises ValueError
    for what is not jitted, and for other platforms.
    """
    if not isinstance(fun_jit, Wrapped | BoundWrapped):
        raise ValueError(f"Function to be exported must be the result of `jit` but is: {fun_jit}")
    if platforms is not None and tuple(platforms) != ("cpu",):
        raise ValueError(f"there is one platform, cpu; got {tuple(platforms)}")

    @api_boundary
    def exported(*args: Any, **kwargs: Any) -> Exported:
        lowered = fun_jit.lower(*args, **kwargs)
        return Exported(fun_jit.__name__, lowered.compile(), lowered.as_text("stablehlo"))

    return exported


def deserialize(blob: bytes | bytearray) -> Exported:
    """The Exported of which these are the bytes; raises TypeError for those of something else."""
    value = pickle.loads(blob)
    if not isinstance(value, Exported):
        raise TypeError(f"these bytes are those of a {type(value).__name__}, not of an Exported")
    return value
