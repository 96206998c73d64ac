"""Texts as MLIR prints them, with what they mean, and with what is wrong with them."""

import numpy as np
import pytest

import transpile
from transpile import from_hlo, from_stablehlo
from transpile.errors import HloError
from transpile.hlo_import import threefry
from transpile.ir.primitive import TABLE


def module(body, arguments="%arg0: tensor<3xf32>", result="tensor<3xf32>", others=""):
    return (
        f"module @m attributes {{mhlo.num_partitions = 1 : i32}} {{\n"
        f"  func.func public @main({arguments}) -> {result} {{\n{body}\n  }}\n{others}}}\n"
    )


X = np.array([1.5, -2.0, 0.5], np.float32)
Y = np.arange(12, dtype=np.float32).reshape(3, 4)
UNARY = {
    "stablehlo.negate": np.negative,
    "stablehlo.exponential": np.exp,
    "stablehlo.round_nearest_even": np.rint,
    "stablehlo.floor": np.floor,
    "stablehlo.sign": np.sign,
    "stablehlo.cbrt": np.cbrt,
}


@pytest.mark.parametrize("name", UNARY)
def test_short_and_generic_forms(name):
    short = module(f"    %0 = {name} %arg0 : tensor<3xf32>\n    return %0 : tensor<3xf32>")
    kind = "(tensor<3xf32>) -> tensor<3xf32>"
    generic = module(
        f'    %0 = "{name}"(%arg0) <{{}}> : {kind} loc("f.py":3:1)\n'
        '    "func.return"(%0) : (tensor<3xf32>) -> ()'
    )
    for text in (short, generic):
        np.testing.assert_allclose(from_stablehlo(text)(X), UNARY[name](X), rtol=1e-6)


ELEMENTS = {
    "dense<[1.0, -2.5, 0x7F800000]> : tensor<3xf32>": np.float32([1, -2.5, np.inf]),
    "dense<0xFFC00000> : tensor<f32>": np.float32(np.nan),
    "dense<7> : tensor<2x2xui8>": np.full((2, 2), 7, np.uint8),
    "dense<[[1, 2], [3, -4]]> : tensor<2x2xi16>": np.int16([[1, 2], [3, -4]]),
    "dense<[true, false]> : tensor<2xi1>": np.array([True, False]),
    'dense<"0x0000803F000000C0"> : tensor<2xf32>': np.float32([1, -2]),
    'dense<"0x05"> : tensor<3xi1>': np.array([True, False, True]),
    "dense<(1.0, -2.0)> : tensor<complex<f64>>": np.complex128(1 - 2j),
    "dense<[(1.0, 2.0), (0.0, 0x7F800000)]> : tensor<2xcomplex<f32>>": np.complex64(
        [1 + 2j, complex(0, np.inf)]
    ),
    "dense<> : tensor<0x2xf32>": np.zeros((0, 2), np.float32),
    "dense<0x3C00> : tensor<f16>": np.float16(1),
    "dense<1.5> : tensor<bf16>": 1.5,
    "dense<18446744073709551615> : tensor<ui64>": np.uint64(2**64 - 1),
}


@pytest.mark.parametrize("text", ELEMENTS)
def test_constants(text):
    kind = text.split(" : ")[1]
    body = f"    %cst = stablehlo.constant {text}\n    return %cst : {kind}"
    got = from_stablehlo(module(body, "", kind))()
    np.testing.assert_array_equal(
        np.asarray(got).astype(np.asarray(ELEMENTS[text]).dtype), ELEMENTS[text]
    )


def test_regions_calls_and_attributes():
    body = """
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1]
      : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
    %1:2 = call @pair(%0) : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi1>)
    %2 = "stablehlo.sort"(%1#0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %9 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<3xf32>) -> tensor<3xf32>
    %3 = stablehlo.select %1#1, %2, %0 : tensor<3xi1>, tensor<3xf32>
    return %3 : tensor<3xf32>"""
    pair = """  func.func private @pair(%arg0: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi1>) {
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %1 = stablehlo.compare LT, %arg0, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    return %arg0, %1 : tensor<3xf32>, tensor<3xi1>
  }
""".replace("    %0 =", "    %c = stablehlo.constant dense<30.0> : tensor<f32>\n    %0 =", 1)
    arguments = '%arg0: tensor<3x4xf32> {tf.aliasing_output = 0 : i32, mhlo.sharding = "{r}"}'
    f = from_stablehlo(module(body, arguments, others=pair))
    total = Y.sum(1)
    want = np.where(total < 30, np.sort(total)[::-1], total)
    np.testing.assert_array_equal(f(Y), want)
    assert f.donate_argnums == (0,)


