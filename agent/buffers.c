//go:build ignore

/* The buffers that CUPTI fills: lent to it, filled and waiting for the writer, or free. CUPTI asks for and returns them in callbacks on
 * the program's threads and its own. The list is guarded by a spin that is held for a walk over some hundred entries, once a
 * buffer, and never around a call of CUPTI or of the allocator. Each buffer is its own allocation: should another client take over
 * CUPTI's callbacks, it can free what it gets. A buffer that CUPTI has is never freed. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cupti.h"

/* NVIDIA advises 1 to 10 MB; since 13.0 each thread has its own, so that it is 1 MiB, and less once half of what is allowed is used. */
enum { FULL_SIZE = 1 << 20, SMALL_SIZE = 1 << 17, MOST = 8192, A_KERNEL = 208 /* bytes of a kernel's record, about */ };

typedef enum { NONE, FREE, LENT, FILLED, READ } state;

struct lac_buffer {
	uint8_t *data;
	size_t size, valid;
	uint64_t order; /* of filling */
	state state;
	bool dirty;     /* was filled since it was all zero */
};

static lac_buffer all[MOST];
static unsigned used;           /* entries of all that were ever in use */
static size_t bytes, limit = 256u << 20;
static bool may_refuse, zeroed; /* zeroed: what CUPTI gets is all zero */
static uint64_t filled;         /* buffers filled so far */
static uint64_t seen_bytes, seen_records; /* of what was read: the mean size of a record */
static uint64_t lost_bytes;     /* of records in buffers that were given up unread */
static atomic_uint foreign;
static atomic_bool pressed;     /* most of the memory is lent: what is half full is wanted back */
static atomic_flag spin = ATOMIC_FLAG_INIT;

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&spin, memory_order_acquire))
		sched_yield();
}

static void unlock(void) { atomic_flag_clear_explicit(&spin, memory_order_release); }

void lac_buffers_limit(size_t most, bool refuse)
{
	lock();
	limit = most > 4 * FULL_SIZE ? most : 4 * FULL_SIZE;
	may_refuse = refuse;
	unlock();
}

void lac_buffers_zeroed(bool on)
{
	lock();
	zeroed = on;
	unlock();
}

/* Of a buffer that nobody else uses now. */
static void clear(lac_buffer *b)
{
	if (zeroed && b->dirty)
		memset(b->data, 0, b->size);
	b->dirty = b->dirty && !zeroed;
}

/* Under the spin. The entry of that state with the lowest order. */
static lac_buffer *oldest(state s)
{
	lac_buffer *best = NULL;
	for (unsigned i = 0; i < used; i++)
		if (all[i].state == s && (best == NULL || all[i].order < best->order))
			best = &all[i];
	return best;
}

/* Under the spin. Room for a new buffer's entry, NULL when there is none. */
static lac_buffer *entry(void)
{
	for (unsigned i = 0; i < used; i++)
		if (all[i].state == NONE)
			return &all[i];
	return used < MOST ? &all[used++] : NULL;
}

/* Under the spin. Of a buffer that is given up unread, its records are counted by the mean size of all that were read: an estimate,
 * because walking it would be a call of CUPTI from its own callback. The mean is that of the whole recording, so far: what is read before
 * the first loss may be small records only. */
static void lose(lac_buffer *b)
{
	lost_bytes += b->valid;
	b->valid = 0;
}

static void count_lost(void)
{
	const uint64_t mean = seen_records > 0 ? seen_bytes / seen_records : A_KERNEL;
	atomic_store_explicit(&lac_accounts.dropped, lost_bytes / (mean > 0 ? mean : 1), memory_order_relaxed);
}

void lac_buffers_prepare(void)
{
	enum { READY = 4 };
	for (;;) {
		unsigned ready = 0;
		lock();
		for (unsigned i = 0; i < used; i++)
			ready += all[i].state == FREE;
		lac_buffer *b = ready < READY && bytes + FULL_SIZE <= limit / 4 ? entry() : NULL;
		if (b == NULL) {
			unlock();
			return;
		}
		b->state = READ; /* nobody's, while it is allocated */
		bytes += FULL_SIZE;
		unlock();
		uint8_t *data = malloc(FULL_SIZE);
		if (data != NULL)
			memset(data, 0, FULL_SIZE);
		lock();
		b->data = data;
		b->dirty = false;
		b->size = data != NULL ? FULL_SIZE : 0;
		b->state = data != NULL ? FREE : NONE;
		if (data == NULL)
			bytes -= FULL_SIZE;
		unlock();
		if (data == NULL)
			return;
	}
}

