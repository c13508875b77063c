//go:build ignore

/* Waits and events from callbacks of the calls themselves. CUPTI has records for both (SYNCHRONIZATION, CUDA_EVENT), but either
 * slows every CUDA call of the program: launch-bound loops took 1.2 to 1.3 times as long with one of them on, whether they
 * waited or not, and 1.0 with callbacks of these few calls (H200, CUPTI 13.0; docs/capture.md). So the records are made here:
 * which stream waited for which event, recorded where. On the program's threads, beside a call that itself takes longer. */
#include <string.h>

#include "cupti.h"

/* What a call does. The first parameters of each are all that is read; they are the same in the runtime's and the driver's. */
typedef enum { NOTHING, RECORDS, STREAM_WAITS, EVENT_SYNC, STREAM_SYNC, DEVICE_SYNC } what;
/* CUpti_ActivitySynchronizationType, by what. */
static const uint32_t sync_kind[] = {[STREAM_WAITS] = 2, [EVENT_SYNC] = 1, [STREAM_SYNC] = 3, [DEVICE_SYNC] = 4};

static const struct {
	const char *stem;
	what does;
} names[] = {
	{"EventRecord", RECORDS}, {"EventSynchronize", EVENT_SYNC}, {"StreamWaitEvent", STREAM_WAITS},
	{"StreamSynchronize", STREAM_SYNC}, {"DeviceSynchronize", DEVICE_SYNC}, {"CtxSynchronize", DEVICE_SYNC}, {"ThreadSynchronize", DEVICE_SYNC},
};

enum { MAX_CBID = 4096, PER_THREAD = 0x80 }; /* PER_THREAD: the default stream of such a call is the thread's own */
static _Atomic uint8_t does[3][MAX_CBID];     /* by domain and ID */

/* CUpti_CallbackData: valid during the callback only. */
typedef struct {
	uint32_t site, pad;
	const char *function;
	void *const *parameters;
	const uint32_t *result;
	const char *symbol;
	void *context;
	uint32_t context_id, pad2;
	uint64_t *kept; /* ours, from the call's beginning to its end */
	uint32_t corr;
} call;

/* The last recording of each event, by its address: a table that forgets rather than grows. Two threads that record the same
 * event at once, or two events in one place, leave a wait without its recording, never with a wrong one. */
enum { EVENTS = 1 << 14 };
static struct {
	_Atomic(void *) event;
	atomic_ullong recording;
} events[EVENTS];
static atomic_ullong recordings;

/* The outermost of nested calls counts: the runtime's call makes the driver's, which has the same correlation. */
static _Thread_local uint32_t outer, outer_domain;

bool lac_waits_take(uint32_t domain, uint32_t cbid, const char *name)
{
	if (domain > CUPTI_RUNTIME || cbid >= MAX_CBID)
		return false;
	const char *stem = strncmp(name, "cuda", 4) == 0 ? name + 4 : strncmp(name, "cu", 2) == 0 ? name + 2 : name;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(stem, names[i].stem, strlen(names[i].stem)) == 0) {
			const bool own = strstr(name, "_ptsz") != NULL || strstr(name, "_ptds") != NULL;
			atomic_store(&does[domain][cbid], (uint8_t)(names[i].does | (own ? PER_THREAD : 0)));
			return true;
		}
	return false;
}

static uint32_t stream_id(const call *c, void *stream, bool per_thread)
{
	uint32_t id = UINT32_MAX;
	if (c->context == NULL || lac_cupti.stream_id == NULL || lac_cupti.stream_id(c->context, stream, per_thread, &id) != CUPTI_OK)
		id = UINT32_MAX;
	return id;
}

static size_t slot(void *event) { return (size_t)(((uintptr_t)event >> 4) * 0x9E3779B97F4A7C15u >> 50) % EVENTS; }

/* Short names of events: their address, folded. They need to differ among those alive, as CUPTI's own do. */
static uint32_t event_id(void *event)
{
	const uint64_t a = (uint64_t)(uintptr_t)event >> 4;
	return (uint32_t)(a ^ a >> 28) & 0x7FFFFFFF;
}

static void recorded(const call *c, void *event, void *stream, bool per_thread)
{
	const uint64_t recording = atomic_fetch_add(&recordings, 1) + 1;
	const size_t at = slot(event);
	atomic_store(&events[at].event, NULL);
	atomic_store(&events[at].recording, recording);
	atomic_store(&events[at].event, event);
	const spool_event row = {
		.context = c->context_id, .stream = stream_id(c, stream, per_thread), .corr = c->corr, .event = event_id(event),
		.device = UINT32_MAX, .sync_id = recording,
	};
	lac_emit(SPOOL_T_event, &row, sizeof row, NULL, 0);
}

static uint64_t last_recording(void *event)
{
	const size_t at = slot(event);
	if (atomic_load(&events[at].event) != event)
		return 0;
	const uint64_t recording = atomic_load(&events[at].recording);
	return atomic_load(&events[at].event) == event ? recording : 0;
}

static void waited(const call *c, what does_it, bool per_thread, uint64_t start, uint64_t end)
{
	void *const *p = c->parameters;
	void *event = NULL;
	uint32_t stream = UINT32_MAX;
	if (p != NULL && does_it == STREAM_WAITS) {
		stream = stream_id(c, p[0], per_thread);
		event = p[1];
	} else if (p != NULL && does_it == STREAM_SYNC) {
		stream = stream_id(c, p[0], per_thread);
	} else if (p != NULL && does_it == EVENT_SYNC) {
		event = p[0];
	}
	const spool_sync row = {
		.start = start, .end = end, .kind = sync_kind[does_it], .context = c->context_id, .stream = stream, .corr = c->corr,
		.event = event != NULL ? event_id(event) : UINT32_MAX, .sync_id = event != NULL ? last_recording(event) : 0,
		.result = c->result != NULL ? *c->result : 0,
	};
	lac_emit(SPOOL_T_sync, &row, sizeof row, NULL, 0);
}

void lac_waits_call(uint32_t domain, uint32_t cbid, const void *data)
{
	if (domain > CUPTI_RUNTIME || cbid >= MAX_CBID)
		return;
	const uint8_t entry = atomic_load_explicit(&does[domain][cbid], memory_order_relaxed);
	const what does_it = entry & ~PER_THREAD;
	const call *c = data;
	if (does_it == NOTHING)
		return;
	const bool on = atomic_load_explicit(&lac_on, memory_order_relaxed), nested = domain == CUPTI_DRIVER && outer_domain == CUPTI_RUNTIME && outer == c->corr && c->corr != 0;
	if (c->kept == NULL || nested)
		return;
	if (c->site == 0) {
		*c->kept = on ? lac_cupti_now() : 0;
		outer = c->corr;
		outer_domain = domain;
		return;
	}
	/* Windows open and close inside calls: an end without its beginning is passed over. */
	const bool begun = outer == c->corr && *c->kept != 0;
	outer = 0;
	if (!begun || !on)
		return;
	const uint64_t begin = lac_cycles();
	if (does_it == RECORDS && c->parameters != NULL)
		recorded(c, c->parameters[0], c->parameters[1], (entry & PER_THREAD) != 0);
	else if (does_it != RECORDS)
		waited(c, does_it, (entry & PER_THREAD) != 0, *c->kept, lac_cupti_now());
	atomic_fetch_add_explicit(&lac_accounts.callbacks, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&lac_accounts.callback_ns, (uint64_t)((double)(lac_cycles() - begin) * lac_ns_per_cycle()), memory_order_relaxed);
}
