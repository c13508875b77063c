#!/bin/sh
# Builds the fake driver and the fake CUPTI of a release into a folder: build_fakes.sh DIR VERSION [flags of the compiler...]
# FAKES=cuda or FAKES=cupti builds one of them.
# VERSION: 18 (11.8) … 28 (12.9.1), 130000 …: see fake_cupti.c. Use: CUDA_INJECTION64_PATH=agent, LD_LIBRARY_PATH=DIR, link -lcuda.
set -eu
dir=$1 version=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
case $version in
18) soname=libcupti.so.11.8 ;;
1? | 2?) soname=libcupti.so.12 ;;
*) soname=libcupti.so.13 ;;
esac
mkdir -p "$dir"
cc="${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -O1 -g -fPIC -fvisibility=hidden -shared -pthread"
if [ "${FAKES:-cuda}" = cuda ]; then
	$cc "$@" -Wl,-soname,libcuda.so.1 -o "$dir/libcuda.so.1" "$here/fake_cuda.c" -ldl
	ln -sf libcuda.so.1 "$dir/libcuda.so"
fi
[ "${FAKES:-cupti}" = cuda ] || $cc "$@" -DVERSION="$version" -Wl,-soname,$soname -o "$dir/$soname" "$here/fake_cupti.c" -ldl
