/* A libcupti without a GPU: records of release VERSION (a macro: 18 is 11.8 … 28 is 12.9.1, then 130000 …) of what the fake driver
 * does, handed over as the real one does it: a worker of its own, a buffer a thread from 13.0 on, records that end later than they begin,
 * buffers held back while one has not ended, a forced flush that gives those up. It aborts where a client breaks a rule:
 * a call from a buffer's callback, a flush from a resource's, graphs as a whole (GRAPH_TRACE) from a call's, anything after cuptiFinalize or in a fork, cuptiFinalize outside a call's end,
 * no buffer before 12.9, a crooked one. Devices are told only while CUDA comes up, and runs of graphs as a whole only of those that
 * were instantiated while the kind was on. Names of kernels die with cuptiFinalize.
 *
 * FAKE_SUBSCRIBE=N: cuptiSubscribe gives result N. FAKE_ENABLE=KIND:N: so does enabling that kind. FAKE_STUCK=NAME: kernels of that name never end.
 * FAKE_UNLINKED=1: kernels name their call only while calls are recorded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 130000
#endif
#include "fake_hooks.h"

#define API __attribute__((visibility("default")))
enum { OK = 0, INVALID = 1, LIMIT = 12, NOT_COMPATIBLE = 36, TAKEN = 39 };

/* --- state ----------------------------------------------------------------------------------------------------- */

static char subscribed; /* its address is the handle */
static atomic_bool shared;
static pid_t owner;

static void check(bool needs_subscriber)
{
	if (in_buffer_callback)
		fault("called from a buffer's callback");
	if (owner != 0 && owner != getpid())
		fault("called in a fork");
	if (needs_subscriber && !atomic_load(&is_subscribed))
		fault("called without a subscriber: after cuptiUnsubscribe or cuptiFinalize");
}

/* --- CUPTI ------------------------------------------------------------------------------------------------------ */

API uint32_t cuptiGetVersion(uint32_t *version)
{
	*version = VERSION;
	return OK;
}

API uint32_t cuptiGetResultString(uint32_t result, const char **text)
{
	*text = result == TAKEN ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : result == 15 ? "CUPTI_ERROR_NOT_INITIALIZED" : "CUPTI_ERROR_\"OTHER\"";
	return OK;
}

static uint32_t do_subscribe(void **handle, callback cb, void *with)
{
	check(false);
	const char *forced = getenv("FAKE_SUBSCRIBE");
	if (forced != NULL && atoi(forced) != 0)
		return (uint32_t)atoi(forced);
	if (atomic_exchange(&is_subscribed, true))
		return TAKEN;
	owner = getpid();
	subscriber = cb;
	user = with;
	*handle = &subscribed;
	pthread_mutex_lock(&g);
	if (!running) {
		running = true;
		pthread_create(&worker, NULL, work_loop, NULL);
	}
	pthread_mutex_unlock(&g);
	set_hooks(&hooks);
	return OK;
}

/* For tests that call the client's callback themselves. */
API callback fake_cupti_subscriber(void) { return subscriber; }

API uint32_t cuptiSubscribe(void **handle, callback cb, void *with) { return do_subscribe(handle, cb, with); }

static void check_handle(void *handle)
{
	check(true);
	if (handle != &subscribed)
		fault("wrong handle of a subscriber");
}

API uint32_t cuptiUnsubscribe(void *handle)
{
	check_handle(handle);
	for (uint32_t d = 0; d < DOMAINS; d++)
		for (uint32_t i = 0; i < CBIDS; i++)
			atomic_store(&callbacks[d][i], false);
	atomic_store(&shared, false);
	atomic_store(&is_subscribed, false);
	return OK;
}

API uint32_t cuptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t cbid)
{
	check_handle(handle);
	if (domain >= DOMAINS || cbid >= CBIDS)
		return INVALID;
	atomic_store(&callbacks[domain][cbid], enable != 0);
	return OK;
}

API uint32_t cuptiEnableDomain(uint32_t enable, void *handle, uint32_t domain)
{
	check_handle(handle);
	if (domain >= DOMAINS)
		return INVALID;
	for (uint32_t i = 0; i < CBIDS; i++)
		atomic_store(&callbacks[domain][i], enable != 0);
	return OK;
}

