"""Write the sources of the site, for Sphinx: `python -m website FOLDER`, with docs/ on the path."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from website import charts, cookbook, errors, navigation, pages, reference


def main():
    parser = argparse.ArgumentParser(prog="python -m website", description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write, in place of what is there")
    folder = parser.parse_args().folder
    shutil.rmtree(folder, ignore_errors=True)
    site = pages.Site(folder)
    write_all(site)
    print(f"{len(site.written)} pages in {folder}")


def write_all(site):
    """All pages; each file that they link to has one, too."""
    for file in site.pages:
        if file != "docs/index.md":
            site.add(file)
    decisions(site)
    programs(site)
    site.append("errors", errors.listed())
    site.append("benchmarks", charts.listed())
    described = reference.Reference()
    for name in reference.MODULES:
        site.write(f"reference/{name}", described.page(name))
    site.write("reference/index", described.index())
    site.page_of("docs/from_scratch.py")
    home(site)
    site.add_linked()


def decisions(site):
    """The list of decisions, by their first lines."""
    names = sorted(name for name in site.pages.values() if name.startswith("decisions/"))
    listed = "\n".join(name.removeprefix("decisions/") for name in names)
    text = "What the larger parts are, what else they could be, and what was measured."
    site.write(
        "decisions/index",
        f"# Decisions\n\n{text}\n\n```{{toctree}}\n:titlesonly:\n\n{listed}\n```\n",
    )


def programs(site):
    """A page for each program of the cookbook, below that of all."""
    found = [cookbook.program(path) for path in cookbook.paths()]
    for each in found:
        site.write(f"cookbook/{each.name}", cookbook.page(each, cookbook.output(each)))
    listed = "\n".join(f"{each.title} <cookbook/{each.name}>" for each in found)
    site.append("cookbook", f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n")


def home(site):
    """The first page, with the menu."""
    site.add("docs/index.md")
    menu = [
        f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries(names)}\n```\n"
        for caption, names in navigation.MENU.items()
    ]
    site.append("index", "\n".join(["", *menu]))


def entries(names):
    """Lines of a menu."""
    titles = navigation.TITLES
    return "\n".join(f"{titles[name]} <{name}>" if name in titles else name for name in names)


if __name__ == "__main__":
    main()
