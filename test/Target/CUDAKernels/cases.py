"""One case for each way that an own CUDA kernel works: an operation as text, its operands and the
values that it must give, made with PyTorch in float64."""

import math
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[2] / "Python"))

import philox  # noqa: E402
from case import BF16, F16, F32, TOLERANCE, Case, as_double, join_halves, random, split_halves, tensor_type  # noqa: E402
from window_cases import index_cases, window_cases  # noqa: E402


def row_cases():
    for dtype in (F32, BF16, F16):
        for shape in ((5, 7), (33, 64), (3, 768), (2, 2, 1000), (2, 4096), (2, 5003), (1, 70000)):
            x = random(*shape, dtype=dtype, scale=3)
            y = torch.softmax(as_double(x), -1)
            for inplace in ({}, {0: 0}):
                yield Case(f"softmax {shape} {dtype}", "remat.softmax {0} : {r}", [x], [y.to(dtype)], inplace)
            p, g = y.to(dtype), random(*shape, dtype=dtype)
            dx = as_double(p) * (as_double(g) - (as_double(p) * as_double(g)).sum(-1, keepdim=True))
            yield Case(f"softmax_backward {shape} {dtype}", "remat.softmax_backward {0}, {1} : {r}",
                       [p, g], [dx.to(dtype)], {0: 1})
        # Blocks of the gradients have two rows of 1,600 columns, and of 2,048 that are RMS norm's.
        for rows, columns in ((7, 5), (70, 768), (300, 64), (5, 1000), (35, 1600), (35, 2048), (4, 4096), (3, 5003),
                              (2, 12288)):
            for scale_type in ((dtype, F32) if dtype != F32 else (F32,)):
                yield from layer_norm_cases(rows, columns, dtype, scale_type)
                yield from rms_norm_cases(rows, columns, dtype, scale_type)


def layer_norm_cases(rows, columns, dtype, scale_type):
    x, g = random(rows, columns, dtype=dtype, scale=2), random(rows, columns, dtype=dtype)
    scale, bias = random(columns, dtype=scale_type), random(columns, dtype=scale_type)
    mean = as_double(x).mean(-1)
    rstd = 1 / torch.sqrt(as_double(x).var(-1, unbiased=False) + 1e-3)
    normal = (as_double(x) - mean[:, None]) * rstd[:, None]
    y = normal * as_double(scale) + as_double(bias)
    label = f"({rows}, {columns}) {dtype} {scale_type}"
    yield Case("layer_norm " + label,
               "remat.layer_norm {0}, {1}, {2} {{epsilon = 1.0e-3 : f64}} : ({o}) -> ({r})",
               [x, scale, bias], [y.to(dtype), mean.float(), rstd.float()], {0: 0})
    mean, rstd = mean.float(), rstd.float()
    normal = (as_double(x) - as_double(mean)[:, None]) * as_double(rstd)[:, None]
    scaled = as_double(g) * as_double(scale)
    dx = (scaled - scaled.mean(-1, keepdim=True)
          - normal * (scaled * normal).mean(-1, keepdim=True)) * as_double(rstd)[:, None]
    added = random(rows, columns, dtype=dtype)
    total = (as_double(dx.to(dtype)) + as_double(added)).to(dtype)
    text = "remat.layer_norm_backward {0}, {1}, {2}, {3}, {4}"
    operands = [g, x, scale, mean, rstd]
    of_weights = [(as_double(g) * normal).sum(0).to(scale_type), as_double(g).sum(0).to(scale_type)]
    tolerance = 3e-6 if dtype == F32 else None
    yield Case("layer_norm_backward add " + label, text + " add {5} : ({o}) -> ({r})",
               [*operands, added], [total, *of_weights], {0: 5}, tolerance)
    for inplace in ({0: 0}, {0: 1}):
        yield Case("layer_norm_backward " + label, text + " : ({o}) -> ({r})",
                   operands, [dx.to(dtype), *of_weights], inplace, tolerance)
    sums = lambda v: as_double(v).sum(0).to(dtype)  # noqa: E731
    yield Case("layer_norm_backward with_sum " + label, text + " {{with_sum}} : ({o}) -> ({r})",
               operands, [dx.to(dtype), *of_weights, sums(dx.to(dtype))], {0: 0}, tolerance)
    yield Case("layer_norm_backward add with_sum " + label, text + " add {5} {{with_sum}} : ({o}) -> ({r})",
               [*operands, added], [total, *of_weights, sums(total)], {0: 5}, tolerance)


