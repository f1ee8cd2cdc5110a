"""A small convolutional network: batch norm with running statistics, pooling and a linear head."""

from remat import Graph, init, norms, ops


def block(hidden, width):
    """Convolution, batch norm whose running mean is a state, ReLU and pooling."""
    graph = hidden.graph
    weight = graph.parameter("conv", (width, hidden.shape[1], 3, 3), init.normal(0.2))
    scale = graph.parameter("scale", (width,), init.constant(1.0))
    shift = graph.parameter("shift", (width,), init.constant(0.0))
    running = graph.state("mean", (width,))
    hidden, mean, _ = norms.batch_norm(ops.convolution(hidden, weight, padding=1), scale, shift)
    graph.update(running, norms.running_average(running, mean, 0.1))
    return ops.max_pool(ops.relu(hidden), (2, 2))


def build():
    graph = Graph()
    x, y = graph.input("x", (2, 3, 8, 8)), graph.input("y", (2, 4))
    hidden = x
    for name, width in (("a", 4), ("b", 8)):
        with graph.scope(name):
            hidden = block(hidden, width)
    head = graph.parameter("head", (8, 4), init.normal(0.2))
    graph.loss(ops.mse(ops.matmul(ops.reduce("mean", hidden, (2, 3)), head), y))
    return graph
