"""Problems for the planner: training steps with measured-like costs, and the random layered graphs of Moccasin.

Every generator is a pure function of its arguments (sizes, seed). Times are microseconds: a roofline of 600 TFLOP/s for
matrix products and 3 TB/s for the rest, plus 3 us a launch. Sizes are bytes.

    python bench/solver_graphs.py transformer12 > P.json
"""

import argparse
import json
import random
import sys


class Step:
    """Builds a step op by op; `backward` replays a tape in reverse."""

    def __init__(self):
        self.resident, self.ops, self.results, self.tape, self.size = [], [], [], [], {}
        self.params = []

    def param(self, name, count):
        self.resident.append({"name": name, "bytes": 4 * count})
        for state in ("m", "v"):
            self.resident.append({"name": f"{name}.{state}", "bytes": 4 * count})
            self.size[f"{name}.{state}"] = 4 * count
        self.size[name] = 4 * count
        self.params.append(name)
        return name

    def data(self, name, count):
        self.resident.append({"name": name, "bytes": count})
        self.size[name] = count
        return name

    def op(self, name, inputs, outputs, flops=0.0, workspace=0, once=False, reuses=None):
        moved = sum(self.size[i] for i in inputs) + sum(b for _, b in outputs)
        time = 3 + max(flops / 600e6, moved / 3e6)
        outs = []
        for n, b in outputs:
            self.size[n] = b
            out = {"name": n, "bytes": int(b)}
            if reuses and n == outputs[0][0]:
                out["reuses"] = reuses
            outs.append(out)
        op = {"name": name, "time": round(time, 3), "inputs": list(inputs), "outputs": outs}
        if workspace:
            op["workspace"] = int(workspace)
        if once:
            op["once"] = True
        self.ops.append(op)

    def forward(self, name, inputs, out, bytes_, flops=0.0, saves=(), extra=(), params=(), workspace=0, reuses=None):
        """An op with a backward: `saves` names what the backward reads, `extra` are (suffix, bytes) kept besides."""
        outs = [(out, bytes_)] + [(f"{out}.{s}", b) for s, b in extra]
        self.op(name, list(inputs) + list(params), outs, flops, workspace, reuses=reuses)
        self.tape.append((name, list(inputs), out, flops, list(saves) + [n for n, _ in outs[1:]], list(params), workspace))
        return out

    def backward(self, loss, leaf):
        grads = {loss: self.grad(loss, "seed", [])}
        for name, inputs, out, flops, saves, params, workspace in reversed(self.tape):
            g = grads.pop(out, None)
            if g is None:
                continue
            wanted = [i for i in inputs if i not in leaf]
            if params and flops:
                for p in params:
                    pg = self.grad(p, name, [g] + saves, flops)
                    self.update(p, pg)
                if wanted:
                    self.data_grads(grads, name, g, wanted, list(params), flops * len(wanted), workspace)
            else:
                outs = self.data_grads(grads, name, g, wanted, saves + list(params), 2.5 * flops, workspace, params)
                for p, pg in outs:
                    self.update(p, pg)

    def grad(self, value, by, reads, flops=0.0):
        g = f"d.{value}.{by}"
        self.op(f"grad.{value}.{by}", reads, [(g, self.size[value])], flops)
        return g

    def data_grads(self, grads, name, g, wanted, reads, flops, workspace, params=()):
        outs = [(f"d.{w}.{name}", self.size[w]) for w in dict.fromkeys(wanted)]
        pouts = [(f"d.{p}.{name}", self.size[p]) for p in params]
        if not outs and not pouts:
            return []
        reuse = g if outs and self.size[g] >= outs[0][1] and not flops else None
        self.op(f"bwd.{name}", [g] + [r for r in dict.fromkeys(reads) if r != g], outs + pouts, flops, workspace, reuses=reuse)
        for w, (n, b) in zip(dict.fromkeys(wanted), outs):
            if w in grads:
                total = f"d.{w}.sum{len(self.ops)}"
                self.op(f"add.{total}", [grads[w], n], [(total, b)], reuses=grads[w])
                grads[w] = total
            else:
                grads[w] = n
        return [(p, n) for p, (n, _) in zip(params, pouts)]

    def update(self, p, g):
        self.op(f"adamw.{p}.{len(self.ops)}", [g, p, p + ".m", p + ".v"], [], once=True)

    def problem(self):
        return {"format": "remat-problem-1", "resident": self.resident, "ops": self.ops, "results": self.results}


