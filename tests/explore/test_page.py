"""The page of a function: its texts, what they have to do with each other, and a real browser."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from browser import CHROMIUM, opened

import transpile
from transpile import lax
from transpile.errors import UnsupportedError
from transpile.explore.colours import coloured
from transpile.explore.costs import Lifetime
from transpile.explore.pictures import MOST_EQUATIONS, memory_svg

X = np.linspace(-1.0, 2.0, 64 * 32).reshape(64, 32)


def normalised(x):
    m = x.mean(axis=1, keepdims=True)  # the mean
    s = np.sqrt(((x - m) ** 2).mean(axis=1, keepdims=True))  # the deviation
    return (x - m) / s  # the quotient


def model(x, w):
    h = np.tanh(normalised(x) @ w)  # the layer
    return np.exp(h) + "<b>&".count("<"), h.sum(axis=0)


class Page(HTMLParser):
    """The lines of each pane with their places, what is loaded, and what is between tags."""

    def __init__(self, text):
        super().__init__()
        self.panes, self.pane, self.line, self.loaded, self.classes = {}, None, None, [], {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if str(given.get("id", "")).startswith("pane-"):
            self.pane = self.panes.setdefault(given["id"][5:], [])
        if "line" in str(given.get("class", "")).split():
            self.line = [set(given.get("data-places", "").split()), "", given["class"].split()]
            self.pane.append(self.line)
        self.loaded += [given[k] for k in ("src", "href") if k in given]

    def handle_endtag(self, tag):
        if tag == "div":
            self.line = None

    def handle_data(self, data):
        if self.line is not None:
            self.line[1] += data

    def places_of(self, pane, text):
        found = [places for places, line, _ in self.panes[pane] if text in line]
        assert found, (pane, text)
        return set().union(*found)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    lowered = transpile.jit(model).lower(X, np.ones((32, 16)))
    return lowered.explore(tmp_path_factory.mktemp("page") / "model.html")


@pytest.fixture(scope="module")
def page(path):
    return Page(path.read_text(encoding="utf-8"))


def test_a_line_is_found_in_each_text(page):
    for mark, c, loops, primitive in [
        ("# the mean", "const double m = ", "let m:f64", " = reduce_sum"),
        ("# the deviation", "= sqrt(", "= sqrt(", " = sqrt"),
        ("# the quotient", "(x[i][j] - m) / s;", "= divide(", " = divide"),
        ("# the layer", "matmul_f64(64, ", "call matmul(", " = dot_general"),
    ]:
        (place,) = page.places_of("python", mark)
        for pane, text in (("c", c), ("loops", loops), ("graph", primitive)):
            assert place in page.places_of(pane, text), (mark, pane)
        assert place in page.places_of("assembly", " ")


def test_python_and_c_are_as_they_stand_in_their_files(page):
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    for _, line, _ in page.panes["python"]:
        number = re.match(r" *(\d+)", line)
        if number:
            assert line == number[1] + source[int(number[1]) - 1]
    assert any('"<b>&".count' in line for _, line, _ in page.panes["python"])
    text = transpile.jit(model).lower(X, np.ones((32, 16))).as_text("c", debug_info=True)
    without = re.sub(r"^#line .*\n", "", text, flags=re.M)
    assert [line for _, line, _ in page.panes["c"]] == [
        f"{k}{line}" for k, line in enumerate(without.splitlines(), 1)
    ]


def test_assembly_has_instructions_and_no_directives(page):
    lines = [line for _, line, _ in page.panes["assembly"]]
    assert any(line.strip().startswith("ret") for line in lines)
    assert not [line for line in lines if line.strip().startswith((".loc", ".cfi", ".file"))]


def test_it_loads_nothing(page, path):
    assert page.loaded == []
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", path.read_text(encoding="utf-8"))


def test_loops_of_the_users_have_their_lines(tmp_path):
    def total(x):
        def body(carry, row):
            return carry * 0.5 + row, np.sin(carry)  # the body

        return lax.scan(body, np.zeros(32), x)

    page = Page(transpile.jit(total).lower(X).explore(tmp_path / "a.html").read_text())
    (place,) = page.places_of("python", "# the body")
    assert place in page.places_of("c", "sin_") and place in page.places_of("loops", "sin(")


def test_sources_that_are_gone_and_large_graphs(tmp_path):
    space = {"np": np}
    steps = "\n".join("    x = np.cos(x) * 2" for _ in range(MOST_EQUATIONS))
    exec(compile(f"def f(x):\n{steps}\n    return x\n", "<gone>", "exec"), space)
    text = transpile.jit(space["f"]).lower(X[0]).explore(tmp_path / "b.html").read_text()
    assert "too many equations to be drawn" in text and "# &lt;gone&gt;" in text


def test_colours_end_with_their_lines():
    """A line of a text is a line of its HTML: it stands in an element of its own."""
    text = "/* a < b\n   c */\nreturn 1;"
    assert coloured(text, "c").splitlines() == [
        '<span class="comment">/* a &lt; b</span>',
        '<span class="comment">   c */</span>',
        '<span class="keyword">return</span> <span class="number">1</span>;',
    ]
    assert coloured('x = "#"  # y', "python") == (
        'x = <span class="string">&quot;#&quot;</span>  <span class="comment"># y</span>'
    )
    assert coloured("addq $1, %rax  # <", "assembly") == "addq $1, %rax  # &lt;"


def test_edges_over_several_layers_meet_no_box():
    def far(x, y):
        z = np.cos(np.sin(x)) * np.exp(y)
        return np.tanh(z + x).sum() + (x * y).max(), y

    svg = transpile.make_jaxpr(far)(X, X)._repr_svg_()
    boxes = re.findall(r'class="box [^>]*translate\(([\d.]+) ([\d.]+)\)', svg)
    lines = re.findall(r'd="M([\d.]+) (\d+)v38"', svg)
    assert len(boxes) > 10 and len(lines) > 4
    for x, y in lines:
        inside = [
            b for b in boxes if float(b[1]) == float(y) and 0 <= float(x) - float(b[0]) <= 150
        ]
        assert not inside, (x, y)
    places = sorted((float(y), float(x)) for x, y in boxes)
    for (y, x), (next_y, next_x) in pairwise(places):
        assert y != next_y or next_x - x >= 150


def test_labels_of_the_workspace_stay_in_their_columns():
    names = ("value_and_grad_network_1", "value_and_grad_network_2")
    arrays = (Lifetime("x", 0, 4096, 0, 1), Lifetime("a_name_that_is_long", 4096, 4096, 1, 1))
    shown = re.findall(r"<text [^>]*>([^<]*)<", memory_svg(arrays, names))
    assert shown[:2] == ["…rad_network_1", "…rad_network_2"]
    assert shown[2:] == ["x: 4,096 bytes at 0", "…that_is_long"]


def test_programs_for_gpus_are_refused(tmp_path):
    lowered = transpile.jit(normalised, device="cuda").lower(X)
    with pytest.raises(UnsupportedError, match="a page shows a program for the CPU"):
        lowered.explore(tmp_path / "c.html")
    assert not list(tmp_path.iterdir())


def test_the_command_writes_it(tmp_path):
    (tmp_path / "mine.py").write_text("def f(x):\n    return x * 2.0\n")
    command = [sys.executable, "-m", "transpile", "explore", "mine.py:f", "--arg", "float64[3]"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "f.html\n" and "x * 2.0" in (tmp_path / "f.html").read_text()


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium, in which the page runs")
def test_in_a_browser_a_link_to_a_line_keeps_what_it_became(page, path, tmp_path):
    (place,) = page.places_of("python", "# the quotient")
    command = [CHROMIUM, "--headless", "--disable-gpu", "--no-first-run", "--disable-sync"]
    command += ["--disable-background-networking", "--disable-component-update"]
    command += ["--no-sandbox"] * (os.geteuid() == 0)
    command += [f"--user-data-dir={tmp_path}", "--dump-dom", f"file://{path}#place-{place}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    shown = Page(done.stdout)
    for pane, lines in shown.panes.items():
        kept = [line for places, line, classes in lines if "kept" in classes]
        assert kept == [line for places, line, _ in lines if place in places], pane
        assert kept


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium, in which the page runs")
def test_in_a_browser_keys_are_enough(page, path, tmp_path):
    """Tab reaches one line of each text, the arrows the others; Enter keeps, Escape lets go."""
    focused = "document.activeElement.closest('.pane')?.id + ' ' + document.activeElement.innerText"
    lit = "[...document.querySelectorAll('#pane-{} .{}')].map(e => e.innerText.trim()).join('\\n')"
    (place,) = page.places_of("python", "# the deviation")
    with opened(f"file://{path}", tmp_path) as browser:
        browser.press("Tab", times=5)  # one for each text
        assert browser.value("document.activeElement.dataset.pane") == "graph"
        browser.press(" ")
        assert browser.value("document.getElementById('pane-graph').hidden") is False
        browser.press("Tab")
        assert "# the mean" in browser.value(focused)
        browser.press("ArrowDown")
        assert "# the deviation" in browser.value(focused)
        assert "= sqrt(" in browser.value(lit.format("c", "lit"))
        browser.press("Enter")
        browser.press("ArrowDown")
        assert "# the quotient" in browser.value(focused)
        assert "= sqrt(" in browser.value(lit.format("c", "kept"))
        assert browser.value("location.hash") == f"#place-{place}"
        assert ") / s;" in browser.value(lit.format("c", "lit"))
        # What is kept can be seen, and so can the line at which the reader is.
        inside = """(() => {
            const own = document.querySelector('#pane-c .kept').getBoundingClientRect();
            const box = document.querySelector('#pane-c .lines').getBoundingClientRect();
            return own.top >= box.top && own.bottom <= box.bottom;
        })()"""
        assert browser.value(inside)
        assert browser.value("getComputedStyle(document.activeElement).outlineStyle") != "none"
        browser.press("Escape")
        assert browser.value("document.querySelectorAll('.kept').length") == 0
        browser.press("Tab")
        assert browser.value(focused).startswith("pane-loops")
        browser.press("Tab", shift=True)
        assert browser.value(focused).startswith("pane-python")
