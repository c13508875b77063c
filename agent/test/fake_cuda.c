/* A libcuda.so.1 (and libcudart, in one) without a GPU: calls, streams, graphs, contexts, two devices. Work takes FAKE_KERNEL_NS
 * (5,000) on its stream's own time line. cuInit loads CUDA_INJECTION64_PATH as the driver does. FAKE_DRIVER: cuDriverGetVersion. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

#define API __attribute__((visibility("default")))
enum { OK = 0, NOT_INITIALIZED = 3, STREAMS = 4096 };

typedef struct {
	uint32_t x, y, z;
} dim3;

API _Atomic(const fake_hooks *) fake_cuda_hooks;

static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
API atomic_int fake_cuda_ready;
static pid_t owner;
static atomic_uint correlation, streams = 7, graphs, events, contexts = 1, modules;
static atomic_ullong nodes = 1u << 20;
static atomic_ullong busy[STREAMS]; /* until when, by stream */
static fake_graph *_Atomic capturing[STREAMS];
static _Thread_local uint32_t device, nested;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t duration(void)
{
	const char *s = getenv("FAKE_KERNEL_NS");
	return s != NULL ? strtoull(s, NULL, 10) : 5000;
}

static const fake_hooks *hooks(void) { return atomic_load(&fake_cuda_hooks); }

API int cuDriverGetVersion(int *version)
{
	const char *s = getenv("FAKE_DRIVER");
	*version = s != NULL ? atoi(s) : 13000;
	return OK;
}

/* --- devices: the same numbers as fake_cupti.c's records ----------------------------------------------------------- */

static int known(int device) { return !atomic_load(&fake_cuda_ready) ? NOT_INITIALIZED : device >= 0 && device < FAKE_DEVICES ? OK : 101; }

API int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return known(ordinal);
}

API int cuDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "Fake GPU");
	return known(device);
}

API int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	*bytes = 80000000000u + (size_t)device;
	return known(device);
}

API int cuDeviceGetUuid(uint8_t *uuid, int device)
{
	for (int i = 0; i < 16; i++)
		uuid[i] = (uint8_t)(i * 16 + device);
	return known(device);
}

API int cuDeviceGetAttribute(int *value, int which, int device)
{
	switch (which) {
	case 10: *value = 32; break;
	case 13: *value = 1980000 + device; break;
	case 16: *value = 132 + device; break;
	case 36: *value = 4000000 + device; break;
	case 37: *value = 4000; break;
	case 38: *value = 50000000 + device; break;
	case 39: *value = 2048; break;
	case 75: *value = 9; break;
	case 76: *value = device; break;
	case 81: *value = 233472; break;
	case 82: *value = 65536; break;
	default: return 1;
	}
	return known(device);
}

static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	if (path == NULL || *path == 0)
		return;
	void *library = dlopen(path, RTLD_NOW);
	if (library == NULL) {
		fprintf(stderr, "fake cuda: %s\n", dlerror());
		return;
	}
	int (*initialize)(void);
	void *symbol = dlsym(library, "InitializeInjection");
	memcpy(&initialize, &symbol, sizeof symbol);
	if (initialize != NULL)
		initialize();
}

API int cuInit(unsigned flags)
{
	(void)flags;
	pthread_mutex_lock(&once);
	if (!atomic_load(&fake_cuda_ready)) {
		owner = getpid();
		inject();
		atomic_store(&fake_cuda_ready, 1);
		if (hooks() != NULL)
			hooks()->context(1, 0);
	}
	pthread_mutex_unlock(&once);
	return owner == getpid() ? OK : NOT_INITIALIZED;
}

/* Each call: begin gives its correlation, 0 where CUDA does not work (a fork). A driver's call in a runtime's has the same. */
typedef struct {
	uint32_t domain, cbid, corr;
	uint64_t start, kept;
	void *parameters[4];
} call;

static uint32_t context(void) { return device + 1; }

static call begin_with(uint32_t domain, uint32_t cbid, void *p0, void *p1)
{
	call c = {.domain = domain, .cbid = cbid, .parameters = {p0, p1}};
	if (cuInit(0) != OK)
		return c;
	c.corr = nested != 0 ? nested : atomic_fetch_add(&correlation, 1) + 1;
	c.start = now();
	if (hooks() != NULL)
		hooks()->call(domain, cbid, c.corr, 0, c.start, 0, OK, c.parameters, context(), &c.kept);
	return c;
}

