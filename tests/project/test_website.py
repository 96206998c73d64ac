"""The sources of the documentation site: every page is in its menu, and every link leads to a page.

Sphinx, which `make docs` has in an environment of its own, checks both again, and the headings.
"""

from __future__ import annotations

import importlib
import inspect
import json
import posixpath
import re
import types

import numpy as np
import pytest
from website import __main__ as website
from website import charts, check, docstrings, errors, navigation, pages, picture, reference

import transpile


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The sources as they are written for Sphinx."""
    site = pages.Site(tmp_path_factory.mktemp("site"))
    website.write_all(site)
    return site


def text_of(site, name):
    return (site.folder / f"{name}.md").read_text(encoding="utf-8")


def test_every_page_is_in_the_menu_once(site):
    listed = [name for names in navigation.MENU.values() for name in names]
    assert len(listed) == len(set(listed))
    inner = {
        name
        for name in site.written
        if name.startswith(("files/", "decisions/", "cookbook/", "reference/"))
    }
    assert set(listed) | inner | {"index"} == set(site.written)


def links_inside(site):
    """(page, link, the page that it leads to), without links to other sites."""
    for name in site.written:
        text = docstrings.CODE.sub("", pages.FENCE.sub("", text_of(site, name)))
        for link in pages.LINK.finditer(text):
            if "://" not in link[1]:
                page = posixpath.normpath(posixpath.join(posixpath.dirname(name), link[1]))
                yield name, link, page.removesuffix(".md") if link[1] else name


def test_every_link_leads_to_a_page(site):
    links = images = 0
    for name, link, page in links_inside(site):
        if link[1].endswith(pages.IMAGES):
            assert (site.folder / page).read_bytes() == (pages.ROOT / page).read_bytes()
            images += 1
        elif link[1]:
            assert page in site.written, f"{name} links to {link[1]}"
            links += 1
    assert links > 100 and images > 1


def headings(text):
    """By which names links lead to the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", pages.FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_link_to_a_heading_leads_to_one(site):
    links = 0
    for name, link, page in links_inside(site):
        if link[2]:
            assert link[2][1:] in headings(text_of(site, page)), f"{name} links to {link[0]}"
            links += 1
    assert links > 20


def test_links_are_rewritten_outside_of_code(tmp_path):
    site = pages.Site(tmp_path)
    text = "[a](../README.md#cache)\n```c\nx[0](y.c)\n```\n[c](#there) [d](../examples/heat.py)"
    written = site.with_links(text, "docs/random.md", "random")
    assert "[a](overview.md#cache)\n```c\nx[0](y.c)\n```\n[c](#there)" in written
    assert "[d](files/examples/heat_py.md)" in written and site.linked == {"examples/heat.py"}
    with pytest.raises(FileNotFoundError, match="nothing_there"):
        site.with_links("[a](nothing_there.py)", "docs/random.md", "random")


def test_what_a_page_would_fetch_is_seen():
    page = """<script src="https://a.org/x.js"></script><img src="//b.org/y.png"><a href="https://c.org">
    <link rel="stylesheet" href="https://d.org/z.css"><img src="here.png">
    <style>@import "https://e.org/f.css"; p { background: url(//g.org/h.png) }</style>"""
    assert check.fetches(page, ".html") == [
        "https://a.org/x.js",
        "//b.org/y.png",
        "https://d.org/z.css",
        "https://e.org/f.css",
        "//g.org/h.png",
    ]
    assert check.fetches("a { background: url('data:image/svg+xml,http://w3.org') }", ".css") == []


def test_every_class_of_errors_has_its_cause_and_remedy():
    text = errors.PAGE.read_text(encoding="utf-8")
    heads = list(errors.CLASS.finditer(text))
    assert sorted(head[1] for head in heads) == sorted(errors.classes())
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        section = text[head.end() : end]
        assert "**Cause.**" in section, head[1]
        assert "**Remedy.**" in section or "| cause | remedy |" in section, head[1]


def test_every_text_of_what_is_not_supported_is_of_a_family():
    families = errors.families("UnsupportedError")
    texts = list(errors.texts()["UnsupportedError"])
    assert [text for text in texts if not any(family in text for family in families)] == []
    assert [family for family in families if not any(family in text for text in texts)] == []


def test_every_text_of_an_error_is_listed():
    texts = errors.texts()
    assert {"ValueError", "TypeError", "CompilerNotFoundError", "CarryError"} <= set(texts)
    assert sum(map(len, texts.values())) > 400
    page = errors.listed()
    assert "no C compiler was found (looked for cc, gcc and clang" in page
    assert "`` unknown compiler option …; the known ones are: … ``" in page


