"""Losses and optimizers."""

import numpy as np

from .layers import check_ids
from .registry import op



def targets_of_rows(call, logits, targets):
    """Flat logits, targets with 0 for ignored ones, and which rows count."""
    rows = logits.reshape(-1, logits.shape[-1])
    targets = targets.reshape(-1)
    counted = targets != call["ignore_index"]
    targets = np.where(counted, targets, 0)
    check_ids(targets, rows.shape[-1], "target")
    return rows, targets, counted


@op("cross_entropy")
def cross_entropy(call, logits, targets):
    largest = np.max(logits, axis=-1)
    shifted = np.exp(logits - largest[..., None])
    lse = np.log(np.sum(shifted, axis=-1)) + largest
    rows, targets, counted = targets_of_rows(call, logits, targets)
    losses = lse.reshape(-1) - rows[np.arange(len(rows)), targets]
    return np.sum(losses[counted]) / max(counted.sum(), 1), lse


@op("cross_entropy_backward")
def cross_entropy_backward(call, grad, logits, targets, lse):
    rows, targets, counted = targets_of_rows(call, logits, targets)
    result = np.exp(rows - lse.reshape(-1, 1))
    result[np.arange(len(rows)), targets] -= 1.0
    result *= counted[:, None] * grad / max(counted.sum(), 1)
    return result.reshape(logits.shape)


@op("cross_entropy_with_grad")
def cross_entropy_with_grad(call, grad, logits, targets):
    loss, lse = cross_entropy(call, logits, targets)
    return loss, lse, cross_entropy_backward(call, grad, logits, targets, lse)


@op("mse")
def mse(call, prediction, target):
    return np.mean((prediction - target) ** 2)


@op("sgd")
def sgd(call, *operands):
    (p,), (grad,), buffer, (rate,), scale = call.segments(operands)
    g = grad * (scale[0] if scale else 1.0) + call["weight_decay"] * p
    if not buffer:
        return p - rate * g
    b = call["momentum"] * buffer[0] + g
    return p - rate * b, b


@op("join_halves")
def join_halves(call, x):
    return x


@op("upper_half")
def upper_half(call, x):
    return x


@op("adamw")
def adamw(call, p, grad, m, v, rate, step, scale=1.0):
    beta1, beta2 = call["beta1"], call["beta2"]
    t = float(step) + 1.0
    g = grad * scale
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    p = p - rate * call["weight_decay"] * p
    corrected = np.sqrt(v / (1.0 - beta2**t)) + call["epsilon"]
    return p - rate * (m / (1.0 - beta1**t)) / corrected, m, v


@op("global_norm")
def global_norm(call, *operands):
    return np.sqrt(sum(np.sum(x * x) for x in operands))
