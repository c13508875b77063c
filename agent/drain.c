//go:build ignore

/* What threads handed over (ring.c) goes to out.c, and lanes and rings whose threads have ended are given back. The writer's thread only. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring.h"

/* To out.c, with the texts' IDs in their places. A note's kind and fields come as its texts. */
static void give_row(uint16_t table, unsigned char *row, uint16_t bytes, unsigned n, const unsigned char *texts)
{
	char note[2][TEXT_MAX + 1];
	for (unsigned i = 0; i < n; i++) {
		text_head t;
		memcpy(&t, texts, sizeof t);
		texts += sizeof t;
		const char *text = (const char *)texts;
		texts += t.bytes == POINTER ? sizeof text : t.bytes;
		if (t.bytes == POINTER)
			memcpy(&text, text, sizeof text);
		if (table == SPOOL_NOTE && i < 2) {
			memcpy(note[i], text, t.bytes);
			note[i][t.bytes] = 0;
		} else if (t.at + sizeof(uint32_t) <= bytes) {
			uint32_t id = lac_out_text(text, t.bytes == POINTER ? SIZE_MAX : t.bytes);
			memcpy(row + t.at, &id, sizeof id);
		}
	}
	if (table != SPOOL_NOTE)
		lac_out_row(table, row, bytes);
	else if (n == 2)
		lac_out_note(note[0], note[1]);
}

static size_t drain_ring(ring *r)
{
	size_t rows = 0, told = 0;
	size_t head = atomic_load_explicit(&r->head, memory_order_acquire);
	size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	while (tail != head) {
		row_head h;
		unsigned char *p = r->data + r->from;
		memcpy(&h, p, sizeof h);
		if (h.table) {
			give_row(h.table, p + sizeof h, h.row, h.texts, p + sizeof h + h.row);
			rows++;
		}
		tail += h.bytes;
		r->from += h.bytes;
		if (r->from == r->size || !h.table)
			r->from = 0;
		if ((told += h.bytes) >= r->size / 8) {
			atomic_store_explicit(&r->tail, tail, memory_order_release);
			told = 0;
		}
	}
	atomic_store_explicit(&r->tail, tail, memory_order_release);
	return rows;
}

static size_t drain_lane(lane *l, unsigned i)
{
	unsigned state = atomic_load_explicit(&l->state, memory_order_acquire); /* before reading: nothing comes after DEAD */
	if (state == FREE)
		return 0;
	size_t rows = 0;
	ring *r = atomic_load_explicit(&l->read, memory_order_acquire), *last = r, *next;
	while (last && (next = atomic_load_explicit(&last->next, memory_order_acquire)))
		last = next; /* a thread that is faster than we are goes on to new rings for ever: those are for the next time */
	while (r) {
		next = atomic_load_explicit(&r->next, memory_order_acquire); /* before reading: nothing comes after next is set */
		rows += drain_ring(r);
		if (!next && state != DEAD)
			break;
		bool enough = r == last && state != DEAD;
		lac_ring_free(r);
		atomic_store_explicit(&l->read, r = next, memory_order_relaxed);
		if (enough)
			break;
	}
	if (state == DEAD)
		lac_lane_free(l, i);
	return rows;
}

size_t lac_rings_drain(void)
{
	size_t rows = 0;
	unsigned n = atomic_load(&lac_lanes);
	for (unsigned i = 0; i < n; i++) {
		lane *l = lac_lane(i);
		if (l)
			rows += drain_lane(l, i);
	}
	return rows;
}

void lac_rings_period(void)
{
	unsigned n = atomic_load(&lac_lanes);
	for (unsigned i = 0; i < n; i++) {
		lane *l = lac_lane(i);
		if (l && atomic_load_explicit(&l->wakes, memory_order_relaxed))
			atomic_store_explicit(&l->wakes, 0, memory_order_relaxed);
	}
}

/* A thread that ends by a bare exit of the kernel's, or that emits after its keys were torn down, leaves its lane live. */
void lac_rings_sweep(void)
{
	unsigned n = atomic_load(&lac_lanes);
	pid_t pid = getpid();
	for (unsigned i = 0; i < n; i++) {
		lane *l = lac_lane(i);
		if (l && atomic_load_explicit(&l->state, memory_order_acquire) == LIVE && !l->direct &&
		    syscall(SYS_tgkill, pid, l->self.tid, 0) != 0 && errno == ESRCH)
			atomic_store_explicit(&l->state, DEAD, memory_order_release);
	}
}
