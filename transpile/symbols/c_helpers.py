"""The C helpers of `runtime_c/`: instantiate a helper for a dtype, with its transitive callees.

A file has comments, functions, typedefs, enums and `#if` blocks, each starting at column 0. A name
that ends in `_F` (floats), `_S` (signed integers), `_U` (unsigned), `_C` (complex) or `_T` (floats
and complex) is a template: `absolute_i32` is `absolute_S` with whole words replaced, `S` by
`int32_t` and `..._S` by `..._i32`. In it `U`, `..._U` are the unsigned integer of the same size,
`R`, `..._R` the real partner of a complex dtype, `Z` the complex partner of a float; a dtype that
has no such partner is its own. `NUM_THREADS` in the directive of a parallel loop is the clause of
that name, if the options give a number of threads, or nothing. Of a function of complex numbers
that calls some of which there is a version for ordinary angles (`_near`) or for vector lanes
(`_in_lanes`), there is one that calls these. A program contains the helpers that it uses and no
others.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Container, Iterable, Mapping
from functools import cache, lru_cache

from transpile.errors import InternalError
from transpile.ir.primitive import TABLE
from transpile.primitives import elementwise as _elementwise  # noqa: F401 (registers)
from transpile.primitives.elementary import primitives as _elementary  # noqa: F401 (registers)
from transpile.util.data_files import data_directory
from transpile.util.frozen_records import dataclass

# Suffix of a name -> (letter of the pattern, replacements of whole words).
_WORDS: dict[str, tuple[str, dict[str, str]]] = {
    suffix: (letter, {letter: own, "T": own, "Z": f"{real} complex"})
    for suffix, letter, own, real in (
        ("f32", "F", "float", "float"),
        ("f64", "F", "double", "double"),
        ("c64", "C", "float complex", "float"),
        ("c128", "C", "double complex", "double"),
    )
}
# In the patterns `_C` and `_T` a real number, too.
_REAL = {"f32": "float", "f64": "double", "c64": "float", "c128": "double"}
_PARTNERS: dict[str, dict[str, str]] = {
    "f32": {"F": "f32", "T": "f32", "R": "f32", "Z": "c64"},
    "f64": {"F": "f64", "T": "f64", "R": "f64", "Z": "c128"},
    "c64": {"C": "c64", "T": "c64", "R": "f32", "Z": "c64"},
    "c128": {"C": "c128", "T": "c128", "R": "f64", "Z": "c128"},
}
for _bits in (8, 16, 32, 64):
    for _letter, _prefix in (("S", "i"), ("U", "u")):
        _WORDS[f"{_prefix}{_bits}"] = (_letter, {"S": f"int{_bits}_t", "U": f"uint{_bits}_t"})
        _PARTNERS[f"{_prefix}{_bits}"] = {"S": f"i{_bits}", "U": f"u{_bits}"}

for _suffix in ("f32", "f64"):
    _WORDS[_suffix][1]["U"] = f"uint{_suffix[1:]}_t"
    _PARTNERS[_suffix]["U"] = f"u{_suffix[1:]}"

# Functions of the C library that helpers call, except those in the `c_library` of primitives.
_LIBRARY = {"f": ("fma", "frexp"), "c": ("cpow",)}
_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DIRECTIVE = re.compile(r"^#[^\n]*", re.MULTILINE)
_BRANCHES = re.compile(r"\b(?:if|for|while|do|switch|goto)\b")
_CALL = re.compile(r"\b([a-z]\w*)\(")
_CODE = re.compile(r'(/\*.*?\*/|//[^\n]*|"[^"\n]*")|\b[A-Za-z_]\w*\b', re.DOTALL)
# Up to a full stop behind a word, not behind an initial.
_SENTENCE = re.compile(r".*?[a-z0-9|)]\.(?= [A-Z])")
# These two begin with letters, for which `re` searches quickly.
_ENUM = re.compile(r"enum\s*\w*\s*\{(.*?)\}", re.DOTALL)
_BEGINNING = re.compile(r"\n(?:static|__attribute__|typedef)[^\n]*")
_TYPE = re.compile(r"^typedef\s.*?\b(\w+)\s*(?:__attribute__.*)?;$", re.MULTILINE)
_CONSTANT = re.compile(r"^static const \w[\w ]*?\b(\w+)\s*(?:\[.*?\]\s*)*=", re.MULTILINE)
_FUNCTION = re.compile(r"^(?:static|__attribute__).*?\b(?!__attribute__)(\w+)\s*\(", re.MULTILINE)
_STATIC = re.compile(r"^static (?:inline )?", re.MULTILINE)
_KEPT_APART = "__attribute__((noinline))"  # how functions begin that are never inlined
WIDTH = 100
_NUM_THREADS = "NUM_THREADS "  # where a parallel loop has the clause, with the space behind it


def library_name(name: str, suffix: str) -> str | None:
    """The C library's function for NumPy's name and a dtype, if it has one."""
    if suffix not in _REAL:
        return None
    if name == "make_complex":  # a macro, whose letter is a capital
        return "CMPLXF" if suffix in ("f32", "c64") else "CMPLX"
    kind = "f" if suffix in ("f32", "f64") else "c"
    own = TABLE[name].c_library.get(kind) if TABLE.has(name) else None
    if name in _LIBRARY[kind]:
        own = name
    return own and own + ("f" if suffix in ("f32", "c64") else "")


@dataclass(frozen=True)
class Item:
    """A function, typedef, enum or `#if` block with the names that it defines.

    comment      the one above it, or above the same function for another dtype
    is_declared  it is the head of a function that another file defines
    """

    names: tuple[str, ...]
    text: str
    comment: str = ""
    is_declared: bool = False


def items() -> dict[str, Item]:
    """Every item of every family, by each name that it defines."""
    every: dict[str, Item] = {}
    for family in _families():
        for name, item in _family(family).items():
            if name in every:
                raise InternalError(f"{name} is defined twice in runtime_c ({family})")
            every[name] = item
    return every


@cache
def _families() -> dict[str, str]:
    """The text of each file by its name, without the folder."""
    found: dict[str, str] = {}
    for folder, _, files in os.walk(data_directory("runtime_c")):
        if os.path.basename(folder) != "python":
            for name in files:
                if name.endswith(".h"):
                    with open(os.path.join(folder, name), "rb", buffering=0) as file:
                        found[name] = file.read().decode()
    return dict(sorted(found.items()))


@cache
def _file_of() -> dict[str, str]:
    """The file of each name. Only lines that begin a definition are searched, as most of the text
    is never needed."""
    return {name: family for family, text in _families().items() for name in _named(text)}


def _named(text: str) -> list[str]:
    heads = "".join(_BEGINNING.findall(f"\n{text}"))
    return _enumerated(text) + _values(heads) + _heads(heads)


@cache
def _family(name: str) -> dict[str, Item]:
    """The items of a file, by each name that they define."""
    return {name: item for item in _parse(_families()[name]) for name in item.names}


def _item(name: str) -> Item | None:
    """The item that is defined under this name in a file."""
    family = _file_of().get(name)
    return None if family is None else _family(family).get(name)


def _parse(text: str) -> Iterable[Item]:
    comment: list[str] = []
    above = {"": ""}  # the comment of each function, whatever the dtype
    lines = iter(text.splitlines())
    for line in lines:
        if not line.strip():
            comment = []
        elif line.startswith("/*"):
            comment = [line]
            while not comment[-1].rstrip().endswith("*/"):
                comment.append(next(lines))
        else:
            body = [line]
            end = "#endif" if line.startswith("#if") else None
            while not _is_complete(body, end):
                body.append(next(lines))
            names = _defined("\n".join(body))
            base = names[0].rpartition("_")[0]
            own = "\n".join(_brief(comment)) or above.get(base, "")
            above[base] = own if base else ""
            yield Item(names, "\n".join(body), own)
            comment = []


def _is_complete(body: list[str], end: str | None) -> bool:
    if end is not None:
        return body[-1].startswith(end)
    last = body[-1].rstrip()
    if body[0].startswith("enum"):
        return last.endswith(";")
    if (
        body[0].startswith(("typedef", "static const", "extern"))
        and "(" not in body[0].split("__attribute__")[0]
    ):
        return last.endswith(";")
    return last == "}" or (len(body) == 1 and last.endswith("}"))


def _defined(text: str) -> tuple[str, ...]:
    names = _values(text) or _heads(text)[:1]
    if not names:
        raise InternalError(f"this item of runtime_c defines nothing:\n{text}")
    return tuple(dict.fromkeys(names))


def _values(text: str) -> list[str]:
    """The names that enums, typedefs and constants define."""
    return _enumerated(text) + _TYPE.findall(text) + _CONSTANT.findall(text)


def _enumerated(text: str) -> list[str]:
    enums = _ENUM.findall(text) if "enum" in text else []  # the search is slow, and enums rare
    return [part.split("=")[0].strip() for e in enums for part in e.split(",") if part.strip()]


def _heads(text: str) -> list[str]:
    """The names of functions in a text; an `#if` block may define one several times."""
    return _FUNCTION.findall(text)


def _brief(comment: list[str]) -> list[str]:
    """The first sentence of a comment: methods and sources are for readers of runtime_c."""
    if len(comment) < 2 or not comment[0].startswith(("/* numpy.", "/* scipy.")):
        return comment
    words = " ".join(" ".join(comment).split())
    sentence = _SENTENCE.match(words)
    text = f"{sentence[0]} */" if sentence is not None else words
    return textwrap.wrap(text, WIDTH, subsequent_indent="   ", break_on_hyphens=False)


@lru_cache(maxsize=10_000)
def find(name: str) -> Item | None:
    """The item that defines a name, instantiated from a template where needed; None without one."""
    item = _item(name)
    if item is not None:
        return item
    base, _, suffix = name.rpartition("_")
    if suffix not in _WORDS or not base:
        return None
    letter, _ = _WORDS[suffix]
    pattern = _item(f"{base}_{letter}")
    if pattern is None and letter in "FC":
        pattern = _item(f"{base}_T")
    if pattern is None and letter == "C":
        return _version(base, suffix)
    return None if pattern is None else _instantiate(pattern, suffix)


def _version(base: str, suffix: str) -> Item | None:
    """A function of complex numbers that calls the versions for ordinary angles, or for lanes, of
    what it calls; None if there are none."""
    for kind in ("_near", "_in_lanes"):
        plain = find(f"{base.removesuffix(kind)}_{suffix}") if base.endswith(kind) else None
        if plain is None:
            continue
        called = (name.rpartition("_") for name in calls_in(plain.text) if name not in plain.names)
        pairs = {"_".join((b, s)): f"{b}{kind}_{s}" for b, _, s in called if b}
        found = {name: version for name, version in pairs.items() if find(version) is not None}
        if found:
            found[plain.names[0]] = f"{base}_{suffix}"
            return Item((f"{base}_{suffix}",), _renamed(plain.text, found), plain.comment)
    return None


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _IDENTIFIER.sub(lambda match: names.get(match[0], match[0]), text)


def _instantiate(pattern: Item, suffix: str) -> Item:
    words, partners = _WORDS[suffix][1], _PARTNERS[suffix]
    if pattern.names[0].endswith(("_C", "_T")):
        words = words | {"R": _REAL[suffix]}
    bits = suffix[1:]
    special = {
        "MIN_S": f"INT{bits}_MIN",
        "MAX_S": f"INT{bits}_MAX",
        "MAX_U": f"UINT{bits}_MAX",
        "BITS_S": bits,
        "BITS_U": bits,
    }

    def replace(match: re.Match[str]) -> str:
        word = match[0]
        if match[1] is not None:  # a comment or a string
            return word
        if word in words:
            return words[word]
        if word in special and suffix[0] in "iu":
            return special[word]
        base, _, letter = word.rpartition("_")
        return f"{base}_{partners[letter]}" if base and letter in partners else word

    return Item(
        tuple(_CODE.sub(replace, n) for n in pattern.names),
        _CODE.sub(replace, pattern.text),
        pattern.comment,
    )


def collect(names: Iterable[str]) -> list[str]:
    """The texts of these helpers and of all that they use, in topological order: callees first."""
    return [f"{item.comment}\n{item.text}".lstrip("\n") for item in needed(names)]


def needed(
    names: Iterable[str],
    threads: int = 0,
    declared: Container[str] = frozenset(),
    *,
    single: bool = False,
) -> list[Item]:
    """These helpers and all that they use, callees first. A comment that several share is kept for
    the first alone.

    threads    the num_threads clause of their parallel loops; 0: none
    declared   functions that are defined in other files: where these helpers call them, they are
               declared
    single     those that compute in double precision for single are the ones that do not, if there
               are such ones
    """
    roots = sorted(names)
    look_up = _find_single if single else find
    clause = f"num_threads({threads}) " if threads else ""
    items: list[Item] = []
    comments: set[str] = set()
    done: set[str] = set()

    def visit(name: str) -> None:
        if name in done:
            return
        item = look_up(name)
        if item is None:
            return
        done.update(item.names)
        if name in declared and name not in roots:
            item = Item(item.names, declaration(item), is_declared=True)
        for callee in _callees(item.text):
            visit(callee)
        text = _with_library_names(item.text).replace(_NUM_THREADS, clause)
        comment = "" if item.comment in comments else item.comment
        comments.add(item.comment)
        items.append(Item(item.names, text, comment, item.is_declared))

    for name in roots:
        visit(name)
    return items


def _find_single(name: str) -> Item | None:
    """`find`, but by the name of `hypot_f32` what `hypot_single_f32` is."""
    base, _, suffix = name.rpartition("_")
    own = f"{base}_single_{suffix}"
    item = find(own) if base and suffix == "f32" else None
    if item is None:
        return find(name)
    return Item((name,), item.text.replace(own, name), item.comment)


def declaration(item: Item) -> str:
    """The head of a function that other files call."""
    return _with_external_linkage(item.text.partition("\n{")[0])


def definition(item: Item) -> str:
    """A function that other files call."""
    return _with_external_linkage(item.text)


def _with_external_linkage(text: str) -> str:
    return _STATIC.sub("", text, count=1)


@lru_cache(maxsize=1000)
def parts(name: str, least: int) -> tuple[str, ...]:
    """What is worth a C file of its own in a helper: callees first, the helper last.

    Besides itself these are the functions that it does not inline of more than `least` characters,
    together with what they use and is no part.
    """
    found: list[str] = []
    compiled_with: dict[str, dict[str, int]] = {}  # the lengths of what each is compiled with

    def visit(each: str) -> None:
        item = find(each)
        if each in compiled_with or item is None:
            return
        compiled_with[each] = lengths = {item.names[0]: len(item.text)}
        for callee in _callees(item.text):
            visit(callee)
            if callee not in found:
                lengths.update(compiled_with[callee])
        is_long = item.text.startswith(_KEPT_APART) and sum(lengths.values()) > least
        if is_long or each == name:
            found.append(each)

    visit(name)
    return tuple(found)


def calls_in(text: str) -> list[str]:
    """The names that C calls outside comments, as often as it does."""
    return _CALL.findall(_COMMENT.sub("", text))


def statements_in(text: str) -> int:
    """The number of statements of C."""
    return _COMMENT.sub("", text).count(";")


@cache
def _callees(text: str) -> list[str]:
    """The helpers that this text names outside comments, in the order of their first use."""
    words = dict.fromkeys(_IDENTIFIER.findall(_COMMENT.sub("", text)))
    return [word for word in words if find(word) is not None]


@cache
def _with_library_names(text: str) -> str:
    """The text, with the C library's names of what no helper defines."""
    return _IDENTIFIER.sub(_to_library, text)


@lru_cache(maxsize=1000)
def length(name: str) -> int:
    """The characters of a helper and of all that it uses, without comments."""
    return sum(len(item.text) for item in needed([name]))


@lru_cache(maxsize=1000)
def has_branches(name: str) -> bool:
    """True if a helper, or one that it calls, has statements that branch: no vector code."""
    codes = (_DIRECTIVE.sub("", _COMMENT.sub("", item.text)) for item in needed([name]))
    return any(map(_BRANCHES.search, codes))


def runs_threads(helpers: Iterable[Item]) -> bool:
    """True if one of these helpers calls OpenMP's library."""
    return any(word in h.text for h in helpers for word in ("#pragma omp parallel", "omp_get_"))


def has_directives(helpers: Iterable[Item]) -> bool:
    """True if one of these helpers has an OpenMP directive."""
    return any("#pragma omp" in helper.text for helper in helpers)


def _to_library(match: re.Match[str]) -> str:
    """A name such as floor_f32 that no helper defines is the C library's floorf."""
    word = match[0]
    base, _, suffix = word.rpartition("_")
    if base and suffix in _WORDS and find(word) is None:
        return library_name(base, suffix) or word
    return word
