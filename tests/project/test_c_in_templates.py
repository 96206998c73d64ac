"""All C but scalar expressions stands in `templates/` and `runtime_c/`: Python has no text of it.

Looked for are strings and f-strings that hold what a C file is made of: directives, declarations of
pointers and functions, attributes, statements. What `transpile/codegen/c_expr.py` prints, scalar
expressions, looks like none of these.
"""

import ast
import re

import pytest
from sources import FILES, PACKAGE, nodes_in, nodes_of

TYPE = r"(?:(?:u?int\d+|size|ptrdiff|intptr)_t|int|char|long|float|double|bool|void)"
C = re.compile(
    rf"""
    ^\s*\#\s*(?:define|undef|include|pragma|line|if|ifdef|ifndef|elif|else|endif|error)\b
  | \b__(?:attribute|asm|typeof|builtin_\w+)__
  | \b(?:static|extern|inline)\s+(?:const|inline|struct|{TYPE})\b
  | \btypedef\s+\w+
  | \b(?:const|struct)\s+\w+\s*\*
  | \b{TYPE}\s+\**\w+\(                          # the head of a function
  | \b{TYPE}\s*\*+\s*(?:const\b|restrict\b|\w|\)|$)  # a pointer
  | \bHOLE\ \*+(?:\w|\)|$)
  | \brestrict\b
  | \(void\)\s*\w
  | \)\s*\{{\s*$                                 # a block begins
  | [\w)\]"']\s*[-+*/|&]?=[^;=]*;\s*$            # an assignment
  | \w\([^()]*(?:\([^()]*\)[^()]*)*\);\s*$       # a call
  | \breturn\b[^;]*;
  | ^\s*(?:\w+\s+){{0,2}}\w+(?:\[\w+\])*;\s*$    # a declaration, `break;`
    """,
    re.MULTILINE | re.VERBOSE,
)

READS = "what begins in the files of runtime_c, which are read"
CFFI = "a type of cffi's, of which no declaration is printed"
PROBE = "what a compiler is tried with, asked for at every start, and no part of a program"
# (module, the beginning of a text), each with its reason.
JUSTIFIED = {
    ("analysis/graphviz.py", "    node [shape=box];"): "the language of Graphviz",
    ("analysis/graphviz.py", "    HOLE [label="): "the language of Graphviz",
    ("build/compiler_probe.py", "int probe(int x);"): PROBE,
    ("build/compiler_probe.py", "#include <omp.h>"): PROBE,
    ("codegen/plan/helper_inlining.py", "static inline HOLE \\w+"): READS,
    ("explore/colours.py", "(?P<comment>"): READS,
    ("hlo/stablehlo.py", "  func.func public @main("): "the language of MLIR",
    ("runtime/callbacks.py", "void *"): CFFI,
    ("runtime/loader.py", "void *"): CFFI,
    **{
        ("symbols/c_helpers.py", beginning): READS
        for beginning in (
            *("^typedef", "^static const", "^(?:static", "\\n(?:static", "static const"),
            "__attribute__",
            *("#pragma omp", "#if", "#endif"),
        )
    },
    ("symbols/reserved_names.py", "\nalignas alignof"): "the words of C",
    ("explore/panes.py", "#line "): "it is what is read",
    ("codegen/line_wrapping.py", "#line 0"): "the template cannot count the lines before it",
}


def texts(nodes):
    """The strings among these nodes, without documentation; an f-string has HOLEs."""
    skipped = set()
    for node in nodes:
        body = getattr(node, "body", None)
        if isinstance(body, list):
            skipped.update(
                id(s.value)
                for s in body
                if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)
            )
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in ast.walk(node) if part is not node)
    for node in nodes:
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(v.value if isinstance(v, ast.Constant) else "HOLE" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def c_in(nodes):
    """The texts among these nodes that are C."""
    return [text for text in texts(nodes) if C.search(text)]


def is_justified(module, text):
    return any(module == known and text.startswith(start) for known, start in JUSTIFIED)


def test_no_module_has_the_text_of_c():
    wrong = [
        (str(path.relative_to(PACKAGE)), text)
        for path in FILES
        for text in c_in(nodes_of(path))
        if not is_justified(str(path.relative_to(PACKAGE)), text)
    ]
    assert not wrong, "a macro in templates/ prints it"


def test_every_exception_is_still_one():
    for module, beginning in JUSTIFIED:
        texts = c_in(nodes_of(PACKAGE / module))
        assert any(text.startswith(beginning) for text in texts), (module, beginning)


FOUND = [
    'f"const {ctype} *{name}"',
    'f"{ctype} *{name} = ({ctype} *)((char *)workspace + {offset});"',
    'f"{ctype} {name}[{size}];"',
    'f"(void){name};"',
    '"void *workspace"',
    'f"{target} += {value};"',
    'f"{name} = {value};"',
    'f"{function}({arguments});"',
    'f"    memcpy({a}, {b}, sizeof({a}));"',
    'f"return {code};"',
    '"break;"',
    'f"if ({condition}) {{"',
    'f"for (int64_t {i} = 0; {i} < {stop}; {i}++) {{"',
    'f"static const {ctype} {name}[{size}] = {values};"',
    'f"typedef {ctype} lapack_int"',
    'f"int {name}_call(void *const *pointers)"',
    'f"size_t {name}_size(void)"',
    '"#pragma omp simd"',
    "f'#line {line} {file}'",
    "'__attribute__((noinline))'",
    'f"extern const {declarator}"',
    'f"{ctype} *restrict {name}"',
]


@pytest.mark.parametrize("source", FOUND)
def test_statements_and_declarations_are_found(source):
    assert c_in(nodes_in(f"lines.append({source})"))


@pytest.mark.parametrize(
    "source",
    [
        'f"{a} * {b} + {c}"',
        'f"({condition} ? {a} : {b})"',
        'f"({ctype})({value})"',
        'f"{function}({arguments})"',
        'f"&{name}[{index}]"',
        'f"{name}[{index}]"',
        'f"CMPLX({a}, {b})"',
        '"static arguments are compared; give one"',
        'f"the axes ({axes}) differ; {a} and {b}"',
    ],
)
def test_scalar_expressions_and_messages_are_not(source):
    assert not c_in(nodes_in(f"text = {source}"))


def test_documentation_is_not():
    text = '"""`int NAME(void *workspace)` returns 0;"""\ndef f():\n    """(void)x;"""'
    assert not c_in(nodes_in(text))