def test_a_branch_reads_its_surroundings():
    body = """
    %0 = stablehlo.sine %arg0 : tensor<3xf32>
    %1 = "stablehlo.case"(%arg1) ({
      stablehlo.return %0 : tensor<3xf32>
    }, {
      %2 = stablehlo.add %0, %arg0 : tensor<3xf32>
      stablehlo.return %2 : tensor<3xf32>
    }, {
      stablehlo.return %arg0 : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>"""
    f = from_stablehlo(module(body, "%arg0: tensor<3xf32>, %arg1: tensor<i32>"))
    for index, want in ((0, np.sin(X)), (1, np.sin(X) + X), (2, X), (7, X), (-1, X)):
        np.testing.assert_allclose(f(X, np.int32(index)), want, rtol=1e-6)


LOOP = """
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0:2 = stablehlo.while(%i = %c, %s = %arg0) : tensor<i64>, tensor<3xf32>
    cond {
      %n = stablehlo.constant dense<5> : tensor<i64>
      %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i64>
      %1 = stablehlo.add %i, %one : tensor<i64>
      %2 = stablehlo.multiply %s, %arg0 : tensor<3xf32>
      stablehlo.return %1, %2 : tensor<i64>, tensor<3xf32>
    }
    return %0#1 : tensor<3xf32>"""


def test_a_loop_that_counts_has_a_gradient():
    f = from_stablehlo(module(LOOP))
    np.testing.assert_allclose(f(X), X**6, rtol=1e-6)
    slope = transpile.grad(lambda x: f(x).sum())(X)
    np.testing.assert_allclose(slope, 6 * X**5, rtol=1e-5)
    many = np.stack([X, X + 1])
    np.testing.assert_allclose(transpile.vmap(f)(many), many**6, rtol=1e-5)


def test_a_function_is_compiled_and_saved(tmp_path):
    f = from_stablehlo(module(LOOP), file_name="powers.mlir")
    lowered = transpile.jit(f).lower(*f.in_avals)
    text = lowered.as_text()
    assert "powers.mlir:" in text and "stablehlo.multiply" in text
    lowered.compile().save(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"m.c", "m.h", "m.so"}
    np.testing.assert_allclose(transpile.jit(f)(X), X**6, rtol=1e-6)


def test_arguments_have_the_types_of_the_module():
    f = from_stablehlo(module("    return %arg0 : tensor<3xf32>"))
    with pytest.raises(TypeError, match=r"argument 0 of m is f32\[3\], not f64\[3\]"):
        f(X.astype(np.float64))
    with pytest.raises(TypeError, match="m takes 1 arrays, not 2"):
        f(X, X)
    with pytest.raises(TypeError, match="the text of a module is a str, not bytes"):
        from_stablehlo(b"")
    with pytest.raises(TypeError, match="a module is a str or bytes, not int"):
        from_hlo(3)


WRONG = {
    "    %0 = stablehlo.frobnicate %arg0 : tensor<3xf32>\n    return %0 : tensor<3xf32>": (
        "line 3, column 5: the instruction frobnicate is not supported"
    ),
    "    %0 = stablehlo.sine %arg1 : tensor<3xf32>\n    return %0 : tensor<3xf32>": (
        "line 3, column 5: stablehlo.sine: there is no value %arg1 here"
    ),
    "    %0 = stablehlo.sine %arg0 : tensor<4xf32>\n    return %0 : tensor<4xf32>": (
        "line 3, column 5: sine: the result is f32[3], not f32[4]"
    ),
    "    %0 = stablehlo.slice %arg0 [0:9] : (tensor<3xf32>) -> tensor<9xf32>\n    return": (
        "line 3, column 5: slice: "
    ),
    "    %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<3xf32>\n    return": (
        "line 3, column 29: these elements are no constant: 2 elements are given for f32[3]"
    ),
    "    %0 = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2xf32>\n    return": (
        "line 3, column 29: these elements are no constant: the elements are not nested"
    ),
    "    %0 = stablehlo.add %arg0 %arg0 : tensor<?xf32>\n    return": (
        "line 3, column 38: tensor<?xf32> has sizes that are known at run time"
    ),
    "    %0 = stablehlo.add %arg0, %arg0 : tensor<3xf8E4M3FN>\n    return": (
        "line 3, column 39: elements of type f8E4M3FN are not supported"
    ),
    "    %0 = func.call @main(%arg0) : (tensor<3xf32>) -> tensor<3xf32>\n    return": (
        "line 2, column 3: @main calls itself"
    ),
    "    %0 = call @other(%arg0) : (tensor<3xf32>) -> tensor<3xf32>\n    return": (
        "line 3, column 5: call: there is no function @other"
    ),
    '    %0 = stablehlo.custom_call @mine(%arg0) {backend_config = ""} : (tensor<3xf32>) -> '
    "tensor<3xf32>\n    return %0 : tensor<3xf32>": (
        "line 3, column 5: custom-call: there is no meaning for the target 'mine'"
    ),
    "    %0 = stablehlo.sine %arg0 : tensor<3xf32>": "this region returns nothing",
    "    %0 = " + '"a"({' * 70: "line 3, column",
}


