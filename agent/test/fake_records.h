/* The records of CUPTI, as the release VERSION has them: written from their descriptions as packed structures, apart from the
 * agent's offsets, so that the two check each other. Each release only appends; SIZE gives what is written of each. */
#ifndef FAKE_RECORDS_H
#define FAKE_RECORDS_H

#include <stdint.h>

typedef struct __attribute__((packed)) {
	uint32_t kind;
	uint8_t cache_config, shared_config;
	uint16_t registers;
	uint32_t partitioned_requested, partitioned_executed;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid_x, grid_y, grid_z, block_x, block_y, block_z, static_shared, dynamic_shared;
	uint32_t local_per_thread, local_total_32, correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch_type, carveout_requested, carveout, pad_1;
	uint32_t shared_executed;
	uint64_t graph_node;
	uint32_t shared_limit_config, graph; /* 160 here: CUDA 11.0 */
	void *access_policy; /* 168: 11.2 */
	uint32_t channel, channel_type; /* 176: 11.6 */
	uint32_t cluster_x, cluster_y, cluster_z, cluster_policy;
	uint64_t local_total; /* 200: 11.8 */
	uint32_t max_potential_cluster, max_active_clusters; /* 208: 12.0 */
	uint8_t device_launched, pad_2[7]; /* 216: 13.0 */
	int32_t priority;
	uint32_t pad_3; /* 224: 13.1 */
	uint32_t execution_model, pad_4; /* 232: 13.3 */
	uint32_t source_graph, pad_5;
	uint64_t source_node; /* 248: 13.4 */
} cupti_kernel;

typedef struct __attribute__((packed)) {
	uint32_t kind;
	uint8_t copy_kind, src_kind, dst_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime_correlation, pad;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph, channel, channel_type, pad_2; /* 88: 11.6 */
	uint64_t copy_count; /* 96: 12.8; device_launched is the byte at 84 */
	uint32_t source_graph, pad_3;
	uint64_t source_node; /* 112: 13.4 */
} cupti_memcpy;

typedef struct __attribute__((packed)) {
	uint32_t kind;
	uint8_t copy_kind, src_kind, dst_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, src_device, src_context, dst_device, dst_context, correlation;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph, channel, channel_type, pad;
} cupti_memcpy2; /* 96 */

typedef struct __attribute__((packed)) {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory_kind;
	uint32_t pad;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph, channel, channel_type, device_launched; /* 88: 11.6; 13.4 puts the source graph at 88 */
	uint32_t source_graph, pad_2;
	uint64_t source_node; /* 104: 13.4 */
} cupti_memset;

typedef struct __attribute__((packed)) {
	uint32_t kind, cbid;
	uint64_t start, end;
	uint32_t process, thread, correlation, result;
} cupti_api; /* 40 */

typedef struct __attribute__((packed)) {
	uint32_t kind, type;
	uint64_t start, end;
	uint32_t correlation, context, stream, event; /* 40 */
	uint64_t event_sync_id;
	uint32_t result, pad; /* 56: 12.8 */
} cupti_synchronization;

typedef struct __attribute__((packed)) {
	uint32_t kind, correlation, context, stream, event, pad; /* 24 */
	uint32_t device, pad_2;
	void *reserved;
	uint64_t device_time, event_sync_id; /* 56: 12.8 */
} cupti_event;

typedef struct __attribute__((packed)) {
	uint32_t kind, overhead_kind, object_kind, process, thread, stream;
	uint64_t start, end; /* 40 */
	uint32_t correlation, reserved; /* 48: 12.2 */
	void *data; /* 56: 12.4 */
} cupti_overhead;

typedef struct __attribute__((packed)) {
	uint32_t kind, correlation;
	uint64_t start, end;
	uint32_t device, graph, context, stream;
	void *reserved; /* 48: 11.7 */
	uint32_t end_device, end_context; /* 56: 12.3 */
} cupti_graph_trace;

typedef struct __attribute__((packed)) {
	uint32_t kind, operation, memory_kind, correlation;
	uint64_t address, bytes, time, pc;
	uint32_t process, device, context, stream;
	const char *name;
	uint32_t is_async, pad;
	uint8_t pool[40];
	const char *source; /* 120 without it; 128: 12.6 */
} cupti_memory2;

