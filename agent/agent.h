/* What the agent's parts know of each other. One part a file:
 *
 *   main.c     entry points, fork, exit
 *   settings.c the environment; which ranges are steps
 *   window.c   states and windows of recording
 *   ring.c     from any thread of the program to the writer, without a lock; drain.c is the writer's side, ring.h what both know
 *   writer.c   the writer's thread: drains, flushes, accounts
 *   out.c      texts, tables and notes as chunks                                     (writer's thread only)
 *   file.c     the spool's file: one write(2) a chunk, a full disk, a lost descriptor (writer's thread only)
 *   begin.c    what a stream says of its process
 *   pack.c     Snappy's block format and CRC-32C
 *   clock.c    pairs of clocks
 *   control.c  the socket: start, stop, status
 *   cupti.c    libcupti's life: subscribed to, on, off, gone; cupti.h is what its parts know of each other
 *   subscribe.c tries libraries until CUPTI answers
 *   find.c     where libcupti is, and who else may hold it
 *   kinds.c    which records CUPTI makes
 *   calls.c    calls of CUDA, from their callbacks
 *   waits.c    waits and events, from the same
 *   buffers.c  the buffers that CUPTI fills
 *   records.c  CUPTI's records, by offset and version, to rows                        (writer's thread only)
 *   device.c   GPUs, by the driver, where CUPTI does not say                          (writer's thread only)
 *   graph.c    CUPTI's resource callbacks: graphs, modules, contexts
 *   nvtx.c     NVTX's functions; nvtx_ranges.c, nvtx_names.c, nvtx_payload.c
 *
 * Rules. The program's threads never wait for us: no lock that the writer holds while it works, no file, no CUPTI call
 * from a hook. No lock is held around a call of CUPTI. Nothing has a destructor. After fork the child has a new, empty
 * agent without CUPTI (main.c). Every failure leaves the program as it was and is said in the spool.
 *
 * The first line of each .c file here is a build constraint: this folder is a Go package too, which would not build otherwise. */
#ifndef LACUNA_AGENT_H
#define LACUNA_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spool.h"

#define LACUNA_AGENT_VERSION "0.1.0"

/* --- main.c ---------------------------------------------------------------------------------------------------- */

/* Settings, from the environment; read once in each process. The names are the contract with lacuna record. */
typedef struct {
	char dir[4096];         /* LACUNA_DIR: where spools go; "": the agent does nothing at all */
	char session[64];       /* LACUNA_SESSION */
	char window[32];        /* LACUNA_WINDOW: whole (default), armed, profiler, delay, steps */
	double delay_s;         /* LACUNA_DELAY, of window delay: seconds after the start of the process */
	double duration_s;      /* LACUNA_DURATION: of windows whole, delay and armed; 0: to the end */
	char step_range[256];   /* LACUNA_STEP_RANGE, of window steps: a range's whole name, or with * at its end how it begins; "": step, iter, iteration, batch and a number */
	long step_from, step_to; /* LACUNA_STEPS=A:B: from the A-th such range, counted from 0, up to and without the B-th */
	unsigned flush_ms;      /* LACUNA_FLUSH_MS, default 500 */
	size_t memory;          /* LACUNA_MEMORY_MB, default 256: most bytes in buffers that wait to be written */
	bool pack;              /* LACUNA_PACK=0 leaves chunks unpacked */
	bool yield;             /* LACUNA_YIELD=1: leave CUPTI to others */
	bool nodes;             /* LACUNA_GRAPH: node (default) or whole */
	char cupti[4096];       /* LACUNA_CUPTI: path of libcupti; "": search */
	char kinds[256];        /* LACUNA_KINDS: names of kinds, with commas; see below */
	char chain[4096];       /* LACUNA_CHAIN: what CUDA_INJECTION64_PATH was before */
	char chain_nvtx[4096];  /* LACUNA_CHAIN_NVTX: what NVTX_INJECTION64_PATH was before */
} lac_settings;

