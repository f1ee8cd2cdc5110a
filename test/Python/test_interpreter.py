"""The oracle itself: random numbers, rounding, parsing, kernel groups."""

import interpreter
import numpy as np
import philox
import pytest
import torch
from generic_ir import ParseError, parse_graph


@pytest.mark.parametrize(
    "counter, key, words",
    [
        # The known answers that come with the authors' Random123.
        ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (
            (0xFFFFFFFF,) * 4,
            (0xFFFFFFFF,) * 2,
            (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox(counter, key, words):
    assert tuple(int(w) for w in philox.philox(counter, key)) == words


def test_random_numbers_are_apart_and_right():
    draws = [philox.uniform((4000,), 1, id, step) for id in (0, 1, 2**32) for step in (0, 1)]
    for i, a in enumerate(draws):
        assert 0.0 <= a.min() and a.max() < 1.0 and abs(a.mean() - 0.5) < 0.02
        for b in draws[:i]:
            assert abs(np.corrcoef(a, b)[0, 1]) < 0.06
    normal = philox.normal((20001,), 3, 4, 5)
    assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1.0) < 0.02


@pytest.mark.parametrize("element", ["f32", "bf16", "f16"])
def test_rounding(element):
    """Against PyTorch's casts: f64 values near every exponent, ties included."""
    type = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[element]
    random = np.random.default_rng(0)
    exact = torch.from_numpy(random.standard_normal(4000).astype(np.float32)).to(type).double()
    scales = 2.0 ** random.integers(-30, 30, 4000)
    values = exact.numpy() * scales
    step = 2.0**-8 * np.abs(values)  # half a unit of bf16 for a power of two
    values = np.concatenate([values, values + step, values - step, [np.inf, -np.inf, 0.0, 3.4e38]])
    values = values.astype(np.float32).astype(
        np.float64
    )  # PyTorch rounds f64 to bf16 by way of f32
    expected = torch.from_numpy(values).to(type).double().numpy()
    with np.errstate(over="ignore"):
        assert np.array_equal(interpreter.round_to(values, element), expected)
    assert np.isnan(interpreter.round_to(np.array([np.nan]), element)).all()


KERNEL = """
func.func @main(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0:2 = "remat.kernel"(%x, %b) ({
  ^bb0(%a: tensor<2x3xf32>, %c: tensor<3xf32>):
    %1 = "remat.add"(%a, %c) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %2 = "remat.relu"(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    "remat.yield"(%1, %2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  }) : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return %0#1, %0#0 : tensor<2x3xf32>, tensor<2x3xf32>
}
"""


def test_kernel_group():
    graph = parse_graph(interpreter.optimize(KERNEL))
    x, b = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]), np.array([1.0, 1.0, 1.0])
    relu, total = interpreter.run(graph, [x, b])
    assert np.array_equal(total, x + 1.0)
    assert np.array_equal(relu, np.maximum(x + 1.0, 0.0))


def test_constants_of_every_type():
    text = """
    func.func @main() -> (tensor<2xf32>, tensor<2x1xi32>, tensor<i1>, tensor<2xbf16>, tensor<f16>) {
      %0 = remat.constant dense<[0x7F800000, -1.5]> : tensor<2xf32>
      %1 = remat.constant dense<[[-7], [9]]> : tensor<2x1xi32>
      %2 = remat.constant dense<true> : tensor<i1>
      %3 = remat.constant dense<"0x803F00C0"> : tensor<2xbf16>
      %4 = remat.constant dense<0x7E00> : tensor<f16>
      return %0, %1, %2, %3, %4 : tensor<2xf32>, tensor<2x1xi32>, tensor<i1>, tensor<2xbf16>, tensor<f16>
    }"""
    f32, i32, i1, bf16, f16 = interpreter.run(parse_graph(interpreter.optimize(text)), [])
    assert f32.tolist() == [np.inf, -1.5]
    assert i32.tolist() == [[-7], [9]] and i32.dtype == np.int32
    assert i1.dtype == np.bool_ and i1
    assert bf16.tolist() == [1.0, -2.0]
    assert np.isnan(f16)


def test_bits_in_bytes():
    """Many elements are printed as bytes, those of i1 eight in each."""
    bits = np.random.default_rng(0).random((29, 7)) < 0.3
    rows = ", ".join("[" + ", ".join("true" if bit else "false" for bit in row) + "]" for row in bits)
    text = """
    func.func @main() -> tensor<29x7xi1> {
      %%0 = remat.constant dense<[%s]> : tensor<29x7xi1>
      return %%0 : tensor<29x7xi1>
    }""" % rows
    generic = interpreter.optimize(text)
    assert "0x" in generic
    assert np.array_equal(interpreter.run(parse_graph(generic), [])[0], bits)


def test_wrong_shapes_and_ids_are_errors():
    text = """
    func.func @main(%ids: tensor<2xi64>, %t: tensor<3x1xf32>) -> tensor<2x1xf32> {
      %0 = remat.embedding %ids, %t : (tensor<2xi64>, tensor<3x1xf32>) -> tensor<2x1xf32>
      return %0 : tensor<2x1xf32>
    }"""
    graph = parse_graph(interpreter.optimize(text))
    assert interpreter.run(graph, [[2, 0], [[1], [2], [3]]])[0].tolist() == [[3], [1]]
    with pytest.raises(interpreter.EvaluationError, match="id 3 is not in"):
        interpreter.run(graph, [[3, 0], [[1], [2], [3]]])
    with pytest.raises(interpreter.EvaluationError, match="value of shape"):
        interpreter.run(graph, [[0, 0, 0], [[1], [2], [3]]])
    with pytest.raises(ParseError):
        parse_graph("func.func @main() { return }")
