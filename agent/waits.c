//go:build ignore

/* Waits and events from callbacks of the calls themselves. CUPTI has records for both (SYNCHRONIZATION, CUDA_EVENT), but either
 * slows every CUDA call of the program: launch-bound loops took 1.2 to 1.4 times as long with one of them on, whether they
 * waited or not, and with callbacks no longer than with kernels alone (H200, CUPTI 13.0; docs/capture.md). So the records are made here:
 * which stream waited for which event, recorded where. On the program's threads, beside a call that itself takes longer. */
#include <string.h>

#include "calls.h"

/* CUpti_ActivitySynchronizationType. */
static const uint32_t sync_kind[] = {[LAC_STREAM_WAITS] = 2, [LAC_EVENT_SYNC] = 1, [LAC_STREAM_SYNC] = 3, [LAC_DEVICE_SYNC] = 4};

static const struct {
	const char *stem;
	lac_wait wait;
} names[] = {
	{"EventRecord", LAC_RECORDS}, {"EventSynchronize", LAC_EVENT_SYNC}, {"StreamWaitEvent", LAC_STREAM_WAITS},
	{"StreamSynchronize", LAC_STREAM_SYNC}, {"DeviceSynchronize", LAC_DEVICE_SYNC}, {"CtxSynchronize", LAC_DEVICE_SYNC}, {"ThreadSynchronize", LAC_DEVICE_SYNC},
};

lac_wait lac_wait_of(const char *stem)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(stem, names[i].stem, strlen(names[i].stem)) == 0)
			return names[i].wait;
	return LAC_NO_WAIT;
}

/* The last recording of each event, by its address: a table that forgets rather than grows. Two threads that record the same
 * event at once, or two events in one place, leave a wait without its recording, never with a wrong one. */
enum { EVENTS = 1 << 14 };
static struct {
	_Atomic(void *) event;
	atomic_ullong recording;
} events[EVENTS];
static atomic_ullong recordings;

static size_t slot(void *event) { return (size_t)(((uintptr_t)event >> 4) * 0x9E3779B97F4A7C15u >> 50) % EVENTS; }

/* Short names of events: their address, folded. They need to differ among those alive, as CUPTI's own do. */
static uint32_t event_id(void *event)
{
	const uint64_t a = (uint64_t)(uintptr_t)event >> 4;
	return (uint32_t)(a ^ a >> 28) & 0x7FFFFFFF;
}

static void recorded(const lac_call_data *c, void *event, void *stream, bool per_thread)
{
	const uint64_t recording = atomic_fetch_add(&recordings, 1) + 1;
	const size_t at = slot(event);
	atomic_store(&events[at].event, NULL);
	atomic_store(&events[at].recording, recording);
	atomic_store(&events[at].event, event);
	const spool_event row = {
		.context = c->context_id, .stream = lac_cupti_stream(c->context, stream, per_thread), .corr = c->corr, .event = event_id(event),
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

static void waited(const lac_call_data *c, lac_wait wait, bool per_thread, uint64_t start, uint64_t end)
{
	void *const *p = c->parameters;
	void *event = NULL;
	uint32_t stream = UINT32_MAX;
	if (p != NULL && wait == LAC_STREAM_WAITS) {
		stream = lac_cupti_stream(c->context, p[0], per_thread);
		event = p[1];
	} else if (p != NULL && wait == LAC_STREAM_SYNC) {
		stream = lac_cupti_stream(c->context, p[0], per_thread);
	} else if (p != NULL && wait == LAC_EVENT_SYNC) {
		event = p[0];
	}
	const spool_sync row = {
		.start = start, .end = end, .kind = sync_kind[wait], .context = c->context_id, .stream = stream, .corr = c->corr,
		.event = event != NULL ? event_id(event) : UINT32_MAX, .sync_id = event != NULL ? last_recording(event) : 0,
		.result = c->result != NULL ? *c->result : 0,
	};
	lac_emit(SPOOL_T_sync, &row, sizeof row, NULL, 0);
}

void lac_wait_ended(lac_wait wait, const lac_call_data *c, bool per_thread, uint64_t start, uint64_t end)
{
	if (wait != LAC_RECORDS)
		waited(c, wait, per_thread, start, end);
	else if (c->parameters != NULL)
		recorded(c, c->parameters[0], c->parameters[1], per_thread);
}
