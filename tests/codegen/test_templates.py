"""Compiled templates are kept where compiled modules are, else in the cache directory."""

import sys
from pathlib import Path

import jinja2
import pytest

from transpile.codegen import templates
from transpile.codegen.dialect import C
from transpile.disk_cache import kept_templates

NAMES = {"abi.j2", "kernels.c.j2", "kernel.j2", "statement.j2"}


@pytest.fixture(params=["with modules", "in the cache"])
def kept(request, monkeypatch, tmp_path):
    """The files of compiled templates in either place."""
    is_cache = request.param == "in the cache"
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", is_cache)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "modules"))
    here, there = ("cache", "modules") if is_cache else ("modules", "cache")

    def files():
        assert not (tmp_path / there).exists()
        return [path for path in (tmp_path / here).rglob("template*") if path.is_file()]

    return files


@pytest.fixture
def compiled(kept, monkeypatch):
    """Fills a template in as a new process would; tells which ones that compiled."""
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


def test_templates_are_compiled_once_for_all_processes(compiled, kept):
    assert compiled() == NAMES
    assert len(kept()) == 1
    assert compiled() == set()


def test_what_is_damaged_or_gone_is_compiled_again(compiled, kept):
    compiled()
    (path,) = kept()
    contents = path.read_bytes()
    for damaged in contents[:-9] + b"?" + contents[-8:], b"", None:
        path.unlink() if damaged is None else path.write_bytes(damaged)
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


@pytest.mark.parametrize("kept", ["with modules"], indirect=True)
def test_where_modules_cannot_be_written_they_are_in_the_cache(compiled, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "file"))
    assert compiled() == NAMES
    assert compiled() == set()
    assert len(list(tmp_path.glob("cache/template-*.json"))) == 1


def test_where_nothing_can_be_written_they_are_compiled_each_time(compiled, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "file"))
    assert compiled() == compiled() == NAMES


def test_they_lie_beside_the_templates(kept, monkeypatch):
    monkeypatch.setattr(sys, "pycache_prefix", None)
    directory = Path("/somewhere/templates")
    beside = Path(kept_templates.KeptTemplates(directory, "3.1")._beside)
    assert beside.parent == directory / "__pycache__" and beside.suffix == ".pyc"