static call begin(uint32_t domain, uint32_t cbid) { return begin_with(domain, cbid, NULL, NULL); }

static int end(call c)
{
	if (c.corr == 0)
		return NOT_INITIALIZED;
	if (hooks() != NULL)
		hooks()->call(c.domain, c.cbid, c.corr, 1, c.start, now(), OK, c.parameters, context(), &c.kept);
	return OK;
}

/* Puts work on its stream; in a capture it becomes a node. */
static void work(fake_work w)
{
	const uint32_t s = w.stream % STREAMS;
	fake_graph *g = atomic_load(&capturing[s]);
	if (g != NULL) {
		fake_node *n = calloc(1, sizeof *n);
		n->id = atomic_fetch_add(&nodes, 1);
		n->work = w;
		if (g->last != NULL)
			g->last->next = n;
		else
			g->first = n;
		g->last = n;
		if (hooks() != NULL)
			hooks()->resource(13, NULL, &(fake_graph_data){.graph = g, .node = n, .type = w.kind == FAKE_KERNEL ? 0 : w.kind == FAKE_SET ? 2 : 1});
		return;
	}
	const uint64_t takes = duration();
	unsigned long long free = atomic_load(&busy[s]), at;
	do
		at = free > now() + 1000 ? free : now() + 1000;
	while (!atomic_compare_exchange_weak(&busy[s], &free, at + takes));
	w.start = at, w.end = at + takes;
	if (hooks() != NULL)
		hooks()->work(&w);
}

static void wait_for(uint32_t stream)
{
	uint64_t until = 0;
	for (uint32_t s = 0; s < STREAMS; s++)
		if ((stream == UINT32_MAX || s == stream % STREAMS) && atomic_load(&busy[s]) > until)
			until = atomic_load(&busy[s]);
	for (uint64_t t = now(); t < until; t = now())
		nanosleep(&(struct timespec){.tv_nsec = (long)(until - t < 900000000 ? until - t : 900000000)}, NULL);
}

static uint32_t number(void *stream) { return stream != NULL ? (uint32_t)(uintptr_t)stream : 7; } /* 7: the null stream, as CUPTI has it */

static fake_work kernel(const char *name, dim3 grid, dim3 block, size_t shared, void *stream, uint32_t corr)
{
	return (fake_work){.kind = FAKE_KERNEL, .device = device, .context = context(), .stream = number(stream), .corr = corr, .name = name, .shared = (int32_t)shared,
		.grid = {(int32_t)grid.x, (int32_t)grid.y, (int32_t)grid.z}, .block = {(int32_t)block.x, (int32_t)block.y, (int32_t)block.z}};
}

/* A function is its name. The runtime's launch calls the driver's, under the same correlation. */
API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, void **parameters, void **extra)
{
	(void)parameters, (void)extra;
	call c = begin(1, FAKE_cuLaunchKernel);
	if (c.corr != 0)
		work(kernel(f, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, shared, stream, c.corr));
	return end(c);
}

API int cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream)
{
	call c = begin(2, FAKE_cudaLaunchKernel);
	if (c.corr != 0) {
		nested = c.corr;
		cuLaunchKernel((void *)(uintptr_t)f, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared, stream, arguments, NULL);
		nested = 0;
	}
	return end(c);
}

API int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
	(void)to, (void)from;
	call c = begin(2, FAKE_cudaMemcpyAsync);
	if (c.corr != 0)
		work((fake_work){.kind = FAKE_COPY, .device = device, .context = context(), .stream = number(stream), .corr = c.corr, .bytes = bytes,
			.copy_kind = (uint8_t)(kind == 1 ? 1 : kind == 2 ? 2 : 8), .src = kind == 1 ? 2 : 3, .dst = kind == 2 ? 1 : 3, .async = 1});
	return end(c);
}

API int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, void *stream)
{
	(void)to, (void)from;
	call c = begin(2, FAKE_cudaMemcpyPeerAsync);
	if (c.corr != 0)
		work((fake_work){.kind = FAKE_PEER, .device = (uint32_t)from_device, .peer = (uint32_t)to_device, .context = context(), .stream = number(stream), .corr = c.corr, .bytes = bytes,
			.copy_kind = 10, .src = 3, .dst = 3, .async = 1});
	return end(c);
}