typedef enum { LAC_OFF, LAC_ARMED, LAC_RECORDING, LAC_STOPPED, LAC_REFUSED, LAC_YIELDED, LAC_FAILED } lac_state;

/* LACUNA_KINDS. kernel, copy, set, runtime, driver, sync, event, memory, overhead, jit, graph: what is recorded; "": all of these. Calls (runtime, driver),
 * waits (sync) and events come from callbacks. Only where they are named: api_records, sync_records, event_records, CUPTI's own records of the same,
 * which slow every call. A name with - before it is left out; with such names only, the rest is as in "". Left out can be, too, for finding what
 * costs: device, context, stream (CUPTI's records of them), module (callbacks of loading code), made (callbacks of graphs and nodes as they are
 * made), tid (asking CUPTI for the system's thread IDs; those of overheads are then found by the threads that have called CUDA). LACUNA_KINDS=-jit,-tid,-module. */

/* As they were read by lac_settings_read; dir "" before. */
const lac_settings *lac_set(void);

/* Makes the agent ready in this process, once; any thread, any number of times. Called by each entry point. */
void lac_enter(void);

/* --- window.c -------------------------------------------------------------------------------------------------- */

lac_state lac_get_state(void);

/* Whether hooks should take what they see: one relaxed load. False in a process that ends or does not record. */
extern atomic_bool lac_on;

/* For functions and variables of the callbacks of calls and ranges: they run between the program's own code, with nothing of ours in the caches. So all
 * of each lie in one place, and few pages and lines have to be fetched. */
#define LAC_HOT __attribute__((hot))
#define LAC_HOT_DATA __attribute__((section("lac_hot")))

/* Begins and ends recording. From any thread but CUPTI's callbacks; both wait for each other, at most seconds.
 * why is kept. They return 0, or -1 with the reason in what lac_status says. */
int lac_start(const char *why);
int lac_stop(const char *why);
/* The same for a limited time, in seconds; 0: without a limit. */
int lac_start_for(const char *why, double seconds);

/* A line of JSON for the socket: {"state":…,"why":…,"pid":…,"spool":…,"records":…,"dropped":…,"bytes":…}. Returns its length. */
size_t lac_status(char *line, size_t size);

/* Window steps: tells of a range that begins; cheap where that window is not asked for. */
void lac_step_began(const char *name);
/* Window profiler: cudaProfilerStart and Stop were called. From CUPTI's callbacks: the work is done by the writer's thread. */
void lac_profiler(bool start);

/* The thread's ID as the system counts; cached. */
uint32_t lac_tid(void);

/* --- ring.c, drain.c: from any thread --------------------------------------------------------------------------- */

/* A text of a row: where in the row its ID goes, and what it says. bytes SIZE_MAX: up to its 0. */
typedef struct {
	uint16_t at;
	const char *text;
	size_t bytes;
} lac_text;

#define LAC_AT(table, field) ((uint16_t)offsetof(spool_##table, field))

/* bytes of a text that never changes or goes: only where it is is handed over. */
#define LAC_STATIC (SIZE_MAX - 1)

/* What a thread keeps for others than ring.c, zeroed when it begins. The numbers are of this thread, and of those that had its place before. */
typedef struct {
	uint32_t tid, pthread;        /* pthread: pthread_self, as CUPTI cuts it */
	uint32_t outer, outer_domain; /* calls.c: the call under way, by its correlation */
	uint32_t context;             /* of the last call */
	uint32_t calls;               /* so many were recorded */
	uint64_t begin_cycles;        /* that the beginning of the call under way cost */
	atomic_ullong launched, callbacks, callback_ns;
} lac_self;
/* The calling thread's; NULL: there is no memory. */
lac_self *lac_me(void);
/* Adds one thread's number; nobody else writes it. */
static inline void lac_add(atomic_ullong *n, uint64_t more)
{
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + more, memory_order_relaxed);
}

