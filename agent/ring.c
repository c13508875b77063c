//go:build ignore

/* From any thread of the program to the writer, without a lock: the program's side. The writer's is drain.c.
 *
 * Each thread has a lane, found by a key of pthreads (no thread-local variable: those of a library that comes late may not fit,
 * and their first use may abort). A lane has a chain of rings, mostly one. The thread writes at the chain's end, the writer
 * reads at its beginning; a ring that is full, or that fills again and again between two flushes, is followed by one four times
 * as large, and is freed once it was read. A first ring is 32 KiB: some 300 NVTX events, and 4,000 threads together take
 * half of the default memory. Growth may take a quarter of the setting memory, first rings a half, so that a few busy threads do
 * not leave the others without; CUPTI's buffers have the other half.
 *
 * When a thread ends, its lane is marked; the writer reads the rest, frees the rings, and gives the lane to a later thread. The
 * counts of a lane are never reset, so that their sum over all lanes is the account. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring.h"

enum {
	FIRST_RING = 32 << 10,
	LAST_RING = 2 << 20,  /* a ring grows no larger, but for one row that needs it */
	GROW_WAKES = 8,       /* so often half full in one flush: larger, so that the writer sleeps */
	TEXTS_MAX = 8,
	SLAB = 64,            /* lanes that are made at a time */
	SLABS = 1024,
};

static LAC_HOT_DATA pthread_key_t key;
static LAC_HOT_DATA bool have_key;
static _Atomic(lane *) slabs[SLABS];
atomic_uint lac_lanes;
static atomic_ullong free_lanes;    /* the first free one: count << 32 | index + 1; the count keeps a swap from taking an old one */
static atomic_ullong lost;          /* dropped for want of a lane, or in a signal's handler that came in the middle of a row */
static atomic_size_t memory;

/* --- lanes -------------------------------------------------------------------------------------------------------- */

lane *lac_lane(unsigned i)
{
	lane *slab = i / SLAB < SLABS ? atomic_load_explicit(&slabs[i / SLAB], memory_order_acquire) : NULL;
	return slab ? slab + i % SLAB : NULL;
}

static lane *take_free(void)
{
	unsigned long long top = atomic_load(&free_lanes);
	for (;;) {
		unsigned index = (unsigned)top;
		if (index == 0)
			return NULL;
		lane *l = lac_lane(index - 1);
		unsigned long long next = ((top >> 32) + 1) << 32 | atomic_load(&l->next_free);
		if (atomic_compare_exchange_weak(&free_lanes, &top, next))
			return l;
	}
}

void lac_lane_free(lane *l, unsigned i)
{
	atomic_store_explicit(&l->state, FREE, memory_order_release);
	unsigned long long top = atomic_load(&free_lanes);
	do
		atomic_store(&l->next_free, (unsigned)top);
	while (!atomic_compare_exchange_weak(&free_lanes, &top, ((top >> 32) + 1) << 32 | (i + 1)));
}

static lane *make_lane(void)
{
	unsigned i = atomic_load(&lac_lanes);
	do
		if (i >= SLAB * SLABS)
			return NULL;
	while (!atomic_compare_exchange_weak(&lac_lanes, &i, i + 1));
	if (!lac_lane(i)) {
		lane *none = NULL, *slab = lac_pages(SLAB * sizeof(lane));
		if (!slab)
			return NULL; /* the lane i is never used: none of its slab is */
		if (!atomic_compare_exchange_strong(&slabs[i / SLAB], &none, slab))
			munmap(slab, SLAB * sizeof(lane)); /* another thread was first */
	}
	return lac_lane(i);
}

static __attribute__((noinline, cold)) lane *begin_lane(void)
{
	if (!have_key)
		return NULL;
	lac_first_event();
	lane *l = take_free();
	if (!l)
		l = make_lane();
	if (!l)
		return NULL;
	l->self.tid = (uint32_t)syscall(SYS_gettid);
	l->self.pthread = (uint32_t)(uintptr_t)pthread_self();
	l->self.outer = l->self.outer_domain = l->self.context = l->self.calls = 0;
	l->direct = false;
	l->busy = 0;
	l->write = NULL;
	atomic_store_explicit(&l->state, LIVE, memory_order_release);
	if (pthread_setspecific(key, l) != 0) { /* no memory: the next event tries again, with this lane if the writer came by */
		atomic_store_explicit(&l->state, DEAD, memory_order_release);
		return NULL;
	}
	return l;
}

static inline lane *my_lane(void)
{
	lane *l = have_key ? pthread_getspecific(key) : NULL;
	return l ? l : begin_lane();
}

