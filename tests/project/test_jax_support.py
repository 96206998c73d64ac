"""docs/jax.md says what the code does: it is generated, up to date, and has its reasons."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "docs" / "jax_support.py"


@pytest.fixture(scope="module")
def support():
    """The module that writes the page."""
    spec = importlib.util.spec_from_file_location("jax_support", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_up_to_date(support):
    text = support.PAGE.read_text(encoding="utf-8")
    assert text == support.page(), "run: python docs/jax_support.py"


def test_every_missing_name_has_a_reason_and_no_other_has_one(support):
    for title, here, missing in support.sections():
        for name in missing:
            assert support.reason(name, title)
        for name in here:
            with pytest.raises(KeyError):
                support.reason(name, title)


def test_a_name_that_is_missing_for_no_reason_is_an_error(support):
    with pytest.raises(KeyError, match=r"jax.lax.scan is missing, for no reason"):
        support.reason("scan", "jax.lax")


def test_every_missing_module_has_a_reason_and_no_other_has_one(support):
    assert set(support.MODULES) == set(support.missing_modules())


def test_reasons_are_for_names_that_jax_has(support):
    names = support.names()
    for title, reasons in support.REASONS.items():
        listed = " ".join(reasons.values()).split()
        assert len(listed) == len(set(listed))
        assert set(listed) <= set(names[title]), title


def test_the_names_that_the_page_lists_are_there(support):
    """Read back from the page: what stands in a section, outside of its table, is an attribute."""
    sections = re.split(r"^## ", support.PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    titles = []
    for section in sections:
        title, _, body = section.partition("\n")
        if title in ("Arguments", "Modules"):
            continue
        titles.append(title)
        listed = [line for line in body.splitlines() if line.startswith("`")]
        names = re.findall(r"`([^`]+)`", " ".join(listed))
        assert names
        for name in names:
            assert hasattr(support.namespace(title), name), f"{title}.{name}"
    assert titles == list(support.NAMESPACES)


def test_nearly_all_of_jax_is_here(support):
    """What is left has reasons that are about devices, files and JAX itself."""
    counts = {title: (len(here), len(missing)) for title, here, missing in support.sections()}
    for title in ("numpy.linalg", "numpy.fft", "lax.linalg", "random", "nn", "nn.initializers"):
        assert counts[f"jax.{title}"][1] == 0, title
    for title in ("scipy.linalg", "tree_util", "tree", "flatten_util", "ops"):
        assert counts[f"jax.{title}"][1] == 0, title
    assert counts["jax.scipy.special"][1] == 0
    assert counts["jax.numpy"][1] <= 17
    assert counts["jax.lax"][1] <= 19


def test_the_names_are_those_of_the_installed_jax(support):
    jax = pytest.importorskip("jax")
    if jax.__version__ != support.names()["version"][0]:
        pytest.skip("the page lists the names of another version of JAX")
    assert support.names_of_jax() == support.names()
