"""Composites that a module writes out are recognised, and give PyTorch's numbers."""

from __future__ import annotations

from math import pi, sqrt

import modules
import pytest
import torch
from remat.torch import import_module
from remat.torch.check import check
from torch.nn import functional as F


def new_gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(sqrt(2.0 / pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def fast_gelu(x):
    return x * 0.5 * (1.0 + torch.tanh(x * 0.7978845608028654 * (1.0 + 0.044715 * x * x)))


def cubed_gelu(x):
    return x * (0.5 * (torch.tanh((x + x * x * x * 0.044715) * sqrt(2 / pi)) + 1))


def rms(x):
    weight = torch.linspace(0.5, 1.5, x.shape[-1])
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rms_over_root(x):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6)


def layer_norm(x):
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).pow(2).mean(-1, keepdim=True)
    weight = torch.linspace(0.5, 1.5, x.shape[-1])
    return weight * ((x - mean) / torch.sqrt(variance + 1e-5)) + weight * 0.1


def normalised(x):
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5)


def softmax(x):
    shifted = torch.exp(x - x.amax(-1, keepdim=True))
    return shifted / shifted.sum(-1, keepdim=True)


def attended(x):
    # Keys and values are the queries, moved: scores of 2 x 2 heads of 4 tokens, 8 wide.
    keys, values = x.roll(1, 2), x.flip(-1)
    scores = x @ keys.transpose(-2, -1) / sqrt(x.shape[-1])
    hidden = torch.ones(4, 4, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(hidden, float("-inf"))
    return torch.softmax(scores, -1) @ values


def attended_added(x):
    mask = torch.zeros(4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), float("-inf"))
    return torch.softmax((x * 0.3) @ x.roll(1, 2).transpose(-2, -1) + mask, dim=-1) @ x


def negative_log_likelihood(x):
    targets = torch.arange(x.shape[0]) % x.shape[1]
    return F.nll_loss(F.log_softmax(x, dim=-1), targets)


WHOLE = {
    "new_gelu": (new_gelu, (3, 8), "gelu"),
    "cubed_gelu": (cubed_gelu, (3, 8), "gelu"),
    "erf_gelu": (lambda x: x * 0.5 * (1.0 + torch.erf(x / sqrt(2.0))), (3, 8), "gelu"),
    "silu": (lambda x: x * torch.sigmoid(x), (3, 8), "silu"),
    "rms": (rms, (3, 8), "rms_norm"),
    "rms_over_root": (rms_over_root, (3, 8), "rms_norm"),
    "layer_norm": (layer_norm, (3, 8), "layer_norm"),
    "normalised": (normalised, (3, 8), "layer_norm"),
    "softmax": (softmax, (3, 8), "softmax"),
    "rolled": (lambda x: x.roll(-3, 1), (3, 8), "roll"),
    "attended": (attended, (2, 2, 4, 8), "attention"),
    "attended_added": (attended_added, (2, 2, 4, 8), "attention"),
    "negative_log_likelihood": (negative_log_likelihood, (4, 6), "cross_entropy"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_becomes_one_operation(name):
    function, shape, mnemonic = WHOLE[name]
    module, args = modules.functions({name: (function, shape)})
    found = [one.mnemonic for one in import_module(module, args).graph.operations]
    assert found.count(mnemonic) == 1, found


def test_their_values_and_gradients():
    cases = {name: (function, shape) for name, (function, shape, _) in WHOLE.items()}
    done = check(*modules.functions({**cases, "fast_gelu": (fast_gelu, (3, 8))}))
    assert done.passed, str(done)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 0.4 * x * (1.0 + torch.erf(x / sqrt(2.0))),  # another factor
        lambda x: x * torch.rsqrt(x.pow(2).mean(0, keepdim=True) + 1e-6),  # another dimension
        lambda x: x / torch.sqrt(x.var(-1, keepdim=True) + 1e-6),  # with Bessel's correction
        lambda x: x * torch.sigmoid(1.7 * x),
    ],
)
def test_what_only_looks_alike_is_left(function):
    module, args = modules.functions({"x": (function, (4, 8))})
    found = {one.mnemonic for one in import_module(module, args).graph.operations}
    assert not found & {"gelu", "silu", "rms_norm", "layer_norm"}, found
    done = check(module, args)
    assert done.passed, str(done)