void lac_buffer_requested(uint8_t **buffer, size_t *size, size_t *records)
{
	*buffer = NULL;
	*size = 0;
	*records = 0; /* as many as fit */
	lock();
	lac_buffer *b = oldest(FREE);
	if (b == NULL && bytes + SMALL_SIZE > limit && (b = oldest(FILLED)) != NULL) {
		lose(b); /* the writer cannot keep up: the oldest of what waits goes */
		count_lost();
	}
	if (b == NULL && (bytes + SMALL_SIZE <= limit || !may_refuse) && (b = entry()) != NULL) {
		const size_t want = bytes < limit / 2 ? FULL_SIZE : SMALL_SIZE;
		b->state = READ; /* nobody's, while it is allocated */
		bytes += want;
		unlock();
		uint8_t *data = calloc(1, want); /* 16-aligned */
		lock();
		b->data = data;
		b->size = want;
		b->dirty = false;
		if (data == NULL) {
			b->state = NONE;
			bytes -= want;
			b = NULL;
		}
	}
	if (b != NULL) {
		b->state = LENT;
		*buffer = b->data;
		*size = b->size;
	}
	const bool press = bytes > limit / 4 * 3 && oldest(FREE) == NULL;
	unlock();
	if (b != NULL)
		clear(b); /* it is lent to us: nobody else looks at it */
	if (press && !atomic_exchange_explicit(&pressed, true, memory_order_relaxed))
		lac_writer_wake();
}

void lac_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context; /* NULL since CUDA 6 */
	(void)stream;
	bool ours = false;
	lock();
	for (unsigned i = 0; i < used && !ours; i++) {
		lac_buffer *b = &all[i];
		if (b->data != buffer || b->state != LENT)
			continue;
		ours = true;
		b->valid = valid <= b->size ? valid : b->size;
		b->order = ++filled;
		b->dirty |= valid > 0;
		b->state = valid > 0 ? FILLED : FREE;
	}
	unlock();
	if (ours && valid > 0)
		lac_writer_wake();
	else if (!ours && buffer != NULL && size > 0)
		atomic_fetch_add_explicit(&foreign, 1, memory_order_relaxed);
}

void lac_buffer_requested2(uint8_t **buffer, size_t *size, size_t *records, void *info)
{
	(void)info;
	lac_buffer_requested(buffer, size, records);
}

void lac_buffer_completed2(uint8_t *buffer, size_t size, size_t valid, void *info)
{
	(void)info;
	lac_buffer_completed(NULL, 0, buffer, size, valid);
}

lac_buffer *lac_buffers_take(uint8_t **data, size_t *valid)
{
	lock();
	lac_buffer *b = oldest(FILLED);
	if (b != NULL) {
		b->state = READ;
		*data = b->data;
		*valid = b->valid;
	}
	unlock();
	return b;
}

void lac_buffers_give(lac_buffer *b, size_t valid, uint64_t records)
{
	clear(b);
	lock();
	seen_bytes += valid;
	seen_records += records;
	count_lost();
	b->state = FREE;
	unlock();
}

void lac_buffers_trim(void)
{
	for (;;) {
		lock();
		lac_buffer *b = oldest(FREE);
		uint8_t *data = NULL;
		if (b != NULL) {
			data = b->data;
			bytes -= b->size;
			*b = (lac_buffer){0};
		}
		unlock();
		if (b == NULL)
			return;
		free(data);
	}
}

void lac_buffers_discard(void)
{
	lock();
	for (lac_buffer *b; (b = oldest(FILLED)) != NULL; b->state = FREE)
		lose(b);
	count_lost();
	unlock();
}

size_t lac_buffers_bytes(void)
{
	lock();
	const size_t n = bytes;
	unlock();
	return n;
}

bool lac_buffers_pressed(void) { return atomic_exchange_explicit(&pressed, false, memory_order_relaxed); }

unsigned lac_buffers_foreign(void) { return atomic_load_explicit(&foreign, memory_order_relaxed); }

void lac_buffers_forked(void)
{
	/* Another thread of the parent may have held the spin. The buffers stay as they are: nothing of CUPTI runs here. */
	atomic_flag_clear(&spin);
}