API uint32_t cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **text)
{
	check(false);
#define NAME(d, id, n) \
	if (domain == d && cbid == id) \
		return *text = #n, OK;
	FAKE_CALLS(NAME)
#undef NAME
	/* As in the real one, what lies between has names too. */
	if (cbid == 0 || cbid > 500 || domain < 1 || domain > 2)
		return INVALID;
	*text = domain == 1 ? "cuFuncGetAttribute" : "cudaFuncGetAttributes";
	return OK;
}

API uint32_t cuptiActivityRegisterCallbacks(void (*r)(uint8_t **, size_t *, size_t *), void (*c)(void *, uint32_t, uint8_t *, size_t, size_t))
{
	check(false);
	requested = r, completed = c;
	requested2 = NULL, completed2 = NULL;
	return OK;
}

static bool cuda_ready(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	const atomic_int *ready = cuda != NULL ? dlsym(cuda, "fake_cuda_ready") : NULL;
	return ready != NULL && atomic_load(ready);
}

static void put_devices(void)
{
	for (uint32_t d = 0; d < FAKE_DEVICES; d++) {
		cupti_device r = {.kind = 8, .flags = 1, .bandwidth = 4000000000 + 1000 * d, .memory = 80000000000 + d, .constant = 1, .l2 = 50000000 + d, .warp = 32, .clock = 1980000 + d, .engines = 3, .sms = 132 + d,
			.max_ipc = 4, .warps_per_sm = 64, .blocks_per_sm = 33, .shared_per_sm = 233472, .registers_per_sm = 65536, .registers_per_block = 65535, .shared_per_block = 49152, .threads_per_block = 1024,
			.major = 9, .minor = d, .id = d, .name = "Fake GPU", .visible = 1, .tpcs = 66};
		for (uint8_t i = 0; i < 16; i++)
			r.uuid[i] = (uint8_t)(i * 16 + d);
		pthread_mutex_lock(&g);
		put(&r, 0, 0, 0);
		pthread_mutex_unlock(&g);
	}
}

static uint32_t set_kind(uint32_t kind, bool to)
{
	check(true);
	unsigned refused, result;
	const char *forced = getenv("FAKE_ENABLE");
	if (to && forced != NULL && sscanf(forced, "%u:%u", &refused, &result) == 2 && refused == kind)
		return result;
	if (kind >= KINDS || cupti_size(kind) == 0)
		return INVALID;
	if (kind == 51 && to && in_call_callback)
		fault("GRAPH_TRACE switched on in a call's callback");
	atomic_store(&kinds[kind], to);
	if (kind == 8 && to && !cuda_ready())
		put_devices();
	return OK;
}

API uint32_t cuptiActivityEnable(uint32_t kind) { return atomic_load(&shared) ? NOT_COMPATIBLE : set_kind(kind, true); }
API uint32_t cuptiActivityDisable(uint32_t kind) { return atomic_load(&shared) ? NOT_COMPATIBLE : set_kind(kind, false); }

API uint32_t cuptiActivityFlushAll(uint32_t flag)
{
	check(true);
	if (in_resource_callback)
		fault("cuptiActivityFlushAll in a resource callback");
	pthread_mutex_lock(&g);
	give(true, flag == 1);
	pthread_mutex_unlock(&g);
	return OK;
}

static uint32_t next(uint8_t *data, size_t valid, uint8_t **record)
{
	if (owner != getpid())
		fault("called in a fork");
	uint8_t *r = data;
	if (*record != NULL) {
		uint32_t kind;
		memcpy(&kind, *record, sizeof kind);
		r = *record + cupti_size(kind);
	}
	if (r >= data + valid)
		return LIMIT;
	*record = r;
	return OK;
}

API uint32_t cuptiActivityGetNextRecord(uint8_t *data, size_t valid, uint8_t **record) { return next(data, valid, record); }

API uint32_t cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
	(void)context, (void)stream;
	check(true);
	pthread_mutex_lock(&g);
	*n = dropped;
	dropped = 0;
	pthread_mutex_unlock(&g);
	return OK;
}

API uint32_t cuptiGetTimestamp(uint64_t *t)
{
	check(true);
	*t = now();
	return OK;
}

