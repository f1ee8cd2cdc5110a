"""Cases of convolution and pooling, and of elements by index and order: part of cases."""

import math

import torch
from case import BF16, F16, F32, Case, as_double, random


def window_cases():
    for dtype in (F32, BF16, F16):
        for x, w, strides, low, high, dilation, groups in (
                ((2, 3, 9, 8), (5, 3, 3, 2), (2, 1), (1, 0), (1, 1), (1, 2), 1),
                ((1, 4, 40), (6, 2, 5), (1,), (2,), (2,), (1,), 2),
                ((2, 6, 11, 7), (6, 1, 3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 6),  # depthwise
                ((2, 20, 9, 9), (33, 20, 3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 1),  # tiles
                ((2, 70, 8, 8), (80, 35, 1, 1), (2, 2), (0, 0), (0, 0), (1, 1), 2),
                ((1, 2, 5, 4, 6), (3, 2, 2, 2, 3), (1, 2, 1), (1, 0, 1), (0, 0, 1), (1, 1, 1), 1),
                # So few weights of so many positions that their gradient is made in parts.
                ((3, 18, 40, 40), (20, 18, 3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 1)):
            yield from convolution_cases(dtype, x, w, strides, low, high, dilation, groups)
        for shape, window, strides, low, high, dilation in (
                ((2, 3, 9, 8), (3, 2), (2, 2), (1, 0), (1, 1), (1, 1)), ((4, 30), (3,), (1,), (1,), (1,), (2,)),
                ((2, 6, 7, 5), (2, 3, 2), (2, 1, 2), (1, 1, 0), (1, 1, 1), (1, 1, 1))):
            yield from pool_cases(dtype, shape, window, strides, low, high, dilation)


def _padded(x, low, high, value=0.0):
    sides = [side for pair in zip(reversed(low), reversed(high)) for side in pair]
    return torch.nn.functional.pad(x, sides, value=value)


def _movement(strides, low, high, dilation):
    return f"strides {list(strides)} pad {list(low)} {list(high)} dilation {list(dilation)}"


def convolution_cases(dtype, x_shape, w_shape, strides, low, high, dilation, groups):
    x, w = random(*x_shape, dtype=dtype), random(*w_shape, dtype=dtype)
    wide = [as_double(x).requires_grad_(), as_double(w).requires_grad_()]
    function = getattr(torch.nn.functional, f"conv{len(strides)}d")
    y = function(_padded(wide[0], low, high), wide[1], None, strides, 0, dilation, groups)
    g = random(*y.shape, dtype=dtype)
    dx, dw = torch.autograd.grad(y, wide, as_double(g))
    how = _movement(strides, low, high, dilation) + f" {{{{groups = {groups} : i64}}}} : ({{o}}) -> ({{r}})"
    label = f"{x_shape} {w_shape} {dtype}"
    for name, operands, result in (("convolution", [x, w], y.detach()), ("convolution_input_grad", [g, w], dx),
                                   ("convolution_weight_grad", [g, x], dw)):
        tolerance, last = 5e-6 if dtype == F32 else None, how.replace("{{", "{{channels_last, ", 1)
        yield Case(f"{name} {label}", f"remat.{name} {{0}}, {{1}} {how}", operands, [result.to(dtype)],
                   tolerance=tolerance)
        yield Case(f"{name} channels_last {label}", f"remat.{name} {{0}}, {{1}} {last}",
                   [_channels_last(v) for v in operands], [_channels_last(result.to(dtype))], tolerance=tolerance)


def _channels_last(x, place=1):
    return x.movedim(place, -1).contiguous()


def pool_cases(dtype, shape, window, strides, low, high, dilation):
    x = (random(*shape, dtype=F32, scale=2).round() / 2).to(dtype)  # some are equal
    wide, rank = as_double(x).requires_grad_(), len(window)
    planes = _padded(wide.reshape(1, -1, *shape[-rank:]), low, high, -math.inf)
    y = getattr(torch.nn.functional, f"max_pool{rank}d")(planes, window, strides, 0, dilation)
    y = y.reshape(*shape[:-rank], *y.shape[2:])
    g = random(*y.shape, dtype=dtype)
    dx = torch.autograd.grad(y, wide, as_double(g))[0]
    how = f"window {list(window)} {_movement(strides, low, high, dilation)} : ({{o}}) -> ({{r}})"
    label = f"{shape} {window} {dtype}"
    yield Case("max_pool " + label, "remat.max_pool {0} " + how, [x], [y.detach().to(dtype)])
    yield Case("max_pool_backward " + label, "remat.max_pool_backward {0}, {1} " + how, [g, x], [dx.to(dtype)])
    if rank == len(shape):
        return
    last = lambda v: _channels_last(v, len(shape) - rank - 1)  # noqa: E731
    how = how.replace(" : (", " {{channels_last}} : (")
    yield Case("max_pool channels_last " + label, "remat.max_pool {0} " + how, [last(x)], [last(y.detach().to(dtype))])
    yield Case("max_pool_backward channels_last " + label, "remat.max_pool_backward {0}, {1} " + how,
               [last(g), last(x)], [last(dx.to(dtype))])


def index_cases():
    for dtype in (F32, BF16, torch.int64, torch.int32):
        make = lambda *s: random(*s, scale=9).to(dtype)  # noqa: E731
        for shape, dim, count in (((5, 70), 1, 9), ((40, 6), 0, 50), ((3, 300, 4), 1, 20)):
            x, size = make(*shape), shape[dim]
            taken = shape[:dim] + (count,) + shape[dim + 1:]
            i = torch.randint(0, size, taken, dtype=torch.int32 if dtype == BF16 else torch.int64)
            how = f"{{{{dim = {dim} : i64}}}} : ({{o}}) -> ({{r}})"
            label = f"{shape} {dim} {dtype}"
            yield Case("gather " + label, "remat.gather {0}, {1} " + how, [x, i], [x.gather(dim, i.long())])
            if dtype.is_floating_point:
                u, zeros = make(*taken), torch.zeros(shape, dtype=torch.float64)
                yield Case("scatter_add " + label, "remat.scatter_add {0}, {1} " + how, [i, u],
                           [zeros.scatter_add(dim, i.long(), as_double(u)).to(dtype)])
            for k, smallest in ((1, False), (min(size, 7), True), (size, False)):
                x = make(*shape)
                if dtype.is_floating_point:
                    x.view(-1)[3] = math.nan
                values, places = torch.sort(x, dim=dim, descending=not smallest, stable=True)
                more = ", smallest" if smallest else ""
                yield Case(f"top_k {k} {smallest} {label}",
                           f"remat.top_k {{0}} {{{{k = {k} : i64, dim = {dim} : i64{more}}}}} : ({{o}}) -> ({{r}})",
                           [x], [values.narrow(dim, 0, k).contiguous(), places.narrow(dim, 0, k).contiguous()])
            for reverse in (False, True):
                x = make(*shape)
                turn = (lambda v: v.flip(dim)) if reverse else (lambda v: v)
                wide = as_double(x) if dtype.is_floating_point else x
                y = turn(turn(wide).cumsum(dim)).to(dtype)
                more = ", reverse" if reverse else ""
                yield Case(f"cumsum {reverse} {label}", f"remat.cumsum {{0}} {{{{dim = {dim} : i64{more}}}}} : {{r}}",
                           [x], [y], tolerance=5e-6 if dtype == F32 else None)
