/* What the fake driver and the fake CUPTI know of each other. The driver does what a program asks and tells the hooks, which
 * CUPTI fills in when a client subscribes: as the real pair does over the driver's export table. */
#ifndef FAKE_H
#define FAKE_H

#include <stdint.h>

/* C(DOMAIN, ID, NAME): 1 driver, 2 runtime. Those with an ID below 1000 have NVIDIA's own; the rest are ours. */
#define FAKE_CALLS(C) \
	C(2, 20, cudaMalloc) C(2, 22, cudaFree) C(2, 41, cudaMemcpyAsync) C(2, 131, cudaStreamSynchronize) C(2, 137, cudaEventSynchronize) \
	C(2, 147, cudaStreamWaitEvent) C(2, 165, cudaDeviceSynchronize) C(2, 211, cudaLaunchKernel) C(2, 311, cudaGraphLaunch) \
	C(2, 16, cudaSetDevice) C(2, 17, cudaGetDevice) C(2, 10, cudaGetLastError) C(2, 51, cudaMemsetAsync) C(2, 135, cudaEventRecord) C(2, 136, cudaEventQuery) \
	C(2, 129, cudaStreamCreate) C(2, 130, cudaStreamDestroy) C(2, 133, cudaEventCreate) C(2, 154, cudaMemcpyPeerAsync) C(2, 302, cudaStreamBeginCapture) C(2, 303, cudaStreamEndCapture) \
	C(2, 304, cudaGraphInstantiate) C(2, 305, cudaGraphExecDestroy) C(2, 306, cudaGraphDestroy) C(2, 200, cudaProfilerStart) C(2, 201, cudaProfilerStop) C(2, 202, cudaDeviceReset) \
	C(1, 1, cuInit) C(1, 307, cuLaunchKernel) C(1, 308, cuProfilerStart) C(1, 309, cuProfilerStop) C(1, 310, cuModuleLoadData) C(1, 311, cuModuleUnload) C(1, 312, cuCtxGetCurrent) C(1, 313, cuCtxSynchronize) C(1, 314, cuCtxCreate)

enum {
#define FAKE_ID(domain, id, name) FAKE_##name = id,
	FAKE_CALLS(FAKE_ID)
#undef FAKE_ID
};

typedef enum { FAKE_KERNEL = 10, FAKE_COPY = 1, FAKE_SET = 2, FAKE_PEER = 22 } fake_kind;

/* A piece of GPU work. What a record says beyond this follows from the correlation: see fake_hooks.h. */
typedef struct {
	fake_kind kind;
	uint32_t device, context, stream, corr, graph;
	uint64_t node, start, end, bytes;
	const char *name;
	int32_t grid[3], block[3], shared;
	uint8_t copy_kind, src, dst, async;
	uint32_t value, peer;
} fake_work;

/* The resource callback's data: NVIDIA's CUpti_GraphData, CUpti_ModuleResourceData. */
typedef struct {
	void *graph, *from_graph, *node, *from_node;
	uint32_t type, pad;
	void *dependency, *exec;
} fake_graph_data;
typedef struct {
	uint32_t module, pad;
	uint64_t bytes;
	const void *code;
} fake_module_data;

/* Objects of the driver begin with their number. */
typedef struct fake_node {
	uint64_t id;
	struct fake_node *from, *next;
	fake_work work;
} fake_node;
typedef struct fake_graph {
	uint32_t id;
	struct fake_graph *from;
	int traced; /* graphs were traced as a whole when it was instantiated */
	fake_node *first, *last;
} fake_graph;

typedef struct {
	/* parameters: as the call has them, one after the other; kept: a number of the client's, from the call's begin to its end */
	void (*call)(uint32_t domain, uint32_t cbid, uint32_t corr, int ends, uint64_t start, uint64_t end, int result, void *const *parameters, uint32_t context, uint64_t *kept);
	void (*work)(const fake_work *);
	void (*graph_run)(uint32_t corr, uint32_t graph, uint32_t device, uint32_t context, uint32_t stream, uint64_t start, uint64_t end);
	void (*sync)(uint32_t type, uint32_t corr, uint32_t context, uint32_t stream, uint32_t event, uint64_t start, uint64_t end);
	void (*event)(uint32_t corr, uint32_t context, uint32_t stream, uint32_t event, uint32_t device);
	void (*memory)(uint32_t operation, uint32_t corr, uint64_t address, uint64_t bytes, uint32_t device, uint32_t context);
	void (*stream)(uint32_t context, uint32_t stream, uint32_t corr);
	void (*context)(uint32_t context, uint32_t device);
	void (*resource)(uint32_t cbid, void *context, const void *descriptor);
	int (*graphs_whole)(void); /* whether graphs are traced as a whole */
} fake_hooks;

/* What a callback of a call gets: CUpti_CallbackData, 72 bytes. */
typedef struct {
	uint32_t site, pad;
	const char *function;
	const void *parameters, *result;
	const char *symbol;
	void *context;
	uint32_t context_id, pad_2;
	uint64_t *data;
	uint32_t correlation, pad_3;
} callback_data;

#define FAKE_DEVICES 2

#endif
