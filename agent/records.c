//go:build ignore

/* CUPTI's records to rows of the spool. A record is read at fixed offsets: its structures are packed, each release only appends
 * to them, and fills the newest form. A field is read only from the version on that has it. Everything below 11.8's forms
 * needs no gate, because cupti.c takes nothing older. */
#include <stdlib.h>
#include <string.h>

#include "cupti.h"

#define NONE UINT32_MAX

/* Of any alignment: CUPTI keeps records to 8 bytes, but a broken buffer must not trap. */
static uint16_t u16(const uint8_t *r, size_t at) { uint16_t v; memcpy(&v, r + at, sizeof v); return v; }
static uint32_t u32(const uint8_t *r, size_t at) { uint32_t v; memcpy(&v, r + at, sizeof v); return v; }
static int32_t i32(const uint8_t *r, size_t at) { return (int32_t)u32(r, at); }
static uint64_t u64(const uint8_t *r, size_t at) { uint64_t v; memcpy(&v, r + at, sizeof v); return v; }
static const char *str(const uint8_t *r, size_t at) { return (const char *)(uintptr_t)u64(r, at); }

static void count(atomic_ullong *n) { atomic_fetch_add_explicit(n, 1, memory_order_relaxed); }

#define PUT(table, row) (count(&lac_accounts.records), lac_out_row(SPOOL_T_##table, &(row), sizeof(row)))

/* Names by address. CUPTI gives every record of a kernel the same pointer, so that comparing finds the ID faster than hashing; the
 * content is compared too, because an address may serve another name after a module is unloaded. */
typedef struct {
	const char *at;
	char *copy;
	uint32_t id;
} named;
enum { NAMES = 1024, NAME_LONGEST = 8192 };
static named names[NAMES];

static uint32_t name_id(const char *text)
{
	if (text == NULL)
		return 0;
	named *n = &names[((uintptr_t)text >> 3) * 0x9E3779B97F4A7C15u >> 54];
	if (n->at == text && strcmp(n->copy, text) == 0)
		return n->id;
	const size_t bytes = strlen(text);
	const uint32_t id = lac_out_text(text, bytes);
	if (bytes > NAME_LONGEST)
		return id;
	char *copy = realloc(n->copy, bytes + 1);
	if (copy == NULL)
		return id;
	memcpy(copy, text, bytes + 1);
	*n = (named){.at = text, .copy = copy, .id = id};
	return id;
}

/* Calls by ID, of driver and runtime: asked for once each. */
enum { CALLS = 4096 };
typedef struct {
	uint32_t id;
	bool known, matters, launches;
} call;
static call calls[2][CALLS];

/* Launches by correlation, the last ones: a driver's call inside a runtime's has the same, and counts once. */
enum { LAUNCHES = 1 << 16 };
static uint32_t launches[LAUNCHES];

/* A thread as CUPTI names it: subscribe.c. Not in records of calls, which are there only by choice. */
static uint32_t tid_of(uint32_t thread) { return lac_kinds_group("tid") ? thread : lac_rings_tid(thread); }

/* False: the record has not ended, or carries no time at all (known faults of CUPTI); such are counted and not written. */
static bool ended(uint64_t start, uint64_t end)
{
	if (start != 0 && end != 0)
		return true;
	count(&lac_accounts.unfinished);
	return false;
}

static atomic_ullong unlinked;
static uint64_t walked; /* records of all buffers */

uint64_t lac_records_walked(void) { return walked; }

uint64_t lac_records_unlinked(void) { return atomic_load(&unlinked); }

static void kernel(uint32_t version, const uint8_t *r)
{
	if (lac_kinds_outside(u32(r, 92)) || !ended(u64(r, 16), u64(r, 24)))
		return;
	spool_kernel row = {
		.start = u64(r, 16), .end = u64(r, 24), .node = u64(r, 144), .grid_id = (int64_t)u64(r, 96),
		.device = u32(r, 40), .context = u32(r, 44), .stream = u32(r, 48), .corr = u32(r, 92), .name = name_id(str(r, 104)),
		.grid_x = i32(r, 52), .grid_y = i32(r, 56), .grid_z = i32(r, 60), .block_x = i32(r, 64), .block_y = i32(r, 68), .block_z = i32(r, 72),
		.shared_static = i32(r, 76), .shared_dynamic = i32(r, 80), .local_total = u64(r, 192), .graph = u32(r, 156),
		.cluster_x = u32(r, 176), .cluster_y = u32(r, 180), .cluster_z = u32(r, 184), .channel = u32(r, 168), .registers = u16(r, 6), .launch_type = r[136],
	};
	if (version >= CUPTI_13_1)
		row.priority = i32(r, 216);
	count(&lac_accounts.kernels);
	lac_device_used(row.device);
	if (row.corr == 0)
		count(&unlinked);
	PUT(kernel, row);
}

