#!/usr/bin/env bash
# Times every case of the programs here, and captures each with Nsight Compute: one report a case, its variants in order.
#   OUT=DIR [ONLY=REGEX] [DEADLINE=SECONDS] ./capture.sh
# After the deadline no capture is started. OUT gets kernels.txz.*: times.csv, failures.txt, CASE/report.ncu-rep.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd); OUT=$(realpath -m "${OUT:-out}"); ONLY=${ONLY:-.*}; DEADLINE=${DEADLINE:-100000}
work=/tmp/kernels.$$; start=$SECONDS
say() { echo "[$((SECONDS - start)) s] $*"; }
mkdir -p "$OUT" "$work/src" "$work/packs"; cp "$here"/*.cu "$here"/../kernels/bench.cuh "$work/src/"; cd "$work/src" || exit 1
for f in *.cu; do
  ( nvcc -O3 -std=c++17 -lineinfo -arch=native "$f" -o "${f%.cu}" >"${f%.cu}.log" 2>&1 || { echo "not built: $f"; grep -m8 error "${f%.cu}.log"; } ) &
done; wait; say built
echo "case,variant,median_us,fault,kernel" >times.csv; : >failures.txt; : >todo
for p in sound layout threads; do
  [ -x "$p" ] || continue
  "./$p" list | cut -d, -f1 | grep -Ex "$ONLY" | while read -r c; do
    timeout 60 "./$p" time "$c" </dev/null >one.csv 2>>failures.txt || echo "$c: status $?" >>failures.txt
    grep ",.*,.*," one.csv >>times.csv; echo "$c ./$p once $c" >>todo
  done
done
say "timed $(($(wc -l <times.csv) - 1)) variants"; cat times.csv failures.txt
while read -r name command; do
  [ $((SECONDS - start)) -gt "$DEADLINE" ] && { echo "no time left: $name" | tee -a failures.txt; continue; }
  mkdir -p "$work/packs/$name"
  timeout 60 ncu --set full --import-source yes --clock-control none --profile-from-start off -f -o "$work/packs/$name/report" $command </dev/null >"$name.log" 2>&1 || { echo "not captured: $name" | tee -a failures.txt; tail -2 "$name.log"; }
done < <(shuf --random-source=<(yes) todo)
say captured
cp times.csv failures.txt "$work/packs/"; nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv >"$work/packs/gpu.csv"; ncu --version | tail -2 >>"$work/packs/gpu.csv"
tar -C "$work/packs" -cf - . | xz -T0 -3 | split -b 15m - "$OUT/kernels.txz."
ls -la "$OUT"; cd /; rm -rf "$work"; say done
