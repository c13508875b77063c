//go:build ignore

/* States and windows of recording.
 *
 * Windows open and close on the writer's thread, which makes them take turns. CUPTI is different: when CUDA comes up inside a window,
 * the driver is in the middle of cuInit on a thread of the program, and holds locks that CUPTI needs; there CUPTI is
 * started on that very thread. Only then is cuda true, so that the writer's thread never calls CUPTI while cuInit waits for us.
 * gate guards the few variables that both use, and is never held over a call of CUPTI or of anything that waits. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core.h"

enum { GPU_NONE, GPU_STARTING, GPU_ON, GPU_STOPPING, GPU_REFUSED, GPU_FAILED, GPU_YIELDED };

enum {
	ASK_MS = 10000,     /* start and stop, from the socket */
	STEP_MS = 2000,     /* the most that a thread waits for the window that its own step opens */
	CUPTI_STOP_MS = 1500,
};

LAC_HOT_DATA atomic_bool lac_on;
static atomic_bool counting; /* window steps: its last is still to come */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static struct {
	bool never, last; /* there is nothing to do here; the process ends */
	bool cuda;        /* CUDA is up */
	bool open, ever, failed;
	int gpu;
	char why[256];
} w;
/* Writer's thread, and lac_window_first before it runs: when the window opens and closes, CLOCK_MONOTONIC ns; UINT64_MAX never. */
static uint64_t open_at = UINT64_MAX, close_at = UINT64_MAX;
/* Of a forked child: when its parent's window closes; and whether that was over when it forked. */
static uint64_t parent_close = UINT64_MAX;
static bool parent_over;

/* What hooks ask for: numbers that only grow, so that none is lost between two looks of the writer. */
static atomic_uint opens, closes;
static atomic_bool last_opens;
static atomic_ullong open_time, close_time; /* CLOCK_REALTIME ns of the last of each */
static unsigned opened, closed; /* of those, done */
static atomic_long steps;       /* ranges that were steps */

static const char *asker(void)
{
	return strcmp(lac_set()->window, "steps") == 0 ? "steps" : "profiler";
}

/* --- state ---------------------------------------------------------------------------------------------------------- */

static lac_state state_of(void) /* gate held */
{
	if (w.never)
		return LAC_OFF;
	if (w.failed)
		return LAC_FAILED;
	if (!w.open)
		return w.ever ? LAC_STOPPED : LAC_ARMED;
	switch (w.gpu) {
	case GPU_REFUSED:
		return LAC_REFUSED;
	case GPU_FAILED:
		return LAC_FAILED;
	case GPU_YIELDED:
		return LAC_YIELDED;
	}
	return LAC_RECORDING;
}

static lac_state look(char *why, size_t size)
{
	pthread_mutex_lock(&gate);
	lac_state s = state_of();
	if (why)
		snprintf(why, size, "%s", w.why);
	pthread_mutex_unlock(&gate);
	return s;
}

lac_state lac_get_state(void)
{
	return look(NULL, 0);
}

bool lac_window_open(void)
{
	pthread_mutex_lock(&gate);
	bool open = w.open;
	pthread_mutex_unlock(&gate);
	return open;
}

bool lac_window_gpu(void)
{
	pthread_mutex_lock(&gate);
	bool on = w.gpu == GPU_ON;
	pthread_mutex_unlock(&gate);
	return on;
}

void lac_window_never(void)
{
	pthread_mutex_lock(&gate);
	w.never = true;
	pthread_mutex_unlock(&gate);
}

static bool over(void)
{
	pthread_mutex_lock(&gate);
	bool ended = w.never || w.last;
	pthread_mutex_unlock(&gate);
	return ended;
}

static const char *state_name(lac_state s)
{
	static const char *const names[] = {"off", "armed", "recording", "stopped", "refused", "yielded", "failed"};
	return names[s];
}

/* Keeps why, cut at 200 bytes, as the reason of the state; gate held. */
static void because(const char *why)
{
	snprintf(w.why, sizeof w.why, "%.200s", why);
}

