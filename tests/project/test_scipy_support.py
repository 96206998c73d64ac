"""docs/scipy.md says what the code does: the page is generated, and is up to date."""

import importlib.util
from pathlib import Path

import pytest
import scipy

PATH = Path(__file__).parents[2] / "docs" / "scipy_support.py"


def test_page_is_up_to_date():
    if scipy.__version__.split(".")[:2] != ["1", "17"]:
        pytest.skip("the page lists the functions of SciPy 1.17")
    spec = importlib.util.spec_from_file_location("scipy_support", PATH)
    support = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(support)
    text = support.PAGE.read_text(encoding="utf-8")
    assert text == support.page(), "run: python docs/scipy_support.py"
