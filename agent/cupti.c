//go:build ignore

/* CUPTI's life in this process: found, subscribed to, on, off, gone.
 *
 *   NOT -> ON        start: a library is found, subscribed to, kinds are switched on
 *   ON -> LEAVING    stop: kinds off, flushed; the runtime's callbacks are on, so that the next call that ends can finalise
 *   LEAVING -> GONE  a call of the program ended: cuptiFinalize, in its callback as NVIDIA demands
 *   GONE -> NOT      done: calls cost nothing
 *   LEAVING -> ON    start again before any call came
 *
 * Whoever of us calls CUPTI enters first (a count, no lock), so that finalising waits for all. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "calls.h"

lac_cupti_api lac_cupti;

typedef enum { NOT, ON, LEAVING, GONE } phase_t;
static LAC_HOT_DATA atomic_int phase;
static atomic_int users;
static LAC_HOT_DATA atomic_bool dead;      /* in a child of a process that had CUPTI */
static atomic_bool ever;      /* was ever subscribed */
static LAC_HOT_DATA atomic_bool watching;  /* window profiler: stays subscribed between windows */
static atomic_bool profiling; /* between cudaProfilerStart and Stop */
/* Calls of cudaProfilerStart and Stop whose lac_cupti_start and stop, by the writer, are still to come. The kinds were switched by the
 * calls themselves; when the writer comes, the program may be some windows further on. */
static atomic_uint starts_by_call, stops_by_call;
static atomic_uint writer;    /* thread that drains */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER; /* of start and stop; no callback takes it */
static char why[512];

/* cuptiFinalize is sound from 12.6 on: before, it raced with callbacks (Kineto leaves it out there, too). */
static bool can_finalize(void)
{
	/* A shared CUPTI may have another subscriber by now, and foreign buffers say that someone uses it without one. */
	return lac_cupti.finalize != NULL && lac_cupti.version >= CUPTI_12_6 && !lac_cupti.shared && lac_buffers_foreign() == 0;
}

static bool enter(void)
{
	atomic_fetch_add(&users, 1);
	const int now = atomic_load(&phase);
	if (now == ON || now == LEAVING)
		return true;
	atomic_fetch_sub(&users, 1);
	return false;
}

static void leave(void) { atomic_fetch_sub(&users, 1); }

static void nap(unsigned ms) { nanosleep(&(struct timespec){.tv_nsec = (long)ms * 1000000}, NULL); }

/* Takes one from a count; false: there was none. */
static bool one_less(atomic_uint *n)
{
	unsigned now = atomic_load(n);
	while (now > 0)
		if (atomic_compare_exchange_weak(n, &now, now - 1))
			return true;
	return false;
}

const char *lac_cupti_why(void) { return why; }

const char *lac_cupti_result(uint32_t result)
{
	const char *text = NULL;
	if (lac_cupti.result_string == NULL || lac_cupti.result_string(result, &text) != CUPTI_OK || text == NULL)
		return "";
	return text;
}

/* --- callbacks ------------------------------------------------------------------------------------------------- */

enum { ENTERED = 0, ENDED = 1 }; /* CUpti_CallbackData.callbackSite, its first field */
static atomic_uint start_cbid[3], stop_cbid[3]; /* cudaProfilerStart, Stop: by domain; 0: not watched */

/* In the callback of a call that ends. Others of us may be inside CUPTI for a moment; if they stay, the next call tries again. */
static void finalize(void)
{
	int from = LEAVING;
	if (!atomic_compare_exchange_strong(&phase, &from, GONE))
		return;
	for (int i = 0; atomic_load(&users) > 0; i++) {
		if (i == 50) {
			atomic_store(&phase, LEAVING);
			return;
		}
		nap(1);
	}
	lac_cupti.unsubscribe(lac_cupti.subscriber);
	lac_cupti.finalize();
	lac_buffers_discard();
	lac_kinds_forget();
	atomic_store(&phase, NOT);
}

/* What is launched after cudaProfilerStart returned is recorded, and what comes after cudaProfilerStop was called is not: kinds
 * are switched here, as NVIDIA's own injection does; the rest is the writer's. The runtime's call has the driver's inside. */
static void profiler(uint32_t domain, uint32_t cbid, uint32_t site, uint32_t corr)
{
	if (site == ENDED && cbid == atomic_load(&start_cbid[domain]) && !atomic_exchange(&profiling, true)) {
		lac_kinds_on();
		lac_kinds_span(true, corr);
		atomic_fetch_add(&starts_by_call, 1);
		lac_profiler(true);
	} else if (site == ENTERED && cbid == atomic_load(&stop_cbid[domain]) && atomic_exchange(&profiling, false)) {
		lac_kinds_off(true);
		lac_kinds_span(false, corr);
		atomic_fetch_add(&stops_by_call, 1);
		lac_profiler(false);
	}
}

