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
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 130000
#endif
#include "fake.h"
#include "fake_records.h"

#define API __attribute__((visibility("default")))
enum { OK = 0, INVALID = 1, LIMIT = 12, NOT_COMPATIBLE = 36, TAKEN = 39, KINDS = 64, CBIDS = 1024, DOMAINS = 4 };

typedef void (*callback)(void *, uint32_t, uint32_t, const void *);

static _Noreturn void fault(const char *what)
{
	fprintf(stderr, "fake cupti: %s\n", what);
	abort();
}

/* --- state ----------------------------------------------------------------------------------------------------- */

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
static bool running, contexts_seen[FAKE_DEVICES];
static pthread_t worker;
static unsigned epoch = 1; /* one more after each finalise: threads' buffers of before are void */

static callback subscriber;
static void *user;
static char subscribed; /* its address is the handle */
static atomic_bool is_subscribed, shared;
static atomic_bool kinds[KINDS], callbacks[DOMAINS][CBIDS];
static pid_t owner;
static bool zeroed; /* the client gives buffers that are all zero */
static void (*requested)(uint8_t **, size_t *, size_t *);
static void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t);
static void (*requested2)(uint8_t **, size_t *, size_t *, void *);
static void (*completed2)(uint8_t *, size_t, size_t, void *);
static atomic_uint tid_type;

static _Thread_local bool in_buffer_callback, in_resource_callback, in_call_callback, in_exit_callback;
static _Thread_local buffer *mine;
static _Thread_local unsigned mine_epoch;
static buffer *common;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t tid(void) { return (uint32_t)syscall(SYS_gettid); }