/* Hands a row over to the writer, with the texts that it names. Never waits. False: it was dropped, and counted. Texts over
 * 16 KiB are cut. */
bool lac_emit(uint16_t table, const void *row, uint16_t bytes, const lac_text *texts, unsigned n);
/* The same for a call, whose name stays. */
bool lac_emit_call(const spool_call *row, const char *name);

/* What ring.c tells the account: events taken and dropped, and the threads' numbers. */
typedef struct {
	uint64_t taken, dropped, launched, callbacks, callback_ns;
} lac_ring_count;
lac_ring_count lac_rings_count(void);
/* Bytes in rings now: at most half of the setting memory; the other half is for CUPTI's buffers. */
size_t lac_rings_memory(void);
/* Writer's thread: everything that was handed over goes to out.c. Returns how many rows. */
size_t lac_rings_drain(void);
/* Writer's thread: the ID of a living thread that handed something over, by its pthread_self; 0: there is none. */
uint32_t lac_rings_tid(uint32_t pthread);
/* In a child, after fork: forget what the parent's threads had. */
void lac_rings_forked(void);

/* --- writer.c --------------------------------------------------------------------------------------------------- */

/* Starts the writer's thread if there is none. */
int lac_writer_start(void);
/* Wakes it: buffers or rings fill. From any thread, also in callbacks and signal handlers. */
void lac_writer_wake(void);
/* Has it do something on its own thread and waits for it, at most timeout_ms. -1: it did not answer in time, and may still do it:
 * arg must stay. */
int lac_writer_do(void (*what)(void *), void *arg, unsigned timeout_ms);
/* Drains all, writes all, and ends the thread; waits at most timeout_ms. */
void lac_writer_end(const char *why, unsigned timeout_ms);
/* The process ends, and waits for the writer: who waits there for a call of the program gives up. */
extern atomic_bool lac_ending;
void lac_writer_forked(void);

/* The account; each part adds to its own numbers. */
typedef struct {
	atomic_ullong records, launched, kernels, unfinished, cupti_dropped, dropped, nvtx, nvtx_ns, callbacks, callback_ns;
} lac_account; /* launched, callbacks and callback_ns: without what is in lac_ring_count */
extern lac_account lac_accounts;

/* --- out.c: writer's thread only -------------------------------------------------------------------------------- */

/* Opens DIR/PID-TICKS.spool (TICKS: /proc/self/stat's start time) and writes begin and schema. -1: cannot; errno. */
int lac_out_open(void);
const char *lac_out_path(void);
/* A text's ID; new texts are written before the next row is. */
uint32_t lac_out_text(const char *text, size_t bytes);
/* Appends a row to its table; chunks go out as they fill. */
void lac_out_row(uint16_t table, const void *row, uint16_t bytes);
/* A note: fields are JSON members without braces, e.g. "\"code\":39,\"why\":\"…\"". From any thread; from others than the writer's it
 * goes through their ring, and is cut with its texts at 16 KiB. */
void lac_out_note(const char *kind, const char *fields);
/* Writes what is pending. */
void lac_out_flush(void);
uint64_t lac_out_bytes(void);
void lac_out_close(void);
void lac_out_forked(void);
/* Text as it stands inside JSON quotes; returns how many bytes, as snprintf does. */
size_t lac_json(char *to, size_t size, const char *text);

/* --- clock.c ---------------------------------------------------------------------------------------------------- */

uint64_t lac_real_ns(void);
uint64_t lac_mono_ns(void);
uint64_t lac_cycles(void); /* TSC, or CNTVCT; for measuring our own hooks */
double lac_ns_per_cycle(void);

/* Our own cost on the program's threads. Of each thread the first events are all timed, since they are unlike the later ones (pages are touched for
 * the first time), then one in LAC_SAMPLE for all of these; what takes longer than LAC_LONG_NS was not ours, but a switch to another thread, and
 * stands for itself. So the account is a measurement for short programs, and an estimate only for long ones. */
