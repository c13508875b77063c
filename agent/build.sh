#!/bin/sh
# Builds the agent: build.sh OUT [flags of the compiler...]. $CC, else cc. Needs no header but libc's.
# Sanitizers and tests add flags: build.sh out.so -g -fsanitize=thread
set -eu
if [ $# -lt 1 ]; then
	echo "build.sh: no output file; give it, as in: build.sh liblacuna.so" >&2
	exit 2
fi
out=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
# nodelete: our threads outlive a dlclose. now: no lazy binding in the program's hot paths.
exec ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -O2 -fno-plt -fPIC -fvisibility=hidden -shared -pthread \
	-Wl,-soname,liblacuna.so -Wl,-z,nodelete -Wl,-z,now -Wl,-z,defs "$@" -o "$out" "$here"/*.c -ldl
