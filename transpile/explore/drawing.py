"""A document of SVG."""

from __future__ import annotations

from html import escape


def document(width: float, height: float, parts: list[str], title: str, name: str = "") -> str:
    """A drawing of this size with its parts, its title for readers of screens, and a class."""
    inner = "".join(parts)
    kind = f' class="{name}"' if name else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img"{kind} viewBox="-4 -4 {width + 8:.0f} '
        f'{height + 8:.0f}" width="{width + 8:.0f}" height="{height + 8:.0f}">'
        f"<title>{escape(title)}</title>{inner}</svg>"
    )
