"""Docstrings as Markdown: paragraphs, tables of parameters, and names that are links.

They are written as `help` shows them. A paragraph of lines with a name, spaces and an explanation
is a table; one that is indented is code.
"""

from __future__ import annotations

import re

CODE = re.compile(r"(`+[^`]*`+)")
ENTRY = re.compile(r"(\S(?:.*?\S)?)(?: {2,}(\S.*))?$")
PAGE = re.compile(r"\bdocs/(\w+)\.md\b")
LIST = re.compile(r"(?:[*-]|\d+\.) ")


def markdown(text, link):
    """The Markdown of a docstring, whose indentation is gone; `link(name)` is what a name in
    backquotes leads to, or `""`."""
    parts = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.split("\n")
        entries = table(lines)
        if lines[0].startswith((" ", ">>>")):
            parts.append("```python\n" + _without_margin(lines) + "\n```")
        elif entries:
            parts.append("\n\n".join(_definition(*entry, link) for entry in entries))
        else:
            parts.append(inline(block, link))
    return "\n\n".join(parts)


def table(lines):
    """[(names, explanation)] of a paragraph that is a table of parameters; else None."""
    entries = []
    for line in lines:
        if not line.startswith(" "):
            name, text = ENTRY.match(line.rstrip()).groups()
            entries.append((name, [text] if text else []))
        elif entries:
            entries[-1][1].append(line.strip())
    is_table = entries and all(text for _, text in entries) and not LIST.match(lines[0])
    return [(name, " ".join(text)) for name, text in entries] if is_table else None


def inline(text, link):
    """Text with links; what Markdown would read as something else is escaped."""
    parts = CODE.split(text)
    parts[::2] = [_escaped(part, is_first=n == 0) for n, part in enumerate(parts[::2])]
    parts[1::2] = [_linked(part, link) for part in parts[1::2]]
    return "".join(parts)


def _definition(names, text, link):
    """An entry of a table."""
    listed = ", ".join(f"`{name}`" for name in re.split(r", +", names.strip("`")))
    return f"{listed}\n: {inline(text, link)}"


def _escaped(text, is_first):
    marker = LIST.match(text) if is_first else None
    start = marker.end() if marker else 0
    rest = re.sub(r"([*<\[\]#|])", r"\\\1", text[start:])
    rest = re.sub(r"^\\\* ", "* ", rest, flags=re.MULTILINE)
    return text[:start] + PAGE.sub(r"[docs/\1.md](../\1.md)", rest)


def _linked(code, link):
    name = code.strip("`")
    target = link(name)
    return f"{{py:obj}}`{name} <{target}>`" if target else code


def _without_margin(lines):
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[margin:] for line in lines)
