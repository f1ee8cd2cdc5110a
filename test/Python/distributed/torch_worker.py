"""A process of test_torch_ranks.py: trains a small model by remat under torch.distributed and saves what came of it."""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

import remat.torch


class Model(nn.Module):
    """An odd number of elements in a parameter, a norm, dropout, a tied table."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(13, 9)
        self.norm = nn.LayerNorm(9)
        self.hidden = nn.Linear(9, 21)
        self.drop = nn.Dropout(0.25)
        self.out = nn.Linear(21, 9)
        self.head = nn.Linear(9, 13, bias=False)
        self.head.weight = self.table.weight

    def forward(self, tokens, targets):
        x = self.table(tokens)
        x = x + self.out(self.drop(torch.relu(self.hidden(self.norm(x)))))
        return nn.functional.cross_entropy(self.head(x).reshape(-1, 13), targets.reshape(-1))


class Pictures(nn.Module):
    """Convolution and batch norm, whose running statistics follow the batch."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3, padding=1)
        self.norm = nn.BatchNorm2d(5)
        self.head = nn.Linear(5, 4)

    def forward(self, x, labels):
        x = torch.relu(self.norm(self.conv(x))).mean((2, 3))
        return nn.functional.cross_entropy(self.head(x), labels)


def batch(kind, step, number):
    """What the ranks that share batch `number` train on at a step."""
    random = torch.Generator().manual_seed(100 * step + number)
    if kind == "pictures":
        return torch.randn(4, 3, 6, 6, generator=random), torch.randint(4, (4,), generator=random)
    return tuple(torch.randint(13, (4, 8), generator=random) for _ in range(2))


def main():
    settings = json.loads(sys.argv[1])
    kind, parallel, count = settings["model"], settings.get("parallel"), settings.get("accumulate", 1)
    rank = 0
    if parallel:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(0)
    model = Pictures() if kind == "pictures" else Model()

    def inputs(step):
        if count == 1:
            return batch(kind, step, rank // settings.get("sharing", 1))
        return tuple(torch.stack(parts) for parts in zip(*(batch(kind, step, i) for i in range(count))))

    options = {name: settings[name] for name in ("budget", "clip_norm", "bucket", "shard", "autocast") if name in settings}
    options["effort"] = 0
    if os.environ.get("REMAT_TEST_DEVICE") == "cuda":
        options["device"] = "cuda"
        options["arch"] = "sm_%d%d" % torch.cuda.get_device_capability()
    if parallel and "rank_timeout" in settings:
        options["rank_timeout"] = settings["rank_timeout"]
    if count > 1:
        options["accumulate"] = count
    step = remat.torch.compile(
        model, batch(kind, 0, 0), optimizer=settings.get("optimizer", "adamw"), parallel=parallel, seed=7, **options
    )
    losses = []
    for i in range(3):
        if i == 1 and rank == 1:
            time.sleep(settings.get("late_seconds", 0))
        losses.append(step(*inputs(i)).item())
    state = step.state_dict()["module"]
    report = step.report
    if rank == 0:
        torch.save({"losses": losses, "state": state}, settings["out"])
        found = {key: report[key] for key in ("measured_peak_bytes", "predicted_peak_bytes", "budget_bytes")}
        found["digest"] = step.session.parameters_digest()
        open(settings["out"] + ".json", "w").write(json.dumps(found))
    else:
        step.session.parameters_digest()
    if parallel:
        dist.barrier()
        dist.destroy_process_group()


main()