bool lac_cupti_watches(uint32_t domain, uint32_t cbid)
{
	return atomic_load(&watching) && (cbid == atomic_load(&start_cbid[domain]) || cbid == atomic_load(&stop_cbid[domain]));
}

static LAC_HOT void on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)user;
	if (atomic_load_explicit(&dead, memory_order_relaxed) || data == NULL)
		return;
	if (domain == CUPTI_RESOURCE) {
		if (enter()) {
			lac_resource(cbid, data);
			leave();
		}
		return;
	}
	if (domain != CUPTI_DRIVER && domain != CUPTI_RUNTIME)
		return;
	uint32_t site;
	memcpy(&site, data, sizeof site);
	if (atomic_load(&watching))
		profiler(domain, cbid, site, ((const lac_call_data *)data)->corr);
	lac_call(domain, cbid, data);
	if (site == ENDED && atomic_load(&phase) == LEAVING)
		finalize();
}

/* What CUPTI's clock is ahead of CLOCK_REALTIME: nothing on Linux, much on WSL. */
static LAC_HOT_DATA atomic_llong ahead;

static void compare_clocks(void)
{
	uint64_t narrowest = UINT64_MAX;
	long long found = 0;
	for (int i = 0; i < 20; i++) {
		const uint64_t before = lac_real_ns(), gpu = lac_cupti_now(), width = lac_real_ns() - before;
		if (gpu == 0)
			return;
		if (width < narrowest)
			narrowest = width, found = (long long)gpu - (long long)(before + width / 2);
	}
	atomic_store(&ahead, found < -(long long)narrowest || found > (long long)narrowest ? found : 0);
}

/* --- beginning -------------------------------------------------------------------------------------------------- */

/* Under life. Subscribed afterwards, when 0. */
static int attach(bool in_cuinit)
{
	if (atomic_load(&dead)) {
		snprintf(why, sizeof why, "this process is a fork of one that used CUDA: GPU work cannot be recorded in it");
		return -1;
	}
	if (lac_set()->yield) {
		snprintf(why, sizeof why, "stands aside for another client (--yield)");
		return -2;
	}
	int from = LEAVING;
	if (atomic_compare_exchange_strong(&phase, &from, ON)) {
		lac_cupti.enable_domain(0, lac_cupti.subscriber, CUPTI_RUNTIME);
		lac_cupti.enable_domain(0, lac_cupti.subscriber, CUPTI_DRIVER);
		return 0;
	}
	if (from == ON)
		return 0;
	for (int i = 0; atomic_load(&phase) == GONE && i < 2000; i++)
		nap(1);
	if (atomic_load(&phase) != NOT) {
		snprintf(why, sizeof why, "CUPTI is still being taken down");
		return -1;
	}
	const int result = lac_cupti_subscribe(on_callback, why, sizeof why);
	if (result == 0) {
		atomic_store(&ever, true);
		atomic_store(&phase, ON);
		compare_clocks();
		lac_kinds_begin(in_cuinit);
	}
	return result;
}

/* --- what agent.h declares ------------------------------------------------------------------------------------- */

static void note(void)
{
	char path[1024], kinds[2048], fields[4096];
	lac_json(path, sizeof path, lac_cupti.path);
	lac_kinds_note(kinds, sizeof kinds);
	snprintf(fields, sizeof fields, "\"version\":%u,\"driver\":%d,\"library\":\"%s\",\"shared\":%s,%s", lac_cupti.version, lac_cupti.driver, path, lac_cupti.shared ? "true" : "false", kinds);
	lac_out_note("cupti", fields);
	if (!lac_set()->nodes && lac_kinds_group("graph") && !lac_kinds_have(CUPTI_GRAPH_TRACE) && lac_kinds_late())
		lac_out_note("graphs", "\"why\":\"kernels of CUDA graphs are recorded one by one: graphs as a whole can be recorded only from the program's start on\"");
	char kernel[256] = "";
	FILE *f = fopen("/proc/version", "re");
	if (f != NULL) {
		if (fgets(kernel, sizeof kernel, f) != NULL && strcasestr(kernel, "microsoft") != NULL && lac_cupti.version >= CUPTI_13_0)
			lac_out_note("clock", "\"why\":\"WSL: CUPTI's clock is CLOCK_MONOTONIC_RAW\"");
		fclose(f);
	}
}