@pytest.mark.parametrize("body", WRONG, ids=lambda body: body.strip()[:40])
def test_errors_say_where_and_what(body):
    with pytest.raises(HloError) as caught:
        from_stablehlo(module(body))
    assert WRONG[body] in str(caught.value)


def test_hlo_text_before_and_after_optimisation():
    text = """HloModule jit_f, is_scheduled=true, layout={(f32[2,3]{1,0})->f32[3,2]{1,0}}

FileNames
1 "f.py"

%region_0.1 (a.1: f32[], b.2: f32[]) -> f32[] {
  %a.1 = f32[] parameter(0)
  %b.2 = f32[] parameter(1)
  ROOT %m = f32[] maximum(%a.1, f32[] %b.2), metadata={op_name="max" source_line=3}
}

%fused (p: f32[2,3]) -> f32[3,2] {
  %p = f32[2,3]{0,1} parameter(0)
  %c.1 = f32[] constant(-inf)
  %r.2 = f32[2]{0} reduce(%p, %c.1), dimensions={1}, to_apply=%region_0.1
  %b.3 = f32[2,3]{0,1} broadcast(%r.2), dimensions={0}
  %s.4 = f32[2,3]{0,1} subtract(%p, %b.3), control-predecessors={%r.2}
  ROOT %t.5 = f32[3,2]{1,0} bitcast(%s.4)
}

ENTRY %main (x: f32[2,3]) -> f32[3,2] {
  %x = f32[2,3]{1,0} parameter(0)
  ROOT %f = f32[3,2]{1,0} fusion(f32[2,3]{1,0} %x), kind=kLoop, calls=%fused
}
"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3) ** 2
    f = from_hlo(text)
    assert f.__name__ == "jit_f"
    np.testing.assert_array_equal(f(x), (x - x.max(1, keepdims=True)).T)
    for wrong, message in (
        (text.replace("maximum(", "maximal("), "line 9, column 3: the instruction maximal"),
        (text.replace("%b.2)", "%b.7)"), "line 9, column 3: maximum: there is no value b.7 here"),
        (text.replace("calls=%fused", "calls=%main"), "main calls itself"),
    ):
        with pytest.raises(HloError) as caught:
            from_hlo(wrong)
        assert message in str(caught.value)
    with pytest.raises(HloError, match="these bytes are no HloModuleProto"):
        from_hlo(b"\xff" * 9)


PREDICATE = "tensor<f32>, tensor<f32>) -> tensor<i1>"
COMPARISONS = {
    "plain": "%0 = stablehlo.compare LT, %a, %b : (" + PREDICATE,
    "by absolute value": (
        "%x = stablehlo.abs %a : tensor<f32>\n%y = stablehlo.abs %b : tensor<f32>\n"
        "%0 = stablehlo.compare LT, %x, %y : (" + PREDICATE
    ),
    "descending": "%0 = stablehlo.compare GT, %a, %b : (" + PREDICATE,
    "total order": "%0 = stablehlo.compare LT, %a, %b, TOTALORDER : (" + PREDICATE,
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_sorts_by_any_comparison(name):
    x = np.float32([[3, -1, 2, -3, 0.0, -0.0, 1], [1, 1, -2, 2, 5, -5, 0]])
    body = f"""
    %r:2 = "stablehlo.sort"(%arg0, %arg1) <{{dimension = 1 : i64, is_stable = true}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      {COMPARISONS[name]}
      stablehlo.return %0 : tensor<i1>
    }}) : (tensor<2x7xf32>, tensor<2x7xi32>) -> (tensor<2x7xf32>, tensor<2x7xi32>)
    return %r#0, %r#1 : tensor<2x7xf32>, tensor<2x7xi32>"""
    kinds = "(tensor<2x7xf32>, tensor<2x7xi32>)"
    f = from_stablehlo(module(body, "%arg0: tensor<2x7xf32>, %arg1: tensor<2x7xi32>", kinds))
    keys = {
        "plain": x,
        "by absolute value": np.abs(x),
        "descending": -x,
        "total order": np.where(np.signbit(x), x - 1e-6, x),
    }[name]
    order = np.argsort(keys, axis=1, kind="stable")
    numbers = np.tile(np.arange(7, dtype=np.int32), (2, 1))
    values, indices = f(x, numbers)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