static void check(bool needs_subscriber)
{
	if (in_buffer_callback)
		fault("called from a buffer's callback");
	if (owner != 0 && owner != getpid())
		fault("called in a fork");
	if (needs_subscriber && !atomic_load(&is_subscribed))
		fault("called without a subscriber: after cuptiUnsubscribe or cuptiFinalize");
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

/* --- what the driver tells ------------------------------------------------------------------------------------- */

static bool on(uint32_t kind) { return atomic_load(&kinds[kind]); }

static uint32_t thread(void) { return atomic_load(&tid_type) == 1 ? tid() : (uint32_t)(uintptr_t)pthread_self(); }

typedef struct {
	uint32_t site, pad;
	const char *function;
	const void *parameters, *result;
	const char *symbol;
	void *context;
	uint32_t context_id, pad_2;
	uint64_t *data;
	uint32_t correlation, pad_3;
} callback_data; /* 72 */

static void hook_call(uint32_t domain, uint32_t cbid, uint32_t corr, int ends, uint64_t start, uint64_t end, int result, void *const *parameters, uint32_t context, uint64_t *kept)
{
	const uint32_t kind = domain == 1 ? 4 : 5;
	if (ends && on(kind)) {
		cupti_api r = {.kind = kind, .cbid = cbid, .start = start, .end = end, .process = (uint32_t)getpid(), .thread = thread(), .correlation = corr, .result = (uint32_t)result};
		pthread_mutex_lock(&g);
		put(&r, 0, 0, 0);
		pthread_mutex_unlock(&g);
	}
	if (!atomic_load(&is_subscribed) || !atomic_load(&callbacks[domain][cbid]))
		return;
	callback_data d = {.site = (uint32_t)ends, .parameters = parameters, .result = &result, .context = (void *)(uintptr_t)(0x1000 + context), .context_id = context, .data = kept, .correlation = corr};
	in_call_callback = true;
	in_exit_callback = ends;
	subscriber(user, domain, cbid, &d);
	in_call_callback = in_exit_callback = false;
}

static void hook_work(const fake_work *w)
{
	const bool unlinked = getenv("FAKE_UNLINKED") != NULL;
	const char *stuck = getenv("FAKE_STUCK");
	const uint32_t c = w->corr;
	if (!on(w->kind))
		return;
	pthread_mutex_lock(&g);
	if (w->kind == FAKE_KERNEL) {
		cupti_kernel r = {
			.kind = 10, .cache_config = 0x11, .shared_config = 2, .registers = (uint16_t)(16 + c % 200), .partitioned_requested = 1, .partitioned_executed = 2, .completed = w->end + 1,
			.device = w->device, .context = w->context, .stream = w->stream, .grid_x = w->grid[0], .grid_y = w->grid[1], .grid_z = w->grid[2],
			.block_x = w->block[0], .block_y = w->block[1], .block_z = w->block[2], .static_shared = (int32_t)(1000 + c % 100), .dynamic_shared = w->shared,
			.local_per_thread = 77, .local_total_32 = 78, .correlation = unlinked && !on(5) ? 0 : c, .grid_id = (int64_t)(5000000000 + c), .name = keep(w->name), .queued = 1, .submitted = 2,
			.launch_type = (uint8_t)(c % 3), .shared_executed = 79, .graph_node = w->node, .shared_limit_config = 80, .graph = w->graph, .access_policy = (void *)81,
			.channel = 10 + c % 5, .channel_type = 82, .cluster_x = 1 + c % 4, .cluster_y = 2 + c % 4, .cluster_z = 3 + c % 4, .cluster_policy = 83, .local_total = 6000000000u + c,
			.max_potential_cluster = 84, .max_active_clusters = 85, .device_launched = 1, .priority = -(int32_t)(c % 6), .execution_model = 86, .source_graph = 87, .source_node = 88,
		};
		const bool never = stuck != NULL && strcmp(stuck, w->name) == 0;
		put(&r, 16, w->start, never ? UINT64_MAX : w->end);
	} else if (w->kind == FAKE_SET) {
		cupti_memset r = {.kind = 2, .value = w->value, .bytes = w->bytes, .device = w->device, .context = w->context, .stream = w->stream, .correlation = c, .flags = 1, .memory_kind = 3,
			.graph_node = w->node, .graph = w->graph, .channel = 5, .channel_type = 6, .device_launched = 7};
		put(&r, 16, w->start, w->end);
	} else if (w->kind == FAKE_COPY) {
		cupti_memcpy r = {.kind = 1, .copy_kind = w->copy_kind, .src_kind = w->src, .dst_kind = w->dst, .flags = w->async, .bytes = w->bytes, .device = w->device, .context = w->context,
			.stream = w->stream, .correlation = c, .runtime_correlation = c + 1000000, .graph_node = w->node, .graph = w->graph, .channel = 5, .channel_type = 6, .copy_count = 9};
		put(&r, 16, w->start, w->end);
	} else {
		cupti_memcpy2 r = {.kind = 22, .copy_kind = w->copy_kind, .src_kind = w->src, .dst_kind = w->dst, .flags = w->async, .bytes = w->bytes, .device = w->device, .context = w->context,
			.stream = w->stream, .src_device = w->device, .src_context = 91, .dst_device = w->peer, .dst_context = 92, .correlation = c, .graph_node = w->node, .graph = w->graph, .channel = 5, .channel_type = 6};
		put(&r, 16, w->start, w->end);
	}
	pthread_mutex_unlock(&g);
}

static void put_one(uint32_t kind, const void *record)
{
	if (!on(kind))
		return;
	pthread_mutex_lock(&g);
	put(record, 0, 0, 0);
	pthread_mutex_unlock(&g);
}

static void hook_graph_run(uint32_t corr, uint32_t graph, uint32_t device, uint32_t context, uint32_t stream, uint64_t start, uint64_t end)
{
	cupti_graph_trace r = {.kind = 51, .correlation = corr, .start = start, .end = end, .device = device, .graph = graph, .context = context, .stream = stream, .end_device = 93, .end_context = 94};
	put_one(51, &r);
}

static void hook_sync(uint32_t type, uint32_t corr, uint32_t context, uint32_t stream, uint32_t event, uint64_t start, uint64_t end)
{
	cupti_synchronization r = {.kind = 38, .type = type, .start = start, .end = end, .correlation = corr, .context = context, .stream = stream, .event = event,
		.event_sync_id = event == UINT32_MAX ? UINT64_MAX : 7000000000u + event, .result = 0};
	put_one(38, &r);
}

static void hook_event(uint32_t corr, uint32_t context, uint32_t stream, uint32_t event, uint32_t device)
{
	cupti_event r = {.kind = 36, .correlation = corr, .context = context, .stream = stream, .event = event, .device = device, .device_time = now(), .event_sync_id = 7000000000u + event};
	put_one(36, &r);
}

static void hook_memory(uint32_t operation, uint32_t corr, uint64_t address, uint64_t bytes, uint32_t device, uint32_t context)
{
	cupti_memory2 r = {.kind = 49, .operation = operation, .memory_kind = 3, .correlation = corr, .address = address, .bytes = bytes, .time = now(), .pc = 95, .process = (uint32_t)getpid(),
		.device = device, .context = context, .stream = UINT32_MAX, .name = NULL, .is_async = 0};
	put_one(49, &r);
	cupti_memory_pool p = {.kind = 50, .operation = operation, .type = 1, .correlation = corr, .process = (uint32_t)getpid(), .device = device, .min_keep = 4096, .address = address, .size = bytes,
		.threshold = 8192, .time = r.time, .utilized = bytes / 2, .managed = 1};
	put_one(50, &p);
	cupti_overhead o = {.kind = 17, .overhead_kind = 3u << 16, .object_kind = 2, .process = (uint32_t)getpid(), .thread = thread(), .stream = 96, .start = r.time, .end = r.time + 100, .correlation = corr};
	put_one(17, &o);
}

static void hook_stream(uint32_t context, uint32_t stream, uint32_t corr)
{
	cupti_stream r = {.kind = 37, .context = context, .stream = stream, .priority = 3, .flag = 1, .correlation = corr};
	put_one(37, &r);
}

static void hook_context(uint32_t context, uint32_t device)
{
	contexts_seen[device] = true;
	cupti_context r = {.kind = 9, .context = context, .device = device, .api = 1, .null_stream = (uint16_t)(6 + context), .parent = 97, .process = 98};
	put_one(9, &r);
	cupti_jit j = {.kind = 52, .entry = 2, .operation = 1, .device = device, .start = now() - 10, .end = now(), .correlation = 55, .operation_correlation = 99, .cache_size = 1234, .path = "/cache/x", .process = 1, .thread = thread()};
	put_one(52, &j);
}

static void hook_resource(uint32_t cbid, void *context, const void *descriptor)
{
	if (!atomic_load(&is_subscribed) || !atomic_load(&callbacks[3][cbid]))
		return;
	const void *data[3] = {context, NULL, descriptor};
	in_resource_callback = true;
	subscriber(user, 3, cbid, data);
	in_resource_callback = false;
}

static int hook_whole(void) { return on(51); }

static const fake_hooks hooks = {hook_call, hook_work, hook_graph_run, hook_sync, hook_event, hook_memory, hook_stream, hook_context, hook_resource, hook_whole};

static void set_hooks(const fake_hooks *to)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (cuda == NULL)
		fault("no driver is loaded");
	_Atomic(const fake_hooks *) *at = dlsym(cuda, "fake_cuda_hooks");
	atomic_store(at, to);
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
