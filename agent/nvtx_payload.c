//go:build ignore

/* NVTX's extended payloads: binary data with a schema that the program registered, such as the sizes and communicators of
 * NCCL's ranges. What is flat (numbers, enums, texts that lie in the data or are registered, small arrays of fixed length)
 * becomes JSON; what is not (pointers, unions, nested schemas, lengths that other entries give) is left out. No pointer in
 * the data is followed, and nothing is read past the size that the program states. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "nvtx.h"

/* nvToolsExtPayload.h's layouts and numbers (the same in compatibility versions 0x0101 to 0x0104). */
typedef struct {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t detail; /* of arrays and texts: the length */
	uint64_t offset;
	const void *semantics, *reserved;
} schema_entry;

typedef struct {
	uint64_t mask;
	const char *name;
	uint64_t type, flags;
	const schema_entry *entries;
	size_t n, static_size, pack;
	uint64_t id;
	void *extension;
} schema_attributes;

typedef struct {
	const char *name;
	uint64_t value;
	int8_t flag;
} enum_entry;

typedef struct {
	uint64_t mask;
	const char *name;
	const enum_entry *entries;
	size_t n, size;
	uint64_t id;
	void *extension;
} enum_attributes;

enum { /* of mask */
	SCHEMA_TYPE = 1 << 2, SCHEMA_ENTRIES = 1 << 4, SCHEMA_N = 1 << 5, SCHEMA_PACK = 1 << 7, SCHEMA_ID = 1 << 8,
	ENUM_ENTRIES = 1 << 2, ENUM_N = 1 << 3, ENUM_SIZE = 1 << 4, ENUM_ID = 1 << 5,
};
enum { TYPE_STATIC = 1, TYPE_DYNAMIC = 2 }; /* of schemas */
enum { FLAG_POINTERS = 7 << 1, ARRAY = 7 << 4, ARRAY_FIXED = 1 << 4, FLAG_KIND = 3 << 10, FLAG_MESSAGE = 1 << 10 };
enum { CHAR = 1, CHAR32 = 27, BYTE = 32, CSTRING = 75, CSTRING_UTF8 = 76, STRING_HANDLE = 80 };
#define STATIC_FIRST ((uint64_t)1 << 24)
#define DYNAMIC_FIRST ((uint64_t)1 << 32)

/* Bounds of what is kept and shown. */
enum { MOST_SCHEMAS = 4096, MOST_ENTRIES = 256, MOST_NAME = 256, MOST_PAYLOADS = 16, MOST_ELEMENTS = 64, MOST_STRING = 1024, BUCKETS = 256 };

/* How a value of a predefined type is shown, and its bytes. */
typedef struct {
	char as; /* i, u, f (floating point), c (a character), p (an address); 0: not shown */
	uint8_t size;
} shape;

static shape shape_of(uint64_t type)
{
	static const shape known[] = {
		{0, 0}, {'c', 1}, {'u', 1}, {'i', 2}, {'u', 2}, {'i', 4}, {'u', 4}, {'i', sizeof(long)}, {'u', sizeof(long)}, {'i', 8}, {'u', 8}, /* C's integers */
		{'i', 1}, {'u', 1}, {'i', 2}, {'u', 2}, {'i', 4}, {'u', 4}, {'i', 8}, {'u', 8},                                                 /* with their size */
		{'f', 4}, {'f', 8}, {0, sizeof(long double)}, {'u', sizeof(size_t)}, {'p', sizeof(void *)}, {0, sizeof(wchar_t)}, {'c', 1}, {0, 2}, {0, 4}};
	if (type <= CHAR32)
		return known[type];
	switch (type) {
	case BYTE: return (shape){'u', 1};
	case 33: case 34: case 45: return (shape){0, 16};
	case 42: case 50: return (shape){0, 2};
	case 43: return (shape){'f', 4};
	case 44: return (shape){'f', 8};
	case 52: return (shape){0, 4};
	case 68: case 69: case 71: case 73: return (shape){'u', 4}; /* category, colour, pid, tid */
	case 70: case 72: case 74: return (shape){'u', 8};          /* scope, pid, tid */
	case STRING_HANDLE: return (shape){'h', sizeof(void *)};
	}
	return (shape){0, 0};
}

/* --- what is registered ------------------------------------------------------------------------------------------------ */

typedef struct {
	uint64_t type, offset, flags, length; /* length: of a text or array; offset where the entry lies */
	uint32_t size;                        /* of one element; 0: unknown */
	char *name;
} field;

