#!/usr/bin/env bash
# Times every case of the programs here, and captures each with Nsight Compute: one report a case, its variants in order.
#   OUT=DIR [CORPUS_KERNELS=kernels.cu CORPUS_CASES="a b"] [ONLY=REGEX] [DEADLINE=SECONDS] ./capture.sh
# CORPUS_KERNELS is the corpus' own program: its CASES are captured too. After the deadline no capture is started.
# OUT gets kernels.txz.*: times.csv, failures.txt, and for each case report.ncu-rep and the pages that ncu prints of it.
# CASE.basic and CASE.metrics are captures of three cases with little in them.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd); OUT=$(realpath -m "${OUT:-out}"); ONLY=${ONLY:-.*}; DEADLINE=${DEADLINE:-100000}
corpus=$(realpath -m "${CORPUS_KERNELS:-none}"); work=/tmp/kernels.$$; start=$SECONDS
say() { echo "[$((SECONDS - start)) s] $*"; }
mkdir -p "$OUT" "$work/src" "$work/packs"; cp "$here"/*.cu "$here"/*.cuh "$work/src/"; cd "$work/src" || exit 1
[ -f "$corpus" ] && cp "$corpus" kernels.cu
build="nvcc -O3 -std=c++17 -lineinfo -arch=native"
for f in *.cu; do
  ( $build "$f" -o "${f%.cu}" $([ "$f" = library.cu ] && echo -lcublas) >"${f%.cu}.log" 2>&1 || { echo "not built: $f"; grep -m5 error "${f%.cu}.log"; } ) &
done; wait; say built
echo "case,variant,median_us,fault,kernel" >times.csv; : >failures.txt; : >todo
for p in memory compute sync limits library; do
  [ -x "$p" ] || continue
  "./$p" list | cut -d, -f1 | grep -Ex "$ONLY" | while read -r c; do
    timeout 60 "./$p" time "$c" </dev/null >one.csv 2>>failures.txt || echo "$c: status $?" >>failures.txt
    grep ",.*,.*," one.csv >>times.csv; echo "$c ./$p once $c" >>todo
  done
done
if [ -x kernels ]; then
  for c in ${CORPUS_CASES:-}; do
    fault=$(./kernels | awk -v c="$c" '$1 == c {print $2}'); names=$(./kernels | awk -v c="$c" '$1 == c {$1 = $2 = ""; print}')
    timeout 60 ./kernels time "$c" 2>>failures.txt | sed 1d | while IFS=, read -r name variant us; do
      part=1; [ "$variant" = fixed ] && part=2
      echo "$name,$variant,$us,$fault,$(cut -d'|' -f$part <<<"$names" | xargs)" >>times.csv
    done
    echo "$c ./kernels $c" >>todo
  done
  { grep '\./kernels ' todo; grep -v '\./kernels ' todo; } >todo.sorted; mv todo.sorted todo
fi
say "timed $(($(wc -l <times.csv) - 1)) variants"; cat failures.txt
capture() { # folder, options, command
  mkdir -p "$work/packs/$1"
  timeout 60 ncu $2 --clock-control none --profile-from-start off -f -o "$work/packs/$1/report" $3 </dev/null >"$1.log" 2>&1 || { echo "not captured: $1" | tee -a failures.txt; tail -2 "$1.log"; }
}
while read -r name command; do
  [ $((SECONDS - start)) -gt "$DEADLINE" ] && { echo "no time left: $name" | tee -a failures.txt; continue; }
  capture "$name" "--set full --import-source yes" "$command"
done <todo
say captured
for c in spmv scan mandelbrot; do
  command=$(awk -v c=$c '$1 == c {$1 = ""; print}' todo); [ -n "$command" ] || continue
  capture "$c.basic" "--set basic" "$command"
  capture "$c.metrics" "--metrics gpu__time_duration.sum,dram__bytes.sum" "$command"
done
say "captured with little"
cp times.csv failures.txt "$work/packs/"; nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv >"$work/packs/gpu.csv"; ncu --version | tail -2 >>"$work/packs/gpu.csv"
cat >pages.sh <<'P'
cd "$1" || exit 1
for p in raw details session; do ncu --import report.ncu-rep --page $p --csv >$p.csv 2>/dev/null; done
ncu --import report.ncu-rep --page raw --csv --print-units base >raw_base.csv 2>/dev/null
for s in sass cuda; do ncu --import report.ncu-rep --page source --csv --print-source $s >source_$s.csv 2>/dev/null; done
P
ls -d "$work"/packs/*/ | xargs -P 16 -n 1 bash pages.sh; say "printed"
tar -C "$work/packs" -cf - . | xz -T0 -6 | split -b 15m - "$OUT/kernels.txz."
cat times.csv; ls -la "$OUT"; cd /; rm -rf "$work"; say done
