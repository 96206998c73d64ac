"""Fuse convolutions with the kernels before and after them, an image at a time.

A bias, a rectifier or a pooling after a convolution need only the same image of the batch.
Consecutive kernels over the images become one parallel loop, with their intermediate values in
cache:

    for i: call conv_planes_image(image i); for channel: ...; call conv_planes_image(image i)

A value that only these kernels use is a local array of one image. Weights are packed once, before
the loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from transpile.intrinsics.convolutions import (
    PLANES,
    Convolve,
    ConvolveImage,
    ConvolvePanels,
    Images,
)
from transpile.ir.calls import Strided
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import (
    NO_ALIASES,
    NO_LANES,
    OF_LOOPS,
    OF_TEMPORARIES,
    OWN_SHAPES,
    STACK_BOUNDED,
)
from transpile.ir.dims import Dim, Index, Shape, Symbol, substitute
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product, row_major, unravel
from transpile.ir.loop_ir import Alloc, Buffer, For, Kernel, Load, Program, Statement
from transpile.ir.loop_rewrite import (
    map_accesses,
    map_statement,
    names_in,
    used_buffers,
)
from transpile.ir.types import INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.blocking.row_regions import RowNest, as_nest, has_rows, row_shape
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import cached_property, changed, dataclass, replace, same

Buffers = Mapping[str, Buffer]


@dataclass(frozen=True, eq=False)
class RowConvolution:
    """A kernel that is one convolution, of images along the first axis of its result."""

    kernel: Kernel
    call: Convolve

    @cached_property
    def images(self) -> Images:
        """The images of the batch."""
        return self.call.layout.images(self.call.x.dtype.itemsize)

    @property
    def scratch(self) -> str:
        """The buffer of its workspace."""
        return self.call.workspace.buffer

    def keeps_rows(self, name: str, buffers: Buffers) -> bool:
        """True if the call accesses, for each image, only that row of a buffer."""
        x, w, out = self.call.x, self.call.w, self.call.out
        if name in (w.buffer, self.scratch):
            return False
        if name == out.buffer:
            return name != x.buffer
        row = product(row_shape(buffers[name].shape, (self.images.count,)))
        starts_at_zero = all(i == 0 for i in x.first.index)
        is_dense = isinstance(row, int) and self.images.operand_span <= row
        return starts_at_zero and is_dense and self.images.operand_stride == row


Part = RowConvolution | RowNest


# Kernels that become one must name memory in one way, and agree on the axes of it.
@contract(
    requires=(OWN_SHAPES, NO_ALIASES, NO_LANES),
    destroys=(*OF_LOOPS, *OF_TEMPORARIES, STACK_BOUNDED),
)
def fuse_convolutions(program: Program, options: Options) -> Program:
    """The program with kernels around convolutions fused."""
    if not options.threaded:
        return program
    users = Counter(name for kernel in program.kernels for name in used_buffers(kernel)[0])
    kernels: list[Kernel] = []
    position = 0
    while position < len(program.kernels):
        group = _Group(program, position, users, options.machine)
        if not group.pays():
            kernels.append(program.kernels[position])
            position += 1
            continue
        fusion = _Fusion(group)
        kernels.append(fusion.kernel())
        program = replace(program, temporaries=fusion.temporaries())
        position += len(group.parts)
    return changed(program, kernels=same(program.kernels, tuple(kernels)))


class _Group:
    """The longest sequence of kernels, from one position on, that keep to the same images:
    convolutions, and nests which access only the image of their iteration of what the others write.
    `users` counts the kernels that use each buffer."""

    def __init__(self, program: Program, start: int, users: Counter[str], machine: Machine) -> None:
        self.program = program
        self.machine = machine
        self.buffers = program.buffers()
        self.parts: list[Part] = []
        self.count = self._images(program.kernels[start : start + 2])
        end = start + machine.most_merged_kernels if self.count else start
        for kernel in program.kernels[start:end]:
            part = self._part(kernel)
            if part is None or not self._may_follow(part):
                break
            self.parts.append(part)
        while self.parts and not self._is_linked(self.parts[-1]):
            self.parts.pop()
        self.convolutions = [p for p in self.parts if isinstance(p, RowConvolution)]
        self.local = self._local_values(users) if self.convolutions else []

    def _images(self, first: tuple[Kernel, ...]) -> Index:
        """The number of images, which the first convolution, of the first two kernels, determines;
        0 if there is none."""
        parts = (_as_convolution(kernel, self.buffers) for kernel in first)
        return next((part.images.count for part in parts if part is not None), 0)

    def _part(self, kernel: Kernel) -> Part | None:
        part = _as_convolution(kernel, self.buffers)
        if part is not None:
            return part if part.images.count == self.count else None
        return as_nest(kernel, (self.count,))

    def _may_follow(self, part: Part) -> bool:
        """True if fusion violates no dependence: the kernel reads only the same image of what
        earlier ones write, and writes nothing that they use."""
        uses, changes = map(set, used_buffers(part.kernel))
        for before in self.parts:
            used, changed = map(set, used_buffers(before.kernel))
            if not changes.isdisjoint(used):
                return False
            for name in changed & uses:
                if not (self._keeps_rows(before, name) and self._keeps_rows(part, name)):
                    return False
        return all(self._keeps_rows(part, name) for name in changes - _scratch(part))

    def _keeps_rows(self, part: Part, name: str) -> bool:
        is_buffer = name in self.buffers and has_rows(self.buffers[name].shape, (self.count,))
        return is_buffer and part.keeps_rows(name, self.buffers)

    def _is_linked(self, part: Part) -> bool:
        """True if a kernel reads what an earlier one of the group writes."""
        uses = set(used_buffers(part.kernel)[0])
        before = self.parts[: self.parts.index(part)]
        return any(not uses.isdisjoint(used_buffers(p.kernel)[1] - _scratch(p)) for p in before)

    def _local_values(self, users: Counter[str]) -> list[str]:
        """The temporaries that only these kernels use, as many as fit on a thread's stack."""
        own = Counter(n for p in self.parts for n in used_buffers(p.kernel)[0])
        inside = {n for p in self.parts for n in used_buffers(p.kernel)[1] - _scratch(p)}
        names = []
        room = self.machine.block_bytes - self.copies()
        for buffer in self.program.temporaries:
            if buffer.name in inside and own[buffer.name] == users[buffer.name]:
                size = self.row_bytes(buffer)
                if size <= room:
                    room -= size
                    names.append(buffer.name)
        return names

    def row_bytes(self, buffer: Buffer) -> int:
        """The bytes of one image."""
        size = product(row_shape(buffer.shape, (self.count,)))
        if not isinstance(size, int):
            return self.machine.block_bytes + 1
        return size * buffer.dtype.itemsize

    def copies(self) -> int:
        """The bytes of the copies of operands."""
        return sum(c.images.copy * c.call.x.dtype.itemsize for c in self.convolutions)

    def pays(self) -> bool:
        """True if fusion pays."""
        machine = self.machine
        if len(self.parts) < 2 or not self.convolutions:
            return False
        if estimate(self.count) < machine.fewest_images:
            return False
        flops = sum(estimate(c.call.flops) for c in self.convolutions)
        panels = sum(c.images.panels * c.call.x.dtype.itemsize for c in self.convolutions)
        is_in_cache = panels <= machine.panel_bytes and self.copies() <= machine.block_bytes
        return flops >= machine.least_product_flops and is_in_cache