typedef struct {
	uint64_t value;
	char *name;
} label;

/* A schema or an enum. Never freed, never changed; one that is registered again with the same ID goes before the other. */
typedef struct schema {
	struct schema *next;
	uint64_t id;
	uint32_t domain;
	uint32_t n;
	uint32_t enum_size; /* not 0: an enum of so many bytes */
	union {
		field *fields;
		label *labels;
	};
} schema;

static _Atomic(schema *) buckets[BUCKETS];
static atomic_uint kept;
static atomic_ullong dynamic_ids;
static atomic_flag busy = ATOMIC_FLAG_INIT; /* taken by registration only */

/* IDs of the program's choice count within its domain, ours everywhere. */
static uint32_t scope_of(uint64_t id, uint32_t domain)
{
	return id < DYNAMIC_FIRST ? domain : 0;
}

static unsigned bucket_of(uint64_t id, uint32_t domain)
{
	return (unsigned)((id * 0x9E3779B97F4A7C15ull + domain * 0x85EBCA6Bu) >> 40) % BUCKETS;
}

static const schema *schema_of(uint64_t id, uint32_t domain)
{
	domain = scope_of(id, domain);
	const schema *s = id < STATIC_FIRST ? NULL : atomic_load_explicit(&buckets[bucket_of(id, domain)], memory_order_acquire);
	while (s && (s->id != id || s->domain != domain))
		s = s->next;
	return s;
}

/* Makes it known; the ID that the program gets, 0: there are too many. */
static uint64_t publish(schema *s, bool own_id, uint64_t id, uint32_t domain)
{
	s->id = own_id && id >= STATIC_FIRST && id < DYNAMIC_FIRST ? id : DYNAMIC_FIRST + atomic_fetch_add(&dynamic_ids, 1);
	s->domain = scope_of(s->id, domain);
	_Atomic(schema *) *bucket = &buckets[bucket_of(s->id, s->domain)];
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		sched_yield();
	s->next = atomic_load_explicit(bucket, memory_order_relaxed);
	atomic_store_explicit(bucket, s, memory_order_release);
	atomic_flag_clear_explicit(&busy, memory_order_release);
	return s->id;
}

/* Room for one more, with n things of a size after it; NULL: none. */
static schema *make(size_t n, size_t size)
{
	schema *s = n <= MOST_ENTRIES && atomic_fetch_add(&kept, 1) < MOST_SCHEMAS ? lac_keep(sizeof *s + n * size) : NULL;
	if (s) {
		s->n = (uint32_t)n;
		s->fields = (field *)(s + 1);
	}
	return s;
}

static char *copy(const char *name)
{
	size_t n = name ? strnlen(name, MOST_NAME) : 0;
	char *to = n ? lac_keep(n + 1) : NULL;
	return to ? memcpy(to, name, n) : NULL; /* what is kept is zero: it ends */
}

/* Where an entry lies that does not say so: after the one before, as a C compiler would put it. */
static void place(field *f, const schema_entry *e, const schema_attributes *a, uint64_t *end, uint32_t domain, bool first)
{
	const schema *nested = schema_of(e->type, domain);
	bool text = e->type == CSTRING || e->type == CSTRING_UTF8;
	f->size = e->flags & FLAG_POINTERS ? sizeof(void *) : text ? (e->detail ? 1 : sizeof(void *)) : nested ? nested->enum_size : shape_of(e->type).size;
	uint64_t align = text && e->detail ? 1 : f->size ? f->size : 1;
	if (a->mask & SCHEMA_PACK && a->pack && align > a->pack)
		align = a->pack;
	f->offset = e->offset || first ? e->offset : (*end + align - 1) / align * align;
	f->length = e->flags & ARRAY || text ? e->detail : 1;
	if (__builtin_mul_overflow(f->length ? f->length : 1, (uint64_t)f->size, end) || __builtin_add_overflow(*end, f->offset, end))
		*end = UINT64_MAX / 2; /* past everything */
}

