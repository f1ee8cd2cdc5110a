"""What is refused, by name and line; roles and names of arguments; files and the command line."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import remat.jax
from conftest import ROOT, tool_path
from jax import lax
from remat.jax.__main__ import main
from safetensors.numpy import load_file

ONES = np.ones((4, 4), np.float32)


def refusal(function, *args):
    with pytest.raises(remat.jax.ImportFailure) as raised:
        remat.jax.compile(function, args)
    return raised.value


def test_all_unsupported_operations_are_listed():
    def function(x):
        inverse = jnp.linalg.cholesky(x)
        return inverse + jnp.fft.fft(x).real + lax.reduce(x, 0.0, lambda a, b: a * 2 + b, (1,))

    error = refusal(function, ONES)
    assert isinstance(error, remat.jax.UnsupportedNodes)
    found = {node.operation: node for node in error.nodes}
    assert {"stablehlo.custom_call of lapack_spotrf_ffi", "stablehlo.fft", "stablehlo.reduce"} <= set(found)
    assert all("test_importing.py:" in node.line for node in error.nodes)
    assert str(error).startswith(f"{len(error.nodes)} operations of the exported function are not supported")


def _both(a, b):
    return a[0] + b[0], a[1] + b[1]


@pytest.mark.parametrize(
    "function, args, parts",
    [
        (lambda n, x: lax.while_loop(lambda v: v.sum() < n, lambda v: v * 2, x), (9.0, ONES), ["depends on data"]),
        (lambda x: lax.fori_loop(0, 300, lambda i, v: v + 1, x), (ONES,), ["more than 256 steps"]),
        (lambda x: lax.reduce_precision(x, 6, 9), (ONES,), ["6 bits of exponent and 9 of mantissa"]),
        (lambda x, i: x.at[i].set(0.0), (ONES, np.zeros(2, np.int32)), ["of which several", "unique_indices"]),
        (lambda x, i: x.at[i].max(0.0), (ONES, np.zeros(2, np.int32)), ["neither an addition"]),
        (lambda x: x.prod(), (np.ones(40, np.float32),), ["by multiply of 40 elements"]),
        (lambda i: i @ i, (np.ones((2, 2), np.int32),), ["product of i32", "f32"]),
        (lambda x: x * 2, (np.ones(2, np.int8),), ["i8", "outside of the step"]),
        (lambda x: lax.complex(x, x).real, (ONES,), ["complex"]),
        (lambda x: x[:0], (ONES,), ["result 0 has no elements"]),
        (
            lambda x: lax.reduce_window((x, x), (0.0, 0.0), _both, (2, 2), (1, 1), "VALID"),
            (ONES,),
            ["a window over several tensors"],
        ),
        (lambda x: lax.sort((x, x), num_keys=2), (ONES,), ["neither ascending nor descending"]),
        (lambda x: x.max(), (np.ones(4, np.uint32),), ["maximum of ui32"]),
    ],
)  # fmt: skip
def test_refusals(function, args, parts):
    message = str(refusal(function, *args))
    for part in parts:
        assert part in message


def test_wrong_files(tmp_path):
    (tmp_path / "a.mlir").write_text("module { what is this }")
    (tmp_path / "b.bin").write_bytes(b"\x00\x01\x02")
    for name, part in (("a.mlir", "cannot be parsed"), ("b.bin", "neither MLIR nor")):
        with pytest.raises(remat.jax.ImportFailure, match=part):
            remat.jax.import_exported(tmp_path / name)
    with pytest.raises(remat.jax.ImportFailure, match="no function 'main'"):
        remat.jax.import_exported("module {}")
    with pytest.raises(remat.jax.ImportFailure, match="static"):
        remat.jax.import_exported("func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }")


def test_unknown_dialects_are_named():
    text = """func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = "other.thing"(%a) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    with pytest.raises(remat.jax.UnsupportedNodes, match="other.thing: there is no rule for it"):
        remat.jax.import_exported(text)


