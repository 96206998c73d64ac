"""Shared objects at work: loading, calls, memory, callbacks, devices."""
