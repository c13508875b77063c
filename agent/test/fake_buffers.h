/* Of the fake CUPTI: buffers that the client gives, records in them, and their way back. VERSION is the release. */
#ifndef FAKE_BUFFERS_H
#define FAKE_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake.h"
#include "fake_records.h"

static _Noreturn void fault(const char *what)
{
	fprintf(stderr, "fake cupti: %s\n", what);
	abort();
}

typedef struct buffer {
	uint8_t *data;
	size_t size, used;
	unsigned pending; /* records that have not ended */
	bool full;
	struct buffer *next;
} buffer;

typedef struct pending {
	buffer *in;
	uint8_t *record;
	uint32_t at;    /* offset of start; end follows */
	uint64_t start, end;
	struct pending *next;
} pending;

typedef struct name {
	struct name *next;
	char text[];
} name;

static pthread_mutex_t g = PTHREAD_MUTEX_INITIALIZER; /* all below; held around the client's buffer callbacks, as a strict CUPTI might */
static buffer *buffers;
static pending *waiting, *waiting_last;
static name *names;
static size_t dropped;
static bool running;
static pthread_t worker;
static unsigned epoch = 1; /* one more after each finalise: threads' buffers of before are void */
static bool zeroed; /* the client gives buffers that are all zero */
static void (*requested)(uint8_t **, size_t *, size_t *);
static void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t);
static void (*requested2)(uint8_t **, size_t *, size_t *, void *);
static void (*completed2)(uint8_t *, size_t, size_t, void *);

static _Thread_local bool in_buffer_callback;
static _Thread_local buffer *mine;
static _Thread_local unsigned mine_epoch;
static buffer *common;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool per_thread(void) { return VERSION >= 130000; }

/* Under g, all. A buffer for the calling thread; NULL: none, the record is dropped. */
static buffer *room(uint32_t bytes)
{
	buffer **slot = &common;
	if (per_thread()) {
		if (mine_epoch != epoch)
			mine = NULL;
		mine_epoch = epoch;
		slot = &mine;
	}
	/* A buffer that was handed over is no longer in the list. */
	buffer *b = NULL;
	for (buffer *i = buffers; i != NULL; i = i->next)
		if (i == *slot)
			b = i;
	if (b != NULL && b->used + bytes > b->size) {
		b->full = true;
		b = NULL;
	}
	if (b != NULL && !b->full)
		return b;
	uint8_t *data = NULL;
	size_t size = 0, most = 0;
	in_buffer_callback = true;
	if (requested2 != NULL)
		requested2(&data, &size, &most, &(size_t){8});
	else if (requested != NULL)
		requested(&data, &size, &most);
	in_buffer_callback = false;
	if (data == NULL || size == 0) {
		if (VERSION < 27)
			fault("no buffer was given");
		dropped++;
		return NULL;
	}
	if ((uintptr_t)data % 8 != 0)
		fault("a buffer is not aligned to 8 bytes");
	if (size < 4096)
		fault("a buffer is too small");
	for (buffer *i = buffers; i != NULL; i = i->next)
		if (i->data == data)
			fault("a buffer was given twice");
	if (zeroed && (data[0] != 0 || memcmp(data, data + 1, size - 1) != 0))
		fault("a buffer is not all zero, as was said");
	memset(data, 0xA5, size); /* what a record does not have must not be read as zero */
	b = calloc(1, sizeof *b);
	*b = (buffer){.data = data, .size = size, .next = buffers};
	buffers = b;
	*slot = b;
	return b;
}

/* Under g. Puts the record in; at: offset of its start when it ends only later, else 0. */
static void put(const void *record, uint32_t at, uint64_t start, uint64_t end)
{
	uint32_t kind;
	memcpy(&kind, record, sizeof kind);
	const uint32_t bytes = cupti_size(kind);
	buffer *b = room(bytes);
	if (b == NULL)
		return;
	uint8_t *r = b->data + b->used;
	memcpy(r, record, bytes);
	b->used += bytes;
	if (at == 0)
		return;
	memset(r + at, 0, 16);
	b->pending++;
	pending *p = calloc(1, sizeof *p);
	*p = (pending){.in = b, .record = r, .at = at, .start = start, .end = end};
	if (waiting_last != NULL)
		waiting_last->next = p;
	else
		waiting = p;
	waiting_last = p;
}

static void hand_over(buffer *b)
{
	for (buffer **i = &buffers; *i != NULL; i = &(*i)->next)
		if (*i == b) {
			*i = b->next;
			break;
		}
	in_buffer_callback = true;
	if (completed2 != NULL)
		completed2(b->data, b->size, b->used, &(size_t){32});
	else
		completed(NULL, 0, b->data, b->size, b->used);
	in_buffer_callback = false;
	free(b);
}

/* Under g. Ends what has ended. */
static void settle(void)
{
	const uint64_t t = now();
	waiting_last = NULL;
	for (pending **i = &waiting; *i != NULL;) {
		pending *p = *i;
		if (p->end > t) {
			waiting_last = p;
			i = &p->next;
			continue;
		}
		memcpy(p->record + p->at, &p->start, 8);
		memcpy(p->record + p->at + 8, &p->end, 8);
		p->in->pending--;
		*i = p->next;
		free(p);
	}
}

/* Under g. Hands over: full ones that have ended; partial: also those that are not full; forced: also what has not ended. */
static void give(bool partial, bool forced)
{
	settle();
	if (forced) {
		for (pending *p = waiting, *next; p != NULL; p = next) {
			next = p->next;
			free(p);
		}
		waiting = waiting_last = NULL;
	}
	for (buffer *b = buffers, *next; b != NULL; b = next) {
		next = b->next;
		if (forced || (b->pending == 0 && (b->full || partial)))
			hand_over(b);
	}
}

static void *work_loop(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_mutex_lock(&g);
		const bool on = running;
		if (on)
			give(false, false);
		pthread_mutex_unlock(&g);
		if (!on)
			return NULL;
		nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
	}
}

static const char *keep(const char *text)
{
	for (name *n = names; n != NULL; n = n->next)
		if (strcmp(n->text, text) == 0)
			return n->text;
	name *n = malloc(sizeof *n + strlen(text) + 1);
	strcpy(n->text, text);
	n->next = names;
	names = n;
	return n->text;
}

#endif
