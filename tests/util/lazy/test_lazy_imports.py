"""Names and modules that are imported when they are first used."""

import subprocess
import sys
import textwrap

import pytest

from transpile.util.lazy.imports import Later, on_demand


def test_a_module_is_imported_when_one_of_its_names_is_used():
    code = """
        import sys
        from transpile.util.lazy.imports import Later
        wave = Later("wave")
        assert "wave" not in sys.modules
        assert wave.WAVE_FORMAT_PCM == 1
        assert "wave" in sys.modules
        wave.extra = 5
        import wave as real
        assert real.extra == 5
        del wave.extra
        assert not hasattr(real, "extra")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
    with pytest.raises(AttributeError, match="no_such"):
        Later("math").no_such


def test_names_of_a_package_come_from_the_modules_that_define_them():
    attribute, names = on_demand(
        "xml", modules=("dom",), names={"xml.sax.saxutils": "escape quoteattr"}
    )
    import xml

    assert {"escape", "quoteattr"}.isdisjoint(names())  # xml has an `__all__`, which it offers
    assert set(xml.__all__) <= set(names()) and "__name__" in names()
    _, every = on_demand("textwrap", modules=(), names={"xml.sax.saxutils": "escape"})
    assert "escape" not in every()
    _, every = on_demand("sys", modules=("dom",), names={"xml.sax.saxutils": "escape"})
    assert {"dom", "escape", "path"} <= set(every())  # without an `__all__`, everything
    assert attribute("dom").__name__ == "xml.dom"
    try:
        assert attribute("escape")("<") == "&lt;" and xml.escape is attribute("escape")
    finally:
        del xml.escape
    with pytest.raises(AttributeError, match="module 'xml' has no attribute 'other'"):
        attribute("other")
