/* What cupti.c, subscribe.c, find.c, kinds.c, calls.c, waits.c, buffers.c, records.c, device.c and graph.c know of CUPTI: its functions, and each other. CUPTI's
 * numbers (kinds, domains, results) are stable over all releases. */
#ifndef LACUNA_CUPTI_H
#define LACUNA_CUPTI_H

#include "agent.h"

/* Results that mean something to us. */
enum { CUPTI_OK = 0, CUPTI_TOO_NEW = 15, CUPTI_TAKEN = 39 };
enum { CUPTI_DRIVER = 1, CUPTI_RUNTIME = 2, CUPTI_RESOURCE = 3 }; /* domains of callbacks */
enum {
	CUPTI_MEMCPY = 1, CUPTI_MEMSET = 2, CUPTI_KERNEL = 3, CUPTI_API_DRIVER = 4, CUPTI_API_RUNTIME = 5, CUPTI_DEVICE = 8, CUPTI_CONTEXT = 9,
	CUPTI_CONCURRENT_KERNEL = 10, CUPTI_OVERHEAD = 17, CUPTI_MEMCPY2 = 22, CUPTI_CUDA_EVENT = 36, CUPTI_STREAM = 37, CUPTI_SYNCHRONIZATION = 38,
	CUPTI_MEMORY2 = 49, CUPTI_MEMORY_POOL = 50, CUPTI_GRAPH_TRACE = 51, CUPTI_JIT = 52
};

/* Values of cuptiGetVersion: up to 12.9 it counts, from 13.0 it is the release. */
enum {
	CUPTI_11_8 = 18, CUPTI_12_2 = 20, CUPTI_12_4 = 22, CUPTI_12_5 = 23, CUPTI_12_6 = 24, CUPTI_12_8 = 26, CUPTI_12_9 = 27,
	CUPTI_13_0 = 130000, CUPTI_13_1 = 130100, CUPTI_13_3 = 130300
};

