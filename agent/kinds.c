//go:build ignore

/* Which kinds of records CUPTI makes: chosen by settings, switched on and off for each window. */
#include <stdio.h>
#include <string.h>

#include "cupti.h"

/* group: its name in LACUNA_KINDS. What cannot be had keeps CUPTI's result and is said in the note. Those of groups api_records, sync_records and
 * event_records are on only where they are asked for: they slow every call, and calls.c and waits.c have what they say.
 * early: tells only of what is made while it is on, so it is on from cuInit to the end, also between windows. */
typedef struct {
	uint32_t kind;
	const char *name, *group;
	bool early;
	atomic_uint result;
	atomic_bool on, had; /* had: was on since CUPTI was subscribed to */
} kind;

static kind kinds[] = {
	{.kind = CUPTI_DEVICE, .name = "device", .group = "device", .early = true},
	{.kind = CUPTI_CONTEXT, .name = "context", .group = "context", .early = true},
	{.kind = CUPTI_STREAM, .name = "stream", .group = "stream", .early = true},
	{.kind = CUPTI_GRAPH_TRACE, .name = "graph_run", .group = "graph", .early = true}, /* graphs as a whole; then CUPTI leaves out their kernels */
	{.kind = CUPTI_CONCURRENT_KERNEL, .name = "kernel", .group = "kernel"},
	{.kind = CUPTI_MEMCPY, .name = "copy", .group = "copy"},
	{.kind = CUPTI_MEMCPY2, .name = "peer_copy", .group = "copy"},
	{.kind = CUPTI_MEMSET, .name = "set", .group = "set"},
	{.kind = CUPTI_API_RUNTIME, .name = "runtime_records", .group = "api_records"},
	{.kind = CUPTI_API_DRIVER, .name = "driver_records", .group = "api_records"},
	{.kind = CUPTI_SYNCHRONIZATION, .name = "sync_records", .group = "sync_records"},
	{.kind = CUPTI_CUDA_EVENT, .name = "event_records", .group = "event_records"},
	{.kind = CUPTI_OVERHEAD, .name = "overhead", .group = "overhead"},
	{.kind = CUPTI_MEMORY2, .name = "memory", .group = "memory"},
	{.kind = CUPTI_MEMORY_POOL, .name = "pool", .group = "memory"},
	{.kind = CUPTI_JIT, .name = "jit", .group = "jit"},
};
enum { KINDS = sizeof kinds / sizeof *kinds, DEVICE = 0 };

static atomic_bool switched; /* whether they are on */
static atomic_bool late;

/* Resource callbacks. */
static const uint32_t modules[] = {6, 7}, graphs[] = {9, 11, 18, 19}, nodes[] = {13, 20};

/* Whether the setting has this name, with - before it or without; any: whether it has some name of that sort. */
static bool listed(const char *group, bool minus, bool *any)
{
	const size_t n = strlen(group);
	*any = false;
	for (const char *at = lac_set()->kinds, *next; *at != 0; at = next) {
		const size_t length = strcspn(at, ",");
		next = at + length + (at[length] == ',');
		if (length == 0 || (*at == '-') != minus)
			continue;
		*any = true;
		if (length == n + minus && strncmp(at + minus, group, n) == 0)
			return true;
	}
	return false;
}

bool lac_kinds_group(const char *group)
{
	/* On whatever is chosen, unless they are left out by name. */
	static const char *const always[] = {"device", "context", "stream", "module", "made", "tid"};
	bool any;
	if (listed(group, true, &any))
		return false;
	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		if (strcmp(group, always[i]) == 0)
			return true;
	return listed(group, false, &any) || (!any && strstr(group, "_records") == NULL);
}

static uint32_t turn(uint32_t number, bool on)
{
	const lac_cupti_api *api = &lac_cupti;
	if (api->shared)
		return on ? api->enable2(api->subscriber, number, NULL) : api->disable2(api->subscriber, number, NULL);
	return on ? api->enable(number) : api->disable(number);
}

