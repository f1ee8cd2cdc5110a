"""Tensors of a session: what it takes, what it refuses by name, and what it gives without a copy."""

import array
import gc
import os

import numpy as np
import pytest
import torch
from harness import random_inputs
from test_runtime import mlp

import remat
from remat import Graph, Session, ops

# Tensors in and out ----------------------------------------------------------------------------


def identity(dtype: str, shape=(2, 3)) -> Session:
    graph = Graph()
    x = graph.input("x", shape, dtype)
    graph.output(ops.copy(x), "out")
    return Session(remat.compile(graph))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "int64", "bool"])
def test_every_type_goes_through(dtype):
    name = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int32": "i32"}
    session = identity({**name, "int64": "i64", "bool": "i1"}[dtype])
    x = (torch.arange(6).reshape(2, 3) % 4).to(getattr(torch, dtype))
    session.step(x=x)
    for out in (session.read("out"), session.view("out")):
        assert torch.equal(torch.from_dlpack(out), x)
        assert out.tolist() == x.tolist()
        if dtype == "bfloat16":
            with pytest.raises(TypeError, match="NumPy has no type"):
                np.asarray(out)
        else:
            array = np.asarray(out)
            assert array.dtype == dtype and (array == x.numpy()).all()
            assert (np.from_dlpack(out) == x.numpy()).all()


def test_what_is_taken():
    session = identity("f32")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    frozen = x.copy()
    frozen.flags.writeable = False
    flat = memoryview(array.array("f", range(6))).cast("B").cast("f", (2, 3))
    trained = torch.tensor(x, requires_grad=True)
    strided = [np.repeat(x, 2, axis=1)[:, ::2], torch.tensor(x.T.copy()).T, np.asfortranarray(x)]
    for given in [x, frozen, flat, trained, *strided, torch.from_numpy(x)]:
        session.step(x=np.zeros_like(x))
        session.step(x=given)
        assert session.read("out").tolist() == x.tolist()
    session.step(x=session.view("out"))  # its own memory
    assert session.read("out").tolist() == x.tolist()


def test_what_numpy_cannot_have_is_taken_by_dlpack():
    """As a view of a session on a GPU, whose array interface is an error."""

    class Elsewhere:
        dtype, data = "f32", np.arange(6, dtype=np.float32).reshape(2, 3)

        @property
        def __array_interface__(self):
            raise TypeError("lies elsewhere")

        def __dlpack__(self, **options):
            return self.data.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.data.__dlpack_device__()

    session = identity("f32")
    session.step(x=Elsewhere())
    assert session.read("out").tolist() == Elsewhere.data.tolist()


def test_scalars():
    for dtype, value in [("f32", 0.5), ("f16", 2), ("bf16", 1.0), ("i32", -7), ("i64", 2**40), ("i1", True)]:
        session = identity(dtype, ())
        session.step(x=value)
        assert session.read("out").item() == value
    session = identity("bf16", ())
    for value in [1 + 2**-8, 1 + 3 * 2**-8, 3.14159, -1e30, float("inf")]:
        session.step(x=value)
        assert session.read("out").item() == torch.tensor(value).bfloat16().item()


@pytest.mark.parametrize(
    "given, part",
    [
        (np.zeros((3, 2), np.float32), r"f32 \(2, 3\), but f32 \(3, 2\)"),
        (np.zeros((2, 3)), r"f32 \(2, 3\), but f64 \(2, 3\)"),
        (np.zeros((2, 3), ">f4"), "format '>f'"),
        (np.zeros((2, 3), np.uint8), r"u8 \(2, 3\)"),
        (np.zeros((2, 3), object), "."),
        (torch.zeros(2, 3, dtype=torch.complex64), "DLPack|type 5"),
        (torch.zeros(2, 3).to_sparse(), "cannot be read"),
        (torch.zeros(2, 3, device="meta"), "cannot be read|lies on a device"),
        (torch.zeros(6), r"f32 \(6,\)"),
        (b"123", r"u8 \(3,\)"),
        ([[1.0, 2.0, 3.0]] * 2, "a list was given"),
        (None, "a NoneType was given"),
        (1.0, "the number 1.0"),
    ],
)
def test_bad_tensors(given, part):
    session = identity("f32")
    session.step(x=np.ones((2, 3), np.float32))
    with pytest.raises(remat.Error, match="argument 'x'.*") as error:
        session.step(x=given)
    assert error.match(part)
    session.step()
    assert session.read("out").tolist() == [[1] * 3] * 2


