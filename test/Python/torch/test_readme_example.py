"""The README's example of a PyTorch module trains."""

import os
import re
import subprocess

import preloaded
from conftest import ROOT


def test_the_example_trains():
    text = (ROOT / "README.md").read_text().split("## PyTorch modules")[1]
    code = re.search(r"```py\n(.*?)```", text, re.S).group(1)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [preloaded.python(), "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    loss, peak = re.fullmatch(r"loss (\S+) within (\d+) bytes\n", done.stdout).groups()
    assert float(loss) < 1.0 and int(peak) > 0
