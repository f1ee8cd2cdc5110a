"""Which operations are kept whole: rules take them, or patterns know them.

PyTorch's default table takes every other composite apart. It leaves 31 kinds of operations of a
GPT-2 where the table for core ATen leaves 45, and it keeps what is saved for the backward small:
one normalisation has one gradient, twelve pointwise operations have twelve.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

import torch

KEPT = frozenset(
    """
    layer_norm group_norm rms_norm
    softmax _softmax log_softmax _log_softmax logsumexp
    scaled_dot_product_attention
    gelu silu mish hardswish hardsigmoid hardtanh leaky_relu elu selu celu softplus relu6 prelu glu
    log_sigmoid
    dropout native_dropout alpha_dropout feature_dropout feature_alpha_dropout
    cross_entropy_loss nll_loss nll_loss_nd nll_loss2d nll_loss_forward nll_loss2d_forward mse_loss
    multilabel_margin_loss_forward l1_loss smooth_l1_loss huber_loss kl_div
    binary_cross_entropy binary_cross_entropy_with_logits
    embedding linear bilinear matmul mm bmm addmm baddbmm
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution
    max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d
    adaptive_avg_pool1d adaptive_avg_pool2d _adaptive_avg_pool2d adaptive_avg_pool3d
    pad constant_pad_nd tril triu addcmul addcdiv lerp var std var_mean mean one_hot
    pixel_shuffle pixel_unshuffle channel_shuffle roll square unfold diagonal median kthvalue
    adaptive_max_pool2d adaptive_max_pool3d asinh acosh atanh hypot fmod
    index_add scatter scatter_add scatter_reduce gather topk sort cumsum cumprod prod index_put
    upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d
    upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa
    """.split()
)

# Of these the overload for a batch of one length; the one for packed sequences is taken apart.
KEPT_OVERLOADS = frozenset("lstm.input gru.input rnn_tanh.input rnn_relu.input".split())


def _recurrent_shapes(
    input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
):
    """Empty results of the right shapes."""
    states = hx if isinstance(hx, (list, tuple)) else [hx]
    width = states[0].shape[-1] * (2 if bidirectional else 1)
    output = input.new_empty((*input.shape[:2], width))
    return (output, *(torch.empty_like(state) for state in states))


def _grouped_shape(a, b, offs=None, bias=None, out_dtype=None):
    """Like PyTorch's, which takes bf16 alone while it traces."""
    groups = [offs.shape[0]] if a.dim() == b.dim() == 2 else a.shape[:1]
    lead = groups if a.dim() == b.dim() else []
    return a.new_empty((*lead, a.shape[-2], b.shape[-1]), dtype=out_dtype)


def _by_shape():
    """What is traced by the shapes of its results alone."""
    aten = torch.ops.aten
    kinds = [getattr(aten, name.partition(".")[0]).input for name in KEPT_OVERLOADS]
    return {**dict.fromkeys(kinds, _recurrent_shapes), aten._grouped_mm.default: _grouped_shape}


@contextmanager
def by_shape() -> Iterator[None]:
    """Recurrent layers and grouped products are traced by the shapes of their results alone.

    To find those of a recurrent layer PyTorch would go through every step in time: a minute for
    1,024 of them.
    """
    table = torch._decomp.decomposition_table
    kept = {kind: (dict(kind.py_kernels), table.get(kind)) for kind in _by_shape()}
    try:
        for kind, shape in _by_shape().items():
            kind.py_kernels.update(dict.fromkeys(kind.py_kernels, shape))
            if kind in table:
                table[kind] = shape
            kind._dispatch_cache.clear()
        yield
    finally:
        for kind, (kernels, decomposition) in kept.items():
            kind.py_kernels.update(kernels)
            if decomposition is not None:
                table[kind] = decomposition
            kind._dispatch_cache.clear()


# What PyTorch's default table leaves, although it knows how to take it apart.
APART = "bucketize dist exponential grid_sampler_2d".split()


def table():
    """PyTorch's default decompositions less what is kept, and some more."""
    made = torch.export.default_decompositions()
    more = [getattr(torch.ops.aten, name) for name in APART]
    made.update(torch._decomp.get_decompositions(more))
    for operation in list(made.keys()):
        overload = f"{operation._opname}.{operation._overloadname}"
        kept = operation._opname in KEPT or overload in KEPT_OVERLOADS
        if operation.namespace == "aten" and kept:
            del made[operation]
    return made