static void fail(const char *why)
{
	pthread_mutex_lock(&gate);
	w.failed = true;
	because(why);
	pthread_mutex_unlock(&gate);
}

static void note_state(void)
{
	char why[256], text[512], fields[640];
	lac_state s = look(why, sizeof why);
	lac_json(text, sizeof text, why);
	snprintf(fields, sizeof fields, "\"state\":\"%s\",\"why\":\"%s\"", state_name(s), text);
	lac_out_note("state", fields);
}

size_t lac_status(char *line, size_t size)
{
	char why[256], quoted[512], spool[sizeof((lac_settings *)0)->dir + 256];
	lac_state s = look(why, sizeof why);
	lac_json(quoted, sizeof quoted, why);
	lac_json(spool, sizeof spool, lac_out_path());
	lac_ring_count rings = lac_rings_count();
	int n = snprintf(line, size,
		"{\"state\":\"%s\",\"why\":\"%s\",\"pid\":%ld,\"window\":\"%s\",\"spool\":\"%s\",\"records\":%llu,\"dropped\":%llu,\"bytes\":%llu}",
		state_name(s), quoted, (long)getpid(), lac_set()->window, spool,
		(unsigned long long)(atomic_load(&lac_accounts.records) + rings.taken),
		(unsigned long long)(atomic_load(&lac_accounts.cupti_dropped) + atomic_load(&lac_accounts.dropped) + rings.dropped + lac_out_dropped()),
		(unsigned long long)lac_out_bytes());
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size ? size - 1 : 0;
}

/* --- CUPTI ---------------------------------------------------------------------------------------------------------- */

/* gate held. Whether the caller is to call gpu_start, without gate. */
static bool gpu_wanted(void)
{
	if (!w.open || !w.cuda || w.gpu == GPU_STARTING || w.gpu == GPU_ON || w.gpu == GPU_STOPPING)
		return false;
	w.gpu = GPU_STARTING;
	return true;
}

static void gpu_stop(void)
{
	bool last = over();
	lac_cupti_stop(last ? 0 : CUPTI_STOP_MS);
	if (strcmp(lac_set()->window, "profiler") == 0 && !last)
		lac_cupti_watch_profiler(false); /* for the next cudaProfilerStart */
	pthread_mutex_lock(&gate);
	w.gpu = GPU_NONE;
	pthread_mutex_unlock(&gate);
}

/* in_cuinit: CUDA is coming up, on this thread; else it is the writer's. */
static void gpu_start(bool in_cuinit)
{
	int to = GPU_YIELDED;
	const char *why = "leaves the GPU's records to another tool, as asked";
	if (lac_set()->yield) {
		lac_out_note("yielded", "\"why\":\"stands aside for another client, as asked\"");
	} else {
		int r = lac_cupti_start(in_cuinit);
		to = r == 0 ? GPU_ON : r == -2 ? GPU_REFUSED : GPU_FAILED;
		why = r == 0 ? NULL : lac_cupti_why();
	}
	pthread_mutex_lock(&gate);
	bool undo = to == GPU_ON && !w.open; /* the window closed meanwhile, and left it to us */
	w.gpu = undo ? GPU_STOPPING : to;
	if (why)
		because(why);
	pthread_mutex_unlock(&gate);
	if (undo)
		gpu_stop();
	else if (why)
		note_state();
	lac_writer_clock();
}

void lac_window_cuda(void)
{
	pthread_mutex_lock(&gate);
	w.cuda = !w.never && !w.last;
	bool start = gpu_wanted();
	bool watch = w.cuda && !start && !lac_set()->yield && strcmp(lac_set()->window, "profiler") == 0;
	pthread_mutex_unlock(&gate);
	if (start)
		gpu_start(true);
	else if (watch && lac_cupti_watch_profiler(true) != 0) {
		pthread_mutex_lock(&gate);
		because(lac_cupti_why());
		pthread_mutex_unlock(&gate);
	}
}

/* --- opening and closing, on the writer's thread ------------------------------------------------------------------------ */

