//go:build ignore

/* The writer's thread: what it is asked to do, draining, flushing, the account. It sleeps on a futex, so that it can be woken from any
 * place, and for good while no window is open. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

enum {
	STACK = 1 << 20, /* CUPTI runs on it; pages that are not used cost nothing */
	QUESTIONS = 8,
	PATIENCE = 5,
};

static const uint64_t CLOCK_NS = 5000000000u; /* between rows of clock, and sweeps of rings */

lac_account lac_accounts;
atomic_ullong lac_cpu_ns;

/* A question to the writer. Who asked in vain goes away; the slot stays taken until it was answered. */
enum { IDLE, FILLING, POSTED, RUNNING, DONE, LEFT };
typedef struct {
	atomic_uint state;
	int (*what)(const void *arg);
	int result;
	_Alignas(16) char arg[LAC_ASK_BYTES];
} question;

static question questions[QUESTIONS];
static atomic_uint rung;   /* 1: the writer has something to look at */
static atomic_bool asleep; /* it sleeps, or is about to */
static atomic_uint thread; /* 0 none, 1 being made, 2 there, 3 ended */
static atomic_uint tid;    /* the writer's */
static char end_why[64];
atomic_bool lac_ending; /* end_why was set before */

/* --- sleeping and waking ------------------------------------------------------------------------------------------- */

static void sleep_on(atomic_uint *word, unsigned while_it_is, uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, while_it_is, ns == UINT64_MAX ? NULL : &t, NULL, 0);
}

