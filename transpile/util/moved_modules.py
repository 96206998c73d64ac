"""Import modules under their former names, which are in users' pickles.

Listed are the modules of what users pickle: stages, pytree structures, keys, the named tuples and
enumerations of `lax`, and its functions, which are pickled by name. A former name imports the
module itself, not a copy, so that a class exists once.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_MOVED = {
    "transpile.graph": "transpile.ir.graph",
    "transpile.lax.arrays.binary_operators": "transpile.lax.operators.binary",
    "transpile.lax.arrays.operators": "transpile.lax.operators.unary",
    "transpile.lax.arrays.rounding": "transpile.lax.operators.rounding",
    "transpile.lax.arrays.special": "transpile.lax.operators.special",
    "transpile.lax.convolution_shapes": "transpile.lax.indexed.convolution_shapes",
    "transpile.lax.kinds": "transpile.lax.arrays.enums",
    "transpile.nodes": "transpile.pytree.registry",
    "transpile.parameters": "transpile.trace.call_arguments",
    "transpile.pytrees": "transpile.pytree.treedef",
    "transpile.signature": "transpile.trace.call_signature",
    "transpile.types": "transpile.ir.types",
    "transpile.wrapped": "transpile.dispatch.jitted",
}


class _Finder:
    """A meta path finder, the last one: it gets the names that no other finder has."""

    def find_spec(self, name: str, _path: object, _target: object = None) -> ModuleSpec | None:
        loader: Any = _Loader()
        return ModuleSpec(name, loader) if name in _MOVED else None


class _Loader:
    def create_module(self, _spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # An import statement returns the entry of `sys.modules` after this call.
        sys.modules[module.__name__] = import_module(_MOVED[module.__name__])


sys.meta_path.append(_Finder())
