//go:build ignore

/* Clocks, and pairs of them. CUPTI's clock is CLOCK_REALTIME on Linux, which a time server may bend; the rows of table clock say
 * how the four ran beside each other. */
#include <time.h>

#include "core.h"

enum { BRACKETS = 20 }; /* readings of which the narrowest is kept */

static LAC_HOT uint64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

LAC_HOT uint64_t lac_real_ns(void)
{
	return now(CLOCK_REALTIME);
}

uint64_t lac_mono_ns(void)
{
	return now(CLOCK_MONOTONIC);
}

LAC_HOT uint64_t lac_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
	return lac_mono_ns();
#endif
}

/* The pair of readings that later ones are compared with. Written once, by lac_clock_begin, before any other thread of ours is. */
static uint64_t base_mono, base_cycles;

void lac_clock_begin(void)
{
	base_mono = lac_mono_ns();
	base_cycles = lac_cycles();
}

double lac_ns_per_cycle(void)
{
	uint64_t mono, cycles;
	do { /* two readings are some 50 ns apart: over 1 ms an error of 1e-4 */
		mono = lac_mono_ns() - base_mono;
		cycles = lac_cycles() - base_cycles;
	} while (mono < 1000000);
	return cycles ? (double)mono / (double)cycles : 1;
}

void lac_clock_row(void)
{
	spool_clock best = {.width = UINT32_MAX};
	for (int i = 0; i < BRACKETS; i++) {
		spool_clock c;
		c.mono = lac_mono_ns();
		c.gpu = lac_window_gpu() ? lac_cupti_now() : 0;
		c.real = lac_real_ns();
		c.tsc = lac_cycles();
		uint64_t width = lac_mono_ns() - c.mono;
		c.width = width < UINT32_MAX ? (uint32_t)width : UINT32_MAX;
		if (i == 0 || c.width < best.width)
			best = c;
	}
	lac_out_row(SPOOL_T_clock, &best, sizeof best);
}