static void wake_on(atomic_uint *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* A call of the kernel only if it sleeps: rung is set before asleep is read here, and asleep before rung in sleep_until. */
void lac_writer_wake(void)
{
	if (atomic_load_explicit(&rung, memory_order_relaxed) == 0 && atomic_exchange(&rung, 1) == 0 && atomic_load(&asleep))
		wake_on(&rung);
}

/* Until it is rung for, or the time has come. */
static void sleep_until(uint64_t when)
{
	while (!atomic_exchange(&rung, 0)) {
		uint64_t now = lac_mono_ns();
		if (now >= when)
			return;
		atomic_store(&asleep, true);
		if (atomic_load(&rung) == 0)
			sleep_on(&rung, 0, when == UINT64_MAX ? when : when - now);
		atomic_store(&asleep, false);
	}
}

/* --- questions ----------------------------------------------------------------------------------------------------- */

bool lac_writer_here(void)
{
	return (uint32_t)syscall(SYS_gettid) == atomic_load(&tid);
}

static void answer(void)
{
	for (int i = 0; i < QUESTIONS; i++) {
		question *q = &questions[i];
		unsigned was = POSTED;
		if (!atomic_compare_exchange_strong(&q->state, &was, RUNNING))
			continue;
		q->result = q->what(q->arg);
		was = RUNNING;
		if (atomic_compare_exchange_strong(&q->state, &was, DONE))
			wake_on(&q->state);
		else
			atomic_store(&q->state, IDLE);
	}
}

static int wait_for(question *q, unsigned timeout_ms)
{
	uint64_t end = lac_mono_ns() + timeout_ms * (uint64_t)1000000;
	for (;;) {
		unsigned state = atomic_load(&q->state);
		if (state == DONE) {
			int result = q->result;
			atomic_store(&q->state, IDLE);
			return result;
		}
		uint64_t now = lac_mono_ns();
		if (now >= end) {
			/* Not begun: never. Begun: it goes on, and frees the slot itself. */
			if (atomic_compare_exchange_strong(&q->state, &state, state == POSTED ? IDLE : LEFT))
				return -1;
			continue;
		}
		sleep_on(&q->state, state, end - now);
	}
}

int lac_writer_ask(int (*what)(const void *arg), const void *arg, size_t bytes, unsigned timeout_ms)
{
	if (lac_writer_here())
		return what(arg);
	if (atomic_load(&thread) != 2 || bytes > LAC_ASK_BYTES)
		return -1;
	for (int i = 0; i < QUESTIONS; i++) {
		question *q = &questions[i];
		unsigned was = IDLE;
		if (!atomic_compare_exchange_strong(&q->state, &was, FILLING))
			continue;
		q->what = what;
		if (bytes)
			memcpy(q->arg, arg, bytes);
		atomic_store(&q->state, POSTED);
		lac_writer_wake();
		return wait_for(q, timeout_ms);
	}
	return -1;
}

struct doing {
	void (*what)(void *);
	void *arg;
};

static int do_it(const void *arg)
{
	struct doing d;
	memcpy(&d, arg, sizeof d);
	d.what(d.arg);
	return 0;
}

int lac_writer_do(void (*what)(void *), void *arg, unsigned timeout_ms)
{
	struct doing d = {what, arg};
	return lac_writer_ask(do_it, &d, sizeof d, timeout_ms);
}

/* --- the account ---------------------------------------------------------------------------------------------------- */

static uint64_t load(atomic_ullong *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + load(&lac_cpu_ns);
}

static void account_row(bool always)
{
	static spool_account last;
	lac_account *a = &lac_accounts;
	const lac_ring_count rings = lac_rings_count();
	spool_account row = {
		.records = load(&a->records), .launched = load(&a->launched) + rings.launched, .kernels = load(&a->kernels), .unfinished = load(&a->unfinished),
		.cupti_dropped = load(&a->cupti_dropped), .dropped = load(&a->dropped) + rings.dropped + lac_out_dropped(),
		.nvtx = load(&a->nvtx), .nvtx_ns = load(&a->nvtx_ns), .callbacks = load(&a->callbacks) + rings.callbacks, .callback_ns = load(&a->callback_ns) + rings.callback_ns,
	};
	/* What only the writing itself changes is not news. */
	spool_account same = last;
	same.time = same.writer_ns = same.memory = same.written = 0;
	if (!always && memcmp(&same, &row, sizeof row) == 0)
		return;
	row.time = lac_real_ns();
	row.writer_ns = cpu_ns();
	row.memory = lac_rings_memory() + lac_cupti_memory() + lac_out_memory();
	row.written = lac_out_bytes();
	lac_out_row(SPOOL_T_account, &row, sizeof row);
	last = row;
}

/* --- the thread ----------------------------------------------------------------------------------------------------- */

static uint64_t next_flush, next_clock, next_write;
static unsigned flushes; /* that came soon */
static atomic_bool clock_due;
static bool saw_kernels;

void lac_writer_clock(void)
{
	atomic_store(&clock_due, true);
	lac_writer_wake();
}

void lac_writer_closing(void)
{
	lac_cupti_drain();
	lac_cupti_closing();
	lac_rings_drain();
	account_row(true);
	lac_out_flush();
}

/* What was drained goes to the file more often than CUPTI is flushed, when the writer is awake anyway: a table with many rows fills chunks, and those
 * of others from the same time, the ranges of a loop, would be missing when the program is killed. */
static void write_out(uint64_t now)
{
	enum { WRITE_MS = 100 };
	lac_out_flush();
	next_write = now + WRITE_MS * 1000000;
}

static void drain(void)
{
	lac_cupti_drain();
	lac_rings_drain();
}

/* The first flushes of a process come soon: a worker that is forked and ends by _exit may live for milliseconds. */
static uint64_t pause_ms(void)
{
	enum { SOON_MS = 20 };
	const uint64_t soon = (uint64_t)SOON_MS << flushes;
	if (soon >= lac_set()->flush_ms)
		return lac_set()->flush_ms;
	flushes++;
	return soon;
}

static void period(uint64_t now)
{
	if (lac_window_gpu())
		lac_cupti_flush(false);
	drain();
	if (!saw_kernels && load(&lac_accounts.kernels)) { /* CUPTI's clock settles once the GPU runs */
		saw_kernels = true;
		atomic_store(&clock_due, true);
		lac_at_exit();
	}
	if (now >= next_clock || atomic_exchange(&clock_due, false)) {
		lac_clock_row();
		lac_rings_sweep();
		next_clock = now + CLOCK_NS;
	}
	account_row(false);
	write_out(now);
	lac_rings_period();
	next_flush = now + pause_ms() * 1000000;
}

static void *run(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "lacuna");
	atomic_store(&tid, (uint32_t)syscall(SYS_gettid));
	lac_rings_direct();
	uint64_t next = UINT64_MAX;
	for (;;) {
		sleep_until(next);
		if (atomic_load(&lac_ending))
			break;
		answer();
		lac_window_tick();
		next = lac_window_due();
		if (!lac_window_open()) {
			lac_cupti_drain(); /* what stays on between windows */
			continue;
		}
		drain();
		uint64_t now = lac_mono_ns();
		if (now >= next_flush)
			period(now);
		else if (now >= next_write)
			write_out(now);
		if (next > next_flush)
			next = next_flush;
	}
	lac_window_last(end_why);
	atomic_store(&thread, 3);
	wake_on(&thread);
	return NULL;
}

