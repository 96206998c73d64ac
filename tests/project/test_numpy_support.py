"""docs/numpy.md says what the code does: the page is generated, and is up to date."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parents[2] / "docs" / "numpy_support.py"


@pytest.fixture(scope="module")
def support():
    """The module that writes the page."""
    spec = importlib.util.spec_from_file_location("numpy_support", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_up_to_date(support):
    if np.__version__.split(".")[:2] != ["2", "4"]:
        pytest.skip("the page lists the functions of NumPy 2.4")
    text = support.PAGE.read_text(encoding="utf-8")
    assert text == support.page(), "run: python docs/numpy_support.py"


def test_every_function_that_is_not_supported_has_a_reason(support):
    for title, _, missing in support.sections():
        for name in missing:
            assert support.reason(name, title)


def test_supported_functions_have_no_reason_why_not(support):
    for title, supported, _ in support.sections():
        for name in supported:
            with pytest.raises(KeyError):
                support.reason(name, title)


def test_nearly_all_of_numpy_is_supported(support):
    """The counts of the issue: what is left has reasons that no work removes."""
    counts = {title: (len(yes), len(no)) for title, yes, no in support.sections()}
    assert counts["numpy"][1] <= 50
    assert counts["numpy.linalg"][1] <= 1  # numpy.linalg.test
    assert counts["numpy.fft"][1] <= 1


def test_reasons_are_for_functions_that_numpy_has(support):
    listed = " ".join(support.REASONS.values()).split()
    known = {n for title in (np, np.linalg, np.fft) for n in dir(title)}
    assert set(listed) <= known, "a reason for nothing"
