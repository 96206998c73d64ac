"""Render a device program as the text of a CUDA file, by the templates of `templates/cuda/`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from transpile.codegen.callback_messages import FIRST_FAILURE, helpers_of, places_of
from transpile.codegen.complex_library import complex_functions
from transpile.codegen.line_wrapping import WIDTH, string_literal, type_text, wrapped
from transpile.codegen.plan.provenance import Origin, lines_of
from transpile.codegen.plan.size_checks import range_text
from transpile.codegen.scope import ProgramScope
from transpile.codegen.templates.filling import filled_in
from transpile.errors import InternalError
from transpile.ir.dims import Index, Symbol
from transpile.ir.indices.lengths import most_of
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.loop_ir import Buffer, For, Kernel, Program, Swap
from transpile.ir.loop_rewrite import written
from transpile.ir.types import SHORT_NAMES
from transpile.options import Options
from transpile.symbols import c_helpers
from transpile.targets.cuda.device_functions import INSTRUCTIONS, device_text
from transpile.targets.cuda.device_ir import (
    Barrier,
    Body,
    Combine,
    DeviceKernel,
    DeviceProgram,
    FromFirst,
    HostCall,
    HostIf,
    HostLoop,
    HostSwaps,
    HostWhile,
    LibraryCall,
    Pack,
    Step,
    TeamCall,
    symbols_of_kernel,
    used_by,
    used_in,
)
from transpile.targets.cuda.dialect import CUDA
from transpile.targets.cuda.effects.callback_text import (
    CallText,
    call_text,
    failure_text,
    plain_messages,
    texts_of_codes,
)
from transpile.targets.cuda.gpu import USUAL, Gpu
from transpile.targets.cuda.routines.calls import LibraryMatmul
from transpile.targets.cuda.routines.library_products import (
    LibraryMatrix,
    library_matrices,
    type_of_scale,
    type_of_sums,
)
from transpile.targets.cuda.schedule import device_program
from transpile.targets.cuda.scope import DeviceScope, TeamNeeds, scope_of
from transpile.util.fp_environment import in_default_fp_environment
from transpile.util.frozen_records import dataclass, replace


@dataclass(frozen=True)
class Parameter:
    """A buffer that a kernel takes. Where it `is_restricted`, its elements change by this pointer
    alone, and in the thread that reads them: nvcc keeps what a thread has stored by such a pointer
    in a register, and knows of no barrier behind which others may have changed it."""

    buffer: Buffer
    is_written: bool
    is_restricted: bool


@dataclass(frozen=True)
class KernelText:
    """A kernel, for the templates; `blocks` is the grid where that is known, `items` what is dealt
    to blocks, at most, where lengths depend on values."""

    name: str
    comment: tuple[str, ...]
    sizes: tuple[Symbol, ...]
    parameters: tuple[Parameter, ...]
    body: Body
    scope: DeviceScope
    blocks: int | None
    items: Index
    launched: DeviceKernel
    number: int


@dataclass(frozen=True)
class LibraryText:
    """A product by cuBLASLt, for the templates, with a workspace of `room` bytes."""

    name: str
    comment: tuple[str, ...]
    call: LibraryMatmul
    matrices: tuple[LibraryMatrix | None, ...]
    sums: str
    scale: str
    room: int
    scope: DeviceScope
    number: int


@dataclass(frozen=True)
class StepText:
    """A step of the host, for the templates: a launch, a call of a library, a loop, a loop or
    branch by a truth in memory, a callback, steps that exchange pointers, which have other names
    for what they were before, or an exchange of two. `number` is that of the launch before. The
    host `checks` if the program has failed where it waits."""

    kind: str
    number: int = 0
    flag: str = ""
    test: tuple[StepText, ...] = ()
    orelse: tuple[StepText, ...] = ()
    kernel: KernelText | None = None
    library: LibraryText | None = None
    loop: For | None = None
    swap: Swap | None = None
    swapped: tuple[tuple[Buffer, str], ...] = ()
    steps: tuple[StepText, ...] = ()
    call: CallText | None = None
    checks: bool = False


@dataclass(frozen=True)
class CudaFile:
    """A CUDA file.

    source    its text
    host      with `for_python` the part of the host, which another compiler compiles; else ""
    launches  for each launch its kernel, and the lines of Python that the kernel computes: the code
              that a program returns is the number of the launch that failed, from 1; calls of
              libraries are among them
    kernels   the names of its own kernels
    program   its loops, with the plan of memory
    waits     True if the host waits for the device, and does not only launch
    """

    source: str
    host: str
    launches: tuple[tuple[str, str], ...]
    kernels: tuple[str, ...]
    program: Program
    waits: bool

    @property
    def uses_library(self) -> bool:
        """True if the host calls cuBLASLt."""
        return len(self.kernels) < sum(name != "" for name, _ in self.launches)


def cuda_text(lowered: Program, options: Options, title: str = "", gpu: Gpu = USUAL) -> str:
    """The text of a lowered program as a CUDA file.

    Raises UnsupportedError for what there is not on GPUs yet.
    """
    return cuda_file(lowered, options, title, gpu).source


@in_default_fp_environment
def cuda_file(
    lowered: Program,
    options: Options,
    title: str = "",
    gpu: Gpu = USUAL,
    *,
    header: str = "",
    origin: Origin | None = None,
    for_python: bool = False,
) -> CudaFile:
    """A lowered program as a CUDA file; with a header for callers in C, which it includes and which
    declares what it exports, it says that it was made of its `origin`. `for_python` in two parts,
    that of the host with the entry that Python calls.

    Raises UnsupportedError for what there is not on GPUs yet.
    """
    device = device_program(lowered, options, gpu)
    renderer = _Renderer(lowered, device, options, gpu)
    if origin is not None:
        renderer.made_of = tuple(lines_of(device.program.name, origin, options))
    of_part = renderer.texts(title or lowered.name, header)
    source = of_part("device" if for_python else "both")
    host = of_part("host") if for_python else ""
    kernels = tuple(kernel.name for kernel in renderer.kernels)
    launches = launches_of(renderer.launches)
    return CudaFile(source, host, launches, kernels, device.program, renderer.waits)


def launches_of(
    kernels: Iterable[KernelText | LibraryText | None],
) -> tuple[tuple[str, str], ...]:
    """The names of kernels, and the lines of Python in their comments; "" where there is none."""
    return tuple(
        ("", "") if kernel is None else (kernel.name, "\n".join(kernel.comment[:-1]))
        for kernel in kernels
    )


@in_default_fp_environment
def header_text(file: CudaFile, lowered: Program, title: str = "") -> str:
    """The header of a CUDA file, for callers in C and C++."""
    return filled_in(
        "cuda/program.h.j2",
        program=file.program,
        dialect=CUDA,
        title=title or lowered.name,
        guard=f"{file.program.name.upper()}_H",
        waits=file.waits,
        places=places_of(file.program),
        uses_library=file.uses_library,
        description=description_of(lowered),
    )


def description_of(program: Program) -> list[str]:
    """A line about each size and each array of the caller."""
    return [*map(range_text, program.sizes)] + [
        f"{b.name}: {type_text(b)}, {role}"
        for role, group in (("in", program.inputs), ("out", program.outputs))
        for b in group
    ]


# The headers of C++ that some steps of the host take.
_HEADERS = (("swap", "utility"),)


def _kinds(steps: Iterable[StepText]) -> set[str]:
    """What the host does."""
    kinds: set[str] = set()
    for step in steps:
        kinds |= {step.kind} | _kinds((*step.test, *step.steps, *step.orelse))
    return kinds


def _fitted(line: str) -> str:
    """A line of a routine, broken where names and numbers have made it too long."""
    text = line.lstrip(" ")
    return line if len(line) <= WIDTH else wrapped(text, " " * (len(line) - len(text)))


class _Renderer:
    def __init__(self, lowered: Program, device: DeviceProgram, options: Options, gpu: Gpu) -> None:
        self.lowered = lowered
        self.device = device
        self.program = device.program
        self.shared = ProgramScope(self.program, options, CUDA, (None, None))
        self.teams = TeamNeeds()
        self.gpu = gpu
        self.threads = gpu.block
        self.launches: list[KernelText | LibraryText | None] = []
        self.made_of: tuple[str, ...] = ()
        self.waits = False

    @property
    def kernels(self) -> list[KernelText]:
        """The kernels that the file has."""
        return [k for k in self.launches if isinstance(k, KernelText)]

    def texts(self, title: str, header: str) -> Callable[[str], str]:
        """The text of a part of the file: "device", "host" or "both". Kernels are printed first, as
        they decide which functions it needs."""
        steps = self._steps(self.device.steps, self.program.sizes)
        kernels, kinds = self.kernels, _kinds(steps)
        self.waits = bool(self.device.failures) or not kinds.isdisjoint(("while", "if", "call"))
        printed = filled_in("cuda/kernels.cu.j2", kernels=kernels, dialect=CUDA)
        scope = self._scope(Kernel(title, ()))
        routines = self._routines(scope)
        # Routines call helpers, too.
        helpers = c_helpers.needed(self.shared.needs.helpers)
        buffers = self.program.buffers().values()
        is_complex = any(b.dtype.kind == "c" for b in buffers)
        code = "\n".join((printed, *(h.text for h in helpers)))
        called = complex_functions(code)
        helpers = c_helpers.needed(self.shared.needs.helpers | {f.helper for f in called})
        return lambda part: filled_in(
            CUDA.template,
            part=part,
            program=self.program,
            dialect=CUDA,
            title=title,
            description=description_of(self.lowered),
            header=header,
            made_of=self.made_of,
            kernels=[kernel.name for kernel in kernels],
            swaps="swap" in kinds,
            messages=self._messages(),
            includes=(*CUDA.includes, *(h for kind, h in _HEADERS if kind in kinds)),
            uses_library="library" in kinds,
            is_complex=is_complex or "complex" in code,
            complex_functions=called,
            multiplies_and_adds=any("FP_FAST_FMA" in h.text for h in helpers),
            helpers=helpers,
            has_halves=any(h.names[0] in INSTRUCTIONS for h in helpers),
            instructions=INSTRUCTIONS,
            device_text=device_text,
            masks=[(lanes, f"{(1 << lanes) - 1:#x}u") for lanes in self.teams.masks],
            functions=list(self.teams.functions.values()),
            routines=routines,
            steps=steps,
            printed=printed,
            waits=self.waits,
            reads=bool(self.device.failures) or not kinds.isdisjoint(("while", "if")),
            messages_of_sites=(sites := plain_messages(self.program)),
            printed_types={f"print_values_{n}": CUDA.types[d] for d, n in SHORT_NAMES.items()},
            printing_helpers=[h.text for h in c_helpers.needed(helpers_of(sites))],
            failures=[(f, failure_text(self.program, f)) for f in self.device.failures],
            failure_texts=texts_of_codes(self.program),
            word=self.device.word,
            last=len(self.launches),
            most_arrays=max((len(s.types) + len(s.results) for s in self.program.sites), default=0),
            multiplies_atomically="atomic_multiply(" in printed,
            has_packs=any(isinstance(s, Pack) for k in kernels for s in k.launched.walk()),
            counts_blocks=any(k.blocks is None for k in kernels),
            scope=scope,
            temporaries=list(zip(self.program.temporaries, self.program.offsets, strict=True)),
            unused=self._unused(),
        )

    def _routines(self, scope: DeviceScope) -> list[str]:
        """The texts of the routines that kernels call, callees first."""
        texts: dict[tuple[str, str], str] = {}
        needed = self.teams.routines

        def add(name: str, suffix: str) -> None:
            asked = dict(needed)
            needed.clear()
            template = f"cuda/routines/{name}.cu.j2"
            text = filled_in(
                template, suffix=suffix, dialect=CUDA, scope=scope, threads=self.threads
            )
            callees = list(needed)
            needed.update(asked)
            for other in callees:
                if other not in texts:
                    add(*other)
            texts[name, suffix] = "\n".join(map(_fitted, text.split("\n")))

        for key in list(needed):
            if key not in texts:
                add(*key)
        return list(texts.values())

    def _messages(self) -> list[tuple[int, str]]:
        """The codes of launches, and what is said of those that fail, as literals."""
        return [
            (number, string_literal(f"{kernel} was not launched: {lines}".partition("\n")[0]))
            for number, (kernel, lines) in enumerate(launches_of(self.launches), 1)
            if kernel
        ]

    def _unused(self) -> list[Buffer]:
        """The arrays of the caller that nothing uses."""
        used = set[str]().union(*map(used_in, self.device.steps))
        return [b for b in (*self.program.inputs, *self.program.outputs) if b.name not in used]

    def _steps(self, steps: Iterable[Step], known: tuple[Symbol, ...]) -> list[StepText]:
        """What the host does, as templates get it; it knows the values of some symbols."""
        texts: list[StepText] = []
        for step in steps:
            match step:
                case DeviceKernel():
                    kernel = self._kernel(step, known, self._number())
                    self.launches.append(kernel)
                    texts.append(StepText("kernel", kernel=kernel))
                case LibraryCall():
                    library = self._library(step, self._number())
                    self.launches.append(library)
                    texts.append(StepText("library", library=library))
                case HostLoop():
                    inner = self._steps(step.steps, (*known, step.loop.symbol))
                    texts.append(StepText("loop", loop=step.loop, steps=tuple(inner)))
                case HostWhile():
                    test = tuple(self._steps(step.test, known))
                    number = len(self.launches)
                    made = StepText("while", number, step.flag, test, checks=step.checks)
                    texts.append(replace(made, steps=tuple(self._steps(step.steps, known))))
                case HostCall():
                    number, printed = len(self.launches), self._scope(Kernel("", ())).index
                    call = call_text(self.program, step.call, printed)
                    texts.append(StepText("call", number, call=call, checks=step.checks))
                case HostIf():
                    made = StepText("if", len(self.launches), step.flag, checks=step.checks)
                    bodies = [tuple(self._steps(b, known)) for b in (step.steps, step.orelse)]
                    texts.append(replace(made, steps=bodies[0], orelse=bodies[1]))
                case HostSwaps():
                    new, buffers = self.shared.names.new, self.program.buffers()
                    # Nothing reads them behind the last step.
                    names = () if step is self.device.steps[-1] else step.names
                    swapped = tuple((buffers[n], new(f"{n}_before")) for n in names)
                    inner = self._steps(step.steps, known)
                    texts.append(StepText("swaps", swapped=swapped, steps=tuple(inner)))
                case Swap():
                    texts.append(StepText("swap", swap=step))
                case _:
                    raise InternalError(f"{step.name} is not mapped")
        return texts

    def _number(self) -> int:
        """The number of the next launch, which is its code: those of errors are left out."""
        if len(self.launches) + 1 == FIRST_FAILURE:
            self.launches += [None] * len(self.program.sites)
        return len(self.launches) + 1

    def _kernel(self, device: DeviceKernel, known: tuple[Symbol, ...], number: int) -> KernelText:
        kernel = device.kernel
        items = most_of(device.items)
        needed = blocks_of(items, device.per_block)
        blocks = min(max(needed, 1), device.most_blocks) if isinstance(needed, int) else None
        parameters = self._parameters(device)
        symbols = symbols_of_kernel(device)
        return KernelText(
            kernel.name,
            (*kernel.comment, f"{device.mapping[0].upper()}{device.mapping[1:]}."),
            tuple(size for size in known if size in symbols),
            parameters,
            device.body,
            scope_of(self.shared, kernel, self.teams, device),
            blocks,
            items,
            device,
            number,
        )

    def _library(self, step: LibraryCall, number: int) -> LibraryText:
        call, kernel = step.call, step.kernel
        assert isinstance(call, LibraryMatmul)
        dtype = call.a.dtype
        return LibraryText(
            kernel.name,
            (*kernel.comment, "By cuBLASLt."),
            call,
            library_matrices(call),
            type_of_sums(call),
            type_of_scale(dtype),
            self.gpu.library_workspace,
            self._scope(kernel),
            number,
        )

    def _scope(self, kernel: Kernel) -> DeviceScope:
        return scope_of(self.shared, kernel, self.teams)

    def _parameters(self, device: DeviceKernel) -> tuple[Parameter, ...]:
        used, writes = used_by(device)
        statements = list(device.walk())
        swapped = {n for s in statements if isinstance(s, Swap) for n in written(s)}
        waits = any(isinstance(s, Barrier | Combine | FromFirst | TeamCall) for s in statements)
        constants = {b.name for b in self.program.constants}
        buffers = self.program.buffers()
        return tuple(
            Parameter(
                buffers[name], name in writes, name not in (swapped | writes if waits else swapped)
            )
            for name in buffers
            if name in set(used) - constants
        )
