"""Damped waves, by a C library that is in the wheel: it needs NumPy, and no compiler."""

from damped.damped_c import wave

__all__ = ["wave"]
