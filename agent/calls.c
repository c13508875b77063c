//go:build ignore

/* Calls of CUDA, from callbacks of the calls themselves. CUPTI has records of calls (RUNTIME, DRIVER), but with either kind on, every call
 * goes through CUPTI, and a framework asks several times per launch (cudaGetDevice, cudaEventQuery): launch-bound loops took 1.2 to 1.3
 * times as long, against 1.03 to 1.12 with kernels and callbacks of the calls that matter (H200, CUPTI 13.0; docs/capture.md). To
 * have CUPTI record single calls works only from the start of CUDA on, not later.
 *
 * What matters: what launches, copies, sets, waits, allocates, frees, builds graphs, loads code, or makes streams and contexts.
 * Such calls are chosen by name when recording starts, so that no table of IDs has to be kept. */
#include <string.h>

#include "calls.h"

/* Beginnings of names without "cuda" or "cu". Not ProfilerStart and Stop: cupti.c has their callbacks. */
static const char *const matter[] = {
	"Launch", "GraphLaunch", "GraphInstantiate", "GraphExecUpdate", "GraphUpload", "GraphExecDestroy", "GraphDestroy", "GraphClone",
	"Memcpy", "Memset", "MemPrefetch", "MemAdvise", "MemBatch", "MemAlloc", "MemFree", "MemHostAlloc", "MemHostRegister", "MemHostUnregister", "MemCreate", "MemRelease", "MemMap",
	"MemUnmap", "MemSetAccess", "MemAddress", "MemPoolCreate", "MemPoolDestroy", "MemPoolTrim", "Malloc", "Free", "HostAlloc", "HostRegister", "HostUnregister",
	"ArrayCreate", "ArrayDestroy", "EventCreate", "EventRecord", "EventSynchronize", "EventDestroy",
	"StreamCreate", "StreamDestroy", "StreamSynchronize", "StreamWait", "StreamWrite", "StreamBatch", "StreamBegin", "StreamEndCapture", "StreamAddCallback", "StreamAttach",
	"DeviceSynchronize", "ThreadSynchronize", "CtxSynchronize", "CtxCreate", "CtxDestroy", "DevicePrimaryCtxRetain", "DevicePrimaryCtxRelease", "DevicePrimaryCtxReset", "DeviceReset",
	"ModuleLoad", "FuncLoad", "ModuleUnload", "LibraryLoad", "LibraryUnload", "LinkCreate", "LinkAdd", "LinkComplete",
	"IpcOpen", "IpcClose", "DeviceEnablePeerAccess", "CtxEnablePeerAccess", "MulticastCreate", "MulticastBind",
};

/* The name without "cuda" or "cu". */
static const char *stem(const char *name)
{
	if (strncmp(name, "cuda", 4) == 0)
		return name + 4;
	return strncmp(name, "cu", 2) == 0 ? name + 2 : name;
}

bool lac_call_matters(const char *name)
{
	const char *s = stem(name);
	for (size_t i = 0; i < sizeof matter / sizeof *matter; i++)
		if (strncmp(s, matter[i], strlen(matter[i])) == 0)
			return true;
	return false;
}

bool lac_call_launches(const char *name)
{
	const char *s = stem(name);
	return strncmp(s, "Launch", 6) == 0 && strncmp(s, "LaunchHostFunc", 14) != 0;
}

/* What is known of a call. Written once, before its callbacks are on; name last. */
enum { MAX_CBID = 4096 };
typedef struct {
	_Atomic(const char *) name; /* a copy: CUPTI goes and comes */
	uint8_t waits;              /* lac_wait */
	bool recorded, launches, per_thread;
} known;
static known calls[3][MAX_CBID];

/* Room for the names of CUDA 13's calls that matter, twice. */
static char names[32 << 10];
static size_t names_used;

static const char *kept_name(const char *name)
{
	const size_t n = strlen(name) + 1;
	if (n > sizeof names - names_used)
		return NULL;
	char *copy = memcpy(names + names_used, name, n);
	names_used += n;
	return copy;
}

/* Whether the callbacks of a call are wanted. */
static bool take(uint32_t domain, uint32_t cbid, const char *name)
{
	const bool recorded = lac_kinds_group(domain == CUPTI_RUNTIME ? "runtime" : "driver") && !lac_kinds_group("api_records") && lac_call_matters(name);
	/* A wait names the event's recording, so both or none. Where CUPTI makes records of them, ours would say it twice. */
	const bool waits = (lac_kinds_group("sync") || lac_kinds_group("event")) && !lac_kinds_group("sync_records") && !lac_kinds_group("event_records");
	const lac_wait wait = waits ? lac_wait_of(stem(name)) : LAC_NO_WAIT;
	if (!recorded && wait == LAC_NO_WAIT)
		return false;
	known *k = &calls[domain][cbid];
	if (atomic_load(&k->name) == NULL) {
		const char *copy = kept_name(name);
		if (copy == NULL)
			return false;
		k->waits = (uint8_t)wait;
		k->recorded = recorded;
		k->launches = lac_call_launches(name);
		k->per_thread = strstr(name, "_ptsz") != NULL || strstr(name, "_ptds") != NULL;
		atomic_store(&k->name, copy);
	}
	return true;
}

