"""What PyTorch's allocator gives and takes back on the CPU while something runs."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

import torch


def memory_events(
    step: Callable[[], Any],
) -> Tuple[List[Tuple[int, int]], Dict[str, Tuple[int, int]]]:
    """Runs a step; gives times and bytes of what was allocated and, negative, freed, and the begin
    and end of each `record_function` whose name begins with "remat::"."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        kept = step()
    wanted = torch.autograd.DeviceType.CPU
    events, spans = [], {}
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            if event.device_type() == wanted:
                events.append((event.start_ns(), event.nbytes()))
        elif event.name().startswith("remat::"):
            spans[event.name()] = (event.start_ns(), event.end_ns())
    del kept
    return sorted(events, key=lambda event: event[0]), spans


def allocated_peak(step: Callable[[], Any]) -> Tuple[int, int]:
    """Runs a step on the CPU; gives the largest number of bytes that were allocated at once beyond
    those at its begin, and how many more there are at its end. On a GPU there is
    `torch.cuda.max_memory_allocated`."""
    now = peak = 0
    for _, count in memory_events(step)[0]:
        now += count
        peak = max(peak, now)
    return peak, now