int lac_cupti_start(bool in_cuinit)
{
	pthread_mutex_lock(&life);
	const int result = attach(in_cuinit);
	if (result == 0) {
		if (!one_less(&starts_by_call)) {
			if (atomic_load(&watching) && atomic_load(&writer) == lac_tid()) { /* asked by the socket: runs of before are not its */
				lac_cupti_flush(false);
				lac_cupti_drain();
			}
			lac_kinds_on();
			lac_kinds_span(true, 0);
		}
		note();
		if (lac_kinds_group("kernel") && !lac_kinds_have(CUPTI_CONCURRENT_KERNEL))
			snprintf(why, sizeof why, "CUPTI makes no records of kernels");
	}
	pthread_mutex_unlock(&life);
	return result;
}

int lac_cupti_watch_profiler(bool in_cuinit)
{
	pthread_mutex_lock(&life);
	const int result = attach(in_cuinit);
	if (result == 0 && !atomic_load(&watching)) {
		for (uint32_t domain = CUPTI_DRIVER; domain <= CUPTI_RUNTIME; domain++) {
			const char *name = NULL;
			for (uint32_t cbid = 1; cbid < 4096; cbid++) {
				if (lac_cupti.callback_name(domain, cbid, &name) != CUPTI_OK || name == NULL)
					continue;
				atomic_uint *at = strstr(name, "ProfilerStart") != NULL ? start_cbid : strstr(name, "ProfilerStop") != NULL ? stop_cbid : NULL;
				if (at == NULL)
					continue;
				atomic_store(&at[domain], cbid);
				lac_cupti.enable_callback(1, lac_cupti.subscriber, domain, cbid);
			}
		}
		atomic_store(&watching, true);
	}
	pthread_mutex_unlock(&life);
	return result;
}

static void drain_on_writer(void *arg)
{
	(void)arg;
	lac_cupti_drain();
}

static void drain(unsigned timeout_ms)
{
	if (atomic_load(&writer) == lac_tid())
		lac_cupti_drain();
	else
		lac_writer_do(drain_on_writer, NULL, timeout_ms);
}

/* Everything that CUPTI still has, read. What runs on the GPU gets a moment to end: a forced flush gives up its records. */
static void empty(unsigned patience_ms, unsigned timeout_ms)
{
	for (unsigned waited = 0; waited < patience_ms; waited += 10) {
		lac_cupti_flush(false);
		nap(10);
	}
	lac_cupti_flush(true);
	drain(timeout_ms);
}

/* Under life, kinds off and flushed. */
static void detach(unsigned timeout_ms)
{
	if (!can_finalize()) {
		atomic_store(&phase, GONE);
		while (atomic_load(&users) > 0)
			nap(1);
		lac_cupti.unsubscribe(lac_cupti.subscriber);
		atomic_store(&phase, NOT);
		return;
	}
	atomic_store(&phase, LEAVING);
	for (unsigned waited = 0; waited < timeout_ms && atomic_load(&phase) != NOT && !atomic_load(&lac_ending); waited++) {
		/* At half time also of programs that only call the driver. */
		if ((waited == 0 || waited == timeout_ms / 2) && enter()) {
			lac_cupti.enable_domain(1, lac_cupti.subscriber, waited == 0 ? CUPTI_RUNTIME : CUPTI_DRIVER);
			leave();
		}
		nap(1);
	}
}

void lac_cupti_stop(unsigned timeout_ms)
{
	enum { PATIENCE_MS = 200, AT_EXIT_MS = 10, DRAIN_MS = 1000 };
	if (atomic_load(&dead))
		return;
	pthread_mutex_lock(&life);
	if (atomic_load(&phase) == ON) {
		const uint64_t begin = lac_mono_ns();
		const bool by_call = one_less(&stops_by_call);
		if (!by_call && timeout_ms > 0) {
			lac_kinds_off(atomic_load(&watching));
			atomic_store(&profiling, false);
		}
		if (timeout_ms == 0) {
			empty(AT_EXIT_MS, DRAIN_MS);
		} else if (atomic_load(&watching)) { /* stays: what has not ended comes later */
			lac_cupti_flush(false);
			drain(timeout_ms);
			if (!by_call)
				lac_kinds_span(false, 0);
		} else {
			empty(timeout_ms / 8 < PATIENCE_MS ? timeout_ms / 8 : PATIENCE_MS, timeout_ms);
			const uint64_t used = (lac_mono_ns() - begin) / 1000000;
			detach(used < timeout_ms ? timeout_ms - (unsigned)used : 1);
			lac_buffers_trim();
		}
	}
	pthread_mutex_unlock(&life);
}