int lac_thread(void *(*entry)(void *), size_t stack)
{
	/* The program's thread-local variables lie in our stack, and may be large. */
	size_t (*least)(const pthread_attr_t *) = (size_t(*)(const pthread_attr_t *))dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
	sigset_t all, was;
	pthread_attr_t attr;
	pthread_t t;
	if (pthread_attr_init(&attr) != 0)
		return -1;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, stack + (least ? least(&attr) : 0));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	int bad = pthread_create(&t, &attr, entry, NULL);
	if (bad == EINVAL) { /* too small after all */
		pthread_attr_setstacksize(&attr, 8 << 20);
		bad = pthread_create(&t, &attr, entry, NULL);
	}
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	pthread_attr_destroy(&attr);
	if (bad)
		return -1;
	return 0;
}

int lac_writer_start(void)
{
	unsigned none = 0;
	if (!atomic_compare_exchange_strong(&thread, &none, 1)) {
		for (int i = 0; none == 1 && i < 2000; i++) { /* another makes it: some microseconds */
			usleep(1000);
			none = atomic_load(&thread);
		}
		return none == 2 ? 0 : -1;
	}
	if (lac_thread(run, STACK) != 0) {
		atomic_store(&thread, 0);
		return -1;
	}
	atomic_store(&thread, 2);
	return 0;
}

/* While rows still go out it is waited for, up to PATIENCE times as long: a program that was faster than the disk has much to write. */
void lac_writer_end(const char *why, unsigned timeout_ms)
{
	if (atomic_load(&thread) != 2 || atomic_load(&lac_ending))
		return;
	snprintf(end_why, sizeof end_why, "%s", why);
	atomic_store(&lac_ending, true);
	lac_writer_wake();
	uint64_t step = timeout_ms * (uint64_t)1000000, now = lac_mono_ns(), last = now + PATIENCE * step, until = now + step, rows = lac_out_rows();
	while (atomic_load(&thread) == 2 && now < until) {
		sleep_on(&thread, 2, until - now);
		now = lac_mono_ns();
		if (now >= until && lac_out_rows() != rows && until < last) {
			rows = lac_out_rows();
			until = now + step;
		}
	}
}

void lac_writer_forked(void)
{
	for (int i = 0; i < QUESTIONS; i++)
		atomic_store(&questions[i].state, IDLE);
	atomic_store(&rung, 0);
	atomic_store(&asleep, false);
	atomic_store(&thread, 0);
	atomic_store(&tid, 0);
	atomic_store(&lac_ending, false);
	next_flush = next_clock = next_write = 0;
	flushes = 0;
	saw_kernels = false;
	memset(&lac_accounts, 0, sizeof lac_accounts);
	atomic_store(&lac_cpu_ns, 0);
}