uint64_t lac_schema_register(void *handle, const void *attributes)
{
	const schema_attributes *a = attributes;
	uint32_t domain;
	const uint64_t must = SCHEMA_ENTRIES | SCHEMA_N;
	if (!a || (a->mask & must) != must || !a->entries || !a->n || !lac_domain_of(handle, &domain))
		return 0;
	/* Of other types (unions) nothing is shown, but they have an ID. */
	bool flat = !(a->mask & SCHEMA_TYPE) || a->type == TYPE_STATIC || a->type == TYPE_DYNAMIC;
	schema *s = make(flat ? a->n : 0, sizeof *s->fields);
	if (!s)
		return 0;
	uint64_t end = 0;
	bool known = true; /* where entries lie */
	for (uint32_t i = 0; i < s->n; i++) {
		const schema_entry *e = &a->entries[i];
		field *f = &s->fields[i];
		f->type = e->type;
		f->flags = e->flags;
		f->name = copy(e->name);
		place(f, e, a, &end, domain, i == 0);
		known = (known || e->offset) && f->size;
		if (!f->size || (!known && !e->offset) || (e->flags & ARRAY && (e->flags & ARRAY) != ARRAY_FIXED))
			f->type = 0; /* not shown */
	}
	return publish(s, a->mask & SCHEMA_ID, a->id, domain);
}

uint64_t lac_enum_register(void *handle, const void *attributes)
{
	const enum_attributes *a = attributes;
	uint32_t domain;
	const uint64_t must = ENUM_ENTRIES | ENUM_N;
	if (!a || (a->mask & must) != must || !a->entries || !lac_domain_of(handle, &domain))
		return 0;
	schema *s = make(a->n, sizeof *s->labels);
	if (!s)
		return 0;
	s->enum_size = a->mask & ENUM_SIZE && a->size && a->size <= 8 ? (uint32_t)a->size : sizeof(int);
	for (uint32_t i = 0; i < s->n; i++)
		s->labels[i] = (label){a->entries[i].value, copy(a->entries[i].name)};
	return publish(s, a->mask & ENUM_ID, a->id, domain);
}

void lac_schemas_forked(void)
{
	atomic_flag_clear(&busy);
}

/* --- JSON -------------------------------------------------------------------------------------------------------------------- */

/* What was written stays an object at any time: a member that does not fit is taken back. */
typedef struct {
	char *to;
	size_t size, n; /* n: bytes so far, without what closes it */
	bool full;
} writer;

static void put(writer *w, const char *text, size_t bytes)
{
	if (w->full || w->n + bytes + 2 > w->size) { /* 2: } and 0 */
		w->full = true;
		return;
	}
	memcpy(w->to + w->n, text, bytes);
	w->n += bytes;
}

/* A text in quotes. */
static void put_text(writer *w, const char *text)
{
	char quoted[6 * MOST_STRING + 1];
	size_t n = lac_json(quoted, sizeof quoted, text);
	put(w, "\"", 1);
	put(w, quoted, n < sizeof quoted ? n : sizeof quoted - 1);
	put(w, "\"", 1);
}

static uint64_t bits_of(const uint8_t *at, unsigned size)
{
	uint64_t bits = 0; /* both machines that we run on are little endian */
	memcpy(&bits, at, size < sizeof bits ? size : sizeof bits);
	return bits;
}

static void put_float(writer *w, const uint8_t *at, unsigned size)
{
	double value;
	float narrow;
	if (size == 4) {
		memcpy(&narrow, at, 4);
		value = (double)narrow;
	} else {
		memcpy(&value, at, 8);
	}
	char text[40] = "null";
	if (value - value == 0) { /* neither infinite nor no number, which JSON lacks */
		snprintf(text, sizeof text, "%.*g", size == 4 ? 9 : 17, value);
		for (char *c = text; *c; c++)
			if (*c == ',')
				*c = '.'; /* the program's locale */
	}
	put(w, text, strlen(text));
}

static void put_value(writer *w, uint64_t type, const uint8_t *at, const schema *labels)
{
	shape s = labels ? (shape){'u', (uint8_t)labels->enum_size} : shape_of(type);
	uint64_t bits = bits_of(at, s.size);
	char text[40];
	int n = 0;
	for (uint32_t i = 0; labels && i < labels->n; i++) {
		uint64_t mask = s.size < 8 ? ((uint64_t)1 << (s.size * 8)) - 1 : UINT64_MAX;
		if ((labels->labels[i].value & mask) == bits && labels->labels[i].name) {
			put_text(w, labels->labels[i].name);
			return;
		}
	}
	switch (s.as) {
	case 'f':
		put_float(w, at, s.size);
		return;
	case 'h': {
		const lac_name *name = lac_name_of(LAC_NAME_STRING, (void *)(uintptr_t)bits);
		put_text(w, name ? name->text : "");
		return;
	}
	case 'c':
		text[0] = (char)bits;
		text[1] = 0;
		put_text(w, text);
		return;
	case 'p':
		n = snprintf(text, sizeof text, "\"0x%" PRIx64 "\"", bits);
		break;
	case 'i': {
		unsigned unused = 64 - 8u * s.size;
		n = snprintf(text, sizeof text, "%" PRId64, (int64_t)(bits << unused) >> unused);
		break;
	}
	default:
		n = snprintf(text, sizeof text, "%" PRIu64, bits);
	}
	put(w, text, (size_t)n);
}

