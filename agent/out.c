//go:build ignore

/* Texts, tables and notes as chunks. Rows gather in a buffer for each table; a buffer that is full, and all at a flush, become chunks.
 * New texts are written before any row is. While the disk takes nothing, rows wait in their buffers; a buffer that is full then is
 * dropped and counted. Texts are never dropped: what was not written yet is known by its ID. */
#define _GNU_SOURCE /* mremap */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core.h"

enum {
	TABLE_BYTES = LAC_CHUNK_MAX,
	TEXT_BYTES = 64 << 10,   /* a text is cut to this */
	TEXTS_BYTES = 64 << 20,  /* all texts together, with what is kept of each */
	ARENA = 1 << 20,
	TABLES = SPOOL_T_END - SPOOL_T_kernel,
};

static const char TOO_MANY[] = "(too many names)";

#define ROW_BYTES(number, table, fields) [number - SPOOL_T_kernel] = sizeof(spool_##table),
static const uint16_t row_bytes[TABLES] = {SPOOL_TABLES(ROW_BYTES)};

typedef struct {
	const char *bytes;
	uint32_t n, hash;
} text;

static struct {
	bool open, begun;
	uint32_t sequence;
	struct {
		unsigned char *rows;
		size_t bytes;
	} tables[TABLES];
	/* Texts: IDs count from 1; all up to written are in the file. slots is a hash table of IDs, open, of a power of two. */
	text *texts;
	uint32_t count, room, written, *slots, mask, too_many;
	char *arena;
	size_t arena_left, text_bytes, memory;
	unsigned char *plain, *chunk; /* what a chunk is made of, and in */
	atomic_ullong rows, dropped;
} o;
static char path[sizeof((lac_settings *)0)->dir + 64];
static atomic_bool have_path; /* path does not change any more, and others may read it */

