"""A real notebook, run by a kernel and made a page: what it shows of functions, stages and graphs.

`make notebook` runs this, in an environment with Jupyter's packages.
"""

import pytest
from browser import CHROMIUM, opened

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
nbconvert = pytest.importorskip("nbconvert")

CELLS = {
    "function": """
import numpy as np
import transpile


@transpile.jit
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


x = np.random.default_rng(0).normal(size=(1000, 64))
p = softmax(x)
softmax
""",
    "traced": "softmax.trace(x)",
    "lowered": "softmax.lower(x)",
    "compiled": "softmax.lower(x).compile()",
    "graph": "transpile.make_jaxpr(softmax.__wrapped__)(x)",
    "gradient": "transpile.jit(transpile.grad(lambda x: softmax(x)[0, 0])).lower(x)",
    "error": "transpile.jit(lambda x: x.tolist())(x)",
}


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The notebook with its outputs."""
    cells = [nbformat.v4.new_code_cell(text.strip()) for text in CELLS.values()]
    notebook = nbformat.v4.new_notebook(cells=cells)
    folder = tmp_path_factory.mktemp("notebook")
    client = nbclient.NotebookClient(
        notebook, timeout=300, allow_errors=True, kernel_name="python3"
    )
    client.execute(cwd=str(folder))
    return dict(zip(CELLS, notebook.cells, strict=True)), notebook


def shown(cell, kind):
    (output,) = [o for o in cell.outputs if o.output_type == "execute_result"]
    return output.data[kind]


def test_stages_are_html_and_graphs_are_drawings(notebook):
    cells, _ = notebook
    assert "traced for 1 kind of arguments" in shown(cells["function"], "text/html")
    for name in ("traced", "lowered", "compiled", "gradient"):
        assert "f64[1000,64]" in shown(cells[name], "text/html"), name
    assert "softmax_kernel" in shown(cells["lowered"], "text/html")
    assert shown(cells["graph"], "image/svg+xml").startswith("<svg")


def test_sources_of_cells_are_known(notebook):
    """A cell is no file: its lines are in the C all the same."""
    cells, _ = notebook
    text = shown(cells["lowered"], "text/html")
    assert "e = np.exp(x - x.max(axis=1, keepdims=True))" in text


def test_an_error_names_the_line_of_the_cell(notebook):
    cells, _ = notebook
    (error,) = [o for o in cells["error"].outputs if o.output_type == "error"]
    assert error.ename == "TracerArrayConversionError"
    assert ".py:1: a traced value" in error.evalue and "x.tolist()" in error.evalue
    assert "transpile/" not in "".join(error.traceback)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium, in which the page runs")
def test_drawings_have_the_theme_of_the_page(notebook, tmp_path):
    """Which is light: what the browser prefers does not count."""
    _, whole = notebook
    page, _ = nbconvert.HTMLExporter().from_notebook_node(whole)
    assert page.count('class="transpile-stage"') == 5
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    paper = "getComputedStyle(document.querySelector('.transpile-graph')).backgroundColor"
    with opened(f"file://{path}", tmp_path / "user") as browser:
        dark = [{"name": "prefers-color-scheme", "value": "dark"}]
        browser.ask("Emulation.setEmulatedMedia", features=dark)
        assert browser.value(paper) == "rgb(255, 255, 255)"
