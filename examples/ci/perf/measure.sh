#!/usr/bin/env bash
# Prints one run of the program as lacuna.metrics/1: the time of each of STEPS calls of perf/step.sh in the folder that it
# is called in. Replace it by what measures your program: a script with lacuna_metrics.py, or lacuna bench.
set -euo pipefail
steps=${STEPS:-10}
perf/step.sh > /dev/null # the first call warms up
values=""
for _ in $(seq "$steps"); do
  from=$(date +%s%N)
  perf/step.sh > /dev/null
  us=$((($(date +%s%N) - from) / 1000))
  values="$values${values:+, }$((us / 1000)).$(printf %03d $((us % 1000)))"
done
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 || true)
printf '{"schema": "lacuna.metrics/1", "program": "step.sh", "machine": {"gpu": "%s"},\n "runs": [{"measures": {"step": {"unit": "ms", "values": [%s]}}}]}\n' "$gpu" "$values"