static void *pages(size_t bytes)
{
	void *p = lac_pages(bytes);
	if (p)
		o.memory += bytes;
	return p;
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

static void le32(unsigned char *to, uint32_t v)
{
	to[0] = (unsigned char)v, to[1] = (unsigned char)(v >> 8), to[2] = (unsigned char)(v >> 16), to[3] = (unsigned char)(v >> 24);
}

static bool append(uint16_t type, uint32_t rows, const void *payload, size_t n)
{
	unsigned char *body = o.chunk + LAC_CHUNK_HEADER;
	uint32_t stored = (uint32_t)n;
	uint16_t flags = 0;
	if (lac_set()->pack && n > 64) {
		size_t packed = lac_pack(payload, n, body);
		if (packed < n) {
			stored = (uint32_t)packed;
			flags = SPOOL_SNAPPY;
		}
	}
	if (!flags)
		memcpy(body, payload, n);
	unsigned char *h = o.chunk;
	le32(h, SPOOL_MAGIC);
	le32(h + 4, type | (uint32_t)flags << 16);
	le32(h + 8, stored);
	le32(h + 12, (uint32_t)n);
	le32(h + 16, rows);
	le32(h + 20, o.sequence);
	le32(h + 24, lac_crc32c(body, stored));
	le32(h + 28, lac_crc32c(h, 28));
	if (!lac_file_append(o.chunk, LAC_CHUNK_HEADER + stored))
		return false;
	o.sequence++;
	return true;
}

/* The stream's beginning, which nothing may come before. */
static bool begun(void)
{
	if (!o.begun) {
		static const char schema[] = SPOOL_SCHEMA_TEXT;
		if (o.sequence == 0 && !append(SPOOL_BEGIN, 0, o.plain, lac_begin((char *)o.plain, LAC_CHUNK_MAX)))
			return false;
		o.begun = append(SPOOL_SCHEMA, 0, schema, sizeof schema - 1);
	}
	return o.begun;
}

static bool write_texts(void)
{
	while (o.written < o.count) {
		uint32_t id = o.written, rows = 0;
		size_t n = 0;
		for (; id < o.count && n + 8 + o.texts[id].n <= LAC_CHUNK_MAX; id++, rows++) {
			le32(o.plain + n, id + 1);
			le32(o.plain + n + 4, o.texts[id].n);
			memcpy(o.plain + n + 8, o.texts[id].bytes, o.texts[id].n);
			n += 8 + o.texts[id].n;
		}
		if (!append(SPOOL_TEXTS, rows, o.plain, n))
			return false;
		o.written = id;
	}
	return true;
}

static void said_recovered(void)
{
	int was = lac_file_recovered();
	if (was) {
		char why[128], fields[256];
		lac_json(why, sizeof why, strerror(was));
		snprintf(fields, sizeof fields, "\"errno\":%d,\"why\":\"%s\",\"dropped\":%llu", was, why, (unsigned long long)atomic_load(&o.dropped));
		lac_out_note("full", fields);
	}
}

static bool write_table(unsigned i)
{
	uint32_t rows = (uint32_t)(o.tables[i].bytes / row_bytes[i]);
	if (rows == 0)
		return true;
	if (!o.open || !begun() || !write_texts() || !append((uint16_t)(i + SPOOL_T_kernel), rows, o.tables[i].rows, o.tables[i].bytes))
		return false;
	o.tables[i].bytes = 0;
	said_recovered();
	return true;
}

/* --- what the others call ------------------------------------------------------------------------------------------ */

int lac_out_open(void)
{
	if (o.open && !lac_file_there()) { /* packed and removed since the last window */
		errno = ENOENT;
		return -1;
	}
	if (o.open)
		return 0;
	if (!o.plain)
		o.plain = pages(LAC_CHUNK_MAX);
	if (!o.chunk)
		o.chunk = pages(LAC_CHUNK_HEADER + LAC_PACKED_MAX(LAC_CHUNK_MAX));
	if (!o.plain || !o.chunk) {
		errno = ENOMEM;
		return -1;
	}
	if (!atomic_load(&have_path)) {
		snprintf(path, sizeof path, "%s/%ld-%llu.spool", lac_set()->dir, (long)getpid(), (unsigned long long)lac_born(NULL));
		atomic_store(&have_path, true);
	}
	if (lac_file_open(path) != 0)
		return -1;
	o.open = true;
	begun();
	return 0;
}

const char *lac_out_path(void)
{
	return atomic_load(&have_path) ? path : "";
}

void lac_out_row(uint16_t table, const void *row, uint16_t bytes)
{
	unsigned i = (unsigned)table - SPOOL_T_kernel;
	if (i >= TABLES || bytes != row_bytes[i])
		return; /* not of this schema: a fault of ours, which tests find */
	if (!o.tables[i].rows && !(o.tables[i].rows = pages(TABLE_BYTES))) {
		atomic_fetch_add(&o.dropped, 1);
		return;
	}
	if (o.tables[i].bytes + bytes > TABLE_BYTES && !write_table(i)) {
		atomic_fetch_add(&o.dropped, o.tables[i].bytes / bytes);
		o.tables[i].bytes = 0;
	}
	memcpy(o.tables[i].rows + o.tables[i].bytes, row, bytes);
	o.tables[i].bytes += bytes;
	atomic_fetch_add(&o.rows, 1);
}

void lac_out_note(const char *kind, const char *fields)
{
	if (!lac_writer_here()) {
		const lac_text texts[] = {{0, kind, SIZE_MAX}, {0, fields, SIZE_MAX}};
		lac_emit(SPOOL_NOTE, "", 0, texts, 2);
		return;
	}
	if (!o.open || !begun())
		return;
	char json[20 << 10]; /* not o.plain: texts may be on their way */
	int n = snprintf(json, sizeof json, "{\"note\":\"%s\"%s%s}", kind, *fields ? "," : "", fields);
	if (n > 0 && (size_t)n < sizeof json)
		append(SPOOL_NOTE, 0, json, (size_t)n);
}

void lac_out_flush(void)
{
	if (!o.open)
		return;
	for (unsigned i = 0; i < TABLES; i++)
		write_table(i);
}

uint64_t lac_out_bytes(void)
{
	return lac_file_bytes();
}

uint64_t lac_out_dropped(void)
{
	return atomic_load(&o.dropped);
}

uint64_t lac_out_rows(void)
{
	return atomic_load(&o.rows);
}

size_t lac_out_memory(void)
{
	return o.memory;
}

void lac_out_close(void)
{
	lac_file_retry();
	lac_out_flush();
	lac_file_close();
	o.open = false;
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

static uint32_t hash(const char *p, size_t n)
{
	uint64_t h = n * 0x9E3779B97F4A7C15u, v;
	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&v, p, 8);
		h = (h ^ v) * 0x9E3779B97F4A7C15u;
		h ^= h >> 29;
	}
	v = 0;
	memcpy(&v, p, n);
	h = (h ^ v) * 0x9E3779B97F4A7C15u;
	return (uint32_t)(h >> 32);
}

