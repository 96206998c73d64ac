"""Pages of the repository as pages of the site: their places, and where their links lead."""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path

from website import picture
from website.navigation import NAMES

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^ *(`{3,}).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()([^)#\s]*)(#[^)\s]*)?(?=\))")
SHOWN = re.compile(r"^<!-- shown: (\S+) -->$", re.MULTILINE)  # the file follows, in the site
# A link to a page that only the site has.
MADE = re.compile(r"<!-- page: (\S+) -->(.*?)<!-- -->")
IMAGES = (".webp", ".png", ".svg")
LANGUAGES = {
    ".py": "python",
    ".c": "c",
    ".h": "c",
    ".toml": "toml",
    ".txt": "cmake",
    ".mlir": "text",
    ".build": "text",
    "": "text",
}


def pages():
    """{file of the repository: name of its page}, of the Markdown there is."""
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    files = sorted(path.relative_to(ROOT).as_posix() for path in paths)
    return {
        file: NAMES.get(file, posixpath.splitext(file)[0].removeprefix("docs/")) for file in files
    }


def outside_of_code(text, rewrite):
    """The text with `rewrite` done to the parts of it that are no blocks of code."""
    parts, end = [], 0
    for block in FENCE.finditer(text):
        parts += [rewrite(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, rewrite(text[end:])])


class Site:
    """Pages that have been written, and the files that they link to, which get pages, too."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.pages = pages()
        self.linked = set()
        self.written = []

    def write(self, name, text):
        path = self.folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.written.append(name)

    def append(self, name, text):
        """Add to the end of a page."""
        with (self.folder / f"{name}.md").open("a", encoding="utf-8") as file:
            file.write(text)

    def copy(self, file):
        """The same file, at the same place in the site."""
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, path)

    def page_of(self, file):
        """The page that shows a file or folder of the repository."""
        if file in self.pages:
            return self.pages[file]
        if file == "docs/decisions":
            return "decisions/index"
        if not (ROOT / file).exists():
            raise FileNotFoundError(f"a page links to {file}, which is not there")
        self.linked.add(file)
        return file_page(file)

    def with_links(self, text, file, name):
        """The text of a file of the repository, for the page `name`."""

        def target(link):
            path, anchor = link[1], link[2] or ""
            if not path or "://" in path or path.startswith("mailto:"):
                return link[0]
            there = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
            if posixpath.splitext(there)[1] in IMAGES:
                self.copy(there)
                return posixpath.relpath(there, posixpath.dirname(name) or ".")
            page = self.page_of(there)
            return posixpath.relpath(page, posixpath.dirname(name) or ".") + ".md" + anchor

        return outside_of_code(text, lambda part: LINK.sub(target, part))

    def add(self, file):
        """The page of a Markdown file, with the files that it shows."""
        name = self.pages[file]
        text = (ROOT / file).read_text(encoding="utf-8")
        text = picture.drawn(self.with_links(text, file, name))
        text = MADE.sub(r"[\2](\1.md)", text)
        self.write(name, SHOWN.sub(lambda mark: block(ROOT / mark[1]), text))

    def add_linked(self):
        """Pages of the files that other pages link to, as they are."""
        for file in sorted(self.linked):
            if file_page(file) not in self.written:
                self.write(file_page(file), shown(file))


def file_page(file):
    """The name of the page that shows a file."""
    if file.startswith("examples/cookbook/"):
        return f"cookbook/{Path(file).stem}"
    return "from_scratch" if file == "docs/from_scratch.py" else f"files/{file.replace('.', '_')}"


def shown(file):
    """A page with a file of the repository, or with all that a folder of it has."""
    path = ROOT / file
    files = [path]
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    lines = [f"# {file}", ""]
    if file != "docs/from_scratch.py":
        lines = ["---", "orphan: true", "---", "", *lines]
    for each in files:
        if path.is_dir():
            lines += [f"## {each.relative_to(path)}", ""]
        lines += [block(each), ""]
    return "\n".join(lines)


def block(path):
    """A file as a block of code."""
    text = path.read_text(encoding="utf-8").rstrip()
    return f"````{LANGUAGES.get(path.suffix, 'text')}\n{text}\n````"
