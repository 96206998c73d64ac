"""The C file that is built for Python: the program, and the one entry that Python calls."""

from __future__ import annotations

from transpile.codegen.templates import filled_in
from transpile.ir.loop_ir import Program


def python_entry(program: Program, source: str, header: str) -> str:
    """The text of that file, which includes the program's by these names; see
    `transpile.runtime.program_call`."""
    function = f"{program.name}_with_callback" if program.sites else program.name
    count = len(program.inputs) + len(program.outputs) + 1
    arguments = [f"pointers[{n}]" for n in range(count)]
    if program.sites:
        called = f"({program.name}_callback *)pointers[{count}]"
        arguments += [called, f"pointers[{count + 1}]"]
    return filled_in(
        "python_entry.c.j2",
        name=program.name,
        function=function,
        sites=program.sites,
        header=header,
        source=source,
        call=f"return {function}({', '.join(arguments)});",
    )
