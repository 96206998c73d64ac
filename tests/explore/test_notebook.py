"""What notebooks show of stages and graphs: fragments and drawings that need nothing else."""

import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from thorough import thorough

import transpile
from transpile.explore.pictures import MOST_EQUATIONS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
X = np.linspace(-1.0, 2.0, 32).reshape(8, 4)


def scaled(params, x):
    return {"y": np.exp(x) * params["<w>"], "n": x.sum()}


@pytest.fixture(scope="module")
def stages(shared_cache):
    traced = transpile.jit(scaled).trace({"<w>": np.ones(4)}, X)
    return traced, traced.lower(), traced.lower().compile()


class Fragment(HTMLParser):
    """The titles of sections, their texts, and what is loaded."""

    def __init__(self, text):
        super().__init__()
        self.sections, self.loaded, self.open, self.tags = {}, [], [], set()
        self.title = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.loaded += [value for name, value in attributes if name in ("src", "href")]
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "summary":
            self.title = data
        elif "pre" in self.open:
            self.sections[self.title] = self.sections.get(self.title, "") + data


def test_each_stage_shows_its_types_and_loads_nothing(stages):
    for stage in stages:
        text = stage._repr_html_()
        fragment = Fragment(text)
        assert fragment.loaded == [] and "script" not in fragment.tags
        assert "params[&#39;&lt;w&gt;&#39;]" in text and "<w>" not in text
        assert "f64[8,4]" in text and type(stage).__name__ in text


def test_the_c_is_that_of_the_file_and_begins_with_the_kernels(stages):
    for stage in stages[1:]:
        sections = Fragment(stage._repr_html_()).sections
        kernels, whole = [text for title, text in sections.items() if re.search(r"\bC, ", title)]
        assert whole == stage.as_text().rstrip("\n") and whole.endswith(kernels)
        assert kernels.startswith("/* test_notebook.py:")
    assert "entry.c" in sections["How it was compiled"]


def test_the_parts_of_c_have_colours(stages):
    text = stages[1]._repr_html_()
    for part in ('keyword">static</span>', 'directive">#include', 'comment">/* scaled, from'):
        assert f'<span class="{part}' in text
    assert '<span class="number">8</span>' in text


def test_graphs_are_drawn_unless_they_are_too_large():
    graph = transpile.make_jaxpr(scaled)({"<w>": np.ones(4)}, X)
    drawing = ElementTree.fromstring(graph._repr_svg_())
    titles = [box[0].text for box in drawing.iter() if "box" in box.get("class", "")]
    assert any("exp: f64[8,4]" in title for title in titles) and len(titles) > 5
    assert "prefers-color-scheme: dark" in graph._repr_svg_()

    def long(x):
        for _ in range(MOST_EQUATIONS):
            x = np.cos(x) * 2
        return x

    traced = transpile.jit(long).trace(X)
    assert traced.jaxpr._repr_svg_() is None
    assert (
        "cos" in Fragment(traced._repr_html_()).sections[f"Graph, {2 * MOST_EQUATIONS} operations"]
    )


def test_a_jitted_function_shows_its_python_and_what_it_was_traced_for(shared_cache):
    @transpile.jit
    def doubled(x):
        return 2 * x  # <twice>

    text = doubled._repr_html_()
    assert "not yet traced" in text and "jit of " in text and Fragment(text).loaded == []
    doubled.lower(X)
    doubled(np.ones(3, np.float32))
    fragment = Fragment(doubled._repr_html_())
    assert fragment.sections["Python"].endswith("return 2 * x  # <twice>\n")
    text = doubled._repr_html_()
    assert "traced for 2 kinds of arguments" in text and "<twice>" not in text
    assert text.index("(f64[8,4]) -&gt; (f64[8,4])") < text.index("(f32[3]) -&gt; (f32[3])")
    without_source = transpile.jit(eval("lambda x: x + 1"))._repr_html_()
    assert "<details" not in without_source


@thorough
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium, which draws it")
@pytest.mark.parametrize("is_dark", [False, True])
def test_in_a_browser_each_colour_differs_from_the_paper(stages, tmp_path, is_dark):
    paper = "#111111" if is_dark else "#ffffff"
    script = """
    const colours = [...document.querySelectorAll("pre span")].map(s => getComputedStyle(s).color);
    document.title = [...new Set(colours)].join(";");
    """
    page = tmp_path / "page.html"
    page.write_text(
        f'<!doctype html><title></title><body data-jp-theme-light="{str(not is_dark).lower()}" '
        f'style="background:{paper}">{stages[1]._repr_html_()}<script>{script}</script>'
    )
    command = [CHROMIUM, "--headless", "--disable-gpu", "--no-first-run", "--disable-sync"]
    command += ["--no-sandbox"] * (os.geteuid() == 0)
    command += [f"--user-data-dir={tmp_path}/user", "--dump-dom", f"file://{page}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    colours = re.search(r"<title>(.*?)</title>", done.stdout)[1].split(";")
    assert len(colours) >= 3
    for colour in colours:
        brightness = sum(map(int, re.findall(r"\d+", colour))) / 3
        assert brightness > 130 if is_dark else brightness < 120, colour