API int cudaMemsetAsync(void *at, int value, size_t bytes, void *stream)
{
	(void)at;
	call c = begin(2, FAKE_cudaMemsetAsync);
	if (c.corr != 0)
		work((fake_work){.kind = FAKE_SET, .device = device, .context = context(), .stream = number(stream), .corr = c.corr, .bytes = bytes, .value = (uint32_t)value});
	return end(c);
}

static int sync_call(uint32_t domain, uint32_t cbid, uint32_t type, uint32_t stream, uint32_t event, void *object)
{
	call c = begin_with(domain, cbid, object, NULL);
	if (c.corr != 0) {
		wait_for(type == 3 ? stream : UINT32_MAX);
		if (hooks() != NULL)
			hooks()->sync(type, c.corr, context(), stream, event, c.start, now());
	}
	return end(c);
}

API int cudaDeviceSynchronize(void) { return sync_call(2, FAKE_cudaDeviceSynchronize, 4, UINT32_MAX, UINT32_MAX, NULL); }
API int cuCtxSynchronize(void) { return sync_call(1, FAKE_cuCtxSynchronize, 4, UINT32_MAX, UINT32_MAX, NULL); }
API int cudaStreamSynchronize(void *stream) { return sync_call(2, FAKE_cudaStreamSynchronize, 3, number(stream), UINT32_MAX, stream); }
API int cudaEventSynchronize(void *event) { return sync_call(2, FAKE_cudaEventSynchronize, 1, UINT32_MAX, (uint32_t)(uintptr_t)event, event); }

API int cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	(void)flags;
	call c = begin_with(2, FAKE_cudaStreamWaitEvent, stream, event);
	if (c.corr != 0 && hooks() != NULL)
		hooks()->sync(2, c.corr, context(), number(stream), (uint32_t)(uintptr_t)event, c.start, now());
	return end(c);
}

API int cudaEventCreate(void **event)
{
	call c = begin(2, FAKE_cudaEventCreate);
	*event = (void *)(uintptr_t)(atomic_fetch_add(&events, 1) + 1);
	return end(c);
}

API int cudaEventRecord(void *event, void *stream)
{
	call c = begin_with(2, FAKE_cudaEventRecord, event, stream);
	if (c.corr != 0 && hooks() != NULL)
		hooks()->event(c.corr, context(), number(stream), (uint32_t)(uintptr_t)event, device);
	return end(c);
}

API int cudaEventQuery(void *event)
{
	(void)event;
	return end(begin(2, FAKE_cudaEventQuery));
}

API int cudaGetLastError(void) { return end(begin(2, FAKE_cudaGetLastError)); }

API int cudaGetDevice(int *d)
{
	*d = (int)device;
	return end(begin(2, FAKE_cudaGetDevice));
}

/* The first use of a device makes its context. */
API int cudaSetDevice(int d)
{
	call c = begin(2, FAKE_cudaSetDevice);
	if (d < 0 || d >= FAKE_DEVICES)
		return 101;
	device = (uint32_t)d;
	unsigned one = 1;
	if (c.corr != 0 && d == 1 && atomic_compare_exchange_strong(&contexts, &one, 2) && hooks() != NULL)
		hooks()->context(2, 1);
	return end(c);
}

API int cudaStreamCreate(void **stream)
{
	call c = begin(2, FAKE_cudaStreamCreate);
	const uint32_t id = atomic_fetch_add(&streams, 1) + 1;
	*stream = (void *)(uintptr_t)id;
	if (c.corr != 0 && hooks() != NULL)
		hooks()->stream(context(), id, c.corr);
	return end(c);
}

static int memory(uint32_t cbid, uint32_t operation, void *at, size_t bytes)
{
	call c = begin(2, cbid);
	if (c.corr != 0 && hooks() != NULL)
		hooks()->memory(operation, c.corr, (uint64_t)(uintptr_t)at, bytes, device, context());
	return end(c);
}

API int cudaMalloc(void **at, size_t bytes)
{
	static atomic_ullong next = 0x7f0000000000;
	*at = (void *)(uintptr_t)atomic_fetch_add(&next, (bytes + 511) & ~(size_t)511);
	return memory(FAKE_cudaMalloc, 1, *at, bytes);
}

API int cudaFree(void *at) { return at == NULL ? cuInit(0) : memory(FAKE_cudaFree, 2, at, 0); }