LAC_HOT lac_self *lac_me(void)
{
	lane *l = my_lane();
	return l ? &l->self : NULL;
}

uint32_t lac_tid(void)
{
	lane *l = have_key ? pthread_getspecific(key) : NULL;
	return l ? l->self.tid : (uint32_t)syscall(SYS_gettid);
}

static void thread_ends(void *l)
{
	atomic_store_explicit(&((lane *)l)->state, DEAD, memory_order_release);
}

int lac_rings_ready(void)
{
	if (!have_key)
		have_key = pthread_key_create(&key, thread_ends) == 0;
	return have_key ? 0 : -1;
}

void lac_rings_direct(void)
{
	lane *l = my_lane();
	if (l)
		l->direct = true;
}

/* --- the program's side ------------------------------------------------------------------------------------------- */

/* A ring of at least size bytes, if the memory may be had; share: how much of the setting all rings may take. */
static ring *make_ring(size_t size, size_t share)
{
	size_t now = atomic_fetch_add(&memory, size) + size;
	if (now > share) {
		atomic_fetch_sub(&memory, size);
		return NULL;
	}
	ring *r = lac_pages(size);
	if (!r) {
		atomic_fetch_sub(&memory, size);
		return NULL;
	}
	r->bytes = size;
	r->size = size - sizeof(ring);
	return r;
}

void lac_ring_free(ring *r)
{
	size_t bytes = r->bytes;
	munmap(r, bytes);
	atomic_fetch_sub(&memory, bytes);
}

static __attribute__((noinline, cold)) ring *grow(lane *l, size_t need)
{
	ring *old = l->write;
	size_t size = old ? old->bytes : FIRST_RING / 4;
	do
		size *= 4;
	while (size / 4 < need);
	if (old && size > LAST_RING && need <= LAST_RING / 4)
		size = LAST_RING;
	ring *r = make_ring(size, lac_set()->memory / (old ? 4 : 2));
	if (!r)
		return NULL;
	l->write = r;
	atomic_store_explicit(old ? &old->next : &l->read, r, memory_order_release);
	return r;
}

static bool fits(ring *r, size_t need)
{
	size_t left = r->size - r->at;
	size_t take = need > left ? left + need : need;
	size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	if (head - r->tail_seen + take <= r->size)
		return true;
	r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
	return head - r->tail_seen + take <= r->size;
}

/* A place for need bytes in a row, and in *skipped what had to be passed over before it. */
static LAC_HOT unsigned char *reserve(lane *l, size_t need, size_t *skipped)
{
	ring *r = l->write;
	if (!r || !fits(r, need)) {
		r = grow(l, need);
		if (!r) {
			lac_writer_wake(); /* its last wake may have been missed; what it reads makes room */
			return NULL;
		}
	}
	*skipped = 0;
	if (need > r->size - r->at) {
		*skipped = r->size - r->at;
		row_head skip = {.bytes = (uint32_t)*skipped};
		if (*skipped)
			memcpy(r->data + r->at, &skip, sizeof skip);
		r->at = 0;
	}
	return r->data + r->at;
}

static LAC_HOT void publish(lane *l, size_t bytes, size_t skipped)
{
	ring *r = l->write;
	size_t head = atomic_load_explicit(&r->head, memory_order_relaxed) + skipped + bytes;
	r->at += bytes;
	atomic_store_explicit(&r->head, head, memory_order_release);
	if (head - r->woken < r->size / 2)
		return;
	r->tail_seen = r->woken = atomic_load_explicit(&r->tail, memory_order_acquire);
	if (head - r->woken < r->size / 2)
		return;
	r->woken = head;
	lac_writer_wake();
	if (atomic_fetch_add_explicit(&l->wakes, 1, memory_order_relaxed) >= GROW_WAKES && r->bytes < LAST_RING)
		grow(l, r->size / 4);
}

