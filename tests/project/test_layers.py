"""The shape of the code: imports go one way and are not hidden, files and functions have a size."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

from sources import FILES, PACKAGE, nodes_of, tree_of

ROOT = Path(__file__).parents[2]

# The packages and public modules of transpile, in the order in which data flows through them. Each
# may import only from those before it. ARCHITECTURE.md walks through them in the same order.
DATA_FLOW = """
    util errors machine options
    ir pytree tree tree_util trace
    transforms primitives dtypes numpy
    passes hlo intrinsics library analysis symbols fusion lower schedule disk_cache
    codegen build runtime targets explore
    stages dispatch typing
    functional lax random nn flatten_util scipy image hlo_import
    ops debug log python experimental test_util api sharding parallel core extend
    custom_derivatives custom_batching ad_checkpoint dlpack export ref distributed compat
    artifact command_line
    __init__ __main__
"""
ORDER = DATA_FLOW.split()

# Imports inside functions, each with its reason: none, since `Later` is there.
HIDDEN: dict[tuple[str, str], str] = {}

# Modules that are imported when one of their names is used, by `Later`, each with its reason.
RARE = "a program from the cache does without it"
LATER = {
    ("api", "transpile.python.conversions"): "for functions that a trace cannot follow",
    ("api", "transpile.functional.flatten_fun"): "for shapes of what a traced function computes",
    ("processes", "transpile.runtime.parallel.mpi"): "of the extra `mpi`",
    ("mpi", "mpi4py"): "of the extra `mpi`",
    ("mpi", "mpi4py.MPI"): "its import initialises MPI",
    ("creation", "transpile.numpy.subscripts.bounds"): "few traces use asarray_chkfinite",
    ("coercion", "transpile.numpy.core.ranges"): "it is one of those that few traces use",
    ("coercion", "transpile.numpy.jax_compat"): "for numpy.frompyfunc in traced code",
    ("assignment", "transpile.numpy.subscripts.updates_in_turn"): "few ufuncs' `at` needs it",
    ("process_directory", "shutil"): RARE,
    ("support_libraries", "shutil"): RARE,
    ("link_libraries", "shutil"): RARE,
    ("fast_call", "sysconfig"): "a start that calls nothing often does without it",
    ("process_directory", "tempfile"): RARE,
    ("background_build", "shutil"): RARE,
    ("background_build", "tempfile"): RARE,
    ("tracing", "transpile.dispatch.warm_up"): "for functions that are warmed up",
    ("tracing", "transpile.primitives.effects.arithmetic"): "for `check_arithmetic`",
    ("tracing", "transpile.dispatch.value_checks"): "while `debug_nans` is on",
    ("flatten_fun", "transpile.dispatch.value_checks"): "while `debug_nans` is on",
    ("preloading", "transpile.disk_cache.cache_entry"): "for the first function that is jitted",
    ("preloading", "transpile.disk_cache.cache_files"): "for the first function that is jitted",
    (
        "preloading",
        "transpile.disk_cache.concurrent_steps",
    ): "for the first function that is jitted",
    ("commands", "signal"): RARE,
    ("commands", "subprocess"): RARE,
    ("atomic_files", "shutil"): RARE,
    ("size_constraints", "ast"): "for constraints, which are texts",
    ("size_text", "ast"): "for extents that are texts",
    (
        "executable",
        "transpile.build.driver",
    ): "a warm start lowers nothing; this takes 40 ms to import",
    ("executable", "transpile.build.link_libraries"): "a warm start links nothing",
    ("executable", "transpile.build.pool_linking"): "a warm start links nothing",
    ("executable", "transpile.build.processors"): "a warm start links nothing",
    ("choice", "transpile.runtime.executable"): "8 ms that belong to the first call",
    ("choice", "transpile.targets.cuda.lowering"): "for those who ask for CUDA",
    ("choice", "transpile.targets.cuda.runtime.device"): "for those who have a GPU",
    ("choice", "transpile.targets.cuda.runtime.interop"): "for arrays of other libraries on a GPU",
    ("choice", "transpile.targets.cuda.toolchain.nvcc"): "for `doctor`",
    ("api", "transpile.functional.eager"): "for functions of arrays on a device by themselves",
    ("array", "transpile.targets.cuda.runtime.interop"): "for arrays that other libraries get",
    ("array", "transpile.targets.cuda.runtime.transfers"): "which makes such arrays",
    ("device", "transpile.targets.cuda.runtime.transfers"): "which makes arrays of devices",
    ("tracing", "transpile.build.compiler_probe"): "belongs to the first call",
    ("compiler", "jinja2"): "where a template is compiled, which is once",
    ("compiler", "jinja2.nodes"): "where a template is compiled, which is once",
    (
        "filling",
        "transpile.codegen.templates.compiler",
    ): "compiled templates are kept; Jinja takes 25 ms to import",
    ("loader", "cffi"): "its front end reads declarations; programs from the cache have tables",
    ("library_threads", "ctypes"): "for programs with `num_threads` that call a BLAS or LAPACK",
    ("loader", "ctypes"): "for paths that are not UTF-8",
    ("loader", "transpile.build.elf"): "for programs with the address sanitizer",
    ("executable", "transpile.symbols.identifiers"): "for `save`",
    ("dialects", "transpile.hlo.computation"): RARE,
    ("schema", "google.protobuf.descriptor_pb2"): "of the extra `hlo`",
    ("schema", "google.protobuf.descriptor_pool"): "of the extra `hlo`",
    ("schema", "google.protobuf.message"): "of the extra `hlo`",
    ("schema", "google.protobuf.message_factory"): "of the extra `hlo`",
    ("graph", "transpile.explore.notebook"): "for notebooks: the drawing is a page's",
    ("watch", "multiprocessing"): "for one of the commands",
    ("templates", "jinja2"): "most programs are rendered without it",
    ("jitted", "transpile.explore.notebook"): "for notebooks",
    ("stages", "transpile.explore.notebook"): "for notebooks",
    ("stages", "transpile.explore.page"): "for those who look inside",
    ("stages", "transpile.hlo.computation"): RARE,
    ("stages", "transpile.passes.control.inline_calls"): RARE,
    ("stages", "transpile.primitives.memory_orders"): "the first call needs it, not the import",
    ("toolchain", "platform"): "for processors that /proc/cpuinfo does not describe",
    ("prefix", "difflib"): "for error messages",
    ("dispatcher", "transpile.runtime.fast_call"): "for functions that are called often",
    ("types", "transpile.sharding"): "JAX's question after the devices of a type",
    ("ufuncs", "transpile.numpy.subscripts.bounds"): "few functions have integer powers",
    ("advanced", "transpile.numpy.subscripts.bounds"): "few functions ask for checks of indices",
    ("types", "ml_dtypes"): "takes 5 ms, and few programs compute with bfloat16",
}

# Numbers that stand in modules of these packages: what a machine decides stands in `machine/`.
DECIDING = ("passes", "library", "analysis", "fusion", "lower", "schedule", "codegen")
LENGTH = "what the length of a program is measured in"
NUMBERS = {
    ("analysis/cost_model", "TURNS"): "the unit of work",
    ("analysis/cost_model", "UNBOUNDED"): "indices have 64 bits",
    ("analysis/cost_model", "_ACCESS_WEIGHT"): "the unit of work",
    ("analysis/cost_model", "_FLOPS_OF_CALL"): "the unit of work",
    ("analysis/oracle/loop_interpreter", "FAR"): "an element that no program should read",
    ("analysis/oracle/shadow_memory", "UNWRITTEN"): "who wrote an element: nobody",
    ("analysis/integer_ranges", "_DEEPEST"): "how far a proof goes",
    ("analysis/integer_ranges", "_MOST_BITS"): "the width of integers",
    ("analysis/integer_ranges", "_MOST_NARROWED"): "how far a proof goes",
    ("analysis/linear_facts", "MOST_RELATIONS"): "how far a proof goes",
    ("analysis/linear_facts", "_DEEPEST"): "how far a proof goes",
    ("analysis/linear_facts", "_MOST_NAMES"): "how far a proof goes",
    ("analysis/loop_fixpoint", "_MOST_ROUNDS"): "how ranges of loops are widened",
    ("analysis/loop_fixpoint", "_MOST_TRIPS"): "how long a program runs",
    ("analysis/value_range", "_ROUNDINGS"): "how accurate the functions of runtime_c are",
    ("codegen/callback_messages", "FIRST_FAILURE"): "the contract of a program with its caller",
    ("codegen/callback_messages", "_LONGEST_LITERAL"): "what every C compiler takes",
    ("codegen/constants", "LONGEST_CONSTANT"): "what a reader takes for a text",
    ("codegen/compile_budget", "MOST_RETREATS"): "the levels that a compiler has",
    ("codegen/line_wrapping", "WIDTH"): "the format of the text",
    ("codegen/plan/gcc_faults", "_LARGEST"): "the elements for which gcc is at fault",
    ("codegen/plan/gcc_faults", "_VECTOR"): "the widest vectors for which gcc is at fault",
    ("codegen/plan/gcc_faults", "_SHORT_ROW"): "what calls of memcpy cost",
    ("codegen/plan/gcc_faults", "_LONG_ROW"): "from where on memcpy goes around caches",
    ("codegen/plan/gcc_faults", "_WORD"): "the elements for which gcc is at fault",
    ("codegen/plan/metadata", "_CONVENTION"): "the contract of a program with its caller",
    ("codegen/plan/summary", "_OF_DECLARATION"): LENGTH,
    ("codegen/plan/unrolling", "_ITERATIONS"): "how far compilers unroll",
    ("codegen/plan/unrolling", "_LEAST"): "a loop is worth unrolling",
    ("codegen/plan/unrolling", "_MOST_PARTS"): "how far compilers unroll",
    ("codegen/plan/unrolling", "_PARTS_OF_AN_ADDITION"): "what hides behind an addition",
    ("codegen/plan/tensors", "_CODES"): "the contract of a program with its caller",
    ("codegen/plan/summary", "_OF_LOOP"): LENGTH,
    ("fusion/elements", "MOST_CHOICES"): "how deep C compilers let choices stand in each other",
    ("fusion/rematerialize", "ROUNDS"): "how long an iteration to a fixpoint goes on",
    ("fusion/inlining/reshape_cuts", "FEWEST_PARTS"): "two come apart into loops over whole copies",
    (
        "fusion/inlining/reshape_cuts",
        "FEWEST_PARTS_OF_TRANSPOSE",
    ): "of one the copy is as long as the rest",
    ("fusion/inlining/reshape_cuts", "MOST_RESHAPES"): "the text doubles with each",
    ("library/convolution", "DEPTH"): "as in conv.h",
    ("library/convolution", "FEW"): "as in conv.h",
    ("library/convolution", "_FAR"): "what conv.h takes",
    ("library/convolution", "_NEAR"): "what conv.h takes",
    ("library/fft", "FIELDS"): "the plan of fft.h",
    ("library/fft", "LARGEST_RADIX"): "the plan of fft.h",
    ("library/fft", "_BLOCK"): "the tables of fft.h",
    ("library/fft", "_PADDING"): "the tables of fft.h",
    ("library/fft", "_PAIR"): "the registers that fft.h is compiled for",
    ("library/fft", "_WORTH_SHARING"): "as in fft.h",
    ("lower/kernels", "LONGEST_COMMENT"): "the format of the text",
    (
        "passes/control/control_flow",
        "_CONSTANT_DIVISOR_WEIGHT",
    ): "what C compilers make of a division",
    ("passes/expand/convolutions", "SPACE"): "as in conv.h",
    ("passes/expand/decompose", "LARGEST_EXPANDED_POWER"): "how accurate products are",
    ("passes/simplify", "MOST_UPDATES"): "how far a search goes",
    ("schedule/blocking/fixpoint", "LARGEST"): "how far a proof goes",
    (
        "schedule/cleanup/subscripts/exact_indices",
        "_LARGEST",
    ): "the range of integers that are counted",
    ("schedule/cleanup/subscripts/exact_indices", "_LEAST"): "the width of integers",
    ("schedule/cleanup/subscripts/exact_indices", "_MOST_TERMS"): "how long a subscript is to read",
    ("schedule/cleanup/subscripts/wrapping_sums", "_MOST_TERMS"): "how far a search goes",
    ("schedule/domain/independent_loops", "_MOST_PAIRS"): "how far a proof goes",
    ("schedule/cleanup/choices/eager_conditions", "_MOST_LOADS"): "less than a branch that fails",
    ("schedule/cleanup/choices/eager_conditions", "_MOST_OPERATIONS"): "the same",
    ("schedule/cleanup/choices/eager_conditions", "_NARROW"): "what has masked stores",
    ("schedule/domain/index_set_split", "_FAR"): "indices have 64 bits",
    ("schedule/domain/versions/bound_versions", "_FAR"): "the range of integers that are counted",
    ("schedule/domain/versions/bound_versions", "_FEWEST"): "a nest is worth a test",
    ("schedule/domain/versions/bound_versions", "_STEEPEST"): "the width of integers",
    ("schedule/domain/versions/bound_versions", "_UNKNOWN"): "the width of integers",
    ("schedule/domain/versions/clamped_subscripts", "_NESTS"): "a nest of loops and one of them",
    ("schedule/domain/versions/range_versions", "_FAR"): "the range of integers that are counted",
    ("schedule/domain/versions/range_versions", "_SHORTEST"): "a loop is worth a test",
    ("schedule/domain/versions/range_versions", "_STEEPEST"): "the width of integers",
    ("schedule/domain/versions/value_versions", "_FEWEST"): "a nest is worth a test",
    ("schedule/domain/versions/range_versions", "_UNKNOWN"): "the width of integers",
    ("schedule/cleanup/narrow_shifts", "_LOWER_HALF"): "the width of integers",
    ("schedule/lanes/branches/branch_masks", "_BITS"): "the width of integers",
    ("schedule/lanes/branches/conditions", "_WIDEST"): "what compilers put together",
    ("schedule/lanes/branches/branch_masks", "_FEW"): "what a branch costs that is not predicted",
    ("schedule/lanes/branches/branch_masks", "_HEAVY"): "what it costs to look a bit up",
    ("schedule/lanes/branches/record_searches", "_BLOCK"): "what a branch costs beside lanes",
    ("schedule/lanes/branches/record_searches", "_FEWEST"): "records are rare behind the first",
    ("schedule/scalar_choices", "_MOST_OPERATIONS"): "what hides behind a store",
    ("schedule/scalar_choices", "_MOST_STORES"): "what hides behind a branch",
    ("schedule/memory_plan", "ALIGNMENT"): "the contract of a program with its caller",
    ("schedule/stack", "STACK"): "the contract of a program with its caller",
    ("schedule/stack", "HELPERS"): "what the functions of runtime_c need",
    ("schedule/team_guards", "_PARTS_OF_FUNCTION"): LENGTH,
}

LONGEST_FILE = 500
MOST_MODULES = 13  # with __init__.py
LONGEST_FUNCTION = 60
TEXTS = FILES + sorted(
    path for name in ("runtime_c", "templates") for path in (ROOT / name).rglob("*.*")
)


def relative(path):
    return str(path.relative_to(PACKAGE))


def layer(module):
    """The entry of ORDER that a module belongs to: `transpile.passes.simplify` is in `passes`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def module_name(path):
    return ".".join(("transpile", *path.relative_to(PACKAGE).with_suffix("").parts))


