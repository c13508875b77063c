#!/bin/bash
# Everything of this folder on one machine with a GPU, in about five minutes: session.sh LACUNA OUT [PYTEST]
# LACUNA is the program, PYTEST a folder with pytest where Python has none.
set -u
here=$(cd "$(dirname "$0")" && pwd)
lacuna=$1 out=$2
export PYTHONPATH=$here/../../../tools/python${3:+:$3}
cd "$here"
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader
{ # does the program find and watch the GPU; steps by their marks
  echo '$ lacuna bench --runs 3 --precision 0 --warmup 0 --skip 40 --step-regex "step \d+" -q -- python3 loop.py gpu --steps 400'
  timeout 60 "$lacuna" bench --runs 3 --precision 0 --warmup 0 --skip 40 --step-regex 'step \d+' -q --budget 25s --save "$out/marks.json" -- python3 loop.py gpu --steps 400
  echo "exit status $?"
  echo '$ lacuna bench --runs 5 -q --against "python3 loop.py gpu" -- python3 loop.py gpu --change extra_kernel'
  timeout 100 "$lacuna" bench --runs 5 -q --budget 55s --save "$out/ab.json" --against 'python3 loop.py gpu' -- python3 loop.py gpu --change extra_kernel
  echo "exit status $?"
} > "$out/bench.txt" 2>&1
{
  echo '$ pytest -p pytest_lacuna --lacuna pytest.json test_gpu.py'
  timeout 60 python3 -m pytest -q -p no:cacheprovider -p pytest_lacuna --lacuna "$out/pytest.json" test_gpu.py
  echo "exit status $?"
} > "$out/pytest.txt" 2>&1
timeout 110 python3 gate.py repeats --out "$out/repeats.jsonl" --rounds 12 --limit 85
timeout 150 python3 gate.py series --out "$out/series.jsonl" --points 30 --limit 125
cat "$out/bench.txt" "$out/pytest.txt"
