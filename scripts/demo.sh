#!/usr/bin/env bash
# Trains a small GPT on real text, on the host, in half the memory that it
# would take, and checks what it claims. Writes build/demo.json.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${REMAT_BIN:-build/bin}
out=build
mkdir -p "$out"

echo "== text as tokens, a GPT as a graph file"
python3 examples/byte_tokens.py -o "$out/demo-tokens.bin"
python3 examples/gpt2.py --layers 4 --width 128 --heads 4 --vocab 256 \
  --batch 8 --seq 64 -o "$out/demo.mlir"
head -n 2 "$out/demo.mlir"

echo "== training within half of the unplanned peak"
rm -f "$out/demo.json"
"$bin/remat-run" "$out/demo.mlir" --data "$out/demo-tokens.bin" --budget 50% \
  --steps 300 --learning-rate 1e-3 --report "$out/demo.json" | awk '
    NR <= 3 || NR % 20 == 0'

python3 - "$out/demo.json" <<'EOF'
import json, math, sys

report = json.load(open(sys.argv[1]))
loss = report["loss"]
first, last = sum(loss[:10]) / 10, sum(loss[-10:]) / 10
mib = lambda name: f"{report[name] / 2**20:.2f} MiB"
print(f"""== {sys.argv[1]}
loss                {first:.3f} -> {last:.3f}  (mean of the first and the last 10 of {len(loss)} steps)
unplanned peak      {mib("unplanned_peak_bytes")}
budget              {mib("budget_bytes")}
predicted peak      {mib("predicted_peak_bytes")}  ({report["predicted_peak_bytes"]} bytes)
measured peak       {mib("measured_peak_bytes")}  ({report["measured_peak_bytes"]} bytes)
smallest feasible   {mib("smallest_feasible_bytes")}
recomputed          {report["recomputed_ops"]} operations, {report["predicted_overhead"]:.1%} more time predicted
time                {report["ms_per_step"]:.1f} ms a step""")
# Guessing each byte by its frequency alone gives about 3.1 nats.
assert all(math.isfinite(x) for x in loss) and last < 2.8 < first, "the loss did not fall"
assert report["budget_bytes"] == report["unplanned_peak_bytes"] // 2, "another budget was used"
assert report["predicted_peak_bytes"] == report["measured_peak_bytes"], "the prediction was wrong"
assert report["measured_peak_bytes"] <= report["budget_bytes"], "the budget was not met"
EOF