void lac_calls(bool on)
{
	for (uint32_t domain = CUPTI_DRIVER; domain <= CUPTI_RUNTIME; domain++) {
		unsigned nameless = 0;
		/* IDs have gaps; their end is where 64 in a row have no name. */
		for (uint32_t cbid = 1; cbid < MAX_CBID && nameless < 64; cbid++) {
			const char *name = NULL;
			if (lac_cupti.callback_name(domain, cbid, &name) != CUPTI_OK || name == NULL) {
				nameless++;
				continue;
			}
			nameless = 0;
			if (take(domain, cbid, name) && !lac_cupti_watches(domain, cbid))
				lac_cupti.enable_callback(on, lac_cupti.subscriber, domain, cbid);
		}
	}
}

/* Of a recording that began late CUPTI tells no contexts: each is told at its first call. */
static void context_row(const lac_call_data *c)
{
	static atomic_ullong told[4]; /* a bit each; later ones are not told */
	const uint64_t bit = 1ull << c->context_id % 64;
	if (c->context_id >= 256 || !lac_kinds_late() || !lac_kinds_group("context") || (atomic_fetch_or(&told[c->context_id / 64], bit) & bit) != 0)
		return;
	const uint32_t device = lac_cupti_device(c->context);
	if (device == UINT32_MAX)
		return;
	const spool_context row = {.context = c->context_id, .device = device, .null_stream = lac_cupti_stream(c->context, NULL, false)};
	lac_emit(SPOOL_T_context, &row, sizeof row, NULL, 0);
}

static LAC_HOT void ended(const known *k, uint32_t domain, const lac_call_data *c, uint64_t start, lac_self *self)
{
	const uint64_t end = lac_gpu_ns();
	const uint32_t result = c->result != NULL ? *c->result : 0;
	if (c->context_id != self->context) {
		self->context = c->context_id;
		context_row(c);
	}
	if (k->waits != LAC_NO_WAIT)
		lac_wait_ended((lac_wait)k->waits, c, k->per_thread, start, end);
	if (!k->recorded)
		return;
	const spool_call row = {.start = start, .end = end, .tid = self->tid, .corr = c->corr, .result = result, .driver = domain == CUPTI_DRIVER};
	lac_emit_call(&row, atomic_load_explicit(&k->name, memory_order_relaxed));
	if (k->launches && result == 0)
		lac_add(&self->launched, 1);
}

/* The outermost of nested calls counts: the runtime's call makes the driver's, which has the same correlation. */
LAC_HOT void lac_call(uint32_t domain, uint32_t cbid, const void *data)
{
	const lac_call_data *c = data;
	lac_self *self;
	if (cbid >= MAX_CBID || c->kept == NULL || (self = lac_me()) == NULL)
		return;
	/* First what most calls of the driver are: to look them up would fetch a line of the table for nothing. */
	if (domain == CUPTI_DRIVER && self->outer == c->corr && self->outer_domain == CUPTI_RUNTIME && c->corr != 0)
		return;
	if (atomic_load_explicit(&calls[domain][cbid].name, memory_order_relaxed) == NULL)
		return;
	const bool on = atomic_load_explicit(&lac_on, memory_order_relaxed);
	const uint32_t weight = lac_weight(self->calls);
	const uint64_t begin = weight > 0 ? lac_cycles() : 0;
	if (c->site == 0) {
		self->outer = c->corr;
		self->outer_domain = domain;
		if (!on)
			lac_kinds_call_outside(c->corr);
		*c->kept = on ? lac_gpu_ns() : 0;
		self->begin_cycles = weight > 0 ? lac_cycles() - begin : 0;
		return;
	}
	/* Windows open and close inside calls: an end without its beginning is passed over. */
	const bool begun = self->outer == c->corr && *c->kept != 0;
	self->outer = 0;
	if (!begun || !on)
		return;
	ended(&calls[domain][cbid], domain, c, *c->kept, self);
	self->calls++;
	lac_add(&self->callbacks, 1);
	if (weight > 0)
		lac_add(&self->callback_ns, lac_cost((int64_t)(self->begin_cycles + lac_cycles() - begin), weight));
}