def imported(node):
    """The modules of transpile that an import statement names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name.split(".")[0] == "transpile"]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        if node.module == "transpile":
            return [f"transpile.{alias.name}" for alias in node.names]
        if node.module and node.module.startswith("transpile."):
            return [node.module]
    return []


@cache
def imports(path):
    """(statement, inside a function) for each import of a file, but those for annotations only."""
    return [
        (node, inside)
        for node, inside in statements(tree_of(path).body, False)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def statements(body, inside):
    """(statement, inside a function) for each statement of a block, but those for annotations."""
    for node in body:
        yield node, inside
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            blocks = [node.orelse]
        for part in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            blocks.append(part.body)
        for block in blocks:
            yield from statements(block, inside or is_function)


def test_every_module_has_its_place_in_the_order():
    found = {layer(module_name(path)) for path in FILES}
    assert found == set(ORDER), "add the package to DATA_FLOW, where data flows through it"
    assert len(ORDER) == len(set(ORDER))


def upward_imports(path):
    """The imports of a file from packages that come later, as texts."""
    own = layer(module_name(path))
    for node, _ in imports(path):
        for name in imported(node):
            other = layer(name)
            if other != own and ORDER.index(other) > ORDER.index(own):
                yield f"{relative(path)}:{node.lineno} imports {name}, which comes later"


def test_imports_go_one_way():
    assert not [line for path in FILES for line in upward_imports(path)]


MODULES = {module_name(path) for path in FILES}


def imported_modules(path):
    """The modules that a file imports names from: of `from package import module`, the module."""
    for node, _ in imports(path):
        for name in imported(node):
            inner = [f"{name}.{a.name}" for a in node.names] if hasattr(node, "module") else []
            yield from [n for n in inner if n in MODULES] or [name]


def test_no_modules_import_each_other():
    """Also within a package: the modules have an order."""
    needs = {module_name(path): {*imported_modules(path)} for path in FILES}
    for name in needs:  # a package's own names come from its modules
        needs[name].discard(name.removesuffix(".__init__"))
    order = graphlib.TopologicalSorter(needs)
    try:
        order.prepare()
    except graphlib.CycleError as error:
        raise AssertionError(" imports ".join(error.args[1])) from None


def test_no_folder_is_crowded():
    """A reader finds a module by its folder. The names of public modules are given: those of
    `transpile` itself, and those of `scipy.stats`, one for each distribution."""
    sizes = Counter(path.parent for path in FILES)
    crowded = {relative(folder): n for folder, n in sizes.items() if n > MOST_MODULES}
    assert crowded == {".": 24, "scipy/stats": 29}


def test_no_two_test_modules_have_one_name():
    """pytest imports them by their names alone, and would collect neither."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_import_hides_inside_a_function():
    found = set()
    for path in FILES:
        for node, hidden in imports(path):
            if hidden:
                names = [node.module] if isinstance(node, ast.ImportFrom) else []
                names = names or [alias.name for alias in node.names]
                found |= {(path.stem, name) for name in names}
    assert found == set(HIDDEN)