API uint32_t cuptiActivitySetAttribute(uint32_t attribute, size_t *size, void *value)
{
	check(true);
	if (attribute != 5 || *size != 1)
		return INVALID;
	zeroed = *(uint8_t *)value != 0;
	return OK;
}

API uint32_t cuptiSetThreadIdType(uint32_t type)
{
	check(true);
	atomic_store(&tid_type, type);
	return OK;
}

API uint32_t cuptiGetGraphNodeId(void *node, uint64_t *id)
{
	check(true);
	*id = ((fake_node *)node)->id;
	return OK;
}

API uint32_t cuptiGetGraphId(void *graph, uint32_t *id)
{
	check(true);
	*id = ((fake_graph *)graph)->id;
	return OK;
}

API uint32_t cuptiGetDeviceId(void *context, uint32_t *id)
{
	check(true);
	if (context == NULL)
		return INVALID;
	*id = (uint32_t)((uintptr_t)context - 0x1000) - 1; /* see hook_call */
	return OK;
}

API uint32_t cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
	(void)per_thread;
	check(true);
	if (context == NULL)
		return INVALID;
	*id = stream != NULL ? (uint32_t)(uintptr_t)stream : 7;
	return OK;
}

#if VERSION >= 22
API uint32_t cuptiGetGraphExecId(void *exec, uint32_t *id)
{
	check(true);
	*id = ((fake_graph *)exec)->id;
	return OK;
}
#endif

API uint32_t cuptiFinalize(void)
{
	check(false);
	if (!in_exit_callback)
		fault("cuptiFinalize outside the end of a call");
	set_hooks(NULL);
	pthread_mutex_lock(&g);
	running = false;
	give(true, true);
	pthread_mutex_unlock(&g);
	pthread_join(worker, NULL);
	pthread_mutex_lock(&g);
	epoch++;
	common = NULL;
	requested = NULL, completed = NULL;
	for (uint32_t i = 0; i < KINDS; i++)
		atomic_store(&kinds[i], false);
	for (name *n = names, *after; n != NULL; n = after) {
		after = n->next;
		memset(n->text, 'X', strlen(n->text));
		free(n);
	}
	names = NULL;
	atomic_store(&shared, false);
	atomic_store(&is_subscribed, false);
	pthread_mutex_unlock(&g);
	return OK;
}

/* --- the second forms, which serve several clients ------------------------------------------------------------- */

#if VERSION >= 130000
typedef struct {
	size_t size;
	const char *name;
	char *old;
	size_t old_size;
	uint8_t allow, pad[7];
} parameters;

API uint32_t cuptiSubscribe_v2(void **handle, callback cb, void *with, parameters *p)
{
	if (p != NULL && p->old != NULL && (atomic_load(&is_subscribed) || getenv("FAKE_SUBSCRIBE") != NULL))
		snprintf(p->old, p->old_size, "CUPTI for another");
	const uint32_t result = do_subscribe(handle, cb, with);
	if (result == OK)
		atomic_store(&shared, true);
	return result;
}

API uint32_t cuptiActivityRegisterCallbacks_v2(void *handle, void (*r)(uint8_t **, size_t *, size_t *, void *), void (*c)(uint8_t *, size_t, size_t, void *))
{
	check_handle(handle);
	requested2 = r, completed2 = c;
	return OK;
}

API uint32_t cuptiActivityEnable_v2(void *handle, uint32_t kind, void *config)
{
	check_handle(handle);
	return config == NULL ? set_kind(kind, true) : INVALID;
}

API uint32_t cuptiActivityDisable_v2(void *handle, uint32_t kind, void *config)
{
	check_handle(handle);
	return config == NULL ? set_kind(kind, false) : INVALID;
}

API uint32_t cuptiActivityGetNextRecord_v2(void *handle, uint8_t *data, size_t valid, uint8_t **record)
{
	if (handle != &subscribed)
		fault("wrong handle of a subscriber");
	return next(data, valid, record);
}

API uint32_t cuptiActivityGetNumDroppedRecords_v2(void *handle, void *context, uint32_t stream, size_t *n)
{
	check_handle(handle);
	return cuptiActivityGetNumDroppedRecords(context, stream, n);
}

API uint32_t cuptiGetTimestamp_v2(void *handle, uint64_t *t)
{
	check_handle(handle);
	return cuptiGetTimestamp(t);
}
#endif