@pytest.mark.parametrize("dtype, value", [("i32", 2**31), ("i32", 1.0), ("i1", 0.5), ("f32", 1e39), ("f16", 1e6)])
def test_bad_numbers(dtype, value):
    with pytest.raises(remat.Error, match="argument 'x'"):
        identity(dtype, ()).step(x=value)


def test_nothing_is_written_unless_all_fits():
    session = Session(remat.compile(mlp(), optimizer="sgd"))
    digest = session.parameters_digest()
    with pytest.raises(remat.Error, match="'w2'"):
        session.write_all({"w1": np.zeros((8, 16), np.float32), "w2": np.zeros(3, np.float32)})
    with pytest.raises(remat.Error, match="no argument 'w3'; it has .*w1"):
        session.write_all({"w1": np.zeros((8, 16), np.float32), "w3": 1})
    assert session.parameters_digest() == digest
    with pytest.raises(remat.Error, match="'x' was not written"):
        session.step()
    with pytest.raises(remat.Error, match="'out' holds no value"):
        session.read("out")
    with pytest.raises(remat.Error, match="no argument or result 'z'"):
        session.read("z")


def test_views_are_the_sessions_memory():
    session = Session(remat.compile(mlp(), optimizer="sgd", weight_decay=0))
    weights = torch.from_dlpack(session.view("w1"))
    array = np.asarray(session.view("w1"))
    weights.fill_(0.25)
    assert (array == 0.25).all() and (np.asarray(session.read("w1")) == 0.25).all()
    session.step(random_inputs(mlp()))
    assert not (array == 0.25).all() and torch.equal(weights, torch.from_numpy(array))


def test_views_of_results_say_when_they_are_old():
    session = Session(remat.compile(mlp()))
    inputs = random_inputs(mlp())
    session.step(inputs)
    view, copy = session.view("out"), session.read("out")
    assert view.is_view and not copy.is_view and view.tolist() == copy.tolist()
    assert not np.from_dlpack(view).flags.writeable
    session.step(inputs)
    for use in (view.tolist, view.__dlpack__, lambda: np.asarray(view)):
        with pytest.raises(remat.Error, match="view of 'out' is of step 1"):
            use()
    assert copy.tolist() == session.read("out").tolist()


def test_views_keep_the_memory():
    session = Session(remat.compile(mlp()))
    expected = session.read("w1").tolist()
    tensor, array = torch.from_dlpack(session.view("w1")), np.asarray(session.view("w1"))
    session.close()
    with pytest.raises(remat.Error, match="closed"):
        session.read("w1")
    del session
    gc.collect()
    assert tensor.tolist() == expected and array.tolist() == expected


def test_memory_does_not_grow():
    session = Session(remat.compile(mlp(batch=512)))
    inputs = random_inputs(mlp(batch=512))

    def use(times):
        for _ in range(times):
            session.step(inputs)
            np.asarray(session.view("out")), torch.from_dlpack(session.view("out"))
            session.read("out"), session.outputs(), session.view("out").__dlpack__()
        with open("/proc/self/statm") as statistics:
            return int(statistics.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = use(100)
    assert use(1000) - before < 2**20  # one result of each step, kept, would be 8 MB


def test_unused_capsules_are_freed():
    session = Session(remat.compile(mlp()))
    view = session.view("w1")
    for _ in range(3):
        capsules = [view.__dlpack__(), view.__dlpack__(max_version=(1, 0))]
        del capsules
    with pytest.raises(BufferError):
        view.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        view.__dlpack__(dl_device=(2, 0))
