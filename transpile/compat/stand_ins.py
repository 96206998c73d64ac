"""Modules that stand for JAX's, and the finder that imports them.

The module `jax.lax` stands for `transpile.lax`: its attributes are those of that module, looked up
when they are first used. Names that JAX has and transpile has not are those of `OF_JAX`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from transpile import errors
from transpile.compat.arrays import AdoptingUfunc, adopting
from transpile.ir.source_info import user_source

VERSION = "0.10.2"  # of the JAX whose names and meanings these are
# Names that stand for modules of other names.
_MOVED = {"jax": "transpile", "jax._src": "transpile"}
_FURTHER: dict[str, dict[str, Any]] = {
    "jax": {"__version__": VERSION, "__version_info__": tuple(map(int, VERSION.split(".")))},
}


# Names that packages import and do not use in what transpile can run.
_UNUSED = {
    "jax": "shard_map pmap make_mesh set_mesh NamedSharding P",
    "jax.lax": "all_gather all_to_all axis_index axis_size pmax pmean pmin ppermute psum pswapaxes",
    "jax.sharding": "Mesh PartitionSpec",
    "jax.experimental": "checkify io_callback",
    "jax._src": "compiler xla_bridge",
}


class Unused:
    """Stands for a name of JAX's that transpile has not: it can be imported."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _refused(self) -> errors.UnsupportedError:
        return errors.UnsupportedError(
            f"{user_source()}: {self._name} has no counterpart in transpile; docs/jax.md says why"
        )

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Raise UnsupportedError."""
        raise self._refused()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unused(f"{self._name}.{name}")

    def __repr__(self) -> str:
        return f"<{self._name}, which transpile has not>"


class StandIn(ModuleType):
    """A module of JAX's name with the attributes of one of ours."""

    def __init__(self, name: str, target: ModuleType) -> None:
        super().__init__(name, target.__doc__)
        self.__dict__["_target"] = target
        self.__dict__.update(_FURTHER.get(name, {}))
        self.__path__: list[str] = []  # so that it may have submodules

    def __getattr__(self, name: str) -> Any:
        if not hasattr(self._target, name) and name in _UNUSED.get(self.__name__, "").split():
            return Unused(f"{self.__name__}.{name}")
        value = getattr(self._target, name)
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "transpile":
            return importlib.import_module(f"{self.__name__}.{name}")
        if isinstance(value, np.ufunc):
            value = AdoptingUfunc(value)
        elif isinstance(value, FunctionType | BuiltinFunctionType) and _computes(
            self.__name__, name
        ):
            value = adopting(value)
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(self._target)})


_COMPUTING = ("numpy", "lax", "nn", "random", "scipy", "image", "ops", "dlpack")
_TRANSFORMING = (
    *("checkpoint", "device_put", "grad", "hessian", "jacfwd", "jacobian", "jacrev", "jit", "jvp"),
    *("linear_transpose", "linearize", "pure_callback", "remat", "value_and_grad", "vjp", "vmap"),
)


def _computes(module: str, name: str) -> bool:
    """True for functions that give arrays, or functions that do."""
    _, _, below = module.partition(".")
    if not below:
        return name in _TRANSFORMING
    return below.partition(".")[0] in _COMPUTING


class Finder(MetaPathFinder, Loader):
    """Finds `jax` and the modules below it, and nothing of jaxlib."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a stand-in; None for other packages."""
        top = name.partition(".")[0]
        if top == "jaxlib":
            raise ModuleNotFoundError(
                f"{name} is a part of JAX, in whose place transpile is: transpile.compat.install()",
                name=name,
            )
        if top != "jax":
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module that stands for JAX's."""
        ours = our_name(spec.name)
        try:
            target = importlib.import_module(ours)
        except ModuleNotFoundError as error:
            if error.name is None or not ours.startswith(error.name):
                raise
            raise ModuleNotFoundError(
                f"{spec.name} has no counterpart in transpile, which is in JAX's place "
                f"(transpile.compat.install()); docs/jax.md lists what there is",
                name=spec.name,
            ) from None
        return StandIn(spec.name, target)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run: attributes are looked up in our module."""


def our_name(name: str) -> str:
    """The module of ours that a module of JAX's stands for."""
    if name in _MOVED:
        return _MOVED[name]
    parent, _, last = name.rpartition(".")
    return f"{our_name(parent)}.{last}"