def rms_norm_cases(rows, columns, dtype, weight_type):
    x, g = random(rows, columns, dtype=dtype, scale=2), random(rows, columns, dtype=dtype)
    weight = random(columns, dtype=weight_type)
    rstd = (1 / torch.sqrt((as_double(x) * as_double(x)).mean(-1) + 1e-3)).float()
    normal = as_double(x) * as_double(rstd)[:, None]
    label = f"({rows}, {columns}) {dtype} {weight_type}"
    yield Case("rms_norm " + label, "remat.rms_norm {0}, {1} {{epsilon = 1.0e-3 : f64}} : ({o}) -> ({r})",
               [x, weight], [(normal * as_double(weight)).to(dtype), rstd], {0: 0})
    weighted = as_double(g) * as_double(weight)
    dx = (weighted - normal * (weighted * normal).mean(-1, keepdim=True)) * as_double(rstd)[:, None]
    added = random(rows, columns, dtype=dtype)
    yield Case("rms_norm_backward add " + label, "remat.rms_norm_backward {0}, {1}, {2}, {3} add {4} : ({o}) -> ({r})",
               [g, x, weight, rstd, added],
               [(as_double(dx.to(dtype)) + as_double(added)).to(dtype), (as_double(g) * normal).sum(0).to(weight_type)],
               {0: 4}, 3e-6 if dtype == F32 else None)
    for inplace in ({0: 0}, {0: 1}):
        yield Case("rms_norm_backward " + label, "remat.rms_norm_backward {0}, {1}, {2}, {3} : ({o}) -> ({r})",
                   [g, x, weight, rstd], [dx.to(dtype), (as_double(g) * normal).sum(0).to(weight_type)],
                   inplace, 3e-6 if dtype == F32 else None)


def moment_cases():
    shapes = [((64, 33), [0]), ((3, 5, 7, 16), [0, 1, 2]), ((4, 6, 5, 9), [0, 2, 3]), ((40, 2, 2000), [0, 2]),
              ((9000, 24), [0]), ((700, 1), [0]), ((5, 6), []), ((30, 20), [0, 1]), ((2, 3, 4, 5), [1, 3]),
              ((2000, 4, 1, 136), [0, 1]), ((1, 7, 1), [0, 2])]
    for dtype in (F32, BF16, F16):
        for shape, dims in shapes:
            # A mean far from zero beside a small variance.
            x, g = (random(*shape, dtype=F32) + 30).to(dtype), random(*shape, dtype=dtype)
            mean = as_double(x).mean(dims, keepdim=True) if dims else as_double(x)
            variance = ((as_double(x) - mean) ** 2).mean(dims, keepdim=True) if dims else 0 * mean
            label = f"{shape} {dims} {dtype}"
            yield Case("moments " + label, f"remat.moments {{0}}, {dims} : ({{o}}) -> ({{r}})",
                       [x], [mean.float(), variance.float()], tolerance=1e-5)
            mean = mean.float()
            total = lambda v: v.sum([i for i, n in enumerate(mean.shape) if n == 1], keepdim=True)  # noqa: B023, E731
            sums = [g, as_double(g) * (as_double(x) - as_double(mean))]
            sums = [(total(as_double(v)) if 1 in mean.shape else as_double(v)).float() for v in sums]
            yield Case("normalize_sums " + label, "remat.normalize_sums {0}, {1}, {2} : ({o}) -> ({r})",
                       [g, x, mean], sums, tolerance=1e-5)
            # Few terms, far from where rounding decides.
            rstd, scale, bias = (random(*mean.shape) for _ in range(3))
            normal = (x.float() - mean) * rstd * scale + bias
            g = torch.where(normal.abs() < 0.02, 0.0, as_double(g)).to(dtype)
            sums = [torch.where(normal > 0, as_double(v), 0.0) for v in (g, as_double(g) * (as_double(x) - as_double(mean)))]
            sums = [(total(v) if 1 in mean.shape else v).float() for v in sums]
            yield Case("normalize_sums relu " + label,
                       "remat.normalize_sums {0}, {1}, {2} relu {3}, {4}, {5} : ({o}) -> ({r})",
                       [g, x, mean, rstd, scale, bias], sums, tolerance=1e-5)


