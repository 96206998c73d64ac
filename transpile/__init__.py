"""Numerical Python functions, compiled to C that people can read, ship and trust."""

import os as _os
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
from transpile.util import data_files as _data_files
from transpile.util import moved_modules as _moved_modules  # noqa: F401 (for its effect)
from transpile.util.lazy.imports import Later as _Later
from transpile.util.lazy.imports import on_demand

__version__ = _data_files.VERSION

if TYPE_CHECKING:  # what is below is imported when it is first used
    from transpile import (
        ad_checkpoint,
        compat,
        core,
        custom_batching,
        custom_derivatives,
        debug,
        distributed,
        dlpack,
        dtypes,
        experimental,
        export,
        extend,
        flatten_util,
        image,
        lax,
        log,
        nn,
        ops,
        random,
        ref,
        scipy,
        sharding,
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
    from transpile.functional.callbacks import io_callback, pure_callback
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
    from transpile.hlo_import.function import from_hlo, from_stablehlo
    from transpile.ir.indices.size_constraints import dims
    from transpile.ir.source_info import named_scope
    from transpile.parallel.mesh import make_mesh
    from transpile.parallel.pmap import pmap
    from transpile.parallel.shard_map import shard_map
    from transpile.python.growing.rooms import with_room
    from transpile.python.loop_hints import no_unroll, unroll
    from transpile.ref import Ref, empty_ref, free_ref, freeze, new_ref
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
    from transpile.sharding import Mesh, NamedSharding, P
    from transpile.trace.trace import ensure_compile_time_eval

__getattr__, __dir__ = on_demand(
    "transpile",
    modules=(
        "ad_checkpoint",
        "compat",
        "core",
        "custom_batching",
        "custom_derivatives",
        "debug",
        "distributed",
        "dlpack",
        "dtypes",
        "experimental",
        "export",
        "extend",
        "flatten_util",
        "image",
        "lax",
        "log",
        "nn",
        "ops",
        "random",
        "ref",
        "scipy",
        "sharding",
        "test_util",
        "tree_util",
        "typing",
    ),
    names={
        "transpile.functional.callbacks": "io_callback pure_callback",
        "transpile.functional.checkpoint": "checkpoint checkpoint_name checkpoint_policies remat",
        "transpile.functional.custom": (
            "closure_convert custom_gradient custom_jvp custom_vjp named_call stop_gradient"
        ),
        "transpile.functional.differentiate": "jvp linear_transpose linearize vjp",
        "transpile.functional.gradients": "grad value_and_grad",
        "transpile.functional.jacobians": "hessian jacfwd jacobian jacrev",
        "transpile.functional.vectorize": "vmap",
        "transpile.hlo_import.function": "from_hlo from_stablehlo",
        "transpile.runtime.arrays": (
            "Array block_until_ready copy_to_host_async device_get device_put typeof"
        ),
        "transpile.runtime.devices": (
            "Device default_backend default_device device_count devices "
            "effects_barrier host_count host_id host_ids local_device_count "
            "local_devices process_count process_index process_indices"
        ),
        "transpile.dtypes": "float0",
        "transpile.ref": "Ref empty_ref free_ref freeze new_ref",
        "transpile.sharding": "Mesh NamedSharding P",
        "transpile.dispatch.config": (
            "array_garbage_collection_guard check_tracer_leaks checking_leaks "
            "config debug_infs debug_key_reuse debug_nans default_matmul_precision "
            "default_prng_impl enable_checks enable_custom_prng enable_x64 "
            "legacy_prng_key log_compiles numpy_dtype_promotion "
            "numpy_rank_promotion softmax_custom_jvp threefry_partitionable "
            "transfer_guard transfer_guard_device_to_device "
            "transfer_guard_device_to_host transfer_guard_host_to_device"
        ),
        "transpile.ir.indices.size_constraints": "dims",
        "transpile.ir.source_info": "named_scope",
        "transpile.parallel.mesh": "make_mesh",
        "transpile.parallel.pmap": "pmap",
        "transpile.parallel.shard_map": "shard_map",
        "transpile.python.loop_hints": "no_unroll unroll",
        "transpile.python.growing.rooms": "with_room",
        "transpile.trace.trace": "ensure_compile_time_eval",
    },
)

__all__ = [
    "Array",
    "Device",
    "Mesh",
    "NamedSharding",
    "Options",
    "P",
    "Ref",
    "ShapeDtypeStruct",
    "ad_checkpoint",
    "array_garbage_collection_guard",
    "block_until_ready",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "compat",
    "config",
    "copy_to_host_async",
    "core",
    "custom_batching",
    "custom_derivatives",
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
    "dims",
    "disable_jit",
    "distributed",
    "djit",
    "dlpack",
    "dtypes",
    "effects_barrier",
    "empty_ref",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "experimental",
    "explain_cache_misses",
    "export",
    "extend",
    "flatten_util",
    "float0",
    "free_ref",
    "freeze",
    "from_hlo",
    "from_stablehlo",
    "grad",
    "hessian",
    "host_count",
    "host_id",
    "host_ids",
    "image",
    "io_callback",
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
    "log",
    "log_compiles",
    "make_jaxpr",
    "make_mesh",
    "named_call",
    "named_scope",
    "new_ref",
    "nn",
    "no_unroll",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "ops",
    "pmap",
    "process_count",
    "process_index",
    "process_indices",
    "pure_callback",
    "random",
    "ref",
    "remat",
    "scipy",
    "shard_map",
    "sharding",
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
    "unroll",
    "value_and_grad",
    "vjp",
    "vmap",
    "with_room",
    "xla_computation",
    "xpr",
]

_logs = _os.environ.get("TRANSPILE_LOG") and _Later("transpile.log").begin_as_asked()
