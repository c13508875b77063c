//go:build ignore

/* NVTX's events as rows, and what each thread has open.
 *
 * Outside a window an event costs the load of lac_on; a push and a pop also keep the thread's depth and the names of its
 * outermost ranges. A window that opens inside them learns of them at the thread's next event, as if they had been pushed when
 * the window began: so "epoch 3" is there when a window opens within it. Ranges by start and end that began before a window
 * have no start in it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "nvtx.h"

#define KEPT 8     /* outermost ranges of a domain whose names are kept */
#define TEXT 56    /* bytes of such a name with its 0 */
#define DOMAINS 32 /* with ranges in one thread; of more the level is not known */
#define NAMED 6    /* of them, the first ones, keep names: all of it is a page */

typedef struct {
	uint32_t category, color;
	char text[TEXT];
} kept;

typedef struct {
	uint32_t domain;
	uint32_t depth;
	uint32_t hidden; /* ranges above those with names and up to this depth began before the window: their pops are not told either */
} stack;

typedef struct {
	uint32_t window; /* the one that knows of the open ranges */
	uint32_t n;      /* stacks */
	uint32_t events;
	stack stacks[DOMAINS];
	kept names[NAMED][KEPT]; /* of stacks */
} thread;
_Static_assert(sizeof(thread) <= 4096, "a thread's state is a page");

static pthread_key_t key;
static bool have_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool steps; /* the setting window is told by ranges */

static atomic_uint window;      /* counts windows */
static atomic_ullong window_ns; /* when the last one began */
static atomic_ullong ranges;    /* IDs that start gave out */

static void thread_ends(void *t)
{
	munmap(t, sizeof(thread));
}

static void ready(void)
{
	steps = !strcmp(lac_set()->window, "steps");
	have_key = !pthread_key_create(&key, thread_ends);
}

void lac_nvtx_ready(void)
{
	pthread_once(&once, ready);
}