def reduce_cases():
    shapes = [((6, 10), [1]), ((6, 1000), [1]), ((40, 768), [0]), ((1000, 24), [0]), ((3, 50, 7), [1]),
              ((200, 131), [0, 1]), ((3, 30000), [1]), ((5, 4, 6, 8), [0, 2]), ((2, 3, 4), [1, 2]), ((5,), [0]),
              ((1, 40, 1, 9), [1]), ((600000,), [0]),
              # Before and behind the kept ones: rows, then columns.
              ((6, 5, 7, 9), [0, 2, 3]), ((40, 33, 16), [0, 2]), ((3, 2, 1, 4, 70), [0, 4])]
    for dtype in (F32, BF16, torch.int32, torch.int64):
        for shape, dims in shapes:
            x = random(*shape, dtype=dtype) if dtype.is_floating_point else torch.randint(-50, 50, shape, dtype=dtype)
            wide = as_double(x) if dtype.is_floating_point else x.long()
            results = {"sum": wide.sum(dims), "max": wide.amax(dims)}
            if dtype.is_floating_point:
                results["mean"] = wide.mean(dims)
            for kind, value in results.items():
                yield Case(f"reduce {kind} {shape} {dims} {dtype}",
                           f"remat.reduce #remat.reduction<{kind}> {{0}}, {dims} : ({{o}}) -> ({{r}})",
                           [x], [value.to(dtype)], tolerance=1e-5 if dtype == F32 else None)
    x = random(4, 6)
    yield Case("reduce keep_dims", "remat.reduce #remat.reduction<sum> {0}, [0] {{keep_dims}} : ({o}) -> ({r})",
               [x], [as_double(x).sum(0, keepdim=True).float()])


def shape_cases():
    for dtype in (F32, BF16, torch.int64, torch.bool):
        def fill(*shape):
            return torch.randint(0, 2, shape).to(dtype) if dtype == torch.bool else random(*shape, scale=99.0).to(dtype)
        for shape, order in (((5, 7), [1, 0]), ((64, 96), [1, 0]), ((2, 3, 4, 8), [0, 2, 1, 3]), ((2, 3, 40), [2, 0, 1]),
                             ((3, 5, 35, 2), [3, 1, 2, 0]), ((4, 6, 10), [0, 2, 1]), ((1, 8, 1, 5), [3, 2, 1, 0])):
            x = fill(*shape)
            yield Case(f"transpose {shape} {order} {dtype}", f"remat.transpose {{0}}, {order} : ({{o}}) -> ({{r}})",
                       [x], [x.permute(order).contiguous()])
        x = fill(6, 10, 24)
        yield Case(f"slice {dtype}", "remat.slice {0}, [1, 2, 8] [4, 5, 16] : ({o}) -> ({r})", [x],
                   [x[1:5, 2:7, 8:24].contiguous()])
        yield Case(f"slice odd {dtype}", "remat.slice {0}, [0, 3, 1] [6, 7, 5] : ({o}) -> ({r})", [x],
                   [x[:, 3:10, 1:6].contiguous()])
        padded = torch.zeros(9, 11, 24, dtype=dtype)
        padded[1:7, 0:10] = x
        yield Case(f"pad {dtype}", "remat.pad {0}, [1, 0, 0] [2, 1, 0] : ({o}) -> ({r})", [x], [padded])
        y, z = fill(6, 3, 24), fill(6, 8, 24)
        yield Case(f"concat {dtype}", "remat.concat {0}, {1}, {2} {{dim = 1 : i64}} : ({o}) -> ({r})", [x, y, z],
                   [torch.cat([x, y, z], 1)])
        # Runs of 16 bytes, along the outermost, one element at a time, and a shift that is none.
        for shape, dim, shift in (((6, 10, 24), 1, 3), ((6, 10, 24), 2, 16), ((6, 10, 24), 0, 5), ((3, 35), 1, 34),
                                  ((7,), 0, 1), ((2, 5, 3), 1, 2), ((2, 5, 3), 1, 0)):
            x = fill(*shape)
            yield Case(f"roll {shape} {dim} {shift} {dtype}",
                       f"remat.roll {{0}} {{{{dim = {dim} : i64, shift = {shift} : i64}}}} : {{r}}", [x],
                       [x.roll(shift, dim)])
        for shape, to in (((3, 1), (3, 40)), ((24,), (6, 10, 24)), ((6, 1, 24), (6, 10, 24)), ((), (5, 3))):
            b = fill(*shape)
            yield Case(f"broadcast {shape} {to} {dtype}", "remat.broadcast {0} : {o} to {r}", [b],
                       [b.expand(to).contiguous()])


