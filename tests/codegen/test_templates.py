"""Templates are compiled to functions, which are kept where compiled modules are, else in the cache
directory."""

import sys
from pathlib import Path

import jinja2
import numpy as np
import pytest

import transpile
from transpile.codegen.dialect import C
from transpile.codegen.templates import compiler, filling
from transpile.disk_cache import kept_templates
from transpile.util.data_files import data_directory

NAMES = {"kernels.c.j2", "kernel.j2", "statement.j2"}
TEMPLATES = data_directory("templates")


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
    compile_text, names = compiler.compiled, []

    def counting(text, path):
        names.append(Path(path).name)
        return compile_text(text, path)

    monkeypatch.setattr(compiler, "compiled", counting)

    def fill_in():
        names.clear()
        filling._library.cache_clear()
        assert filling.filled_in("kernels.c.j2", kernels=(), dialect=C) == ""
        return set(names)

    yield fill_in
    filling._library.cache_clear()


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
    read = Path.read_text

    def changed(self, *args, **kwargs):
        return read(self, *args, **kwargs) + "{# #}" * (self.name == "kernel.j2")

    monkeypatch.setattr(Path, "read_text", changed)
    assert compiled() == {"kernel.j2"}
    assert compiled() == set()


def test_another_compiler_or_another_jinja_compiles_again(compiled, monkeypatch, tmp_path):
    compiled()
    monkeypatch.setattr(filling, "find_spec", lambda name: None)
    assert compiled() == NAMES
    assert compiled() == set()
    other = tmp_path / "codegen" / "templates" / "compiler.py"
    other.parent.mkdir(parents=True)
    other.write_text(Path(compiler.__file__).read_text() + "# changed")
    monkeypatch.setattr(filling, "PACKAGE", tmp_path)
    assert compiled() == NAMES


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


# ------------------------------------------------------------------ the language, against Jinja's


class Jinja:
    """In the place of our functions: Jinja, which calls and reads attributes as Python does."""

    def __init__(self, loader):
        self.environment = jinja2.Environment(
            loader=loader,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
        )
        self.environment.filters.update(filling._FILTERS)

    def main(self, template):
        return lambda given: self.environment.get_template(template).render(**given)


LANGUAGE = """
{% from "parts" import shown, listed %}
{% set name, k = "a{b}'\\\\n", 3 %}
{{ shown(name) }} {{ shown(k, after="!") }}{# a comment #}
{%- for x in values if x != 2 %}{{ ", " if not loop.first }}{{ x }}:{{ loop.index0 }}
{{- loop.index }}
{%- set k = k ~ x %}{% if loop.last %}.{% endif %}{% else %} none{% endfor %} {{ k }}
{% for x in () %}{{ x }}{% else %}nothing{% endfor %}
{% for a, b in pairs.items() %}
    {% for x in b %}{{ a }}{{ x }}{{ "" if loop.last else "," }}{% endfor %}{{ loop.index }}
{% endfor %}
{{ values | map("string") | join("-") }} {{ values | length }} {{ "%d of %s" | format(1, "2") }}
{{ values[1:] }} {{ values[0] + 2 * values[1] - 7 // 2 }}
{{ -1 if values and not k == 4 or k is none }}
{{ ("x,y" | replace(",", "+", 1)) ~ 1 ~ (none is none) ~ ("a" is string) ~ (2 in values) }}
{{ listed(values | list, {"a": 1}["a"]) | hanging }}{{ "only" if false }}
{% if k > 5 %}more{% elif k == 3 %}three{% else %}less{% endif %}
{{ numbers | map(attribute="real") | list }}
{{ range(3) | list if false else numbers | selectattr("imag") | list }}
"""
PARTS = """
{% macro shown(x, before="<", after=">") %}{{ before }}{{ x }}{{ after }}{% endmacro %}
{% macro listed(items, depth) %}
{% if depth < 3 %}{{ listed(items[1:], depth + 1) }}{% endif %}
{% for x in items %}{% if x %}{{ shown(x, "(", ")") -}}
{% endif %}
{% endfor %}
{% endmacro %}
"""


def test_the_language_is_jinjas(tmp_path):
    """What templates may use means the same as in Jinja."""
    texts = {"main": LANGUAGE, "parts": PARTS}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    values = {"values": [1, 2, 3, 0], "pairs": {"p": [1], "q": [], "r": [5, 6]}, "numbers": [1j, 2]}
    ours = filling._Library(tmp_path).main("main")(dict(values))
    assert ours == Jinja(jinja2.DictLoader(texts)).main("main")(values)
    assert "1j" in ours and ours.count("\n") > 10


@pytest.mark.parametrize(
    "text",
    [
        "{% include 'main' %}",
        "{% macro m() %}{{ other }}{% endmacro %}",
        "{{ x is defined }}",
        "{{ x | map(unknown=1) }}",
        "{% for x in y recursive %}{% endfor %}",
        "{{ f(*x) }}",
        "{{ loop.first }}",
    ],
)
def test_what_is_not_known_is_refused(text):
    with pytest.raises(compiler.TemplateError, match=r"place:1: .* is not known"):
        compiler.compiled(text, "place")


def test_a_value_that_is_missing_is_an_error_of_its_line(tmp_path):
    (tmp_path / "main").write_text("one\n\n{{ missing }}\n")
    with pytest.raises(KeyError, match="missing") as raised:
        filling._Library(tmp_path).main("main")({})
    last = raised.traceback[-1]
    assert (last.path, last.lineno + 1) == (tmp_path / "main", 3)


def attention(q, k, v):
    s = np.exp(q @ k.T - (q @ k.T).max(1, keepdims=True))
    return (s / s.sum(1, keepdims=True)) @ v


PROGRAMS = [
    (attention, [np.ones((4, 3))] * 3),
    (lambda x: (np.sort(x), np.cumsum(x), np.linalg.inv(x + np.eye(3))), [np.ones((3, 3))]),
    (lambda z: np.where(np.abs(z) > 1, z, np.fft.fft(z)).sum(0), [np.ones((8, 2), complex)]),
]


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS)
def test_programs_are_what_jinja_prints(function, arguments, monkeypatch):
    def texts():
        lowered = transpile.jit(function).lower(*arguments)._lowering
        text, for_c = lowered.rendered("p.h"), lowered.rendered("p.h", for_c=True)
        return text.source, text.header, text.for_python, for_c.source, for_c.header

    ours = texts()
    jinjas = Jinja(jinja2.FileSystemLoader(TEMPLATES))
    monkeypatch.setattr(filling, "_library", lambda: jinjas)
    assert texts() == ours


def test_every_template_is_compiled():
    paths = sorted(TEMPLATES.rglob("*.j2"))
    assert len(paths) > 20
    for path in paths:
        assert compiler.compiled(path.read_text(), str(path)).co_filename == str(path)
