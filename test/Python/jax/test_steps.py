"""Three steps of models against JAX, within budgets, to equal bits; and how a step is called."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import remat
import remat.jax

from steps import MODELS

STEPS = 3


def batches(batch):
    random = np.random.default_rng(7)
    return [batch(random) for _ in range(STEPS)]


def train(step, state, given):
    """The last state and all losses."""
    losses = []
    for one in given:
        *state, loss = step(*state, *one)
        losses.append(float(loss))
    return state, losses


def assert_close(found, expected):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected)):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(plain(a), plain(b), rtol=1e-5, atol=1e-5)


def plain(leaf):
    """An array of NumPy, of a key its bits."""
    is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


@pytest.mark.parametrize("name", MODELS)
def test_three_steps(name):
    step, state, batch = MODELS[name]()
    given, donated = batches(batch), tuple(range(len(state)))
    expected, losses = train(jax.jit(step), state, given)
    exported = remat.jax.export(step, (*state, *given[0]), donate=donated)
    bits, peaks = [], []
    for budget in (None, "60%", "smallest"):
        made = remat.jax.compile(exported, budget=budget)
        found, found_losses = train(made, state, given)
        np.testing.assert_allclose(found_losses, losses, rtol=1e-5)
        assert_close(found, expected)
        bits.append([plain(leaf).tobytes() for leaf in jax.tree.leaves(found)] + found_losses)
        report = made.report
        peaks.append(report["measured_peak_bytes"])
        assert peaks[-1] <= report["predicted_peak_bytes"]
    assert bits[0] == bits[1] == bits[2]
    assert peaks[1] <= 0.6 * peaks[0] and peaks[2] <= peaks[1]
    assert any(step.recomputes is not None for step in made.program.plan)


def small():
    def step(p, x):
        loss, gradient = jax.value_and_grad(lambda p: jnp.sum((x @ p["w"]) ** 2))(p)
        return {"w": p["w"] - 0.1 * gradient["w"]}, {"loss": loss, "norm": jnp.max(gradient["w"])}

    return step, ({"w": jnp.ones((4, 3))}, np.ones((2, 4), np.float32))


def test_structures_are_kept():
    step, args = small()
    made = remat.jax.compile(step, args, donate=0)
    p, metrics = made(*args)
    expected = jax.jit(step)(*args)
    assert_close((p, metrics), expected)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves((p, metrics)))
    assert [a.name for a in made.imported.arguments if a.is_state] == ["p.w"]
    assert made.imported.results == ["p.w", "loss", "result.1.norm"]


def test_other_states_may_be_given():
    """The state of the program is what the call gives, whatever the last one returned."""
    step, args = small()
    made, reference = remat.jax.compile(step, args, donate=(0,)), jax.jit(step)
    first, _ = made(*args)
    assert_close(made({"w": jnp.full((4, 3), 2.0)}, args[1]), reference({"w": jnp.full((4, 3), 2.0)}, args[1]))
    assert_close(made(first, args[1]), reference(first, args[1]))
    assert_close(first, reference(*args)[0])  # a copy


def test_shared_states():
    step, args = small()
    made, reference = remat.jax.compile(step, args, donate=0, share=True), jax.jit(step)
    p, expected = args[0], args[0]
    for _ in range(3):
        old = p
        p, _ = made(p, args[1])
        expected, _ = reference(expected, args[1])
        assert_close(p, expected)
    assert old["w"].is_deleted() and not p["w"].is_deleted()


def test_python_numbers_and_arrays_of_numpy():
    made = remat.jax.compile(lambda x, n: x * n, (np.ones(3, np.float32), 2.0))
    assert made(np.ones(3, np.float32), 5.0).tolist() == [5, 5, 5]


def test_wrong_arguments_are_refused():
    step, args = small()
    made = remat.jax.compile(step, args, donate=0)
    for given, part in (
        ((args[0],), "made for arguments"),
        ((args[0], args[1][:1]), r"argument x is float32\[1, 4\], and the step was made for float32\[2, 4\]"),
        ((args[0], args[1].astype(np.int32)), "argument x is int32"),
    ):
        with pytest.raises(remat.jax.ImportFailure, match=part):
            made(*given)
    with pytest.raises(remat.jax.ImportFailure, match="not jitted"):
        remat.jax.compile(jax.jit(step), args, donate=0)
    with pytest.raises(remat.jax.ImportFailure, match="share is for"):
        remat.jax.compile(step, args, donate=0, share=True, device="cuda")


def test_refused_budgets():
    step, args = small()
    with pytest.raises(remat.BudgetRefused) as refused:
        remat.jax.compile(step, args, donate=0, budget=1)
    assert refused.value.report["smallest_feasible_bytes"] > 1
