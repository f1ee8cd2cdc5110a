"""What the examples share: the import path, the command line and the loss."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import remat  # noqa: E402
from remat import batch_command, ops  # noqa: E402


def parser(doc: str) -> argparse.ArgumentParser:
    """A command line whose help is the example's docstring; every example writes one file."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="default: standard output"
    )
    made.add_argument(
        "--locations", action="store_true", help="name each operation's layer as its location"
    )
    batch_command.add_options(made)
    return made


def size(text: str) -> int:
    """A positive integer of the command line."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return number


def probability(text: str) -> float:
    """A number of [0, 1) of the command line."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number < 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not in [0, 1)")
    return number


def add_sizes(made: argparse.ArgumentParser, **sizes: int) -> None:
    """Options that take positive integers, with their defaults."""
    for name, default in sizes.items():
        option = "--" + name.replace("_", "-")
        made.add_argument(option, type=size, default=default, help="default: %(default)s")


def finish(output: "remat.Value", loss: str) -> None:
    """Ends a graph: "sum" of the output, "mse" to an input `target`, or "none": forward only."""
    graph = output.graph
    graph.comment("loss")
    if loss == "sum":
        graph.loss(ops.reduce("sum", output))
    elif loss == "mse":
        target = graph.input("target", output.shape)
        graph.loss(ops.mse(output, target))
    else:
        graph.output(output, "output")


def write(graph: "remat.Graph", arguments: argparse.Namespace) -> None:
    """Writes the graph file where `-o` says."""
    text = graph.emit(locations=arguments.locations)
    if arguments.output == "-":
        sys.stdout.write(text)
    else:
        Path(arguments.output).write_text(text)


def find_batch(build, made: argparse.ArgumentParser, arguments: argparse.Namespace, options: dict):
    """The graph of the largest batch that fits the budget."""
    if options.pop("batch") != made.get_default("batch"):
        made.error("--batch is what --find-batch finds; --batch-step and --most-batch bound it")
    found = batch_command.find(lambda batch: build(batch=batch, **options), arguments)
    return build(batch=found.batch, **options)


def run(build, made: argparse.ArgumentParser) -> int:
    """Parses, builds and writes; sizes that do not fit together are an error of the command."""
    arguments = made.parse_args()
    batch_command.check_options(made, arguments)
    options = dict(vars(arguments))
    for name in ("output", "locations", "find_batch", *batch_command.ONLY):
        options.pop(name)
    try:
        if not arguments.find_batch:
            write(build(**options), arguments)
            return 0
        graph = find_batch(build, made, arguments, options)
        # Standard output says what was found.
        if arguments.output != "-":
            write(graph, arguments)
    except (OSError, ValueError, remat.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, remat.BudgetRefused) else 1
    return 0