def test_the_codes_of_functions_in_c_are_listed():
    """Those of a function of runtime sizes that raises, and has an entry for tensors."""

    def root(x):
        if x[0] < 0:
            raise ValueError("negative")
        return np.sqrt(x)

    lowered = transpile.jit(root, compiler_options={"layout": "dlpack"}).lower(
        transpile.ShapeDtypeStruct(("n",), np.float64)
    )
    codes = {int(code) for code in re.findall(r"case (-?\d+):", lowered.as_text())}
    text = errors.PAGE.read_text(encoding="utf-8")
    text = text[text.index("## Codes of functions in C") :]
    single = {int(code) for code in re.findall(r"^\| (-?\d+) \|", text, re.MULTILINE)}
    assert "| 1001 and above |" in text and "| -3 and below |" in text
    assert {0, 1, 1001, -3} <= codes
    assert {code for code in codes if -3 < code < 1001} <= single


def test_every_public_name_is_described(site):
    described = 0
    for module in reference.MODULES:
        text = text_of(site, f"reference/{module}")
        for name, value in reference.members(importlib.import_module(module)):
            if not isinstance(value, types.ModuleType):
                assert re.search(rf"^::::\{{py:\w+\}} {name}\b", text, re.MULTILINE), (module, name)
                described += 1
    assert described > 600


def test_the_description_of_a_function_is_its_docstring(site):
    text = text_of(site, "reference/transpile")
    start = text.index("::::{py:function} vmap(fun, in_axes=0, out_axes=0, axis_name=None")
    text = text[start : text.index("\n::::\n", start)]
    assert "`axis_name`\n: the name by which collectives in `fun` refer to the mapped axis" in text
    assert "Raises ValueError where the axes do not fit the arguments or results" in text


def test_docstrings_become_markdown():
    text = """What `f` gives: x*y, a[i].

    n, m     how many
    fun      (x, y) -> z,
             or None: see docs/random.md

    * `g`, which is linked
    * two

        f(1)
    """
    written = docstrings.markdown(inspect.cleandoc(text), {"g": "transpile.g"}.get)
    assert written.split("\n\n") == [
        "What `f` gives: x\\*y, a\\[i\\].",
        "`n`, `m`\n: how many",
        "`fun`\n: (x, y) -> z, or None: see [docs/random.md](../random.md)",
        "* {py:obj}`g <transpile.g>`, which is linked\n* two",
        "```python\nf(1)\n```",
    ]


def test_the_chart_has_a_bar_for_each_ratio():
    found = {"softmax": {"ours": 1e-3, "ratios": {"c": 0.5, "numpy": 8.0}}}
    text = charts.chart(found)
    assert text.count("<i ") == 2 and "softmax, 4096 x 1024 float32: 1 ms" in text
    left, width = map(float, re.search(r"NumPy.*left:([\d.]+)%;width:([\d.]+)%", text).groups())
    assert left == pytest.approx(charts.place(1.0), abs=0.1)
    assert left + width == pytest.approx(charts.place(8.0), abs=0.1)
    left, width = map(float, re.search(r"C by.*left:([\d.]+)%;width:([\d.]+)%", text).groups())
    assert left + width == pytest.approx(charts.place(1.0), abs=0.1)
    assert "| softmax, 4096 x 1024 float32 | 1 ms | 0.50 | 8.00 |" in charts.table(found)
    assert "load was 9" in charts.busy({"load": 9.0, "cores": 2})
    assert charts.busy({"load": 0.1, "cores": 2}) == ""


def test_a_results_file_says_when_and_where_it_was_measured(site):
    results = json.loads(charts.newest().read_text(encoding="utf-8"))
    assert {"date", "processor", "cores", "compiler"} <= set(results["machine"])
    text = text_of(site, "benchmarks")
    assert results["machine"]["date"] in text and charts.newest().name in text


def test_every_public_module_is_in_the_reference():
    found = {f"transpile.{name}": getattr(transpile, name) for name in transpile.__all__}
    public = {name for name, value in found.items() if isinstance(value, types.ModuleType)}
    covered = {*reference.MODULES, *reference.ELSEWHERE}
    inside = {name.rpartition(".")[0] for name in covered}
    assert {"transpile.lax", "transpile.random", "transpile.numpy"} <= public
    assert public - covered - inside == set()


def test_flowcharts_are_pictures_whose_boxes_do_not_overlap():
    text = picture.drawn(
        "a\n```mermaid\nflowchart TD\n    x --> y\n    x --> z\n    y --> w\n```\nb"
    )
    assert text.startswith("a\n<div") and text.endswith("</div>\nb")
    assert text.count("<rect") == 4 and text.count("<path") == 3
    spots = picture.ranks([("x", "y"), ("x", "z"), ("y", "w"), ("x", "w")])
    assert [spots[name][1] for name in "xyzw"] == [0, 1, 1, 2]
    assert len(set(spots.values())) == 4
