"""Jitted functions: tracing for new signatures, the cache of traces, switches and JAX's
settings."""