def test_functions_that_call_themselves_are_refused():
    text = """
    func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = func.call @main(%a) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    with pytest.raises(remat.jax.UnsupportedNodes, match="'main' calls itself"):
        remat.jax.import_exported(text)


# Roles -------------------------------------------------------------------------------------------


def roles(graph):
    arguments = {a.attributes["remat.name"]: a.attributes["remat.role"].case for a in graph.arguments}
    return arguments, {r.attributes["remat.name"]: r.attributes["remat.role"].case for r in graph.results}


@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_roles_and_names():
    def step(parameters, count, batch, unused):
        loss = jnp.sum(parameters["layers"][0] * batch)
        return {"layers": [parameters["layers"][0] - loss]}, count + 1, (jnp.max(batch), loss * 2)

    args = ({"layers": [ONES]}, np.int32(0), ONES, ONES)
    made = remat.jax.import_exported(remat.jax.export(step, args, donate=(0, 1, 2)))
    arguments, results = roles(made.graph)
    assert arguments == {"parameters.layers.0": "state", "count": "state", "batch": "input"}
    assert results == {"parameters.layers.0": "state", "count": "state", "loss": "loss", "result.2.1": "output"}
    assert made.loss == 2
    told = remat.jax.import_exported(remat.jax.export(step, args, donate=(0, 1)), loss=3)
    assert roles(told.graph)[1]["result.2.0"] == "output" and told.loss == 3
    for wrong in (0, 4, -1):
        with pytest.raises(remat.jax.ImportFailure, match=f"result {wrong} is no loss"):
            remat.jax.import_exported(remat.jax.export(step, args, donate=(0, 1)), loss=wrong)


def test_donors_without_a_result_are_matched_by_type():
    text = """func.func @main(%a: tensor<2xf32> {jax.buffer_donor = true}, %b: tensor<3xf32> {jax.buffer_donor = true})
      -> (tensor<2xf32>, tensor<f32>) {
      %0 = stablehlo.add %a, %a : tensor<2xf32>
      %1 = stablehlo.constant dense<2.0> : tensor<f32>
      return %0, %1 : tensor<2xf32>, tensor<f32>
    }"""
    made = remat.jax.import_exported(text)
    assert roles(made.graph) == ({"arg0": "state"}, {"arg0": "state", "loss": "loss"})


def test_states_that_are_exchanged_or_stay():
    step = lambda a, b, c: (b, a, c, a.sum())  # noqa: E731
    args = (ONES, 2 * ONES, 3 * ONES)
    made = remat.jax.compile(step, args, donate=(0, 1, 2))
    state = args
    for expected in (2, 1, 2):
        *state, loss = made(*state)
        assert [float(x[0, 0]) for x in state] == [expected, 3 - expected, 3]
        assert float(loss) == 16 * (3 - expected)


def test_resources_and_bytecode(tmp_path):
    text = """module {
      func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
        %0 = stablehlo.constant dense_resource<weights> : tensor<2xf32>
        %1 = stablehlo.add %a, %0 : tensor<2xf32>
        return %1 : tensor<2xf32>
      }
    }
    {-# dialect_resources: { builtin: { weights: "0x040000000000803F00000040" } } #-}"""
    made = remat.jax.import_exported(text)
    assert "dense<[1.0, 2.0]>" in made.graph.emit()
    step = jax.jit(lambda x, y: (x + y, jnp.sum(x)), donate_argnums=0)
    exported = jax.export.export(step)(ONES, ONES)
    graph = remat.jax.import_exported(exported).graph.emit()
    (tmp_path / "exported").write_bytes(exported.serialize())
    (tmp_path / "text.mlir").write_text(exported.mlir_module())
    with remat.jax.module.new_context() as context:
        parsed = remat.jax.module.parse(exported.mlir_module(), context)
        with open(tmp_path / "bytecode", "wb") as file:
            parsed.operation.write_bytecode(file)
        generic = parsed.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
        (tmp_path / "generic.mlir").write_text(generic)
    for name in ("exported", "text.mlir", "bytecode", "generic.mlir"):
        assert remat.jax.import_exported(tmp_path / name).graph.emit() == graph, name


# The command line --------------------------------------------------------------------------------

STEP = """
import jax, jax.numpy as jnp, numpy as np

def step(w, x):
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.1 * gradient, loss

def other():
    return 1

def make():
    return jax.jit(step, donate_argnums=0), (np.ones((4, 2), np.float32), np.ones((3, 4), np.float32))
"""


def test_command(tmp_path):
    (tmp_path / "steps.py").write_text(STEP)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    make = [sys.executable, "-m", "remat.jax", "steps:make", "-o", "g.mlir", "--weights", "w", "--inputs", "i"]
    done = subprocess.run(make, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list(load_file(tmp_path / "w")) == ["w"] and list(load_file(tmp_path / "i")) == ["x"]
    run = [tool_path("remat-run"), "g.mlir", "--weights", "w", "--inputs", "i", "--steps", "2", "--report", "r"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "loss 16" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments, part",
    [
        (["nothing"], "neither a file nor MODULE:FUNCTION"),
        (["nothing:here"], "cannot be imported"),
        (["steps:none"], "no function 'none'"),
        (["steps"], "neither a file nor MODULE:FUNCTION"),
        (["steps:other"], "must return"),
        (["steps:make", "--loss", "7"], "result 7 is no loss"),
        (["steps.py", "--weights", "w"], "a file has no values"),
        (["--loss"], "expected one argument"),
    ],
)  # fmt: skip
def test_errors_of_the_command(tmp_path, arguments, part, monkeypatch, capsys):
    (tmp_path / "steps.py").write_text(STEP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "steps", raising=False)
    monkeypatch.setattr(sys, "argv", ["remat.jax", *arguments])
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    assert code == 1 and part in capsys.readouterr().err