static void copy(const uint8_t *r, bool peers)
{
	if (lac_kinds_outside(u32(r, peers ? 60 : 44)) || !ended(u64(r, 16), u64(r, 24)))
		return;
	spool_copy row = {
		.start = u64(r, 16), .end = u64(r, 24), .bytes = u64(r, 8), .device = u32(r, 32), .context = u32(r, 36), .stream = u32(r, 40),
		.src_device = NONE, .dst_device = NONE, .kind = r[4], .src = r[5], .dst = r[6], .async = r[7] & 1,
	};
	if (peers) {
		row.src_device = u32(r, 44), row.dst_device = u32(r, 52);
		row.corr = u32(r, 60), row.node = u64(r, 72), row.graph = u32(r, 80);
	} else {
		row.corr = u32(r, 44), row.node = u64(r, 64), row.graph = u32(r, 72);
	}
	lac_device_used(row.device);
	PUT(copy, row);
}

static void set(const uint8_t *r)
{
	if (lac_kinds_outside(u32(r, 44)) || !ended(u64(r, 16), u64(r, 24)))
		return;
	spool_set row = {
		.start = u64(r, 16), .end = u64(r, 24), .bytes = u64(r, 8), .node = u64(r, 64), .device = u32(r, 32), .context = u32(r, 36), .stream = u32(r, 40),
		.corr = u32(r, 44), .graph = u32(r, 72), .value = u32(r, 4), .memory = (uint8_t)u16(r, 50),
	};
	PUT(set, row);
}

static const call *called(const lac_library *library, bool driver, uint32_t cbid)
{
	static const call unknown = {.known = true};
	if (cbid >= CALLS)
		return &unknown;
	call *c = &calls[driver][cbid];
	if (c->known)
		return c;
	const char *name = NULL;
	if (library->callback_name(driver ? CUPTI_DRIVER : CUPTI_RUNTIME, cbid, &name) == CUPTI_OK && name != NULL)
		*c = (call){.id = lac_out_text(name, SIZE_MAX), .matters = lac_call_matters(name), .launches = lac_call_launches(name)};
	c->known = true;
	return c;
}

/* Both a runtime's call and the driver's inside it are written, when CUPTI gives both: they come in any order. The reader keeps
 * the outer one. */
static void api(const lac_library *library, const uint8_t *r, bool driver)
{
	const call *c = called(library, driver, u32(r, 4));
	if (!c->matters || !ended(u64(r, 8), u64(r, 16)))
		return;
	spool_call row = {
		.start = u64(r, 8), .end = u64(r, 16), .tid = u32(r, 28), .corr = u32(r, 32), .name = c->id, .result = u32(r, 36), .driver = driver,
	};
	if (c->launches && row.result == 0 && launches[row.corr % LAUNCHES] != row.corr) {
		launches[row.corr % LAUNCHES] = row.corr;
		count(&lac_accounts.launched);
	}
	PUT(call, row);
}

static void sync(uint32_t version, const uint8_t *r)
{
	if (!ended(u64(r, 8), u64(r, 16)))
		return;
	spool_sync row = {
		.start = u64(r, 8), .end = u64(r, 16), .kind = u32(r, 4), .context = u32(r, 28), .stream = u32(r, 32), .corr = u32(r, 24), .event = u32(r, 36), .sync_id = 0,
	};
	if (version >= CUPTI_12_8)
		row.sync_id = u64(r, 40), row.result = u32(r, 48);
	PUT(sync, row);
}

static void event(uint32_t version, const uint8_t *r)
{
	spool_event row = {.context = u32(r, 8), .stream = u32(r, 12), .corr = u32(r, 4), .event = u32(r, 16), .device = NONE, .sync_id = 0};
	if (version >= CUPTI_12_8)
		row.device = u32(r, 24), row.time = u64(r, 40), row.sync_id = u64(r, 48);
	PUT(event, row);
}

static void graph_run(const uint8_t *r)
{
	if (lac_kinds_outside(u32(r, 4)) || !lac_kinds_in_span(u32(r, 4)) || !ended(u64(r, 8), u64(r, 16)))
		return;
	lac_device_used(u32(r, 24));
	spool_graph_run row = {
		.start = u64(r, 8), .end = u64(r, 16), .device = u32(r, 24), .context = u32(r, 32), .stream = u32(r, 36), .corr = u32(r, 4), .graph = u32(r, 28),
	};
	PUT(graph_run, row);
}

