"""Arrays with a letter for each axis, as in einsum: expansions name axes instead of counting them.

    x.ordered("gnc")              transposes, if x has these axes in another order
    x.broadcast("gnco", sizes)    gives it the axes that it lacks

Operations append equations to the builder, and none where they change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from transpile.ir.dims import Index
from transpile.ir.graph import Atom, Const
from transpile.ir.graph_rewrite import Builder
from transpile.passes.expand.windows import padded_slice
from transpile.primitives import axes
from transpile.util.frozen_records import dataclass


def reshaped(builder: Builder, x: Atom, shape: Sequence[Index]) -> Atom:
    """The array in another shape; itself if it has that shape."""
    if tuple(x.type.shape) == tuple(shape):
        return x
    return builder.apply(axes.reshape, x, shape=tuple(shape))


@dataclass(frozen=True)
class Labelled:
    """An array under construction, and the letters of its axes."""

    builder: Builder
    atom: Atom
    letters: str

    @staticmethod
    def of(builder: Builder, x: Atom, names: Sequence[str], majors: Mapping[str, int]) -> Labelled:
        """An array by the names of its axes. A name of two letters is an axis to be split in two,
        of which `majors` has the extent of the first."""
        shape: list[Index] = []
        for name, extent in zip(names, x.type.shape, strict=True):
            major = majors.get(name[0], 1)
            shape += [extent] if len(name) == 1 else [major, extent // major]
        return Labelled(builder, reshaped(builder, x, shape), "".join(names))

    @property
    def sizes(self) -> dict[str, Index]:
        """The extents by letter."""
        return dict(zip(self.letters, self.atom.type.shape, strict=True))

    def slice(
        self,
        starts: Mapping[str, int],
        counts: Mapping[str, Index],
        strides: Mapping[str, int],
    ) -> Labelled:
        """A slice by letters, with zeros out of range; axes without a letter there stay whole."""
        zero = Const(np.zeros((), self.atom.type.dtype))
        atom = padded_slice(
            self.builder,
            self.atom,
            zero,
            [starts.get(a, 0) for a in self.letters],
            [counts.get(a, extent) for a, extent in self.sizes.items()],
            [strides.get(a, 1) for a in self.letters],
        )
        return Labelled(self.builder, atom, self.letters)

    def without(self, letters: str) -> Labelled:
        """The array without some axes, which have one element."""
        kept = {a: extent for a, extent in self.sizes.items() if a not in letters}
        atom = reshaped(self.builder, self.atom, list(kept.values()))
        return Labelled(self.builder, atom, "".join(kept))

    def ordered(self, letters: str) -> Labelled:
        """The array with its axes in the order of these letters, of which it may lack some."""
        kept = "".join(a for a in letters if a in self.letters)
        order = tuple(map(self.letters.index, kept))
        if order == tuple(range(len(order))):
            return self
        atom = self.builder.apply(axes.transpose, self.atom, permutation=order)
        return Labelled(self.builder, atom, kept)

    def broadcast(self, letters: str, sizes: Mapping[str, Index]) -> Labelled:
        """The array with all these axes, in this order, of these extents."""
        x = self.ordered(letters)
        atom = self.builder.apply(
            axes.broadcast_in_dim,
            x.atom,
            shape=tuple(sizes[a] for a in letters),
            broadcast_dimensions=tuple(map(letters.index, x.letters)),
        )
        return Labelled(self.builder, atom, letters)
