#!/usr/bin/env python3
"""Takes the texts of foreign headers out of reports of Nsight Compute: without_headers.py REPORT.ncu-rep.zst...

ncu --import-source yes keeps every source file of a module in the report, NVIDIA's own headers too, which are not ours to
give away. Their paths and everything else stay. The container is docs/formats/ncu.md's: blocks of a header and a payload;
field 8 of a source message is its files, {1: {1: path, 2: text}}.
"""
import os, struct, subprocess, sys

OURS = (".cu", "bench.cuh")


def varint(b, i):
    x = shift = 0
    while True:
        c = b[i]
        i += 1
        x |= (c & 127) << shift
        shift += 7
        if c < 128:
            return x, i


def put(x):
    out = bytearray()
    while x > 127:
        out.append(x & 127 | 128)
        x >>= 7
    out.append(x)
    return bytes(out)


def fields(b):
    """(number, wire type, value, raw bytes) of each field of a message."""
    i = 0
    while i < len(b):
        start = i
        key, i = varint(b, i)
        kind = key & 7
        if kind == 0:
            v, i = varint(b, i)
        elif kind == 2:
            n, i = varint(b, i)
            v, i = b[i:i + n], i + n
        else:
            n = {1: 8, 5: 4}[kind]
            v, i = b[i:i + n], i + n
        yield key >> 3, kind, v, b[start:i]


def message(number, body):
    return put(number << 3 | 2) + put(len(body)) + body


def file_without_text(entry):
    """A {1: path, 2: text} without the text, unless the path is ours."""
    path = next((v for n, k, v, _ in fields(entry) if n == 1 and k == 2), b"").decode("utf-8", "replace")
    return entry if path.endswith(OURS) else b"".join(raw for n, _, _, raw in fields(entry) if n != 2)


def source(body):
    out = b""
    for n, k, v, raw in fields(body):
        if n == 8 and k == 2:
            v = b"".join(message(1, file_without_text(e)) if m == 1 and t == 2 else r for m, t, e, r in fields(v))
            raw = message(8, v)
        out += raw
    return out


def strip(b):
    n, = struct.unpack_from("<I", b, 4)
    i = 8 + n
    out = b[:i]
    while i < len(b):
        n, = struct.unpack_from("<I", b, i)
        header = b[i + 4:i + 4 + n]
        i += 4 + n
        number = {f: v for f, k, v, _ in fields(header) if k == 0}
        sources, size = number.get(1, 0), number.get(5, 0)
        payload, i, j, made = b[i:i + size], i + size, 0, b""
        for _ in range(sources):
            m, = struct.unpack_from("<I", payload, j)
            body = source(payload[j + 4:j + 4 + m])
            made += struct.pack("<I", len(body)) + body
            j += 4 + m
        made += payload[j:]
        header = b"".join(put(5 << 3) + put(len(made)) if f == 5 and k == 0 else raw for f, k, _, raw in fields(header))
        out += struct.pack("<I", len(header)) + header + made
    return out


for path in sys.argv[1:]:
    plain = subprocess.run(["zstd", "-dc", path], stdout=subprocess.PIPE, check=True).stdout
    small = strip(plain)
    subprocess.run(["zstd", "-19", "-q", "-f", "-o", path + ".tmp"], input=small, check=True)
    os.replace(path + ".tmp", path)
