"""A case of an own CUDA kernel, and numbers for its operands."""

import torch

TYPES = {
    torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16",
    torch.int32: "i32", torch.int64: "i64", torch.bool: "i1",
}
TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 4e-3, torch.float16: 6e-4}
F32, BF16, F16 = torch.float32, torch.bfloat16, torch.float16


class Case:
    """`text` has {i} for operand i, {o} for the operand types and {r} for the result types.
    `inplace` maps results to the operands whose memory they take over, `least` to the least size that an error is
    taken relative to. With `in_halves` operand 0, and what takes over its memory, is an f32 in halves."""

    def __init__(self, name, text, operands, results, inplace=None, tolerance=None, least=None, in_halves=False):
        self.name, self.text = name, text
        self.operands, self.results = operands, results
        self.inplace, self.tolerance, self.least = inplace or {}, tolerance, least or {}
        self.in_halves = in_halves

    def lies_in_halves(self, operand):
        return self.in_halves and operand == 0


def split_halves(x):
    """The f32 tensor whose bytes are the halves of x."""
    upper = x.bfloat16().reshape(-1).view(torch.int16)
    missing = x.reshape(-1).view(torch.int32).long() - (upper.long() << 16)
    lower = missing.clamp(-32768, 32767).to(torch.int16)
    return torch.cat([upper, lower]).view(F32).reshape(x.shape)


def join_halves(x):
    upper, lower = x.reshape(-1).view(torch.int16).long().chunk(2)
    return ((upper << 16) + lower).to(torch.int32).view(F32).reshape(x.shape)


def tensor_type(t):
    return "tensor<" + "".join(f"{n}x" for n in t.shape) + TYPES[t.dtype] + ">"


def random(*shape, dtype=F32, scale=1.0):
    return (torch.randn(shape, dtype=torch.float64) * scale).to(dtype)


def as_double(t):
    return t.double()