/* A text of at most so many bytes, which may end earlier with 0. */
static void bounded(char *to, const uint8_t *from, uint64_t most)
{
	size_t n = strnlen((const char *)from, most < MOST_STRING - 1 ? (size_t)most : MOST_STRING - 1);
	memcpy(to, from, n);
	to[n] = 0;
}

static void put_name(writer *w, const char *name, uint32_t i)
{
	char number[24];
	if (!name) {
		snprintf(number, sizeof number, "%" PRIu32, i);
		name = number;
	}
	put(w, w->n > 1 ? "," : "", w->n > 1 ? 1 : 0);
	put_text(w, name);
	put(w, ":", 1);
}

/* One member, or nothing. */
static void put_field(writer *w, const field *f, uint32_t i, uint32_t domain, const lac_payload *p, char *name, size_t name_size)
{
	bool text = f->type == CSTRING || f->type == CSTRING_UTF8, array = f->flags & ARRAY && !text;
	const schema *labels = schema_of(f->type, domain);
	uint64_t n = array || text ? f->length : 1;
	if (f->type == 0 || f->flags & FLAG_POINTERS || (text && !n) || (labels && !labels->enum_size) || (!labels && !text && !shape_of(f->type).as))
		return;
	if (n > SIZE_MAX / 16 || f->offset > p->size || n * f->size > p->size - f->offset)
		return; /* past what the program gave */
	const uint8_t *at = (const uint8_t *)p->data + f->offset;
	char string[MOST_STRING];
	if (text || (array && f->type == CHAR)) {
		bounded(string, at, n);
	} else if (f->type == STRING_HANDLE) {
		const lac_name *kept = lac_name_of(LAC_NAME_STRING, (void *)(uintptr_t)bits_of(at, f->size));
		snprintf(string, sizeof string, "%s", kept ? kept->text : "");
	} else {
		*string = 0;
	}
	if ((f->flags & FLAG_KIND) == FLAG_MESSAGE && *string) {
		snprintf(name, name_size, "%s", string);
		return;
	}
	put_name(w, f->name, i);
	if (text || (array && f->type == CHAR)) {
		put_text(w, string);
		return;
	}
	put(w, "[", array);
	for (uint64_t j = 0; j < n && j < MOST_ELEMENTS; j++) {
		put(w, ",", j > 0);
		put_value(w, f->type, at + j * f->size, labels);
	}
	put(w, "]", array);
}

static void put_payload(writer *w, const lac_payload *p, uint32_t i, uint32_t domain, char *name, size_t name_size)
{
	const schema *s = schema_of(p->schema, domain);
	if (s && !s->enum_size) {
		for (uint32_t j = 0; j < s->n && p->size != SIZE_MAX; j++) {
			size_t before = w->n;
			put_field(w, &s->fields[j], j, domain, p, name, name_size);
			if (w->full)
				w->n = before;
		}
		return;
	}
	/* A single value of a predefined type or an enum. A text may leave its size open. */
	field f = {.type = p->schema, .size = s ? s->enum_size : shape_of(p->schema).size};
	size_t before = w->n;
	if (p->schema == CSTRING || p->schema == CSTRING_UTF8) {
		char string[MOST_STRING];
		bounded(string, p->data, p->size);
		put_name(w, NULL, i);
		put_text(w, string);
	} else if (p->size != SIZE_MAX && f.size && p->size == f.size) {
		put_field(w, &f, i, domain, p, name, name_size);
	}
	if (w->full)
		w->n = before;
}

void lac_payload_json(uint32_t domain, const lac_payload *all, size_t n, char *to, size_t size, char *name, size_t name_size)
{
	writer w = {.to = to, .size = size};
	*name = 0;
	put(&w, "{", 1);
	for (uint32_t i = 0; i < n && i < MOST_PAYLOADS && !w.full; i++)
		if (all[i].data)
			put_payload(&w, &all[i], i, domain, name, name_size);
	if (w.n > 1)
		to[w.n++] = '}';
	to[w.n > 1 ? w.n : 0] = 0;
}
