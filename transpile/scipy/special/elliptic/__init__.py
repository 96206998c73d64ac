"""Elliptic integrals: those of Legendre, and Carlson's of which they are made."""

from transpile.scipy.special.elliptic.carlson import elliprd, elliprf
from transpile.scipy.special.elliptic.legendre import (
    ellipe,
    ellipeinc,
    ellipk,
    ellipkinc,
    ellipkm1,
)

__all__ = ["ellipe", "ellipeinc", "ellipk", "ellipkinc", "ellipkm1", "elliprd", "elliprf"]