static inline __attribute__((always_inline)) bool hand_over(lane *l, uint16_t table, const void *row, uint16_t bytes, const lac_text *texts, unsigned n)
{
	uint16_t lengths[TEXTS_MAX];
	size_t need = sizeof(row_head) + bytes, skipped;
	for (unsigned i = 0; i < n; i++) {
		size_t b = texts[i].text ? texts[i].bytes : 0;
		if (b == SIZE_MAX)
			b = strnlen(texts[i].text, TEXT_MAX);
		lengths[i] = b == LAC_STATIC ? POINTER : (uint16_t)(b < TEXT_MAX ? b : TEXT_MAX);
		need += sizeof(text_head) + (lengths[i] == POINTER ? sizeof texts[i].text : lengths[i]);
	}
	need = (need + 7) & ~(size_t)7;
	unsigned char *to = reserve(l, need, &skipped);
	if (!to)
		return false;
	row_head head = {.bytes = (uint32_t)need, .texts = (uint8_t)n, .table = table, .row = bytes};
	memcpy(to, &head, sizeof head);
	memcpy(to + sizeof head, row, bytes);
	to += sizeof head + bytes;
	for (unsigned i = 0; i < n; i++) {
		text_head t = {texts[i].at, lengths[i]};
		memcpy(to, &t, sizeof t);
		to += sizeof t;
		size_t b = lengths[i] == POINTER ? sizeof texts[i].text : lengths[i];
		memcpy(to, lengths[i] == POINTER ? (const char *)&texts[i].text : texts[i].text ? texts[i].text : "", b);
		to += b;
	}
	publish(l, need, skipped);
	return true;
}

/* The writer's own rows. */
static __attribute__((noinline, cold)) bool straight(uint16_t table, const void *row, uint16_t bytes, const lac_text *texts, unsigned n)
{
	unsigned char copy[1024];
	if (bytes > sizeof copy)
		return false;
	memcpy(copy, row, bytes);
	for (unsigned i = 0; i < n; i++) {
		size_t b = !texts[i].text ? 0 : texts[i].bytes >= LAC_STATIC ? strlen(texts[i].text) : texts[i].bytes;
		uint32_t id = lac_out_text(texts[i].text, b < TEXT_MAX ? b : TEXT_MAX);
		if (texts[i].at + sizeof id <= bytes)
			memcpy(copy + texts[i].at, &id, sizeof id);
	}
	lac_out_row(table, copy, bytes);
	return true;
}

/* Inlined, so that a caller's constants make copies of known size of it. */
static inline __attribute__((always_inline)) bool emit(uint16_t table, const void *row, uint16_t bytes, const lac_text *texts, unsigned n)
{
	int was = errno; /* the program's: mmap and futex may set it */
	lane *l = my_lane();
	if (!l || n > TEXTS_MAX || l->busy) {
		atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
		errno = was;
		return false;
	}
	l->busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	bool ok = l->direct ? straight(table, row, bytes, texts, n) : hand_over(l, table, row, bytes, texts, n);
	lac_add(ok ? &l->taken : &l->dropped, 1);
	atomic_signal_fence(memory_order_seq_cst);
	l->busy = 0;
	errno = was;
	return ok;
}

LAC_HOT bool lac_emit(uint16_t table, const void *row, uint16_t bytes, const lac_text *texts, unsigned n)
{
	return emit(table, row, bytes, texts, n);
}

LAC_HOT bool lac_emit_call(const spool_call *row, const char *name)
{
	const lac_text text = {LAC_AT(call, name), name, LAC_STATIC};
	return emit(SPOOL_T_call, row, sizeof *row, &text, 1);
}

lac_ring_count lac_rings_count(void)
{
	lac_ring_count c = {.dropped = atomic_load_explicit(&lost, memory_order_relaxed)};
	unsigned n = atomic_load(&lac_lanes);
	for (unsigned i = 0; i < n; i++) {
		lane *l = lac_lane(i);
		if (l) {
			c.taken += atomic_load_explicit(&l->taken, memory_order_relaxed);
			c.dropped += atomic_load_explicit(&l->dropped, memory_order_relaxed);
			c.launched += atomic_load_explicit(&l->self.launched, memory_order_relaxed);
			c.callbacks += atomic_load_explicit(&l->self.callbacks, memory_order_relaxed);
			c.callback_ns += atomic_load_explicit(&l->self.callback_ns, memory_order_relaxed);
		}
	}
	return c;
}

uint32_t lac_rings_tid(uint32_t pthread)
{
	lane *l;
	for (unsigned i = 0, n = atomic_load(&lac_lanes); i < n; i++)
		if ((l = lac_lane(i)) && atomic_load_explicit(&l->state, memory_order_acquire) == LIVE && l->self.pthread == pthread)
			return l->self.tid;
	return 0;
}

size_t lac_rings_memory(void)
{
	return atomic_load_explicit(&memory, memory_order_relaxed);
}

/* The rings stay mapped: the thread that forked may have been in the middle of a row, in a handler of a signal. */
void lac_rings_forked(void)
{
	for (unsigned i = 0; i < SLABS && atomic_load(&slabs[i]); i++)
		atomic_store(&slabs[i], NULL);
	atomic_store(&lac_lanes, 0);
	atomic_store(&free_lanes, 0);
	atomic_store(&lost, 0);
	atomic_store(&memory, 0);
	if (have_key)
		pthread_setspecific(key, NULL);
}
