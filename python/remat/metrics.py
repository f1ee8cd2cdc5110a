"""The lines of `remat-run --metrics`: read, and given to TensorBoard.

    python -m remat.metrics metrics.jsonl --tensorboard runs/first [--follow]

TensorBoard's files are written by tensorboardX; nothing else of the package needs it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Union

OTHERS = ("step", "time")  # of a line; every other number is a curve


def read(path: Union[str, Path], follow: bool = False, poll: float = 0.5) -> Iterator[Dict[str, Any]]:
    """The lines of a file of metrics as dictionaries, in order. A number that was infinite or NaN
    is None. With `follow` it waits for more, and begins again where a run that was resumed has
    shortened the file. A last line without an end is still being written."""
    place, rest = 0, b""
    with open(path, "rb") as file:
        while True:
            if file.seek(0, 2) < place:
                place, rest = 0, b""
            file.seek(place)
            rest += file.read()
            place = file.tell()
            *lines, rest = rest.split(b"\n")
            for line in lines:
                yield json.loads(line)
            if not follow:
                return
            time.sleep(poll)


def write_tensorboard(
    path: Union[str, Path], folder: Union[str, Path], follow: bool = False, poll: float = 0.5
) -> int:
    """Writes a file of metrics as TensorBoard's event files and gives the number of lines. Steps
    that a resumed run makes again take the place of those from before."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        raise SystemExit(f"remat.metrics: {error}\n  note: pip install tensorboardX") from None
    count, last, files = 0, 0, 0
    writer: Optional[Any] = None
    try:
        for line in read(path, follow, poll):
            step = line["step"]
            if writer is None or step <= last:
                if writer is not None:
                    writer.close()
                # The file says from which step on it counts; TensorBoard drops what lies behind.
                # Its name has the second, which two files may share.
                writer = SummaryWriter(str(folder), purge_step=step, filename_suffix=f".{files}")
                files += 1
            for name, value in line.items():
                if name not in OTHERS:
                    number = float("nan") if value is None else value
                    writer.add_scalar(name, number, step, walltime=line["time"])
            count, last = count + 1, step
            if follow:
                writer.flush()
    except KeyboardInterrupt:
        pass
    finally:
        if writer is not None:
            writer.close()
    return count


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m remat.metrics", description="Gives the metrics of remat-run to TensorBoard"
    )
    parser.add_argument("file", help="what remat-run --metrics writes")
    parser.add_argument("--tensorboard", required=True, metavar="DIR", help="folder of event files")
    parser.add_argument("--follow", action="store_true", help="wait for more lines, until Ctrl-C")
    options = parser.parse_args(argv)
    try:
        write_tensorboard(options.file, options.tensorboard, options.follow)
    except (OSError, ValueError, KeyError) as error:
        print(f"remat.metrics: error: {options.file}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
