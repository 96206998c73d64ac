"""Numerical Python functions, compiled to C that people can read, ship and trust."""

from typing import TYPE_CHECKING

from transpile import errors, numpy, stages, tree
from transpile.api import (
    clear_caches,
    disable_jit,
    djit,
    eval_shape,
    explain_cache_misses,
    jit,
    make_jaxpr,
    xla_computation,
    xpr,
)
from transpile.ir.types import ShapeDtypeStruct
from transpile.options import Options
from transpile.util import moved_modules as _moved_modules  # noqa: F401 (for its effect)
from transpile.util.lazy.imports import on_demand

__version__ = "0.1.0"

if TYPE_CHECKING:  # what is below is imported when it is first used
    from transpile import (
        debug,
        dtypes,
        flatten_util,
        lax,
        nn,
        ops,
        random,
        scipy,
        test_util,
        tree_util,
        typing,
    )
    from transpile.dispatch.config import (
        array_garbage_collection_guard,
        check_tracer_leaks,
        checking_leaks,
        config,
        debug_infs,
        debug_key_reuse,
        debug_nans,
        default_matmul_precision,
        default_prng_impl,
        enable_checks,
        enable_custom_prng,
        enable_x64,
        legacy_prng_key,
        log_compiles,
        numpy_dtype_promotion,
        numpy_rank_promotion,
        softmax_custom_jvp,
        threefry_partitionable,
        transfer_guard,
        transfer_guard_device_to_device,
        transfer_guard_device_to_host,
        transfer_guard_host_to_device,
    )
    from transpile.dtypes import float0
    from transpile.functional.checkpoint import (
        checkpoint,
        checkpoint_name,
        checkpoint_policies,
        remat,
    )
    from transpile.functional.custom import (
        closure_convert,
        custom_gradient,
        custom_jvp,
        custom_vjp,
        named_call,
        stop_gradient,
    )
    from transpile.functional.differentiate import jvp, linear_transpose, linearize, vjp
    from transpile.functional.gradients import grad, value_and_grad
    from transpile.functional.jacobians import hessian, jacfwd, jacobian, jacrev
    from transpile.functional.vectorize import vmap
    from transpile.ir.source_info import named_scope
    from transpile.runtime.arrays import (
        Array,
        block_until_ready,
        copy_to_host_async,
        device_get,
        device_put,
        typeof,
    )
    from transpile.runtime.devices import (
        Device,
        default_backend,
        default_device,
        device_count,
        devices,
        effects_barrier,
        host_count,
        host_id,
        host_ids,
        local_device_count,
        local_devices,
        process_count,
        process_index,
        process_indices,
    )
    from transpile.trace.trace import ensure_compile_time_eval

__getattr__, __dir__ = on_demand(
    "transpile",
    modules=(
        "debug",
        "dtypes",
        "flatten_util",
        "lax",
        "nn",
        "ops",
        "random",
        "scipy",
        "test_util",
        "tree_util",
        "typing",
    ),
    names={
        "transpile.functional.checkpoint": "checkpoint checkpoint_name checkpoint_policies remat",
        "transpile.functional.custom": (
            "closure_convert custom_gradient custom_jvp custom_vjp named_call stop_gradient"
        ),
        "transpile.functional.differentiate": "jvp linear_transpose linearize vjp",
        "transpile.functional.gradients": "grad value_and_grad",
        "transpile.functional.jacobians": "hessian jacfwd jacobian jacrev",
        "transpile.functional.vectorize": "vmap",
        "transpile.runtime.arrays": (
            "Array block_until_ready copy_to_host_async device_get device_put typeof"
        ),
        "transpile.runtime.devices": (
            "Device default_backend default_device device_count devices "
            "effects_barrier host_count host_id host_ids local_device_count "
            "local_devices process_count process_index process_indices"
        ),
        "transpile.dtypes": "float0",
        "transpile.dispatch.config": (
            "array_garbage_collection_guard check_tracer_leaks checking_leaks "
            "config debug_infs debug_key_reuse debug_nans default_matmul_precision "
            "default_prng_impl enable_checks enable_custom_prng enable_x64 "
            "legacy_prng_key log_compiles numpy_dtype_promotion "
            "numpy_rank_promotion softmax_custom_jvp threefry_partitionable "
            "transfer_guard transfer_guard_device_to_device "
            "transfer_guard_device_to_host transfer_guard_host_to_device"
        ),
        "transpile.ir.source_info": "named_scope",
        "transpile.trace.trace": "ensure_compile_time_eval",
    },
)

__all__ = [
    "Array",
    "Device",
    "Options",
    "ShapeDtypeStruct",
    "array_garbage_collection_guard",
    "block_until_ready",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "config",
    "copy_to_host_async",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "djit",
    "dtypes",
    "effects_barrier",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "explain_cache_misses",
    "flatten_util",
    "float0",
    "grad",
    "hessian",
    "host_count",
    "host_id",
    "host_ids",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "legacy_prng_key",
    "linear_transpose",
    "linearize",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_jaxpr",
    "named_call",
    "named_scope",
    "nn",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "ops",
    "process_count",
    "process_index",
    "process_indices",
    "random",
    "remat",
    "scipy",
    "softmax_custom_jvp",
    "stages",
    "stop_gradient",
    "test_util",
    "threefry_partitionable",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
    "tree",
    "tree_util",
    "typeof",
    "typing",
    "value_and_grad",
    "vjp",
    "vmap",
    "xla_computation",
    "xpr",
]