/* Another client may switch kinds off, or take the buffers' callbacks, without our knowing. Writer's thread. */
static void look_for_others(void)
{
	static uint64_t at, launched, kernels;
	static bool said_foreign, said_silent;
	if (!said_foreign && lac_buffers_foreign() > 0) {
		said_foreign = true;
		lac_out_note("taken", "\"why\":\"buffers of another client came back: another tool uses CUPTI in this process, and records may be missing\"");
	}
	const uint64_t now = lac_mono_ns();
	if (now - at < 5000000000u)
		return;
	const uint64_t l = atomic_load(&lac_accounts.launched) + lac_rings_count().launched, k = atomic_load(&lac_accounts.kernels);
	if (!said_silent && at != 0 && l > launched + 64 && k == kernels && lac_kinds_have(CUPTI_CONCURRENT_KERNEL) && !lac_kinds_have(CUPTI_GRAPH_TRACE)) {
		said_silent = true;
		lac_out_note("taken", "\"why\":\"kernels are launched, and CUPTI has given no record of any for 5 s: another tool may have switched them off, or they are all being captured\"");
	}
	/* CUPTI links a kernel to its call by the correlation. NVIDIA's documentation has it 0 while no calls are recorded; with callbacks it
	 * is there in every release that was tried. */
	static bool records;
	if (!records && l > 64 && lac_records_unlinked() > k / 2 && k > 64 && pthread_mutex_trylock(&life) == 0) {
		records = true;
		lac_kinds_api_records();
		lac_out_note("calls", "\"why\":\"CUPTI's records of kernels name no call: from now on CUPTI records the calls, which costs more\"");
		pthread_mutex_unlock(&life);
	}
	at = now, launched = l, kernels = k;
}

void lac_cupti_flush(bool forced)
{
	if (!enter())
		return;
	lac_cupti.flush(forced);
	size_t lost = 0;
	if (lac_cupti.shared ? lac_cupti.dropped2 != NULL && lac_cupti.dropped2(lac_cupti.subscriber, NULL, 0, &lost) == CUPTI_OK
			     : lac_cupti.dropped != NULL && lac_cupti.dropped(NULL, 0, &lost) == CUPTI_OK)
		atomic_fetch_add(&lac_accounts.cupti_dropped, lost);
	leave();
}

void lac_cupti_closing(void) { lac_devices_ask(); }

static uint32_t next_shared(uint8_t *buffer, size_t valid, uint8_t **record)
{
	return lac_cupti.next_record2(lac_cupti.subscriber, buffer, valid, record);
}

void lac_cupti_drain(void)
{
	atomic_store(&writer, lac_tid());
	if (!enter())
		return;
	const lac_library library = {.version = lac_cupti.version, .next_record = lac_cupti.shared ? next_shared : lac_cupti.next_record, .callback_name = lac_cupti.callback_name};
	if (lac_buffers_pressed())
		lac_cupti.flush(0);
	uint8_t *data;
	size_t valid;
	for (lac_buffer *b; (b = lac_buffers_take(&data, &valid)) != NULL;) {
		const uint64_t before = lac_records_walked();
		lac_records(&library, data, valid);
		lac_buffers_give(b, valid, lac_records_walked() - before);
	}
	leave();
	if (lac_kinds_late())
		lac_devices_ask();
	look_for_others();
}

uint64_t lac_cupti_now(void)
{
	uint64_t now = 0;
	if (!enter())
		return 0;
	if (lac_cupti.shared && lac_cupti.get_timestamp2 != NULL ? lac_cupti.get_timestamp2(lac_cupti.subscriber, &now) != CUPTI_OK : lac_cupti.get_timestamp(&now) != CUPTI_OK)
		now = 0;
	leave();
	return now;
}

LAC_HOT uint64_t lac_gpu_ns(void) { return lac_real_ns() + (uint64_t)atomic_load_explicit(&ahead, memory_order_relaxed); }

uint32_t lac_cupti_stream(void *context, void *stream, bool per_thread)
{
	uint32_t id = UINT32_MAX;
	if (context == NULL || lac_cupti.stream_id == NULL || !enter())
		return UINT32_MAX;
	if (lac_cupti.stream_id(context, stream, per_thread, &id) != CUPTI_OK)
		id = UINT32_MAX;
	leave();
	return id;
}

uint32_t lac_cupti_device(void *context)
{
	uint32_t id = UINT32_MAX;
	if (context == NULL || lac_cupti.device_id == NULL || !enter())
		return UINT32_MAX;
	if (lac_cupti.device_id(context, &id) != CUPTI_OK)
		id = UINT32_MAX;
	leave();
	return id;
}

size_t lac_cupti_memory(void) { return lac_buffers_bytes(); }

void lac_cupti_forked(void)
{
	if (atomic_load(&ever))
		atomic_store(&dead, true);
	atomic_store(&phase, NOT);
	atomic_store(&users, 0);
	atomic_store(&writer, 0);
	life = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	/* What records.c keeps stays: it decoded nothing yet, or never will again here. To clear it costs 0.2 ms a fork. */
	lac_devices_forked();
	lac_buffers_forked();
}
