"""`transpile.config`: the settings of JAX's that programs ask for and that hold here anyway.

There are no global switches here; what a program is compiled with are arguments of `jit`. A program
for JAX that says `jax.config.update("jax_enable_x64", True)` runs as it is; one that asks for what
cannot be has an error.
"""

from __future__ import annotations

from typing import Any

# The values that may be asked for, the one that holds first. Others change what is computed, or
# where, and are refused.
_VALUES: dict[str, tuple[Any, ...]] = {
    "jax_enable_x64": (True,),
    "jax_platforms": ("cpu", None, ""),
    "jax_platform_name": ("cpu", ""),
    "jax_default_device": (None,),
    "jax_default_matmul_precision": ("highest", None, "default", "high", "float32"),
    "jax_default_prng_impl": ("threefry2x32",),
    "jax_threefry_partitionable": (True,),
    "jax_enable_custom_prng": (False, True),
    "jax_numpy_rank_promotion": ("allow",),
    "jax_numpy_dtype_promotion": ("standard",),
    "jax_debug_nans": (False,),
    "jax_debug_infs": (False,),
    "jax_disable_jit": (False,),
}
_INSTEAD = {
    "jax_enable_x64": "say dtype=numpy.float32 where float32 is meant",
    "jax_disable_jit": "use the context transpile.disable_jit()",
}


class Config:
    """Reads as JAX's: `config.jax_enable_x64`; `update` takes the values that hold anyway."""

    def update(self, name: str, value: Any) -> None:
        """Accept a value that changes nothing.

        Raises ValueError for one that would, and AttributeError for an unknown name.
        """
        if name not in _VALUES:
            raise AttributeError(f"Unrecognized config option: {name}")
        if value not in _VALUES[name]:
            instead = _INSTEAD.get(name, "what a program is compiled with are arguments of jit")
            raise ValueError(f"{name} is {_VALUES[name][0]!r} and cannot be {value!r}: {instead}")

    def __getattr__(self, name: str) -> Any:
        if name not in _VALUES:
            raise AttributeError(f"Unrecognized config option: {name}")
        return _VALUES[name][0]


config = Config()