def test_every_later_import_has_a_reason():
    found = {
        (path.stem, node.args[0].value)
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Later"
    }
    assert found == set(LATER)


def test_thresholds_are_the_machine_s():
    paths = [path for name in DECIDING for path in (PACKAGE / name).rglob("*.py")]
    numbers = {
        (path.relative_to(PACKAGE).with_suffix("").as_posix(), name)
        for path in paths
        for name in numbers_of(tree_of(path).body)
    }
    assert numbers == set(NUMBERS)


def numbers_of(statements):
    """The names that statements give numbers, one or several at a time."""
    for node in statements:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            is_one = not isinstance(target, ast.Tuple)
            names = [target] if is_one else target.elts
            values = [node.value] if is_one else getattr(node.value, "elts", [])
            for name, value in zip(names, values, strict=False):
                if isinstance(name, ast.Name) and is_number(value):
                    yield name.id


def is_number(node):
    """Whether an expression is a number, or made of numbers."""
    return all(
        isinstance(part, ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
        or (isinstance(part, ast.Constant) and type(part.value) in (int, float))
        for part in ast.walk(node)
    )


def test_files_are_of_a_size_to_read():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in TEXTS}
    long = [str(path.relative_to(ROOT)) for path, n in lengths.items() if n > LONGEST_FILE]
    assert not long, "split these by what they are about"


