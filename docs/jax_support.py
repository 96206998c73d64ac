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
    "jax.tree_util": "transpile.tree_util",
    "jax.tree": "transpile.tree",
    "jax.flatten_util": "transpile.flatten_util",
    "jax.ops": "transpile.ops",
    "jax.debug": "transpile.debug",
}

DEVICES = "of several devices, and of what is where among them; there is one CPU here"
COLLECTIVE = "between the programs of several devices; there is one here"
SETTINGS = "a setting of JAX's own; here a program's options are arguments of `jit`"
INTERNALS = "of JAX's inner workings, no computation"
REFERENCES = "of JAX's mutable references; traced arrays can be assigned to"
NARROW = "a dtype of few bits, which C has not"
# What is missing, by reason; names neither here nor there fail the test.
REASONS: dict[str, dict[str, str]] = {
    "jax": {
        DEVICES: "NamedSharding P Shard auto_pcast live_arrays make_array_from_callback "
        "make_array_from_process_local_data make_array_from_single_device_arrays make_mesh memory "
        "pmap remove_size_one_mesh_axis_from_type reshard set_mesh shard_map smap",
        REFERENCES: "Ref empty_ref free_ref freeze new_ref",
        SETTINGS: "allow_f16_reductions jax2tf_associative_scan_reductions no_execution no_tracing "
        "thread_guard",
        INTERNALS: "ad ds fwd_and_bwd make_user_context print_environment_info",
        "takes results from Python; `debug.callback` calls it without": "pure_callback",
    },
    "jax.numpy": {
        NARROW: "float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 "
        "float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
        "float8_e8m0fnu int1 int2 int4 uint1 uint2 uint4",
    },
    "jax.lax": {
        COLLECTIVE: "all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin "
        "ppermute precv psend pshuffle psum psum_scatter pswapaxes ragged_all_to_all",
        "random bits that depend on the device; `random.bits` gives the same everywhere": (
            "rng_bit_generator rng_uniform"
        ),
    },
    "jax.scipy.stats": {
        "to come; the distributions that sampling programs use are here": "betabinom gaussian_kde "
        "gennorm gumbel_l gumbel_r mode multinomial nbinom pareto rankdata sem truncnorm vonmises "
        "wrapcauchy",
    },
    "jax.debug": {
        DEVICES: "inspect_array_sharding visualize_array_sharding visualize_sharding",
        "stops in a compiled program; `disable_jit()` runs Python, which debuggers know": (
            "breakpoint"
        ),
        INTERNALS: "DebugEffect OrderedDebugEffect",
    },
}
SCIPY = "of SciPy there are special functions and linear algebra; others are to come"
EXPERIMENTS = "its parts have no fixed names in JAX either"
MODULES: dict[str, str] = {
    "api_util": INTERNALS,
    "core": INTERNALS,
    "custom_batching": "a rule of one's own for `vmap`; to come",
    "custom_derivatives": "`custom_jvp` and its like are in `transpile` itself",
    "distributed": DEVICES,
    "dlpack": "results are NumPy arrays: `numpy.from_dlpack` and `array.__dlpack__` serve",
    "experimental": EXPERIMENTS,
    "export": "`Compiled.save` writes a C library, `pickle` a `Compiled`",
    "ffi": "a program is C, which calls nothing that it does not contain",
    "image": "resizing of pictures; to come",
    "interpreters": INTERNALS,
    "lib": INTERNALS,
    "monitoring": INTERNALS,
    "profiler": "programs are C: profilers of C show them",
    "ref": REFERENCES,
    "scipy.cluster": SCIPY,
    "scipy.fft": SCIPY,
    "scipy.integrate": SCIPY,
    "scipy.interpolate": SCIPY,
    "scipy.ndimage": SCIPY,
    "scipy.signal": SCIPY,
    "scipy.sparse": SCIPY,
    "sharding": DEVICES,
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
