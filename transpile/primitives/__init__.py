"""The rows, by family. Importing this package fills `transpile.primitive.TABLE`."""

from transpile.primitives import axes, elementwise, linalg, reductions

__all__ = ["axes", "elementwise", "linalg", "reductions"]