@pytest.mark.parametrize(("letters", "sign"), [("GT", -1), ("LT", 1)])
def test_the_nearest_elements_are_those_of_the_comparison_that_is_handed_on(letters, sign):
    options = "reduction_dim = 0 : i64, top_k = 2 : i64, recall_target = 0.9 : f32"
    kinds = "(tensor<2x3xf32>, tensor<2x3xi32>)"
    text = f"""
    module @jit_f {{
      func.func @before(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>)
          -> tensor<i1> {{
        %0 = stablehlo.compare {letters}, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        return %0 : tensor<i1>
      }}
      func.func public @main(%x: tensor<4x3xf32>) -> {kinds} {{
        %i = stablehlo.iota dim = 0 : tensor<4x3xi32>
        %c = stablehlo.constant dense<-1> : tensor<i32>
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %r:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %z, %c) {{
          called_computations = [@before], mhlo.backend_config = {{{options}}}}}
          : (tensor<4x3xf32>, tensor<4x3xi32>, tensor<f32>, tensor<i32>) -> {kinds}
        return %r#0, %r#1 : tensor<2x3xf32>, tensor<2x3xi32>
      }}
    }}"""
    x = np.float32([[3, 1, 2], [5, 1, -1], [4, 0, 9], [3, 7, 2]])
    values, indices = from_stablehlo(text)(x)
    np.testing.assert_array_equal(indices, np.argsort(sign * x, axis=0, kind="stable")[:2])
    np.testing.assert_array_equal(values, np.sort(sign * x, axis=0)[:2] * sign)
    for wrong in (
        text.replace("dim = 0 : i64", "dim = 7 : i64"),
        text.replace("top_k = 2", "t = 2"),
    ):
        with pytest.raises(HloError, match=r"it has no axis|how many elements"):
            from_stablehlo(wrong)
    with pytest.raises(HloError, match="there is no function @other"):
        from_stablehlo(text.replace("[@before]", "[@other]"))


def test_scatters_by_any_function():
    body = """
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{
      scatter_dimension_numbers = #stablehlo.scatter<
        update_window_dims = [1], inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
      unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.multiply %a, %a : tensor<f32>
      %2 = stablehlo.subtract %1, %b : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>"""
    arguments = "%arg0: tensor<4x2xf32>, %arg1: tensor<3x1xi32>, %arg2: tensor<3x2xf32>"
    f = from_stablehlo(module(body, arguments, "tensor<4x2xf32>"))
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    updates = np.arange(6, dtype=np.float32).reshape(3, 2) - 2
    where = np.int32([[1], [7], [1]])  # one is out of range, one comes twice
    want = x.copy()
    for (row,), update in zip(where, updates, strict=True):
        if row < 4:
            want[row] = want[row] ** 2 - update
    np.testing.assert_array_equal(f(x, where, updates), want)


def test_threefry_is_found_by_its_rounds():
    words = [np.uint32(7), np.uint32(2**31 + 5), np.arange(6, dtype=np.uint32), np.ones(6, "u4")]
    text = transpile.xla_computation(threefry.rounds)(*words).as_stablehlo_text()
    f = from_stablehlo(text)
    assert "threefry_2x32" in str(transpile.make_jaxpr(f)(*words))
    key = np.full(6, (int(words[0]) << 32) + int(words[1]), np.uint64)
    counter = (words[2].astype("u8") << np.uint64(32)) + words[3]
    both = TABLE["threefry_2x32"].numpy(key, counter)
    np.testing.assert_array_equal(f(*words)[0], (both >> np.uint64(32)).astype("u4"))
    np.testing.assert_array_equal(f(*words)[1], both.astype("u4"))
    # One word of another round: what it is not, it is not taken for.
    other = from_stablehlo(text.replace("<13> : tensor<ui32>", "<12> : tensor<ui32>"))
    assert "threefry_2x32" not in str(transpile.make_jaxpr(other)(*words))
    assert not np.array_equal(other(*words)[0], f(*words)[0])