static void overhead(uint32_t version, const uint8_t *r)
{
	enum { OF_THREAD = 2 };
	if (!ended(u64(r, 24), u64(r, 32)))
		return;
	spool_overhead row = {.start = u64(r, 24), .end = u64(r, 32), .kind = u32(r, 4), .object = u32(r, 8), .corr = NONE};
	if (row.object == OF_THREAD)
		row.tid = tid_of(u32(r, 16)); /* of {process, thread} */
	if (version >= CUPTI_12_2)
		row.corr = u32(r, 40);
	PUT(overhead, row);
}

static void memory(const uint8_t *r)
{
	spool_memory row = {
		.time = u64(r, 32), .address = u64(r, 16), .bytes = u64(r, 24), .operation = u32(r, 4), .kind = u32(r, 8), .device = u32(r, 52), .context = u32(r, 56),
		.stream = u32(r, 60), .corr = u32(r, 12), .name = name_id(str(r, 64)), .async = r[72],
	};
	PUT(memory, row);
}

static void pool(const uint8_t *r)
{
	spool_pool row = {
		.time = u64(r, 56), .address = u64(r, 32), .size = u64(r, 40), .used = u64(r, 64), .threshold = u64(r, 48), .keep = u64(r, 24), .operation = u32(r, 4),
		.type = u32(r, 8), .device = u32(r, 20), .corr = u32(r, 12),
	};
	PUT(pool, row);
}

static void stream(const uint8_t *r)
{
	spool_stream row = {.context = u32(r, 4), .stream = u32(r, 8), .priority = u32(r, 12), .flags = u32(r, 16)};
	PUT(stream, row);
}

static void context(const uint8_t *r)
{
	spool_context row = {.context = u32(r, 4), .device = u32(r, 8), .null_stream = u16(r, 14), .api = u16(r, 12)};
	PUT(context, row);
}

static void device(const uint8_t *r)
{
	if (lac_device_told(u32(r, 112)))
		return;
	spool_device row = {
		.device = u32(r, 112), .name = name_id(str(r, 136)), .uuid = lac_uuid_text(r + 120), .major = u32(r, 104), .minor = u32(r, 108), .sms = u32(r, 44), .warp = u32(r, 32),
		.clock_khz = u32(r, 36), .bandwidth_kbs = u64(r, 8), .memory = u64(r, 16), .l2 = u32(r, 28), .shared_per_sm = u32(r, 60), .registers_per_sm = u32(r, 64), .warps_per_sm = u32(r, 52),
	};
	PUT(device, row);
}

static void jit(uint32_t version, const uint8_t *r)
{
	if (!ended(u64(r, 16), u64(r, 24)))
		return;
	spool_jit row = {
		.start = u64(r, 16), .end = u64(r, 24), .entry = u32(r, 4), .operation = u32(r, 8), .device = u32(r, 12), .corr = u32(r, 32), .bytes = u64(r, 48), .path = name_id(str(r, 56)),
	};
	if (version >= CUPTI_12_4)
		row.tid = tid_of(u32(r, 68));
	PUT(jit, row);
}

void lac_records(const lac_library *library, uint8_t *buffer, size_t valid)
{
	const uint32_t version = library->version;
	uint8_t *r = NULL;
	/* Ends with "max limit reached", which says that the buffer is through. */
	while (library->next_record(buffer, valid, &r) == CUPTI_OK) {
		walked++;
		switch (u32(r, 0)) {
		case CUPTI_KERNEL: case CUPTI_CONCURRENT_KERNEL: kernel(version, r); break;
		case CUPTI_MEMCPY: copy(r, false); break;
		case CUPTI_MEMCPY2: copy(r, true); break;
		case CUPTI_MEMSET: set(r); break;
		case CUPTI_API_DRIVER: api(library, r, true); break;
		case CUPTI_API_RUNTIME: api(library, r, false); break;
		case CUPTI_SYNCHRONIZATION: sync(version, r); break;
		case CUPTI_CUDA_EVENT: event(version, r); break;
		case CUPTI_GRAPH_TRACE: graph_run(r); break;
		case CUPTI_OVERHEAD: overhead(version, r); break;
		case CUPTI_MEMORY2: memory(r); break;
		case CUPTI_MEMORY_POOL: pool(r); break;
		case CUPTI_STREAM: stream(r); break;
		case CUPTI_CONTEXT: context(r); break;
		case CUPTI_DEVICE: device(r); break;
		case CUPTI_JIT: jit(version, r); break;
		}
	}
}
