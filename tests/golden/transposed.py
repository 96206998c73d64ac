"""An array that is read along columns goes tile by tile."""

from transpile import ShapeDtypeStruct


def transposed(x, y):
    return x + y.T


ARGUMENTS = (ShapeDtypeStruct((200, 300), "float64"), ShapeDtypeStruct((300, 200), "float64"))
