"""Writes docs/jax.md: which of JAX's names are here, and why the others are not.

python docs/jax_support.py            writes the page
python docs/jax_support.py --check    fails where the page is out of date
python docs/jax_support.py --names    asks the installed JAX for its names and writes jax_names.json
"""

from __future__ import annotations

import importlib
import json
import sys
import types
from pathlib import Path

PAGE = Path(__file__).parent / "jax.md"
NAMES = Path(__file__).parent / "jax_names.json"

# JAX's namespaces, and what is compared with each.
NAMESPACES = {
    "jax": "transpile",
    "jax.numpy": "transpile.numpy",
    "jax.numpy.linalg": "transpile.numpy.linalg",
    "jax.numpy.fft": "transpile.numpy.fft",
    "jax.lax": "transpile.lax",
    "jax.lax.linalg": "transpile.lax.linalg",
    "jax.random": "transpile.random",
    "jax.nn": "transpile.nn",
    "jax.nn.initializers": "transpile.nn.initializers",
    "jax.scipy.special": "transpile.scipy.special",
    "jax.scipy.linalg": "transpile.scipy.linalg",
    "jax.scipy.stats": "transpile.scipy.stats",
    "jax.scipy.fft": "transpile.scipy.fft",
    "jax.scipy.ndimage": "transpile.scipy.ndimage",
    "jax.scipy.interpolate": "transpile.scipy.interpolate",
    "jax.scipy.integrate": "transpile.scipy.integrate",
    "jax.scipy.cluster.vq": "transpile.scipy.cluster.vq",
    "jax.scipy.optimize": "transpile.scipy.optimize",
    "jax.scipy.signal": "transpile.scipy.signal",
    "jax.scipy.sparse.linalg": "transpile.scipy.sparse.linalg",
    "jax.scipy.spatial.transform": "transpile.scipy.spatial.transform",
    "jax.image": "transpile.image",
    "jax.tree_util": "transpile.tree_util",
    "jax.tree": "transpile.tree",
    "jax.flatten_util": "transpile.flatten_util",
    "jax.ops": "transpile.ops",
    "jax.debug": "transpile.debug",
    "jax.ad_checkpoint": "transpile.ad_checkpoint",
    "jax.custom_batching": "transpile.custom_batching",
    "jax.custom_derivatives": "transpile.custom_derivatives",
    "jax.ref": "transpile.ref",
    "jax.errors": "transpile.errors",
    "jax.typing": "transpile.typing",
    "jax.dtypes": "transpile.dtypes",
    "jax.stages": "transpile.stages",
    "jax.dlpack": "transpile.dlpack",
    "jax.export": "transpile.export",
    "jax.sharding": "transpile.sharding",
    "jax.core": "transpile.core",
    "jax.extend.core": "transpile.extend.core",
}

