"""Rendering: a scheduled program as the text of a C file and its header.

Templates hold the files and the statements; this module prints what goes into them: names, types,
subscripts and scalar expressions.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.analysis.value_range import ordinary_angles
from transpile.codegen import compile_budget, gcc_faults
from transpile.codegen.c_expr import Printer, c_type
from transpile.codegen.c_functions import accumulated, infix
from transpile.codegen.callback_entry import call_text, helpers_of, includes_of, site_text
from transpile.codegen.calling_convention import CallingConvention, Parameter
from transpile.codegen.constants import Constants
from transpile.codegen.dialect import C, Dialect
from transpile.codegen.helper_inlining import outlined
from transpile.codegen.kernel_dedup import Group, functions_for
from transpile.codegen.line_wrapping import (
    FILTERS,
    complex_types,
    line_directive,
    signature,
    type_text,
)
from transpile.errors import InternalError
from transpile.intrinsics.callbacks import Callback
from transpile.ir import loop_rewrite
from transpile.ir.calls import Call
from transpile.ir.dims import Index, Symbol, symbols_of
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    For,
    If,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Swap,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    declared_names,
    names_in,
    used_buffers,
    walk,
)
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL, HALVES, INT64
from transpile.options import Options
from transpile.primitives.reductions import identity
from transpile.schedule.stack import STACK
from transpile.symbols import c_helpers
from transpile.symbols.identifiers import Names
from transpile.symbols.lapack import Libraries, notes, prototypes
from transpile.util.data_files import data_directory
from transpile.util.fp_environment import in_usual_modes
from transpile.util.frozen_records import dataclass
from transpile.util.lazy_imports import Later, importing

if TYPE_CHECKING:
    import jinja2
else:
    jinja2 = Later("jinja2")


@dataclass(frozen=True)
class Text:
    """The files of a program, and what a compiler has to know of it.

    effort        how much of its time it may take
    gcc_flags     what gcc has to be told, or it errs
    runs_threads  the program calls OpenMP's library
    """

    source: str
    header: str
    constants: bytes = b""
    effort: compile_budget.Effort = "usual"
    gcc_flags: tuple[str, ...] = ()
    runs_threads: bool = False


@cache
def _environment() -> Any:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_directory("templates")),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters.update(FILTERS)
    return environment


def filled_in(template: str, **values: Any) -> str:
    """A template with these values. Jinja has locks, which a forked child must find free."""
    return importing(lambda: str(_environment().get_template(template).render(**values)))


@in_usual_modes
def render(
    program: Program,
    options: Options,
    header: str = "program.h",
    title: str = "",
    libraries: Libraries = (None, None),
) -> Text:
    """The text of the program and of its header, which it includes by the name `header`.

    Constants that are too long to write out are in a file of their own beside it, which has the
    header's name with the ending `.bin`.
    """
    return _Renderer(program, options, C, title or program.name, libraries).render(header)


class _Renderer:
    def __init__(
        self, program: Program, options: Options, dialect: Dialect, title: str, found: Libraries
    ) -> None:
        self.libraries = found
        self.program = program
        self.options = options
        self.dialect = dialect
        self.title = title
        self.buffers = program.buffers()
        self.convention = CallingConvention(program)
        self.used: set[str] = set()
        self.called: set[type[Call]] = set()
        self.routines: set[tuple[str, str]] = set()
        self.reductions: dict[str, dict[str, str]] = {}
        self.ends: dict[tuple[Index, Index], str] = {}
        self.collapsed: set[Symbol] = set()  # of the loops around that share one pragma
        self.names = Names(names_in(program))

    def render(self, header: str) -> Text:
        program = self.program
        groups, effort = functions_for(program, self.convention, debug=self.options.debug)
        firsts = [group[0] for group in groups]
        kernels = [self._function(group) for group in groups]
        constants = Constants(self.dialect, f"{program.name}.constant.", header[:-2] + ".bin")
        dtypes = {b.dtype for b in self.buffers.values()}
        is_complex = any(d.kind == "c" for d in dtypes) or loop_rewrite.computes_complex(program)
        entry = signature(program.name, parameters := self._parameters())
        self.used |= helpers_of(sites := site_text(program, parameters))
        shared = {output: f"; may be {donated} itself" for output, donated in program.aliases}
        loops = [s for k in firsts for s in walk(k.body) if isinstance(s, For)]
        has_marked = any(s.parallel or s.simd for s in loops)
        called = outlined(firsts, precise=self.options.precise_math)
        helpers = c_helpers.collect(self.used, called, self.options.num_threads)
        types = [
            f"{b.name}: {type_text(b)}, {role}{shared.get(b.name, '')}"
            for role, group in (("in", program.inputs), ("out", program.outputs))
            for b in group
        ] + [*notes(self.libraries, self.called), *compile_budget.notes(effort)]
        gcc_flags = gcc_faults.flags_around_faults(program)
        types += gcc_faults.notes(gcc_flags)
        source = filled_in(
            self.dialect.template,
            title=self.title,
            description=types,
            includes=self.dialect.headers(is_complex) + includes_of(sites),
            directives=has_marked or c_helpers.has_directives(helpers),
            header=header,
            helpers=[*prototypes(self.libraries, self.routines), *helpers],
            reductions=list(self.reductions.values()),
            constants=[constants.text(b, self._element_type(b)) for b in program.constants],
            kernels=kernels,
            calls=self._calls(groups),
            name=program.name,
            workspace=program.workspace,
            entry=entry,
            setup=self._setup(),
            sites=sites,
        )
        needed = {"stddef.h"}
        needed |= {"stdint.h"} if any(d.kind in "iu" or d in HALVES for d in dtypes) else set()
        needed |= {"stdbool.h"} if BOOL in dtypes else set()
        text = filled_in(
            "program.h.j2",
            title=self.title,
            contract=types,
            name=program.name,
            guard=f"TRANSPILE_{program.name}_H",
            stack=STACK >> 10,
            libraries=any(self.libraries),
            includes=sorted(needed),
            complex=complex_types(program, self.dialect.types),
            entry=entry,
            sites=sites,
        )
        runs_threads = any(s.parallel for s in loops) or c_helpers.runs_threads(helpers)
        return Text(source, text, bytes(constants.binary), effort, gcc_flags, runs_threads)

    # ---------------------------------------------------------------------------------- entry

    def _parameters(self) -> list[str]:
        pointers = [f"const {c_type(self.dialect, b.dtype)} *{b.name}" for b in self.program.inputs]
        pointers += [f"{c_type(self.dialect, b.dtype)} *{b.name}" for b in self.program.outputs]
        return [*pointers, "void *workspace"]

    def _setup(self) -> list[str]:
        program = self.program
        lines = []
        for buffer, offset in zip(program.temporaries, program.offsets, strict=True):
            name = c_type(self.dialect, buffer.dtype)
            place = f"({name} *)((char *)workspace + {offset})" if offset else "workspace"
            lines.append(f"{name} *{buffer.name} = {place};")
        read = {name for k in program.kernels for name in used_buffers(k)[0]}
        lines += [
            f"(void){b.name};" for b in (*program.inputs, *program.outputs) if b.name not in read
        ]
        if not program.temporaries:
            lines.append("(void)workspace;")
        for output, donated in program.aliases:
            size = f"{self.buffers[output].size_in_bytes}"
            lines += [
                f"if ({output} != {donated}) {{",
                f"    memcpy({output}, {donated}, {size});",
                "}",
            ]
        return lines

    # -------------------------------------------------------------------------------- kernels

    def _function(self, group: Group) -> dict[str, Any]:
        """The function of kernels that share it, whose comment has the lines of all of them."""
        kernel = group[0]
        parameters = self.convention.parameters(kernel)
        values = frozenset(p.buffer.name for p in parameters if p.by_value)
        printer = Printer(self.dialect, self.options.precise_math, values=values, used=self.used)
        printer.ordinary = ordinary_angles(kernel)
        body = self._body(kernel.body, printer)
        where = kernel.source
        comment = kernel.comment
        if len(group) > 1:
            comment = tuple(dict.fromkeys(line for k in group for line in k.comment))
        return {
            "comment": comment,
            "body": body,
            "signature": signature(
                kernel.name, [self._parameter(p) for p in parameters], "static void "
            ),
            "line_directive": line_directive(where) if self.options.debug and where.line else "",
        }

    def _calls(self, groups: Iterable[Group]) -> list[str]:
        """The call of each kernel, in the order of the program."""
        functions = {kernel.name: group[0].name for group in groups for kernel in group}
        return [
            f"{functions[kernel.name]}({', '.join(map(self._argument, parameters))});"
            for kernel in self.program.kernels
            for parameters in (self.convention.parameters(kernel),)
        ]

    def _type_of(self, parameter: Parameter) -> str:
        const = "" if parameter.is_written else "const "
        return const + self._read_type(parameter.buffer.dtype, parameter.as_bytes)

    def _parameter(self, parameter: Parameter) -> str:
        buffer = parameter.buffer
        if parameter.by_value:
            return f"{c_type(self.dialect, buffer.dtype)} {buffer.name}"
        if not buffer.shape:
            return f"{self._type_of(parameter)} *restrict {buffer.name}"
        first, *rest = buffer.shape
        extent = f"{first}" if parameter.is_swapped else f"restrict {first}"
        inner = "".join(f"[{d}]" for d in rest)
        return f"{self._type_of(parameter)} {buffer.name}[{extent}]{inner}"

    def _argument(self, parameter: Parameter) -> str:
        buffer = parameter.buffer
        if parameter.by_value:
            return f"*{buffer.name}"
        name = self._type_of(parameter)
        if len(buffer.shape) < 2:
            has_rows = len(parameter.outer.shape) > 1
            is_constant = buffer.name in self.convention.constants
            needs_cast = has_rows if is_constant else parameter.as_bytes
            return (f"({name} *)" if needs_cast else "") + buffer.name
        inner = "".join(f"[{d}]" for d in buffer.shape[1:])
        return f"({name} (*){inner}){buffer.name}"

    def _element_type(self, buffer: Buffer) -> str:
        """The type of an array's elements where they are only read."""
        return self._read_type(buffer.dtype, self.convention.reads_bytes(buffer))

    def _read_type(self, dtype: np.dtype[Any], as_bytes: bool) -> str:
        return "uint8_t" if as_bytes else c_type(self.dialect, dtype)

    # ----------------------------------------------------------------------------- statements

    def _statement(self, statement: Statement, printer: Printer) -> list[dict[str, Any]]:
        match statement:
            case For():
                return [self._loop(statement, printer)]
            case If():
                return [{"kind": "if", "branches": self._branches(statement, printer)}]
            case While():
                return [self._while(statement, printer)]
            case Swap():
                return self._swap(statement)
            case Declare(name=name, value=value):
                kind = c_type(self.dialect, value.dtype)
                if statement.constant:
                    kind = f"const {kind}"
                elif value.dtype == BOOL:
                    kind = "uint8_t"  # compilers vectorise the reductions of numbers only
                return _line(f"{kind} {name} = {printer.assigned(value)};")
            case Update():
                return _line(self._update(statement, printer))
            case Store():
                target = printer.element(statement.buffer, statement.index)
                return _line(f"{target} = {printer.assigned(statement.value)};")
            case Alloc():
                return _line(printer.local_array(statement))
            case Call():
                return _line(self._call(statement, printer))
        raise InternalError(f"no rule prints {statement}")

    def _call(self, call: Call, printer: Printer) -> str:
        """A call in the words of a library that is there, or of C."""
        if isinstance(call, Callback):
            addresses = ["0" if v is None else printer.address(v.first) for v in call.values]
            return call_text(self.program, call.site, addresses)
        invocation = call.spelled(*(x.kind for x in self.libraries if x is not None), "c")
        arguments = (
            printer.address(a) if isinstance(a, Load) else printer.index(a)
            for a in invocation.arguments
        )
        self.called.add(type(call))
        self.used.add(invocation.function)
        self.routines.update(invocation.routines)
        return f"{invocation.function}({', '.join(arguments)});"

    def _body(self, body: Iterable[Statement], printer: Printer) -> list[dict[str, Any]]:
        return [node for s in body for node in self._statement(s, printer)]

    def _loop(self, loop: For, printer: Printer) -> dict[str, Any]:
        start, stop = printer.index(loop.start), self._stop(loop, printer)
        indices, ends, near = printer.indices, self.ends, printer.near
        lines = self._named_window(loop, printer)
        printer.near = loop.near or near
        body = [*lines, *self._body(loop.body, printer)]
        printer.indices, self.ends, printer.near = indices, ends, near
        braces = len(body) != 1 or body[0]["kind"] != "line"
        return {
            "kind": "for",
            "pragma": self._pragma(loop, printer),
            "index": loop.symbol.name,
            "start": start,
            "stop": stop,
            "body": body,
            "braces": braces,
        }

    def _branches(self, statement: If, printer: Printer) -> list[dict[str, Any]]:
        """The parts of an if, else if, else."""
        head = f"if ({printer.print(statement.condition)})"
        found = [{"head": head, "body": self._body(statement.body, printer)}]
        match statement.orelse:
            case ():
                pass
            case (If() as chained,):
                first, *rest = self._branches(chained, printer)
                found += [{**first, "head": f"}} else {first['head']}"}, *rest]
            case orelse:
                found.append({"head": "} else", "body": self._body(orelse, printer)})
        return found

    def _while(self, loop: While, printer: Printer) -> dict[str, Any]:
        if not loop.test:
            head = f"while ({printer.print(loop.condition)})"
            return {"kind": "while", "head": head, "body": self._body(loop.body, printer)}
        test = self._body(loop.test, printer)
        ended = printer.print(Apply("logical_not", (loop.condition,), BOOL))
        test.append(
            {"kind": "if", "branches": [{"head": f"if ({ended})", "body": _line("break;")}]}
        )
        body = [*test, *self._body(loop.body, printer)]
        return {"kind": "while", "head": "for (;;)", "body": body}

    def _swap(self, swap: Swap) -> list[dict[str, Any]]:
        """Two pointers exchange what they point to."""
        buffer = self.buffers[swap.first]
        name, kind = self.names.new("previous"), c_type(self.dialect, buffer.dtype)
        rows = "".join(f"[{d}]" for d in buffer.shape[1:])
        pointer = f"(*{name}){rows}" if rows else f"*{name}"
        return [
            *_line(f"{kind} {pointer} = {swap.first};"),
            *_line(f"{swap.first} = {swap.second};"),
            *_line(f"{swap.second} = {name};"),
        ]

    def _stop(self, loop: For, printer: Printer) -> str:
        """The first index that a loop does not reach."""
        stop = printer.index(loop.stop)
        if loop.limit is None:
            return stop
        least = f"{printer.function('minimum', INT64)}({stop}, {printer.index(loop.limit)})"
        return self.ends.get((loop.stop, loop.limit), least)

    def _named_window(self, loop: For, printer: Printer) -> list[dict[str, Any]]:
        """Names for the first index and the end of the strip that several loops inside walk."""
        walked = {*self.collapsed, loop.symbol}
        self.collapsed = walked if loop.collapse > 1 else set()
        if self.collapsed:  # nothing may stand between collapsed loops: the inner one names it
            return []
        inner = [s for s in walk(loop.body) if isinstance(s, For)]
        strips = [s for s in inner if walked & symbols_of(s.start)]
        same = {(s.start, s.stop, s.limit) for s in strips}
        if len(strips) < 2 or len(same) != 1:
            return []
        taken = {s.symbol.name for s in inner} | self.buffers.keys() | declared_names(loop.body)
        if not taken.isdisjoint({"first", "last"}) or any(
            s.symbol in symbols_of(strips[0].start)
            for s in inner  # one of them names it
        ):
            return []
        first, last = printer.index(strips[0].start), self._stop(strips[0], printer)
        lines = _line(f"const int64_t first = {first};")
        printer.indices = (*printer.indices, (strips[0].start, "first"))
        if strips[0].limit is not None:
            lines += _line(f"const int64_t last = {last};")
            self.ends = {(strips[0].stop, strips[0].limit): "last"}
        return lines

    def _pragma(self, loop: For, printer: Printer) -> str:
        if not loop.parallel and not loop.simd:
            return ""
        words = [
            self.dialect.both
            if loop.parallel and loop.simd
            else self.dialect.parallel
            if loop.parallel
            else self.dialect.simd
        ]
        if loop.parallel and any(isinstance(s, While | Call) for s in walk(loop.body)):
            words.append("schedule(guided)")  # iterations are long, or take different times
        if loop.lanes:
            words.append(f"safelen({loop.lanes})")
        if loop.collapse > 1:
            words.append(f"collapse({loop.collapse})")
        if loop.parallel and self.options.num_threads:
            words.append(f"num_threads({loop.threads or self.options.num_threads})")
        elif loop.parallel and loop.threads:
            self.used.add("thread_count")
            words.append(f"num_threads(thread_count({loop.threads}))")
        targets = {
            s.target.name: s.target.dtype
            for s in walk(loop.body)
            if isinstance(s, Update) and isinstance(s.target, Ref)
        }
        combined: dict[str, list[str]] = {}
        for op, name in loop.reductions:
            combined.setdefault(self._combiner(op, targets[name], printer), []).append(name)
        words += [f"reduction({op}:{', '.join(names)})" for op, names in combined.items()]
        return " ".join(words)

    def _combiner(self, op: str, dtype: np.dtype[Any], printer: Printer) -> str:
        """The name by which OpenMP combines accumulators; declared where OpenMP has none."""
        operator = infix(op, dtype)
        if operator:
            return {"|": "||", "&": "&&"}.get(operator, operator) if dtype.kind == "b" else operator
        sign = TABLE[op].chooses
        if dtype.kind in "iu" and sign:
            return "max" if sign > 0 else "min"
        name = printer.function(op, dtype)
        start = self.dialect.literal(identity(op, dtype).value[()], dtype)
        self.reductions[name] = {"name": name, "type": c_type(self.dialect, dtype), "start": start}
        return name

    def _update(self, statement: Update, printer: Printer) -> str:
        """`acc += x` where the operation is an infix one, else `acc = f(acc, x)`."""
        target = statement.target
        left = printer.print(target)
        if statement.op == "set":
            return f"{left} = {printer.assigned(statement.value)};"
        combined = accumulated(statement)
        if combined is not None:
            return f"{left} = {printer.print(combined)};"
        operator = infix(statement.op, target.dtype)
        return f"{left} {operator}= {printer.assigned(statement.value)};"


def _line(text: str) -> list[dict[str, Any]]:
    return [{"kind": "line", "text": text}]
