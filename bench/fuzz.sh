#!/usr/bin/env bash
# Fuzzes every target of remat-fuzz for a time, on several cores. It needs the
# program, the corpora and libc only, so it runs on a machine without MLIR:
# carry build-fuzz/bin/remat-fuzz (stripped), test/Fuzz/corpus and this file.
#
# usage: bench/fuzz.sh PROGRAM CORPUS OUT [MINUTES [CORES]]
#   PROGRAM   remat-fuzz of the preset `fuzz`
#   CORPUS    a folder with a folder of inputs for each target
#   OUT       gets new inputs (OUT/TARGET), crashing ones (OUT/crashes), logs
#   MINUTES   by the clock, for all targets together (default 5)
#   CORES     default: all
#
# Prints one line a target. Exits with 1 if anything crashed, took 20 seconds or
# allocated more than inputs of its size justify.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '6,13p' "$0"; exit 1; }
program=$(realpath "$1") corpus=$(realpath "$2") out=$3
minutes=${4:-5} cores=${5:-$(nproc)}

# Target, workers, largest input, largest allocation in MiB. An input of a few
# kilobytes justifies the tables of the dialect, an arena of 256 KiB and the
# planner's states, but none of the bytes that it may speak of.
targets="graph 4 16384 64
stages 5 32768 64
program 2 32768 64
problem 1 8192 256
plan 1 4096 64
packing 1 4096 64
safetensors 1 4096 16
tokens 1 4096 16
arrays 1 4096 64
options 1 1024 16"

mkdir -p "$out/crashes" "$out/logs"
out=$(realpath "$out")
workers=$(echo "$targets" | awk '{ sum += $2 } END { print sum }')
# The workers take turns on the cores.
seconds=$((minutes * 60 / ((workers + cores - 1) / cores)))
[ "$seconds" -ge 1 ] || seconds=1

# One worker: begins again after each crash, until its time is over.
work() {
  local target=$1 number=$2 length=$3 limit=$4 end log
  log=$out/logs/$target-$number.log
  end=$((SECONDS + seconds))
  mkdir -p "$out/$target"
  : >"$log"
  while [ $SECONDS -lt $end ]; do
    "$program" --target="$target" -max_total_time=$((end - SECONDS)) \
      -timeout=20 -report_slow_units=20 -rss_limit_mb=2048 -malloc_limit_mb="$limit" \
      -max_len="$length" -artifact_prefix="$out/crashes/$target-" \
      -close_fd_mask=3 -print_final_stats=1 -seed=$((RANDOM + 1)) \
      "$out/$target" "$corpus/$target" >>"$log" 2>&1 && break
  done
}
export -f work
export program corpus out seconds

echo "$targets" | while read -r target count length limit; do
  for number in $(seq "$count"); do
    echo "$target $number $length $limit"
  done
done | xargs -P "$cores" -L 1 bash -c 'work "$@"' work || true

status=0
while read -r target _; do
  logs=("$out/logs/$target"-*.log)
  executions=$(cat "${logs[@]}" | awk '/number_of_executed_units/ { n += $2 } END { print n + 0 }')
  coverage=$(cat "${logs[@]}" | grep -o 'cov: [0-9]*' | sort -k2n | tail -1 || true)
  crashes=$(find "$out/crashes" -name "$target-*" | wc -l)
  printf '%-12s %10d executions, %s edges, %d new inputs, %d crashes\n' \
    "$target" "$executions" "${coverage#cov: }" \
    "$(find "$out/$target" -type f | wc -l)" "$crashes"
  [ "$crashes" = 0 ] || status=1
done <<<"$targets"
exit $status