typedef void (*lac_cupti_callback)(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void (*lac_cupti_requested)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*lac_cupti_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef void (*lac_cupti_requested2)(uint8_t **buffer, size_t *size, size_t *records, void *info);
typedef void (*lac_cupti_completed2)(uint8_t *buffer, size_t size, size_t valid, void *info);

/* CUpti_SubscriberParams as it is since 13.3. */
typedef struct {
	size_t size;
	const char *name;
	char *holder;
	size_t holder_size;
	uint8_t share, pad[7];
} lac_cupti_params;

/* F(needed, member, symbol, arguments): every function that is looked up. Not needed: what a release lacks is done without. */
#define LAC_CUPTI_FUNCTIONS(F) \
	F(1, get_version, cuptiGetVersion, (uint32_t *)) \
	F(1, subscribe, cuptiSubscribe, (void **, lac_cupti_callback, void *)) \
	F(1, unsubscribe, cuptiUnsubscribe, (void *)) \
	F(1, enable_callback, cuptiEnableCallback, (uint32_t, void *, uint32_t, uint32_t)) \
	F(1, enable_domain, cuptiEnableDomain, (uint32_t, void *, uint32_t)) \
	F(1, callback_name, cuptiGetCallbackName, (uint32_t, uint32_t, const char **)) \
	F(1, register_callbacks, cuptiActivityRegisterCallbacks, (lac_cupti_requested, lac_cupti_completed)) \
	F(1, enable, cuptiActivityEnable, (uint32_t)) \
	F(1, disable, cuptiActivityDisable, (uint32_t)) \
	F(1, flush, cuptiActivityFlushAll, (uint32_t)) \
	F(1, next_record, cuptiActivityGetNextRecord, (uint8_t *, size_t, uint8_t **)) \
	F(1, get_timestamp, cuptiGetTimestamp, (uint64_t *)) \
	F(0, dropped, cuptiActivityGetNumDroppedRecords, (void *, uint32_t, size_t *)) \
	F(0, thread_ids, cuptiSetThreadIdType, (uint32_t)) \
	F(0, set_attribute, cuptiActivitySetAttribute, (uint32_t, size_t *, void *)) \
	F(0, finalize, cuptiFinalize, (void)) \
	F(0, result_string, cuptiGetResultString, (uint32_t, const char **)) \
	F(0, node_id, cuptiGetGraphNodeId, (void *, uint64_t *)) \
	F(0, graph_id, cuptiGetGraphId, (void *, uint32_t *)) \
	F(0, exec_id, cuptiGetGraphExecId, (void *, uint32_t *)) \
	F(0, stream_id, cuptiGetStreamIdEx, (void *, void *, uint8_t, uint32_t *)) \
	F(0, device_id, cuptiGetDeviceId, (void *, uint32_t *)) \
	F(0, subscribe2, cuptiSubscribe_v2, (void **, lac_cupti_callback, void *, lac_cupti_params *)) \
	F(0, register_callbacks2, cuptiActivityRegisterCallbacks_v2, (void *, lac_cupti_requested2, lac_cupti_completed2)) \
	F(0, enable2, cuptiActivityEnable_v2, (void *, uint32_t, void *)) \
	F(0, disable2, cuptiActivityDisable_v2, (void *, uint32_t, void *)) \
	F(0, next_record2, cuptiActivityGetNextRecord_v2, (void *, uint8_t *, size_t, uint8_t **)) \
	F(0, dropped2, cuptiActivityGetNumDroppedRecords_v2, (void *, void *, uint32_t, size_t *)) \
	F(0, get_timestamp2, cuptiGetTimestamp_v2, (void *, uint64_t *))

#define LAC_CUPTI_MEMBER(needed, member, symbol, arguments) uint32_t (*member) arguments;

typedef struct {
	LAC_CUPTI_FUNCTIONS(LAC_CUPTI_MEMBER)
	void *subscriber;
	bool shared;       /* subscribed by cuptiSubscribe_v2: the functions with a 2 are to be used */
	uint32_t version;  /* cuptiGetVersion */
	int driver;        /* cuDriverGetVersion, 13000 for 13.0; 0 unknown */
	char path[4096];
} lac_cupti_api;

/* The library in use. Written while nothing else of ours touches CUPTI, read by any thread afterwards. */
extern lac_cupti_api lac_cupti;

/* --- find.c ----------------------------------------------------------------------------------------------------- */

/* Version of the driver that is loaded, as cuDriverGetVersion has it; 0: none is loaded. */
int lac_driver_version(void);
/* Offers paths or sonames of libcupti, best first, until one is taken: attempt returns true for that. loaded: this copy is
 * in the process already, and a second one must not be loaded beside it. False: none was taken. */
bool lac_find_cupti(int driver, bool (*attempt)(const char *path, bool loaded));
/* Fills api's functions from a library that dlopen gave. NULL, or the name of what is missing. */
const char *lac_cupti_bind(lac_cupti_api *api, void *library);
/* Name of a loaded library that is known to hold CUPTI, other than ours; "" when there is none. */
void lac_find_holder(char *name, size_t size);

/* --- subscribe.c ------------------------------------------------------------------------------------------------ */

/* Finds a libcupti that works with this driver and subscribes, into lac_cupti. 0; -1 failed, -2 another client has it: then reason says why. */
int lac_cupti_subscribe(lac_cupti_callback callback, char *reason, size_t size);

/* --- buffers.c -------------------------------------------------------------------------------------------------- */

typedef struct lac_buffer lac_buffer;

void lac_buffer_requested(uint8_t **buffer, size_t *size, size_t *records);
void lac_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
void lac_buffer_requested2(uint8_t **buffer, size_t *size, size_t *records, void *info);
void lac_buffer_completed2(uint8_t *buffer, size_t size, size_t valid, void *info);
/* Bounds all buffers; may_refuse: CUPTI bears to get none (12.9 on). */
void lac_buffers_limit(size_t bytes, bool may_refuse);
/* From now on buffers are all zero when CUPTI gets them. Else it clears them itself, on the thread that launches: 0.36 to 0.55 ms for a
 * buffer of some 5,000 kernels, as its own records of overhead say (H200, CUPTI 13.0). */
void lac_buffers_zeroed(bool on);
/* Has a few buffers ready, their pages in memory. */
void lac_buffers_prepare(void);
/* Writer's thread: the oldest filled buffer, NULL when none waits; after it was read it is given back. */
lac_buffer *lac_buffers_take(uint8_t **data, size_t *valid);
void lac_buffers_give(lac_buffer *buffer, size_t valid, uint64_t records);
/* Frees those that nobody uses. */
void lac_buffers_trim(void);
size_t lac_buffers_bytes(void);
/* Whether memory runs short since the last time that this was asked: threads that ended, or rest, have buffers that are almost empty. */
bool lac_buffers_pressed(void);
/* Buffers that came back without being ours: another client's. */
unsigned lac_buffers_foreign(void);
/* What waits is given up and counted: after cuptiFinalize the names in it are gone. */
void lac_buffers_discard(void);
void lac_buffers_forked(void);

/* --- calls.c ---------------------------------------------------------------------------------------------------- */

/* Whether calls of this name are recorded; whether such a call launches a kernel. */
bool lac_call_matters(const char *name);
bool lac_call_launches(const char *name);
/* Switches the callbacks of calls that are recorded, and of those that wait. */
void lac_calls(bool on);
/* The beginning or end of a call of the driver's or the runtime's. */
void lac_call(uint32_t domain, uint32_t cbid, const void *data);

/* --- kinds.c ---------------------------------------------------------------------------------------------------- */

/* Whether LACUNA_KINDS has this name; where it is empty, all have that cost little. */
bool lac_kinds_group(const char *group);
/* Whether CUPTI can make records at all: its result for the smallest kind, that of devices. */
uint32_t lac_kinds_probe(void);
/* Right after CUPTI was subscribed to. early: in cuInit, when there are no contexts and graphs yet. */
void lac_kinds_begin(bool early);
/* Whether contexts and graphs may be older than our subscription: CUPTI tells nothing of those. */
bool lac_kinds_late(void);
/* Switches all kinds and resource callbacks; once is enough, more do nothing. From any thread, also from a call's callback. stay: what cannot be
 * switched on again later stays on. */
void lac_kinds_on(void);
void lac_kinds_off(bool stay);
/* Window profiler: which runs of graphs are in a window, by the correlations of the calls that open and close it; 0: the newest run that was
 * read. From any thread; the question from the writer's. */
void lac_kinds_span(bool begins, uint32_t corr);
bool lac_kinds_in_span(uint32_t corr);
/* A call begins while no window is open; and whether work of that correlation was launched after the window closed. */
void lac_kinds_call_outside(uint32_t corr);
bool lac_kinds_outside(uint32_t corr);
void lac_kinds_forget(void);
bool lac_kinds_have(uint32_t kind);
/* Has CUPTI record the calls from now on, and ends our own records of them: for a release that links kernels to calls only then. */
void lac_kinds_api_records(void);
/* JSON members kinds and missing, for the note. */
void lac_kinds_note(char *to, size_t size);

/* --- cupti.c ---------------------------------------------------------------------------------------------------- */

/* ID of a stream, UINT32_MAX when it cannot be told. From callbacks. */
uint32_t lac_cupti_stream(void *context, void *stream, bool per_thread);
/* ID of a context's GPU, UINT32_MAX when it cannot be told. From callbacks. */
uint32_t lac_cupti_device(void *context);
/* CUPTI's clock, from the system's and what they differed by at the start: no call of CUPTI. */
uint64_t lac_gpu_ns(void);
/* Whether the callbacks of this call stay on between windows: cudaProfilerStart and Stop, where they open and close them. */
bool lac_cupti_watches(uint32_t domain, uint32_t cbid);
/* CUPTI's words for a result. */
const char *lac_cupti_result(uint32_t result);

/* --- records.c -------------------------------------------------------------------------------------------------- */

/* Records so far, of all kinds. Writer's thread. */
uint64_t lac_records_walked(void);
/* Kernels so far whose record names no call. */
uint64_t lac_records_unlinked(void);

/* --- device.c: writer's thread ------------------------------------------------------------------------------------ */

/* A record names this GPU. */
void lac_device_used(uint32_t device);
/* A row of this GPU is written; true: there was one. */
bool lac_device_told(uint32_t device);
/* "GPU-…", as a text's ID. */
uint32_t lac_uuid_text(const uint8_t *uuid);
/* Writes a row of each GPU that is used and has none. */
void lac_devices_ask(void);
void lac_devices_forked(void);

#endif