/* time: CLOCK_REALTIME ns; 0: now. */
static void window_row(bool on, const char *why, uint64_t time)
{
	spool_window row = {.time = time ? time : lac_real_ns(), .on = on, .why = lac_out_text(why, SIZE_MAX)};
	lac_out_row(SPOOL_T_window, &row, sizeof row);
}

/* CUPTI comes first, which takes its time: within the window all is recorded. time: since when it is, if hooks began it. */
static int open_window(const char *why, double seconds, uint64_t time)
{
	if (over())
		return -1;
	if (lac_window_open())
		return 0;
	if (lac_file_gone() || lac_out_open() != 0) {
		char text[256];
		snprintf(text, sizeof text, "%.140s: %s", lac_out_path(), lac_file_gone() ? "was removed; to record again, start the program again" : strerror(errno));
		fail(text);
		atomic_store(&lac_on, false);
		return -1;
	}
	pthread_mutex_lock(&gate);
	w.open = w.ever = true;
	w.failed = false;
	because(why);
	bool gpu = gpu_wanted();
	pthread_mutex_unlock(&gate);
	if (gpu)
		gpu_start(false);
	window_row(true, why, time);
	lac_nvtx_begins();
	atomic_store(&lac_on, true);
	lac_nvtx_window();
	close_at = seconds > 0 ? lac_mono_ns() + (uint64_t)(seconds * 1e9) : UINT64_MAX;
	note_state();
	lac_clock_row();
	return 0;
}

static bool close_window(const char *why, uint64_t time)
{
	if (!lac_window_open())
		return false;
	lac_cupti_closes();
	atomic_store(&lac_on, false);
	close_at = UINT64_MAX;
	window_row(false, why, time);
	lac_clock_row(); /* while CUPTI has a clock */
	pthread_mutex_lock(&gate);
	bool stop = w.gpu == GPU_ON;
	w.open = false;
	because(why);
	if (stop)
		w.gpu = GPU_STOPPING;
	else if (w.gpu != GPU_STARTING)
		w.gpu = GPU_NONE;
	pthread_mutex_unlock(&gate);
	if (stop)
		gpu_stop();
	lac_writer_closing();
	note_state();
	return true;
}

void lac_window_last(const char *why)
{
	lac_window_tick(); /* a window that was to open a moment ago, and has events waiting */
	pthread_mutex_lock(&gate);
	w.last = true;
	pthread_mutex_unlock(&gate);
	bool began = lac_get_state() != LAC_ARMED;
	if (!close_window(why, 0) && began)
		lac_writer_closing();
	lac_rings_drain(); /* rows that were under way when the window closed */
	char text[256], fields[300];
	lac_json(text, sizeof text, why);
	snprintf(fields, sizeof fields, "\"why\":\"%s\"", text);
	lac_out_note("end", fields);
	lac_out_close();
}

static void asked(void)
{
	while (opened != atomic_load(&opens)) {
		opened++;
		open_window(asker(), 0, atomic_load(&open_time));
		if (closed != atomic_load(&closes)) { /* one that closed again before we looked */
			closed++;
			close_window(asker(), atomic_load(&close_time));
		}
	}
	if (closed != atomic_load(&closes)) {
		closed = atomic_load(&closes);
		if (!atomic_load(&last_opens))
			close_window(asker(), atomic_load(&close_time));
	}
}

void lac_window_tick(void)
{
	uint64_t now = lac_mono_ns();
	asked();
	if (now >= open_at) {
		open_at = UINT64_MAX;
		double left = parent_close > now ? (double)(parent_close - now) / 1e9 : 1e-9;
		open_window(lac_set()->window, parent_close == UINT64_MAX ? lac_set()->duration_s : left, 0);
	}
	if (now >= close_at)
		close_window("duration", 0);
	if (lac_file_gone() && close_window("the spool was removed", 0))
		fail("the spool was removed");
}

uint64_t lac_window_due(void)
{
	return open_at < close_at ? open_at : close_at;
}

/* --- asking, from any thread ------------------------------------------------------------------------------------------- */

typedef struct {
	bool open;
	double seconds;
	char why[200];
} request;

