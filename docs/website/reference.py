"""The reference: a page for each public module, from its docstrings."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import types

from website import docstrings

# The modules that have a page, in the order of the menu.
MODULES = (
    *("transpile", "transpile.stages", "transpile.options", "transpile.machine"),
    *("transpile.artifact", "transpile.lax", "transpile.lax.linalg", "transpile.random"),
    *("transpile.nn", "transpile.nn.initializers", "transpile.tree", "transpile.tree_util"),
    *("transpile.debug", "transpile.log", "transpile.dtypes", "transpile.image", "transpile.ops"),
    *("transpile.ref", "transpile.sharding", "transpile.distributed", "transpile.export"),
    *("transpile.dlpack", "transpile.custom_derivatives", "transpile.custom_batching"),
    *("transpile.ad_checkpoint", "transpile.flatten_util", "transpile.experimental"),
    *("transpile.scipy.fft", "transpile.scipy.linalg", "transpile.scipy.optimize"),
    *("transpile.scipy.signal", "transpile.scipy.special", "transpile.scipy.stats"),
    *("transpile.scipy.cluster", "transpile.scipy.integrate", "transpile.scipy.interpolate"),
    *("transpile.scipy.ndimage", "transpile.scipy.sparse", "transpile.scipy.spatial"),
    *("transpile.core", "transpile.extend", "transpile.typing", "transpile.compat"),
    "transpile.test_util",
)
# Pages by hand: functions of transpile.numpy are NumPy's, which documents them.
ELSEWHERE = {"transpile.numpy": "docs/numpy.md", "transpile.errors": "docs/errors.md"}


class Reference:
    """The names that are described, and where: an object is described once."""

    def __init__(self):
        self.named = {}  # the number of an object -> the name under which it is described
        self.names = set()
        self.modules = {name: importlib.import_module(name) for name in MODULES}
        for module in self.modules.values():
            self.note(module)

    def note(self, module):
        for name, value in members(module):
            full = f"{module.__name__}.{name}"
            if isinstance(value, types.ModuleType):
                if not self.has_page(value):
                    self.note(value)
            else:
                self.named.setdefault(id(value), full)
                self.names.add(full)

    def has_page(self, module):
        return module.__name__ in MODULES or module.__name__ in ELSEWHERE

    def link(self, module, described=None):
        """What a name in a docstring of a module leads to; names of parameters lead nowhere."""
        own = {"dtype", "shape", *re.findall(r"\w+", signature(described) if described else "")}

        def target(name):
            bare = name.removesuffix("()").removeprefix("transpile.")
            for where in (module.__name__, "transpile"):
                if bare not in own and f"{where}.{bare}" in self.names:
                    return f"{where}.{bare}"
            return ""

        return target

    def index(self):
        """The list of modules, with their first sentences."""
        rows = ["| module | what it has |", "|---|---|"]
        for name, page in ELSEWHERE.items():
            first = inspect.getdoc(importlib.import_module(name)).partition("\n")[0].rstrip(".:")
            rows.append(f"| [{name}](../{page.removeprefix('docs/')}) | {first} |")
        for name, module in self.modules.items():
            first = re.split(r"(?<=\.)\s", inspect.getdoc(module))[0].rstrip(".")
            says = docstrings.inline(" ".join(first.split()), self.link(module)).replace("|", "\\|")
            rows.append(f"| [{name}]({name}.md) | {says} |")
        listed = "\n".join(self.modules)
        return f"# Modules\n\n{chr(10).join(rows)}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"

    def page(self, name):
        """The page of a module."""
        module = self.modules[name]
        return "\n\n".join([f"# {name}", *self.body(module), ""])

    def body(self, module, level=2):
        """The description of a module, and of its parts that have no page."""
        link = self.link(module)
        parts = [docstrings.markdown(inspect.getdoc(module), link)]
        described = [name for name, value in members(module) if id(value) in self.named]
        names = sorted(described, key=str.lower)
        parts.append(", ".join(f"{{py:obj}}`{n} <{module.__name__}.{n}>`" for n in names))
        parts.append(f"```{{py:currentmodule}} {module.__name__}\n```")
        inner = []
        for name, value in sorted(members(module), key=lambda item: item[0].lower()):
            if not isinstance(value, types.ModuleType):
                parts.append(self.entry(module, name, value))
            elif not self.has_page(value):
                inner.append(value)
        for value in inner:
            parts += [f"{'#' * level} {value.__name__}", *self.body(value, level + 1)]
        return parts

    def entry(self, module, name, value):
        """A function, class or value."""
        full = f"{module.__name__}.{name}"
        kind = kind_of(value)
        heading = name + ("" if kind == "data" or is_enum(value) else signature(value))
        heading = heading.removesuffix("(*args, **kwargs)") if kind == "class" else heading
        if self.named[id(value)] != full:
            other = self.named[id(value)]
            return directive(kind, heading, f"The same as {{py:obj}}`{other}`.")
        link = self.link(module, value if kind == "function" else None)
        text = docstrings.markdown(inspect.getdoc(value) or "", link) if kind != "data" else ""
        if kind == "class":
            text = "\n\n".join([text, *methods(value, link)])
        return directive(kind, heading, text, colons=4)


def directive(kind, heading, text, colons=4):
    fence = ":" * colons
    return f"{fence}{{py:{kind}}} {heading}\n\n{text}\n{fence}"


def kind_of(value):
    if isinstance(value, type):
        return "class"
    return "function" if callable(value) else "data"


def is_enum(value):
    return isinstance(value, type) and issubclass(value, enum.Enum)


def methods(cls, link):
    """The public methods and properties of a class that have a docstring of their own."""
    found = []
    for name in sorted(dir(cls)):
        value = inspect.getattr_static(cls, name)
        owner = next((c for c in cls.__mro__ if name in vars(c)), cls)
        if name.startswith("_") or not owner.__module__.startswith("transpile"):
            continue
        value = getattr(value, "__func__", value)
        if not getattr(value, "__doc__", None) or isinstance(value, (str, int, tuple, enum.Enum)):
            continue
        text = docstrings.markdown(inspect.getdoc(value), link)
        if callable(value):
            found.append(directive("method", name + signature(value), text, colons=3))
        else:
            found.append(directive("attribute", name, text, colons=3))
    return found


def members(module):
    """The public names of a module, with what they are."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        ]
    found = [(name, getattr(module, name)) for name in listed]
    return [
        (name, value)
        for name, value in found
        if not isinstance(value, types.ModuleType)
        or value.__name__.startswith(f"{module.__name__}.")
    ]


def signature(function):
    """The parameters and their defaults; annotations are left out, most of them say Any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    parts, is_marked = [], False
    for p in parameters:
        if p.kind == p.KEYWORD_ONLY and not is_marked:
            parts.append("*")
        is_marked = is_marked or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else f"={default_text(p.default)}"
        parts.append(stars + p.name + default)
        if p.name == "self":
            parts.pop()
    return f"({', '.join(parts)})"


def default_text(value):
    """A default as Python would read it."""
    if isinstance(value, (type, types.FunctionType)):
        return value.__name__
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    text = repr(value)
    return text if len(text) < 40 and "<" not in text else "..."
