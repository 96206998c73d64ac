"""The templates of pages and fragments, with their styles and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transpile.util.data_files import data_directory
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import jinja2
else:
    jinja2 = Later("jinja2")


def file_text(name: str) -> str:
    """A file beside the templates: a style, or a script."""
    return (data_directory("templates") / "explore" / name).read_text(encoding="utf-8")


def filled_in(template: str, **values: Any) -> str:
    """The HTML of a template; values that are no markup are escaped, undefined ones an error."""
    language = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FileSystemLoader(data_directory("templates") / "explore"),
    )
    return language.get_template(template).render(**values)
