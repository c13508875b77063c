#!/bin/sh
# Builds the libraries that lacuna carries: one for this machine, and those for which a cross compiler is there.
# Run it before go build. Flags are the compiler's.
set -eu
cd "$(dirname "$0")"
list=$(LC_ALL=C; export LC_ALL; for file in *; do case $file in *.c | *.h | build.sh) sha256sum "$file" ;; esac; done)
machine=$(uname -m)
made=
for pair in amd64:x86_64 arm64:aarch64; do
	go=${pair%:*} gnu=${pair#*:}
	if [ "$machine" = "$gnu" ]; then
		cc=${CC:-cc}
	else
		cc=$gnu-linux-gnu-gcc
		command -v "$cc" >/dev/null || continue
	fi
	out=prebuilt/liblacuna-linux-$go
	CC=$cc sh build.sh "$out.so" -s "$@"
	printf '%s\n' "$list" >"$out.sources"
	made="$made $out.so"
done
[ -n "$made" ] || { echo "prebuilt.sh: no compiler for x86-64 or arm64 here ($machine)" >&2; exit 1; }
ls -l $made
