"""Losses and optimizers in PyTorch: part of oracle_ops."""

from __future__ import annotations

import torch
from oracle_ops import op, segments


def rows_of(o, logits, targets):
    rows, targets = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1).long()
    counted = targets != o.attributes.get("ignore_index", -100)
    return rows, torch.where(counted, targets, 0), counted


@op("cross_entropy")
def cross_entropy(o, logits, targets):
    rows, targets, counted = rows_of(o, logits, targets)
    lse = o.move(torch.logsumexp(rows, -1))
    losses = (lse - rows.gather(1, targets[:, None])[:, 0]) * counted
    return losses.sum() / max(int(counted.sum()), 1), lse.reshape(logits.shape[:-1])


@op("cross_entropy_backward")
def cross_entropy_backward(o, grad, logits, targets, lse):
    rows, targets, counted = rows_of(o, logits, targets)
    result = torch.exp(rows - lse.reshape(-1, 1))
    result = result - torch.nn.functional.one_hot(targets, rows.shape[-1])
    return (result * counted[:, None] * grad / max(int(counted.sum()), 1)).reshape(logits.shape)


@op("cross_entropy_with_grad")
def cross_entropy_with_grad(o, grad, logits, targets):
    loss, lse = cross_entropy(o, logits, targets)
    lse = o.move(lse)
    return loss, lse, cross_entropy_backward(o, grad, logits, targets, lse)


@op("mse")
def mse(o, x, y):
    return (o.move(x - y) ** 2).mean()


@op("global_norm")
def global_norm(o, *operands):
    return torch.sqrt(sum((x * x).sum() for x in operands))


def sgd_update(p, grad, buffer, rate, momentum, decay):
    g = grad + decay * p
    if buffer is None:
        return [p - rate * g]
    b = momentum * buffer + g
    return [p - rate * b, b]


def adamw_update(p, grad, m, v, rate, step, beta1, beta2, epsilon, decay):
    t = float(step) + 1.0
    m = beta1 * m + (1.0 - beta1) * grad
    v = beta2 * v + (1.0 - beta2) * grad * grad
    corrected = torch.sqrt(v / (1.0 - beta2**t)) + epsilon
    return [p - rate * decay * p - rate * (m / (1.0 - beta1**t)) / corrected, m, v]


@op("sgd")
def sgd(o, *operands):
    (p,), (grad,), buffer, (rate,), scale = segments(o, operands)
    grad = grad * scale[0] if scale else grad
    momentum, decay = (o.attributes.get(k, 0.0) for k in ("momentum", "weight_decay"))
    return sgd_update(p, grad, buffer[0] if buffer else None, rate, momentum, decay)


@op("adamw")
def adamw(o, p, grad, m, v, rate, step, scale=1.0):
    options = [o.attributes[k] for k in ("beta1", "beta2", "epsilon", "weight_decay")]
    return adamw_update(p, grad * scale, m, v, rate, step, *options)
