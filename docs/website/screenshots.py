"""Pictures of the pages that are made, for the documents: `make screenshots` writes them anew.

    python -m website.screenshots HTML

with docs/ and tests/support/ on the path. `HTML` is the folder of the site, of which the first page
is shown; and so is the page of `explore` for a function, with a line of Python kept.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import opened

from website.pages import ROOT

IMAGES = ROOT / "docs/images"
SOFTMAX = """\
import numpy as np
from transpile import jit


@jit
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
"""
EXPLORE = ("explore", "softmax.py:softmax", "--arg", "float32[1000,64]", "--measure")
# A click on the line of the sum brings what it became into view.
KEEP = """
for (const line of document.querySelectorAll("#pane-python [data-places]"))
    if (line.textContent.includes("e.sum")) line.click()
"""


def main():
    parser = argparse.ArgumentParser(prog="python -m website.screenshots", description=__doc__)
    parser.add_argument("html", type=Path, help="where the site is")
    html = parser.parse_args().html.resolve()
    IMAGES.mkdir(exist_ok=True)
    save("site", html / "index.html", 1280, 960)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "softmax.py").write_text(SOFTMAX)
        command = [sys.executable, "-m", "transpile", *EXPLORE, "-o", "softmax.html"]
        found = os.pathsep.join([str(ROOT), *sys.path])
        subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": found}, check=True)
        page = Path(folder) / "softmax.html"
        for name, is_dark in (("explore", False), ("explore_dark", True)):
            save(name, page, 1500, 1010, is_dark=is_dark, script=KEEP)


def save(name, page, width, height, *, is_dark=False, script="0"):
    """A picture of a page, behind a script."""
    with tempfile.TemporaryDirectory() as folder, opened(f"file://{page}", folder) as browser:
        browser.look(width, height, is_dark=is_dark)
        browser.value(script)
        (IMAGES / f"{name}.webp").write_bytes(browser.picture())
    print(IMAGES / f"{name}.webp")


if __name__ == "__main__":
    main()