static void turn_kind(kind *k, bool on)
{
	if (atomic_exchange(&k->on, on) == on)
		return;
	const uint32_t result = turn(k->kind, on);
	if (on) {
		atomic_store(&k->result, result);
		atomic_store(&k->on, result == CUPTI_OK);
		if (result == CUPTI_OK)
			atomic_store(&k->had, true);
	}
}

uint32_t lac_kinds_probe(void)
{
	const uint32_t result = turn(CUPTI_DEVICE, true);
	for (size_t i = 0; i < KINDS; i++)
		atomic_store(&kinds[i].had, false);
	atomic_store(&kinds[DEVICE].had, result == CUPTI_OK);
	atomic_store(&kinds[DEVICE].on, result == CUPTI_OK); /* and stays so: in cuInit it gives a record of each device */
	if (result == CUPTI_OK && !lac_kinds_group("device"))
		turn_kind(&kinds[DEVICE], false);
	return result;
}

/* Graphs as a whole: CUPTI tells of those only that were instantiated while the kind was on (NVIDIA's documentation). To switch it on
 * late, in the callback of cudaProfilerStart, ended PyTorch programs (H200, CUPTI 13.0.1; by which fault is not known). So it
 * is on from cuInit on, or never: of a recording that begins later the kernels of graphs are recorded one by one. */
static bool wanted(const kind *k)
{
	return lac_kinds_group(k->group) && (k->kind != CUPTI_GRAPH_TRACE || (!lac_set()->nodes && !atomic_load(&late)));
}

void lac_kinds_begin(bool early)
{
	atomic_store(&late, !early);
	for (size_t i = 0; i < KINDS && early; i++)
		if (kinds[i].early && wanted(&kinds[i]))
			turn_kind(&kinds[i], true);
}

bool lac_kinds_late(void) { return atomic_load_explicit(&late, memory_order_relaxed); }

/* The correlation of the first call after the window closed; 0: it is open, or there was no call yet. */
static atomic_bool closing;
static atomic_uint closed;

/* Not of windows that cudaProfilerStop closes: it switches the kinds itself, and the writer, who comes later, may close when the next one is open. */
void lac_cupti_closes(void)
{
	if (strcmp(lac_set()->window, "profiler") != 0)
		atomic_store(&closing, true);
}

void lac_kinds_call_outside(uint32_t corr)
{
	unsigned none = 0;
	if (atomic_load_explicit(&closing, memory_order_relaxed) && atomic_load_explicit(&closed, memory_order_relaxed) == 0)
		atomic_compare_exchange_strong(&closed, &none, corr);
}

bool lac_kinds_outside(uint32_t corr)
{
	const uint32_t from = atomic_load_explicit(&closed, memory_order_relaxed);
	return from != 0 && (int32_t)(corr - from) >= 0;
}

static void turn_resources(const uint32_t *ids, size_t n, bool on)
{
	for (size_t i = 0; i < n; i++)
		lac_cupti.enable_callback(on, lac_cupti.subscriber, CUPTI_RESOURCE, ids[i]);
}

static void turn_callbacks(bool on)
{
	lac_calls(on);
	if (!lac_kinds_group("graph"))
		return;
	if (lac_kinds_group("module"))
		turn_resources(modules, sizeof modules / sizeof *modules, on);
	if (!lac_kinds_group("made"))
		return;
	turn_resources(graphs, sizeof graphs / sizeof *graphs, on);
	if (!lac_kinds_have(CUPTI_GRAPH_TRACE))
		turn_resources(nodes, sizeof nodes / sizeof *nodes, on);
}

void lac_kinds_on(void)
{
	if (atomic_exchange(&switched, true))
		return;
	atomic_store(&closing, false);
	atomic_store(&closed, 0);
	turn_callbacks(true);
	for (size_t i = 0; i < KINDS; i++)
		if (wanted(&kinds[i]))
			turn_kind(&kinds[i], true);
}