def repeated(x, count):
    """Each head for `count` heads of the queries, as transformers writes it."""
    batch, heads, length, width = x.shape
    wide = x[:, :, None, :, :].expand(batch, heads, count, length, width)
    return wide.reshape(batch, heads * count, length, width)


def shared_in_kernel(x):
    return F.scaled_dot_product_attention(x, x[:, :2], x[:, 2:4], enable_gqa=True)


def repeated_for_kernel(x):
    keys, values = repeated(x[:, :2], 3), repeated(x[:, 2:4], 3)
    return F.scaled_dot_product_attention(x, keys, values, is_causal=True)


def repeated_written_out(x):
    keys, values = repeated(x[:, :2], 3), repeated(x[:, 2:4], 3)
    return torch.softmax((x @ keys.mT) * 0.3, -1) @ values


def one_for_all(x):
    batch, heads, length, width = x.shape
    key = x[:, :1].expand(batch, heads, length, width)
    return F.scaled_dot_product_attention(x, key, key)


SHARED = {
    "shared_in_kernel": (shared_in_kernel, 2),
    "repeated_for_kernel": (repeated_for_kernel, 2),
    "repeated_written_out": (repeated_written_out, 2),
    "one_for_all": (one_for_all, 1),
}


@pytest.mark.parametrize("name", SHARED)
def test_heads_that_share_keys_are_not_repeated(name):
    function, heads = SHARED[name]
    module, args = modules.functions({name: (function, (2, 6, 5, 4))})
    operations = import_module(module, args).graph.operations
    (found,) = [one for one in operations if one.mnemonic == "attention"]
    assert [x.shape[2] for x in found.operands] == [6, heads, heads]
    assert not any(one.results[0].type.rank >= 4 for one in operations if one.mnemonic == "broadcast")


def test_values_and_gradients_of_shared_heads():
    cases = {name: (function, (2, 6, 5, 4)) for name, (function, _) in SHARED.items()}
    # Keys and values that several heads share in different numbers.
    cases["unequal"] = (
        lambda x: F.scaled_dot_product_attention(x, x[:, :2], x[:, :3], enable_gqa=True),
        (2, 6, 5, 4),
    )
    # A bias that is trained: softmax is written out.
    cases["biased"] = (
        lambda x: F.scaled_dot_product_attention(
            x, x[:, :2], x[:, 2:4], x @ x.mT, enable_gqa=True
        ),
        (2, 6, 5, 4),
    )
    done = check(*modules.functions(cases))
    assert done.passed, str(done)


def attended_by(mask, x):
    q = x.unflatten(-1, (2, 4)).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask)


SEEN = torch.ones(6, 6).tril().bool()
WINDOW = SEEN & ~SEEN.tril(-3)
BY_POSITION = {
    "causal": (SEEN, None),
    "window": (WINDOW, 3),
    "window_of_one": (torch.eye(6).bool(), 1),
    "window_of_numbers": (torch.zeros(1, 1, 6, 6).masked_fill(~WINDOW, float("-inf")), 3),
}


def attention_with(mask):
    module, args = modules.functions({"x": (lambda x: attended_by(mask, x), (2, 6, 8))})
    operations = import_module(module, args).graph.operations
    (found,) = [one for one in operations if one.mnemonic == "attention"]
    return found, check(module, args)


@pytest.mark.parametrize("name", BY_POSITION)
def test_a_mask_by_position_is_an_attribute(name):
    mask, window = BY_POSITION[name]
    found, done = attention_with(mask)
    assert "causal" in found.attributes and "mask" not in found.head
    assert found.attributes.get("window") == window
    assert done.passed, str(done)


@pytest.mark.parametrize(
    "mask",
    [
        WINDOW.T,  # what comes
        WINDOW & (torch.arange(6) != 2),  # and one key more is hidden
        SEEN.tril(-1) | torch.eye(6).bool().flip(0),
        torch.stack([SEEN, WINDOW])[:, None],  # another one for each of the batch
    ],
)
def test_other_masks_stay(mask):
    found, done = attention_with(mask)
    assert "mask" in found.head and "window" not in found.attributes
    assert done.passed, str(done)


def test_a_window_written_out():
    """Values wider than the keys are no operand of attention."""

    def wide(x):
        return F.scaled_dot_product_attention(x[..., :3], x[..., :3], x, WINDOW)

    done = check(*modules.functions({"x": (wide, (2, 2, 6, 4))}))
    assert done.passed, str(done)
