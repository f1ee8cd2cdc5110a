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
    taken relative to."""

    def __init__(self, name, text, operands, results, inplace=None, tolerance=None, least=None):
        self.name, self.text = name, text
        self.operands, self.results = operands, results
        self.inplace, self.tolerance, self.least = inplace or {}, tolerance, least or {}


def tensor_type(t):
    return "tensor<" + "".join(f"{n}x" for n in t.shape) + TYPES[t.dtype] + ">"


def random(*shape, dtype=F32, scale=1.0):
    return (torch.randn(shape, dtype=torch.float64) * scale).to(dtype)


def as_double(t):
    return t.double()