DEVICES = "of arrays that are spread over devices; here arrays are NumPy's, and `pmap` cuts them"
COLLECTIVE = "sent by one side alone, which JAX has on GPUs only; `ppermute` does both"
SYMBOLIC = "of sizes with names; sizes are known when a function is traced"
SETTINGS = "a setting of JAX's own; here a program's options are arguments of `jit`"
INTERNALS = "of JAX's inner workings, no computation"
NARROW = "a dtype of few bits, which C has not"
# What is missing, by reason; names neither here nor there fail the test.
REASONS: dict[str, dict[str, str]] = {
    "jax": {
        DEVICES: "Shard auto_pcast live_arrays make_array_from_callback "
        "make_array_from_process_local_data make_array_from_single_device_arrays memory "
        "remove_size_one_mesh_axis_from_type reshard set_mesh smap",
        SETTINGS: "allow_f16_reductions jax2tf_associative_scan_reductions no_execution no_tracing "
        "thread_guard",
        INTERNALS: "ad ds fwd_and_bwd make_user_context print_environment_info",
    },
    "jax.numpy": {
        NARROW: "float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 "
        "float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
        "float8_e8m0fnu int1 int2 int4 uint1 uint2 uint4",
    },
    "jax.lax": {
        COLLECTIVE: "precv psend",
        "random numbers without a state; `random.uniform` takes a key": "rng_uniform",
    },
    "jax.debug": {
        DEVICES: "inspect_array_sharding visualize_array_sharding visualize_sharding",
        "stops in a compiled program; `disable_jit()` runs Python, which debuggers know": (
            "breakpoint"
        ),
        INTERNALS: "DebugEffect OrderedDebugEffect",
    },
    "jax.ad_checkpoint": {
        "what a policy may return: here a bool, is the value stored": "Offloadable Recompute "
        "Saveable",
    },
    "jax.errors": {
        "of which nothing here is an instance; `TracerError` is the base class of the others": (
            "InconclusiveDimensionOperation JAXIndexError JAXTypeError JaxRuntimeError "
            "JaxprTypeError KeyReuseError NonConcreteBooleanIndexError"
        ),
    },
    "jax.stages": {"a dict here": "CompilerOptions"},
    "jax.export": {
        SYMBOLIC: "SymbolicScope is_symbolic_dim symbolic_args_specs symbolic_shape",
        INTERNALS: "DisabledSafetyCheck maximum_supported_calling_convention_version "
        "minimum_supported_calling_convention_version register_namedtuple_serialization "
        "register_pytree_node_serialization",
    },
    "jax.sharding": {
        DEVICES: "AbstractDevice ManualAxisType auto_axes explicit_axes get_abstract_mesh "
        "get_mesh make_single_device_sharding reshard set_mesh use_abstract_mesh",
    },
    "jax.core": {
        INTERNALS: "AbstractValue ParamDict Value eval_context",
        SYMBOLIC: "max_dim min_dim",
    },
    "jax.extend.core": {
        INTERNALS: "AbstractToken CallPrimitive DebugInfo DropVar Effect Effects "
        "InconclusiveDimensionOperation JaxprTypeError Token TraceTag array_types call_impl "
        "concrete_or_error find_top_trace gensym get_opaque_trace_state jaxprs_in_params "
        "mapped_aval new_jaxpr_eqn no_effects nonempty_axis_env_DO_NOT_USE "
        "primal_dtype_to_tangent_dtype set_current_trace subjaxprs take_current_trace "
        "unmapped_aval unsafe_am_i_under_a_jit_DO_NOT_USE unsafe_am_i_under_a_vmap_DO_NOT_USE "
        "unsafe_get_axis_names_DO_NOT_USE valid_jaxtype",
    },
}
# Functions whose parameters differ from JAX's, by reason: a name that JAX has besides, or another
# default. A flag, mask or bound of which None, False and "left out" are one thing is no difference.
POSITIONAL = "NumPy's takes these by position alone"
ARGUMENTS = {
    POSITIONAL: "numpy.matmul numpy.promote_types numpy.arange",
    "NumPy's: a mask of elements to compute, of which None is False": "numpy.add numpy.bitwise_and "
    "numpy.bitwise_or numpy.bitwise_xor numpy.logaddexp numpy.logaddexp2 numpy.logical_and "
    "numpy.logical_or numpy.logical_xor numpy.maximum numpy.minimum numpy.multiply numpy.negative "
    "numpy.subtract",
    "the same by default, said in NumPy's way": "numpy.argsort numpy.copy "
    "numpy.einsum_path numpy.eye numpy.frombuffer numpy.gradient numpy.indices numpy.modf "
    "numpy.sort numpy.tri numpy.vecdot numpy.isin "
    "numpy.polyval numpy.put numpy.roots numpy.vectorize numpy.searchsorted numpy.take_along_axis "
    "numpy.linalg.eigh lax.cond lax.switch lax.rng_bit_generator numpy.permute_dims",
    "of types that say along which axes values vary": "lax.all_gather",
    "an order of contractions is chosen in any case": "numpy.einsum",
    "a builtin of NumPy's, which does not say its parameters": "numpy.fromstring",
    "by the name that NumPy has for the argument": "numpy.linalg.matrix_rank lax.nextafter",
    "to be passed to `at(x)[i].set(v, mode=...)`": "numpy.put_along_axis",
    "sizes are known while tracing": "numpy.mask_indices",
    "all singular values are computed, of which a slice is a part": "numpy.linalg.svd",
}
MODULES: dict[str, str] = {
    "api_util": INTERNALS,
    "ffi": "a program is C, which calls nothing that it does not contain",
    "interpreters": INTERNALS,
    "lib": INTERNALS,
    "monitoring": INTERNALS,
    "profiler": "programs are C: profilers of C show them",
    "version": INTERNALS,
}


def is_name(module: types.ModuleType, name: str) -> bool:
    """Tell whether a name of a module of JAX's counts.

    Private and deprecated names, modules, and JAX's primitives (`sin_p`) do not. The distributions
    of `jax.scipy.stats` are modules, and do.
    """
    deprecated = getattr(module, "_deprecations", {})
    if name.startswith("_") or name.endswith("_p") or name in deprecated:
        return False
    is_module = isinstance(getattr(module, name), types.ModuleType)
    return not is_module or module.__name__ == "jax.scipy.stats"


