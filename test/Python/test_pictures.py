"""Pictures as data: what remat-run decodes, cuts, turns and scales, compared with Pillow and NumPy."""

import io
import json

import numpy as np
import pytest
from philox import random_words
from PIL import Image
from test_data import expected_records, read_batch, refused, run, write_graph

from remat import Graph, init, ops

AUGMENT = 0x6175676D656E74  # "augment": the stream of its chance


def picture(height, width, seed=0):
    """Smooth colours with some noise: nothing that JPEG destroys."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    colours = [128 + 100 * np.sin((k + 1) * x / 9 + k) * np.cos((k + 2) * y / 11) for k in range(3)]
    return np.clip(np.stack(colours, -1) + rng.normal(0, 2, (height, width, 3)), 0, 255).astype(np.uint8)


def write_folder(folder, classes, size=(8, 8)):
    """PNG files in a folder for each class; gives pictures and numbers of classes in order."""
    pictures, numbers = [], []
    for number, (name, count) in enumerate(sorted(classes.items())):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            pixels = picture(*size, seed=100 * number + i)
            Image.fromarray(pixels).save(folder / name / f"{i:03}.png")
            pictures.append(pixels)
            numbers.append(number)
    return np.stack(pictures), np.array(numbers)


def draws(seed, step, rows):
    """The eight random words of each row of a step."""
    return random_words(8 * rows, seed, AUGMENT, step).reshape(rows, 8)


def below(word, bound):
    return int(word) * bound >> 32


# Files -------------------------------------------------------------------------------------------


def test_a_folder(tmp_path):
    """Classes by name, every order of dimensions, grey and coloured; hidden files are left alone."""
    pictures, classes = write_folder(tmp_path / "train", {"dog": 5, "cat": 3, "eel": 4})
    (tmp_path / "train/cat/.hidden").write_text("x")
    (tmp_path / "train/.git").mkdir()
    (tmp_path / "train/README").write_text("x")
    grey = np.stack([np.asarray(Image.fromarray(p).convert("L")) for p in pictures])
    shapes = {
        (5, 3, 8, 8): pictures.transpose(0, 3, 1, 2),
        (5, 8, 8, 3): pictures,
        (5, 1, 8, 8): grey[:, None],
        (5, 8, 8, 1): grey[..., None],
        (5, 8, 8): grey,
    }
    for shape, expected in shapes.items():
        graph = write_graph(tmp_path / "graph.mlir", x=(shape, "f32"), y=((5,), "i32", {"bound": 3}))
        for step in (0, 3):
            got = read_batch(graph, step, "--data", tmp_path / "train", "--seed", 9)
            chosen = expected_records(12, 5, 9, step)
            assert (got["x"] == expected[chosen]).all()
            assert (got["y"] == classes[chosen]).all()
    alone = write_graph(tmp_path / "alone.mlir", x=((12, 3, 8, 8), "f32"))
    got = read_batch(alone, 0, "--data", tmp_path / "train")
    assert (np.sort(got["x"].sum((1, 2, 3))) == np.sort(pictures.sum((1, 2, 3)))).all()


MODES = {
    "L": lambda image: image.convert("L"),
    "RGB": lambda image: image,
    "RGBA": lambda image: image.convert("RGBA"),
    "LA": lambda image: image.convert("LA"),
    "P": lambda image: image.quantize(16),
    "1": lambda image: image.convert("1"),
    "transparent": lambda image: Image.merge("RGBA", [*image.split(), image.convert("L")]),
}


def decode(tmp_path, name, data, size, options=()):
    (tmp_path / "set/one").mkdir(parents=True, exist_ok=True)
    path = tmp_path / "set/one" / name
    path.write_bytes(data)
    graph = write_graph(tmp_path / "graph.mlir", x=((1, *size, 3), "f32"))
    got = read_batch(graph, 0, "--data", tmp_path / "set", *options)["x"][0]
    path.unlink()
    return got


def encode(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


@pytest.mark.parametrize("mode", MODES)
def test_kinds_of_png(tmp_path, mode):
    image = MODES[mode](Image.fromarray(picture(13, 10)))
    got = decode(tmp_path, "a.PNG", encode(image, "PNG"), (13, 10))
    assert (got == np.asarray(image.convert("RGB"))).all()


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}, {"quality": 30}])
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_kinds_of_jpeg(tmp_path, mode, options):
    """Another version of the same decoder, which may round otherwise by one or two."""
    data = encode(Image.fromarray(picture(33, 21)).convert(mode), "JPEG", **options)
    got = decode(tmp_path, "a.jpeg", data, (33, 21))
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(np.float32)
    assert np.abs(got - expected).max() <= 2


def test_broken_pictures(tmp_path):
    """A file that is cut off or of another kind is named, with the step that needs it."""
    image = Image.fromarray(picture(16, 16))
    cases = [
        ("a.png", encode(image, "PNG")[:-40], "libpng: "),
        ("a.png", encode(image, "PNG")[:20], "libpng: "),
        ("a.png", b"", "neither PNG nor JPEG"),
        ("a.png", b"GIF89a", "neither PNG nor JPEG"),
        ("a.jpg", encode(image, "JPEG")[:-20], "libjpeg-turbo: Premature end"),
        ("a.jpg", encode(image, "JPEG")[:60], "a picture of 0 by 0 pixels is empty"),
        ("a.txt", b"words", "neither .png nor .jpg"),
        ("a.png", encode(Image.fromarray(picture(16, 15)), "PNG"), "a picture of 16 by 15 is for an input of 16 by 16"),
    ]
    graph = write_graph(tmp_path / "graph.mlir", x=((2, 3, 16, 16), "f32"))
    (tmp_path / "set/b").mkdir(parents=True)
    image.save(tmp_path / "set/b/good.png")
    for name, data, says in cases:
        path = tmp_path / "set/b" / name
        path.write_bytes(data)
        said = refused(graph, "--data", tmp_path / "set")
        assert says in said and name in said, said
        assert name == "a.txt" or "step 1: --data: " in said
        path.unlink()
    (tmp_path / "set/c").mkdir()
    assert "the folder of a class holds no picture" in refused(graph, "--data", tmp_path / "set")


def test_bytes_changed_at_random(tmp_path):
    graph = write_graph(tmp_path / "graph.mlir", x=((1, 16, 16, 3), "f32"))
    (tmp_path / "set/b").mkdir(parents=True)
    rng = np.random.default_rng(0)
    image = Image.fromarray(picture(16, 16))
    for trial in range(40):
        data = bytearray(encode(image, ("PNG", "JPEG")[trial % 2]))
        for _ in range(1 + trial % 3):
            data[rng.integers(len(data))] = rng.integers(256)
        (tmp_path / "set/b/a.png").write_bytes(bytes(data))
        assert run(graph, "--data", tmp_path / "set", "--steps", 1).returncode in (0, 1)


# Augmentation ------------------------------------------------------------------------------------


def cropped(pixels, words, side, padding, flip):
    """Cut out of black borders, and turned by the third word."""
    wide = np.pad(pixels, ((padding, padding), (padding, padding), (0, 0)))
    top, left = (below(words[i], wide.shape[i] - side + 1) for i in (0, 1))
    part = wide[top : top + side, left : left + side]
    return part[:, ::-1] if flip and words[2] & 1 else part


@pytest.mark.parametrize("form", ["folder", "array", "channels first"])
def test_crop_flip_normalize(tmp_path, form):
    mean, deviation = np.float32([0.5, 0.4, 0.25]), np.float32([0.25, 0.5, 0.125])
    graph = write_graph(tmp_path / "graph.mlir", x=((6, 3, 8, 8), "f32"), y=((6,), "i64"))
    pictures, classes = write_folder(tmp_path / "train", {"a": 6, "b": 5}, size=(10, 9))
    data = ["--data", tmp_path / "train"]
    if form != "folder":
        first = form == "channels first"
        np.save(tmp_path / "x.npy", np.ascontiguousarray(pictures.transpose(0, 3, 1, 2)) if first else pictures)
        np.save(tmp_path / "y.npy", classes)
        data = ["--data", tmp_path / "x.npy", "--data", tmp_path / "y.npy"]
    text = "normalize=0.5:0.4:0.25/0.25:0.5:0.125,flip,crop=8:2"
    turned = 0
    for step in (0, 1, 5):
        got = read_batch(graph, step, *data, "--seed", 11, "--augment", text, "--data-threads", step)
        words = draws(11, step, 6)
        for row, record in enumerate(expected_records(11, 6, 11, step)):
            part = cropped(pictures[record], words[row], 8, 2, True).astype(np.float32)
            expected = (part / np.float32(255) - mean) / deviation
            assert (got["x"][row] == expected.transpose(2, 0, 1)).all()
            assert got["y"][row] == classes[record]
            turned += int(words[row][2] & 1)
    assert 0 < turned < 18


def pillow_resize(pixels, height, width):
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR)).astype(np.float32)


@pytest.mark.parametrize("size", [(8, 8), (31, 17), (17, 31), (90, 64), (16, 16)])
def test_resize(tmp_path, size):
    """As Pillow's bilinear filter, which rounds to bytes once for each direction."""
    pixels = picture(*size)
    height, width = (size[0] * 16 // min(size), size[1] * 16 // min(size))
    got = decode(tmp_path, "a.png", encode(Image.fromarray(pixels), "PNG"), (height, width), ["--augment", "resize=16"])
    expected = pillow_resize(pixels, height, width)
    assert np.abs(got - expected).max() <= 1.01 and np.abs(got - expected).mean() < 0.4
    got = decode(
        tmp_path, "a.png", encode(Image.fromarray(pixels), "PNG"), (14, 14), ["--augment", "center=14,resize=16"]
    )
    top, left = (height - 14) // 2, (width - 14) // 2
    assert np.abs(got - expected[top : top + 14, left : left + 14]).max() <= 1.01


def test_resized_crop(tmp_path):
    pictures, _ = write_folder(tmp_path / "train", {"a": 9}, size=(40, 30))
    graph = write_graph(tmp_path / "graph.mlir", x=((9, 12, 12, 3), "f32"))
    got = read_batch(graph, 2, "--data", tmp_path / "train", "--seed", 3, "--augment", "resized-crop=12:0.2")["x"]
    words, areas = draws(3, 2, 9), []
    for row, record in enumerate(expected_records(9, 9, 3, 2)):
        w = [int(word) for word in words[row]]
        area = (0.2 + 0.8 * w[3] / 2**32) * 40 * 30
        ratio = 1 + w[4] / 2**32 / 3
        ratio = 1 / ratio if w[5] & 1 else ratio
        height = min(int((area / ratio) ** 0.5 + 0.5), 40)
        width = min(int((area * ratio) ** 0.5 + 0.5), 30)
        top, left = below(w[0], 40 - height + 1), below(w[1], 30 - width + 1)
        part = np.ascontiguousarray(pictures[record][top : top + height, left : left + width])
        assert np.abs(got[row] - pillow_resize(part, 12, 12)).max() <= 1.01
        areas.append(height * width / 1200)
    assert 0.1 < min(areas) < 0.5 < max(areas)


def test_other_types(tmp_path):
    """bf16 and f16 hold the bytes; normalized numbers are rounded once."""
    pictures, _ = write_folder(tmp_path / "train", {"a": 4})
    for dtype, rounded in (("f16", np.float16), ("f32", np.float32)):
        graph = write_graph(tmp_path / "graph.mlir", x=((4, 8, 8, 3), dtype))
        chosen = pictures[expected_records(4, 4, 0, 0)].astype(np.float32)
        assert (read_batch(graph, 0, "--data", tmp_path / "train")["x"] == chosen).all()
        got = read_batch(graph, 0, "--data", tmp_path / "train", "--augment", "normalize=0.5/0.25")["x"]
        assert (got == ((chosen / np.float32(255) - np.float32(0.5)) / np.float32(0.25)).astype(rounded)).all()


def test_going_on(tmp_path):
    """A run that goes on from a checkpoint sees the pictures that it would have seen."""
    write_folder(tmp_path / "train", {"a": 7, "b": 6}, size=(10, 10))
    graph = Graph()
    x, y = graph.input("x", (4, 3, 8, 8)), graph.input("y", (4,), "i64", bound=2)
    weight = graph.parameter("w", (192, 2), init.normal(0.1))
    graph.loss(ops.cross_entropy(x.reshape(4, 192) @ weight, y))
    (tmp_path / "graph.mlir").write_text(str(graph))

    def digest(*options):
        arguments = ["--data", tmp_path / "train", "--augment", "crop=8:1,flip,normalize=0.5/0.5", "--seed", 4]
        report = tmp_path / "report.json"
        done = run(tmp_path / "graph.mlir", *arguments, *options, "--report", report)
        assert done.returncode == 0, done.stderr
        return json.loads(report.read_text())["parameters_digest"]

    whole = digest("--steps", 7)
    checkpoint = ["--checkpoint", tmp_path / "c"]
    assert digest("--steps", 3, *checkpoint) != whole
    assert digest("--steps", 7, *checkpoint, "--resume", "--data-threads", 1) == whole


def test_an_evaluation_leaves_nothing_to_chance(tmp_path):
    """Without a list of its own: not turned, the middle cut, sizes and numbers as in training."""
    write_folder(tmp_path / "train", {"a": 9, "b": 8}, size=(11, 13))
    graph = Graph()
    x, y = graph.input("x", (4, 3, 8, 8)), graph.input("y", (4,), "i64", bound=2)
    graph.loss(ops.cross_entropy(x.reshape(4, 192) @ graph.parameter("w", (192, 2), init.normal(0.1)), y))
    (tmp_path / "graph.mlir").write_text(str(graph))
    still = ["--optimizer", "sgd", "--learning-rate", 0, "--steps", 2, "--evaluate-every", 1, "--evaluate-steps", 3]

    def loss(augment, own=None):
        arguments = ["--data", tmp_path / "train", "--augment", augment, *still, "--report", tmp_path / "r.json"]
        done = run(tmp_path / "graph.mlir", *arguments, *(["--evaluate-augment", own] if own else []))
        assert done.returncode == 0, done.stderr
        first, second = json.loads((tmp_path / "r.json").read_text())["evaluations"]
        assert first["loss"] == second["loss"]
        return first["loss"]

    after = ",normalize=0.4/0.2"
    for trained, meant in {
        "crop=8,flip": "center=8",
        "crop=8:2,flip": "center=8",
        "resize=9,crop=8:1": "resize=9,center=8",
        "resized-crop=8,flip": "resize=8,center=8",
        "resize=10,resized-crop=8:0.5": "resize=10,center=8",
    }.items():
        assert loss(trained + after) == loss(trained + after, meant + after) != loss(trained + after, trained + after)
    # Black pixels are put where the picture is too small for its part, on both sides.
    small = tmp_path / "small"
    write_folder(small / "train", {"a": 5, "b": 5}, size=(6, 6))
    arguments = ["--data", small / "train", "--augment", "crop=8:1,flip", *still]
    assert run(tmp_path / "graph.mlir", *arguments).returncode == 0
    unchanged = run(tmp_path / "graph.mlir", *arguments, "--evaluate-augment", "none")
    assert unchanged.returncode == 1
    assert "evaluation after step 1" in unchanged.stderr
    assert "6 by 6 is for an input of 8 by 8" in unchanged.stderr


BAD = {
    "spin": "'spin' is none of resize=N",
    "": None,
    "crop": "'crop' is none of",
    "crop=0": "'crop=0' is none of",
    "crop=8:": "'crop=8:' is none of",
    "crop=8:1:1": "'crop=8:1:1' is none of",
    "crop=8,": "'' is none of",
    "flip=1": "'flip=1' is none of",
    "flip,flip": "'flip' comes on top of another of its kind",
    "crop=8,center=8": "'center=8' comes on top of another of its kind",
    "resize=99999": "is none of",
    "resized-crop=8:2": "is none of",
    "normalize=0.5": "is none of",
    "normalize=0.5/0": "is none of",
    "normalize=0.5:0.5/1": "is none of",
    "normalize=nan/1": "is none of",
    "normalize=0:0/1:1": "normalizes 2 channels, input 'x' has 3",
    "crop=9": "makes pictures of 9 by 9, input 'x' takes 8 by 8",
    "resize=9": "a picture of 9 by 9 is for an input of 8 by 8",
}


def test_what_is_refused(tmp_path):
    pictures, _ = write_folder(tmp_path / "train", {"a": 2, "b": 2})
    graph = write_graph(tmp_path / "graph.mlir", x=((2, 3, 8, 8), "f32"), y=((2,), "i64"))
    data = ["--data", tmp_path / "train"]
    for text, says in BAD.items():
        if says is None:
            assert run(graph, *data, "--augment", text, "--steps", 1).returncode == 0
        else:
            assert says in refused(graph, *data, "--augment", text), text
    assert "there are no --data to change" in refused(graph, "--augment", "flip")
    small = write_graph(tmp_path / "small.mlir", x=((2, 3, 16, 16), "f32"), y=((2,), "i64"))
    assert "has no part of 16 by 16; resize=N makes it larger" in refused(small, *data, "--augment", "crop=16")
    bound = write_graph(tmp_path / "bound.mlir", x=((2, 3, 8, 8), "f32"), y=((2,), "i64", {"bound": 1}))
    assert "2 classes, input 'y' is below 1" in refused(bound, *data)
    two = write_graph(tmp_path / "two.mlir", x=((2, 3, 8, 8), "f32"), z=((2, 3, 8, 8), "f32"))
    assert "inputs 'x' and 'z' both may take pictures" in refused(two, *data)
    none = write_graph(tmp_path / "none.mlir", x=((2, 8), "f32"))
    assert "no input of the graph takes pictures" in refused(none, *data)
    np.save(tmp_path / "x.npy", pictures.astype(np.float32))
    plain = write_graph(tmp_path / "plain.mlir", x=((2, 8, 8, 3), "f32"))
    assert "the data are no pictures" in refused(plain, "--data", tmp_path / "x.npy", "--augment", "flip")
    np.save(tmp_path / "x.npy", pictures[..., :2])
    assert "is no pictures of 3 channels for input 'x'" in refused(
        plain, "--data", tmp_path / "x.npy", "--augment", "flip"
    )
