"""C, Python and loops in colours: their texts as HTML, tokens in elements of their kind's class."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from types import MappingProxyType

_C = (
    r"(?P<comment>/\*.*?\*/|//[^\n]*)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<directive>^[ \t]*#[^\n]*)"
    r"|(?P<keyword>\b(?:break|case|const|continue|default|do|double|else|enum|extern|float|for|if"
    r"|inline|int|restrict|return|sizeof|static|struct|switch|typedef|void|while|bool|char|size_t"
    r"|u?int(?:8|16|32|64)_t)\b)"
)
_PYTHON = (
    r"(?P<comment>#[^\n]*)"
    r'|(?P<string>""".*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')'
    r"|(?P<keyword>\b(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except"
    r"|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while"
    r"|with|yield|None|True|False)\b)"
)
_LOOPS = (
    r"(?P<comment>#[^\n]*)"
    r"|(?P<keyword>\b(?:program|inputs|outputs|temporaries|kernel|for|in|if|else|while|repeat|local"
    r"|let|var|call|parallel|simd|ordered)\b)"
)
_NUMBER = r"|(?P<number>\b(?:0[xX][0-9a-fA-F]+|\d[\d.]*(?:[eE][+-]?\d+)?)\w*)"
_TOKENS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        language: re.compile(tokens + _NUMBER, re.MULTILINE | re.DOTALL)
        for language, tokens in (("c", _C), ("python", _PYTHON), ("loops", _LOOPS))
    }
)


def coloured(text: str, language: str) -> str:
    """The text of a language, "c", "python", "loops", or one without tokens, as HTML. A line of it
    is a line of the text: no token goes on from one to the next."""
    tokens = _TOKENS.get(language)
    return "".join(_parts(text, tokens)) if tokens else escape(text)


def _parts(text: str, tokens: re.Pattern[str]) -> Iterator[str]:
    end = 0
    for match in tokens.finditer(text):
        yield escape(text[end : match.start()])
        lines = escape(match[0]).split("\n")
        yield "\n".join(f'<span class="{match.lastgroup}">{line}</span>' for line in lines)
        end = match.end()
    yield escape(text[end:])
