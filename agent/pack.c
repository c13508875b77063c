//go:build ignore

/* Snappy's block format (github.com/google/snappy, format_description.txt) and CRC-32C (RFC 3720, polynomial 0x1EDC6F41). */
#include <string.h>
#include <sys/mman.h>

#include "core.h"

void *lac_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* --- CRC-32C, eight bytes at a time --------------------------------------------------------------------------------- */

static uint32_t table[8][256]; /* made by the writer's thread before its first use */

static void make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;
		for (int k = 0; k < 8; k++)
			c = c & 1 ? (c >> 1) ^ 0x82F63B78u : c >> 1;
		table[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int t = 1; t < 8; t++)
			table[t][i] = (table[t - 1][i] >> 8) ^ table[0][table[t - 1][i] & 255];
}

uint32_t lac_crc32c(const void *bytes, size_t n)
{
	if (!table[0][1])
		make_table();
	const uint8_t *p = bytes;
	uint32_t c = ~0u;
	for (; n >= 8; n -= 8, p += 8) {
		uint32_t a, b;
		memcpy(&a, p, 4);
		memcpy(&b, p + 4, 4);
		a ^= c;
		c = table[7][a & 255] ^ table[6][a >> 8 & 255] ^ table[5][a >> 16 & 255] ^ table[4][a >> 24] ^ table[3][b & 255] ^
		    table[2][b >> 8 & 255] ^ table[1][b >> 16 & 255] ^ table[0][b >> 24];
	}
	for (; n; n--, p++)
		c = table[0][(c ^ *p) & 255] ^ c >> 8;
	return ~c;
}

/* --- Snappy ------------------------------------------------------------------------------------------------------- */

enum { BLOCK = 1 << 16, HASH_BITS = 14 }; /* matches stay within a block, so that two bytes hold their offset */

static uint32_t load32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return v;
}

static uint8_t *literal(uint8_t *to, const uint8_t *from, size_t n)
{
	if (n == 0)
		return to;
	size_t v = n - 1;
	if (v < 60) {
		*to++ = (uint8_t)(v << 2);
	} else if (v < 256) {
		*to++ = 60 << 2;
		*to++ = (uint8_t)v;
	} else { /* a block's literal fits two bytes */
		*to++ = 61 << 2;
		*to++ = (uint8_t)v;
		*to++ = (uint8_t)(v >> 8);
	}
	memcpy(to, from, n);
	return to + n;
}

static uint8_t *copy2(uint8_t *to, size_t offset, size_t n)
{
	*to++ = (uint8_t)((n - 1) << 2 | 2);
	*to++ = (uint8_t)offset;
	*to++ = (uint8_t)(offset >> 8);
	return to;
}

static uint8_t *copy(uint8_t *to, size_t offset, size_t n)
{
	for (; n >= 68; n -= 64)
		to = copy2(to, offset, 64);
	if (n > 64) { /* leaves at least 4, which the short form can say */
		to = copy2(to, offset, 60);
		n -= 60;
	}
	if (n >= 12 || offset >= 2048)
		return copy2(to, offset, n);
	*to++ = (uint8_t)(offset >> 8 << 5 | (n - 4) << 2 | 1);
	*to++ = (uint8_t)offset;
	return to;
}

/* The writer's thread only: its table of where four bytes were seen last in the block. */
static uint16_t seen[1 << HASH_BITS];

static uint8_t *block(uint8_t *to, const uint8_t *from, size_t n)
{
	memset(seen, 0, sizeof seen);
	size_t done = 0, at = 1; /* done: up to here it is in to */
	size_t misses = 32;      /* a block that does not pack is passed over in growing strides */
	while (at + 4 <= n) {
		uint32_t v = load32(from + at);
		uint32_t h = v * 0x1E35A7BDu >> (32 - HASH_BITS);
		size_t was = seen[h];
		seen[h] = (uint16_t)at;
		if (was >= at || load32(from + was) != v) {
			at += misses++ >> 5;
			continue;
		}
		misses = 32;
		size_t len = 4;
		while (at + len < n && from[was + len] == from[at + len])
			len++;
		to = literal(to, from + done, at - done);
		to = copy(to, at - was, len);
		done = at += len;
		if (at + 4 <= n) /* rows repeat: what stands before the next position is worth finding */
			seen[load32(from + at - 1) * 0x1E35A7BDu >> (32 - HASH_BITS)] = (uint16_t)(at - 1);
	}
	return literal(to, from + done, n - done);
}

size_t lac_pack(const void *from, size_t n, void *to)
{
	uint8_t *w = to;
	size_t v = n;
	for (; v >= 128; v >>= 7)
		*w++ = (uint8_t)(v | 128);
	*w++ = (uint8_t)v;
	const uint8_t *p = from;
	for (size_t i = 0; i < n; i += BLOCK)
		w = block(w, p + i, n - i < BLOCK ? n - i : BLOCK);
	return (size_t)(w - (uint8_t *)to);
}