def _scratch(part: Part) -> set[str]:
    return {part.scratch} if isinstance(part, RowConvolution) else set()


def _as_convolution(kernel: Kernel, buffers: Buffers) -> RowConvolution | None:
    """The kernel as a convolution: if it is one call that vectorises over pixels, and the images of
    its result are dense; else None."""
    if len(kernel.body) != 1 or kernel.shapes:
        return None
    (call,) = kernel.body
    if not isinstance(call, Convolve) or call.layout.form != PLANES:
        return None
    part = RowConvolution(kernel, call)
    images, out = part.images, call.out
    shape = buffers[out.buffer].shape
    size = product(shape)
    is_dense = size == images.count * images.result_stride
    if not is_dense or not has_rows(shape, (images.count,)) or any(i != 0 for i in out.first.index):
        return None
    return part


class _Fusion:
    """Builds the fused kernel of a group."""

    def __init__(self, group: _Group) -> None:
        self.group = group
        self.names = Names(names_in(group.program))
        nests = [p for p in group.parts if isinstance(p, RowNest)]
        symbol = Symbol(self.names.new("i"), 0, group.count)
        self.image = nests[0].symbols[0] if nests else symbol
        self.local = {
            name: replace(b, shape=row_shape(b.shape, (group.count,)))
            for name in group.local
            for b in (group.buffers[name],)
        }
        self.offsets, self.panels = {}, {}
        self.copies: dict[RowConvolution, Buffer] = {}
        for part in group.convolutions:
            dtype, images = part.call.x.dtype, part.images
            self.offsets[part] = Buffer(self.names.new("offsets"), (2 * images.terms,), INT64)
            self.panels[part] = Buffer(self.names.new("panels"), (images.panels,), dtype)
            self.copies[part] = Buffer(self.names.new("copy"), (images.copy,), dtype)

    def kernel(self) -> Kernel:
        """The fused kernel."""
        count = self.group.count
        loop = For(self.image, count, tuple(self._one_image()), parallel=True)
        kernels = [part.kernel for part in self.group.parts]
        source = next((k.source for k in kernels if k.source.line), kernels[0].source)
        comment = tuple(dict.fromkeys(line for k in kernels for line in k.comment))
        body = (*map(self._before, self.group.convolutions), loop)
        return Kernel(kernels[0].name, body, source, comment)

    def temporaries(self) -> tuple[Buffer, ...]:
        """The temporaries that remain, and the packed weights."""
        gone = {*self.local, *(p.scratch for p in self.group.convolutions)}
        kept = (b for b in self.group.program.temporaries if b.name not in gone)
        return (*kept, *self.offsets.values(), *self.panels.values())

    def _before(self, part: RowConvolution) -> Statement:
        call = part.call
        offsets, panels = _start(self.offsets[part]), _start(self.panels[part])
        return ConvolvePanels(call.plan, call.w, Strided(offsets), Strided(panels), call.layout)

    def _one_image(self) -> Iterator[Statement]:
        yield from map(Alloc, self.local.values())
        yield from map(Alloc, self.copies.values())
        for part in self.group.parts:
            yield from (
                (self._call(part),) if isinstance(part, RowConvolution) else self._nest(part)
            )

    def _call(self, part: RowConvolution) -> ConvolveImage:
        call, images = part.call, part.images
        return ConvolveImage(
            call.plan,
            self._of_image(call.x, images.operand_stride),
            Strided(_start(self.offsets[part])),
            Strided(_start(self.panels[part])),
            self._of_image(call.out, images.result_stride),
            Strided(_start(self.copies[part])),
            call.layout,
        )

    def _of_image(self, array: Strided, stride: int) -> Strided:
        """The part of an array that belongs to the image."""
        _, *strides = array.strides
        first = array.first
        if array.buffer in self.local:
            return Strided(_start(self.local[array.buffer]), tuple(strides))
        shape = self.group.buffers[array.buffer].shape
        flat = row_major(first.index, shape) + Dim.of(self.image) * stride
        return Strided(replace(first, index=unravel(flat, shape)), tuple(strides))

    def _nest(self, part: RowNest) -> tuple[Statement, ...]:
        """The nest restricted to one image; local arrays lose their first axis."""
        renamed: dict[Symbol, Index] = {part.symbols[0]: Dim.of(self.image)}

        def on_access(name: str, index: Shape) -> Shape:
            if name not in self.local:
                return index
            return tuple(
                i
                for i, extent in zip(index, self.group.buffers[name].shape, strict=True)
                if extent != 1
            )[1:]

        inside = (
            map_statement(s, lambda e: e, lambda i: substitute(i, renamed)) for s in part.body.body
        )
        return tuple(map_accesses(s, on_access) for s in inside)


def _start(buffer: Buffer) -> Load:
    return Load(buffer.name, (0,) * len(buffer.shape), buffer.dtype)
