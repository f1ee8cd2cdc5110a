#!/usr/bin/env python3
"""Checks that the explanations of a report agree with each other and with the report.

    explain.py REPORT
"""

import json
import sys
from pathlib import Path


def main():
    report = json.loads(Path(sys.argv[1]).read_text())
    said = report["explain"]
    again = [one for one in said if one["kind"] == "recomputed"]
    kept = [one for one in said if one["kind"] == "kept"]
    assert len(again) + len(kept) == len(said) and kept
    assert len(again) == report["recomputed_ops"] > 0
    for one in again:
        assert one["before"] < one["relieves"]["step"] < one["step"] < one["readers"][0]["step"]
        assert 0 < one["saved_bytes"] <= one["bytes"]
        assert one["peak_without"] >= one["bytes_there"] + one["saved_bytes"]
        assert 1 <= one["chain_ops"] <= len(again) and one["chain_ms"] >= one["ms"] > 0
    for one in kept:
        assert one["step"] < one["reader"]["step"]
        assert one["reason"] in ("result", "demanded", "runs_once", "peak_stays", "costs_time")
        assert ("freed_bytes" in one) == (one["reason"] in ("peak_stays", "costs_time"))


if __name__ == "__main__":
    main()
