"""The sources of the documentation site: every page is in its menu, and every link leads to a page.

Sphinx, which `make docs` has in an environment of its own, checks both again, and the headings.
"""

from __future__ import annotations

import posixpath

import pytest
from website import __main__ as website
from website import check, navigation, pages


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
        name for name in site.written if name.startswith(("files/", "decisions/", "cookbook/"))
    }
    assert set(listed) | inner | {"index"} == set(site.written)


def test_every_link_leads_to_a_page(site):
    links = 0
    for name in site.written:
        text = pages.outside_of_code(text_of(site, name), lambda part: f"\n{part}\n")
        for link in pages.LINK.finditer(pages.FENCE.sub("", text)):
            if link[1] and "://" not in link[1]:
                page = posixpath.normpath(posixpath.join(posixpath.dirname(name), link[1]))
                assert page.removesuffix(".md") in site.written, f"{name} links to {link[1]}"
                links += 1
    assert links > 100


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
