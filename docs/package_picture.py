"""The packages of transpile and what each is built on, drawn from the imports: a Mermaid flowchart.

    python docs/package_picture.py           prints it
    python docs/package_picture.py --write   puts it into ARCHITECTURE.md

An arrow leads from a package to one that imports it. Arrows that follow from others are left out
(the transitive reduction), as are imports for annotations only.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "transpile"
DOCUMENT = ROOT / "ARCHITECTURE.md"
BLOCK = re.compile(r"```mermaid\n.*?```", re.DOTALL)


def packages():
    """The folders of `transpile/`, by name."""
    return sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def imported(path):
    """The packages that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    annotations = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in annotations:
            parts = (node.module or "").split(".")
            names = [alias.name for alias in node.names] if len(parts) == 1 else [parts[1]]
            yield from names if parts[0] == "transpile" else ()


def needs():
    """For each package the packages that it imports, public modules looked through."""
    known = packages()
    direct = {}
    for path in PACKAGE.rglob("*.py"):
        inside = path.relative_to(PACKAGE).parts
        direct.setdefault(inside[0].removesuffix(".py"), set()).update(imported(path))

    def found(name, seen):
        for other in direct.get(name, ()):
            if other in known:
                yield other
            elif other not in seen:
                yield from found(other, seen | {other})

    return {name: set(found(name, {name})) - {name} for name in known}


def reduced(graph):
    """The transitive reduction of an acyclic graph."""
    above = {}

    def reach(name):
        if name not in above:
            above[name] = set().union(*({other} | reach(other) for other in graph[name]))
        return above[name]

    return {
        name: {o for o in graph[name] if not any(o in reach(m) for m in graph[name] - {o})}
        for name in graph
    }


def picture():
    """The flowchart, as a block of Markdown."""
    lines = ["```mermaid", "flowchart TD"]
    for name, others in sorted(reduced(needs()).items()):
        lines += [f"    {other} --> {name}" for other in sorted(others)]
    return "\n".join([*lines, "```"])


if __name__ == "__main__":
    if "--write" in sys.argv:
        text = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(BLOCK.sub(lambda _: picture(), text, count=1), encoding="utf-8")
    else:
        print(picture())
