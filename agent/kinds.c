//go:build ignore

/* Which kinds of records CUPTI makes: chosen by settings, switched on and off for each window. */
#include <stdio.h>
#include <string.h>

#include "cupti.h"

/* group: its name in LACUNA_KINDS; "": always. What cannot be had keeps CUPTI's result and is said in the note. Those
 * of groups api_records, sync_records and event_records are on only where they are asked for: they slow every call, and calls.c and
 * waits.c have what they say. */
typedef struct {
	uint32_t kind;
	const char *name, *group;
	atomic_uint result;
	atomic_bool on;
} kind;

static kind kinds[] = {
	{.kind = CUPTI_DEVICE, .name = "device", .group = ""},
	{.kind = CUPTI_CONTEXT, .name = "context", .group = ""},
	{.kind = CUPTI_STREAM, .name = "stream", .group = ""},
	{.kind = CUPTI_GRAPH_TRACE, .name = "graph_run", .group = "graph"}, /* graphs as a whole; then CUPTI leaves out their kernels */
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

/* Resource callbacks: module 6, 7; graph 9, 11, 18, 19; its nodes 13, 20. */
static const uint32_t callbacks[] = {6, 7, 9, 11, 18, 19, 13, 20};
enum { CALLBACKS = sizeof callbacks / sizeof *callbacks, WITHOUT_NODES = 6 };

bool lac_kinds_group(const char *group)
{
	const char *list = lac_set()->kinds;
	const size_t n = strlen(group);
	if (n == 0 || *list == 0)
		return strstr(group, "_records") == NULL;
	for (const char *at = list; at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, group, n) == 0 && (at[n] == 0 || at[n] == ','))
			return true;
	}
	return false;
}

static uint32_t turn(uint32_t number, bool on)
{
	const lac_cupti_api *api = &lac_cupti;
	if (api->shared)
		return on ? api->enable2(api->subscriber, number, NULL) : api->disable2(api->subscriber, number, NULL);
	return on ? api->enable(number) : api->disable(number);
}

uint32_t lac_kinds_probe(void)
{
	const uint32_t result = turn(CUPTI_DEVICE, true);
	atomic_store(&kinds[DEVICE].on, result == CUPTI_OK); /* and stays so: each enabling gives a record of each device */
	return result;
}

static void turn_callbacks(bool on)
{
	lac_calls(on);
	if (!lac_kinds_group("graph"))
		return;
	for (size_t i = 0; i < (lac_set()->nodes ? CALLBACKS : WITHOUT_NODES); i++)
		lac_cupti.enable_callback(on, lac_cupti.subscriber, CUPTI_RESOURCE, callbacks[i]);
}

void lac_kinds_on(void)
{
	if (atomic_exchange(&switched, true))
		return;
	turn_callbacks(true);
	for (size_t i = 0; i < KINDS; i++) {
		kind *k = &kinds[i];
		if (!lac_kinds_group(k->group) || (k->kind == CUPTI_GRAPH_TRACE && lac_set()->nodes) || atomic_load(&k->on))
			continue;
		const uint32_t result = turn(k->kind, true);
		atomic_store(&k->result, result);
		atomic_store(&k->on, result == CUPTI_OK);
	}
}

void lac_kinds_api_records(void)
{
	lac_calls(false);
	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(kinds[i].group, "api_records") == 0 && !atomic_exchange(&kinds[i].on, true))
			turn(kinds[i].kind, true);
}

void lac_kinds_off(void)
{
	if (!atomic_exchange(&switched, false))
		return;
	turn_callbacks(false);
	for (size_t i = 0; i < KINDS; i++)
		if (atomic_exchange(&kinds[i].on, false))
			turn(kinds[i].kind, false);
}

/* CUPTI itself is gone: nothing is on any more. */
void lac_kinds_forget(void)
{
	atomic_store(&switched, false);
	for (size_t i = 0; i < KINDS; i++)
		atomic_store(&kinds[i].on, false);
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
		if (atomic_load(&kinds[i].on)) {
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
