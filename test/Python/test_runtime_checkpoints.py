"""Checkpoints of a session: what goes on from one ends as what was not interrupted."""

import warnings

import pytest
import torch
from harness import execute

import remat
from remat import Graph, Session, init, ops


def graph_with_dropout(width=16) -> Graph:
    graph = Graph()
    x = graph.input("x", (32, width))
    mean = graph.state("mean", (width,), init.constant(0.5))
    hidden = ops.dropout(ops.gelu((x - mean) @ graph.parameter("w", (width, width), init.normal(0.3))), 0.5)
    graph.update(mean, mean * 0.9 + ops.reduce("mean", x, [0]) * 0.1)
    graph.loss(ops.reduce("mean", hidden * hidden))
    return graph


GRAPH = graph_with_dropout()
BATCHES = [{"x": torch.randn(32, 16, generator=torch.Generator().manual_seed(n))} for n in range(3)]


def begin(seed=1, budget=None, graph=GRAPH, **options) -> Session:
    return Session(remat.compile(graph, budget=budget, optimizer="adamw", **options), seed=seed)


def finish(session, steps=8):
    """Up to so many steps in all, with the batches that belong to them."""
    with remat.Batches(BATCHES, skip=session.steps) as batches:
        losses = session.train(batches, steps - session.steps)
    return losses, session.read("mean").tolist(), session.parameters_digest()


def test_a_session_goes_on(tmp_path):
    expected = finish(begin())
    session = begin()
    assert session.load_checkpoint(tmp_path / "none") == 0
    for steps in (2, 4, 5):
        losses, *_ = finish(session, steps)
        session.save_checkpoint(tmp_path / "c", keep=2)
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == [
        f"step-{n:010}.safetensors" for n in (4, 5)
    ]
    # The seed of the session does not matter: it is the run's that goes on.
    for seed, budget in ((1, None), (2, "smallest")):
        other = begin(seed, budget)
        assert other.load_checkpoint(tmp_path / "c") == 5 == other.steps
        losses, *rest = finish(other)
        assert losses == expected[0][5:] and rest == list(expected[1:])


def test_gradients_without_an_optimizer_count_on(tmp_path):
    """Such a program does not count its steps itself: what is drawn depends on them all the same."""
    program = remat.compile(GRAPH, optimizer=None)
    losses = [finish(Session(program), n)[0][-1] for n in (1, 2, 3)]
    session = Session(program)
    finish(session, 2)
    session.save_checkpoint(tmp_path / "c")
    other = Session(program)
    other.load_checkpoint(tmp_path / "c")
    assert finish(other, 3)[0] == losses[2:] and len(set(losses)) == 3


def test_a_torn_file_is_passed_over(tmp_path):
    session = begin()
    for steps in (1, 2):
        finish(session, steps)
        session.save_checkpoint(tmp_path)
    newest = tmp_path / "step-0000000002.safetensors"
    newest.write_bytes(newest.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="passed over: .*step-0000000002"):
        assert begin().load_checkpoint(tmp_path) == 1
    (tmp_path / "step-0000000001.safetensors").write_bytes(b"")
    with pytest.raises(remat.Error, match="is whole"):
        begin().load_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "made, said",
    [
        (lambda: begin(graph=graph_with_dropout(8)), "tensor<8xf32> in the program but tensor<16xf32> in"),
        (lambda: Session(remat.compile(GRAPH, optimizer="lion")), "'w.exp_avg_sq', which the program has not"),
    ],
    ids=["shape", "optimizer"],
)
def test_other_programs_are_refused(tmp_path, made, said):
    session = begin()
    finish(session, 1)
    session.save_checkpoint(tmp_path)
    other = made()
    before = other.parameters_digest()
    with pytest.raises(remat.Error, match=said):
        other.load_checkpoint(tmp_path)
    assert other.parameters_digest() == before and other.steps == 0


def test_folders_and_counts(tmp_path):
    session = begin()
    with pytest.raises(remat.Error, match="No such file or directory"):
        session.save_checkpoint(tmp_path / "no" / "c")
    for keep in (0, -1, True, 1.5, None):
        with pytest.raises(remat.Error, match="is no integer from 1"):
            session.save_checkpoint(tmp_path / "c", keep=keep)
    assert not (tmp_path / "c").exists()


def test_the_tool_and_a_session_share_a_folder(tmp_path):
    """remat-run goes on from a session's checkpoint, and a session from the tool's."""
    graph, program = tmp_path / "graph.mlir", tmp_path / "program"
    graph.write_text(str(GRAPH))
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    tool = [graph, "--strategy", "none", "--seed", 1, "--quiet"]
    done = execute([*tool, "--steps", 6, "--emit-program", program, "--save", whole])
    assert done.returncode == 0, done.stderr
    saving = ["--checkpoint", tmp_path / "c", "--resume"]
    assert execute([*tool, "--steps", 2, *saving]).returncode == 0
    session = Session(remat.Program.load(program))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert session.load_checkpoint(tmp_path / "c") == 2
    session.save_checkpoint(tmp_path / "c")
    assert execute([*tool, "--steps", 6, *saving, "--save", parts]).returncode == 0
    assert whole.read_bytes() == parts.read_bytes()
