"""`remat-run` with the ranks of `torch.distributed`: `torchrun ... -m remat.run ARGUMENTS`.

Where torchrun started several processes, or the environment otherwise says so as
torch.distributed reads it (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), they are the ranks of the
run. Elsewhere this is the tool itself: alone, and with the ranks of mpirun and srun.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import List, Optional

from .runtime import library
from .runtime.errors import Error
from .runtime.ranks import Ranks


def _is_for_torch() -> bool:
    size = os.environ.get("WORLD_SIZE", "")
    names = ("RANK", "MASTER_ADDR")
    return size.isdecimal() and int(size) > 1 and all(name in os.environ for name in names)


def _find_ranks() -> Optional[Ranks]:
    """Those of torch.distributed, whose processes all come here; None where there are none."""
    if not _is_for_torch():
        return None
    # Standard error is the tool's, which says itself which rank is gone.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    try:
        import torch.distributed
    except ImportError as failure:
        raise Error(
            f"{os.environ['WORLD_SIZE']} processes were started that meet by torch.distributed: "
            f"{failure}"
        ) from None
    try:
        # On GPUs too: what is on them is moved by the runtime itself.
        torch.distributed.init_process_group("gloo")
    except (RuntimeError, ValueError, OSError) as failure:
        raise Error(f"torch.distributed does not start: {failure}") from None
    from .torch.ranks import of_torch

    return of_torch()


def run(words: List[str]) -> int:
    """Runs the tool with these arguments, and gives its exit code. The process's signals and
    standard files are the tool's from then on; once in a process."""
    lib = library.load()
    ranks = _find_ranks()
    encoded = [os.fsencode(word) for word in ("remat-run", *words)]
    arguments = (ctypes.c_char_p * (len(encoded) + 1))(*encoded)
    return lib.rematRunTool(len(encoded), arguments, ranks.handle.value if ranks else None)


def main() -> int:
    """The command `remat-run` of the installed package."""
    try:
        return run(sys.argv[1:])
    except (Error, KeyboardInterrupt) as failure:
        print(f"remat-run: error: {failure or 'interrupted'}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
