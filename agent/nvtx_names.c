//go:build ignore

/* What NVTX's users register: domains, strings, categories, threads. The names outlive windows, since a program registers
 * once and a window may open later. Reading takes no lock; writing takes one that only registration takes. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

#include "nvtx.h"

/* Bounds, so that a program that registers a string for each event does not eat its memory. */
#define BLOCK 1024u
#define BLOCKS 256u
#define MOST_BYTES (32u << 20) /* of all that is kept */
#define SLAB (256u << 10)
/* The rest is for what is few and matters: domains, categories, threads. */
#define MOST_STRINGS (BLOCK * BLOCKS / 8 * 7)
#define STRING_SLABS (MOST_BYTES / SLAB / 8 * 7)
#define MOST_TEXT (16u << 10) /* as lac_emit cuts */
#define BUCKETS 32768u        /* a power of 2 */

/* A handle is no pointer, so that one that is not ours is recognised and never followed. */
#define HANDLE_MARK 0x4C4143ull
#define HANDLE(kind, index) ((void *)(uintptr_t)(HANDLE_MARK << 40 | (uint64_t)(kind) << 32 | (index)))

static _Atomic(lac_name *) *_Atomic blocks[BLOCKS];
static atomic_uint count;           /* names in blocks */
static atomic_uint heads[BUCKETS];  /* index + 1 of the bucket's last name */
static uint32_t domains;            /* numbers given to domains; under the lock */
static char *slab;                  /* what is left of the memory that was taken last; these three under the lock */
static size_t slab_left, slabs;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		sched_yield();
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

/* lac_keep, under the lock. */
static void *keep(size_t bytes)
{
	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > SLAB)
		return NULL;
	if (bytes > slab_left) {
		void *pages = slabs < MOST_BYTES / SLAB ? mmap(NULL, SLAB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
		if (pages == MAP_FAILED)
			return NULL;
		slabs++;
		slab = pages;
		slab_left = SLAB;
	}
	slab_left -= bytes;
	return slab + slab_left;
}

void *lac_keep(size_t bytes)
{
	lock();
	void *kept = keep(bytes);
	unlock();
	return kept;
}

static lac_name *name_at(uint32_t index)
{
	_Atomic(lac_name *) *block = index < BLOCK * BLOCKS ? atomic_load_explicit(&blocks[index / BLOCK], memory_order_acquire) : NULL;
	return block ? atomic_load_explicit(&block[index % BLOCK], memory_order_acquire) : NULL;
}

/* FNV-1a, of what tells a name from others. */
static uint32_t hash_of(lac_name_kind kind, uint32_t domain, uint32_t key, const char *text, size_t bytes)
{
	uint32_t hash = 2166136261u, head[3] = {kind, domain, key};
	for (size_t i = 0; i < sizeof head; i++)
		hash = (hash ^ ((const uint8_t *)head)[i]) * 16777619u;
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash;
}

/* Finds or adds a name; under the lock. */
static lac_name *find(lac_name_kind kind, uint32_t domain, uint32_t key, const char *text, size_t bytes)
{
	uint32_t hash = hash_of(kind, domain, key, text, bytes);
	atomic_uint *head = &heads[hash % BUCKETS];
	for (uint32_t i = atomic_load_explicit(head, memory_order_relaxed); i; ) {
		lac_name *name = name_at(i - 1);
		if (name->hash == hash && name->kind == kind && name->key == key && (kind == LAC_NAME_DOMAIN || name->domain == domain) &&
		    name->bytes == bytes && !memcmp(name->text, text, bytes))
			return name;
		i = name->next;
	}
	uint32_t index = atomic_load_explicit(&count, memory_order_relaxed);
	if (index >= BLOCK * BLOCKS || (kind == LAC_NAME_STRING && (index >= MOST_STRINGS || slabs >= STRING_SLABS)))
		return NULL;
	_Atomic(lac_name *) *block = atomic_load_explicit(&blocks[index / BLOCK], memory_order_relaxed);
	if (!block && !(block = keep(BLOCK * sizeof *block)))
		return NULL;
	atomic_store_explicit(&blocks[index / BLOCK], block, memory_order_release);
	lac_name *name = keep(sizeof *name + bytes + 1);
	if (!name)
		return NULL;
	name->kind = kind;
	name->index = index;
	name->domain = kind == LAC_NAME_DOMAIN ? ++domains : domain;
	name->key = key;
	name->hash = hash;
	name->next = atomic_load_explicit(head, memory_order_relaxed);
	name->bytes = bytes;
	memcpy(name->text, text, bytes);
	atomic_store_explicit(&block[index % BLOCK], name, memory_order_release);
	/* In this order: a child of a fork that falls in between has a name that is not found, but no chain that ends in itself. */
	atomic_store_explicit(&count, index + 1, memory_order_release);
	atomic_store_explicit(head, index + 1, memory_order_release);
	return name;
}