def names_of_jax() -> dict[str, list[str]]:
    """The names of the installed JAX, by namespace; its version stands first."""
    found = {"version": [importlib.import_module("jax").__version__]}
    for title in NAMESPACES:
        module = importlib.import_module(title)
        found[title] = [name for name in dir(module) if is_name(module, name)]
    found["modules"] = []
    for title, prefix in (("jax", ""), ("jax.scipy", "scipy.")):
        module = importlib.import_module(title)
        for name in dir(module):
            if isinstance(getattr(module, name), types.ModuleType) and not name.startswith("_"):
                found["modules"].append(f"{prefix}{name}")
    return found


def names() -> dict[str, list[str]]:
    """The names that were written down."""
    found = json.loads(NAMES.read_text(encoding="utf-8"))
    return {title: text.split() for title, text in found.items()}


def namespace(title: str) -> object:
    """Our module for one of JAX's."""
    return importlib.import_module(NAMESPACES[title])


def sections() -> list[tuple[str, list[str], list[str]]]:
    """A title, the names that are here and those that are not, for each namespace."""
    found = []
    known = names()
    for title in NAMESPACES:
        here = [name for name in known[title] if hasattr(namespace(title), name)]
        found.append((title, here, [name for name in known[title] if name not in here]))
    return found


def reason(name: str, title: str) -> str:
    """Why a name is missing, or a KeyError: then it should be here, or the reason above."""
    for text, listed in REASONS.get(title, {}).items():
        if name in listed.split():
            return text
    raise KeyError(f"{title}.{name} is missing, for no reason")


HEAD = """# JAX's names

This page is generated by `python docs/jax_support.py` from the code and from the names of JAX {}.
[Porting from JAX](porting_from_jax.md) says what to change in a program, and what differs. Private
and deprecated names and JAX's primitives (`sin_p`) are not counted.

"""


ARGUMENTS_HEAD = """Every function of `numpy`, `lax`, `nn`, `random` and `scipy` that is here takes
the arguments that it takes in JAX, by the same names and with the same defaults, but for these.
`precision` lets tensor cores of a GPU round float32 ([cuda.md](cuda.md#precision)), and changes
nothing on a CPU. Some change nothing at all: `out_sharding`, `device`, `indices_are_sorted`,
`method`."""


def row(names: list[str]) -> str:
    """Names in a line."""
    return " ".join(f"`{name}`" for name in names)


def missing_modules() -> list[str]:
    """The modules of JAX's that have no counterpart here."""
    return [name for name in names()["modules"] if not is_here(f"transpile.{name}")]


def is_here(name: str) -> bool:
    """Tell whether there is a module, or an attribute of a module, of that name."""
    parent, _, last = name.rpartition(".")
    return hasattr(importlib.import_module(parent), last)


def page() -> str:
    """The text of the page."""
    parts = sections()
    lines = [HEAD.format(names()["version"][0]) + "| | here | of |", "|---|--:|--:|"]
    lines += [f"| `{title}` | {len(yes)} | {len(yes) + len(no)} |" for title, yes, no in parts]
    for title, yes, no in parts:
        lines += ["", f"## {title}", "", row(yes)]
        if no:
            lines += ["", "| not here | why |", "|---|---|"]
            reasons = dict.fromkeys(reason(name, title) for name in no)
            for text in reasons:
                lines.append(f"| {row([n for n in no if reason(n, title) == text])} | {text} |")
    lines += [
        "",
        "## Arguments",
        "",
        ARGUMENTS_HEAD,
        "",
        "| parameters that differ | why |",
        "|---|---|",
    ]
    lines += [f"| {row(text.split())} | {why} |" for why, text in ARGUMENTS.items()]
    lines += ["", "## Modules", "", "| not here | why |", "|---|---|"]
    lines += [f"| `jax.{name}` | {MODULES[name]} |" for name in missing_modules()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page or the names, or check that the page is up to date."""
    if "--names" in sys.argv[1:]:
        lines = [f"{json.dumps(k)}: {json.dumps(' '.join(v))}" for k, v in names_of_jax().items()]
        NAMES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return
    text = page()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            sys.exit(f"{PAGE.name} is out of date; run: python docs/jax_support.py")
        return
    PAGE.write_text(text, encoding="utf-8")
    print("\n".join(line for line in text.split("\n") if line.startswith("| `jax")))


if __name__ == "__main__":
    main()
