"""The cookbook: a page for each program of examples/cookbook, with the C that it becomes today.

A program has a jitted function and `example()`, which makes arguments for it. Written by hand is
docs/cookbook.md; `python -m website.cookbook` writes its table.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import re
import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from website.pages import ROOT, block

FOLDER = ROOT / "examples" / "cookbook"
PAGE = ROOT / "docs" / "cookbook.md"
TABLE = re.compile(r"(?<=<!-- programs -->\n\n).*?(?=\n\n<!-- end of programs -->)", re.DOTALL)

# What the menu calls programs by, where capitals or hyphens are not those of a sentence.
TITLES = {
    "fir_filter": "FIR filter",
    "k_means": "k-means",
    "lennard_jones": "Lennard-Jones",
    "n_body": "n-body",
}

PRIVATE = """
It is linked with the LAPACK inside of NumPy. For other machines name theirs:
`--option lapack=liblapack.so.3`."""


@dataclass(frozen=True)
class Program:
    """A file of the cookbook."""

    path: Path
    module: Any

    @property
    def name(self):
        return self.path.stem

    @property
    def title(self):
        return TITLES.get(self.name, self.name.replace("_", " ").capitalize())

    @property
    def says(self):
        """Its docstring: one sentence."""
        return self.module.__doc__

    @property
    def function(self):
        """The function that is compiled, the only one of the file that is jitted."""
        (jitted,) = [f for f in vars(self.module).values() if hasattr(f, "__wrapped__")]
        return jitted

    @property
    def file(self):
        return self.path.relative_to(ROOT).as_posix()


def program(path):
    """The program of a file, which is run."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Program(path, module)


def paths():
    return sorted(FOLDER.rglob("*.py"))


def kernels(text):
    """The functions that are the program's own, of a text of C: neither includes nor helpers, nor
    those by which it is called."""
    start = re.search(r"^/\* \w+\.py:\d+: ", text, re.MULTILINE)
    end = re.search(r"^size_t \w+_workspace_size", text, re.MULTILINE)
    return text[start.start() : end.start()].rstrip()


def argument(value):
    """How the command line names the type of an argument."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    return type(value).__name__


def output(each):
    """What a program prints."""
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        runpy.run_path(str(each.path), run_name="__main__")
    return written.getvalue().rstrip()


def page(each, prints="..."):
    """The page of a program, which prints this."""
    arguments = each.module.example()
    text = each.function.lower(*arguments).as_text()
    name = each.function.__name__
    specs, note = " ".join(f"--arg '{argument(value)}'" for value in arguments), ""
    if "np.linalg" in each.path.read_text(encoding="utf-8"):
        specs += " --private-libraries"
        note = PRIVATE
    return f"""# {each.title}

{each.says}

{block(each.path)}

```sh
python {each.file}
python -m transpile build {each.file}:{name} \\
    {specs}
```

The first command prints

```text
{prints}
```

and the second writes `{name}.c`, `{name}.h` and `{name}.so`.{note}

## In C

Its own functions, for the arguments of `example()`:

```c
{kernels(text)}
```

<details><summary>The whole file, with the helpers that they call</summary>

:::{{container}} no-search

```c
{text.strip()}
```
:::

</details>
"""


def table():
    """All programs, by field."""
    rows = ["| program | field | what it computes |", "|---|---|---|"]
    for path in paths():
        says = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        title = path.stem.replace("_", " ")
        link = f"../{path.relative_to(ROOT).as_posix()}"
        rows.append(f"| [{title}]({link}) | {path.parent.name} | {says} |")
    return "\n".join(rows)


def main():
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda _: table(), text), encoding="utf-8")


if __name__ == "__main__":
    main()
