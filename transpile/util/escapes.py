"""Texts with file names and words of users in them, which may hold anything.

Python keeps the bytes of a file name that are no UTF-8 as surrogates, which no file and no terminal
takes; a newline in a name ends a comment's or a message's line.
"""


def utf8(text: str) -> str:
    """The text with escapes such as `\\udcff` in the place of what UTF-8 has no bytes for."""
    return text.encode("utf-8", "backslashreplace").decode()


def one_line(text: str) -> str:
    """The text with escapes in the place of newlines and of all else that cannot be shown."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
