"""Texts that contain file names and other strings of users, as people see them.

Python represents bytes of a file name that are not UTF-8 by surrogates, which cannot be encoded,
and a newline in a name would end a comment or a line of a message.
"""

from pathlib import Path


def shown_path(path: Path) -> str:
    """A path below the current directory without that."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def utf8(text: str) -> str:
    """The text with surrogates replaced by escapes such as `\\udcff`."""
    return text.encode("utf-8", "backslashreplace").decode()


def one_line(text: str) -> str:
    """The text with newlines and other unprintable characters replaced by escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
