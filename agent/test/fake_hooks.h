/* Of the fake CUPTI: what the fake driver tells it, as records and callbacks. */
#ifndef FAKE_HOOKS_H
#define FAKE_HOOKS_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake_buffers.h"

enum { KINDS = 64, CBIDS = 1024, DOMAINS = 4 };

typedef void (*callback)(void *, uint32_t, uint32_t, const void *);

static callback subscriber;
static void *user;
static atomic_bool is_subscribed;
static atomic_bool kinds[KINDS], callbacks[DOMAINS][CBIDS];
static atomic_uint tid_type;
static _Thread_local bool in_resource_callback, in_call_callback, in_exit_callback;

static uint32_t tid(void) { return (uint32_t)syscall(SYS_gettid); }

static bool on(uint32_t kind) { return atomic_load(&kinds[kind]); }

static uint32_t thread(void) { return atomic_load(&tid_type) == 1 ? tid() : (uint32_t)(uintptr_t)pthread_self(); }

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

#endif
