"""Layers."""

import numpy as np
import philox

from .registry import EvaluationError, op, optional



@op("matmul")
def matmul(call, *operands):
    (lhs,), (rhs,), *added = call.segments(operands)
    lhs = np.swapaxes(lhs, -1, -2) if call.get("transpose_lhs") else lhs
    rhs = np.swapaxes(rhs, -1, -2) if call.get("transpose_rhs") else rhs
    product = np.matmul(lhs, rhs)
    return sum((x for part in added for x in part), product)


@op("softmax")
def softmax(call, x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@op("softmax_backward")
def softmax_backward(call, output, grad):
    return output * (grad - np.sum(output * grad, axis=-1, keepdims=True))


@op("layer_norm")
def layer_norm(call, x, scale, bias):
    mean = np.mean(x, axis=-1)
    variance = np.var(x, axis=-1)
    rstd = 1.0 / np.sqrt(variance + call["epsilon"])
    normalized = (x - mean[..., None]) * rstd[..., None]
    return normalized * scale + bias, mean, rstd


@op("layer_norm_backward")
def layer_norm_backward(call, grad, x, scale, mean, rstd, addend=0.0):
    normalized = (x - mean[..., None]) * rstd[..., None]
    scaled = grad * scale
    average = lambda v: np.mean(v, axis=-1, keepdims=True)
    operand_grad = rstd[..., None] * (
        scaled - average(scaled) - normalized * average(scaled * normalized)
    )
    rows = tuple(range(x.ndim - 1))
    results = operand_grad + addend, np.sum(grad * normalized, axis=rows), np.sum(grad, axis=rows)
    return results + ((np.sum(results[0], axis=rows),) if call.get("with_sum") else ())


@op("moments")
def moments(call, x):
    dims = tuple(call["dims"])
    return np.mean(x, axis=dims, keepdims=True), np.var(x, axis=dims, keepdims=True)


@op("normalize")
def normalize(call, x, mean, rstd, scale, bias):
    return (x - mean) * rstd * scale + bias


@op("normalize_sums")
def normalize_sums(call, grad, x, mean, *affine):
    if affine:
        grad = np.where(normalize(call, x, mean, *affine) > 0.0, grad, 0.0)
    dims = tuple(i for i, size in enumerate(mean.shape) if size == 1)
    total = lambda v: np.sum(v, axis=dims, keepdims=True)
    return total(grad), total(grad * (x - mean))


@op("rms_norm")
def rms_norm(call, x, weight):
    rstd = 1.0 / np.sqrt(np.mean(x * x, axis=-1) + call["epsilon"])
    return x * rstd[..., None] * weight, rstd


@op("rms_norm_backward")
def rms_norm_backward(call, grad, x, weight, rstd, addend=0.0):
    normalized, weighted = x * rstd[..., None], grad * weight
    along = normalized * np.mean(weighted * normalized, axis=-1, keepdims=True)
    rows = tuple(range(x.ndim - 1))
    operand_grad = rstd[..., None] * (weighted - along) + addend
    return operand_grad, np.sum(grad * normalized, axis=rows)


class Attention:
    """Scores and probabilities [B, H, T, S] of one attention operation."""

    def __init__(self, call, qkv, mask, seed, step):
        self.packed = len(qkv) == 1
        if self.packed:
            qkv = [qkv[0][:, :, i] for i in range(3)]
        # [B, T, H, D] -> [B, H, T, D]
        self.q, self.k, self.v = (np.swapaxes(x, 1, 2) for x in qkv)
        self.key_heads = self.k.shape[1]
        group = self.q.shape[1] // self.key_heads
        self.k, self.v = (np.repeat(x, group, axis=1) for x in (self.k, self.v))
        head = self.q.shape[-1]
        self.scale = call.get("scale", 1.0 / np.sqrt(head))
        scores = self.scale * self.q @ np.swapaxes(self.k, -1, -2)
        if call.get("causal"):
            seen = np.tri(*scores.shape[-2:], dtype=bool)
            if call.get("window"):
                seen &= ~np.tri(*scores.shape[-2:], -call.get("window"), dtype=bool)
            scores = np.where(seen, scores, -np.inf)
        if mask is not None and mask.dtype == np.bool_:
            scores = np.where(mask, scores, -np.inf)
        elif mask is not None:
            scores = scores + mask
        self.scores = scores
        p = call["dropout_p"]
        self.kept = np.ones(scores.shape)
        if p > 0.0:
            self.kept = philox.attention_factors(scores.shape, p, seed, call["id"], step)

    def probabilities(self, lse):
        """exp(scores - lse); 0 where a query sees no key."""
        nothing = np.isneginf(lse)[..., None]
        return np.where(nothing, 0.0, np.exp(self.scores - lse[..., None]))

    def log_sum_exp(self):
        largest = np.max(self.scores, axis=-1)
        shift = np.where(np.isneginf(largest), 0.0, largest)
        total = np.sum(np.exp(self.scores - shift[..., None]), axis=-1)
        return np.log(total) + shift

    def of_keys(self, grad):
        """Summed over the heads of the queries that share one of the keys."""
        batch, heads, keys, width = grad.shape
        return grad.reshape(batch, self.key_heads, heads // self.key_heads, keys, width).sum(2)

    def join(self, grads):
        grads = [np.swapaxes(g, 1, 2) for g in grads]
        return [np.stack(grads, axis=2)] if self.packed else grads


@op("attention")
def attention(call, *operands):
    qkv, mask, seed, step = call.segments(operands)
    a = Attention(call, qkv, optional(mask), optional(seed), optional(step))
    lse = a.log_sum_exp()
    result = (a.probabilities(lse) * a.kept) @ a.v
    return np.swapaxes(result, 1, 2), lse


@op("attention_backward")
def attention_backward(call, *operands):
    (grad,), qkv, (output,), (lse,), mask, seed, step = call.segments(operands)
    a = Attention(call, qkv, optional(mask), optional(seed), optional(step))
    grad, output = np.swapaxes(grad, 1, 2), np.swapaxes(output, 1, 2)
    probabilities = a.probabilities(lse)
    transposed = lambda x: np.swapaxes(x, -1, -2)
    v_grad = transposed(probabilities * a.kept) @ grad
    p_grad = (grad @ transposed(a.v)) * a.kept
    row = np.sum(grad * output, axis=-1, keepdims=True)
    s_grad = probabilities * (p_grad - row) * a.scale
    k_grad = transposed(s_grad) @ a.q
    return a.join([s_grad @ a.k, a.of_keys(k_grad), a.of_keys(v_grad)])


def check_ids(ids, count, what):
    outside = (ids < 0) | (ids >= count)
    if outside.any():
        raise EvaluationError("%s %d is not in [0, %d)" % (what, ids[outside][0], count))


@op("embedding")
def embedding(call, ids, table):
    check_ids(ids, table.shape[0], "id")
    return table[ids]


@op("embedding_backward")
def embedding_backward(call, ids, grad, addend=0.0):
    table_grad = np.zeros(call.result_type.shape)
    check_ids(ids, table_grad.shape[0], "id")
    np.add.at(table_grad, ids.reshape(-1), grad.reshape(-1, grad.shape[-1]))
    return table_grad + addend
