"""Compiled templates stay in the cache directory, and are compiled again without it."""

import jinja2
import pytest

from transpile.codegen import templates
from transpile.codegen.dialect import C

NAMES = {"kernels.c.j2", "kernel.j2", "statement.j2"}


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """Fills a template in as a new process would; tells which ones that compiled."""
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path))
    parse, names = jinja2.Environment._parse, []

    def counting(self, source, name, filename):
        names.append(name)
        return parse(self, source, name, filename)

    monkeypatch.setattr(jinja2.Environment, "_parse", counting)

    def fill_in():
        names.clear()
        templates._environment.cache_clear()
        assert templates.filled_in("kernels.c.j2", kernels=(), dialect=C) == ""
        return set(names)

    yield fill_in
    templates._environment.cache_clear()


def test_templates_are_compiled_once_for_all_processes(compiled, tmp_path):
    assert compiled() == NAMES
    assert len(list(tmp_path.glob("template-*.json"))) == 1
    assert compiled() == set()


def test_what_is_damaged_or_gone_is_compiled_again(compiled, tmp_path):
    compiled()
    (kept,) = tmp_path.glob("template-*.json")
    contents = kept.read_bytes()
    for damaged in contents[:-9] + b"?" + contents[-8:], b"", None:
        kept.unlink() if damaged is None else kept.write_bytes(damaged)
        assert compiled() == NAMES
        assert compiled() == set()


def test_a_template_that_has_changed_is_compiled_again(compiled, monkeypatch):
    compiled()
    read = jinja2.FileSystemLoader.get_source

    def changed(self, environment, template):
        source, path, is_current = read(self, environment, template)
        return source + "{# #}" * (template == "kernel.j2"), path, is_current

    monkeypatch.setattr(jinja2.FileSystemLoader, "get_source", changed)
    assert compiled() == {"kernel.j2"}
    assert compiled() == set()


def test_without_a_cache_directory_they_are_compiled_each_time(compiled, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "file"))
    assert compiled() == compiled() == NAMES
