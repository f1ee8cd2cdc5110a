"""A program's memory as PyTorch's tools read it.

    python -m remat.report timeline.json --memory-viz snapshot.pickle

`timeline.json` is what `remat-run --timeline` wrote. https://pytorch.org/memory_viz opens the snapshot, and
`python -m torch.cuda._memory_viz` makes texts and pages of it.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import sys
from typing import Any, Dict, List

# Where a GPU's addresses begin: some tools take 0 for none.
BASE = 0x7F0000000000


def _frames(name: str, location: str, kind: str) -> List[Dict[str, Any]]:
    """Innermost first: what the bytes are, then where the source makes them."""
    frames = [{"name": f"{name} ({kind})", "filename": "remat", "line": 0}]
    place = re.fullmatch(r"(.*):(\d+):\d+", location)
    if place:
        frames.append({"name": name, "filename": place[1], "line": int(place[2])})
    elif location:
        frames.append({"name": location, "filename": "", "line": 0})
    return frames


class _Recorder:
    """Collects the events of one program."""

    def __init__(self, program: Dict[str, Any]):
        self.program = program
        self.events: List[Dict[str, Any]] = []
        self.live: Dict[int, Dict[str, Any]] = {}  # by address
        self.owner: Dict[int, Dict[str, Any]] = {}  # the tensor that holds an offset

    def event(self, action: str, block: Dict[str, Any], microseconds: float) -> None:
        self.events.append(
            {
                "action": action,
                "addr": block["address"],
                "size": block["size"],
                "stream": 0,
                "time_us": int(microseconds),
                "frames": block["frames"],
            }
        )

    def allocate(self, offset: int, size: int, frames: List[Dict[str, Any]], now: float) -> None:
        block = {
            "address": BASE + offset,
            "size": size,
            "requested_size": size,
            "state": "active_allocated",
            "frames": frames,
        }
        self.live[block["address"]] = block
        self.event("alloc", block, now)

    def free(self, offset: int, now: float) -> None:
        block = self.live.pop(BASE + offset, None)
        if block:
            self.event("free_requested", block, now)
            self.event("free_completed", block, now)

    def allocate_tensor(self, tensor: Dict[str, Any], now: float) -> None:
        first = tensor["first"]
        location = self.program["steps"][first].get("location", "") if first >= 0 else ""
        kind = tensor["class"].replace("_", " ")
        # What takes over another's bytes is the next to hold them.
        self.free(tensor["offset"], now)
        self.allocate(
            tensor["offset"], tensor["bytes"], _frames(tensor["name"], location, kind), now
        )
        self.owner[tensor["offset"]] = tensor

    def free_tensor(self, tensor: Dict[str, Any], now: float) -> None:
        """Unless another has taken its bytes over."""
        if self.owner.get(tensor["offset"]) is tensor:
            self.free(tensor["offset"], now)


def _record(program: Dict[str, Any]) -> _Recorder:
    steps, recorder = program["steps"], _Recorder(program)
    made: List[List[Dict[str, Any]]] = [[] for _ in range(len(steps) + 2)]
    ended: List[List[Dict[str, Any]]] = [[] for _ in range(len(steps) + 2)]
    for tensor in program["tensors"]:
        made[tensor["first"] + 1].append(tensor)
        ended[tensor["last"] + 1].append(tensor)
    now = 0.0
    for position in range(len(steps) + 1):
        for tensor in made[position]:
            recorder.allocate_tensor(tensor, now)
        step = steps[position - 1] if position else {}
        workspace = step.get("workspace_bytes")
        if workspace:
            frames = _frames(
                f"workspace of {step.get('name', step['op'])}", step.get("location", ""), step["op"]
            )
            recorder.allocate(step["workspace_offset"], workspace, frames, now)
        now += step.get("measured_ns", step.get("predicted_ns", 1000)) / 1000 if position else 0
        if workspace:
            recorder.free(step["workspace_offset"], now)
        for tensor in ended[position]:
            recorder.free_tensor(tensor, now)
    return recorder


def _blocks(live: Dict[int, Dict[str, Any]], arena: int) -> List[Dict[str, Any]]:
    """The arena in order, with the bytes between that hold nothing."""
    blocks, at = [], BASE

    def add_gap(end: int) -> None:
        if end > at:
            blocks.append(
                {
                    "address": at,
                    "size": end - at,
                    "requested_size": 0,
                    "state": "inactive",
                    "frames": [],
                }
            )

    for address in sorted(live):
        add_gap(address)
        blocks.append(live[address])
        at = address + live[address]["size"]
    add_gap(BASE + arena)
    return blocks


def memory_snapshot(timeline: Dict[str, Any]) -> Dict[str, Any]:
    """The snapshot that `torch.cuda.memory._snapshot` would give after a step, with its history.

    The arena is one segment. Of a refused budget it is the smallest program's.
    """
    program = timeline["planned"] or timeline["smallest"]
    if program is None:
        raise ValueError("the timeline has no program")
    arena = program["arena_bytes"]
    recorder = _record(program)
    used = sum(block["size"] for block in recorder.live.values())
    segment = {
        "address": BASE,
        "total_size": arena,
        "allocated_size": used,
        "active_size": used,
        "requested_size": used,
        "stream": 0,
        "device": 0,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": _blocks(recorder.live, arena),
    }
    begin = {
        "action": "segment_alloc",
        "addr": BASE,
        "size": arena,
        "stream": 0,
        "time_us": 0,
        "frames": [],
    }
    return {
        "segments": [segment],
        "device_traces": [[begin, *recorder.events]],
        "allocator_settings": {},
        "external_annotations": [],
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m remat.report", description=__doc__.split("\n")[0]
    )
    parser.add_argument("timeline", help="the JSON of remat-run --timeline")
    parser.add_argument(
        "--memory-viz",
        metavar="FILE",
        required=True,
        help="write a snapshot for PyTorch's memory_viz",
    )
    options = parser.parse_args()
    try:
        with open(options.timeline, encoding="utf-8") as file:
            timeline = json.load(file)
        if not isinstance(timeline, dict) or timeline.get("format") != "remat-timeline":
            raise ValueError("it is no timeline; remat-run --timeline writes one")
        snapshot = memory_snapshot(timeline)
        with open(options.memory_viz, "wb") as file:
            pickle.dump(snapshot, file)
    except (OSError, ValueError) as error:
        print(f"remat.report: error: {options.timeline}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
