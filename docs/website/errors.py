"""What errors say: the texts of the exceptions that the code raises, by class.

docs/errors.md has the causes and remedies, by hand; the site adds the texts, so that who searches
for one finds its class.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections import defaultdict

from transpile import errors
from website.pages import ROOT

PAGE = ROOT / "docs" / "errors.md"
HOLE = "…"  # what a message fills in
# What Python and NumPy raise for a user's arguments.
STANDARD = (
    *("ArithmeticError", "AttributeError", "BufferError", "LookupError", "MemoryError"),
    *(
        "NameError",
        "RuntimeError",
        "TypeError",
        "ValueError",
    ),  # NotImplementedError is a RuntimeError
)
CLASS = re.compile(r"^#{2,3} (\w+(?:Error|Warning|Failure))$", re.MULTILINE)


def classes():
    """The names of the public classes."""
    return [name for name, value in vars(errors).items() if isinstance(value, type)]


@functools.cache
def is_known(name):
    """True for the name of a class whose texts are listed."""
    found = getattr(builtins, name, None)
    bases = tuple(getattr(builtins, base) for base in STANDARD)
    is_standard = isinstance(found, type) and issubclass(found, bases)
    return name != "InternalError" and (name in classes() or is_standard)


@functools.cache
def texts():
    """{class: {text: folders whose modules raise it}}."""
    found = defaultdict(lambda: defaultdict(set))
    package = ROOT / "transpile"
    for path in sorted(package.rglob("*.py")):
        folder = path.relative_to(package).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                function = node.func
                name = getattr(function, "attr", getattr(function, "id", ""))
                text = told(node.args[0]) if is_known(name) else ""
                if text.strip(HOLE + ":. "):
                    found[name][text].add(folder)
    return found


def told(node):
    """The text of an expression; what is filled in is a hole."""
    match node:
        case ast.Constant(value=str(text)):
            return " ".join(text.split()) if text.strip() else text
        case ast.JoinedStr(values=parts):
            joined = "".join(p.value if isinstance(p, ast.Constant) else HOLE for p in parts)
            return " ".join(joined.split())
        case ast.BinOp(left=left, right=right):
            return told(left) + told(right)
    return HOLE


def listed():
    """The part of the page with all texts."""
    parts = ["", "## All texts", "", f"`{HOLE}` is what a message fills in.", ""]
    for name, found in sorted(texts().items()):
        parts += [f"### Texts of {name}", ""]
        for text, folders in sorted(found.items(), key=lambda item: item[0].strip(HOLE + ":' ")):
            parts.append(f"* `` {text.replace('``', '`')} `` ({', '.join(sorted(folders))})")
        parts.append("")
    return "\n".join(parts)


def families(name):
    """The texts, in the table of a class, that its messages have."""
    text = PAGE.read_text(encoding="utf-8")
    section = re.split(
        r"^#{2,3} ", text[re.search(rf"^### {name}$", text, re.M).end() :], flags=re.M
    )
    rows = re.findall(r"^\| (`.*?`) \|", section[0], re.MULTILINE)
    return [part for row in rows for part in re.findall(r"`(.*?)`", row)]
