"""XLA as a peer: it parses a module's text or proto, compiles it and runs it."""

import functools

import numpy as np


@functools.cache
def _device():
    import jax
    from jaxlib import lapack

    jax.config.update("jax_enable_x64", True)
    lapack.prepare_lapack_call("getrf_ffi", np.float32)  # which loads all of LAPACK
    return jax.devices("cpu")[0]


def parsed(text):
    """XLA's module of an HLO text."""
    from jaxlib import xla_client

    return xla_client.hlo.hlo_module_from_text(text)


def printed(proto):
    """XLA's text of a serialised HloModuleProto."""
    from jaxlib import xla_client

    return xla_client.XlaComputation(proto).as_hlo_text()


def printed_text(text):
    """XLA's text of a module that it has parsed.

    Its parser makes both parts of a complex number NaN where one is.
    """
    found = printed(parsed(text).as_serialized_hlo_module_proto())
    return found.replace("(nan, nan)", "(nan, 0)")


def run_proto(proto, arguments):
    """What XLA computes by a serialised HloModuleProto, as NumPy arrays."""
    from jaxlib import _jax, xla_client

    computation = xla_client.XlaComputation(proto)
    return run_stablehlo(_jax.mlir.xla_computation_to_mlir_module(computation), arguments)


def run_stablehlo(module, arguments):
    """What XLA computes by the text of a StableHLO module."""
    import jax
    from jaxlib import _jax, xla_client

    device = _device()
    devices = _jax.DeviceList((device,))
    program = device.client.compile_and_load(module, devices, xla_client.CompileOptions())
    arrays = [jax.device_put(np.asarray(x), device) for x in arguments]
    results = program.execute_sharded(arrays).disassemble_into_single_device_arrays()
    return [np.asarray(shards[0]) for shards in results]