/* Writes a name's row, once. A string has none: events carry its text. */
static void write_row(lac_name *name)
{
	if (name->kind == LAC_NAME_STRING || atomic_exchange(&name->written, true))
		return;
	bool done = true;
	const lac_name *called = name->kind == LAC_NAME_DOMAIN ? name : atomic_load(&name->called);
	lac_text text = {0, called ? called->text : "", called ? called->bytes : 0};
	if (name->kind == LAC_NAME_DOMAIN) {
		spool_domain row = {.domain = name->domain};
		text.at = LAC_AT(domain, name);
		done = lac_emit(SPOOL_T_domain, &row, sizeof row, &text, 1);
	} else if (name->kind == LAC_NAME_CATEGORY) {
		spool_category row = {.domain = name->domain, .category = name->key};
		text.at = LAC_AT(category, name);
		done = lac_emit(SPOOL_T_category, &row, sizeof row, &text, 1);
	} else {
		spool_thread row = {.tid = name->key};
		text.at = LAC_AT(thread, name);
		done = lac_emit(SPOOL_T_thread, &row, sizeof row, &text, 1);
	}
	if (!done)
		atomic_store(&name->written, false); /* the next window tries again */
}

/* After the lock was given back: a window that opened before it was taken is seen here, one that opens later sees the name. */
static void write_now(lac_name *name)
{
	if (name && atomic_load(&lac_on))
		write_row(name);
}

const lac_name *lac_name_keep(lac_name_kind kind, const char *text, size_t bytes)
{
	lock();
	lac_name *name = find(kind, 0, 0, text, bytes < MOST_TEXT ? bytes : MOST_TEXT);
	unlock();
	write_now(name);
	return name;
}

void lac_name_call(lac_name_kind kind, uint32_t domain, uint32_t key, const char *text, size_t bytes)
{
	lock();
	lac_name *string = find(LAC_NAME_STRING, 0, 0, text, bytes < MOST_TEXT ? bytes : MOST_TEXT);
	lac_name *name = string ? find(kind, domain, key, "", 0) : NULL;
	bool anew = name && atomic_exchange(&name->called, string) != string;
	if (anew)
		atomic_store(&name->written, false);
	unlock();
	if (anew)
		write_now(name);
}

void *lac_name_handle(const lac_name *name)
{
	return name ? HANDLE(name->kind, name->index + 1) : NULL;
}

const lac_name *lac_name_of(lac_name_kind kind, const void *handle)
{
	uint64_t bits = (uintptr_t)handle;
	if (bits >> 40 != HANDLE_MARK || (bits >> 32 & 0xFF) != kind || (uint32_t)bits == 0)
		return NULL;
	lac_name *name = name_at((uint32_t)bits - 1);
	return name && name->kind == kind ? name : NULL;
}

void lac_names_write(void)
{
	lock(); /* so that every name is either counted here or kept after the window began */
	uint32_t n = atomic_load_explicit(&count, memory_order_relaxed);
	unlock();
	for (uint32_t i = 0; i < n; i++)
		write_row(name_at(i));
}

/* The child has a spool of its own, and none of the threads that may have held the lock. */
void lac_names_forked(void)
{
	atomic_flag_clear(&busy);
	uint32_t n = atomic_load_explicit(&count, memory_order_relaxed);
	for (uint32_t i = 0; i < n; i++)
		atomic_store_explicit(&name_at(i)->written, false, memory_order_relaxed);
}

size_t lac_utf8(char *to, size_t size, const wchar_t *from)
{
	size_t n = 0;
	for (; *from; from++) {
		uint32_t c = (uint32_t)*from;
		if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
			c = 0xFFFD;
		unsigned bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		if (n + bytes >= size)
			break;
		static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
		for (unsigned i = bytes; i-- > 1; c >>= 6)
			to[n + i] = (char)(0x80 | (c & 0x3F));
		to[n] = (char)(lead[bytes] | c);
		n += bytes;
	}
	to[n] = 0;
	return n;
}
