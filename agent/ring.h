/* What ring.c, the program's side, and drain.c, the writer's, know of each other. */
#ifndef LACUNA_RING_H
#define LACUNA_RING_H

#include <signal.h>

#include "core.h"

enum {
	TEXT_MAX = 16 << 10,  /* bytes */
	POINTER = UINT16_MAX, /* instead of a length */
};

typedef struct ring {
	_Atomic(struct ring *) next; /* set once the thread has gone on to it */
	size_t bytes;                /* of the mapping */
	size_t size;                 /* of data; a multiple of 8 */
	/* Bytes written and read since the ring began; at and from are where in data that is. */
	_Alignas(64) atomic_size_t head;
	size_t at, tail_seen, woken;
	_Alignas(64) atomic_size_t tail;
	size_t from;
	_Alignas(64) unsigned char data[];
} ring;

/* What stands before a row: table 0 is no row, but what is left of the ring when a row did not fit. Then the row, then for each text
 * its place, its length and itself; the whole is rounded up to 8. */
typedef struct {
	uint32_t bytes : 24, texts : 8;
	uint16_t table, row;
} row_head;
typedef struct {
	uint16_t at, bytes; /* POINTER: of a text that stays, only where it is */
} text_head;

enum { FREE, LIVE, DEAD }; /* a lane's state */

typedef struct {
	atomic_uint state;
	atomic_uint next_free; /* index + 1 */
	lac_self self;
	bool direct;                     /* the writer's own */
	volatile sig_atomic_t busy;      /* a signal's handler must not write into the middle of a row */
	atomic_uint wakes;               /* since the last flush */
	ring *write;                     /* the thread's end */
	_Atomic(ring *) read;            /* the writer's end */
	_Alignas(64) atomic_ullong taken, dropped;
} lane;

extern atomic_uint lac_lanes; /* made so far */
/* The lane of that index; NULL: its slab is not there, or not yet. */
lane *lac_lane(unsigned i);
/* Gives a lane, which has no rings, to a later thread. */
void lac_lane_free(lane *l, unsigned i);
void lac_ring_free(ring *r);

#endif
