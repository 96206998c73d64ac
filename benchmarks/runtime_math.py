"""Times the elementary functions of runtime_c against glibc's vector library and its scalar one.

`python benchmarks/runtime_math.py [NAME ...]` prints nanoseconds an element, one thread, on
arrays that stay in the second-level cache. Needs gcc and glibc's libmvec.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

RUNTIME = Path(__file__).parents[1] / "runtime_c"
HEADERS = ("math.h", "stdint.h", "stdbool.h", "complex.h", "string.h")
FUNCTION = re.compile(r"^static inline [\w ]+?(\w+)\(.*?^}\n", re.MULTILINE | re.DOTALL)
FLAGS = [
    "-std=c11",
    "-O3",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
]
SIMD = ["-fopenmp-simd", "-finline-limit=20000"]
BINARY = {"power", "arctan2", "hypot", "logaddexp", "logaddexp2"}
C_NAMES = {"power": "pow"} | {f"arc{name}": f"a{name}" for name in ["sin", "cos", "tan", "tan2"]}
C_NAMES |= {f"arc{name}": f"a{name}" for name in ("sinh", "cosh", "tanh")}
NAMES = [
    "exp",
    "log",
    "sin",
    "sin_near",
    "cos",
    "cos_near",
    "tanh",
    "power",
    "expm1",
    "log1p",
    "exp2",
    "log2",
    "log10",
    "tan",
    "tan_near",
    "arctan",
    "arctan2",
    "arcsin",
    "arccos",
    "sinh",
    "cosh",
    "erf",
    "erfc",
    "cbrt",
    "arcsinh",
    "arccosh",
    "arctanh",
    "hypot",
    "logaddexp",
    "logaddexp2",
]
RANGES = {"arcsin": (-1, 1), "arccos": (-1, 1), "arctanh": (-1, 1), "arccosh": (1, 9)}
RANGES |= dict.fromkeys(("log", "log2", "log10", "log1p", "power"), (0.01, 20))
MAIN = """
int main(void)
{
    enum { n = 16384 };
    static TYPE x[n], y[n], out[n];
    for (int i = 0; i < n; i++) {
        x[i] = (TYPE)(LOW + (HIGH - LOW) * (rand() / (RAND_MAX + 1.0)));
        y[i] = (TYPE)(20 * (rand() / (RAND_MAX + 1.0)) - 10);
    }
    double best = 1e9;
    for (int round = 0; round < 12; round++) {
        struct timespec start, stop;
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (int repeat = 0; repeat < 20; repeat++) apply(n, out, x, y);
        clock_gettime(CLOCK_MONOTONIC, &stop);
        double seconds = (double)(stop.tv_sec - start.tv_sec);
        seconds += 1e-9 * (double)(stop.tv_nsec - start.tv_nsec);
        best = seconds < best ? seconds : best;
    }
    printf("%.3f\\n", 1e9 * best / (20.0 * n));
    return 0;
}
"""


def dependencies(name, functions, done):
    """Appends the text of a function to `done`, after those that it calls."""
    for word in dict.fromkeys(re.findall(r"\w+", functions[name])):
        if word in functions and word != name and word not in done:
            dependencies(word, functions, done)
    done[name] = functions[name]
    return done


def program(declarations, call, kind, bounds):
    """A C program that prints the time of `call` an element."""
    head = "#define _POSIX_C_SOURCE 200809L\n"
    head += "".join(f"#include <{h}>\n" for h in (*HEADERS, "stdio.h", "stdlib.h", "time.h"))
    kernel = (
        "__attribute__((noinline)) static void apply(int n, TYPE *restrict out,"
        " const TYPE *restrict x, const TYPE *restrict y)\n{\n    (void)y;\n    #pragma omp simd\n"
        f"    for (int i = 0; i < n; i++) out[i] = {call};\n}}\n"
    )
    text = head + declarations + kernel + MAIN
    low, high = bounds
    return text.replace("TYPE", kind).replace("LOW", str(low)).replace("HIGH", str(high))


def measure(text, flags, folder):
    """Compiles and runs a program; the number that it prints."""
    source, binary = folder / "time.c", folder / "time"
    source.write_text(text)
    subprocess.run(["gcc", *FLAGS, *flags, "-o", binary, source, "-lmvec", "-lm"], check=True)
    return float(subprocess.run([binary], check=True, capture_output=True, text=True).stdout)


def row(base, suffix, functions, folder):
    """Times of one function: ours, libmvec's, libm's (NaN where C has none)."""
    kind = "float" if suffix == "f32" else "double"
    arguments = "(x[i], y[i])" if base in BINARY else "(x[i])"
    bounds = RANGES.get(base, (-10, 10))
    name = f"{base}_{suffix}"
    ours = "\n".join(dependencies(name, functions, {}).values())
    times = [measure(program(ours, name + arguments, kind, bounds), SIMD, folder)]
    if base.startswith("logaddexp"):
        return [*times, float("nan"), float("nan")]
    plain = base.replace("_near", "")
    called = C_NAMES.get(plain, plain) + ("f" if suffix == "f32" else "")
    types = f"{kind}, {kind}" if base in BINARY else kind
    vector = f'{kind} {called}({types}) __attribute__((simd("notinbranch")));\n'
    times.append(measure(program(vector, called + arguments, kind, bounds), SIMD, folder))
    scalar = ["-fno-tree-vectorize"]
    return [*times, measure(program("", called + arguments, kind, bounds), scalar, folder)]


def main():
    paths = sorted(p for p in RUNTIME.rglob("*.h") if p.parent.name != "python")
    texts = [path.read_text() for path in paths]
    functions = {match[1]: match[0] for text in texts for match in FUNCTION.finditer(text)}
    print(f"{'ns an element':18}{'ours':>8}{'libmvec':>9}{'libm':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for base in sys.argv[1:] or NAMES:
            for suffix in ("f32", "f64"):
                times = row(base, suffix, functions, Path(folder))
                ours, vector, scalar = (f"{time:.3f}" for time in times)
                print(f"{base + '_' + suffix:18}{ours:>8}{vector:>9}{scalar:>8}", flush=True)


if __name__ == "__main__":
    main()
