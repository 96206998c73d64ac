"""Facts about primitives stand in their primitives: no module outside `primitives` lists
operations.

A list is a dict, set, tuple or list that is written out, or the alternatives of a pattern, of which
at least two entries, and half of them, are operations: names of primitives, or primitives. A single
name is no list: a pass may know `select`, or that a difference is a sum with a negative.
"""

import ast
import importlib
from types import ModuleType

import pytest
import sources
from sources import PACKAGE, nodes_in, nodes_of

from transpile.ir.primitive import TABLE, Primitive

FILES = [p for p in sources.FILES if PACKAGE / "primitives" not in p.parents]

RULES = "what is done with each primitive is the module's own matter: code, not a fact"
API = "words of a public function, which are no primitives"
PARTS = "the two primitives that take a number apart"
# (module, the operations of a list), each with its reason.
CODE = ("transpile.hlo.", "transpile.hlo_import.")  # whose instructions have some of the names, too
JUSTIFIED = {
    ("codegen.plan.gcc_faults", "add subtract maximum minimum"): "what gcc 12 gets wrong",
    ("codegen.plan.gcc_faults", "minimum maximum"): "what gcc makes of choices",
    ("codegen.plan.gcc_faults", "less greater"): "what gcc makes of choices",
    (
        "fusion.elements",
        "iota concatenate pad gather dynamic_slice dynamic_update_slice",
    ): RULES,
    ("numpy.core.runtime_sizes", "broadcast_in_dim concatenate reshape"): RULES,
    ("numpy.core.ufuncs", "mantissa exponent"): PARTS,
    ("numpy.linalg.symmetric", "cholesky eigh"): API,
    ("ops", "add multiply"): API,
    ("targets.cuda.runtime.array", "real imag"): API,
    ("passes.expand.decompose", "argmax argmin"): RULES,
    ("passes.expand.decompose", "reduce_max reduce_min"): RULES,
    ("passes.expand.windows", "select_and_gather_add select_and_scatter_add"): RULES,
    (
        "passes.simplify",
        "add divide floor_divide remainder convert_element_type select broadcast_in_dim reshape "
        "transpose slice rev concatenate dot_general sort",
    ): RULES,
    ("python.semantics.builtins", "real imag"): API,
    (
        "python.mathematics.functions",
        "erf erfc gamma lgamma floor ceil trunc log remainder ldexp hypot gcd lcm",
    ): API,
    ("random.normals", "svd eigh cholesky"): API,
    ("scipy.factorizations", "real complex"): API,
}


def module_name(path):
    parts = ("transpile", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def operation(node, module):
    """The primitive that an expression names, if it does."""
    if isinstance(node, ast.MatchValue):
        node = node.value
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) and TABLE.has(node.value) else None
    value = None
    if isinstance(node, ast.Name):
        value = vars(module).get(node.id)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        family = vars(module).get(node.value.id)
        value = vars(family).get(node.attr) if isinstance(family, ModuleType) else None
    return value.name if isinstance(value, Primitive) else None


def entries(node):
    """What a node lists."""
    match node:
        case ast.Dict(keys=keys):
            return [key for key in keys if key is not None]
        case ast.Set(elts=listed) | ast.Tuple(elts=listed) | ast.List(elts=listed):
            return listed
        case ast.MatchOr(patterns=listed):
            return listed
        case _:
            return []


def lists(nodes, module):
    """The operations of each list among a module's nodes, but for its public names."""
    public = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    }
    for node in nodes:
        listed = entries(node)
        named = [name for entry in listed if (name := operation(entry, module)) is not None]
        if len(named) >= 2 and 2 * len(named) >= len(listed) and id(node) not in public:
            yield tuple(named)


def found_in(path):
    list(TABLE)  # with the primitives that few programs need
    name = module_name(path)
    module = importlib.import_module(name)
    short = name.removeprefix("transpile.")
    return {(short, " ".join(named)) for named in lists(nodes_of(path), module)}


LISTS = [
    '_CHEAP = frozenset({"add", "subtract"})',
    '_COSTS = {"divide": 4, "sqrt": 4}',
    'f = lambda op: op in ("sin", "cos", "tan")',
    "_MOVING = {elementwise.copy, elementwise.select}",
    'match op:\n  case Apply(op="add" | "multiply"):\n    pass',
]
OTHERS = [
    '__all__ = ["sin", "cos"]',
    '_WORDS = {"add": 1, "of": 2, "the": 3, "house": 4}',
    'match op:\n  case "add":\n    pass\n  case "subtract":\n    pass',
    "f(elementwise.add, elementwise.multiply)",
]


@pytest.mark.parametrize("text", LISTS)
def test_lists_of_operations_are_found(text):
    module = importlib.import_module("transpile.passes.simplify")
    assert list(lists(nodes_in(text), module))


@pytest.mark.parametrize("text", OTHERS)
def test_others_are_not(text):
    module = importlib.import_module("transpile.passes.simplify")
    assert not list(lists(nodes_in(text), module))


def test_no_module_lists_operations():
    """What is true of operations is a column of `Primitive`, where each primitive says it.

    Rules and expansions for HLO are the code of each primitive for another target.
    """
    files = [path for path in FILES if path.name != "__main__.py"]
    found = set().union(*(found_in(p) for p in files if not module_name(p).startswith(CODE)))
    assert found == JUSTIFIED.keys()