def long_functions(path):
    """The functions of a file that have too many lines beside their docstring."""
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node) is not None
            lines = node.end_lineno - node.lineno + 1
            code = lines - (first.end_lineno - first.lineno + 1 if documented else 0)
            if code > LONGEST_FUNCTION:
                yield f"{relative(path)}:{node.lineno} {node.name}"


def test_functions_are_of_a_size_to_read():
    assert not [line for path in FILES for line in long_functions(path)]


def test_every_module_says_what_it_is():
    silent = [relative(path) for path in FILES if not ast.get_docstring(tree_of(path))]
    assert not silent, "a module starts with a docstring"


def test_the_package_itself_holds_names_only():
    for node in tree_of(PACKAGE / "__init__.py").body[1:]:
        if isinstance(node, ast.If):  # the names that are imported when they are first used
            assert getattr(node.test, "id", "") == "TYPE_CHECKING"
            assert all(isinstance(inner, ast.ImportFrom) for inner in node.body)
        else:
            assert isinstance(node, ast.Import | ast.ImportFrom | ast.Assign)


def test_names_of_the_package_are_imported_when_they_are_used():
    code = """
import sys
import transpile
early = [m for m in sys.modules if m.startswith(("transpile.functional", "transpile.scipy"))]
assert not early, early
assert set(transpile.__all__) <= set(dir(transpile))
for name in transpile.__all__:
    getattr(transpile, name)
assert vars(transpile).keys() >= set(transpile.__all__)
try:
    transpile.no_such_name
except AttributeError as error:
    assert str(error) == "module 'transpile' has no attribute 'no_such_name'"
else:
    raise AssertionError("there was no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
