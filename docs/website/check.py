"""What a built site would fetch from elsewhere when a page is opened.

`python -m website.check FOLDER` prints it, and fails if there is something. Links that a reader may
follow are none of it.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

ELSEWHERE = re.compile(r"(?:https?:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")]*)", re.IGNORECASE)
# Elements that name a thing which a browser fetches by itself, and by which attributes.
FETCHED = {"link": ("href",), "object": ("data",), "form": ("action",)}
EVERYWHERE = ("src", "srcset", "poster")


class Fetches(HTMLParser):
    """The addresses elsewhere that a page fetches."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in (*EVERYWHERE, *FETCHED.get(tag, ())) and ELSEWHERE.match(value or ""):
                self.found.append(value)
            if name == "style":
                self.found += IN_STYLES.findall(value or "")


def fetches(text, suffix):
    """What a page or a style sheet fetches from elsewhere."""
    if suffix == ".css":
        return IN_STYLES.findall(text)
    parser = Fetches()
    parser.feed(text)
    return parser.found + IN_STYLES.findall(
        "".join(re.findall(r"<style.*?</style>", text, re.DOTALL))
    )


def main():
    folder = Path(sys.argv[1])
    files = [path for path in folder.rglob("*") if path.suffix in (".html", ".css")]
    found = [
        f"{path.relative_to(folder)} fetches {address}"
        for path in sorted(files)
        for address in fetches(path.read_text(encoding="utf-8"), path.suffix)
    ]
    print("\n".join(found) or f"{len(files)} files fetch nothing from elsewhere")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
