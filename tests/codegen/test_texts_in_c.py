"""Texts of users that reach C: comments, strings, names of files, messages."""

import ctypes
import linecache
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

import transpile
from transpile.build import toolchain
from transpile.codegen.line_wrapping import (
    comment_line,
    comment_text,
    string_literal,
    text_bytes,
)
from transpile.options import Options

STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wtrigraphs", "-Wcomment"]
PARTS = ["*/", "/*", "//", "??/", "??", "\\", "\\\n", '"', "'", "%n", "%s", "\n", "\r", "\t", "\0"]
PARTS += ["\\u202e", "\u202e", "\ufeff", "\udcff", "\ud800", "\x1b[31m", "é", "𝛼", "#define x", "*"]
PARTS += ["/", "?", "9", "a", " ", "\v", "\f", "\x85", "\u2028", "_Pragma", "@", "$", "`"]
texts = st.lists(st.one_of(st.sampled_from(PARTS), st.characters()), max_size=12).map("".join)


def compiler():
    return [*toolchain.find_compiler(Options()).command, *STRICT]


def run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


@settings(max_examples=tries(15), phases=[Phase.generate])  # each is sixty texts
@given(st.lists(texts, min_size=60, max_size=60))
def test_nothing_in_a_comment_reaches_the_program(tmp_path_factory, drawn):
    source = tmp_path_factory.mktemp("comments") / "a.c"
    lines = [
        f"/* {comment_text(t)} */ int x{k}; /* {comment_line(t)}\n   {comment_text(t)} */ int y{k};"
        for k, t in enumerate(drawn)
    ]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = run(*compiler(), "-E", "-P", source).split()
    assert found == [w.encode() for k in range(len(drawn)) for w in f"int x{k}; int y{k};".split()]
    for text in drawn:
        assert comment_text(comment_text(text)) == comment_text(text)
        assert len(comment_line(text)) <= 94


@settings(max_examples=tries(15), phases=[Phase.generate])  # each is sixty texts
@given(st.lists(texts, min_size=60, max_size=60))
def test_strings_hold_the_bytes_of_the_text(tmp_path_factory, drawn):
    source = tmp_path_factory.mktemp("strings") / "a.c"
    # gcc reads what it puts in the place of __FILE__ again, and so some of them it cannot take.
    names = [
        "".join(c for c in t if c == "\udcff" or (c.isprintable() and c != "?")) for t in drawn
    ]
    lines = [
        f"extern const char s{k}[{len(text_bytes(text)) + 1}];\n"
        f"const char s{k}[{len(text_bytes(text)) + 1}] = {string_literal(text)};\n"
        f"extern const char f{k}[{len(text_bytes(name)) + 1}];\n"
        f"#line 7 {string_literal(name)}\n"
        f"const char f{k}[{len(text_bytes(name)) + 1}] = __FILE__;"
        for k, (text, name) in enumerate(zip(drawn, names, strict=True))
    ]
    source.write_text("\n".join(lines) + "\n", encoding="ascii")
    library = source.with_suffix(".so")
    run(*compiler(), "-fvisibility=default", "-fPIC", "-shared", "-o", library, source)
    loaded = ctypes.CDLL(str(library))
    for k, (text, name) in enumerate(zip(drawn, names, strict=True)):
        for symbol, data in ((f"s{k}", text_bytes(text)), (f"f{k}", text_bytes(name))):
            assert bytes((ctypes.c_char * len(data)).in_dll(loaded, symbol)) == data


NASTY = '*/ int injected; /* ??/\n"\\" \udce9\u202e\n#error \t'
MESSAGE = 'a "quoted" %n %s\\ ??/ \0 \x1b[0m é\udcff 0\x007 */' + "long " * 2000


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("where", ["file", "function", "line", "scope", "message", "all"])
@one_in(3)
def test_programs_with_such_texts_are_compiled_without_a_warning(where, debug, tmp_path):
    file = NASTY if where in ("file", "all") else "plain.py"
    lines = ["def f(x):", "    with transpile.named_scope(scope):", "        y = np.exp(x)"]
    lines += ["    transpile.debug.print(message, y[0])", "    return y * 2", ""]
    values = {"np": np, "transpile": transpile, "scope": "plain", "message": "plain {}"}
    if where in ("scope", "all"):
        values["scope"] = NASTY
    if where in ("message", "all"):
        values["message"] = MESSAGE.replace("{", "") + "{}"
    exec(compile("\n".join(lines), file, "exec"), values)
    if where in ("line", "all"):  # a notebook's cell, as IPython keeps them
        shown = [line + "  # " + NASTY.replace("\n", "\f") + "\n" for line in lines]
        linecache.cache[file] = (len(shown), None, shown, file)
    function = values["f"]
    function.__name__ = NASTY if where in ("function", "all") else "f"
    options = {"debug": debug, "opt_level": 0, "extra_cflags": ("-Wall", "-Wextra", "-Werror")}
    try:
        lowered = transpile.jit(function, compiler_options=options).lower(np.ones(3))
        text = lowered.as_text()
        assert "\nint injected" not in text and "\n#error" not in text
        text.encode("utf-8")
        compiled = lowered.compile()
        results = compiled.save(tmp_path)
    finally:
        linecache.cache.pop(file, None)
    name = results[0].stem
    code = (
        "import ctypes, sys\n"
        f"f = getattr(ctypes.CDLL({str(results[0])!r}), {name!r})\n"
        "x, y, work = ((ctypes.c_double * n)() for n in (3, 3, 1000))\n"
        "assert f(x, y, work) == 0 and list(y) == [2, 2, 2]\n"
    )
    said = run(sys.executable, "-c", code)
    assert said == text_bytes(values["message"].replace("{}", "1")) + b"\n"


def test_a_file_of_any_name_gives_a_place_in_errors():
    values = {"np": np}
    exec(compile("def f(x):\n    return x.item()\n", "caf\udce9.py", "exec"), values)
    with pytest.raises(TypeError, match=r"caf\\udce9\.py:2") as caught:
        transpile.jit(values["f"], python_control_flow=False)(np.ones(()))
    str(caught.value).encode("utf-8")
