"""The helpers of runtime_c as text: found by name, made for a dtype, pasted with what they use."""

import re

import pytest
from primitive_programs import accepted

from transpile.codegen.c_functions import column, parsed
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL, DTYPES, HALVES, SHORT_NAMES
from transpile.runtime.executable import Lowering
from transpile.symbols import c_helpers
from transpile.symbols.c_helpers import collect, find, items, library_name
from transpile.util.data_files import data_directory

assert Lowering  # importing it fills the table

# Halves are computed as float; their own few helpers are no patterns: test_runtime_half.
SUFFIXES = [name for dtype, name in SHORT_NAMES.items() if dtype not in (BOOL, *HALVES)]


def text_of(*names):
    return "\n".join(collect(names))


@pytest.mark.parametrize("folder", ["runtime_c", "templates"])
def test_conditions_that_end_in_a_bitwise_and_have_parentheses(folder):
    """clang warns of `a & (b == c) ? d : e`, which gcc takes without a word."""
    bare = re.compile(r"[^&|][&|] (\((?:[^()]|\([^()]*\))*\)) \?")
    assert bare.search(" a & (b == c(d)) ? e : f") and not bare.search("(a & (b == c)) ? e : f")
    found = [
        f"{path}: {line}"
        for path in sorted(data_directory(folder).rglob("*.[hcj]*"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if bare.search(line)
    ]
    assert found == []


def test_functions_of_string_h_are_there_without_it():
    """Programs that are freestanding do not include it, and have builtin functions by macros."""
    families = (data_directory("runtime_c") / "products", data_directory("runtime_c") / "arrays")
    texts = [path.read_text() for folder in families for path in folder.rglob("*.h")]
    called = {name for text in texts for name in re.findall(r"\b(mem[a-z]+)\(", text)}
    preamble = (data_directory("templates") / "definitions.j2").read_text()
    assert "memmove" in called and called <= set(re.findall(r"#define (\w+) __builtin", preamble))


def test_a_pattern_is_made_for_a_dtype():
    text = text_of("add_i16")
    assert "static inline int16_t add_i16(int16_t x, int16_t y)" in text
    assert "(uint16_t)x + (uint16_t)y" in text


def test_complex_patterns_call_the_library():
    text = text_of("sign_c64")
    assert "static inline float complex sign_c64(float complex x)" in text
    assert "crealf(x)" in text and "CMPLXF(" in text
    assert "_C" not in text and "_R" not in text


def test_comments_are_left_as_they_are():
    assert "recovery of infinities" in text_of("multiply_c128")
    assert "R. L. Smith" in text_of("divide_c128")


def test_comments_keep_their_first_sentence():
    assert "/* numpy.exp: e to the power x. */\nstatic" in text_of("exp_f64")
    assert text_of("add_i32").startswith("/* numpy.add of integers: wraps around. */\nstatic")
    assert "Algorithm 116" in text_of("divide_c64")  # an initial ends no sentence


def test_limits_are_those_of_the_dtype():
    assert re.search(r"< 8\b", text_of("left_shift_u8"))
    assert re.search(r"< 64\b", text_of("left_shift_i64"))


def test_a_helper_comes_after_what_it_uses():
    for name in ("tan_f64", "lcm_i32", "power_c128", "logaddexp_f32", "matmul_f64"):
        defined = set()
        for text in collect([name]):
            code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
            words = set(re.findall(r"\b[A-Za-z_]\w*\b", code))
            own = {w for w in words if find(w) is not None and text in _texts(w)}
            used = {w for w in words if find(w) is not None} - own
            assert used <= defined, (name, used - defined)
            defined |= own
        assert name in defined


def _texts(name):
    return {collect([name])[-1]}


def test_nothing_else_is_pasted():
    assert len(collect(["add_i32"])) == 1
    assert {t.split("(")[0].split()[-1] for t in collect(["gcd_i8"])} == {"gcd_u8", "gcd_i8"}
    assert collect([]) == []


def test_the_order_does_not_depend_on_the_order_of_the_names():
    names = ["tan_f64", "exp_f32", "gcd_i64", "divide_c64"]
    assert collect(names) == collect(names[::-1]) == collect({*names})


def test_every_parallel_loop_takes_the_number_of_threads():
    parallel = {n for n, item in items().items() if "#pragma omp parallel" in item.text}
    assert {"matmul_blocks_F", "sort_U", "fft_split_F"} <= parallel
    for name in parallel:
        text = items()[name].text
        loops = re.findall(r"#pragma omp parallel.*", text)
        assert all(loop.startswith("#pragma omp parallel for NUM_THREADS ") for loop in loops), name


def test_the_number_of_threads_is_a_clause_of_each_parallel_loop():
    for name in ("matmul_f64", "sort_u32", "fft_complex_alone_c128"):
        without, three = (
            "\n".join(item.text for item in c_helpers.needed([name], threads)) for threads in (0, 3)
        )
        loops = without.count("#pragma omp parallel for ")
        assert loops == three.count("#pragma omp parallel for num_threads(3) ") > 0
        assert "num_threads" not in without
        assert three.replace("num_threads(3) ", "") == without
        assert "NUM_THREADS" not in three + without


def test_unknown_names_are_no_helpers():
    assert find("nonsense_f64") is None
    assert find("exp") is None
    assert find("add_f64") is None  # an operator in C


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_helper_compiles_to_names_that_exist(suffix):
    """No pattern letter is left over, whatever the dtype."""
    letters = {"i": "SU", "u": "US", "f": "F", "c": "CR"}[suffix[0]]
    bases = {n[:-2] for n in items() if n.endswith("_" + letters[0])}
    assert {"i": "gcd", "u": "gcd", "f": "minimum", "c": "divide"}[suffix[0]] in bases
    for base in sorted(bases):
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text_of(f"{base}_{suffix}"), flags=re.DOTALL)
        left = re.findall(rf"\b[a-z]\w*_[{letters}]\b|\b{letters[0]} [a-z]", code)
        assert not left, f"{base}_{suffix}"


def test_a_name_is_found_where_all_files_taken_apart_have_it():
    for name, item in items().items():
        assert find(name) is item
    assert find("no_such_helper") is None


def test_no_name_is_a_pattern_and_a_helper_of_its_own_for_one_dtype():
    """Else two meanings share a name, and which one a primitive gets depends on its dtype.

    Of quotients and rests of integers all are the same number: with branches for 64 bits.
    """
    divisions = {"floor_divide", "fmod", "is_opposed"}
    patterns = {n[:-2] for n in items() if n[-2:] in ("_F", "_S", "_U", "_C")}
    clashes = []
    for name in items():
        base, _, suffix = name.rpartition("_")
        kind = {"f": "F", "i": "S", "u": "U", "c": "C"}.get(suffix[:1], "")
        if base in divisions and kind != "F":
            continue
        if suffix in SUFFIXES and base in patterns and f"{base}_{kind}" in items():
            clashes.append(name)
    assert not clashes


def test_helpers_compare_by_operators():
    """C's macros of comparisons (isunordered, isless ...) are no functions of a GPU."""
    macros = re.compile(r"\bis(?:unordered|less|greater|lessequal|greaterequal|lessgreater)\(")
    assert not [name for name, item in items().items() if macros.search(item.text)]


def test_products_of_a_pattern_s_unsigned_integers_have_the_factor_1u():
    """uint16_t is promoted to int, which such a product can overflow: gcc's sanitizer sees few."""
    lines = [line for item in items().values() for line in item.text.splitlines()]
    products = [line for line in lines if " * (U)" in line]
    assert products and not [line for line in products if "1u * " not in line]


def test_every_function_of_the_table_exists_for_every_dtype():
    seen = set()
    for primitive in TABLE.values():
        if primitive.kind != "elementwise":
            continue
        for dtype in DTYPES:
            if (
                dtype in HALVES
                or not accepted(primitive, dtype)
                or primitive.name == "convert_element_type"
            ):
                continue
            if primitive.name == "ldexp" and dtype.kind != "f":
                continue
            text = column(primitive.name, dtype)
            assert parsed(text) is not None
            for name in re.findall(r"(\w+)\(", text):
                if name in ("and", "or", "not"):
                    continue
                suffix = SHORT_NAMES[dtype]
                known = find(f"{name}_{suffix}") is not None or library_name(name, suffix)
                known = known or (dtype.kind == "b" and name in ("maximum", "minimum", "absolute"))
                assert known, (primitive.name, dtype.name, name)
                seen.add((name, dtype.name))
    assert {("exp", "float32"), ("gcd", "uint8"), ("divide", "complex64")} < seen


def test_the_library_s_names():
    assert library_name("absolute", "f32") == "fabsf"
    assert library_name("arcsin", "c128") == "casin"
    assert library_name("sin", "i32") is None
    assert c_helpers.library_name("make_complex", "f32") == "CMPLXF"