def embedding_cases():
    for dtype in (F32, BF16):
        for rows, columns, count in ((11, 5, 30), (50, 24, 3000), (70000, 8, 1500), (300, 768, 100), (5, 1000, 700),
                                     (9, 2, 140000)):
            table = random(rows, columns, dtype=dtype)
            for id_type in (torch.int32, torch.int64):
                ids = torch.randint(0, rows, (count,), dtype=id_type)
                ids[0], ids[-1] = rows, -1
                known = (ids >= 0) & (ids < rows)
                safe = torch.where(known, ids, torch.zeros_like(ids)).long()
                out = table[safe] * known[:, None].to(dtype)
                yield Case(f"embedding {rows} {columns} {dtype}", "remat.embedding {0}, {1} : ({o}) -> ({r})",
                           [ids.reshape(2, -1), table], [out.reshape(2, count // 2, columns)])
                g = random(count, columns, dtype=dtype)
                sums = torch.zeros(rows, columns, dtype=torch.float64)
                sums.index_add_(0, safe, as_double(g) * known[:, None])
                for to in dict.fromkeys((dtype, F32)):
                    name = f"embedding_backward {rows} {columns} {count} {dtype} to {to}"
                    yield Case(name, "remat.embedding_backward {0}, {1} : ({o}) -> ({r})", [ids, g], [sums.to(to)])
                    for of in dict.fromkeys((dtype, to)):
                        added = random(rows, columns, dtype=of)
                        total = as_double(sums.to(to)) + as_double(added)
                        yield Case(f"{name} added to {of}", "remat.embedding_backward {0}, {1} add {2} : ({o}) -> ({r})",
                                   [ids, g, added], [total.to(to)], {0: 2} if of == to else None)


def loss_cases():
    for dtype in (F32, BF16):
        for rows, columns in ((9, 13), (40, 256), (5, 1001), (4, 8200), (3, 50304)):
            x = random(rows, columns, dtype=dtype, scale=4)
            for ignored in (0, 2, rows):
                targets = torch.randint(0, columns, (rows,))
                targets[:ignored] = -100
                lse = torch.logsumexp(as_double(x), -1)
                picked = as_double(x)[torch.arange(rows), targets.clamp(min=0)]
                counted = targets != -100
                count = max(int(counted.sum()), 1)
                loss = ((lse - picked) * counted).sum() / count
                label = f"{rows} {columns} {ignored} {dtype}"
                yield Case("cross_entropy " + label, "remat.cross_entropy {0}, {1} : ({o}) -> ({r})",
                           [x, targets], [loss.float(), lse.float()])
                g = torch.tensor(1.7)
                one_hot = torch.nn.functional.one_hot(targets.clamp(min=0), columns)
                dx = (torch.exp(as_double(x) - as_double(lse.float())[:, None]) - one_hot) * counted[:, None] * as_double(g) / count
                yield Case("cross_entropy_backward " + label,
                           "remat.cross_entropy_backward {0}, {1}, {2}, {3} : ({o}) -> ({r})",
                           [g, x, targets, lse.float()], [dx.to(dtype)], {0: 1}, 3e-6 if dtype == F32 else None)
                yield Case("cross_entropy_with_grad " + label,
                           "remat.cross_entropy_with_grad {0}, {1}, {2} : ({o}) -> ({r})", [g, x, targets],
                           [loss.float(), lse.float(), dx.to(dtype)], {2: 1}, 3e-6 if dtype == F32 else None)
        for rows, columns in ((5, 9), (6, 1000), (3, 20000)):
            yield from certain_cases(rows, columns, dtype)
        for shape in ((7,), (30, 1000), (3, 100001)):
            x, y = random(*shape, dtype=dtype), random(*shape, dtype=dtype)
            yield Case(f"mse {shape} {dtype}", "remat.mse {0}, {1} : ({o}) -> ({r})", [x, y],
                       [((as_double(x) - as_double(y)) ** 2).mean().float()])


def certain_cases(rows, columns, dtype):
    """Targets whose probability is all but one: what it lacks, the gradient, is the sum of the others'."""
    targets = torch.randint(0, columns, (rows,))
    own = torch.nn.functional.one_hot(targets, columns).bool()
    x = (random(rows, columns) + 25.0 * own).to(dtype)
    lse = torch.logsumexp(as_double(x), 1).float()
    others = torch.exp(as_double(x) - as_double(lse)[:, None]).masked_fill(own, 0)
    g = torch.tensor(1.7)
    dx = ((others - own * others.sum(1, keepdim=True)) * as_double(g) / rows).to(dtype)
    tolerance = 1e-5 if dtype == F32 else None
    label = f"certain {rows} {columns} {dtype}"
    yield Case("cross_entropy_backward " + label, "remat.cross_entropy_backward {0}, {1}, {2}, {3} : ({o}) -> ({r})",
               [g, x, targets, lse], [dx], {0: 1}, tolerance)
    # All but zero: the last bit of a sum that is all but 1 may be missing.
    loss = torch.nn.functional.cross_entropy(as_double(x), targets).float()
    least = {0: 2e-7 / (tolerance or TOLERANCE[F32])}
    yield Case("cross_entropy " + label, "remat.cross_entropy {0}, {1} : ({o}) -> ({r})", [x, targets], [loss, lse],
               tolerance=tolerance, least=least)
    yield Case("cross_entropy_with_grad " + label, "remat.cross_entropy_with_grad {0}, {1}, {2} : ({o}) -> ({r})",
               [g, x, targets], [loss, lse, dx], {2: 1}, tolerance, least)


def group_cases():
    """Kernels of elementwise operations that also sum a result over all dimensions but the last."""
    for dtype in (F32, BF16, F16):
        # One part of the rows and one column, odd sizes, several parts and tiles.
        for rows, columns in ((3, 1), (70, 33), (9, 512), (4500, 24), (700, 264)):
            x, y = random(rows, columns, dtype=dtype), random(rows, columns, dtype=dtype)
            scale = random(columns, dtype=dtype)
            full, row = tensor_type(x), tensor_type(scale)
            product = (as_double(x) * as_double(scale)).to(dtype)
            difference = (as_double(product) - as_double(y)).to(dtype)
            text = (f"remat.kernel(%x = {{0}} : {full}, %y = {{1}} : {full}, %s = {{2}} : {row}) -> ({{r}}) {{{{\n"
                    f"    %p = remat.mul %x, %s : ({full}, {row}) -> {full}\n"
                    f"    %d = remat.sub %p, %y : ({full}, {full}) -> {full}\n"
                    f"    %t = remat.reduce <sum> %d, [0] : ({full}) -> {row}\n"
                    f"    %u = remat.reduce <sum> %p, [0] : ({full}) -> {row}\n"
                    f"    remat.yield %d, %t, %p, %u : {full}, {row}, {full}, {row}\n  }}}}")
            yield Case(f"sums of a group ({rows}, {columns}) {dtype}", text, [x, y, scale],
                       [difference, as_double(difference).sum(0).to(dtype), product, as_double(product).sum(0).to(dtype)],
                       {0: 1, 2: 0}, 3e-6 if dtype == F32 else None)
    # More bytes of operands than are loaded ahead: 8 x (2 + 3 x 4).
    h, operands = random(70, 264, dtype=BF16), [random(70, 264) for _ in range(3)]
    full, half = tensor_type(operands[0]), tensor_type(h)
    total = (as_double(h) + as_double(operands[0]) + as_double(operands[1]) + as_double(operands[2])).float()
    yield Case("sums of a group of four operands",
               f"remat.kernel(%h = {{0}} : {half}, %x = {{1}} : {full}, %y = {{2}} : {full}, %z = {{3}} : {full}) -> ({{r}}) {{{{\n"
               f"    %f = remat.cast %h : {half} to {full}\n"
               f"    %a = remat.add %f, %x : ({full}, {full}) -> {full}\n"
               f"    %b = remat.add %a, %y : ({full}, {full}) -> {full}\n"
               f"    %c = remat.add %b, %z : ({full}, {full}) -> {full}\n"
               f"    %t = remat.reduce <sum> %c, [0] : ({full}) -> tensor<264xf32>\n"
               f"    remat.yield %c, %t : {full}, tensor<264xf32>\n  }}}}",
               [h, *operands], [total, as_double(total).sum(0).float()], {0: 3}, 1e-5)


def optimizer_cases():
    rate, step, scale = torch.tensor(0.01), torch.tensor(4), torch.tensor(0.5)
    for dtype, grad_type in ((F32, F32), (F32, BF16), (BF16, BF16)):
        for shape in ((7,), (33, 40)):
            p, g = random(*shape, dtype=dtype), random(*shape, dtype=grad_type)
            m, v = random(*shape, scale=0.1), random(*shape).abs() * 0.1
            for scaled in (False, True):
                grad = as_double(g) * (0.5 if scaled else 1.0)
                m1, v1 = 0.9 * as_double(m) + 0.1 * grad, 0.999 * as_double(v) + 0.001 * grad ** 2
                new = as_double(p) * (1 - 0.01 * 0.1)
                new = new - 0.01 * (m1 / (1 - 0.9 ** 5)) / (torch.sqrt(v1 / (1 - 0.999 ** 5)) + 1e-8)
                more, text = ([scale], "scale {6} ") if scaled else ([], "")
                for halves in ("", ", in_halves", ", as_halves") if dtype == F32 else ("",):
                    yield Case(f"adamw {shape} {dtype} {grad_type} {scaled}{halves}",
                               "remat.adamw {0}, {1} moments {2}, {3} rate {4} step {5} " + text +
                               f"{{{{weight_decay = 1.0e-1 : f64{halves}}}}} : ({{o}}) -> ({{r}})",
                               [p, g, m, v, rate, step] + more, [new.to(dtype), m1.float(), v1.float()],
                               {0: 0, 1: 2, 2: 3}, in_halves="in_halves" in halves)
                base = grad + 0.1 * as_double(p)
                b = 0.8 * as_double(m) + base
                more, text = ([scale], "scale {4} ") if scaled else ([], "")
                yield Case(f"sgd momentum {shape} {dtype} {grad_type}",
                           "remat.sgd {0}, {1} buffer {2} rate {3} " + text +
                           "{{momentum = 8.0e-1 : f64, weight_decay = 1.0e-1 : f64}} : ({o}) -> ({r})",
                           [p, g, m, rate] + more, [(as_double(p) - 0.01 * b).to(dtype), b.float()], {0: 0, 1: 2})
                text = "scale {3} " if scaled else ""
                yield Case(f"sgd {shape} {dtype} {grad_type}",
                           "remat.sgd {0}, {1} rate {2} " + text + "{{weight_decay = 1.0e-1 : f64}} : ({o}) -> ({r})",
                           [p, g, rate] + more, [(as_double(p) - 0.01 * base).to(dtype)], {0: 0})
    # What rounds up, down, half-way to both sides, beyond the largest bf16, to zero, and is not finite.
    bits = [0x3f800000, 0x3f808000, 0x3f818000, 0x3f808001, 0x3f807fff, 0xbf80ffff, 0x7f7fffff, 0x00000001, 0x80008001,
            0x80000000, 0x7f800000, 0xff800000, 0x7fffffff]
    special = torch.tensor([b - (b >> 31 << 32) for b in bits], dtype=torch.int32).view(F32)
    stored = [b - 1 if b == 0x3f808000 else b for b in bits]
    stored = torch.tensor([b - (b >> 31 << 32) for b in stored], dtype=torch.int32).view(F32)
    zeros, one = torch.zeros_like(special), torch.tensor(1.0)
    for halves in ("in_halves", "as_halves"):
        # A rate of 0 leaves the numbers as they are stored.
        yield Case(f"adamw of special numbers, {halves}",
                   f"remat.adamw {{0}}, {{1}} moments {{2}}, {{3}} rate {{4}} step {{5}} {{{{{halves}}}}} : ({{o}}) -> ({{r}})",
                   [special[:10], zeros[:10], zeros[:10], zeros[:10], 0 * one, step], [stored[:10], zeros[:10], zeros[:10]],
                   {0: 0, 1: 2, 2: 3}, 1e-30, in_halves=halves == "in_halves")
    for x, y in ((special, stored), (random(8, 40), None)):
        y = join_halves(split_halves(x)) if y is None else y
        yield Case(f"join_halves {tuple(x.shape)}", "remat.join_halves {0} : ({o}) -> {r}", [x], [y],
                   tolerance=1e-30, in_halves=True)
    tensors = [random(30, 7), random(40000), random(3, 3, dtype=BF16)]
    norm = torch.sqrt(sum((as_double(t) ** 2).sum() for t in tensors))
    yield Case("global_norm", "remat.global_norm {0}, {1}, {2} : ({o}) -> ({r})", tensors, [norm.float()])


SEED, STEP = 2**40 + 3, 4  # of attention that drops probabilities


def attention(q, k, v, causal, window, mask, scale, dropped):
    """q is [B, T, H, D], k and v [B, S, G, D] in float64; gives the result, [B, T, H, D], and the log-sum-exp."""
    k, v = (x.repeat_interleave(q.shape[2] // x.shape[2], 2) for x in (k, v))
    scores = torch.einsum("bthd,bshd->bhts", q, k) * scale
    if causal:
        t, s = scores.shape[2:]
        ahead = torch.arange(s)[None] - torch.arange(t)[:, None]
        scores = scores.masked_fill((ahead > 0) | (ahead <= -(window or t)), -math.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + as_double(mask)
    lse = torch.logsumexp(scores, -1)
    p = torch.exp(scores - lse.masked_fill(lse == -math.inf, 0)[..., None])
    if dropped:
        p = p * torch.as_tensor(philox.attention_factors(p.shape, dropped, SEED, 7, STEP))
    return torch.einsum("bhts,bshd->bthd", p, v), lse


# Batch, queries, keys, heads and how many share a key's, width, causal, window, mask, packed, scale, dropped
ATTENTIONS = (
    (1, 70, 70, 2, 1, 16, True, None, None, True, None, 0), (2, 33, 50, 1, 1, 64, False, None, None, False, 0.3, 0),
    (1, 20, 20, 2, 1, 40, True, None, "bool", False, 0.3, 0), (2, 40, 24, 2, 1, 24, False, None, "float", False, 0.3, 0.25),
    (1, 9, 9, 1, 1, 160, True, None, None, True, None, 0), (1, 18, 18, 1, 1, 256, False, None, None, False, 0.3, 0),
    (2, 19, 19, 3, 1, 8, True, None, None, True, None, 0.5),
    # Heads that share keys, with what belongs to a head; windows that leave out whole tiles.
    (2, 70, 70, 6, 3, 16, True, None, None, False, 0.3, 0), (2, 20, 33, 4, 4, 24, False, None, "float", False, 0.3, 0.25),
    (1, 200, 200, 1, 1, 16, True, 50, None, True, None, 0), (1, 150, 40, 4, 2, 16, True, 20, None, False, 0.3, 0),
    # Several tiles of wide heads; scores that are largest where products are least; heads that no word holds whole.
    (1, 150, 150, 2, 1, 128, True, None, None, True, None, 0), (1, 130, 200, 2, 1, 80, False, None, "float", False, 0.1, 0.1),
    (1, 140, 140, 1, 1, 64, True, None, None, False, 0.1, 0.25), (1, 75, 75, 2, 2, 96, True, 30, "bool", False, 0.1, 0),
    # What groups of warps multiply on Hopper: windows, masks, shared keys, and columns that are missing.
    (1, 200, 200, 2, 1, 64, True, 50, None, False, 0.1, 0), (1, 75, 75, 2, 2, 128, True, 30, "bool", False, 0.1, 0),
    (1, 130, 130, 4, 2, 64, True, None, None, False, 0.1, 0),
    (1, 66, 150, 2, 1, 60, False, None, "float", False, 0.1, 0.1), (1, 70, 70, 1, 1, 120, True, None, None, True, None, 0),
    (1, 70, 66, 1, 1, 15, False, None, None, False, -0.3, 0.1), (1, 66, 70, 2, 1, 32, False, None, None, False, -0.2, 0),
)  # fmt: skip


def attention_cases():
    for dtype, places in ((F32, 1e-5), (BF16, 2e-2), (F16, 3e-3)):
        for batch, t, s, heads, shared, width, causal, window, mask_kind, packed, given, dropped in ATTENTIONS:
            q = random(batch, t, heads, width, dtype=dtype)
            k, v = (random(batch, s, heads // shared, width, dtype=dtype) for _ in range(2))
            mask = None
            if mask_kind == "bool":
                mask = torch.rand(batch, 1, t, s) > 0.3
                mask[0, 0, 3] = False
            elif mask_kind == "float":
                mask = random(heads, 1, s)
            scale = given or 1 / math.sqrt(width)
            wide = [as_double(x).requires_grad_() for x in (q, k, v)]
            out, lse = attention(*wide, causal, window, mask, scale, dropped)
            g = random(batch, t, heads, width, dtype=dtype)
            grads = torch.autograd.grad(out, wide, as_double(g))
            out, lse = out.detach().to(dtype), lse.detach().float()
            attributes = (["causal"] if causal else []) + ([f"window = {window}"] if window else [])
            attributes += [f"scale = {given:e} : f64"] if given else []
            attributes += [f"dropout_p = {dropped} : f64, id = 7 : i64"] if dropped else []
            attributes = "{{" + ", ".join(attributes) + "}}"
            qkv = [torch.stack([q, k, v], 2)] if packed else [q, k, v]
            dqkv = [torch.stack(grads, 2).to(dtype)] if packed else [x.to(dtype) for x in grads]
            masks, n = ([mask] if mask is not None else []), len(qkv)
            more = masks + ([torch.tensor(SEED), torch.tensor(STEP)] if dropped else [])
            read = lambda n: (f"mask {{{n}}} " if masks else "") + (  # noqa: E731
                f"random {{{n + len(masks)}}}, {{{n + len(masks) + 1}}} " if dropped else ""
            )
            names = ", ".join(f"{{{i}}}" for i in range(n))
            label = f"{batch} {t} {s} {heads} {shared} {width} {causal} {window} {mask_kind} {dropped} {dtype}"
            yield Case("attention " + label, f"remat.attention {names} {read(n)}{attributes} : ({{o}}) -> ({{r}})",
                       qkv + more, [out, lse], tolerance=5e-6 if dtype == F32 else None)
            names = ", ".join(f"{{{i + 1}}}" for i in range(n))
            yield Case("attention_backward " + label,
                       f"remat.attention_backward {{0}} qkv {names} output {{{n + 1}}}, {{{n + 2}}} {read(n + 3)}{attributes}"
                       " : ({o}) -> ({r})", [g] + qkv + [out, lse] + more, dqkv,
                       tolerance=places)


def all_cases():
    torch.manual_seed(1)
    for make in (row_cases, moment_cases, reduce_cases, shape_cases, embedding_cases, loss_cases, group_cases, optimizer_cases, attention_cases,
                 window_cases, index_cases):
        yield from make()
