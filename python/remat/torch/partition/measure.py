"""The peak of a step, measured: what the allocator gave and took back."""

from __future__ import annotations

from typing import Callable, Tuple

import torch


def allocated_peak(step: Callable[[], object]) -> Tuple[int, int]:
    """Runs a step on the CPU; gives the largest number of bytes that were allocated at once beyond
    those at its begin, and how many more there are at its end. On a GPU there is
    `torch.cuda.max_memory_allocated`."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        kept = step()
    events = [
        (event.start_ns(), event.nbytes())
        for event in profile.profiler.kineto_results.events()
        if event.name() == "[memory]" and event.device_type() == torch.autograd.DeviceType.CPU
    ]
    now = peak = 0
    for _, count in sorted(events, key=lambda event: event[0]):
        now += count
        peak = max(peak, now)
    del kept
    return peak, now
