"""Render a device program as the text of a CUDA file, by the templates of `templates/cuda/`."""

from __future__ import annotations

from transpile.codegen.line_wrapping import type_text
from transpile.codegen.plan.size_checks import range_text
from transpile.codegen.scope import ProgramScope
from transpile.codegen.templates.filling import filled_in
from transpile.ir.dims import Symbol
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.loop_ir import Buffer, Kernel, Program, Swap
from transpile.ir.loop_rewrite import written
from transpile.options import Options
from transpile.symbols import c_helpers
from transpile.targets.cuda.complex_functions import complex_functions
from transpile.targets.cuda.device_ir import (
    Body,
    DeviceKernel,
    DeviceProgram,
    symbols_of_kernel,
    used_by,
)
from transpile.targets.cuda.dialect import CUDA
from transpile.targets.cuda.gpu import USUAL, Gpu
from transpile.targets.cuda.schedule import device_program
from transpile.targets.cuda.scope import DeviceScope, TeamNeeds, scope_of
from transpile.util.fp_environment import in_default_fp_environment
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Parameter:
    """A buffer that a kernel takes."""

    buffer: Buffer
    is_written: bool
    is_swapped: bool


@dataclass(frozen=True)
class KernelText:
    """A kernel, for the templates; `blocks` is the grid where that is known."""

    name: str
    comment: tuple[str, ...]
    sizes: tuple[Symbol, ...]
    parameters: tuple[Parameter, ...]
    body: Body
    scope: DeviceScope
    blocks: int | None
    launched: DeviceKernel


@in_default_fp_environment
def cuda_text(lowered: Program, options: Options, title: str = "", gpu: Gpu = USUAL) -> str:
    """The text of a lowered program as a CUDA file.

    Raises UnsupportedError for what there is not on GPUs yet.
    """
    device = device_program(lowered, options, gpu)
    return _Renderer(lowered, device, options, gpu).text(title or lowered.name)


class _Renderer:
    def __init__(self, lowered: Program, device: DeviceProgram, options: Options, gpu: Gpu) -> None:
        self.lowered = lowered
        self.device = device
        self.program = device.program
        self.shared = ProgramScope(self.program, options, CUDA, (None, None))
        self.teams = TeamNeeds()
        self.threads = gpu.block

    def text(self, title: str) -> str:
        """The whole file. Kernels are printed first, as they decide which functions it needs."""
        kernels = [self._kernel(kernel) for kernel in self.device.kernels]
        printed = filled_in("cuda/kernels.cu.j2", kernels=kernels, dialect=CUDA)
        scope = self._scope(Kernel(title, ()))
        routines = self._routines(scope)
        # Routines call helpers, too.
        helpers = c_helpers.needed(self.shared.needs.helpers)
        buffers = self.program.buffers().values()
        is_complex = any(b.dtype.kind == "c" for b in buffers)
        code = "\n".join((printed, *(h.text for h in helpers)))
        called = complex_functions(code)
        return filled_in(
            CUDA.template,
            program=self.program,
            dialect=CUDA,
            title=title,
            description=self._description(),
            includes=(*CUDA.includes, *(CUDA.complex_includes if called else ())),
            is_complex=is_complex or "complex" in code,
            complex_functions=called,
            helpers=helpers,
            functions=list(self.teams.functions.values()),
            routines=routines,
            kernels=kernels,
            printed=printed,
            counts_blocks=any(k.blocks is None for k in kernels),
            scope=scope,
            temporaries=list(zip(self.program.temporaries, self.program.offsets, strict=True)),
            unused=self._unused(kernels),
        )

    def _routines(self, scope: DeviceScope) -> list[str]:
        """The texts of the routines that kernels call, callees first."""
        texts: dict[tuple[str, str], str] = {}
        needed = self.teams.routines

        def add(name: str, suffix: str) -> None:
            asked = set(needed)
            template = f"cuda/routines/{name}.cu.j2"
            text = filled_in(
                template, suffix=suffix, dialect=CUDA, scope=scope, threads=self.threads
            )
            for other in [key for key in needed if key not in asked]:
                add(*other)
            texts[name, suffix] = text

        for key in list(needed):
            if key not in texts:
                add(*key)
        return list(texts.values())

    def _description(self) -> list[str]:
        """A line about each size and each array of the caller."""
        program = self.lowered
        return [*map(range_text, program.sizes)] + [
            f"{b.name}: {type_text(b)}, {role}"
            for role, group in (("in", program.inputs), ("out", program.outputs))
            for b in group
        ]

    def _unused(self, kernels: list[KernelText]) -> list[Buffer]:
        """The arrays of the caller that no kernel uses."""
        used = {p.buffer.name for kernel in kernels for p in kernel.parameters}
        return [b for b in (*self.program.inputs, *self.program.outputs) if b.name not in used]

    def _kernel(self, device: DeviceKernel) -> KernelText:
        kernel = device.kernel
        needed = blocks_of(device.items, device.per_block)
        blocks = min(max(needed, 1), device.most_blocks) if isinstance(needed, int) else None
        parameters = self._parameters(device)
        symbols = symbols_of_kernel(device)
        return KernelText(
            kernel.name,
            (*kernel.comment, f"{device.mapping[0].upper()}{device.mapping[1:]}."),
            tuple(size for size in self.program.sizes if size in symbols),
            parameters,
            device.body,
            self._scope(kernel),
            blocks,
            device,
        )

    def _scope(self, kernel: Kernel) -> DeviceScope:
        return scope_of(self.shared, kernel, self.teams)

    def _parameters(self, device: DeviceKernel) -> tuple[Parameter, ...]:
        used, writes = used_by(device)
        swapped = {n for s in device.walk() if isinstance(s, Swap) for n in written(s)}
        constants = {b.name for b in self.program.constants}
        buffers = self.program.buffers()
        return tuple(
            Parameter(buffers[name], name in writes, name in swapped)
            for name in buffers
            if name in set(used) - constants
        )