/* A larger copy of an array; the old one where there is no memory, and false. */
static bool larger(void *array, size_t from, size_t to)
{
	void **a = array;
	void *p = *a ? mremap(*a, from, to, MREMAP_MAYMOVE) : lac_pages(to);
	if (!p || p == MAP_FAILED)
		return false;
	*a = p;
	o.memory += to - (from ? from : 0);
	return true;
}

static bool room_for_text(void)
{
	if (o.count == o.room) {
		uint32_t to = o.room ? o.room * 2 : 4096;
		if (!larger(&o.texts, o.room * sizeof(text), to * sizeof(text)))
			return false;
		o.room = to;
	}
	if (o.count < o.mask / 2)
		return true;
	uint32_t slots = o.mask ? (o.mask + 1) * 2 : 8192, *fresh = pages(slots * sizeof *fresh);
	if (!fresh)
		return false;
	for (uint32_t i = 0; i < o.count; i++) {
		uint32_t s = o.texts[i].hash & (slots - 1);
		while (fresh[s])
			s = (s + 1) & (slots - 1);
		fresh[s] = i + 1;
	}
	if (o.slots) {
		munmap(o.slots, (o.mask + 1) * sizeof *o.slots);
		o.memory -= (o.mask + 1) * sizeof *o.slots;
	}
	o.slots = fresh;
	o.mask = slots - 1;
	return true;
}

/* Keeps the text's bytes. Over the bound, or without memory, there is one text for all that is new. */
static uint32_t keep(const char *bytes, size_t n, uint32_t h, bool bounded)
{
	if (bounded && o.text_bytes + n + 2 * sizeof(text) > TEXTS_BYTES) {
		if (!o.too_many) {
			o.too_many = keep(TOO_MANY, sizeof TOO_MANY - 1, hash(TOO_MANY, sizeof TOO_MANY - 1), false);
			lac_out_note("loss", "\"what\":\"names\",\"why\":\"over 64 MiB of names; new ones are recorded as (too many names)\"");
		}
		return o.too_many;
	}
	if (!room_for_text())
		return o.too_many;
	if (n > o.arena_left) {
		char *a = pages(ARENA);
		if (!a)
			return o.too_many;
		o.arena = a;
		o.arena_left = ARENA;
	}
	memcpy(o.arena, bytes, n);
	o.texts[o.count] = (text){o.arena, (uint32_t)n, h};
	o.arena += n;
	o.arena_left -= n;
	o.text_bytes += n + 2 * sizeof(text);
	uint32_t s = h & o.mask;
	while (o.slots[s])
		s = (s + 1) & o.mask;
	return o.slots[s] = ++o.count;
}

uint32_t lac_out_text(const char *bytes, size_t n)
{
	if (!bytes || n == 0)
		return 0;
	if (n == SIZE_MAX)
		n = strlen(bytes);
	if (n > TEXT_BYTES)
		n = TEXT_BYTES;
	uint32_t h = hash(bytes, n);
	if (o.slots)
		for (uint32_t s = h & o.mask; o.slots[s]; s = (s + 1) & o.mask) {
			const text *t = &o.texts[o.slots[s] - 1];
			if (t->hash == h && t->n == n && memcmp(t->bytes, bytes, n) == 0)
				return o.slots[s];
		}
	return keep(bytes, n, h, true);
}

/* The child's copies of the parent's pages stay mapped; nothing is written to them that would copy them at each fork. */
void lac_out_forked(void)
{
	lac_file_forked();
	for (unsigned i = 0; i < TABLES; i++)
		o.tables[i].bytes = 0;
	o.slots = NULL;
	o.mask = 0;
	o.open = o.begun = false;
	o.sequence = o.count = o.written = o.too_many = 0;
	o.text_bytes = 0;
	atomic_store(&o.rows, 0);
	atomic_store(&o.dropped, 0);
	atomic_store(&have_path, false);
}
