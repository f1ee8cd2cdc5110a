"""Constants, random numbers, shapes and reductions."""

import numpy as np
import philox

from .registry import op



@op("constant")
def constant(call):
    return call["value"]


@op("random")
def random(call, seed, step):
    draw = philox.uniform if call["distribution"] == "uniform" else philox.normal
    return draw(call.result_type.shape, seed, call["id"], step)


@op("dropout")
def dropout(call, x, seed, step):
    return x * philox.dropout_factors(x.shape, call["p"], seed, call["id"], step)


@op("reshape")
def reshape(call, x):
    return x.reshape(call.result_type.shape)


@op("transpose")
def transpose(call, x):
    return np.transpose(x, call["permutation"])


@op("slice")
def slice_(call, x):
    box = zip(call["offsets"], call["sizes"], strict=True)
    return x[tuple(slice(offset, offset + size) for offset, size in box)]


@op("pad")
def pad(call, x):
    borders = list(zip(call["low"], call["high"], strict=True))
    return np.pad(x, borders) if borders else x


@op("concat")
def concat(call, *operands):
    return np.concatenate(operands, axis=call["dim"])


@op("roll")
def roll(call, x):
    return np.roll(x, call["shift"], call["dim"])


@op("broadcast")
def broadcast(call, x):
    return np.broadcast_to(x, call.result_type.shape)


@op("reduce")
def reduce(call, x):
    combine = {"sum": np.sum, "mean": np.mean, "max": np.max}[call["kind"]]
    if not call["dims"]:
        return x
    keep = bool(call.get("keep_dims"))
    result = combine(x, axis=tuple(call["dims"]), keepdims=keep)
    return result if x.dtype == np.float64 else result.astype(x.dtype)