typedef struct __attribute__((packed)) {
	uint32_t kind, operation, type, correlation, process, device;
	uint64_t min_keep, address, size, threshold, time, utilized;
	uint8_t managed, pad[7];
} cupti_memory_pool; /* 80 */

typedef struct __attribute__((packed)) {
	uint32_t kind, flags;
	uint64_t bandwidth, memory;
	uint32_t constant, l2, warp, clock, engines, sms, max_ipc, warps_per_sm, blocks_per_sm, shared_per_sm, registers_per_sm, registers_per_block, shared_per_block, threads_per_block;
	uint32_t block_dims[3], grid_dims[3], major, minor, id, ecc;
	uint8_t uuid[16];
	const char *name;
	uint8_t visible, mig, pad[6];
	uint32_t gpu_instance, compute_instance;
	uint8_t mig_uuid[16]; /* 176: 11.x */
	uint32_t numa, numa_id; /* 184 */
	uint32_t tpcs, pad_2; /* 192: 13.2 */
} cupti_device;

typedef struct __attribute__((packed)) {
	uint32_t kind, context, device;
	uint16_t api, null_stream; /* 16 */
	uint32_t parent;
	uint8_t green, pad;
	uint16_t sms; /* 24: 12.4 */
	uint32_t cig, pad_2; /* 32: 12.5 */
	uint64_t process; /* 40: 13.x */
} cupti_context;

typedef struct __attribute__((packed)) {
	uint32_t kind, context, stream, priority, flag, correlation;
} cupti_stream; /* 24 */

typedef struct __attribute__((packed)) {
	uint32_t kind, entry, operation, device;
	uint64_t start, end;
	uint32_t correlation, pad;
	uint64_t operation_correlation, cache_size;
	const char *path; /* 64 */
	uint32_t process, thread; /* 72: 12.4 */
} cupti_jit;

/* Size of a record of that kind in release VERSION; 0: it has none. */
static inline uint32_t cupti_size(uint32_t kind)
{
	switch (kind) {
	case 10: return VERSION >= 130400 ? 248 : VERSION >= 130300 ? 232 : VERSION >= 130100 ? 224 : VERSION >= 130000 ? 216 : VERSION >= 19 ? 208 : 200;
	case 1: return VERSION >= 130400 ? 112 : VERSION >= 26 ? 96 : 88;
	case 22: return 96;
	case 2: return VERSION >= 130400 ? 104 : 88;
	case 4: case 5: return 40;
	case 38: return VERSION >= 26 ? 56 : 40;
	case 36: return VERSION >= 26 ? 56 : 24;
	case 17: return VERSION >= 22 ? 56 : VERSION >= 20 ? 48 : 40;
	case 51: return VERSION >= 21 ? 56 : 48;
	case 49: return VERSION >= 24 ? 128 : 120;
	case 50: return 80;
	case 8: return VERSION >= 130200 ? 192 : VERSION >= 19 ? 184 : 176;
	case 9: return VERSION >= 130000 ? 40 : VERSION >= 23 ? 32 : VERSION >= 22 ? 24 : 16;
	case 37: return 24;
	case 52: return VERSION >= 22 ? 72 : 64;
	}
	return 0;
}

_Static_assert(sizeof(cupti_kernel) == 248 && sizeof(cupti_memcpy) == 112 && sizeof(cupti_memcpy2) == 96 && sizeof(cupti_memset) == 104, "GPU work");
_Static_assert(sizeof(cupti_api) == 40 && sizeof(cupti_synchronization) == 56 && sizeof(cupti_event) == 56 && sizeof(cupti_overhead) == 56, "calls");
_Static_assert(sizeof(cupti_graph_trace) == 56 && sizeof(cupti_memory2) == 128 && sizeof(cupti_memory_pool) == 80, "graphs, memory");
_Static_assert(sizeof(cupti_device) == 192 && sizeof(cupti_context) == 40 && sizeof(cupti_stream) == 24 && sizeof(cupti_jit) == 72, "devices");

#endif