static int do_request(const void *arg)
{
	request r;
	memcpy(&r, arg, sizeof r);
	if (r.open)
		return open_window(r.why, r.seconds, 0);
	close_window(r.why, 0);
	return 0;
}

static int ask(bool open, const char *why, double seconds, unsigned timeout_ms)
{
	request r = {.open = open, .seconds = seconds};
	_Static_assert(sizeof r <= LAC_ASK_BYTES, "a request is copied");
	snprintf(r.why, sizeof r.why, "%s", why);
	if (lac_get_state() == LAC_OFF || (open && lac_writer_start() != 0))
		return -1;
	return lac_writer_ask(do_request, &r, sizeof r, timeout_ms);
}

int lac_start(const char *why)
{
	return ask(true, why, 0, ASK_MS);
}

int lac_start_for(const char *why, double seconds)
{
	return ask(true, why, seconds, ASK_MS);
}

int lac_stop(const char *why)
{
	return lac_window_open() ? ask(false, why, 0, ASK_MS) : 0;
}

/* NVTX is recorded from now on, into the rings; the rest is the writer's. */
static void ask_later(bool open)
{
	if (over())
		return;
	atomic_store(open ? &open_time : &close_time, lac_real_ns());
	atomic_store(&last_opens, open);
	atomic_fetch_add(open ? &opens : &closes, 1);
	if (open)
		lac_nvtx_begins();
	else
		lac_cupti_closes();
	atomic_store(&lac_on, open);
	lac_writer_wake();
}

void lac_profiler(bool start)
{
	if (strcmp(lac_set()->window, "profiler") == 0 && lac_writer_start() == 0)
		ask_later(start);
}

void lac_step_began(const char *name)
{
	if (!atomic_load_explicit(&counting, memory_order_relaxed) || !name || !lac_step_named(name))
		return;
	const lac_settings *s = lac_set();
	long n = atomic_fetch_add(&steps, 1);
	if (n == s->step_from) {
		ask(true, "steps", 0, STEP_MS); /* waits: a step that is recorded in part is worth nothing */
	} else if (n == s->step_to) {
		atomic_store(&counting, false);
		ask_later(false);
	}
}

/* --- the process's begin and forks --------------------------------------------------------------------------------------- */

static bool begin_writer(void)
{
	if (lac_writer_start() == 0)
		return true;
	fail("no thread can be made for the agent");
	return false;
}

void lac_window_first(bool wait)
{
	const lac_settings *s = lac_set();
	const char *window = s->window;
	if (parent_over)
		return;
	if (strcmp(window, "whole") == 0) {
		open_at = 0;
		if (begin_writer() && wait)
			ask(true, window, s->duration_s, STEP_MS);
	} else if (strcmp(window, "delay") == 0) {
		uint64_t age;
		lac_born(&age);
		if (open_at == UINT64_MAX) { /* a forked child keeps its parent's time */
			double left = s->delay_s - (double)age / 1e9;
			open_at = lac_mono_ns() + (left > 0 ? (uint64_t)(left * 1e9) : 0);
		}
		begin_writer();
	} else if (strcmp(window, "steps") == 0) {
		atomic_store(&counting, s->step_to > s->step_from);
	}
	lac_writer_wake();
}

bool lac_window_forked(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
	memcpy(&gate, &fresh, sizeof gate);
	bool whole = strcmp(lac_set()->window, "whole") == 0, delay = strcmp(lac_set()->window, "delay") == 0;
	bool goes_on = w.open && (whole || delay) && !w.last, never = w.never;
	parent_over |= w.ever && !goes_on && (whole || delay);
	if (goes_on && close_at != UINT64_MAX)
		parent_close = close_at;
	close_at = UINT64_MAX;
	memset(&w, 0, sizeof w);
	w.never = never;
	if (goes_on && delay)
		open_at = 0;
	atomic_store(&opens, 0);
	atomic_store(&closes, 0);
	atomic_store(&steps, 0);
	opened = closed = 0;
	atomic_store(&counting, strcmp(lac_set()->window, "steps") == 0 && lac_set()->step_to > lac_set()->step_from);
	atomic_store(&lac_on, goes_on);
	return goes_on;
}
