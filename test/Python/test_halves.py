"""Parameters that lie in two halves: what is read and written of them is f32."""

from __future__ import annotations

import array

import numpy as np
import pytest

import remat

# On the host nothing puts a parameter so but the text itself.
TEXT = """
func.func @main(
    %w: tensor<6xf32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.in_halves,
                       remat.donated = 1 : i64, remat.init = #remat.init<normal, 1.0>},
    %g: tensor<6xf32> {remat.role = #remat.role<input>, remat.name = "g"},
    %m: tensor<6xf32> {remat.role = #remat.role<state>, remat.name = "m", remat.donated = 2 : i64},
    %v: tensor<6xf32> {remat.role = #remat.role<state>, remat.name = "v", remat.donated = 3 : i64},
    %rate: tensor<f32> {remat.role = #remat.role<learning_rate>, remat.name = "rate",
                        remat.init = #remat.init<constant, 0.1>},
    %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<6xbf16> {remat.role = #remat.role<output>, remat.name = "rounded"},
        tensor<6xf32> {remat.role = #remat.role<parameter>, remat.name = "w.new"},
        tensor<6xf32> {remat.role = #remat.role<state>, remat.name = "m.new"},
        tensor<6xf32> {remat.role = #remat.role<state>, remat.name = "v.new"}) {
  %0 = remat.upper_half %w : (tensor<6xf32>) -> tensor<6xbf16>
  %1 = remat.neg %0 : tensor<6xbf16>
  %2, %3, %4 = remat.adamw %w, %g moments %m, %v rate %rate step %step {in_halves}
      : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<f32>, tensor<i64>)
      -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
  return %1, %2, %3, %4 : tensor<6xbf16>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}
"""
G = array.array("f", [1, -1, 2, -2, 0.5, -0.5])


def session(text: str = TEXT) -> remat.Session:
    return remat.Session(remat.compile(text, optimizer=None), seed=4)


def whole() -> str:
    """The same graph with a parameter as any other."""
    text = TEXT.replace("remat.in_halves,", "").replace(" {in_halves}", "")
    return text.replace(
        "remat.upper_half %w : (tensor<6xf32>) -> tensor<6xbf16>",
        "remat.cast %w : tensor<6xf32> to tensor<6xbf16>",
    )


def test_a_step_is_that_of_a_whole_parameter():
    halved, plain = session(), session(whole())
    for _ in range(3):
        halved.step(g=G)
        plain.step(g=G)
        for name in ("rounded", "w", "m", "v"):
            assert halved.read(name).tolist() == plain.read(name).tolist(), name
    assert halved.parameters_digest() == plain.parameters_digest()


def test_there_is_no_view():
    halved = session()
    info = halved.program.arguments
    assert info["w"].in_halves and not info["m"].in_halves
    assert not session(whole()).program.arguments["w"].in_halves
    with pytest.raises(remat.Error, match="'w' lies in halves"):
        halved.view("w")
    assert halved.view("m").is_view and halved.lend("m").is_view
    assert halved.lend("w").tolist() == halved.read("w").tolist()


def test_sessions_copy_from_each_other(tmp_path):
    halved, plain = session(), session(whole())
    values = np.array([0.1, -0.2, 3e-39, 1e30, 0.0, 1 / 3], np.float32)
    plain.write("w", values)
    halved.copy_from(plain)
    assert halved.read("w").tolist() == values.tolist()
    halved.write("w", values[::-1].copy())
    plain.copy_from(halved)
    assert plain.read("w").tolist() == values[::-1].tolist()
    halved.save(tmp_path / "w.safetensors", optimizer=True)
    other = session(whole())
    other.load(tmp_path / "w.safetensors")
    assert other.read("w").tolist() == values[::-1].tolist()
    halved.save_checkpoint(tmp_path / "run")
    fresh = session(whole())
    fresh.load_checkpoint(tmp_path / "run")
    assert fresh.parameters_digest() == halved.parameters_digest()


def network(loss) -> remat.Graph:
    graph = remat.Graph()
    x = graph.input("x", (16, 8))
    w1, w2 = (graph.parameter(n, (8, 8), remat.init.normal(0.3)) for n in ("w1", "w2"))
    graph.loss(loss(remat.ops.gelu(x @ w1) @ w2, w1))
    return graph


def compile_for_cuda(**options) -> remat.Program:
    """Compiled and verified; nothing runs."""
    mean = lambda v: remat.ops.reduce("mean", v * v)
    squares = lambda y, w: mean(y)
    penalty = lambda y, w: mean(y) + mean(w)
    return remat.compile(
        network(squares),
        device="cuda",
        arch="sm_90",
        functions={"evaluate": network(squares), "penalty": network(penalty)},
        **{"optimizer": "adamw", **options},
    )


def test_functions_share_halves():
    program = compile_for_cuda(autocast="bf16")
    for function in (program, *program.functions.values()):
        assert all(function.arguments[name].in_halves for name in ("w1", "w2"))
    count = lambda name: sum(s.op == "join_halves" for s in program.functions[name].plan)
    assert (count("evaluate"), count("penalty")) == (0, 1)


def test_loops_read_halves():
    """Micro-batches read the bf16 of a parameter, whose other half is there all the same."""
    square = network(lambda y, w: remat.ops.reduce("mean", y * y))
    options = dict(device="cuda", arch="sm_90", optimizer="adamw", autocast="bf16", accumulate=2)
    found = {}
    for halves in (True, False):
        program = remat.compile(square, halves=halves, **options)
        assert program.arguments["w1"].in_halves == halves
        found[halves] = program.report["predicted_peak_bytes"]
        least = program.report["smallest_feasible_bytes"]
        assert remat.compile(square, halves=halves, budget=least, **options).arguments
        with pytest.raises(remat.BudgetRefused) as refused:
            remat.compile(square, halves=halves, budget=least - 1, **options)
        assert refused.value.proven < least
    # Two matrices of 64 bf16, as the bytes of a buffer each.
    assert found[True] == found[False] - 2 * 256


def language_model() -> remat.Graph:
    """A table that is looked up and is the head's weight, too."""
    graph = remat.Graph()
    ids, targets = (graph.input(n, (4, 8), "i64") for n in ("ids", "targets"))
    table = graph.parameter("table", (32, 16), remat.init.normal(0.3))
    weight = graph.parameter("weight", (16, 16), remat.init.normal(0.3))
    hidden = remat.ops.gelu(remat.ops.embedding(ids, table) @ weight)
    graph.loss(remat.ops.cross_entropy(remat.ops.matmul(hidden, table, transpose_rhs=True), targets))
    return graph


@pytest.mark.parametrize("options", [{}, {"accumulate": 2}, {"budget": "smallest"}])
def test_embeddings_read_halves(options):
    """Nothing casts the table, before or behind the lookup; nor are its gradients widened first."""
    graph = language_model()
    program = remat.compile(
        graph, device="cuda", arch="sm_90", optimizer="adamw", autocast="bf16",
        functions={"evaluate": graph}, **options,
    )  # fmt: skip
    for function in (program, program.functions["evaluate"]):
        assert function.arguments["table"].in_halves
        assert not [s for s in function.plan if s.op in ("cast", "join_halves")]


@pytest.mark.parametrize(
    "options",
    [{}, {"autocast": "f16"}, {"autocast": "bf16", "halves": False},
     {"autocast": "bf16", "optimizer": "sgd"}],
)  # fmt: skip
def test_others_have_none(options):
    program = compile_for_cuda(**options)
    assert not any(info.in_halves for info in program.arguments.values())
