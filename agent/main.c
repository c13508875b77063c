//go:build ignore

/* Entry points, fork and exit. The driver calls InitializeInjection in cuInit, NVTX its own in nvtx.c at its first call; either may be
 * first, also both at once. A forked child starts as an empty agent: its part of the state is forgotten in the child's
 * handler of fork, which makes no thread and no file; both come with its first event, or with CUDA. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"

enum { EXIT_MS = 2000, ENTER_MS = 2000, EXIT_HANDLERS = 16 };

static atomic_int entered; /* 0 not yet, 1 in work, 2 done */
static atomic_uint enters; /* the thread that does */
static atomic_bool first;  /* of a forked child: its first event makes it ready */
static atomic_bool chained;
static atomic_int handlers;
static bool known;         /* settings and handlers are there, from this process or from the one that it is a fork of */
static pid_t pid, parent;  /* parent: 0 if this is no fork */

LAC_EXPORT int InitializeInjection(void);

static void at_exit(void)
{
	/* A child of vfork or of a bare clone has the parent's memory, but not its threads. */
	if (atomic_load(&entered) != 2 || getpid() != pid)
		return;
	atomic_store(&lac_on, false);
	lac_writer_end("exit", EXIT_MS);
	lac_control_stop();
}

void lac_at_exit(void)
{
	if (atomic_fetch_add(&handlers, 1) < EXIT_HANDLERS) {
		atexit(at_exit);
		at_quick_exit(at_exit);
	}
}

static void in_child(void)
{
	bool on = lac_window_forked();
	lac_nvtx_forked();
	lac_rings_forked();
	lac_writer_forked();
	lac_control_forked();
	lac_out_forked();
	lac_cupti_forked();
	parent = pid;
	pid = getpid();
	atomic_store(&chained, false);
	atomic_store(&entered, 0);
	atomic_store(&first, on);
}

static bool writable(const char *dir)
{
	struct stat st;
	return *dir && stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && access(dir, W_OK | X_OK) == 0;
}

static void make_ready(void)
{
	if (!known) {
		lac_settings_read();
		lac_clock_begin();
		if (!writable(lac_set()->dir) || lac_rings_ready() != 0 || pthread_atfork(NULL, NULL, in_child) != 0)
			lac_window_never();
		pid = getpid();
		known = true;
	}
	if (lac_get_state() == LAC_OFF)
		return;
	lac_at_exit();
	lac_control_start();
	if (parent) {
		char fields[64];
		snprintf(fields, sizeof fields, "\"parent\":%ld", (long)parent);
		lac_out_note("fork", fields);
	}
	lac_window_first(!parent);
}

void lac_enter(void)
{
	int none = 0;
	uint32_t me = (uint32_t)syscall(SYS_gettid);
	if (atomic_compare_exchange_strong(&entered, &none, 1)) {
		atomic_store(&enters, me);
		make_ready();
		atomic_store(&entered, 2);
		return;
	}
	/* The thread that does it may come by here again; another waits, so that what it does next is recorded. */
	for (int i = 0; i < ENTER_MS && atomic_load(&entered) == 1 && atomic_load(&enters) != me; i++)
		usleep(1000);
}

void lac_first_event(void)
{
	if (atomic_load_explicit(&first, memory_order_relaxed) && atomic_exchange(&first, false))
		lac_enter();
}

/* What CUDA_INJECTION64_PATH was before us. It comes after us: who subscribes to CUPTI first has it. */
static void chain(void)
{
	const char *path = lac_set()->chain;
	if (!*path || atomic_exchange(&chained, true))
		return;
	void *library = dlopen(path, RTLD_NOW);
	int (*theirs)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
	if (theirs && theirs != InitializeInjection) {
		theirs();
	} else if (!theirs && lac_get_state() != LAC_OFF) {
		const char *what = dlerror();
		char why[1024], fields[1100];
		lac_json(why, sizeof why, what ? what : "it has no InitializeInjection");
		snprintf(fields, sizeof fields, "\"why\":\"%s\"", why);
		lac_out_note("chain", fields);
	}
}

int InitializeInjection(void)
{
	lac_enter();
	if (lac_get_state() != LAC_OFF) {
		lac_window_cuda();
		lac_at_exit();
	}
	chain();
	return 1;
}