enum { LAC_TIMED = 1024, LAC_SAMPLE = 64, LAC_LONG_NS = 50000 };

/* How many events the n-th of a thread stands for; 0: it is not timed. */
static inline uint32_t lac_weight(uint32_t n)
{
	return n < LAC_TIMED ? 1 : n % LAC_SAMPLE == 0 ? LAC_SAMPLE : 0;
}

/* What an event that took so many cycles adds to the account, in ns. */
static inline uint64_t lac_cost(int64_t cycles, uint32_t weight)
{
	const double ns = (double)cycles * lac_ns_per_cycle();
	if (ns < 0) /* the thread went to a core whose counter differs */
		return 0;
	return (uint64_t)(ns < LAC_LONG_NS ? ns * weight : ns);
}
/* Writer's thread: a row of clock, the best of some brackets. */
void lac_clock_row(void);

/* --- control.c -------------------------------------------------------------------------------------------------- */

/* Listens on the abstract socket "lacuna-UID-PID" for the same user (SO_PEERCRED). A request is one line (start, stop, status), the
 * answer is lac_status. It is its own thread; none in windows where nothing is asked for (all listen for status). */
int lac_control_start(void);
void lac_control_stop(void);
void lac_control_forked(void);

/* --- cupti.c ---------------------------------------------------------------------------------------------------- */

/* Finds libcupti, subscribes, enables. 0; -1: failed, why in lac_cupti_why; -2: another client has it (refused). in_cuinit: CUDA is coming
 * up, on this thread. */
int lac_cupti_start(bool in_cuinit);
/* Before lac_on becomes false, on any thread: what calls from now on launch is not the window's, although the kinds are on for some more
 * milliseconds. */
void lac_cupti_closes(void);
/* Forced flush, disables all, unsubscribes, and finalises so that calls cost nothing again; at most timeout_ms. 0: the process
 * ends: nothing is waited for or taken down. */
void lac_cupti_stop(unsigned timeout_ms);
/* For windows profiler: only the subscriber with cudaProfilerStart/Stop, no kinds. */
int lac_cupti_watch_profiler(bool in_cuinit);
/* Writer's thread: asks CUPTI for what is complete (forced: for all), decodes buffers that came back. */
void lac_cupti_flush(bool forced);
void lac_cupti_drain(void);
/* Writer's thread, when a window closes, after the last drain: rows that are still owed. */
void lac_cupti_closing(void);
/* CUPTI's clock now; 0: there is none. */
uint64_t lac_cupti_now(void);
/* Bytes in our buffers, all of them. */
size_t lac_cupti_memory(void);
const char *lac_cupti_why(void);
/* In a child, after fork: CUPTI must not be touched again. */
void lac_cupti_forked(void);

/* What records.c needs of the library. */
typedef struct {
	uint32_t version;                                                               /* cuptiGetVersion */
	uint32_t (*next_record)(uint8_t *buffer, size_t valid, uint8_t **record);       /* cuptiActivityGetNextRecord */
	uint32_t (*callback_name)(uint32_t domain, uint32_t cbid, const char **name);   /* cuptiGetCallbackName */
} lac_library;

/* --- records.c: writer's thread only ---------------------------------------------------------------------------- */

/* The rows of one buffer. */
void lac_records(const lac_library *library, uint8_t *buffer, size_t valid);

/* --- graph.c ---------------------------------------------------------------------------------------------------- */

/* CUPTI's resource callbacks that cupti.c enables, and what is done in them. */
void lac_resource(uint32_t cbid, const void *data);

/* --- nvtx.c: exports InitializeInjectionNvtx2, which calls lac_enter ------------------------------------------------ */

/* Before lac_on becomes true, on any thread: ranges that are open now are told to the window that begins. */
void lac_nvtx_begins(void);
/* Writer's thread, when a window is open: writes what its rows may name and this spool does not have yet (domains, categories,
 * thread names). */
void lac_nvtx_window(void);
/* In a child, after fork. */
void lac_nvtx_forked(void);

#endif