def linear(s, name, x, rows, k, n, dtype=2):
    w = s.param(f"{name}.w", k * n)
    return s.forward(name, [x], f"{name}.y", rows * n * dtype, 2.0 * rows * k * n, saves=[x], params=[w])


def norm(s, name, x, bytes_, width, rows):
    w = s.param(f"{name}.g", width)
    return s.forward(name, [x], f"{name}.y", bytes_, saves=[x], extra=[("stat", rows * 8)], params=[w])


def unary(s, name, x, bytes_, save_input=True, extra=(), reuses=None):
    y = f"{name}.y"
    return s.forward(name, [x], y, bytes_, saves=[x] if save_input else [], extra=extra, reuses=reuses)


def add(s, name, a, b, bytes_):
    return s.forward(name, [a, b], f"{name}.y", bytes_, reuses=b)


def head(s, x, rows, width, classes, leaf):
    y = linear(s, "head", x, rows, width, classes)
    loss = s.forward("loss", [y], "loss.y", 4, saves=[y], extra=[("lse", rows * 4)])
    s.backward(loss, leaf)
    return s.problem()


def transformer(layers=12, batch=16, seq=1024, width=768, heads=12, vocab=50304, dropout=False):
    s = Step()
    rows = batch * seq
    leaf = {s.data("tokens", rows * 4)}
    act = rows * width * 2
    x = s.forward("embed", ["tokens"], "embed.y", act, saves=["tokens"], params=[s.param("wte", vocab * width)])
    for i in range(layers):
        p = f"h{i}"
        a = norm(s, f"{p}.ln1", x, act, width, rows)
        qkv = linear(s, f"{p}.qkv", a, rows, width, 3 * width)
        o = s.forward(f"{p}.attn", [qkv], f"{p}.attn.y", act, 2.0 * batch * seq * seq * width, saves=[qkv, f"{p}.attn.y"],
                      extra=[("lse", batch * heads * seq * 4)], workspace=act // 4)
        o = linear(s, f"{p}.proj", o, rows, width, width)
        if dropout:
            o = unary(s, f"{p}.drop1", o, act, False, [("mask", act // 2)])
        x = add(s, f"{p}.add1", x, o, act)
        a = norm(s, f"{p}.ln2", x, act, width, rows)
        h = linear(s, f"{p}.fc", a, rows, width, 4 * width)
        h = unary(s, f"{p}.gelu", h, 4 * act)
        h = linear(s, f"{p}.out", h, rows, 4 * width, width)
        if dropout:
            h = unary(s, f"{p}.drop2", h, act, False, [("mask", act // 2)])
        x = add(s, f"{p}.add2", x, h, act)
    x = norm(s, "lnf", x, act, width, rows)
    return head(s, x, rows, width, vocab, leaf)


def conv(s, name, x, batch, cin, cout, size, k=3, stride=1):
    out = size // stride
    w = s.param(f"{name}.w", k * k * cin * cout)
    y = s.forward(name, [x], f"{name}.y", batch * cout * out * out * 2, 2.0 * batch * out * out * cin * cout * k * k, saves=[x],
                  params=[w], workspace=batch * cout * out * out // 2)
    return y


def conv_bn_relu(s, name, x, batch, cin, cout, size, k=3, stride=1, relu=True):
    y = conv(s, name, x, batch, cin, cout, size, k, stride)
    b = batch * cout * (size // stride) ** 2 * 2
    y = norm(s, f"{name}.bn", y, b, cout, cout)
    return s.forward(f"{name}.relu", [y], f"{name}.relu.y", b, saves=[f"{name}.relu.y"], reuses=y) if relu else y


def resnet(depths=(3, 4, 6, 3), batch=128, size=224):
    s = Step()
    leaf = {s.data("image", batch * 3 * size * size * 2)}
    x, size = conv_bn_relu(s, "stem", "image", batch, 3, 64, size, 7, 2), size // 2
    x = s.forward("pool", [x], "pool.y", batch * 64 * (size // 2) ** 2 * 2, saves=[x, "pool.y"])
    size, cin = size // 2, 64
    for i, depth in enumerate(depths):
        mid = 64 << i
        for j in range(depth):
            p, stride = f"s{i}b{j}", 2 if i and not j else 1
            y = conv_bn_relu(s, f"{p}.c1", x, batch, cin, mid, size, 1)
            y = conv_bn_relu(s, f"{p}.c2", y, batch, mid, mid, size, 3, stride)
            y = conv_bn_relu(s, f"{p}.c3", y, batch, mid, 4 * mid, size // stride, 1, relu=False)
            if not j:
                x = conv_bn_relu(s, f"{p}.sc", x, batch, cin, 4 * mid, size, 1, stride, relu=False)
            size, cin = size // stride, 4 * mid
            b = batch * cin * size * size * 2
            x = add(s, f"{p}.add", x, y, b)
            x = s.forward(f"{p}.relu", [x], f"{p}.relu.y", b, saves=[f"{p}.relu.y"], reuses=x)
    x = s.forward("gap", [x], "gap.y", batch * cin * 2)
    return head(s, x, batch, cin, 1000, leaf)


def unet(levels=4, batch=32, size=256, width=64, blocks=2):
    s = Step()
    leaf = {s.data("image", batch * 3 * size * size * 2)}
    x, c, skips = "image", 3, []
    for i in range(levels):
        w = width << i
        for j in range(blocks):
            x = conv_bn_relu(s, f"d{i}.{j}", x, batch, c, w, size)
            c = w
        skips.append((x, c, size))
        x = s.forward(f"down{i}", [x], f"down{i}.y", batch * c * (size // 2) ** 2 * 2, saves=[x, f"down{i}.y"])
        size //= 2
    for j in range(blocks):
        x = conv_bn_relu(s, f"mid.{j}", x, batch, c, width << levels, size)
        c = width << levels
    for i, (skip, sc, ssize) in reversed(list(enumerate(skips))):
        x = s.forward(f"up{i}", [x], f"up{i}.y", batch * c * ssize * ssize * 2)
        x = s.forward(f"cat{i}", [x, skip], f"cat{i}.y", batch * (c + sc) * ssize * ssize * 2)
        c, size = c + sc, ssize
        for j in range(blocks):
            x = conv_bn_relu(s, f"u{i}.{j}", x, batch, c, sc, size)
            c = sc
    y = conv(s, "final", x, batch, c, 8, size, 1)
    loss = s.forward("loss", [y], "loss.y", 4, saves=[y])
    s.backward(loss, leaf)
    return s.problem()


def densenet(depths=(6, 12, 24, 16), batch=128, size=224, growth=32):
    s = Step()
    leaf = {s.data("image", batch * 3 * size * size * 2)}
    x, size = conv_bn_relu(s, "stem", "image", batch, 3, 64, size, 7, 4), size // 4
    c = 64
    for i, depth in enumerate(depths):
        for j in range(depth):
            p = f"b{i}l{j}"
            b = batch * c * size * size * 2
            y = norm(s, f"{p}.n1", x, b, c, c)
            y = s.forward(f"{p}.r1", [y], f"{p}.r1.y", b, saves=[f"{p}.r1.y"], reuses=y)
            y = conv_bn_relu(s, f"{p}.c1", y, batch, c, 4 * growth, size, 1)
            y = conv(s, f"{p}.c2", y, batch, 4 * growth, growth, size, 3)
            c += growth
            x = s.forward(f"{p}.cat", [x, y], f"{p}.cat.y", batch * c * size * size * 2)
        if i + 1 < len(depths):
            x = conv_bn_relu(s, f"t{i}", x, batch, c, c // 2, size, 1)
            c //= 2
            x = s.forward(f"t{i}.pool", [x], f"t{i}.pool.y", batch * c * (size // 2) ** 2 * 2)
            size //= 2
    x = s.forward("gap", [x], "gap.y", batch * c * 2)
    return head(s, x, batch, c, 1000, leaf)


def lstm(steps=64, layers=2, batch=64, width=1024, vocab=10000):
    s = Step()
    leaf = {s.data("tokens", batch * steps * 4), s.data("h0", batch * width * 2), s.data("c0", batch * width * 2)}
    b = batch * width * 2
    weights = [s.param(f"w{i}", 8 * width * width) for i in range(layers)]
    xs = [s.forward(f"embed{t}", ["tokens"], f"x{t}", b) for t in range(steps)]
    for i in range(layers):
        h, c, ys = "h0", "c0", []
        for t in range(steps):
            p = f"l{i}t{t}"
            g = s.forward(f"{p}.g", [xs[t], h], f"{p}.g.y", 4 * b, 16.0 * batch * width * width, saves=[xs[t], h, weights[i]])
            c2 = s.forward(f"{p}.c", [g, c], f"{p}.c.y", b, saves=[g, c])
            h = s.forward(f"{p}.h", [g, c2], f"{p}.h.y", b, saves=[g, c2])
            c = c2
            ys.append(h)
        xs = ys
    x = s.forward("stack", xs, "stack.y", b * steps)
    return head(s, x, batch * steps, width, vocab, leaf)


def layered(n=250, m=944, seed=1, depth=24):
    """Random layered graphs in the manner of Moccasin (Bartan et al., 2023) and Gagrani et al. (2022): one source, one sink,
    layers of random width, six edges of seven to the next layer and the rest to any later one, uniform times, exponential sizes."""
    r = random.Random(seed)
    weights = [r.uniform(0.3, 1.7) for _ in range(depth - 2)]
    where = sorted(r.choices(range(1, depth - 1), weights, k=n - 2))
    where = [0] + where + [depth - 1]
    layers = [[v for v in range(n) if where[v] == i] for i in range(depth)]
    layers = [layer for layer in layers if layer]
    where = {v: i for i, layer in enumerate(layers) for v in layer}
    edges = {(r.choice(layers[where[v] - 1]), v) for v in range(1, n)}
    fed = {a for a, _ in edges}
    edges |= {(v, r.choice(layers[where[v] + 1])) for v in range(n - 1) if v not in fed}
    while len(edges) < m:
        v = r.randrange(n - 1)
        i = where[v] + 1
        if r.random() < 1 / 7 and i + 1 < len(layers):
            i = r.randrange(i + 1, len(layers))
        edges.add((v, r.choice(layers[i])))
    inputs = {v: [] for v in range(n)}
    for a, b in sorted(edges):
        inputs[b].append(f"v{a}")
    ops = [{"name": f"n{v}", "time": 0 if v in (0, n - 1) else r.randint(1, 1000), "inputs": inputs[v],
            "outputs": [{"name": f"v{v}", "bytes": 10 * (1 + int(r.expovariate(1 / 200)))}]} for v in range(n)]
    return {"format": "remat-problem-1", "resident": [], "ops": ops, "results": []}


FAMILIES = {
    "transformer12": lambda: transformer(12),
    "transformer12d": lambda: transformer(12, dropout=True),
    "transformer48": lambda: transformer(48, 8, 1024, 1600, 25),
    "transformer230": lambda: transformer(230, 4, 512, 1024, 16, 32000),
    "resnet50": lambda: resnet(),
    "resnet152": lambda: resnet((3, 8, 36, 3), 64),
    "unet": lambda: unet(),
    "unet6": lambda: unet(6, 8, 512, 32, 3),
    "densenet121": lambda: densenet(),
    "densenet201": lambda: densenet((6, 12, 48, 32), 64),
    "lstm": lambda: lstm(),
    "lstm400": lambda: lstm(400, 3, 32, 512),
    "layered500": lambda: layered(500, 2461),
    "layered1000": lambda: layered(1000, 5875),
}

# Graphs for sweeps of many budgets.
SMALL = {
    "transformer4": lambda: transformer(4),
    "transformer3d": lambda: transformer(3, 32, 512, 512, 8, 8192, dropout=True),
    "resnet14": lambda: resnet((1, 1, 1, 1)),
    "resnet26": lambda: resnet((2, 2, 2, 2)),
    "unet3": lambda: unet(3, 16, 256, 48, 1),
    "unet4": lambda: unet(4, 16, 256, 48, 1),
    "densenet20": lambda: densenet((3, 4, 5)),
    "lstm8": lambda: lstm(8, 2),
    "layered60": lambda: layered(60, 180, depth=12),
    "layered100": lambda: layered(100, 340, seed=3, depth=16),
}
EVERY = {**FAMILIES, **SMALL}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=sorted(EVERY))
    json.dump(EVERY[parser.parse_args().family](), sys.stdout)