void lac_kinds_api_records(void)
{
	lac_calls(false);
	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(kinds[i].group, "api_records") == 0 && !atomic_exchange(&kinds[i].on, true))
			turn(kinds[i].kind, true);
}

void lac_kinds_off(bool stay)
{
	if (!atomic_exchange(&switched, false))
		return;
	for (size_t i = 0; i < KINDS; i++)
		if (!stay || !kinds[i].early)
			turn_kind(&kinds[i], false);
	turn_callbacks(false); /* last: a kernel whose call nobody saw could not be told from the window's */
	if (!stay)
		atomic_store(&late, true); /* what is made until the next time is not told */
}

/* CUPTI itself is gone: nothing is on any more. */
void lac_kinds_forget(void)
{
	atomic_store(&switched, false);
	for (size_t i = 0; i < KINDS; i++)
		atomic_store(&kinds[i].on, false);
}

/* Windows by correlation: from << 32 | to, to 0 while it is open. Correlations grow, and turn over. The last ones are kept: the writer is never
 * that far behind. */
enum { SPANS = 64 };
static atomic_ullong spans[SPANS];
static atomic_uint begun; /* so many spans */
static uint32_t newest;   /* correlation of a run that was read */

void lac_kinds_span(bool begins, uint32_t corr)
{
	const unsigned n = atomic_load(&begun);
	const unsigned long long last = n > 0 ? atomic_load(&spans[(n - 1) % SPANS]) : 1;
	const bool open = (uint32_t)last == 0;
	if (corr == 0)
		corr = newest + !begins > 0 ? newest + !begins : 1;
	if (begins && !open) {
		atomic_store(&spans[n % SPANS], (unsigned long long)corr << 32);
		atomic_store(&begun, n + 1);
	} else if (!begins && open) {
		atomic_store(&spans[(n - 1) % SPANS], last | corr);
	}
}

bool lac_kinds_in_span(uint32_t corr)
{
	if ((int32_t)(corr - newest) > 0)
		newest = corr;
	const unsigned n = atomic_load(&begun);
	for (unsigned i = n; i > 0 && n - i < SPANS; i--) {
		const unsigned long long span = atomic_load(&spans[(i - 1) % SPANS]);
		const uint32_t from = (uint32_t)(span >> 32), to = (uint32_t)span;
		if ((int32_t)(corr - from) > 0 && (to == 0 || (int32_t)(to - corr) > 0))
			return true;
	}
	return strcmp(lac_set()->window, "profiler") != 0;
}

bool lac_kinds_have(uint32_t number)
{
	for (size_t i = 0; i < KINDS; i++)
		if (kinds[i].kind == number)
			return atomic_load(&kinds[i].on);
	return false;
}

void lac_kinds_note(char *to, size_t size)
{
	size_t n = (size_t)snprintf(to, size, "\"kinds\":[");
	const char *comma = "";
	for (size_t i = 0; i < KINDS && n < size; i++)
		if (atomic_load(&kinds[i].had)) { /* a short window may be over when this is written */
			n += (size_t)snprintf(to + n, size - n, "%s\"%s\"", comma, kinds[i].name);
			comma = ",";
		}
	if (n < size)
		n += (size_t)snprintf(to + n, size - n, "],\"missing\":[");
	comma = "";
	for (size_t i = 0; i < KINDS && n < size; i++) {
		const uint32_t result = atomic_load(&kinds[i].result);
		char why[160];
		if (result == CUPTI_OK)
			continue;
		lac_json(why, sizeof why, lac_cupti_result(result));
		n += (size_t)snprintf(to + n, size - n, "%s{\"what\":\"%s\",\"code\":%u,\"why\":\"%s\"}", comma, kinds[i].name, result, why);
		comma = ",";
	}
	if (n < size)
		snprintf(to + n, size - n, "]");
}