API int cudaStreamBeginCapture(void *stream, int mode)
{
	(void)mode;
	call c = begin(2, FAKE_cudaStreamBeginCapture);
	fake_graph *g = calloc(1, sizeof *g);
	g->id = atomic_fetch_add(&graphs, 1) + 1;
	if (hooks() != NULL)
		hooks()->resource(9, NULL, &(fake_graph_data){.graph = g});
	atomic_store(&capturing[number(stream) % STREAMS], g);
	return end(c);
}

API int cudaStreamEndCapture(void *stream, void **graph)
{
	call c = begin(2, FAKE_cudaStreamEndCapture);
	*graph = atomic_exchange(&capturing[number(stream) % STREAMS], NULL);
	return end(c);
}

/* The executable graph is a clone: its nodes have numbers of their own, and these are in the records. */
API int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags)
{
	(void)flags;
	call c = begin(2, FAKE_cudaGraphInstantiate);
	fake_graph *from = graph, *g = calloc(1, sizeof *g);
	g->id = atomic_fetch_add(&graphs, 1) + 1;
	g->from = from;
	if (hooks() != NULL)
		hooks()->resource(11, NULL, &(fake_graph_data){.graph = g, .from_graph = from});
	for (fake_node *n = from->first; n != NULL; n = n->next) {
		fake_node *clone = calloc(1, sizeof *clone);
		*clone = (fake_node){.id = (uint64_t)g->id << 32 | atomic_fetch_add(&nodes, 1), .from = n, .work = n->work};
		if (g->last != NULL)
			g->last->next = clone;
		else
			g->first = clone;
		g->last = clone;
		if (hooks() != NULL)
			hooks()->resource(20, NULL, &(fake_graph_data){.graph = g, .from_graph = from, .node = clone, .from_node = n, .type = n->work.kind == FAKE_KERNEL ? 0 : n->work.kind == FAKE_SET ? 2 : 1});
	}
	if (hooks() != NULL)
		hooks()->resource(18, NULL, &(fake_graph_data){.graph = g, .exec = g});
	g->traced = hooks() != NULL && hooks()->graphs_whole();
	*exec = g;
	return end(c);
}

API int cudaGraphLaunch(void *exec, void *stream)
{
	call c = begin(2, FAKE_cudaGraphLaunch);
	fake_graph *g = exec;
	const int whole = hooks() != NULL && hooks()->graphs_whole();
	const uint64_t start = now();
	for (fake_node *n = g->first; c.corr != 0 && n != NULL; n = n->next) {
		fake_work w = n->work;
		w.stream = number(stream), w.corr = c.corr, w.graph = g->id, w.node = n->id;
		if (!whole)
			work(w);
	}
	if (whole && g->traced)
		hooks()->graph_run(c.corr, g->id, device, context(), number(stream), start, start + duration());
	return end(c);
}

static void free_graph(fake_graph *g)
{
	for (fake_node *n = g->first, *next; n != NULL; n = next) {
		next = n->next;
		free(n);
	}
	free(g);
}

API int cudaGraphExecDestroy(void *exec)
{
	call c = begin(2, FAKE_cudaGraphExecDestroy);
	if (hooks() != NULL)
		hooks()->resource(19, NULL, &(fake_graph_data){.exec = exec});
	free_graph(exec);
	return end(c);
}

API int cudaGraphDestroy(void *graph)
{
	call c = begin(2, FAKE_cudaGraphDestroy);
	free_graph(graph);
	return end(c);
}

static int profiler(uint32_t runtime, uint32_t driver)
{
	call c = begin(2, runtime);
	nested = c.corr;
	end(begin(1, driver));
	nested = 0;
	return end(c);
}

API int cudaProfilerStart(void) { return profiler(FAKE_cudaProfilerStart, FAKE_cuProfilerStart); }
API int cudaProfilerStop(void) { return profiler(FAKE_cudaProfilerStop, FAKE_cuProfilerStop); }

API int cuModuleLoadData(void **module, const void *code)
{
	call c = begin(1, FAKE_cuModuleLoadData);
	const uint32_t id = atomic_fetch_add(&modules, 1) + 1;
	*module = (void *)(uintptr_t)id;
	if (hooks() != NULL)
		hooks()->resource(6, NULL, &(fake_module_data){.module = id, .bytes = 1000 + id, .code = code});
	return end(c);
}