/* Pages, since the program's allocator may call NVTX. NULL: there are none; nothing is tracked then. */
static __attribute__((noinline)) thread *thread_begins(void)
{
	void *t = mmap(NULL, sizeof(thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		return NULL;
	if (pthread_setspecific(key, t)) {
		munmap(t, sizeof(thread));
		return NULL;
	}
	return t;
}

static inline thread *me(void)
{
	thread *t = have_key ? pthread_getspecific(key) : NULL;
	return t || !have_key ? t : thread_begins();
}

/* A domain's stack in a thread; NULL: it has none. */
static stack *stack_of(thread *t, uint32_t domain, bool add)
{
	uint32_t i = 0;
	while (i < t->n && t->stacks[i].domain != domain)
		i++;
	if (i < t->n)
		return &t->stacks[i];
	if (!add || i == DOMAINS)
		return NULL;
	t->stacks[i].domain = domain;
	t->n++;
	return &t->stacks[i];
}

/* How many of a stack's outermost ranges may have names. */
static uint32_t named(const thread *t, const stack *s)
{
	return s - t->stacks < NAMED ? KEPT : 0;
}

/* --- rows ---------------------------------------------------------------------------------------------------------------- */

static void emit(spool_nvtx *row, const char *name, const char *extended)
{
	lac_text texts[2];
	unsigned n = 0;
	if (name)
		texts[n++] = (lac_text){LAC_AT(nvtx, name), name, SIZE_MAX};
	if (extended)
		texts[n++] = (lac_text){LAC_AT(nvtx, extended), extended, SIZE_MAX};
	atomic_fetch_add_explicit(&lac_accounts.nvtx, 1, memory_order_relaxed);
	lac_emit(SPOOL_T_nvtx, row, sizeof *row, texts, n);
}

static __attribute__((noinline)) void emit_extended(spool_nvtx *row, const lac_event *e)
{
	char json[2048], name[LAC_WIDE];
	lac_payload_json(row->domain, e->extended, e->n, json, sizeof json, name, sizeof name);
	emit(row, *name ? name : e->text, *json ? json : NULL);
}

static void emit_event(uint8_t what, uint32_t domain, uint64_t id, uint64_t time, const lac_event *e)
{
	spool_nvtx row = {.time = time, .id = id, .tid = lac_tid(), .domain = domain, .what = what};
	if (e) {
		row.payload = e->payload;
		row.payload_type = e->payload_type;
		row.category = e->category;
		row.color = e->color;
	}
	if (e && e->n)
		emit_extended(&row, e);
	else
		emit(&row, e ? e->text : NULL, NULL);
}

/* Tells a window of the ranges that this thread has open in it. */
static __attribute__((noinline)) void catch_up(thread *t, uint32_t now)
{
	uint64_t time = atomic_load_explicit(&window_ns, memory_order_relaxed);
	t->window = now;
	for (uint32_t i = 0; i < t->n; i++) {
		stack *s = &t->stacks[i];
		uint32_t most = named(t, s);
		s->hidden = s->depth > most ? s->depth : 0;
		for (uint32_t j = 0; j < s->depth && j < most; j++) {
			kept *k = &t->names[i][j];
			lac_event e = {.text = *k->text ? k->text : NULL, .category = k->category, .color = k->color};
			emit_event(LAC_PUSH, s->domain, 1, time, &e); /* 1: it was pushed before */
		}
	}
}

/* When an event began, and how many it stands for. */
typedef struct {
	uint64_t began, weight;
} timing;

static inline bool recorded(thread *t, timing *timed)
{
	timed->weight = 0;
	if (!atomic_load_explicit(&lac_on, memory_order_relaxed))
		return false;
	if (!t)
		return true;
	uint32_t weight = lac_weight(t->events++);
	if (weight)
		*timed = (timing){lac_cycles(), weight};
	uint32_t now = atomic_load_explicit(&window, memory_order_acquire);
	if (t->window != now)
		catch_up(t, now);
	return true;
}

static __attribute__((noinline)) void account(timing timed)
{
	atomic_fetch_add_explicit(&lac_accounts.nvtx_ns, lac_cost((int64_t)(lac_cycles() - timed.began), timed.weight), memory_order_relaxed);
}

/* Records an event, if record, with what it costs. */
static inline void record_event(bool record, timing timed, uint8_t what, uint32_t domain, uint64_t id, const lac_event *e)
{
	if (!record)
		return;
	emit_event(what, domain, id, lac_real_ns(), e);
	if (timed.weight)
		account(timed);
}

int lac_nvtx_push(uint32_t domain, const lac_event *e)
{
	if (steps && e->text)
		lac_step_began(e->text); /* before, so that the range is in the window that it opens */
	timing timed;
	thread *t = me();
	bool record = recorded(t, &timed);
	stack *s = t ? stack_of(t, domain, true) : NULL;
	int level = s ? (int)s->depth++ : LAC_NO_TRACKING;
	if (s && s->depth <= named(t, s)) {
		kept *k = &t->names[s - t->stacks][s->depth - 1];
		const char *text = e->text ? e->text : "";
		size_t n = strnlen(text, TEXT - 1);
		memcpy(k->text, text, n);
		k->text[n] = 0;
		k->category = e->category;
		k->color = e->color;
	}
	record_event(record, timed, LAC_PUSH, domain, 0, e);
	return level;
}

int lac_nvtx_pop(uint32_t domain, const lac_event *e)
{
	timing timed;
	thread *t = me();
	bool record = recorded(t, &timed);
	stack *s = t ? stack_of(t, domain, false) : NULL;
	if (t && !(s && s->depth) && (s || t->n < DOMAINS))
		return LAC_NO_RANGE;
	if (s && s->depth <= s->hidden && s->depth > named(t, s)) {
		record = false;
		s->hidden--;
	}
	record_event(record, timed, LAC_POP, domain, 0, e);
	return s ? (int)--s->depth : LAC_NO_TRACKING;
}

uint64_t lac_nvtx_start(uint32_t domain, const lac_event *e)
{
	if (steps && e->text)
		lac_step_began(e->text);
	timing timed;
	uint64_t id = atomic_fetch_add_explicit(&ranges, 1, memory_order_relaxed) + 1;
	bool record = recorded(me(), &timed);
	record_event(record, timed, LAC_START, domain, id, e);
	return id;
}

void lac_nvtx_one(uint8_t what, uint32_t domain, uint64_t id, const lac_event *e)
{
	timing timed;
	bool record = recorded(me(), &timed);
	record_event(record, timed, what, domain, id, e);
}

static void next_window(void)
{
	atomic_store_explicit(&window_ns, lac_real_ns(), memory_order_relaxed);
	atomic_fetch_add_explicit(&window, 1, memory_order_release);
}

void lac_nvtx_begins(void)
{
	if (!atomic_load(&lac_on)) /* else what was pushed since is told already */
		next_window();
}

void lac_nvtx_window(void)
{
	lac_names_write();
	lac_nvtx_say();
}

void lac_nvtx_forked(void)
{
	lac_names_forked();
	lac_schemas_forked();
	next_window();
}
