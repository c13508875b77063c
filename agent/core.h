/* What the agent's core (main, settings, window, ring, drain, writer, out, file, begin, pack, clock, control) keeps to itself. */
#ifndef LACUNA_CORE_H
#define LACUNA_CORE_H

#include <pthread.h>

#include "agent.h"

#define LAC_EXPORT __attribute__((visibility("default")))

/* --- main.c ------------------------------------------------------------------------------------------------------- */

/* Registers the handler of exit again, so that it runs before what was registered meanwhile (CUDA, CUPTI). */
void lac_at_exit(void);
/* Of a forked child: makes the agent ready at its first event. */
void lac_first_event(void);

/* --- settings.c --------------------------------------------------------------------------------------------------- */

void lac_settings_read(void);
/* Whether a range of this name begins a step, by the setting step_range. */
bool lac_step_named(const char *name);

/* --- window.c ----------------------------------------------------------------------------------------------------- */

/* Does what the setting window asks for at the start; wait: until the window is open, at most seconds. */
void lac_window_first(bool wait);
/* CUDA comes up in this process; on its thread. */
void lac_window_cuda(void);
/* Writer's thread. Opens and closes windows that are due or were asked for. */
void lac_window_tick(void);
/* When lac_window_tick has something to do next, CLOCK_MONOTONIC ns; UINT64_MAX: not by itself. */
uint64_t lac_window_due(void);
/* Writer's thread: no window opens after this. */
void lac_window_last(const char *why);
/* Whether a window is open, and whether CUPTI records into it. */
bool lac_window_open(void);
bool lac_window_gpu(void);
/* In a child, after fork; true: it records from its first event on. */
bool lac_window_forked(void);
/* State off for good: there is nothing that can be done here. */
void lac_window_never(void);

/* --- ring.c, drain.c ---------------------------------------------------------------------------------------------- */

/* 0; -1: there is no key for threads left. Once in a process and its children. */
int lac_rings_ready(void);
/* Writer's thread, at its start: what it emits goes straight to out.c. */
void lac_rings_direct(void);
/* Writer's thread, every few seconds: rings of threads that ended without saying so. */
void lac_rings_sweep(void);
/* Writer's thread: a flush has passed. */
void lac_rings_period(void);

/* --- writer.c ----------------------------------------------------------------------------------------------------- */

#define LAC_ASK_BYTES 240

/* As lac_writer_do, but arg is copied, at most LAC_ASK_BYTES, and the result is what's. -1: no answer in time. */
int lac_writer_ask(int (*what)(const void *arg), const void *arg, size_t bytes, unsigned timeout_ms);
/* Whether this is the writer's thread. */
bool lac_writer_here(void);
/* A row of clock is due before the next flush. From any thread. */
void lac_writer_clock(void);
/* Writer's thread, when a window closes: what is there and the account go to the file. */
void lac_writer_closing(void);
/* A thread of ours: signals blocked, detached, of a stack that is small if possible. */
int lac_thread(void *(*entry)(void *), size_t stack);
/* CPU time of threads of ours besides the writer's. */
extern atomic_ullong lac_cpu_ns;

/* --- clock.c ------------------------------------------------------------------------------------------------------ */

void lac_clock_begin(void);

/* --- out.c, file.c, begin.c, pack.c: writer's thread ---------------------------------------------------------------- */

/* Rows that could not be written. */
uint64_t lac_out_dropped(void);
/* Rows that were handed to out.c. */
uint64_t lac_out_rows(void);
size_t lac_out_memory(void);

enum { LAC_CHUNK_HEADER = 32, LAC_CHUNK_MAX = 256 << 10 }; /* of a chunk's payload, plain */

int lac_file_open(const char *path);
/* Appends a chunk. False: nothing of it is in the file. */
bool lac_file_append(const void *chunk, size_t bytes);
/* The next chunk is tried even if the disk took nothing a moment ago. */
void lac_file_retry(void);
/* The errno of a disk that took nothing at the last try, which is over now: once; else 0. */
int lac_file_recovered(void);
/* Looks whether the file is still there; that costs a call of the kernel. */
bool lac_file_there(void);
/* Whether it was found removed, or another in its place: nothing can be written any more. */
bool lac_file_gone(void);
uint64_t lac_file_bytes(void);
void lac_file_close(void);
void lac_file_forked(void);

/* The JSON of SPOOL_BEGIN. */
size_t lac_begin(char *to, size_t size);
/* The process's start in clock ticks since boot, and how long ago in ns, as far as /proc says; 0. */
uint64_t lac_born(uint64_t *age_ns);

uint32_t lac_crc32c(const void *bytes, size_t n);
#define LAC_PACKED_MAX(n) (32 + (n) + (n) / 6)
/* Snappy's block format; n at most SPOOL_MAX_PLAIN. to holds LAC_PACKED_MAX(n). Returns how many bytes. */
size_t lac_pack(const void *from, size_t n, void *to);

/* Pages from the kernel, zeroed, not from the program's allocator, which may call NVTX; NULL. */
void *lac_pages(size_t bytes);

#endif
