"""Attention: against sums written out, in every form of its arguments; and scaled products."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import seeds
from hypothesis import given, settings
from hypothesis import strategies as st

import transpile as tp
from transpile import errors, nn

SHAPES = [(2, 3, 4, 6, 2, 5), (1, 4, 2, 4, 1, 3), (3, 2, 2, 5, 2, 1)]  # B, T, N, S, K, H


def operands(shape, seed=0, dtype="float64"):
    B, T, N, S, K, H = shape
    random = np.random.default_rng(seed)
    return [random.normal(size=s).astype(dtype) for s in ((B, T, N, H), (B, S, K, H), (B, S, K, H))]


def by_hand(q, k, v, bias=None, allowed=None, scale=None, queries=None):
    """One query at a time; `allowed` and `bias` are BNTS."""
    B, T, N, H = q.shape
    out = np.zeros_like(q)
    for b in range(B):
        for n in range(N):
            head = n // (N // k.shape[2])
            for t in range(T):
                logits = k[b, :, head] @ q[b, t, n] * (scale or H**-0.5)
                if bias is not None:
                    logits = logits + np.broadcast_to(bias, (B, N, T, len(logits)))[b, n, t]
                if allowed is not None:
                    logits = np.where(
                        np.broadcast_to(allowed, (B, N, T, len(logits)))[b, n, t], logits, -1e38
                    )
                e = np.exp(logits - logits.max())
                if queries is None or t < queries[b]:
                    out[b, t, n] = e / e.sum() @ v[b, :, head]
    return out


def places(T, S):
    return np.arange(T)[:, None], np.arange(S)[None, :]


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(SHAPES),
    st.sampled_from(
        ["plain", "bias", "mask", "causal", "window", "left", "keys", "queries", "scale"]
    ),
    seeds,
)
def test_attention_is_its_sum(shape, form, seed):
    B, T, N, S, _, _ = shape
    q, k, v = operands(shape, seed)
    random = np.random.default_rng(seed)
    t, s = places(T, S)
    options, expected = {}, {}
    match form:
        case "bias":
            options["bias"] = expected["bias"] = random.normal(
                size=(B, random.choice([1, N]), T, S)
            )
        case "mask":
            options["mask"] = expected["allowed"] = random.random((1, N, T, S)) < 0.6
        case "causal":
            options["is_causal"], expected["allowed"] = True, t >= s
        case "window":
            options["local_window_size"], expected["allowed"] = 1, abs(t - s) <= 1
        case "left":
            options["local_window_size"], expected["allowed"] = (2, 0), (t <= s + 2) & (t >= s)
        case "keys":
            lengths = random.integers(1, S + 1, B).astype(np.int32)
            options["key_value_seq_lengths"] = lengths
            expected["allowed"] = s < lengths[:, None, None, None]
        case "queries":
            options["query_seq_lengths"] = expected["queries"] = random.integers(0, T + 1, B)
        case "scale":
            options["scale"] = expected["scale"] = 0.3
    found = nn.dot_product_attention(q, k, v, **options)
    np.testing.assert_allclose(found, by_hand(q, k, v, **expected), rtol=1e-10, atol=1e-12)


def test_attention_in_c_with_everything():
    shape = SHAPES[0]
    q, k, v = operands(shape)
    t, s = places(3, 6)
    bias = np.linspace(-1, 1, 18).reshape(3, 6)
    mask = np.ones((2, 4, 3, 6), bool)
    mask[:, 1, :, 2] = False
    lengths = np.array([5, 2], np.int32)

    @tp.jit
    def attend(q, k, v, bias, mask, lengths):
        return nn.dot_product_attention(
            q, k, v, bias, mask, is_causal=True, key_value_seq_lengths=lengths, return_residual=True
        )

    found, residual = attend(q, k, v, bias, mask, lengths)
    allowed = mask & (t >= s) & (s < lengths[:, None, None, None])
    np.testing.assert_allclose(found, by_hand(q, k, v, bias, allowed), rtol=1e-10)
    logits = (
        np.einsum("btkgh,bskh->bkgts", q.reshape(2, 3, 2, 2, 5), k).reshape(2, 4, 3, 6) / 5**0.5
    )
    expected = np.log(np.where(allowed, np.exp(logits + bias), 0).sum(-1)).transpose(0, 2, 1)
    np.testing.assert_allclose(residual, expected, rtol=1e-10)


def test_attention_without_a_batch_and_of_halves():
    q, k, v = operands(SHAPES[0])
    whole = nn.dot_product_attention(q, k, v, is_causal=True)
    np.testing.assert_allclose(
        nn.dot_product_attention(q[0], k[0], v[0], is_causal=True), whole[0], rtol=1e-14
    )
    half = nn.dot_product_attention(*[x.astype(np.float16) for x in (q, k, v)], is_causal=True)
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, whole, atol=5e-3)


def test_attention_of_nothing_is_the_mean_and_has_derivatives():
    q, k, v = operands(SHAPES[1])
    found = nn.dot_product_attention(q, k, v, mask=np.zeros((1, 1, 4, 4), bool))
    np.testing.assert_allclose(
        found, np.broadcast_to(v.mean(1, keepdims=True), found.shape), rtol=1e-14
    )
    causal = lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True)
    tp.test_util.check_grads(causal, (q, k, v), 1)
    residual = lambda q: nn.dot_product_attention(q, k, v, return_residual=True)[1].sum()
    assert not tp.grad(residual)(q).any()


def test_attention_is_batched_like_a_loop():
    stacked = [
        np.stack(pair) for pair in zip(operands(SHAPES[0], 1), operands(SHAPES[0], 2), strict=True)
    ]
    attend = lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True)
    found = tp.vmap(attend)(*stacked)
    expected = [attend(*parts) for parts in zip(*stacked, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


WRONG = [
    ({"v": np.zeros((2, 5, 2, 5))}, "value shape should be [2, 6, 2, 5]: but got (2, 5, 2, 5)"),
    ({"q": np.zeros((2, 3, 4, 4))}, "query shape should be [2, -1, -1, 5]: but got (2, 3, 4, 4)"),
    ({"q": np.zeros((2, 3, 3, 5))}, "heads must be a multiple of key/value heads, but got 3 vs 2"),
    ({"q": np.zeros((2, 3, 4, 5), np.float32)}, "query dtype should be float64, but got float32"),
    ({"mask": np.zeros((1, 1, 3, 6))}, "mask dtype should be bool, but got float64"),
    ({"bias": np.zeros((1, 1, 1, 3, 6))}, "bias ndim should be 4, but got 5"),
    ({"bias": np.zeros((1, 3, 3, 6))}, "bias has 3 heads, where there are 4 of queries"),
    ({"query_seq_lengths": np.array([2])}, "query_seq_lengths shape should be [2]: but got (1,)"),
    ({"implementation": "x"}, "Unsupported implementation option: x"),
]


@pytest.mark.parametrize(("change", "text"), WRONG, ids=[text for _, text in WRONG])
def test_operands_that_do_not_fit(change, text):
    q, k, v = operands(SHAPES[0])
    given = {"q": q, "v": v, **change}
    with pytest.raises(ValueError) as found:
        nn.dot_product_attention(given.pop("q"), k, given.pop("v"), **given)
    assert text in str(found.value)


def test_scaled_matmul_scales_blocks():
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 3, 8)), random.normal(size=(2, 5, 8))
    a_scales, b_scales = random.random((2, 3, 4)), random.random((2, 5, 4))
    expected = np.einsum(
        "bmk,bnk->bmn", a * np.repeat(a_scales, 2, 2), b * np.repeat(b_scales, 2, 2)
    )
    found = tp.jit(lambda *x: nn.scaled_matmul(*x, np.float64))(a, b, a_scales, b_scales)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert nn.scaled_matmul(a, b, a_scales, b_scales).dtype == np.float32
    with pytest.raises(ValueError, match=r"matching batch \(B\) and contract \(K\)"):
        nn.scaled_matmul(a, b[:, :, :4], a_scales, b_scales)
    with pytest.raises(ValueError, match="scales to match non-contract dimensions of inputs"):
        nn.scaled_matmul(a, b, a_scales[:, :2], b_scales)
    with pytest.raises(ValueError, match="3-dimensional"):
        nn.scaled_matmul(a[0], b, a_scales, b_scales)


def test_scaled_dot_general_without_a_scale_is_dot_general():
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 3, 4)), random.normal(size=(2, 5, 4))
    numbers = (((2,), (2,)), ((0,), (0,)))
    found = nn.scaled_dot_general(a, b, numbers, np.float64)
    np.testing.assert_allclose(found, np.einsum("bmk,bnk->bmn", a, b), rtol=1e-13)
    with pytest.raises(errors.UnsupportedError, match="8 bits"):
        nn.scaled_dot_general(a, b, numbers, configs=[None])
    with pytest.raises(errors.UnsupportedError, match="numbers of 4 bits"):
        nn.get_scaled_dot_general_config("nvfp4")
    with pytest.raises(ValueError, match="Unsupported mode: x"):
        nn.get_scaled_dot_general_config("x")
