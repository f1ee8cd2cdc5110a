"""Bad graphs: a diagnostic and exit 1, never a crash."""

import pytest
import remat
from test_malformed import refused, small_gpt

GRAPHS = {
    "empty": "",
    "comment": "// nothing\n",
    "not a function": "module {}\n",
    "no main": "func.func @evaluate() { return }\n",
    "main twice": "func.func @main() { return }\nfunc.func @main() { return }\n",
    "beside functions": "func.func @main() { return }\nmodule {}\n",
    "declaration": "func.func private @main()\n",
    "other dialect": 'func.func @main() { "test.op"() : () -> ()\n return }\n',
    "deep": "module {" * 20000,
    "bytecode": "ML\xefR\x06rest",
    "no role": """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
""",
    "dynamic": """
func.func @main(%x: tensor<?xf32> {remat.role = #remat.role<input>, remat.name = "x"}) {
  return
}
""",
    "half a file": str(small_gpt())[: len(str(small_gpt())) // 2],
    "loss that depends on no parameter": """
func.func @main(%x: tensor<f32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  return %x : tensor<f32>
}
""",
    "overflow": str(small_gpt()).replace("tensor<4x8xf32>", "tensor<4611686018427387904x8xf32>"),
    "duplicate name": str(small_gpt()).replace('"wpe.weight"', '"wte.weight"'),
    "wrong type": str(small_gpt()).replace("tensor<2x4xi64>", "tensor<2x5xi64>", 1),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(tmp_path, name):
    (tmp_path / "graph.mlir").write_text(GRAPHS[name], encoding="latin-1")
    refused([tmp_path / "graph.mlir", "--steps", 1])


def test_a_graph_that_needs_too_much_memory(tmp_path):
    """Sizes that fit 64 bits but no machine: an error with the bytes, not a crash."""
    graph = remat.Graph()
    x = graph.input("x", (2**50,))
    graph.output(x + 1.0, "y")
    (tmp_path / "graph.mlir").write_text(str(graph))
    refused([tmp_path / "graph.mlir", "--steps", 1], str(2**53))


@pytest.mark.parametrize("character", ('"', "\n", "\\", "\x01", "\u00fc", " ", "*", "%"))
def test_names_that_could_leave_a_comment(tmp_path, character):
    """Names reach CUDA source and reports: what could end a comment or a string is refused."""
    graph = str(small_gpt())
    bad = "".join(f"\\{byte:02X}" for byte in character.encode())
    (tmp_path / "graph.mlir").write_text(graph.replace('"wpe.weight"', f'"a{bad}b"'))
    refused([tmp_path / "graph.mlir", "--steps", 1], f"0x{character.encode()[0]:X}")
