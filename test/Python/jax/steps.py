"""Steps of training as JAX's users write them: gradients by value_and_grad, updates by hand."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def normals(seed):
    """Draws weights."""
    random = np.random.default_rng(seed)
    return lambda *shape: jnp.asarray(random.standard_normal(shape) * 0.1, jnp.float32)


def zeros(tree):
    return jax.tree.map(jnp.zeros_like, tree)


# A multilayer perceptron, with SGD ---------------------------------------------------------------


def mlp():
    draw, sizes = normals(0), [16] + 8 * [32] + [4]
    parameters = [{"w": draw(a, b), "b": jnp.zeros(b)} for a, b in zip(sizes, sizes[1:])]

    def loss(parameters, x, y):
        for layer in parameters[:-1]:
            x = jax.nn.relu(x @ layer["w"] + layer["b"])
        logits = x @ parameters[-1]["w"] + parameters[-1]["b"]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()

    def step(parameters, x, y):
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients), value

    def batch(random):
        return random.standard_normal((256, 16), np.float32), random.integers(0, 4, 256, np.int32)

    return step, (parameters,), batch


# A GPT, with Adam --------------------------------------------------------------------------------


def layer_norm(x, scale, bias):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def gpt_loss(p, ids, targets, heads=4):
    batch, length = ids.shape
    x = p["wte"][ids] + p["wpe"][:length]
    for block in p["blocks"]:
        qkv = layer_norm(x, *block["norm1"]) @ block["qkv"]
        q, k, v = jnp.split(qkv.reshape(batch, length, 3 * heads, -1), 3, axis=2)
        scores = jnp.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
        seen = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v)
        x = x + seen.reshape(x.shape) @ block["out"]
        x = x + jax.nn.gelu(layer_norm(x, *block["norm2"]) @ block["up"]) @ block["down"]
    logits = layer_norm(x, *p["norm"]) @ p["wte"].T
    chosen = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - chosen).mean()


def adam(p, gradients, m, v, count, rate=1e-3, b1=0.9, b2=0.999):
    count = count + 1
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, m, gradients)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, v, gradients)

    def update(p, m, v):
        return p - rate * (m / (1 - b1**count)) / (jnp.sqrt(v / (1 - b2**count)) + 1e-8)

    return jax.tree.map(update, p, m, v), m, v, count


def gpt(vocabulary=50, width=16, layers=2, length=16):
    draw = normals(1)

    def norm():
        return jnp.ones(width), jnp.zeros(width)

    def block():
        weights = {"qkv": draw(width, 3 * width), "out": draw(width, width)}
        weights.update(up=draw(width, 4 * width), down=draw(4 * width, width))
        return {**weights, "norm1": norm(), "norm2": norm()}

    p = {"wte": draw(vocabulary, width), "wpe": draw(length, width), "norm": norm()}
    p["blocks"] = [block() for _ in range(layers)]

    def step(state, ids, targets):
        p, m, v, count = state
        value, gradients = jax.value_and_grad(gpt_loss)(p, ids, targets)
        return adam(p, gradients, m, v, count), value

    def batch(random):
        return tuple(random.integers(0, vocabulary, (2, 8, length), np.int32))

    return step, ((p, zeros(p), zeros(p), jnp.zeros((), jnp.int32)),), batch


# A ResNet with batch norm and its running statistics, with momentum ------------------------------


def convolved(x, kernel, stride=1):
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=layout)


def resnet_loss(p, statistics, x, y):
    new = {}

    def layer(x, name, stride=1):
        x = convolved(x, p[name]["kernel"], stride)
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        old = statistics[name]
        new[name] = {
            "mean": 0.9 * old["mean"] + 0.1 * mean,
            "variance": 0.9 * old["variance"] + 0.1 * variance,
        }
        return (x - mean) * lax.rsqrt(variance + 1e-5) * p[name]["scale"] + p[name]["bias"]

    x = jax.nn.relu(layer(x, "stem"))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    x = jax.nn.relu(x + layer(jax.nn.relu(layer(x, "a1")), "a2"))
    x = jax.nn.relu(layer(x, "skip", 2) + layer(jax.nn.relu(layer(x, "b1", 2)), "b2"))
    logits = x.mean((1, 2)) @ p["head"]
    return -(jax.nn.one_hot(y, 5) * jax.nn.log_softmax(logits)).sum(-1).mean(), new


def resnet():
    draw = normals(2)
    kernels = {"stem": (3, 3, 3, 8), "a1": (3, 3, 8, 8), "a2": (3, 3, 8, 8)}
    kernels.update(b1=(3, 3, 8, 16), b2=(3, 3, 16, 16), skip=(1, 1, 8, 16))
    p, statistics = {"head": draw(16, 5)}, {}
    for name, shape in kernels.items():
        ones, none = jnp.ones(shape[-1]), jnp.zeros(shape[-1])
        p[name] = {"kernel": draw(*shape), "scale": ones, "bias": none}
        statistics[name] = {"mean": none, "variance": ones}

    def step(p, statistics, momentum, x, y):
        (value, statistics), gradients = jax.value_and_grad(resnet_loss, has_aux=True)(p, statistics, x, y)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
        return jax.tree.map(lambda p, m: p - 0.05 * m, p, momentum), statistics, momentum, value

    def batch(random):
        return random.standard_normal((4, 16, 16, 3), np.float32), random.integers(0, 5, 4, np.int32)

    return step, (p, statistics, zeros(p)), batch


# A network with dropout, whose key is split at each step ----------------------------------------


def dropout():
    draw = normals(3)
    parameters = [draw(16, 64)] + [draw(64, 64) for _ in range(4)] + [draw(64, 1)]

    def loss(parameters, key, x):
        for w in parameters[:-1]:
            key, now = jax.random.split(key)
            x = jnp.tanh(x @ w)
            x = jnp.where(jax.random.bernoulli(now, 0.9, x.shape), x / 0.9, 0)
        return jnp.square(x @ parameters[-1] - 1).mean(), key

    def step(parameters, key, x):
        (value, key), gradients = jax.value_and_grad(loss, has_aux=True)(parameters, key, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients), key, value

    def batch(random):
        return (random.standard_normal((128, 16), np.float32),)

    return step, (parameters, jax.random.key(5)), batch


MODELS = {"mlp": mlp, "gpt": gpt, "resnet": resnet, "dropout": dropout}
