"""Checks what runs of a program with a function say; see functions.test.

usage: functions.py runs BOTH PROGRAM WITHOUT MAIN   (reports)
       functions.py budgets GRAPH FOLDER
"""

import json
import subprocess
import sys
from pathlib import Path


def read(path):
    return json.loads(Path(path).read_text())


def runs(both, program, without, main):
    for report in (both, program, without, main):
        assert report["measured_peak_bytes"] == report["predicted_peak_bytes"]
        # The step of @main is the same, and evaluating changes no parameter.
        assert report["parameters_digest"] == main["parameters_digest"]
        assert report["loss"] == main["loss"]
    assert both["evaluations"] == program["evaluations"]
    assert [one["step"] for one in both["evaluations"]] == [2, 4, 6]
    assert len({one["loss"] for one in both["evaluations"]}) == 3
    assert without["evaluations"] == main["evaluations"] == []
    (function,) = both["functions"]
    assert function["name"] == "evaluate" and main["functions"] == []
    assert function["predicted_peak_bytes"] <= both["predicted_peak_bytes"]


def resumes(graph, folder):
    """A run that goes on evaluates as the whole one does, and knows the lowest loss."""
    checkpoints, best, report = (Path(folder, name) for name in ("c", "best", "resumed.json"))
    command = ["remat-run", graph, "--evaluate-every", "2", "--evaluate-steps", "2", "--quiet"]
    # At this rate the first evaluation has the lowest loss.
    command += ["--optimizer", "sgd", "--learning-rate", "2", "--report", str(report)]
    saving = ["--checkpoint", str(checkpoints), "--checkpoint-every", "4", "--save-best", str(best)]
    subprocess.run([*command, *saving, "--steps", "4"], check=True)
    first = read(report)["evaluations"]
    kept = best.read_bytes()
    rest = [*saving, "--resume", "--steps", "6"]
    subprocess.run([*command, *rest], check=True)
    (last,) = read(report)["evaluations"]
    subprocess.run([*command, "--steps", "6"], check=True)
    assert read(report)["evaluations"] == [*first, last]
    assert last["loss"] > min(one["loss"] for one in first)
    assert best.read_bytes() == kept


def budgets(graph, folder):
    def run(budget, code):
        report = Path(folder, "budget.json")
        report.unlink(missing_ok=True)
        command = ["remat-run", graph, "--steps", "4", "--evaluate-every", "2", "--quiet"]
        command += ["--evaluate-steps", "2", "--poison", "--report", str(report)]
        done = subprocess.run([*command, "--budget", str(budget)], stderr=subprocess.PIPE)
        assert done.returncode == code, done
        return read(report), done.stderr.decode()

    whole, _ = run("unlimited", 0)
    smallest = whole["smallest_feasible_bytes"]
    for budget in ("60%", "smallest", smallest, (smallest + whole["unplanned_peak_bytes"]) // 2):
        if budget == "60%" and 0.6 * whole["unplanned_peak_bytes"] < smallest:
            continue
        report, _ = run(budget, 0)
        assert report["measured_peak_bytes"] == report["predicted_peak_bytes"]
        assert smallest <= report["budget_bytes"] and report["smallest_feasible_bytes"] == smallest
        assert report["measured_peak_bytes"] <= report["budget_bytes"]
        for key in ("loss", "evaluations", "parameters_digest"):
            assert report[key] == whole[key], key
    resumes(graph, folder)
    refused, said = run(smallest - 1, 2)
    assert refused["smallest_feasible_bytes"] == smallest
    assert "is refused" in said and str(smallest) in said.replace("\n", " ")


if __name__ == "__main__":
    if sys.argv[1] == "runs":
        runs(*map(read, sys.argv[2:]))
    else:
        budgets(*sys.argv[2:])
